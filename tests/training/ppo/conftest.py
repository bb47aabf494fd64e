"""Trainers on small engines."""

import pytest
import torch

from training.ppo.trainer import PPOTrainer
from training.run.options.ppo import ExecutionConfig, PPOConfig

DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
    ),
]
SMALL = {
    "rollout_steps": 16,
    "minibatch_size": 32,
    "epochs": 2,
    "hidden": (16,),
    "lr_schedule": "constant",
}


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


@pytest.fixture
def make_trainer():
    """Build a trainer from an engine and options; fp32 on the CPU unless it is told otherwise."""
    made = []

    def make(
        engines,
        *,
        seed=1,
        total_steps=10**6,
        on_step=None,
        auxiliary=None,
        execution=None,
        **options,
    ):
        given = {"device": "cpu", "precision": "fp32", **(execution or {})}
        trainer = PPOTrainer(
            engines,
            PPOConfig(**{**SMALL, **options}),
            ExecutionConfig(**given),
            total_steps=total_steps,
            seed=seed,
            on_step=on_step,
            auxiliary=auxiliary,
        )
        made.append(trainer)
        return trainer

    yield make
    for trainer in made:
        trainer.close()
    torch.use_deterministic_algorithms(False)
