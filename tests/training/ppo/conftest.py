"""Trainers on small engines."""

import pytest
import torch

from training.ppo.options import NativeConfig, PPOConfig
from training.ppo.trainer import PPOTrainer

DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.gpu),
]
SMALL = {
    "n_steps": 16,
    "batch_size": 32,
    "n_epochs": 2,
    "net_arch": (16,),
    "activation": "tanh",
    "precision": "fp32",
}


def sections(**options):
    """The sections ``ppo`` and ``native`` of a config, from options of both."""
    ours = set(PPOConfig.names())
    ppo = {name: options.pop(name) for name in ours & options.keys()}
    return PPOConfig(**ppo), NativeConfig(**options)


def collect(trainer):
    """Collect a rollout, with its advantages."""
    trainer.start()
    trainer.collect()
    trainer.bootstrap()
    trainer.advantages()


def tensors_of(trainer):
    """The tensors of a rollout, in a fixed order."""
    return [x for x in vars(trainer.rollout).values() if isinstance(x, torch.Tensor)]


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


@pytest.fixture
def make_trainer():
    """Build a trainer from an engine and options; fp32 on the CPU unless it is told otherwise."""

    def make(
        engine,
        *,
        seed=1,
        total_steps=10**6,
        device="cpu",
        on_step=None,
        auxiliary=None,
        **options,
    ):
        return PPOTrainer(
            engine,
            *sections(**{**SMALL, **options}),
            total_steps=total_steps,
            seed=seed,
            device=device,
            on_step=on_step,
            auxiliary=auxiliary,
        )

    yield make
    torch.use_deterministic_algorithms(False)
