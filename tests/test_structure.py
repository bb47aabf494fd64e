"""The layout of fastenv/: who imports whom, strings counted."""

import ast
import re

import pytest

from tests.imports import (
    cycle_of,
    edges,
    module_of,
    modules_of,
    names_imported,
    nodes_are_forgotten,  # noqa: F401
    nodes_in,
)

GAMES = ("drmario", "gameboy", "prospector", "skullking")
HEAVY = ("torch", "stable_baselines3", "pettingzoo", "PIL", "matplotlib", "numba", "ray")


def test_no_modules_import_each_other():
    assert cycle_of("fastenv") == []


def test_names_of_modules_are_not_put_together():
    """A name that is made at run time is an edge that nobody can count."""
    made = [
        f"{name}:{node.lineno}"
        for name, nodes in nodes_in("fastenv")
        for node in nodes
        if isinstance(node, ast.JoinedStr)
        and isinstance(first := (node.values or [None])[0], ast.Constant)
        and re.match(r"fastenv\.\w*$", str(first.value))
    ]
    assert made == []


@pytest.mark.parametrize("game", GAMES)
def test_only_the_registration_knows_the_games(game):
    package = f"fastenv.{game}"
    knowing = {
        name
        for name, module, _ in edges("fastenv")
        if f"{module}.".startswith(f"{package}.") and not name.startswith(package)
    }
    assert knowing <= {"fastenv.games", "fastenv.__main__"}  # and commands, which nobody imports


def test_nothing_heavy_is_imported_by_a_module_that_the_package_imports():
    known = dict(nodes_in("fastenv"))
    reached, waiting = set(), ["fastenv"]
    while waiting:
        name = waiting.pop()
        reached.add(name)
        tree, *_ = known[name]
        for imported, line in names_imported(tree.body):  # at once, not within a function
            assert imported.partition(".")[0] not in HEAVY, f"{name}:{line}"
            module = module_of(imported, modules_of("fastenv"))
            if module and module not in reached:
                waiting.append(module)
    assert not any(name.startswith(tuple(f"fastenv.{game}" for game in GAMES)) for name in reached)
