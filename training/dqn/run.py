"""Train with the DQN trainer (:mod:`training.dqn.trainer`)."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import torch

from fastenv import BatchEngine
from training.dqn.options import DQNConfig, DQNRun
from training.dqn.trainer import DQNTrainer
from training.nets.actor_critic import Logits, RecurrentLogits, make_logits
from training.nets.layout import obs_layout, storage
from training.nets.precision import check as check_precision
from training.nets.precision import choose_device
from training.nets.q_network import QNetwork, Stacking
from training.run import checkpoint, envs
from training.run.engine import Engine
from training.run.envs import Lanes
from training.run.folder import RunFolder

# Options of the section ``dqn`` that shape the network.
_SHAPE = ("net_arch", "activation", "encoder", "dueling", "num_quantiles", "noisy")
# Further ones, which a checkpoint has where they are not as usual: it may be older than they are.
_MORE = ("recurrent", "recurrent_size", "stack_k")


def make_lanes(config: DQNRun) -> Lanes:
    """Make the engines of a run."""
    return envs.make_lanes(config, config.num_envs if config.dqn.runner == "legacy" else 1)


def make_trainer(
    config: DQNRun, lanes: Lanes | None = None, folder: Path | None = None
) -> DQNTrainer:
    """Make the trainer of a run, with all generators seeded.

    Raises
    ------
    ConfigError
        A device or precision that is not there, or a network that the environment cannot feed.
    """
    engines = (lanes or make_lanes(config)).engines
    return DQNTrainer(
        engines,
        config.dqn,
        total_steps=config.total_steps,
        seed=config.seed,
        device=config.device,
        deterministic=config.deterministic,
    )


def check(config: DQNRun, engine: Engine) -> None:
    """Refuse what cannot be trained here.

    Raises
    ------
    ConfigError
        See :func:`make_trainer`.
    """
    obs_layout(engine).check_encoder(config.dqn.encoder, "dqn.encoder")
    device = choose_device(config.device)
    if device.type == "cuda" and config.dqn.replay_device == "auto":
        memory = torch.cuda.get_device_properties(device).total_memory
        replay = engine.obs[0].nbytes, engine.num_actions, memory
        config.check_replay(*replay, copied=False, where="the GPU (dqn.replay_device=auto)")
    if config.precision != "auto":
        check_precision(config.precision, device, "dqn.precision")


def identity(run: RunFolder, engine: Engine) -> dict[str, Any]:
    """Return the values that a checkpoint must share with this run to be played."""
    return {**checkpoint.identity_of(run.config.env, engine), **network_of(run.config)}


def network_of(config: DQNRun) -> dict[str, Any]:
    """Return the trainer and the options that shape its network, as checkpoints have them."""
    usual = DQNConfig()
    values = {name: getattr(config.dqn, name) for name in _SHAPE}
    more = {name: getattr(config.dqn, name) for name in _MORE}
    values |= {name: value for name, value in more.items() if value != getattr(usual, name)}
    network = {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
    return {"network": network, "trainer": config.trainer}


def load_net(config: DQNRun, engine: BatchEngine, state_dict: dict[str, Any]) -> QNetwork:
    """Load the trained network of a run."""
    net = QNetwork(obs_layout(engine), config.dqn)
    net.load_state_dict(state_dict)
    return net


def load_logits(
    config: DQNRun, engine: BatchEngine, state_dict: dict[str, Any]
) -> Logits | RecurrentLogits:
    """Load the trained network of a run as a function from observations to values of actions."""
    net = load_net(config, engine, state_dict)
    if net.stack is None and not net.is_recurrent:
        return make_logits(net)
    return RecurrentLogits(player_of(net, engine))


def player_of(net: QNetwork, engine: Engine) -> QNetwork | Stacking:
    """Return a network that plays on what an engine shows, be it a single frame of its stacks."""
    if net.stack is None:
        return net
    return Stacking(net, net.stack, prod(storage(engine)[0]))


def load_nets(
    config: DQNRun, engine: BatchEngine, state_dict: dict[str, Any]
) -> dict[str, tuple[QNetwork | Stacking, BatchEngine]]:
    """Load the trained network of a run, with an engine that shows what it sees."""
    return {"policy": (player_of(load_net(config, engine, state_dict), engine), engine)}
