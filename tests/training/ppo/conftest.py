"""Trainers on small engines."""

import pytest
import torch

from training.ppo.options import NativeConfig, NativeRun, PPOConfig
from training.ppo.trainer import PPOTrainer
from training.run.ranks import SINGLE_RANK

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


def make_on(engine, ppo, native, *, on_step=None, auxiliary=None, ranks=SINGLE_RANK, **run):
    """A trainer on an engine, by its two sections and further options of a run."""
    run = {"num_envs": engine.num_envs, "total_steps": 10**6, "device": "cpu", **run}
    config = NativeRun(ppo=ppo, native=native, **run)
    trainer = PPOTrainer(config, engine, ranks=ranks)
    if auxiliary is not None:
        trainer.add_auxiliary(auxiliary)
    trainer.on_step = on_step
    return trainer


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

    def make(engine, **options):
        given = ("seed", "total_steps", "device", "on_step", "auxiliary")
        how = {name: options.pop(name) for name in given if name in options}
        return make_on(engine, *sections(**{**SMALL, **options}), **how)

    yield make
    torch.use_deterministic_algorithms(False)
