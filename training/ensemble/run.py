"""Train several networks at once (:mod:`training.ensemble.trainer`)."""

from __future__ import annotations

from typing import Any

from training.callbacks.run_callbacks import run_training
from training.ensemble import trainer
from training.ensemble.options import EnsembleRun
from training.ensemble.trainer import EnsembleTrainer
from training.ppo import run as native
from training.ppo.parts import NativeLearner
from training.run.engine import Engine, OnStep
from training.run.envs import Lanes
from training.run.folder import RunFolder
from training.run.learner import get_shared_arguments
from training.run.session import Outcome

make_lanes, load_logits, load_nets = native.make_lanes, native.load_logits, native.load_nets


def train(run: RunFolder, lanes: Lanes, resume: bool = False) -> Outcome:
    """Train a run on its lanes; see :func:`training.run.session.run_training`."""
    return run_training(run, resume, lambda: EnsembleLearner(run.config, lanes), identity)


class EnsembleLearner(NativeLearner):
    """:class:`EnsembleTrainer` on the engine of a run: a :class:`training.run.session.Learner`."""

    def build(self, config: Any, on_step: OnStep) -> EnsembleTrainer:
        """Return the trainer as the config asks, with all generators seeded."""
        return EnsembleTrainer(
            self.engines[0],
            config.ppo,
            config.native,
            members=config.ensemble.members(config.ppo),
            on_step=on_step,
            **get_shared_arguments(config),
        )


def check(config: EnsembleRun, engine: Engine) -> None:
    """Refuse what cannot be trained here.

    Raises
    ------
    ConfigError
        See :func:`training.ensemble.trainer.check`.
    """
    native.check(config, engine)
    trainer.check(config.ppo, config.native, len(config.ensemble.seeds), config.num_envs)


def identity(run: RunFolder, engine: Engine) -> dict[str, Any]:
    """Return what a checkpoint must share with this run."""
    return {**native.identity(run, engine), "members": list(run.config.ensemble.seeds)}
