"""A rollout buffer for stock MaskablePPO that is allocated once and never flattened.

The stock buffer makes nine new arrays for each rollout, keeps masks as float32, copies everything
into env-major order before the first minibatch and every minibatch twice. Here storage is
time-major, as the rollout comes; its first two axes are one axis in memory already, and a
minibatch is one ``index_select`` for each tensor.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.buffers import (
    MaskableRolloutBuffer,
    MaskableRolloutBufferSamples,
)

from training.ppo.gae import gae_many

ORDERS = ("time", "sb3")
# The tensors of a minibatch, in the order of MaskableRolloutBufferSamples.
_SAMPLED = (
    "observations",
    "actions",
    "values",
    "log_probs",
    "advantages",
    "returns",
    "action_masks",
)


class FastMaskableRolloutBuffer(MaskableRolloutBuffer):
    """``rollout_buffer_class`` for ``MaskablePPO``.

    Parameters
    ----------
    buffer_size : int
        Steps of a rollout.
    observation_space : gymnasium.Space
        Anything but a ``Dict``.
    action_space : gymnasium.Space
    device : str or torch.device
        Where minibatches are wanted. Storage is on the CPU, pinned if they are wanted on CUDA
        (untested): a rollout is then copied there once, and minibatches are taken there.
    gae_lambda, gamma : float
    n_envs : int
    order : {"time", "sb3"}
        ``"sb3"`` puts the same samples into the same minibatches as the stock buffer, which counts
        them env by env: the same permutation then leads to the same parameters, bit for bit.
        ``"time"`` saves that arithmetic.

    Attributes
    ----------
    observations, actions, action_masks : ndarray, shape (T, N, ...)
        Views of the storage; masks are bool. The next rollout overwrites them.
    rewards, episode_starts, values, log_probs, advantages, returns : ndarray of float32, (T, N)
        Likewise. Unlike in the stock buffer they keep this shape after :meth:`get`.

    Raises
    ------
    ValueError
        For an unknown order, or a space that it cannot store.
    """

    def __init__(
        self,
        buffer_size: int,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        device: torch.device | str = "auto",
        gae_lambda: float = 1,
        gamma: float = 0.99,
        n_envs: int = 1,
        order: str = "time",
    ) -> None:
        if order not in ORDERS:
            raise ValueError(f"order={order!r}: must be one of {', '.join(map(repr, ORDERS))}")
        if isinstance(observation_space, spaces.Dict):
            raise ValueError(
                "FastMaskableRolloutBuffer stores one array a step; for Dict observations leave "
                "rollout_buffer_class to MaskablePPO."
            )
        self.order = order
        self._storage: dict[str, torch.Tensor] = {}
        super().__init__(
            buffer_size, observation_space, action_space, device, gae_lambda, gamma, n_envs
        )

    def reset(self) -> None:
        """Rewind; the first call allocates."""
        if not self._storage:
            self._allocate()
        self._sent = False
        self.pos = 0
        self.full = False

    def _allocate(self) -> None:
        steps, lanes = self.buffer_size, self.n_envs
        self.mask_dims = _get_mask_width(self.action_space)
        numbers = ("rewards", "log_probs", "advantages", "returns")
        layout: dict[str, tuple[tuple[int, ...], Any]] = {
            "observations": ((steps, lanes, *self.obs_shape), self.observation_space.dtype),
            "actions": ((steps, lanes, self.action_dim), self.action_space.dtype),
            "action_masks": ((steps, lanes, self.mask_dims), np.bool_),
            # One row more: what follows the rollout.
            "values": ((steps + 1, lanes), np.float32),
            "episode_starts": ((steps + 1, lanes), np.float32),
            **{name: ((steps, lanes), np.float32) for name in numbers},
        }
        pinned = self.device.type == "cuda"
        for name, (shape, dtype) in layout.items():
            kind = torch.from_numpy(np.empty(0, dtype)).dtype
            whole = torch.zeros(shape, dtype=kind, pin_memory=pinned)
            self._storage[name] = whole
            setattr(self, name, whole[:steps].numpy())
        self._all_values = self._storage["values"].numpy()
        self._all_starts = self._storage["episode_starts"].numpy()
        self._done = np.zeros((steps, lanes), np.bool_)
        self._no_boot = np.zeros((steps, lanes), np.float32)  # SB3 puts it into the rewards
        flat = {name: self._storage[name][:steps].flatten(0, 1) for name in _SAMPLED}
        self._samples = flat
        if self.device.type != "cpu":
            self._samples = {
                name: torch.empty_like(tensor, device=self.device) for name, tensor in flat.items()
            }
        self._flat = flat

    def add(  # type: ignore[override]
        self,
        obs: np.ndarray,
        action: np.ndarray,
        reward: np.ndarray,
        episode_start: np.ndarray,
        value: torch.Tensor,
        log_prob: torch.Tensor,
        action_masks: np.ndarray | None = None,
    ) -> None:
        """Store a step of all lanes; everything is copied.

        Parameters
        ----------
        obs : ndarray, shape (N, ...)
        action : ndarray of int, shape (N,) or (N, action dimensions)
        reward, episode_start : ndarray, shape (N,)
        value, log_prob : tensor, shape (N,) or (N, 1)
        action_masks : ndarray of bool, N rows of masks in any shape; optional
            None: every action is legal.
        """
        t = self.pos
        self.observations[t] = obs.reshape(self.observations.shape[1:])
        self.actions[t] = action.reshape(self.n_envs, self.action_dim)
        self.rewards[t] = reward
        self.episode_starts[t] = episode_start
        self._storage["values"][t].copy_(value.detach().reshape(-1))
        self._storage["log_probs"][t].copy_(log_prob.detach().reshape(-1))
        if action_masks is None:
            self.action_masks[t] = True
        else:
            self.action_masks[t] = action_masks.reshape(self.n_envs, self.mask_dims)
        self.pos += 1
        self.full = self.pos == self.buffer_size

    def compute_returns_and_advantage(self, last_values: torch.Tensor, dones: np.ndarray) -> None:
        """Fill ``advantages`` and ``returns``.

        Parameters
        ----------
        last_values : tensor, N values
            Of the observations that follow the rollout.
        dones : ndarray of bool, shape (N,)
            Whether they start an episode.
        """
        self._storage["values"][-1].copy_(last_values.detach().reshape(-1))
        self._all_starts[-1] = dones
        np.not_equal(self._all_starts[1:], 0, out=self._done)
        gae_many(
            self.rewards,
            self._all_values,
            self._done,
            self._no_boot,
            self.gamma,
            self.gae_lambda,
            self.advantages,
            self.returns,
        )
        self._sent = False

    def get(  # type: ignore[override]
        self, batch_size: int | None = None
    ) -> Generator[MaskableRolloutBufferSamples, None, None]:
        """Yield the rollout once, shuffled by NumPy's global generator as the stock buffer does.

        Parameters
        ----------
        batch_size : int, optional
            Default everything at once.
        """
        if not self.full:
            raise RuntimeError("the rollout is not complete: there is nothing to sample from yet")
        size = self.buffer_size * self.n_envs
        places = np.random.permutation(size)  # noqa: NPY002 (SB3 seeds and uses this generator)
        if self.order == "sb3":
            lane, step = np.divmod(places, self.buffer_size)
            places = step * self.n_envs + lane
        wanted = size if batch_size is None else batch_size
        for start in range(0, size, wanted):
            yield self._get_samples(places[start : start + wanted])

    def _get_samples(  # type: ignore[override]
        self, batch_inds: np.ndarray, env: Any = None
    ) -> MaskableRolloutBufferSamples:
        """Return the samples at these places of the time-major rollout, as new tensors."""
        if self._samples is not self._flat and not self._sent:
            for name, tensor in self._flat.items():
                self._samples[name].copy_(tensor, non_blocking=True)
            self._sent = True
        places = torch.from_numpy(batch_inds).to(self.device)
        return MaskableRolloutBufferSamples(
            *(self._samples[name].index_select(0, places) for name in _SAMPLED)
        )


def _get_mask_width(space: spaces.Space[Any]) -> int:
    """Return the length of a mask, counted as sb3-contrib does."""
    if isinstance(space, spaces.Discrete):
        return int(space.n)
    if isinstance(space, spaces.MultiDiscrete):
        return int(space.nvec.sum())
    if isinstance(space, spaces.MultiBinary) and isinstance(space.n, int):
        return 2 * space.n
    raise ValueError(f"{space} has no action masks: use Discrete, MultiDiscrete or MultiBinary.")
