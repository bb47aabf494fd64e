"""Prioritised replay: probabilities of stored decisions, and the weights of their losses.

A decision with temporal-difference error ``d`` has priority ``(|d| + 1e-6)**alpha`` and is drawn in
proportion to it; its loss is weighed by ``(n P)**-beta``, divided by the largest of the minibatch.
Schaul et al., Prioritized Experience Replay, 2016.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fastenv.numba_cache import cached_njit
from training.dqn.sumtree import SumTree, find_many, set_many
from training.run.trainer import TrainingError

Array = npt.NDArray[Any]
LEAST_ERROR = 1e-6  # so that everything is drawn some time


@cached_njit(nogil=True)
def _draw_many(
    tree,  # IN float64 (2 * leaves,)
    unit,  # IN float64 (k,), in [0, 1)
    row_out,  # OUT int64 (k,)
):
    point = np.empty(len(unit))
    for k in range(len(unit)):
        point[k] = (k + unit[k]) / len(unit)
    find_many(tree, point, row_out)


@cached_njit(nogil=True)
def _update_many(
    tree,  # IN/OUT float64 (2 * leaves,)
    row,  # IN int64 (k,)
    error,  # IN float (k,)
    alpha,  # IN float64
):
    """Return the largest of the priorities; NaN, and nothing is changed, where one is not."""
    priority = np.empty(len(row))
    largest = 0.0
    for k in range(len(row)):
        if not np.isfinite(error[k]):
            return np.nan
        priority[k] = (np.float64(abs(error[k])) + LEAST_ERROR) ** alpha
        largest = max(largest, priority[k])
    set_many(tree, row, priority)
    return largest


@cached_njit(nogil=True)
def _weights_many(
    tree,  # IN float64 (2 * leaves,)
    row,  # IN int64 (k,)
    size,  # IN int64
    beta,  # IN float64
    weight_out,  # OUT float32 (k,)
):
    weight = np.empty(len(row))
    largest = 0.0
    for k in range(len(row)):
        chance = tree[len(tree) // 2 + row[k]] / tree[1]
        weight[k] = (size * chance) ** -beta
        largest = max(largest, weight[k])
    for k in range(len(row)):
        weight_out[k] = weight[k] / largest


class Priorities:
    """Priorities of stored decisions.

    Parameters
    ----------
    capacity : int
    alpha : float
        From 0, where all are drawn alike, to 1.
    """

    def __init__(self, capacity: int, alpha: float) -> None:
        self._tree = SumTree(capacity)
        self._alpha = alpha
        self._largest = 1.0

    def add(self, first: int, count: int) -> None:
        """Let ``count`` new rows be drawn; they have the largest priority there was."""
        self._tree.fill(first, count, self._largest)

    def remove(self, first: int, count: int) -> None:
        """Let ``count`` rows, from the first on, be drawn no more."""
        self._tree.fill(first, count, 0.0)

    def forget(self, rows: Array) -> None:
        """Let rows, int64 (k,), be drawn no more."""
        self._tree.set(rows, np.zeros(len(rows)))

    def update(self, rows: Array, errors: Array) -> None:
        """Set the priorities of rows (k,) by their temporal-difference errors, shape (k,).

        Raises
        ------
        TrainingError
            An error is not finite; nothing is changed then.
        """
        largest = _update_many(self._tree.nodes, rows, errors, self._alpha)
        if not np.isfinite(largest):
            raise TrainingError(
                "a temporal-difference error is not finite, so no priority can be made of it: try "
                "a smaller dqn.learning_rate, or rewards of a smaller scale."
            )
        self._largest = max(self._largest, largest)

    def draw(self, count: int, generator: torch.Generator) -> Array:
        """Draw rows, int64 (count,), one from each of ``count`` equal parts of the sum."""
        unit = torch.rand(count, dtype=torch.float64, generator=generator).numpy()
        rows = np.empty(count, np.int64)
        _draw_many(self._tree.nodes, unit, rows)
        return rows

    def weights(self, rows: Array, size: int, beta: float) -> Tensor:
        """Return the importance weights of the losses of rows, float32, shape (k,).

        Parameters
        ----------
        rows : ndarray of int64, shape (k,)
        size : int
            Rows that can be drawn.
        beta : float
            From 0, no correction, to 1, a full one.
        """
        weights = torch.empty(len(rows))
        _weights_many(self._tree.nodes, rows, size, beta, weights.numpy())
        return weights

    def state_dict(self) -> dict[str, Any]:
        """Return a copy of all priorities, and the largest there was."""
        return {"priorities": self._tree.priorities.copy(), "largest": self._largest}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        self._largest = float(saved["largest"])
        self._tree.set_all(saved["priorities"])
