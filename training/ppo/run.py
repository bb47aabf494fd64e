"""Train with the native trainer (:mod:`training.ppo.trainer`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from fastenv import BatchEngine
from fastenv.errors import ConfigError
from training.nets import actor_critic
from training.nets.actor_critic import ActorCritic
from training.nets.layout import obs_layout
from training.nets.precision import check as check_precision
from training.nets.precision import choose_device
from training.ppo.average import AveragedPolicy
from training.ppo.loss import Auxiliary
from training.ppo.options import ActorCriticRun
from training.ppo.trainer import PPOTrainer
from training.ppo.warm_start import load_first_parameters
from training.run import envs, games
from training.run.engine import Engine
from training.run.envs import Lanes
from training.run.options import require
from training.run.ranks import SINGLE_RANK, Ranks
from training.run.seeds import stream_seed
from training.selfplay import league
from training.selfplay.league import League


def make_trainer(
    config: ActorCriticRun, lanes: Lanes | None = None, folder: Path | None = None
) -> PPOTrainer:
    """Make the trainer of a run, with all generators seeded.

    Parameters
    ----------
    config : ActorCriticRun
    lanes : Lanes, optional
        Of :func:`training.run.envs.make_lanes`; default new ones.
    folder : Path, optional
        Of the run; self-play keeps its pool there, and without it there is none.

    Raises
    ------
    ConfigError
        A device or precision that is not there, or a network that the environment cannot feed.
    """
    ranks = Ranks.from_environment()
    engine: Any = (lanes or envs.make_lanes(config)).engines[0]
    ranks.join()
    ranks.share_knobs(engine)
    league = None
    if config.selfplay is not None and folder is not None:
        net = partial(ActorCritic, obs_layout(engine), config.ppo, config.native)
        league = League(config, folder, net)
        engine = league.seat(engine, stream_seed(config.seed, "explore"))
    return build(config.share_of(ranks.size), engine, ranks=ranks, league=league)


def build(
    config: ActorCriticRun,
    engine: Engine,
    *,
    ranks: Ranks = SINGLE_RANK,
    league: League | None = None,
) -> PPOTrainer:
    """Make a trainer for an engine, with the further losses of its options."""
    trainer, selfplay = PPOTrainer(config, engine, ranks=ranks, league=league), config.selfplay
    further = make_auxiliary(config, engine)
    if further is not None:
        trainer.add_auxiliary(further)
    if selfplay is not None and selfplay.average:
        seed = stream_seed(config.seed, "auxiliary")
        how = selfplay.average, selfplay.magnet, seed
        trainer.add_auxiliary(AveragedPolicy(trainer.net, *how))
    return trainer


def make_auxiliary(config: ActorCriticRun, engine: Engine) -> Auxiliary | None:
    """Make the auxiliary loss that the game offers for ``native.hindsight``; None if it is off.

    The capability ``auxiliary`` makes it of the config of a run and an engine.

    Raises
    ------
    ConfigError
        If the game has none, or the mode does not fit the environment or the network.
    """
    if config.native.hindsight == "off":
        return None
    make = games.find(engine, "auxiliary")
    if make is None:
        raise ConfigError(
            f"native.hindsight={config.native.hindsight!r} is not possible: {config.env} has no "
            "such loss."
        )
    loss: Auxiliary = make(config, engine)
    return loss


def check(config: ActorCriticRun, engine: Engine) -> None:
    """Refuse what cannot be trained here.

    Raises
    ------
    ConfigError
        See :func:`make_trainer`.
    """
    obs_layout(engine).check(config.native)
    make_auxiliary(config, engine)
    device = choose_device(config.device)
    if config.precision != "auto":
        check_precision(config.precision, device)
    if config.native.warm_start is not None:
        net = ActorCritic(obs_layout(engine), config.ppo, config.native)
        load_first_parameters(config, engine, net)
    if config.selfplay is not None:
        league.check(config, engine)
        hindsight, allowed = config.native.hindsight, "'off' with selfplay.average"
        alone = hindsight == "off" or not config.selfplay.average
        require(alone, "native.hindsight", hindsight, allowed)


def load_net(
    config: ActorCriticRun, engine: BatchEngine, parameters: Mapping[str, Any]
) -> ActorCritic:
    """Load the trained network of a run."""
    return actor_critic.load_net(config.ppo, config.native, obs_layout(engine), parameters)


def load_nets(
    config: ActorCriticRun, engine: BatchEngine, parameters: Mapping[str, Any]
) -> dict[str, tuple[ActorCritic, BatchEngine]]:
    """Load the trained network of a run, with an engine that shows what it sees."""
    return {"policy": (load_net(config, engine, parameters), engine)}
