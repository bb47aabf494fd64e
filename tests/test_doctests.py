"""Examples in docstrings of fastenv run, and every public name has one."""

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import fastenv

ROOT = Path(__file__).resolve().parents[1]
FLAGS = doctest.ELLIPSIS | doctest.FAIL_FAST
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(ROOT.glob("fastenv/**/*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]
SLOW = "fastenv.drmario.successors"  # compiles kernels that no other example needs
# Data has no docstring of its own: the module that it is from has its example.
DATA = {"__version__": "fastenv._version"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name == SLOW)) for name in MODULES],
)
def test_examples_run(name: str) -> None:
    if name == "fastenv.adapters.rllib":
        pytest.importorskip("ray")
    found = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize("name", fastenv.__all__)
def test_every_public_name_has_an_example(name: str) -> None:
    where = getattr(fastenv, name)
    if name in DATA:
        where = importlib.import_module(DATA[name])
    assert inspect.getmodule(where).__name__ in MODULES
    assert ">>> " in (inspect.getdoc(where) or "")
