"""Actions: the best legal one, or now and then any legal one."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor


def best_legal(values: Tensor, mask: Tensor) -> Tensor:
    """Return the legal action of the largest value of each row, int64 (n,); the first of equals.

    Parameters
    ----------
    values : Tensor of any float, shape (n, A)
    mask : Tensor of bool, shape (n, A)
    """
    return torch.where(mask, values.float(), -torch.inf).argmax(1)


class EpsilonGreedy:
    """Draws actions from a generator of its own, two numbers a row in the order of rows.

    So the rows of one call draw what as many calls of one row would.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def choose(self, values: Tensor, mask: Tensor, epsilon: float) -> Tensor:
        """Return an action for each row, int64, shape (n,).

        Parameters
        ----------
        values : Tensor of any float, shape (n, A)
        mask : Tensor of bool, shape (n, A)
            With at least one legal action in every row.
        epsilon : float
            Probability of any legal action in place of the best.
        """
        drawn = torch.from_numpy(self._rng.random((len(values), 2))).to(values.device)
        legal = mask.cumsum(1)
        wanted = (drawn[:, 1:] * legal[:, -1:]).long() + 1  # of the legal actions, from 1 on
        anyone = (legal < wanted).sum(1)
        return torch.where(drawn[:, 0] < epsilon, anyone, best_legal(values, mask))

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the generator, as JSON values."""
        return dict(self._rng.bit_generator.state)

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        self._rng.bit_generator.state = saved
