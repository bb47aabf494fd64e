"""Tiny runs that the tests of this folder share."""

import json
from functools import partial

import pytest

from fastenv import backend, notices, numba_cache, ticker
from tests.training import begun
from training.nets import precision

TINY = {
    "env": "SkullKingWorker-v0",
    "num_envs": 8,
    "total_steps": 512,
    "torch_threads": 1,
    "deterministic": True,
    "ppo": {"n_steps": 16, "batch_size": 64, "n_epochs": 2, "net_arch": [32]},
    "checkpoints": {"every": 256},
    "evaluation": {
        "during": "off",
        "games": 8,
        "episodes": 64,
        "opponents": ["random", "rule_hard"],
        "bootstrap": 100,
    },
}


@pytest.fixture(scope="session", autouse=True)
def precision_is_chosen_at_once():
    """Where a processor has bf16, a run first measures for a second which precision is faster."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(precision, "TURN_S", 0.005)
        yield


@pytest.fixture(scope="session", autouse=True)
def nobody_ticks():
    """What is printed depends neither on how long something takes nor on what is compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ticker, "FIRST_S", 1e6)
        patch.setattr(numba_cache, "print_notice", lambda _text: None)
        patch.setattr(notices, "note_fallback", lambda _backend, _reason: None)
        yield


@pytest.fixture(scope="session")
def trainer(request):
    """Who trains; a module that asks for another has it as an indirect parameter.

    A fixture of its own with this name would leave the runs of other modules to the one that made
    them first.
    """
    return getattr(request, "param", "native")


@pytest.fixture(scope="session")
def tiny_config(tmp_path_factory, trainer):
    """A config file of a run of four iterations."""
    path = tmp_path_factory.mktemp("config") / "tiny.json"
    path.write_text(json.dumps(TINY | {"trainer": trainer}))
    return path


@pytest.fixture(scope="session")
def train(tiny_config):
    """Call the command line of training in this process, by default for the tiny run."""
    return partial(begun.train, config=tiny_config)


@pytest.fixture(scope="session")
def finished(train, tmp_path_factory):
    """The folder of a finished run; not to be changed."""
    runs = tmp_path_factory.mktemp("runs")
    assert train(runs, "done") == 0
    return runs / "done"


@pytest.fixture
def no_core(monkeypatch):
    """A machine on which the compiled core was never built."""
    found = backend._import_failure

    def failure(module):
        return "ModuleNotFoundError: never built" if module.endswith("._core") else found(module)

    monkeypatch.setattr(backend, "_import_failure", failure)
