"""The layout of training/: who may import whom, what the root holds, how long a function may be."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "training"

# From the bottom up; nobody imports a package that stands behind his own, or beside it.
LAYERS = (
    ("run",),
    ("logs", "nets"),
    ("evaluation",),
    ("callbacks", "selfplay"),
    ("ppo", "dqn"),
    ("sb3", "ensemble", "rllib"),
    ("policies",),
    ("apps",),
    ("games",),
    ("composition",),
    ("bench",),
    ("commands",),
)
RANKS = {package: rank for rank, packages in enumerate(LAYERS) for package in packages}
LONGEST = 60  # lines of a function, its docstring included


def modules():
    return sorted(ROOT.rglob("*.py"))


def name_of(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(module):
    """Return the package of a dotted name; modules of the root are the commands, but for one."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in RANKS else "commands"


@cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imports_of(path, known):
    """Yield the modules of training that a module imports, wherever it does, and the line."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "training":
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield (full if full in known else node.module), node.lineno
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "training":
                    yield alias.name, node.lineno


def only_for_types(tree):
    """Return the lines of imports that only a type checker follows."""
    blocks = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    return {line for node in blocks for line in range(node.lineno, node.end_lineno + 1)}


def edges():
    paths = {name_of(path): path for path in modules()}
    for name, path in paths.items():
        for imported, line in imports_of(path, paths):
            yield name, imported, line


def test_every_package_has_its_place():
    folders = {path.name for path in ROOT.iterdir() if (path / "__init__.py").is_file()}
    assert folders == set(RANKS) - {"composition", "commands"}


def test_imports_point_one_way():
    wrong = [
        f"{name}:{line} imports {imported}"
        for name, imported, line in edges()
        if package_of(imported) != package_of(name)
        and RANKS[package_of(imported)] >= RANKS[package_of(name)]
    ]
    assert wrong == []


def test_commands_do_not_import_each_other():
    wrong = [
        f"{name}:{line} imports {imported}"
        for name, imported, line in edges()
        if package_of(name) == package_of(imported) == "commands" and imported != "training"
    ]
    assert wrong == []


def test_no_modules_import_each_other():
    paths = {name_of(path): path for path in modules()}
    graph = {
        name: {
            imported
            for imported, line in imports_of(path, paths)
            if line not in only_for_types(tree_of(path)) and imported != name
        }
        for name, path in paths.items()
    }
    # A package and its modules know each other: what is asked for is the module, not its package.
    packages = {name for name, path in paths.items() if path.name == "__init__.py"}
    graph = {
        name: {i for i in found if not (i in packages and name.startswith(f"{i}."))}
        for name, found in graph.items()
    }
    TopologicalSorter(graph).prepare()  # CycleError names the modules of a cycle


def test_trainers_are_used_through_what_their_package_offers():
    wrong = [
        f"{name}:{line} imports {imported}"
        for name, imported, line in edges()
        if imported.startswith("training.ppo.")
        and imported != "training.ppo.run"
        and package_of(name) not in ("ppo", "bench")
    ]
    assert wrong == []


def test_root_holds_commands():
    for path in set(ROOT.glob("[!_]*.py")) - {ROOT / "composition.py"}:
        functions = {node.name for node in tree_of(path).body if isinstance(node, ast.FunctionDef)}
        assert "main" in functions, path.name


FASTENV = sorted((ROOT.parent / "fastenv").rglob("*.py"))


@pytest.mark.parametrize("path", [*modules(), *FASTENV], ids=name_of)
def test_functions_are_short(path):
    lengths = [  # no dict: two of a file may have one name
        (node.name, node.end_lineno - node.lineno + 1)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    kernels = path.name in ("kernels.py", "loss_kernel.py", "relabel.py")
    assert kernels or [each for each in lengths if each[1] > LONGEST] == []
