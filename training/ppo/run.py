"""Train with the native trainer (:mod:`training.ppo.trainer`)."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from fastenv import BatchEngine
from fastenv.errors import ConfigError
from training.nets import actor_critic as policy
from training.nets.actor_critic import ActorCritic, Logits, RecurrentLogits
from training.nets.layout import obs_layout
from training.nets.precision import check as check_precision
from training.nets.precision import choose_device, set_up_torch
from training.ppo.average import AveragedPolicy
from training.ppo.loss import Auxiliary
from training.ppo.options import ActorCriticRun
from training.ppo.trainer import PPOTrainer
from training.run import checkpoint, envs, games
from training.run.engine import Engine, OnStep
from training.run.envs import Lanes
from training.run.folder import RunFolder
from training.run.options import require
from training.run.ranks import SINGLE_RANK, Ranks
from training.run.seeds import stream_seed
from training.selfplay import league
from training.selfplay.league import League

# Options of the section ``native`` that shape the network.
_SHAPE = ("trunk", "heads", "attention", "recurrent", "recurrent_size")


def make_lanes(config: ActorCriticRun) -> Lanes:
    """Make the engine of a run, with this rank's share of the lanes."""
    share = config.share_of(Ranks.from_environment().size)
    return envs.make_lanes(share)


def make_trainer(
    config: ActorCriticRun, lanes: Lanes | None = None, folder: Path | None = None
) -> PPOTrainer:
    """Make the trainer of a run, with all generators seeded.

    Parameters
    ----------
    config : ActorCriticRun
    lanes : Lanes, optional
        What :func:`make_lanes` returns for it; default new ones.
    folder : Path, optional
        Of the run; self-play keeps its pool there, and without it there is none.

    Raises
    ------
    ConfigError
        A device or precision that is not there, or a network that the environment cannot feed.
    """
    ranks = Ranks.from_environment()
    engine: Any = (lanes or make_lanes(config)).engines[0]
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
    on_step: OnStep | None = None,
    ranks: Ranks = SINGLE_RANK,
    league: League | None = None,
) -> PPOTrainer:
    """Make a trainer for an engine by a config; see :func:`make_trainer`."""
    trainer = PPOTrainer(
        engine,
        config.ppo,
        config.native,
        total_steps=config.total_steps,
        seed=config.seed,
        device=config.device,
        deterministic=config.deterministic,
        on_step=on_step,
        auxiliary=auxiliary(config, engine),
        ranks=ranks,
        league=league,
        first_parameters=partial(first_parameters, config, engine),
    )
    selfplay = config.selfplay
    if selfplay is not None and selfplay.average:
        seed = stream_seed(config.seed, "auxiliary")
        how = selfplay.average, selfplay.magnet, seed
        trainer.add_auxiliary(AveragedPolicy(trainer.net, *how))
    return trainer


def follow_first_rank(
    config: ActorCriticRun, make: Callable[[Any], PPOTrainer] = make_trainer
) -> None:
    """Train as one of torchrun's other ranks, until the first rank ends.

    Parameters
    ----------
    config : ActorCriticRun
    make : callable
        Makes the trainer.
    """
    set_up_torch(config)
    trainer = make(config)
    try:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)  # the first decides when it is over
        while (command := trainer.ranks.receive())[0] != "end":
            trainer.obey(*command)
    finally:
        trainer.close()


def auxiliary(config: ActorCriticRun, engine: Engine) -> Auxiliary | None:
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


def first_parameters(
    config: ActorCriticRun, engine: Engine, net: torch.nn.Module
) -> dict[str, Any] | None:
    """Return the parameters that ``native.warm_start`` names; None if it names none.

    Where they have no value, it is the network's own.

    Raises
    ------
    ConfigError
        If there is no such run, or its newest checkpoint is damaged, of another environment or of
        another network.
    """
    path = config.native.warm_start
    if path is None:
        return None
    same = {**checkpoint.identity_of(config.env, engine), "network": network_of(config)}
    return checkpoint.load_first_parameters("native.warm_start", path, same, net.state_dict())


def check(config: ActorCriticRun, engine: Engine) -> None:
    """Refuse what cannot be trained here.

    Raises
    ------
    ConfigError
        See :func:`make_trainer`.
    """
    obs_layout(engine).check(config.native)
    auxiliary(config, engine)
    device = choose_device(config.device)
    if config.precision != "auto":
        check_precision(config.precision, device)
    if config.native.warm_start is not None:
        first_parameters(config, engine, ActorCritic(obs_layout(engine), config.ppo, config.native))
    if config.selfplay is not None:
        league.check(config, engine)
        hindsight, allowed = config.native.hindsight, "'off' with selfplay.average"
        alone = hindsight == "off" or not config.selfplay.average
        require(alone, "native.hindsight", hindsight, allowed)


def identity(run: RunFolder, engine: Engine) -> dict[str, Any]:
    """Return the values that a checkpoint must share with this run to be played."""
    config = run.config
    same = checkpoint.identity_of(config.env, engine)
    return {**same, "network": network_of(config), "trainer": config.trainer}


def network_of(config: ActorCriticRun) -> dict[str, Any]:
    """Return the options that shape the network of a run."""
    shape = {name: value for name, value in config.native.to_dict().items() if name in _SHAPE}
    network = {"net_arch": list(config.ppo.net_arch), "activation": config.ppo.activation, **shape}
    for name, usual in (("hindsight", "off"), ("encoder", "auto")):
        if (chosen := getattr(config.native, name)) != usual:  # checkpoints are older than both
            network[name] = chosen
    for name in ("critic_view", "normalize_observations"):
        if getattr(config.native, name):
            network[name] = True
    return network


def load_net(
    config: ActorCriticRun, engine: BatchEngine, state_dict: dict[str, Any]
) -> ActorCritic:
    """Load the trained network of a run."""
    return policy.load_net(config.ppo, config.native, obs_layout(engine), state_dict)


def load_logits(
    config: ActorCriticRun, engine: BatchEngine, state_dict: dict[str, Any]
) -> Logits | RecurrentLogits:
    """Load the trained network of a run as a function from observations to logits."""
    return policy.make_player(load_net(config, engine, state_dict))


def load_nets(
    config: ActorCriticRun, engine: BatchEngine, state_dict: dict[str, Any]
) -> dict[str, tuple[ActorCritic, BatchEngine]]:
    """Load the trained network of a run, with an engine that shows what it sees."""
    return {"policy": (load_net(config, engine, state_dict), engine)}
