"""Train several networks at once (:mod:`training.ensemble.trainer`)."""

from __future__ import annotations

from pathlib import Path

from training.ensemble.options import EnsembleRun
from training.ensemble.trainer import EnsembleTrainer, check_members
from training.ppo import run as native
from training.run import envs
from training.run.engine import Engine
from training.run.envs import Lanes

load_nets = native.load_nets  # of one member


def make_trainer(
    config: EnsembleRun, lanes: Lanes | None = None, folder: Path | None = None
) -> EnsembleTrainer:
    """Make the trainer of all members, with all generators seeded."""
    return EnsembleTrainer(config, (lanes or envs.make_lanes(config)).engines[0])


def check(config: EnsembleRun, engine: Engine) -> None:
    """Refuse what cannot be trained here.

    Raises
    ------
    ConfigError
        See :func:`training.ensemble.trainer.check_members`.
    """
    native.check(config, engine)
    check_members(config)
