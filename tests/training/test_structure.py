"""The layout of training/: who may import whom, and what the root holds.

Only the tables of the composition and of games name objects in strings.
"""

import ast
import re

import pytest

from tests.imports import (
    CHECKOUT,
    cycle_of,
    edges,
    imports_of,
    modules_of,
    nodes_are_forgotten,  # noqa: F401
    nodes_in,
    parse,
)
from tests.tables import walk
from training.run import games
from training.run.registry import load_object

ROOT = CHECKOUT / "training"

# From the bottom up; nobody imports a package that stands behind his own, or beside it. Games name
# what they can do in strings, mostly functions of their applications: so they stand above these.
# The composition names all commands. None of them imports it: `training` itself does, before them.
LAYERS = (
    ("run",),
    ("logs", "nets", "foreign"),
    ("players",),
    ("evaluation",),
    ("callbacks", "selfplay"),
    ("ppo", "dqn"),
    ("sb3", "ensemble", "rllib"),
    ("search",),
    ("expert",),
    ("playing",),
    ("terminal",),
    ("bench",),
    ("studio",),
    ("apps",),
    ("games",),
    ("commands",),
    ("composition",),
)
RANKS = {package: rank for rank, packages in enumerate(LAYERS) for package in packages}


def package_of(module):
    """Return the package of a dotted name; modules of the root are commands, but for two."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in RANKS else "commands"


def test_every_package_has_its_place():
    folders = {path.name for path in ROOT.iterdir() if (path / "__init__.py").is_file()}
    assert folders == set(RANKS) - {"composition"}


def test_imports_point_one_way():
    wrong = [
        f"{name}:{line} imports {imported}"
        for name, imported, line in edges("training")
        if name != "training"
        and package_of(imported) != package_of(name)
        and RANKS[package_of(imported)] >= RANKS[package_of(name)]
    ]
    assert wrong == []


def test_the_composition_alone_imports_games():
    rooms = ("games", "apps")
    wrong = [
        f"{name}:{line} imports {imported}"
        for name, imported, line in edges("training")
        if package_of(imported) in rooms and package_of(name) not in (*rooms, "composition")
    ]
    assert wrong == []


def test_commands_do_not_import_each_other():
    wrong = [
        f"{name}:{line} imports {imported}"
        for name, imported, line in edges("training")
        if package_of(name) == package_of(imported) == "commands" and imported != "training"
    ]
    assert wrong == []


def test_every_start_composes_training():
    found = {name for name, imported, _ in edges("training") if imported == "training.composition"}
    assert found == {"training"}


def test_the_composition_alone_names_environments_of_other_packages():
    """No trainer, callback, evaluation or policy asks whether an environment is foreign."""
    found = {
        name
        for name, imported, _ in edges("training")
        if package_of(imported) == "foreign" and package_of(name) != "foreign"
    }
    assert found == {"training.composition"}


def test_the_registry_alone_imports_by_name():
    by_name = {
        name
        for name, nodes in nodes_in("training")
        for node in nodes
        if {getattr(node, key, None) for key in ("id", "attr", "name")}
        & {"import_module", "__import__"}
    }
    assert by_name == {"training.run.registry"}


def texts_of(nodes):
    return {each.value for each in nodes if isinstance(each, ast.Constant)} - {None}


def test_tables_of_composition_and_games_alone_name_objects():
    place = re.compile(r"(training|fastenv)(\.\w+)+:\w+")
    named = {
        name: {text for text in map(str, texts_of(nodes)) if place.fullmatch(text)}
        for name, nodes in nodes_in("training")
    }
    assert {package_of(name) for name in named if named[name]} == {"composition", "games"}
    for where in set().union(*named.values()):
        assert load_object(where) is not None


def asked(nodes):
    """Yield the names of capabilities that a module looks up."""
    for node in nodes:
        called = node.func if isinstance(node, ast.Call) else None
        owner = getattr(getattr(called, "value", None), "id", None)
        if owner == "games" and called.attr in ("find", "find_all"):
            yield node.args[-1].value


def test_capabilities_of_games_are_looked_up_and_no_others():
    offered = {name for game in games.registered() for name in game.capabilities}
    assert offered == {name for _, nodes in nodes_in("training") for name in asked(nodes)}
    page = (CHECKOUT / "docs/reference/game_interface.md").read_text(encoding="utf-8")
    table = page.partition("| capability |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE) == sorted(offered)


def test_no_capability_is_every_games():
    """What all of them have is data of their records, or a default where it is used."""
    every = [set(game.capabilities) for game in games.registered()]
    assert set.intersection(*every) <= {"view"}  # ours are all drawn


def test_registries_know_nothing_of_what_is_registered():
    below = {"training.run", "training.run.registry", "training.run.engine", "training.run.options"}
    found = {
        imported
        for name, imported, _ in edges("training")
        if name in ("training.run.registry", "training.run.games")
    }
    assert found <= below


def test_no_modules_of_training_import_each_other():
    assert cycle_of("training", own_packages=False) == []


@walk(
    ("source", "found"),
    [
        ("from training.run import games", ["training.run.games"]),
        ("if TYPE_CHECKING:\n    from training.run.loop import Loop", ["training.run.loop"]),
        ("def f():\n    import training.ppo.run", ["training.ppo.run"]),
        ("NAMES = {'native': 'training.ppo.run'}", ["training.ppo.run"]),
        ("NAMES = {'native': 'training.ppo.options:NativeRun'}", ["training.ppo.options"]),
        ("import_module('training.ppo.run')", ["training.ppo.run"]),
        ("run(sys.executable, '-m', 'training.train')", []),
        ("[*python, '-m', 'training.train', 'training.evaluate']", ["training.evaluate"]),
        ("'training.ppo.run'", []),
    ],
)
def test_imports_are_found(source, found):
    assert [name for name, _ in imports_of(parse(source), modules_of("training"))] == found


def asks_which_trainer(nodes):
    """Yield the lines that compare the name of a trainer with another."""
    for node in nodes:
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            names = {getattr(side, "attr", getattr(side, "id", None)) for side in sides}
            words = [side for side in sides if isinstance(side, ast.Constant | ast.Tuple)]
            if "trainer" in names and words:
                yield node.lineno


def test_no_module_asks_which_trainer_a_run_has():
    """What a trainer does not do, its options say (``ONLY``), and what it does, its methods."""
    found = [
        f"{name}:{line}"
        for name, nodes in nodes_in("training")
        for line in asks_which_trainer(nodes)
    ]
    assert found == []


@pytest.mark.parametrize(
    "source", ["config.trainer == 'dqn'", "trainer in ('a', 'b')", "x if trainer != 'sb3' else y"]
)
def test_questions_after_a_trainer_are_found(source):
    assert list(asks_which_trainer(parse(source))) == [1]
