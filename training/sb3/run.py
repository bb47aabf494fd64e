"""What a run needs of ``sb3_contrib.MaskablePPO``; see :mod:`training.sb3.trainer`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastenv import BatchEngine
from training.run import checkpoint, envs
from training.run.engine import Engine
from training.run.envs import Lanes
from training.run.folder import RunFolder
from training.run.options import require
from training.sb3 import policy
from training.sb3.options import SB3Run
from training.sb3.trainer import SB3Trainer


def make_lanes(config: SB3Run) -> Lanes:
    """Return the engine of a run."""
    return envs.make_lanes(config)


def make_trainer(
    config: SB3Run, lanes: Lanes | None = None, folder: Path | None = None
) -> SB3Trainer:
    """Return MaskablePPO on the lanes of a run, with all generators seeded."""
    return SB3Trainer(config, (lanes or make_lanes(config)).engines[0])


def check(config: SB3Run, engine: Engine) -> None:
    """Refuse what cannot be trained here.

    Raises
    ------
    ConfigError
        Observations that SB3, or the buffer that was asked for, cannot take.
    """
    policy.check(engine)
    buffer = config.ppo.rollout_buffer
    fits = engine.obs_dtype.names is None or buffer == "stock"
    require(fits, "ppo.rollout_buffer", buffer, "'stock' for an observation of several arrays")


def identity(run: RunFolder, engine: Engine) -> dict[str, Any]:
    """Return what a checkpoint must share with this run to be played."""
    same = checkpoint.identity_of(run.config.env, engine)
    return {**same, "network": list(run.config.ppo.net_arch), "trainer": run.config.trainer}


def load_logits(config: SB3Run, engine: BatchEngine, state_dict: dict[str, Any]) -> policy.Logits:
    """Return the trained network of a run as a function from observations to logits."""
    return policy.load_logits(config.ppo, engine, state_dict)


def load_nets(
    config: SB3Run, engine: BatchEngine, state_dict: dict[str, Any]
) -> dict[str, tuple[policy.LogitsNet, BatchEngine]]:
    """Return the trained policy network of a run, and an engine that shows what it sees."""
    return {"policy": (policy.LogitsNet(policy.load_net(config.ppo, engine, state_dict)), engine)}
