"""Train several networks at once (:mod:`training.ensemble.trainer`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from training.ensemble import trainer
from training.ensemble.options import EnsembleRun
from training.ensemble.trainer import EnsembleTrainer
from training.ppo import run as native
from training.run.engine import Engine
from training.run.envs import Lanes
from training.run.folder import RunFolder

make_lanes, load_logits, load_nets = native.make_lanes, native.load_logits, native.load_nets


def make_trainer(
    config: EnsembleRun, lanes: Lanes | None = None, folder: Path | None = None
) -> EnsembleTrainer:
    """Make the trainer of all members, with all generators seeded."""
    return EnsembleTrainer(
        (lanes or make_lanes(config)).engines[0],
        config.ppo,
        config.native,
        members=config.ensemble.members(config.ppo),
        total_steps=config.total_steps,
        device=config.device,
        deterministic=config.deterministic,
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
    """Return the values that a checkpoint must share with this run."""
    return {**native.identity(run, engine), "members": list(run.config.ensemble.seeds)}
