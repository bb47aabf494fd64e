"""Games have a room of their own: nothing else in ``training`` knows one from the other."""

import ast
from pathlib import Path

import pytest

import training

ROOT = Path(training.__file__).parent
GAMES = ("fastenv.skullking", "fastenv.prospector")
MODULES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in ROOT.rglob("*.py")
    if path.relative_to(ROOT).parts[0] not in ("games", "apps", "composition.py")
)
# The Manager and the Worker are Skull King's, and the benchmark plays its whole games.
MAY_IMPORT_GAMES = ("hier/", "bench/")


def knowledge(source: str) -> list[str]:
    """Return what a module knows of a game, a line for each place."""
    found = []
    for node in ast.walk(ast.parse(source)):
        line = getattr(node, "lineno", 0)
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        found += [f"{line}: {name}" for name in names if name.startswith(GAMES)]
        if isinstance(node, ast.Attribute) and node.attr == "tier":
            found.append(f"{line}: .tier")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            texts = [arg.value for arg in ast.walk(node) if isinstance(arg, ast.Constant)]
            guess = node.func.attr == "startswith" and {"SkullKing", "Prospector"} & set(texts)
            found += [f"{line}: startswith"] if guess else []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            by_name = node.func.id in ("getattr", "hasattr") and len(node.args) > 1
            if by_name and getattr(node.args[1], "value", None) == "tier":
                found.append(f"{line}: {node.func.id} tier")
    return sorted(set(found))


def imports(source: str) -> set[str]:
    """Return the modules of ``training.games`` that a module imports."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    return {n.module for n in nodes if n.module and n.module.startswith("training.games")}


@pytest.mark.parametrize("module", MODULES)
def test_no_module_outside_knows_a_game(module):
    source = (ROOT / module).read_text(encoding="utf-8")
    assert knowledge(source) == []
    if not module.startswith(MAY_IMPORT_GAMES):
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
    ],
)
def test_knowledge_is_found(source):
    assert knowledge(source)


def test_imports_of_games_are_found():
    assert imports("from training.games.skullking import matches") == {"training.games.skullking"}
