"""Boards beside the run's own files; Weights & Biases is not installed, so a double stands in."""

import importlib.util
import sys
from types import ModuleType

import pytest

from training.logs import boards
from training.logs.run_log import RunLog


class Run:
    """Takes down what a run of Weights & Biases is told."""

    def __init__(self, **given):
        self.given, self.lines, self.finished = given, [], False

    def log(self, values):
        self.lines.append(values)

    def finish(self):
        self.finished = True


@pytest.fixture
def wandb(monkeypatch):
    runs = []
    module = ModuleType("wandb")
    module.init = lambda **given: runs.append(Run(**given)) or runs[-1]
    monkeypatch.setitem(sys.modules, "wandb", module)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    return runs


def test_curves_and_evaluations_are_drawn_with_their_decisions(wandb, tmp_path):
    log = RunLog(tmp_path, 1000, wandb={"seed": 3})
    log.metrics({"step": 100, "sps": 5.0, "train": {"loss": 0.5, "kl": float("nan")}})
    log.evaluation(50, {"points, 3 x random": [7.0, 6.0, 8.0], "nothing": None})
    log.close()
    (run,) = wandb
    assert run.given["config"] == {"seed": 3}
    assert run.given["mode"] == "offline"
    assert run.given["id"] == tmp_path.name
    assert run.lines == [
        {"sps": 5.0, "train/loss": 0.5, "decisions": 100},
        {"evaluation/points, 3 x random": 7.0, "decisions": 50},
    ]
    assert run.finished


def test_without_the_option_nothing_is_imported(wandb, tmp_path):
    RunLog(tmp_path, 1000).close()
    assert not wandb


def test_training_without_the_package_says_what_to_install(monkeypatch, train, tmp_path, capsys):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        boards.importlib.util, "find_spec", lambda name: None if name == "wandb" else found(name)
    )
    assert train(tmp_path, "run", "--wandb") == 2
    assert "fastenv[wandb]" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
