"""The network of a run: how stock MaskablePPO builds it, and how to play with it afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import nn

from fastenv import BatchEngine
from fastenv.env import observation_space
from training.config import PPOConfig

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}
Logits = Callable[[np.ndarray], np.ndarray]


def policy_kwargs(ppo: PPOConfig) -> dict[str, Any]:
    """Return the ``policy_kwargs`` of MaskablePPO; policy and value have a network each."""
    widths = list(ppo.net_arch)
    return {
        "net_arch": {"pi": widths, "vf": widths},
        "activation_fn": ACTIVATIONS[ppo.activation],
        # One kernel for all parameters; naming options drops SB3's eps, so it is named too.
        "optimizer_kwargs": {"fused": True, "eps": 1e-5},
    }


def load_logits(ppo: PPOConfig, engine: BatchEngine, state_dict: dict[str, Any]) -> Logits:
    """Return the trained network as a function from observations to logits.

    Parameters
    ----------
    ppo : PPOConfig
        What it was trained with.
    engine : BatchEngine
        An engine of the environment it was trained on.
    state_dict : dict
        Parameters, as saved in a checkpoint.

    Returns
    -------
    callable
        float32 observations (k, D) to float32 logits (k, A).
    """
    policy = MaskableActorCriticPolicy(
        observation_space(engine.game),
        spaces.Discrete(engine.num_actions),
        lambda _: 0.0,
        **policy_kwargs(ppo),
    )
    policy.load_state_dict(state_dict)
    return logits_of(policy)


def logits_of(policy: MaskableActorCriticPolicy) -> Logits:
    """Return a policy network as a function from observations to logits of the actions."""
    policy.set_training_mode(False)

    def logits(obs: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            seen = torch.from_numpy(obs).to(policy.device)
            features = policy.extract_features(seen, policy.pi_features_extractor)
            return policy.action_net(policy.mlp_extractor.forward_actor(features)).cpu().numpy()

    return logits
