"""Percentile bootstrap of ratios, resampling whole clusters (deals), no loop over resamples.

A mean over games is the ratio of a sum and a count, so every figure here is a ratio of two sums;
games that share their deals are drawn together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

LEVEL = 0.95
_CHUNK = 4_000_000  # numbers in a block of resampling weights


@dataclass(frozen=True)
class Interval:
    """An estimate and its 95 % interval; NaN where nothing was observed."""

    value: float
    low: float
    high: float

    def to_list(self) -> list[float | None]:
        """Return value, low and high; None for what was not observed."""
        return [None if np.isnan(x) else float(x) for x in (self.value, self.low, self.high)]

    @classmethod
    def from_list(cls, values: Sequence[float | None]) -> Self:
        """Return the interval that :meth:`to_list` has written."""
        return cls(*(np.nan if x is None else x for x in values))


class Resamples:
    """Estimates of ``k`` ratios and their values in ``b`` resamples.

    Parameters
    ----------
    numerators, denominators : ndarray, shape (clusters, k)
        Sums within each cluster.
    resamples : int
        b.
    seed : int
        Equal seeds draw equal clusters, so columns of one object can be compared pairwise.
    """

    def __init__(
        self, numerators: np.ndarray, denominators: np.ndarray, resamples: int, seed: int
    ) -> None:
        sums = np.concatenate([numerators, denominators], axis=1).astype(np.float64)
        rng = np.random.default_rng(seed)
        n = len(sums)
        rows = max(1, _CHUNK // n)
        drawn = [
            _weights(rng, n, min(rows, resamples - start)) @ sums
            for start in range(0, resamples, rows)
        ]
        self.estimate = _ratio(sums.sum(0, keepdims=True))[0]
        self.replicates = _ratio(np.concatenate(drawn))

    def intervals(self) -> list[Interval]:
        """Return the interval of every ratio."""
        return [_interval(v, r) for v, r in zip(self.estimate, self.replicates.T, strict=True)]

    def difference(self, a: int, b: int) -> Interval:
        """Return the interval of ratio ``a`` minus ratio ``b``, clusters paired."""
        gap = self.replicates[:, a] - self.replicates[:, b]
        return _interval(self.estimate[a] - self.estimate[b], gap)


def _weights(rng: np.random.Generator, n: int, rows: int) -> np.ndarray:
    """Return how often each of ``n`` clusters is drawn in each of ``rows`` resamples."""
    drawn = rng.integers(n, size=(rows, n))
    drawn += np.arange(rows)[:, None] * n
    return np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def _ratio(sums: np.ndarray) -> np.ndarray:
    k = sums.shape[1] // 2
    observed = np.where(sums[:, k:] > 0, sums[:, k:], np.nan)
    return sums[:, :k] / observed


def _interval(value: float, replicates: np.ndarray) -> Interval:
    seen = replicates[~np.isnan(replicates)]
    if np.isnan(value) or not seen.size:
        return Interval(np.nan, np.nan, np.nan)
    low, high = np.quantile(seen, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(value), float(low), float(high))
