"""Boards beside the run's own files; Weights & Biases is not installed, so a double stands in."""

import importlib.util
import shutil
import sys
import threading
from types import ModuleType

import pytest

from training.logs import run_log
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
        run_log.importlib.util, "find_spec", lambda name: None if name == "wandb" else found(name)
    )
    assert train(tmp_path, "run", "--wandb") == 2
    assert ".[wandb]" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_tensorboard_reads_what_is_drawn_and_drops_what_a_resumed_run_draws_again(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    for purge_step, steps in ((0, (100, 200, 300)), (200, (300, 400))):
        (board,) = run_log.boards_of(tmp_path, purge_step)
        for step in steps:
            board.draw({"train/loss": step / 2 + purge_step, "sps": 1.0}, step)
        board.close()
    assert len(list((tmp_path / "tb").iterdir())) == 2
    found = accumulator.EventAccumulator(str(tmp_path / "tb")).Reload()
    assert sorted(found.Tags()["scalars"]) == ["sps", "train/loss"]
    drawn = [(event.step, event.value) for event in found.Scalars("train/loss")]
    assert drawn == [(100, 50.0), (200, 100.0), (300, 350.0), (400, 400.0)]


def test_a_board_starts_no_thread_that_could_die_alone(tmp_path):
    pytest.importorskip("tensorboard")
    before = threading.active_count()
    (board,) = run_log.boards_of(tmp_path, 0)
    board.draw({"sps": 1.0}, 1)
    assert threading.active_count() == before
    shutil.rmtree(tmp_path / "tb")  # the run is gone
    board.draw({"sps": 1.0}, 2)
    board.close()
