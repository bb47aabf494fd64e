"""Prioritised replay: probabilities of stored decisions, and the weights of their losses.

A decision with temporal-difference error ``d`` has priority ``(|d| + 1e-6)**alpha`` and is drawn in
proportion to it; its loss is weighed by ``(n P)**-beta``, divided by the largest of the minibatch.
Schaul et al., Prioritized Experience Replay, 2016.

Priorities are the leaves of a sum tree, in which a row is found in O(log n). It is one float64
array: node 1 is the root, nodes ``2 i`` and ``2 i + 1`` are the children of ``i``, the leaves are
its second half. A node is computed anew from its children whenever one of them changes, never by
adding a difference, so rounding does not pile up and the tree need not be rebuilt.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fastenv.numba_cache import cached_njit
from training.nets.precision import zeros_in_large_pages
from training.run.trainer import TrainingError

Array = npt.NDArray[Any]
LEAST_ERROR = 1e-6  # so that everything is drawn some time
ONE = np.uint64(1)  # nodes without a sign need no check for one that counts from the end


@cached_njit(nogil=True)
def set_many(
    tree,  # IN/OUT float64 (2 * leaves,)
    leaf,  # IN int64 (k,)
    priority,  # IN float64 (k,)
):
    """Set leaves, of which the last one holds, and every sum above them."""
    width, count = len(tree) // 2, len(leaf)
    nodes = np.empty(count, np.uint64)
    for k in range(count):
        nodes[k] = width + leaf[k]
        tree[nodes[k]] = priority[k]
    # Level by level, so that the loads of a level wait side by side; where neighbours have the same
    # parent, as those of draws soon do, it is computed once.
    while width > 1:
        width //= 2
        parents, last = 0, np.uint64(0)
        for k in range(count):
            node = nodes[k] >> ONE
            if node != last:
                tree[node] = tree[node << ONE] + tree[(node << ONE) + ONE]
                nodes[parents] = last = node
                parents += 1
        count = parents


@cached_njit(nogil=True)
def fill(
    tree,  # IN/OUT float64 (2 * leaves,)
    first,  # IN int64
    count,  # IN int64, at least 1
    priority,  # IN float64
):
    """Set leaves that follow one another to one priority."""
    low, high = first + len(tree) // 2, first + count - 1 + len(tree) // 2
    tree[low : high + 1] = priority
    while low > 1:
        low, high = low // 2, high // 2
        for node in range(low, high + 1):
            tree[node] = tree[2 * node] + tree[2 * node + 1]


@cached_njit(nogil=True)
def sum_up(
    tree,  # IN/OUT float64 (2 * leaves,); the leaves are given
):
    """Compute all sums anew."""
    for node in range(len(tree) // 2 - 1, 0, -1):
        tree[node] = tree[2 * node] + tree[2 * node + 1]


@cached_njit(nogil=True)
def find_many(
    tree,  # IN float64 (2 * leaves,)
    point,  # IN float64 (k,), in [0, 1)
    leaf_out,  # OUT int64 (k,)
):
    """Write the leaves at points of the cumulative distribution, whose sum must be above 0."""
    first, width = len(tree) // 2, 1
    left, nodes = point * tree[1], np.full(len(point), ONE)
    while width < first:  # level by level, so that the loads of a level wait side by side
        width *= 2
        for k in range(len(left)):
            node = nodes[k] << ONE
            below = tree[node]
            right = left[k] >= below
            left[k] -= below if right else 0.0
            nodes[k] = node + np.uint64(right)
    for k in range(len(left)):
        if tree[nodes[k]] == 0.0:
            nodes[k] = _find(tree, point[k] * tree[1])
        leaf_out[k] = nodes[k] - np.uint64(first)


@cached_njit(nogil=True)
def _find(tree, left):
    """Find the last leaf with a priority up to a sum; rounding can point behind it."""
    node = ONE
    while node < len(tree) // 2:
        node <<= ONE
        below = tree[node]
        if left >= below and tree[node + ONE] > 0.0:
            left -= below
            node += ONE
    return node


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
        Rows; all have priority 0 at first and are then never drawn.
    alpha : float
        From 0, where all are drawn alike, to 1.

    Attributes
    ----------
    tree : ndarray of float64, shape (2 * leaves,)
        See the module; there are as many leaves as the next power of two.
    """

    def __init__(self, capacity: int, alpha: float) -> None:
        leaves = 1 << max(0, capacity - 1).bit_length()
        self.tree: Array = zeros_in_large_pages((2 * leaves,), torch.float64).numpy()
        self._leaves = self.tree[leaves : leaves + capacity]
        self._alpha, self._largest = alpha, 1.0

    def add(self, first: int, count: int) -> None:
        """Let ``count`` new rows be drawn; they have the largest priority there was."""
        fill(self.tree, first, count, self._largest)

    def remove(self, first: int, count: int) -> None:
        """Let ``count`` rows, from the first on, be drawn no more."""
        fill(self.tree, first, count, 0.0)

    def forget(self, rows: Array) -> None:
        """Let rows, int64 (k,), be drawn no more."""
        set_many(self.tree, rows, np.zeros(len(rows)))

    def update(self, rows: Array, errors: Array) -> None:
        """Set the priorities of rows (k,) by their temporal-difference errors, shape (k,).

        Raises
        ------
        TrainingError
            An error is not finite; nothing is changed then.
        """
        largest = _update_many(self.tree, rows, errors, self._alpha)
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
        find_many(self.tree, (np.arange(count) + unit) / count, rows)
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
        _weights_many(self.tree, rows, size, beta, weights.numpy())
        return weights

    def state_dict(self) -> dict[str, Any]:
        """Return a copy of all priorities, and the largest there was."""
        return {"priorities": self._leaves.copy(), "largest": self._largest}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        self._largest = float(saved["largest"])
        self._leaves[:] = saved["priorities"]
        sum_up(self.tree)
