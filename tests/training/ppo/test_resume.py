"""T16: two iterations, saved, and two more in a new process are four iterations, bit for bit."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fastenv.errors import StateError
from tests.bits import equal
from tests.slow import late, together
from tests.training.ppo.engines import Corridor

ROOT = Path(__file__).parents[3]
# Runs `iterations` of a trainer, from a saved state if there is one, and saves what it came to.
SCRIPT = """
import sys
import numpy as np
import torch
from fastenv import BatchEngine
from tests.race import without_scalars
from tests.training.ppo.engines import Seek
from training.run.envs import make_engine
from training.ppo.options import NativeConfig, NativeRun, PPOConfig
from training.run.checkpoint import State
from training.ppo.trainer import PPOTrainer

def trainer_of(kind, device="cpu"):
    ppo = PPOConfig(
        n_steps=16, batch_size=64, n_epochs=2, net_arch=(32,), lr_schedule="linear",
        activation="tanh", precision="fp32",
    )
    options = {
        "plain": {}, "shared": {"trunk": "shared", "attention": 8},
        "gru": {"recurrent": "gru", "recurrent_size": 8, "seq_len": 8},
        "race": {}, "view": {"critic_view": True},
        "board": {"recurrent": "gru", "recurrent_size": 8, "seq_len": 8},
    }[kind]
    if kind == "race":
        engine = BatchEngine(without_scalars(goal=8), 16, opponent="random")
    elif kind == "board":
        engine = Seek(16)
    else:
        engine = make_engine("SkullKingWorker-v0", 16)
    how = {"num_envs": 16, "total_steps": 1024, "device": device, "deterministic": True}
    return PPOTrainer(NativeRun(ppo=ppo, native=NativeConfig(**options), **how), engine)

def save(trainer, stem):
    state = trainer.state()
    torch.save(state.model, stem + ".pt")
    np.savez(stem + ".npz", rows=state.rows, **state.arrays)
    torch.save({"steps": state.steps, "values": state.values}, stem + ".json")

def load(trainer, stem):
    with np.load(stem + ".npz", allow_pickle=False) as stored:
        arrays = dict(stored)
    trainer.load_state(State(
        model=torch.load(stem + ".pt", weights_only=True),
        **torch.load(stem + ".json", weights_only=True),
        rows=arrays.pop("rows"),
        arrays=arrays,
    ))

def go(kind, iterations, start, end, device="cpu"):
    torch.set_num_threads(1)
    trainer = trainer_of(kind, device)
    if start:
        load(trainer, start)
    for _ in range(iterations):
        trainer.iterate()
    save(trainer, end)
"""
KINDS = ("plain", "shared", "gru", "view", "race", "board")
QUICK = ("plain", "gru", "race")


def straight_and_resumed(folder, device, anew, kinds):
    """Run every kind both ways; the second half of the second way may be in a new process."""
    scope = {}
    exec(SCRIPT, scope)
    for kind in kinds:
        scope["go"](kind, 4, None, str(folder / f"{kind}-straight"), device)
        scope["go"](kind, 2, None, str(folder / f"{kind}-half"), device)
        if not anew:
            resumed = str(folder / f"{kind}-resumed")
            scope["go"](kind, 2, str(folder / f"{kind}-half"), resumed, device)
    torch.use_deterministic_algorithms(False)
    if anew:
        calls = [
            f"go({k!r}, 2, {f'{folder}/{k}-half'!r}, {f'{folder}/{k}-resumed'!r}, {device!r})"
            for k in kinds
        ]
        subprocess.run([sys.executable, "-c", SCRIPT + "\n".join(calls)], cwd=ROOT, check=True)


def check(folder, kind):
    for ending in ("pt", "json"):
        one, two = (
            torch.load(folder / f"{kind}-{way}.{ending}", weights_only=True)
            for way in ("straight", "resumed")
        )
        assert equal(one, two), ending
    with (
        np.load(folder / f"{kind}-straight.npz") as one,
        np.load(folder / f"{kind}-resumed.npz") as two,
    ):
        for name in one.files:
            assert (one[name] == two[name]).all(), name


@pytest.mark.parametrize(
    ("kinds", "anew"), [(QUICK, False), *late(*together([(KINDS, False), (KINDS, True)]))]
)
def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path, device, kinds, anew):
    straight_and_resumed(tmp_path, device, anew, kinds)
    for kind in kinds:
        check(tmp_path, kind)


def test_the_precision_that_was_chosen_is_kept(make_trainer):
    trainer = make_trainer(Corridor(4), precision="bf16")
    trainer.iterate()
    other = make_trainer(Corridor(4), precision="auto")
    other.load_state(trainer.state())
    assert other.precision.name == "bf16"
    other.iterate()
    assert other.iteration == 2


def test_a_state_can_be_taken_before_the_first_iteration(make_trainer):
    ours, theirs = make_trainer(Corridor(4)), make_trainer(Corridor(4), seed=7)
    theirs.load_state(ours.state())
    assert ours.iterate()["train"] == theirs.iterate()["train"]


def test_a_saved_state_does_not_move_with_the_training(make_trainer):
    trainer = make_trainer(Corridor(4))
    saved = trainer.state()
    weight = saved.model["policy"]["policy_head.weight"].clone()
    obs = saved.arrays["obs"].copy()
    trainer.iterate()
    assert torch.equal(saved.model["policy"]["policy_head.weight"], weight)
    assert (saved.arrays["obs"] == obs).all()


def test_rows_of_another_game_are_refused(make_trainer):
    from training.run.envs import make_engine

    ours = make_trainer(make_engine("SkullKingWorker-v0", 8), batch_size=64)
    saved = ours.state()
    with pytest.raises(StateError):
        ours.load_state(replace(saved, rows=saved.rows[:, :-8]))
