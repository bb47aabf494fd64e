"""The network of a run: how MaskablePPO builds it, and how to play with it afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from sb3_contrib.common.maskable.policies import (
    MaskableActorCriticPolicy,
    MaskableMultiInputActorCriticPolicy,
)
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.torch_layers import CombinedExtractor
from stable_baselines3.common.utils import obs_as_tensor
from torch import nn

from fastenv import BatchEngine
from fastenv.env import observation_space, shown_obs
from fastenv.errors import ConfigError
from training.nets import precision as precisions
from training.nets.encoders import SMALLEST_IMAGE
from training.ppo.options import PPOConfig
from training.run.engine import Engine

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}


class AutocastMaskablePolicy(MaskableActorCriticPolicy):
    """The stock policy with its layers in bfloat16, given to ``MaskablePPO`` as ``policy``.

    ``Dict`` observations go through SB3's ``CombinedExtractor``.

    Rollout and update use the same precision. Parameters, optimizer, logits, values and everything
    computed from them stay float32, so no loss scaling is needed, and checkpoints are those of the
    stock policy. The features extractor stays float32 too.

    Parameters
    ----------
    *args, **kwargs
        As for ``MaskableActorCriticPolicy``.
    precision : {"bf16", "fp32", "auto"}
        ``"auto"`` is float32 until :meth:`choose_precision` has decided. A processor without
        bfloat16 instructions emulates them, slowly.
    optimizer_kwargs : dict, optional
        Default one fused kernel for all parameters, and SB3's ``eps``.

    Attributes
    ----------
    precision : str

    Raises
    ------
    ValueError
        For another precision.
    """

    def __init__(
        self,
        *args: Any,
        precision: str = "bf16",
        optimizer_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if isinstance(args[0] if args else kwargs["observation_space"], spaces.Dict):
            kwargs.setdefault("features_extractor_class", CombinedExtractor)
        if precision not in ("bf16", "fp32", "auto"):
            raise ValueError(f"precision={precision!r}: must be one of 'bf16', 'fp32', 'auto'")
        if optimizer_kwargs is None:
            optimizer_kwargs = {"fused": True, "eps": 1e-5}
        super().__init__(*args, **kwargs, optimizer_kwargs=optimizer_kwargs)  # type: ignore[misc]
        self.precision = precision

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {**super()._get_constructor_parameters(), "precision": self.precision}

    def choose_precision(self, batch_size: int) -> str:
        """Settle ``auto`` for the device the policy is on, and return the precision.

        Parameters
        ----------
        batch_size : int
            Samples of a minibatch; one is timed where the answer is open. No generator is used.

        Raises
        ------
        ConfigError
            If the device lacks the precision that was asked for.
        """

        def seconds(name: str) -> float:
            self.precision = name
            return self._measure_seconds(batch_size)

        self.precision = precisions.choose(self.precision, self.device, seconds)
        if self.precision == "fp16":  # a CUDA device without bfloat16
            self.precision = "fp32"
        return self.precision

    def _measure_seconds(self, batch_size: int) -> float:
        space = self.observation_space
        parts = space.spaces if isinstance(space, spaces.Dict) else {"": space}
        zeros = {
            name: np.zeros((batch_size, *(part.shape or ())), part.dtype)
            for name, part in parts.items()
        }
        obs = obs_as_tensor(zeros if isinstance(space, spaces.Dict) else zeros[""], self.device)

        def minibatch() -> None:
            logits, values = self._evaluate(obs)
            (logits.square().mean() + values.square().mean()).backward()

        seconds = precisions.cpu_seconds(minibatch)
        self.optimizer.zero_grad(set_to_none=True)
        return seconds

    def _autocast(self) -> torch.autocast:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16")

    def _logits(self, features: torch.Tensor) -> torch.Tensor:
        with self._autocast():
            return self.action_net(self.mlp_extractor.forward_actor(features)).float()

    def _values(self, features: torch.Tensor) -> torch.Tensor:
        with self._autocast():
            return self.value_net(self.mlp_extractor.forward_critic(features)).float()

    def _evaluate(self, obs: Any) -> tuple[torch.Tensor, torch.Tensor]:
        features: Any = self.extract_features(obs)
        pi, vf = (features, features) if self.share_features_extractor else features
        return self._logits(pi), self._values(vf)

    def _make_distribution(
        self, logits: torch.Tensor, action_masks: np.ndarray | torch.Tensor | None
    ) -> MaskableDistribution:
        distribution = self.action_dist.proba_distribution(action_logits=logits)
        if action_masks is not None:
            distribution.apply_masking(action_masks)
        return distribution

    def forward(
        self,
        obs: torch.Tensor,
        deterministic: bool = False,
        action_masks: np.ndarray | torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return actions, values (n, 1) and log-probabilities (n,) for observations."""
        logits, values = self._evaluate(obs)
        distribution = self._make_distribution(logits, action_masks)
        actions = distribution.get_actions(deterministic=deterministic)
        log_prob = distribution.log_prob(actions)
        return actions.reshape((-1, *(self.action_space.shape or ()))), values, log_prob

    def evaluate_actions(
        self,
        obs: torch.Tensor,
        actions: torch.Tensor,
        action_masks: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Return values (n, 1), log-probabilities of the actions (n,) and entropies (n,)."""
        logits, values = self._evaluate(obs)
        distribution = self._make_distribution(logits, action_masks)
        return values, distribution.log_prob(actions), distribution.entropy()

    def get_distribution(
        self, obs: Any, action_masks: np.ndarray | None = None
    ) -> MaskableDistribution:
        """Return the distribution of actions for observations."""
        features = super(MaskableActorCriticPolicy, self).extract_features(
            obs, self.pi_features_extractor
        )
        return self._make_distribution(self._logits(features), action_masks)

    def predict_values(self, obs: Any) -> torch.Tensor:
        """Return the values (n, 1) of observations."""
        features = super(MaskableActorCriticPolicy, self).extract_features(
            obs, self.vf_features_extractor
        )
        return self._values(features)


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
    obs_dtype : dtype
        Of the engine that shows the observations.
    """

    def __init__(self, policy: MaskableActorCriticPolicy, obs_dtype: np.dtype[Any]) -> None:
        super().__init__()
        self._policy, self._obs_dtype = policy.eval(), obs_dtype

    def logits(self, obs: torch.Tensor) -> torch.Tensor:
        """Return the logits (n, A); structured observations are the bytes of their records."""
        policy, seen = self._policy, obs
        if self._obs_dtype.names is not None:
            fields = shown_obs(obs.cpu().numpy().view(self._obs_dtype)[..., 0], copy=False)
            seen = obs_as_tensor(fields, policy.device)
        features: Any = policy.extract_features(seen, policy.pi_features_extractor)
        return policy.action_net(policy.mlp_extractor.forward_actor(features))
