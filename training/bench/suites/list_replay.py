"""The replay that the trainer's own is measured against: lists and dictionaries of decisions."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import numpy as np
import torch
from torch import Tensor

from training.dqn.replay import Batch, TensorReplay
from training.dqn.windows import RUNNING, TERMINATED, TRUNCATED
from training.run.engine import Engine


class ListReplay(TensorReplay):
    """A queue of decisions for each lane, and finished windows that are copied one by one.

    Steps are taken in a :class:`training.dqn.replay.TensorReplay` of a few rows.

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
        """Go on to the next row, and store the windows that it completes."""
        row = self.head
        super().advance()
        for lane, queue in enumerate(self._queues):
            end = int(self.end[row, lane])
            queue.append(self._make_decision(row, lane))
            behind = self._look_behind(row, lane, cut=end == TRUNCATED)
            while queue and (end != RUNNING or len(queue) == self.n_step):
                self._stored.append(self._make_window(queue) | behind)
                queue.popleft()

    def _make_decision(self, row: int, lane: int) -> dict[str, Any]:
        return {
            "obs": self.obs[row, lane].numpy().copy(),
            "action": int(self.action[row, lane]),
            "reward": float(self.reward[row, lane]),
            "discount": float(self.discount[row, lane]),
            "end": int(self.end[row, lane]),
        }

    def _look_behind(self, row: int, lane: int, *, cut: bool) -> dict[str, Any]:
        """Return observation and mask behind a decision; one that was cut keeps its own mask."""
        obs, mask = self.obs[self.head, lane], self.mask[row if cut else self.head, lane]
        if cut:
            obs = self.final_obs[int(self.final_at[row, lane]) % self.finals]
        legal = np.unpackbits(mask.numpy(), count=self.num_actions, bitorder="little")
        return {"next_obs": obs.numpy().copy(), "next_mask": legal.view(np.bool_)}

    def _make_window(self, queue: deque[dict[str, Any]]) -> dict[str, Any]:
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
