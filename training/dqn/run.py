"""Train with the DQN trainer (:mod:`training.dqn.trainer`)."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import torch

from fastenv import BatchEngine
from training.dqn.options import DQNRun
from training.dqn.trainer import DQNTrainer
from training.nets.layout import obs_layout, storage
from training.nets.precision import check as check_precision
from training.nets.precision import choose_device
from training.nets.q_network import QNetwork, Stacking
from training.run import envs
from training.run.engine import Engine
from training.run.envs import Lanes


def make_trainer(
    config: DQNRun, lanes: Lanes | None = None, folder: Path | None = None
) -> DQNTrainer:
    """Make the trainer of a run, with all generators seeded.

    Raises
    ------
    ConfigError
        A device or precision that is not there, or a network that the environment cannot feed.
    """
    return DQNTrainer(config, (lanes or envs.make_lanes(config)).engines)


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


def load_net(config: DQNRun, engine: BatchEngine, parameters: Mapping[str, Any]) -> QNetwork:
    """Load the trained network of a run."""
    net = QNetwork(obs_layout(engine), config.dqn)
    net.load_state_dict(parameters)
    return net


def load_nets(
    config: DQNRun, engine: BatchEngine, parameters: Mapping[str, Any]
) -> dict[str, tuple[QNetwork | Stacking, BatchEngine]]:
    """Load the trained network of a run, with an engine that shows what it sees.

    It plays on what the engine shows, be it a single frame of its stacks.
    """
    net = load_net(config, engine, parameters)
    if net.stack is None:
        return {"policy": (net, engine)}
    return {"policy": (Stacking(net, net.stack, prod(storage(engine)[0])), engine)}
