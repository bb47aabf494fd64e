"""Train with ``sb3_contrib.MaskablePPO``; see :mod:`training.sb3.trainer`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastenv import BatchEngine
from training.run import envs
from training.run.engine import Engine
from training.run.envs import Lanes
from training.sb3 import policy
from training.sb3.options import SB3Run
from training.sb3.trainer import SB3Trainer


def make_trainer(
    config: SB3Run, lanes: Lanes | None = None, folder: Path | None = None
) -> SB3Trainer:
    """Make MaskablePPO on the lanes of a run, with all generators seeded."""
    return SB3Trainer(config, (lanes or envs.make_lanes(config)).engines[0])


def check(config: SB3Run, engine: Engine) -> None:
    """Refuse what cannot be trained here.

    Raises
    ------
    ConfigError
        Observations that SB3 cannot take.
    """
    policy.check(engine)


def load_nets(
    config: SB3Run, engine: BatchEngine, parameters: Mapping[str, Any]
) -> dict[str, tuple[policy.LogitsNet, BatchEngine]]:
    """Load the trained policy network of a run, with an engine that shows what it sees."""
    net = policy.LogitsNet(policy.load_net(config.ppo, engine, parameters), engine.obs_dtype)
    return {"policy": (net, engine)}
