"""Actions: the best legal one, or now and then any legal one."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from fastenv.numba_cache import cached_njit


def best_legal(values: Tensor, mask: Tensor) -> Tensor:
    """Return the legal action of the largest value of each row, int64 (n,); the first of equals.

    Parameters
    ----------
    values : Tensor of any float, shape (n, A)
    mask : Tensor of bool, shape (n, A)
    """
    return torch.where(mask, values.float(), -torch.inf).argmax(1)


@cached_njit(nogil=True)
def choose_rows(
    values,  # IN float32 (n, A)
    mask,  # IN bool (n, A)
    drawn,  # IN float64 (n, 2), in [0, 1)
    epsilon,  # IN float64
    action_out,  # OUT int64 (n,)
):
    """Write the actions of :func:`choose_torch`, one row after the other."""
    for i in range(len(values)):
        best, legal = -1, 0
        for a in range(mask.shape[1]):
            if mask[i, a]:
                legal += 1
                if best < 0 or values[i, a] > values[i, best]:
                    best = a
        if drawn[i, 0] < epsilon:
            wanted = int(drawn[i, 1] * legal) + 1
            best = -1
            while wanted > 0:
                best += 1
                wanted -= mask[i, best]
        action_out[i] = best


def choose_torch(values: Tensor, mask: Tensor, drawn: Tensor, epsilon: float) -> Tensor:
    """Choose actions (n,), int64, by numbers that were drawn; see :class:`EpsilonGreedy`.

    Parameters
    ----------
    values : Tensor of any float, shape (n, A)
    mask : Tensor of bool, shape (n, A)
    drawn : Tensor of float64, shape (n, 2), in [0, 1)
        Whether it is any action, below epsilon; and which of the legal ones.
    epsilon : float
    """
    legal = mask.cumsum(1)
    wanted = (drawn[:, 1:] * legal[:, -1:]).long() + 1  # of the legal actions, from 1 on
    anyone = (legal < wanted).sum(1)
    return torch.where(drawn[:, 0] < epsilon, anyone, best_legal(values, mask))


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
        """Choose an action for each row, int64, shape (n,).

        Parameters
        ----------
        values : Tensor of any float, shape (n, A)
        mask : Tensor of bool, shape (n, A)
            With at least one legal action in every row.
        epsilon : float
            Probability of any legal action in place of the best.
        """
        drawn = self._rng.random((len(values), 2))
        if values.device.type == "cpu":
            action = torch.empty(len(values), dtype=torch.int64)
            inputs = values.float().numpy(), mask.numpy(), drawn, epsilon
            choose_rows(*inputs, action.numpy())
            return action
        return choose_torch(values, mask, torch.from_numpy(drawn).to(values.device), epsilon)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the generator, as JSON values."""
        return dict(self._rng.bit_generator.state)

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        self._rng.bit_generator.state = saved
