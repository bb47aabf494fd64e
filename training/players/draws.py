"""Random numbers of players; they depend on a lane's seed and draw number, not on other lanes."""

from __future__ import annotations

import numpy as np

from fastenv.rng import GOLDEN_GAMMA

GAMMA = np.uint64(GOLDEN_GAMMA)
ACTION = 6  # purpose of a seed; those below are the search's


def mix(seeds: np.ndarray, numbers: np.ndarray, purpose: int) -> np.ndarray:
    """Derive seeds of the numbered parts of decisions, uint64; no two parts share one.

    Parameters
    ----------
    seeds : ndarray of uint64, shape (n,)
    numbers : ndarray of int, shape (n,)
    purpose : int
        Purpose of the seed, from 0 to 7.
    """
    with np.errstate(over="ignore"):
        x = seeds + (numbers.astype(np.uint64) * np.uint64(8) + np.uint64(purpose)) * GAMMA
    return splitmix64(x)


def splitmix64(x: np.ndarray) -> np.ndarray:
    """Apply the mixing step of SplitMix64 to each number, uint64."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = x ^ (x >> np.uint64(31))
    return mixed


def uniform(seeds: np.ndarray) -> np.ndarray:
    """Convert each seed to a number from 0 to 1, float64, 1 excluded."""
    drawn: np.ndarray = (seeds >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return drawn


def gumbel(seeds: np.ndarray, actions: int, purpose: int = ACTION) -> np.ndarray:
    """Draw Gumbel noise for each action, float64, shape (n, actions).

    The largest of logits with this noise is a draw from their softmax.

    Parameters
    ----------
    seeds : ndarray of uint64, shape (n,)
        One a draw.
    actions : int
    purpose : int
        See :func:`mix`.
    """
    number = np.tile(np.arange(actions), len(seeds))
    bits = mix(seeds.repeat(actions), number, purpose).reshape(-1, actions) >> np.uint64(11)
    chance = (bits.astype(np.float64) + 0.5) * 2.0**-53
    noise: np.ndarray = -np.log(-np.log(chance))
    return noise


def streams(seeds: np.ndarray) -> np.ndarray:
    """Make the states of engine generators, uint64 (n, 4): :func:`fastenv.engine.rng_streams`.

    Parameters
    ----------
    seeds : ndarray of int64, shape (n,)
        One a generator.
    """
    steps = (np.arange(1, 5, dtype=np.uint64)) * GAMMA
    with np.errstate(over="ignore"):
        x = np.asarray(seeds).astype(np.uint64)[:, None] + steps
    return splitmix64(x)


class LaneDraws:
    """A seed for every draw of every lane of an engine.

    Parameters
    ----------
    lanes : int
    """

    def __init__(self, lanes: int) -> None:
        self._seeds, self._drawn = np.zeros(lanes, np.uint64), np.zeros(lanes, np.int64)

    def begin(self, lanes: np.ndarray, seeds: np.ndarray | None) -> None:
        """Draw from these seeds from now on, one a lane; None keeps the present ones."""
        if seeds is not None:
            self._seeds[lanes], self._drawn[lanes] = np.asarray(seeds).astype(np.uint64), 0

    def next(self, lanes: np.ndarray) -> np.ndarray:
        """Return the seeds of the next draws of lanes, uint64 (k,)."""
        self._drawn[lanes] += 1
        return mix(self._seeds[lanes], self._drawn[lanes], 0)
