"""The value estimate of a trained policy, where its file still has the value network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from fastenv.errors import FastEnvError
from training.nets.layout import as_tensor
from training.players.network import find_sight
from training.players.policy import Policy
from training.players.trained import find_run, read_parameters
from training.run import registry
from training.run.envs import make_engine

Value = Callable[[np.ndarray], np.ndarray]
# Returns the values in lanes (k,) of an engine, float64 (k,).
LaneValue = Callable[[Any, np.ndarray], np.ndarray]


def find_value(policy: Policy, name: str) -> tuple[Value | None, str]:
    """Find the value function of a policy, or the reason that it has none.

    The function takes observations of the policy, shape (n, ...), and returns float64, shape (n,):
    the sums of rewards that it expects from there, discounted and scaled as in its training.

    Parameters
    ----------
    policy : Policy
    name : str
        Name of the policy in the sentence.

    Returns
    -------
    value : callable or None
    why : str
        One sentence; empty with a value.

    Raises
    ------
    CheckpointError
        If its checkpoint cannot be read.
    """
    why = _find_obstacle(policy, name)
    if why:
        return None, why
    run, _ = find_run(policy.path)
    trainer = registry.load_trainer(run.config.trainer)
    observer = make_engine(run.config.env, 1, run.config.env_options)
    own = read_parameters(policy.path, policy.member)
    net = trainer.load_nets(run.config, observer, own)["policy"][0]
    if not hasattr(net, "value"):
        return None, f"{name} shows no value: of the trainer {run.config.trainer} none is read."
    if not any(key.startswith("value_head") for key in own):
        return None, (
            f"{name} shows no value: its file holds what decides the play alone. "
            "A run has its value, and so has an agent that was exported with --values."
        )
    if getattr(net, "view_size", 0):
        return None, f"{name} shows no value: its value network saw more than a player does."

    def value(obs: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            values: np.ndarray = (
                net.value(as_tensor(obs), state=torch.zeros(len(obs), 0)).double().numpy()
            )
        return values

    return value, ""


def _find_obstacle(policy: Policy, name: str) -> str:
    """Find the reason that a policy of this kind shows no value; empty if it may."""
    if policy.state_size:
        return f"{name} shows no value: that of a network with a memory depends on what it was."
    if policy.env_spec.encode is not None:
        return f"{name} shows no value: its networks see something else than the game shows."
    return ""


def find_lane_value(policy: Policy, engine: Any, name: str) -> tuple[LaneValue | None, str]:
    """Find the value function of a policy in lanes of an engine; see :func:`find_value`."""
    try:
        known, why = find_value(policy, name)
        see = find_sight(policy, engine)
    except FastEnvError as error:  # such as one that knows only a part of this game
        return None, str(error)
    if known is None:
        return None, why
    value = known
    return lambda engine, lanes: value(see(engine, lanes)), ""
