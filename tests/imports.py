"""Who imports whom in a package of this checkout: strings and Cython counted.

What stands under ``TYPE_CHECKING`` and what is named in a string counts as an import. That of an
object is ``module:name``.
"""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
CIMPORT = re.compile(r"^from (fastenv\S*) c?import (\((?:.|\n)*?\)|.*)$", re.MULTILINE)


def name_of(path):
    parts = path.relative_to(CHECKOUT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules_of(package):
    """Return the files of each module of a package, by its dotted name."""
    found = {}
    for suffix in ("py", "pyx", "pxd"):
        for path in sorted((CHECKOUT / package).rglob(f"*.{suffix}")):
            found.setdefault(name_of(path), []).append(path)
    return found


def module_of(name, known):
    """Return the module that a dotted name stands for: itself, or what it is an attribute of."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name


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


def nodes_in(package):
    """Yield the name of each module in Python, and its nodes."""
    for name, (path, *_) in modules_of(package).items():
        if path.suffix == ".py":
            yield name, nodes_of(path)


def names_imported(nodes):
    """Yield the dotted names that a module imports, wherever it does, and the lines."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)


def names_in_strings(nodes, known):
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
    """Yield the modules of a package that a module imports or names, and the line."""
    for name, line in names_imported(nodes):
        module = module_of(name, known)
        if module:
            yield module, line
    yield from names_in_strings(nodes, known)


@cache
def edges(package):
    """Return who imports whom, and in which line of Python."""
    known, found = modules_of(package), []
    for name, paths in known.items():
        for path in paths:
            if path.suffix == ".py":
                found += [(name, *each) for each in imports_of(nodes_of(path), known)]
                continue
            for module, names in CIMPORT.findall(path.read_text(encoding="utf-8")):
                for each in re.findall(r"\w+", names) or ["*"]:
                    found.append((name, module_of(f"{module}.{each}", known), 0))
    return [edge for edge in found if edge[1]]


def cycle_of(package, own_packages=True):
    """Return the modules of a cycle, if there is one.

    A package and its modules may know each other where ``own_packages`` do not count: what is
    asked for is the module then, not its package.
    """
    graph = {name: set() for name in modules_of(package)}
    for name, imported, _ in edges(package):
        own = name.startswith(f"{imported}.")
        if imported != name and (own_packages or not own):
            graph[name].add(imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []
