"""The layout of fastenv/: who imports whom, strings counted."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "fastenv"
GAMES = ("drmario", "gameboy", "prospector", "skullking")
HEAVY = ("torch", "stable_baselines3", "pettingzoo", "PIL", "matplotlib", "numba", "ray")
CIMPORT = re.compile(r"^from (fastenv\S*) c?import (\((?:.|\n)*?\)|.*)$", re.MULTILINE)


def name_of(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PYTHON = {name_of(path): path for path in ROOT.rglob("*.py")}
MODULES = {name: [path] for name, path in PYTHON.items()}
for compiled in (*ROOT.rglob("*.pyx"), *ROOT.rglob("*.pxd")):
    MODULES.setdefault(name_of(compiled), []).append(compiled)


def module_of(name):
    """Return the module that a dotted name stands for: itself, or what it is an attribute of."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name


def imports_of(tree):
    """Yield the dotted names that a module imports, wherever it does, and the lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)


def strings_of(tree):
    """Yield the strings that name a module, or something in it as ``module:name``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value.partition(":")[0]
            if name in MODULES and "." in name:
                yield name, node.lineno


@cache
def edges_of(name):
    """Return the modules of fastenv that one of them imports or names."""
    edges = set()
    for path in MODULES[name]:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            tree = ast.parse(text)
            found = [imported for imported, _ in (*imports_of(tree), *strings_of(tree))]
        else:
            parts = [(module, re.findall(r"\w+", names)) for module, names in CIMPORT.findall(text)]
            found = [f"{module}.{each}" for module, names in parts for each in names or ["*"]]
        modules = {module_of(imported) for imported in found}
        edges |= modules - {"", name}  # a .pyx begins with its own .pxd
    return edges


def test_no_modules_import_each_other():
    graph = {name: set(edges_of(name)) for name in MODULES}
    TopologicalSorter(graph).prepare()  # CycleError names the modules of a cycle


def test_names_of_modules_are_not_put_together():
    """A name that is made at run time is an edge that nobody can count."""
    made = [
        f"{name}:{node.lineno}"
        for name, path in PYTHON.items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
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
        for name in MODULES
        for module in edges_of(name)
        if f"{module}.".startswith(f"{package}.") and not name.startswith(package)
    }
    assert knowing <= {"fastenv.games", "fastenv.__main__"}  # and commands, which nobody imports


def test_nothing_heavy_is_imported_by_a_module_that_the_package_imports():
    reached, waiting = set(), ["fastenv"]
    while waiting:
        name = waiting.pop()
        reached.add(name)
        tree = ast.parse(PYTHON[name].read_text(encoding="utf-8"))
        at_once = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        for imported, line in imports_of(ast.Module(at_once, [])):
            assert imported.partition(".")[0] not in HEAVY, f"{name}:{line}"
            module = module_of(imported)
            if module and module not in reached:
                waiting.append(module)
    assert not any(name.startswith(tuple(f"fastenv.{game}" for game in GAMES)) for name in reached)
