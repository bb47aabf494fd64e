"""Types: every public name has one, and the stubs in typings/ fit the packages they are for."""

import ast
import importlib
import importlib.util
import inspect
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
STUBS = ROOT / "typings"


def described_classes(package):
    """Yield module, class and methods that the stubs of a package describe."""
    folder = STUBS / f"{package}-stubs"
    for path in sorted(folder.rglob("*.pyi")):
        parts = path.relative_to(folder).with_suffix("").parts
        module = ".".join([package, *(part for part in parts if part != "__init__")])
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                yield module, node.name, [f for f in node.body if isinstance(f, ast.FunctionDef)]


@pytest.mark.parametrize("package", ["pettingzoo", "ray"])
def test_stubs_describe_what_is_there(package):
    pytest.importorskip(package)
    seen = 0
    for module, name, methods in described_classes(package):
        real = getattr(importlib.import_module(module), name)
        for method in methods:
            found = inspect.signature(getattr(real, method.name)).parameters
            if any(each.kind is each.VAR_POSITIONAL for each in found.values()):
                continue  # passes on whatever it is given
            described = [each.arg for each in (*method.args.args, *method.args.kwonlyargs)]
            assert set(described) - {"self"} <= set(found), f"{module}.{name}.{method.name}"
            seen += 1
    assert seen
