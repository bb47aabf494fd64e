"""Seeds of the parts of a decision: whatever is searched beside it, it is the same."""

from __future__ import annotations

import numpy as np

from fastenv.rng import GOLDEN_GAMMA

GAMMA = np.uint64(GOLDEN_GAMMA)


def mix(seeds: np.ndarray, numbers: np.ndarray, purpose: int) -> np.ndarray:
    """Return seeds of the numbered parts of decisions, uint64: those of two never meet.

    Parameters
    ----------
    seeds : ndarray of uint64, shape (n,)
    numbers : ndarray of int, shape (n,)
    purpose : int
        What the seed is for, from 0 to 7.
    """
    with np.errstate(over="ignore"):
        x = seeds + (numbers.astype(np.uint64) * np.uint64(8) + np.uint64(purpose)) * GAMMA
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed: np.ndarray = x ^ (x >> np.uint64(31))
    return mixed


def uniform(seeds: np.ndarray) -> np.ndarray:
    """Return a number from 0 to 1 for each seed, float64, 1 excluded."""
    drawn: np.ndarray = (seeds >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return drawn
