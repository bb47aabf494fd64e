"""Train with PPO of Ray RLlib, over as many processes and machines as a Ray cluster has.

The network is that of the native trainer, so whatever plays its checkpoints plays these. Ray is
imported only where a training begins: who evaluates need not have it.
"""

from __future__ import annotations

from pathlib import Path

from training.ppo import run as native
from training.rllib.options import RLlibRun
from training.run.engine import Engine
from training.run.envs import Lanes
from training.run.options import require
from training.run.seating import has_agents, opponents_option
from training.run.trainer import Trainer

load_nets = native.load_nets


def make_trainer(config: RLlibRun, lanes: Lanes, folder: Path | None = None) -> Trainer:
    """Make the trainer of RLlib's PPO; Ray is started before the first iteration.

    Raises
    ------
    ImportError
        Without Ray, or with another release; says what to install.
    """
    _need_ray()
    from training.rllib.trainer import RLlibTrainer

    return RLlibTrainer(config, lanes)


def check(config: RLlibRun, engine: Engine) -> None:
    """Refuse what cannot be trained here.

    Raises
    ------
    ConfigError
        See :func:`training.ppo.run.check`; trained agents as opponents.
    ImportError
        Without Ray, or with another release; says what to install.
    """
    native.check(config, engine)
    agents = has_agents(config.env_options)
    allowed = "scripted players with trainer='rllib'"
    option = opponents_option(config.env_options)
    opponents = config.env_options.get(option)
    require(not agents, f"env_options.{option}", opponents, allowed)
    _need_ray()


def _need_ray() -> None:
    import fastenv.adapters.rllib  # noqa: F401 (says what to install)
