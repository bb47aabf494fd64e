"""The network of a run: how MaskablePPO builds it, and how to play with it afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import (
    MaskableActorCriticPolicy,
    MaskableMultiInputActorCriticPolicy,
)
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.utils import obs_as_tensor
from torch import nn

from fastenv import BatchEngine
from fastenv.env import observation_space, shown_obs
from fastenv.errors import ConfigError
from training.nets.encoders import SMALLEST_IMAGE
from training.ppo.options import PPOConfig
from training.run.engine import Engine

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}


def check(engine: Engine) -> None:
    """Refuse observations that SB3 cannot take.

    Raises
    ------
    ConfigError
        A field of a structured observation is a single number, an image smaller than SB3's
        convolutions, or part of a nested space, whose name has a dot; names it.
    """
    space = observation_space(engine.game)
    for name, part in space.spaces.items() if isinstance(space, spaces.Dict) else ():
        small = is_image_space(part) and sorted(part.shape or ())[-2] < SMALLEST_IMAGE
        if part.shape == () or small or "." in name:
            what = "an image of fewer than 36 pixels a side" if small else "a single number"
            what = "part of a nested space" if "." in name else what
            raise ConfigError(
                f"trainer='sb3' is not possible: {name!r} in the observation is {what}, which SB3 "
                "cannot take; take trainer='native'."
            )


def policy_kwargs(ppo: PPOConfig) -> dict[str, Any]:
    """Return the ``policy_kwargs`` of MaskablePPO; policy and value have a network each."""
    widths = list(ppo.net_arch)
    return {
        "net_arch": {"pi": widths, "vf": widths},
        "activation_fn": ACTIVATIONS[ppo.activation],
        # One kernel for all parameters; naming options drops SB3's eps, so it is named too.
        "optimizer_kwargs": {"fused": True, "eps": 1e-5},
    }


def load_net(
    ppo: PPOConfig, engine: BatchEngine, parameters: Mapping[str, Any]
) -> MaskableActorCriticPolicy:
    """Load the trained policy.

    Parameters
    ----------
    ppo : PPOConfig
        What it was trained with.
    engine : BatchEngine
        An engine of the environment it was trained on.
    parameters : mapping
        As saved in a checkpoint.
    """
    space = observation_space(engine.game)
    several = isinstance(space, spaces.Dict)
    kind: Any = MaskableMultiInputActorCriticPolicy if several else MaskableActorCriticPolicy
    policy: MaskableActorCriticPolicy = kind(
        space,
        spaces.Discrete(engine.num_actions),
        lambda _: 0.0,
        **policy_kwargs(ppo),
    )
    policy.load_state_dict(parameters)
    return policy


class LogitsNet(nn.Module):
    """The part of a policy that plays: observations to logits of the actions.

    Parameters
    ----------
    policy : MaskableActorCriticPolicy
    obs_dtype : dtype, optional
        Of the engine that shows the observations; default plain numbers.
    """

    def __init__(
        self, policy: MaskableActorCriticPolicy, obs_dtype: np.dtype[Any] | None = None
    ) -> None:
        super().__init__()
        self._policy = policy.eval()
        structured = obs_dtype is not None and obs_dtype.names is not None
        self._record: Any = obs_dtype if structured else None

    def logits(self, obs: torch.Tensor) -> torch.Tensor:
        """Return the logits (n, A); structured observations are the bytes of their records."""
        policy, seen = self._policy, cast(Any, obs)
        if self._record is not None:
            fields = shown_obs(obs.cpu().numpy().view(self._record)[..., 0], copy=False)
            seen = obs_as_tensor(fields, policy.device)
        features: Any = policy.extract_features(seen, policy.pi_features_extractor)
        return policy.action_net(policy.mlp_extractor.forward_actor(features))
