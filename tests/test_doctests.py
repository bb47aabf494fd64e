"""Examples in docstrings run; every public name has one, and so have adapters and load_policy."""

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import fastenv
from tests.tables import walk

ROOT = Path(__file__).resolve().parents[1]
FLAGS = doctest.ELLIPSIS | doctest.FAIL_FAST
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (*sorted(ROOT.glob("fastenv/**/*.py")), ROOT / "training/players/trained.py")
    if ">>> " in path.read_text(encoding="utf-8")
]
SLOW = "fastenv.drmario.successors"  # compiles kernels that no other example needs
NEEDS = {
    "fastenv.adapters.rllib": "ray",
    "fastenv.adapters.sb3": "stable_baselines3",
    "fastenv.adapters.pettingzoo": "pettingzoo",
    "fastenv.adapters.torch": "torch",
    "training.players.trained": "torch",
}
# Beside the public names of fastenv.
SHOWN = [
    *("fastenv.adapters.sb3.make_sb3_vec_env", "fastenv.adapters.torch.TorchVecEnv"),
    *("fastenv.adapters.pettingzoo.aec_env", "fastenv.adapters.pettingzoo.parallel_env"),
    *(f"fastenv.batch_state.BatchState.{name}" for name in ("set_states", "configure")),
    "training.players.trained.load_policy",
]
# Data has no docstring of its own: the module that it is from has its example.
DATA = {"__version__": "fastenv._version"}


@walk(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name == SLOW)) for name in MODULES],
)
def test_examples_run(name: str) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    found = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert found.attempted > 0
    assert found.failed == 0


@walk("name", fastenv.__all__)
def test_every_public_name_has_an_example(name: str) -> None:
    where = getattr(fastenv, name)
    if name in DATA:
        where = importlib.import_module(DATA[name])
    assert inspect.getmodule(where).__name__ in MODULES
    assert ">>> " in (inspect.getdoc(where) or "")


@walk("name", SHOWN)
def test_what_users_call_besides_has_an_example(name: str) -> None:
    module = max((each for each in MODULES if name.startswith(f"{each}.")), key=len)
    if module in NEEDS:
        pytest.importorskip(NEEDS[module])
    where = importlib.import_module(module)
    for part in name.removeprefix(f"{module}.").split("."):
        where = getattr(where, part)
    assert ">>> " in (inspect.getdoc(where) or "")
