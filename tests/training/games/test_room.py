"""Nothing of ``training`` but the composition imports the folder of a game or of an application."""

import ast
from pathlib import Path

import training

ROOT = Path(training.__file__).parent
ROOMS = ("training.games", "training.apps")


def imports(source: str) -> set[str]:
    """Return the modules of games and applications that a module imports."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    return {node.module for node in nodes if (node.module or "").startswith(ROOMS)}


def test_no_module_outside_imports_a_game():
    paths = [
        path
        for path in sorted(ROOT.rglob("*.py"))
        if path.parts[len(ROOT.parts)] not in ("games", "apps")
    ]
    assert len(paths) > 100
    found = {
        path.relative_to(ROOT).as_posix(): imports(path.read_text(encoding="utf-8"))
        for path in paths
    }
    assert {name: modules for name, modules in found.items() if modules} == {}


def test_imports_of_games_are_found():
    assert imports("from training.games.skullking import matches") == {"training.games.skullking"}
    assert imports("from training.apps.drmario import records") == {"training.apps.drmario"}
