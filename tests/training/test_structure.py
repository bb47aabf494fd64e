"""The layout of training/: who may import whom, and what the root holds.

What stands under ``TYPE_CHECKING`` and what is named in a string counts as an import. That of an
object is ``module:name``. Only the tables of the composition and of games have such strings.
"""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

from tests.tables import walk
from training.run import games
from training.run.registry import load_object

HERE = Path(__file__).resolve().parents[2]
ROOT = HERE / "training"

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


def modules(package="training"):
    return sorted((HERE / package).rglob("*.py"))


def name_of(path):
    parts = path.relative_to(HERE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def paths_of(package="training"):
    return {name_of(path): path for path in modules(package)}


def package_of(module):
    """Return the package of a dotted name; modules of the root are commands, but for two."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in RANKS else "commands"


def parse(source):
    """Return all nodes of a source, which are gone through several times."""
    return tuple(ast.walk(ast.parse(source)))


@cache
def nodes_of(path):
    return parse(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def nodes_are_forgotten():
    """The garbage collector would look at half a million of them in all tests that follow."""
    yield
    nodes_of.cache_clear()


def named_in_strings(nodes, known):
    """Yield the modules whose dotted names are strings, and the line.

    A docstring names no module, and what follows ``-m`` is the command line of another process.
    """
    others = set()
    for node in nodes:
        if isinstance(node, ast.Expr):
            others.add(node.value)
        words = getattr(node, "elts", None) or getattr(node, "args", None)
        words = words if isinstance(words, list) else []
        for flag, word in pairwise(words):
            if isinstance(flag, ast.Constant) and flag.value == "-m":
                others.add(word)
    for node in nodes:
        text = node.value if isinstance(node, ast.Constant) and node not in others else None
        module = text.partition(":")[0] if isinstance(text, str) else ""
        if "." in module and module in known:
            yield module, node.lineno


def imports_of(nodes, known):
    """Yield the modules of a package that a module imports, wherever it does, and the line."""
    package = next(iter(known)).partition(".")[0]
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == package:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield (full if full in known else node.module), node.lineno
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == package:
                    yield alias.name, node.lineno
    yield from named_in_strings(nodes, known)


@cache
def edges(package="training"):
    """Return who imports whom, and in which line."""
    known = paths_of(package)
    return [
        (name, imported, line)
        for name, path in known.items()
        for imported, line in imports_of(nodes_of(path), known)
    ]


def cycle_of(package):
    """Return the modules of a cycle, if there is one.

    A package and its modules know each other: what is asked for is the module, not its package.
    """
    known = paths_of(package)
    packages = {name for name, path in known.items() if path.name == "__init__.py"}
    graph = {name: set() for name in known}
    for name, imported, _ in edges(package):
        own_package = imported in packages and name.startswith(f"{imported}.")
        if imported != name and not own_package:
            graph[name].add(imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_every_package_has_its_place():
    folders = {path.name for path in ROOT.iterdir() if (path / "__init__.py").is_file()}
    assert folders == set(RANKS) - {"composition"}


def test_imports_point_one_way():
    wrong = [
        f"{name}:{line} imports {imported}"
        for name, imported, line in edges()
        if name != "training"
        and package_of(imported) != package_of(name)
        and RANKS[package_of(imported)] >= RANKS[package_of(name)]
    ]
    assert wrong == []


def test_the_composition_alone_imports_games():
    rooms = ("games", "apps")
    wrong = [
        f"{name}:{line} imports {imported}"
        for name, imported, line in edges()
        if package_of(imported) in rooms and package_of(name) not in (*rooms, "composition")
    ]
    assert wrong == []


def test_commands_do_not_import_each_other():
    wrong = [
        f"{name}:{line} imports {imported}"
        for name, imported, line in edges()
        if package_of(name) == package_of(imported) == "commands" and imported != "training"
    ]
    assert wrong == []


def test_every_start_composes_training():
    found = {name for name, imported, _ in edges() if imported == "training.composition"}
    assert found == {"training"}


def test_the_composition_alone_names_environments_of_other_packages():
    """No trainer, callback, evaluation or policy asks whether an environment is foreign."""
    found = {
        name
        for name, imported, _ in edges()
        if package_of(imported) == "foreign" and package_of(name) != "foreign"
    }
    assert found == {"training.composition"}


def test_the_registry_alone_imports_by_name():
    by_name = {
        name
        for name, path in paths_of().items()
        for node in nodes_of(path)
        if {getattr(node, key, None) for key in ("id", "attr", "name")}
        & {"import_module", "__import__"}
    }
    assert by_name == {"training.run.registry"}


def texts_of(path):
    return {each.value for each in nodes_of(path) if isinstance(each, ast.Constant)} - {None}


def test_tables_of_composition_and_games_alone_name_objects():
    place = re.compile(r"(training|fastenv)(\.\w+)+:\w+")
    named = {
        name: {text for text in map(str, texts_of(path)) if place.fullmatch(text)}
        for name, path in paths_of().items()
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
    assert offered == {name for path in paths_of().values() for name in asked(nodes_of(path))}
    page = (HERE / "docs/reference/game_interface.md").read_text(encoding="utf-8")
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
        for name, imported, _ in edges()
        if name in ("training.run.registry", "training.run.games")
    }
    assert found <= below


def test_no_modules_of_training_import_each_other():
    assert cycle_of("training") == []


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
    assert [name for name, _ in imports_of(parse(source), paths_of())] == found


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
        for name, path in paths_of().items()
        if name.startswith("training")
        for line in asks_which_trainer(nodes_of(path))
    ]
    assert found == []


@pytest.mark.parametrize(
    "source", ["config.trainer == 'dqn'", "trainer in ('a', 'b')", "x if trainer != 'sb3' else y"]
)
def test_questions_after_a_trainer_are_found(source):
    assert list(asks_which_trainer(parse(source))) == [1]
