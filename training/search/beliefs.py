"""Probabilities of worlds, from the opponents' actions and the policy's probabilities of them."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class Belief(Protocol):
    """Weighs worlds; it watches the games that are searched."""

    def begin(self, lanes: np.ndarray) -> None:
        """Reset lanes in which games begin."""

    def watch(self, lanes: np.ndarray, rows: np.ndarray) -> None:
        """Observe the rows of games at the searcher's decisions, searched or not."""

    def log_weights(
        self, worlds: np.ndarray, seats: np.ndarray, each: int, lanes: np.ndarray | None
    ) -> np.ndarray:
        """Compute the log-likelihood of the others' decisions in worlds, float64 (m,).

        Parameters
        ----------
        worlds : ndarray, shape (m,)
            ``each`` of every position, behind each other.
        seats : ndarray of int, shape (m,)
            Who searches.
        each : int
        lanes : ndarray of int, shape (m // each,), or None
            Games that have been watched.
        """


def choose_by_weight(log_weights: np.ndarray, count: int, seeds: np.ndarray) -> np.ndarray:
    """Draw worlds by their weights, systematically: int (n, count).

    Parameters
    ----------
    log_weights : ndarray of float64, shape (n, c)
        Of the candidates of each position; where all are -inf they are equally likely.
    count : int
    seeds : ndarray of uint64, shape (n,)
    """
    best = log_weights.max(1, keepdims=True)
    weights = np.exp(log_weights - np.where(np.isfinite(best), best, 0.0))
    weights[~np.isfinite(best[:, 0])] = 1.0
    edges = np.cumsum(weights, axis=1)
    start = (seeds >> np.uint64(11)).astype(np.float64) * 2.0**-53
    marks = (np.arange(count) + start[:, None]) / count * edges[:, -1:]
    chosen: np.ndarray = (marks[:, :, None] >= edges[:, None, :]).sum(2)
    return np.minimum(chosen, log_weights.shape[1] - 1)
