"""How what the engine puts out reaches the rollout.

On a CPU its destinations are rows of the rollout itself, so an observation is written once, where
it is used. On a device they are pinned slots of one step, two in turn: the engine may fill a slot
again as soon as the copies out of it are done, which is what the slot's event says.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from training.nets.layout import as_array, as_tensor
from training.ppo.buffer import Rollout
from training.run.engine import Engine, discounts

Array = np.ndarray[Any, Any]


class DirectLanes:
    """Lanes of a rollout in host memory.

    Parameters
    ----------
    rollout : Rollout
    engine : Engine
    gamma : float
        Discount of a primitive step.
    """

    def __init__(self, rollout: Rollout, engine: Engine, gamma: float) -> None:
        self._engine, self._gamma = engine, gamma
        self._obs = list(as_array(rollout.obs, engine))
        self._mask = list(rollout.mask.numpy().view(np.uint8))
        self._reward = list(rollout.reward.numpy())
        self._done = list(rollout.done.numpy())
        self._discount = None if rollout.gamma is None else list(rollout.gamma.numpy())

    def destination(self, t: int) -> tuple[Array, Array]:
        """Return where the engine writes the observations and masks that follow decision t - 1."""
        return self._obs[t], self._mask[t]

    def store(self, t: int) -> None:
        """Take over what the engine says of decision t."""
        engine = self._engine
        self._reward[t][:] = engine.reward
        np.logical_or(engine.terminated, engine.truncated, out=self._done[t])
        if self._discount is not None:
            discounts(engine, self._gamma, self._discount[t])

    def store_observation(self, t: int) -> None:
        """Nothing: observations and masks are where they belong."""


class StagedLanes:
    """Lanes of a rollout on a device, filled by way of two slots; see :class:`DirectLanes`."""

    def __init__(self, rollout: Rollout, engine: Engine, gamma: float) -> None:
        self._engine, self._gamma, self._rollout = engine, gamma, rollout
        self._slots = [Slot(rollout, engine) for _ in range(2)]
        self._ahead = rollout.device.type == "cuda"  # elsewhere nothing says when a copy is done

    def destination(self, t: int) -> tuple[Array, Array]:
        """Return where the engine writes the observations and masks that follow decision t - 1."""
        slot = self._slots[t % 2]
        slot.wait()
        return as_array(slot.obs, self._engine), slot.mask.numpy().view(np.uint8)

    def store(self, t: int) -> None:
        """Send what the engine says of decision t, and then the observation that follows it."""
        engine, rollout, slot = self._engine, self._rollout, self._slots[(t + 1) % 2]
        slot.reward.numpy()[:] = engine.reward
        np.logical_or(engine.terminated, engine.truncated, out=slot.done.numpy())
        rollout.reward[t].copy_(slot.reward, non_blocking=self._ahead)
        rollout.done[t].copy_(slot.done, non_blocking=self._ahead)
        if rollout.gamma is not None:
            discounts(engine, self._gamma, slot.gamma.numpy())
            rollout.gamma[t].copy_(slot.gamma, non_blocking=self._ahead)
        self.store_observation(t + 1)

    def store_observation(self, t: int) -> None:
        """Send the observation and mask that were written into ``destination(t)``."""
        slot = self._slots[t % 2]
        self._rollout.obs[t].copy_(slot.obs, non_blocking=self._ahead)
        self._rollout.mask[t].copy_(slot.mask, non_blocking=self._ahead)
        slot.mark_sent()


Lanes = DirectLanes | StagedLanes


def make_lanes(rollout: Rollout, engine: Engine, gamma: float) -> Lanes:
    """Return the lanes of the engine, in the way that fits the device of the rollout."""
    kind = DirectLanes if rollout.device.type == "cpu" else StagedLanes
    return kind(rollout, engine, gamma)


class Slot:
    """Host memory for the outputs of one step, pinned if they go to CUDA (untested).

    Parameters
    ----------
    rollout : Rollout
    engine : Engine
    """

    def __init__(self, rollout: Rollout, engine: Engine) -> None:
        pinned = rollout.device.type == "cuda"
        n = engine.num_envs

        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(shape, dtype=dtype, pin_memory=pinned)

        self.obs = zeros(n, *rollout.obs.shape[2:], dtype=rollout.obs.dtype)
        self.mask = zeros(n, engine.num_actions, dtype=torch.bool)
        self.reward, self.gamma = zeros(n), zeros(n)
        self.done = zeros(n, dtype=torch.bool)
        self._sent = torch.cuda.Event() if pinned else None

    def wait(self) -> None:
        """Block until the copies out of the slot are done."""
        if self._sent is not None:
            self._sent.synchronize()

    def mark_sent(self) -> None:
        """Say that all copies out of the slot have been ordered."""
        if self._sent is not None:
            self._sent.record()


class TruncatedEpisodes:
    """Last observations of the truncated episodes of a rollout.

    They are kept until the end of the rollout, where one forward pass gives the values of all; the
    parameters do not change in between.

    Parameters
    ----------
    engine : Engine
        Names shape and type of an observation.
    """

    def __init__(self, engine: Engine) -> None:
        self._obs = np.empty((64, *engine.obs_shape), engine.obs_dtype)
        self.clear()

    def clear(self) -> None:
        """Begin a new rollout."""
        self.count = 0
        self._times: list[Array] = []
        self._lanes: list[Array] = []
        self._states: list[Tensor] = []

    def add(self, t: int, engine: Engine, state: Tensor) -> None:
        """Take in what the engine cut off in decision t.

        Parameters
        ----------
        t : int
        engine : Engine
        state : Tensor, shape (n, state_size)
            Behind the decision, not yet reset.
        """
        if not engine.truncated.any():
            return
        rows = np.flatnonzero(engine.truncated > engine.terminated)
        end = self.count + len(rows)
        if end > len(self._obs):
            grown = np.empty((max(end, 2 * len(self._obs)), *self._obs.shape[1:]), self._obs.dtype)
            grown[: self.count] = self._obs[: self.count]
            self._obs = grown
        self._obs[self.count : end] = engine.final_obs[rows]
        self._times.append(np.full(len(rows), t))
        self._lanes.append(rows)
        if state.shape[1]:
            self._states.append(state[torch.from_numpy(rows).to(state.device)])
        self.count = end

    def obs(self) -> Tensor:
        """Return the observations, shape (count, ...), in host memory; valid until the next add."""
        return as_tensor(self._obs[: self.count])

    def lanes(self) -> Array:
        """Return the lanes they were in, int64, shape (count,)."""
        return np.concatenate([np.empty(0, np.int64), *self._lanes])

    def states(self, size: int, device: torch.device) -> Tensor:
        """Return the recurrent states behind them, shape (count, size)."""
        if self._states:
            return torch.cat(self._states)
        return torch.zeros(self.count, size, device=device)

    def write(self, values: Tensor, bootstrap_out: Tensor) -> None:
        """Write their values, shape (count,), where they belong; there must be one."""
        times, lanes = (torch.from_numpy(np.concatenate(x)) for x in (self._times, self._lanes))
        place = (times * bootstrap_out.shape[1] + lanes).to(bootstrap_out.device)
        bootstrap_out.view(-1).index_copy_(0, place, values)
