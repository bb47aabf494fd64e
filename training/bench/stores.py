"""Replays that a plan for speed leaves behind or goes on to, with what a trainer asks of one.

Both take their steps in a :class:`training.dqn.replay.TensorReplay` of a few rows, keep finished
windows elsewhere, and draw from those.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import numpy as np
import torch
from torch import Tensor

from training.dqn.chunks import Chunk, NStepChunkWriter, TransitionRing
from training.dqn.replay import Batch, TensorReplay
from training.dqn.windows import RUNNING, TERMINATED, TRUNCATED, unpack
from training.run.engine import Engine

CHUNK = 16  # rows that are written at once


class ListReplay(TensorReplay):
    """Lists and dictionaries: a queue of decisions for each lane, and windows copied one by one.

    Parameters
    ----------
    engine : Engine
    lanes, capacity, n_step : int
    gamma : float
    seed : int
    """

    def __init__(
        self, engine: Engine, lanes: int, capacity: int, n_step: int, gamma: float, seed: int
    ) -> None:
        super().__init__(engine, lanes, (n_step + 1) * lanes, n_step, gamma)
        self._queues: list[deque[dict[str, Any]]] = [deque() for _ in range(lanes)]
        self._stored: deque[dict[str, Any]] = deque(maxlen=capacity)
        self._random = random.Random(seed)

    @property
    def available(self) -> int:
        """Windows that are stored."""
        return len(self._stored)

    def advance(self) -> None:
        """Go on to the next row, and store what it completes."""
        row = self.head
        super().advance()
        for lane, queue in enumerate(self._queues):
            end = int(self.end[row, lane])
            queue.append(self._decision(row, lane))
            behind = self._behind(row, lane, cut=end == TRUNCATED)
            while queue and (end != RUNNING or len(queue) == self.n_step):
                self._stored.append(self._window(queue) | behind)
                queue.popleft()

    def _decision(self, row: int, lane: int) -> dict[str, Any]:
        return {
            "obs": self.obs[row, lane].numpy().copy(),
            "action": int(self.action[row, lane]),
            "reward": float(self.reward[row, lane]),
            "discount": float(self.discount[row, lane]),
            "end": int(self.end[row, lane]),
        }

    def _behind(self, row: int, lane: int, *, cut: bool) -> dict[str, Any]:
        """Return what is to be seen behind a decision; the mask of one that was cut is its own."""
        obs, mask = self.obs[self.head, lane], self.mask[row if cut else self.head, lane]
        if cut:
            obs = self.final_obs[int(self.final_at[row, lane]) % self.finals]
        legal = np.unpackbits(mask.numpy(), count=self.num_actions, bitorder="little")
        return {"next_obs": obs.numpy().copy(), "next_mask": legal.view(np.bool_)}

    def _window(self, queue: deque[dict[str, Any]]) -> dict[str, Any]:
        total, reach = 0.0, 1.0
        for decision in queue:
            total += reach * decision["reward"]
            reach *= decision["discount"]
        if queue[-1]["end"] == TERMINATED:
            reach = 0.0
        first = queue[0]
        kept = {"obs": first["obs"], "action": first["action"]}
        return {**kept, "reward": total, "discount": reach}

    def sample(self, count: int, beta: float = 0.0) -> Batch:
        """Return windows that are drawn one by one and stacked."""
        index = [self._random.randrange(len(self._stored)) for _ in range(count)]
        drawn = [self._stored[k] for k in index]

        def stacked(name: str) -> Tensor:
            return torch.from_numpy(np.stack([window[name] for window in drawn]))

        return Batch(
            index=torch.tensor(index),
            obs=stacked("obs"),
            action=stacked("action"),
            reward=stacked("reward").float(),
            discount=stacked("discount").float(),
            next_obs=stacked("next_obs"),
            next_mask=stacked("next_mask"),
            weight=torch.ones(count),
        )


class ChunkReplay(TensorReplay):
    """Finished windows in a ring of tensors, which a chunk writer writes ``CHUNK`` rows at a time.

    Parameters
    ----------
    engine : Engine
    lanes, capacity, n_step : int
    gamma : float
    seed : int
    """

    def __init__(
        self, engine: Engine, lanes: int, capacity: int, n_step: int, gamma: float, seed: int
    ) -> None:
        super().__init__(engine, lanes, (CHUNK + n_step) * lanes, n_step, gamma, seed=seed)
        self.ring = TransitionRing(capacity)
        self._writer = NStepChunkWriter(self.ring, n_step)

    def _allocate(self, engine: Engine) -> None:
        super()._allocate(engine)
        self.finals = self.rows * self.lanes  # a chunk may be nothing but ends
        self.final_obs = self.final_obs.new_zeros(self.finals, *self.final_obs.shape[1:])

    @property
    def available(self) -> int:
        """Windows that are stored."""
        return self.ring.size

    def advance(self) -> None:
        """Go on to the next row; write those that are complete if there are enough."""
        super().advance()
        if self.head < self.rows - 1:
            return
        shape = self.rows, self.lanes
        every = torch.arange(self.rows * self.lanes)
        legal = unpack(self.mask.flatten(0, 1), every, self.num_actions).view(*shape, -1)
        given = self.obs, legal, self.action.long(), self.reward, self.discount, self.end
        self._writer.write(Chunk(*given, self.final_at % self.finals, self.final_obs))
        for kept in self.tensors().values():  # the next chunk begins with what completed this one
            kept[: self.n_step] = kept[CHUNK:].clone()
        self.head = self.n_step - 1

    def sample(self, count: int, beta: float = 0.0) -> Batch:
        """Return windows that are drawn at random."""
        index = torch.randint(self.ring.size, (count,), generator=self.generator)
        found = {k: x.index_select(0, index) for k, x in vars(self.ring.stored).items()}
        return Batch(index=index, weight=torch.ones(count), **found)
