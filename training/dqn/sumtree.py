"""A sum tree: draws rows with probabilities in proportion to their priorities, in O(log n).

One float64 array: node 1 is the root, nodes ``2 i`` and ``2 i + 1`` are the children of ``i``, the
leaves are its second half. A node is computed anew from its children whenever one of them changes,
never by adding a difference, so rounding does not pile up and the tree need not be rebuilt.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from fastenv.numba_cache import cached_njit
from training.nets.precision import zeros_in_large_pages

Array = npt.NDArray[Any]
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
def _fill(
    tree,  # IN/OUT float64 (2 * leaves,)
    first,  # IN int64
    count,  # IN int64, at least 1
    priority,  # IN float64
):
    low, high = first + len(tree) // 2, first + count - 1 + len(tree) // 2
    tree[low : high + 1] = priority
    while low > 1:
        low, high = low // 2, high // 2
        for node in range(low, high + 1):
            tree[node] = tree[2 * node] + tree[2 * node + 1]


@cached_njit(nogil=True)
def _set_all(
    tree,  # IN/OUT float64 (2 * leaves,); the leaves are given
):
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


class SumTree:
    """Priorities of rows and their sums.

    Parameters
    ----------
    capacity : int
        Rows; all have priority 0 at first and are then never drawn.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._leaves = 1 << max(0, capacity - 1).bit_length()
        self._tree = zeros_in_large_pages((2 * self._leaves,), torch.float64).numpy()

    @property
    def nodes(self) -> Array:
        """All sums, float64, as the module has them; for other loops in Numba."""
        return self._tree

    @property
    def priorities(self) -> Array:
        """Priority of each row, float64, shape (capacity,); not to be written."""
        return self._tree[self._leaves : self._leaves + self._capacity]

    def set(self, rows: Array, priorities: Array) -> None:
        """Give rows, int64 (k,), their priorities, float64 (k,), at least 0; the last one holds."""
        set_many(self._tree, rows, priorities)

    def fill(self, first: int, count: int, priority: float) -> None:
        """Give ``count`` rows, from the first on, one priority."""
        _fill(self._tree, first, count, priority)

    def set_all(self, priorities: Array) -> None:
        """Give every row its priority, shape (capacity,)."""
        self.priorities[:] = priorities
        _set_all(self._tree)
