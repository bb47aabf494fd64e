"""Games have a room of their own: nothing else in ``training`` knows one from the other."""

import ast
import re
from functools import lru_cache
from pathlib import Path

import pytest

import training

ROOT = Path(training.__file__).parent
GAMES = re.compile(r"skull.?king|prospector|dr\W{0,2}mario|game.?boy|lantern.?walk", re.IGNORECASE)
ROOMS = ("games/", "apps/", "composition.py")
MODULES = [
    module
    for module in sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))
    if not module.startswith(ROOMS)
]


@lru_cache(maxsize=1)
def tree_of(source: str) -> ast.Module:
    return ast.parse(source)


def knowledge(source: str) -> list[str]:
    """Return what a module knows of a game, a line for each place; it may import its rooms."""
    tree, found = tree_of(source), []
    told = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    for node in ast.walk(tree):
        words = [getattr(node, key, None) for key in ("id", "attr", "arg", "asname")]
        if isinstance(node, ast.Constant) and node not in told:
            words.append(node.value)
        elif isinstance(node, ast.alias | ast.FunctionDef | ast.ClassDef):
            words.append(node.name)
        elif isinstance(node, ast.ImportFrom) and not of_a_room(node):
            words.append(node.module)
        line = getattr(node, "lineno", 0)
        texts = [word for word in words if isinstance(word, str)]
        found += [f"{line}: {text}" for text in texts if GAMES.search(text)]
    return sorted(set(found))


def tiers(source: str) -> list[str]:
    """Return where a module asks for a tier, which one game alone has."""
    found = []
    for node in ast.walk(tree_of(source)):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Attribute) and node.attr == "tier":
            found.append(f"{line}: .tier")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            by_name = node.func.id in ("getattr", "hasattr") and len(node.args) > 1
            if by_name and getattr(node.args[1], "value", None) == "tier":
                found.append(f"{line}: {node.func.id} tier")
    return found


def imports(source: str) -> set[str]:
    """Return the modules of games and of programs over one that a module imports."""
    nodes = [node for node in ast.walk(tree_of(source)) if isinstance(node, ast.ImportFrom)]
    return {node.module for node in nodes if of_a_room(node)}


def of_a_room(node: ast.ImportFrom) -> bool:
    """Return whether something is imported from a game's room or a program's."""
    return (node.module or "").startswith(("training.games", "training.apps"))


@pytest.mark.parametrize("module", MODULES)
def test_no_module_outside_knows_a_game(module):
    source = (ROOT / module).read_text(encoding="utf-8")
    assert tiers(source) == []
    assert knowledge(source) == []
    assert imports(source) == set()


@pytest.mark.parametrize(
    "source",
    [
        "from fastenv.skullking.tables import Phase",
        "from fastenv import skullking",
        "import fastenv.prospector.layout as layout",
        "def f():\n    from fastenv.prospector import bots",
        "x = game.config.tier == 'flat'",
        "x = getattr(game.config, 'tier', None)",
        "x = env.rpartition('/')[2].startswith('SkullKing')",
        "x = env.startswith(('Prospector', 'Chess'))",
        "ENV = 'LanternWalk-v0'",
        "print(f'{n} bottles of Dr. Mario')",
        "class GameBoyCurve: ...",
        "x = bars.drmario",
    ],
)
def test_knowledge_is_found(source):
    assert knowledge(source) or tiers(source)


def test_docstrings_and_comments_may_name_games():
    assert not knowledge('"""As in Prospector."""\n# Skull King\ndef f():\n    "Game Boy"')


def test_imports_of_games_are_found():
    assert imports("from training.games.skullking import matches") == {"training.games.skullking"}
    assert imports("from training.apps.drmario import records") == {"training.apps.drmario"}
