"""T16: two iterations, saved, and two more are four iterations, bit for bit.

That a new process goes on alike from the files of a checkpoint is shown in
``tests/training/test_kills.py``.
"""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch

from fastenv import BatchEngine
from fastenv.errors import StateError
from tests.bits import equal
from tests.race import without_scalars
from tests.slow import late
from tests.training.ppo.engines import Corridor, Seek
from training.ppo.options import NativeConfig, NativeRun, PPOConfig
from training.ppo.trainer import PPOTrainer
from training.run.envs import make_engine

PPO = PPOConfig(
    n_steps=16,
    batch_size=64,
    n_epochs=2,
    net_arch=(32,),
    lr_schedule="linear",
    activation="tanh",
    precision="fp32",
)
GRU = {"recurrent": "gru", "recurrent_size": 8, "seq_len": 8}
KINDS = {
    "plain": {},
    "shared": {"trunk": "shared", "attention": 8},
    "gru": GRU,
    "view": {"critic_view": True},
    "race": {},
    "board": GRU,
}


def trainer_of(kind, device, iterations=0):
    """Return a trainer behind some iterations."""
    if kind == "race":
        engine = BatchEngine(without_scalars(goal=8), 16, opponent="random")
    elif kind == "board":
        engine = Seek(16)
    else:
        engine = make_engine("SkullKingWorker-v0", 16)
    how = {"num_envs": 16, "total_steps": 1024, "device": device, "deterministic": True}
    trainer = PPOTrainer(NativeRun(ppo=PPO, native=NativeConfig(**KINDS[kind]), **how), engine)
    for _ in range(iterations):
        trainer.iterate()
    return trainer


@pytest.mark.parametrize("kind", ["plain", "gru", "race", *late("shared", "view", "board")])
@pytest.mark.usefixtures("make_trainer")  # which undoes what a deterministic one sets
def test_a_resumed_run_equals_an_uninterrupted_one(device, kind):
    torch.set_num_threads(1)
    whole = trainer_of(kind, device, 4).state()
    saved = deepcopy(trainer_of(kind, device, 2).state())
    resumed = trainer_of(kind, device)
    resumed.load_state(saved)
    resumed.iterate()
    resumed.iterate()
    found = resumed.state()
    assert found.steps == whole.steps
    assert equal(found.model, whole.model)
    assert equal(found.values, whole.values)
    assert (found.rows == whole.rows).all()
    for name, array in whole.arrays.items():
        assert (found.arrays[name] == array).all(), name


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
    ours = make_trainer(make_engine("SkullKingWorker-v0", 8), batch_size=64)
    saved = ours.state()
    with pytest.raises(StateError):
        ours.load_state(replace(saved, rows=saved.rows[:, :-8]))
