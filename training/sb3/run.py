"""Train with ``sb3_contrib.MaskablePPO``; see :mod:`training.sb3.trainer`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastenv import BatchEngine
from training.run import checkpoint, envs
from training.run.engine import Engine
from training.run.envs import Lanes
from training.run.folder import RunFolder
from training.sb3 import policy
from training.sb3.options import SB3Run
from training.sb3.trainer import SB3Trainer


def make_lanes(config: SB3Run) -> Lanes:
    """Make the engine of a run."""
    return envs.make_lanes(config)


def make_trainer(
    config: SB3Run, lanes: Lanes | None = None, folder: Path | None = None
) -> SB3Trainer:
    """Make MaskablePPO on the lanes of a run, with all generators seeded."""
    return SB3Trainer(config, (lanes or make_lanes(config)).engines[0])


def check(config: SB3Run, engine: Engine) -> None:
    """Refuse what cannot be trained here.

    Raises
    ------
    ConfigError
        Observations that SB3 cannot take.
    """
    policy.check(engine)


def identity(run: RunFolder, engine: Engine) -> dict[str, Any]:
    """Return the values that a checkpoint must share with this run to be played."""
    same = checkpoint.identity_of(run.config.env, engine)
    return {**same, "network": list(run.config.ppo.net_arch), "trainer": run.config.trainer}


def load_logits(config: SB3Run, engine: BatchEngine, state_dict: dict[str, Any]) -> policy.Logits:
    """Load the trained network of a run as a function from observations to logits."""
    return policy.logits_of(policy.load_net(config.ppo, engine, state_dict))


def load_nets(
    config: SB3Run, engine: BatchEngine, state_dict: dict[str, Any]
) -> dict[str, tuple[policy.LogitsNet, BatchEngine]]:
    """Load the trained policy network of a run, with an engine that shows what it sees."""
    return {"policy": (policy.LogitsNet(policy.load_net(config.ppo, engine, state_dict)), engine)}
