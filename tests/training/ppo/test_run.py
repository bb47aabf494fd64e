"""The native trainer as a run: what only it can do, and how it ends when it cannot go on."""

import json

import pytest
import torch

from tests.slow import every
from tests.tables import walk
from tests.training.left import lines as records
from training.players.trained import load
from training.ppo import rollout
from training.ppo.options import NativeRun
from training.ppo.trainer import PPOTrainer
from training.run import checkpoint
from training.run.folder import RunFolder


def settings(*assignments):
    return [word for text in assignments for word in ("--set", text)]


def test_deterministic_runs_do_not_choose_by_the_clock():
    assert NativeRun(deterministic=True).precision == "fp32"
    assert NativeRun().precision == "auto"


@pytest.mark.parametrize(
    "option",
    every(
        2,
        ["native.attention=8", "native.trunk=shared", "native.timers=true"],
    ),
)
def test_options_train_and_evaluate(train, tmp_path, option):
    assert train(tmp_path, "run", *settings(option), "--total-steps", 256) == 0
    found = records(tmp_path / "run")
    assert [r["step"] for r in found] == [128, 256]
    assert all(r["rounds"]["n"] == r["episode"]["n"] for r in found)
    trained = load(RunFolder.open(tmp_path / "run"))
    obs = trained.engine().obs
    assert trained.logits(obs).shape == (1, trained.engine().num_actions)


@walk(
    ("assignment", "says"),
    [
        ("native.heads=phase", "native.heads='phase'"),
        ("device=cuda", "choose device=cpu"),
        ("ppo.precision=fp16", "ppo.precision='fp16' is not possible"),
        ("ppo.batch_size=48", "ppo.batch_size=48"),
    ],
)
def test_what_cannot_be_trained_here_is_refused_with_nothing_written(
    train, tmp_path, capsys, assignment, says
):
    if torch.cuda.is_available() and ("cuda" in assignment or "fp16" in assignment):
        pytest.skip("there is a CUDA device")
    assert train(tmp_path / "runs", "bad", *settings(assignment)) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_loss_that_is_not_finite_ends_the_run_and_keeps_the_checkpoint(
    train, tmp_path, capsys, monkeypatch
):
    assert train(tmp_path, "run", "--total-steps", 256) == 0
    iterate = PPOTrainer.iterate

    def spoilt(self):
        with torch.no_grad():
            self.net.value_head.weight.fill_(float("nan"))
        return iterate(self)

    monkeypatch.setattr(PPOTrainer, "iterate", spoilt)
    assert train(tmp_path, "run", "--total-steps", 512, "--resume", config=None) == 2
    assert "ppo.learning_rate" in capsys.readouterr().err
    monkeypatch.undo()
    assert train(tmp_path, "run", "--total-steps", 512, "--resume", config=None) == 0
    assert [r["step"] for r in records(tmp_path / "run")] == [128, 256, 384, 512]


def test_parameters_that_are_not_finite_are_not_saved(train, tmp_path, capsys, monkeypatch):
    iterate = PPOTrainer.iterate

    def spoilt(self):
        found = iterate(self)
        with torch.no_grad():
            self.net.value_head.weight.fill_(float("inf"))
        return found

    monkeypatch.setattr(PPOTrainer, "iterate", spoilt)
    assert train(tmp_path, "run", "--total-steps", 128) == 2
    assert "value_head.weight of the network is not finite" in capsys.readouterr().err
    assert checkpoint.newest(tmp_path / "run/checkpoints") is None


def test_figure_that_is_not_finite_does_not_keep_a_run_from_ending(train, tmp_path, monkeypatch):
    """Returns that are all the same, or a gradient that overflowed in float16."""
    monkeypatch.setattr(rollout, "explained_variance", lambda *_: torch.tensor(float("-inf")))
    assert train(tmp_path, "run", "--total-steps", 128) == 0
    summary = json.loads((tmp_path / "run/summary.json").read_text())
    assert summary["status"] == "finished"
    assert summary["last"]["train"]["explained_variance"] is None
