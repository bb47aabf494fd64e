"""Shares of independent episodes, with Wilson's interval.

A bootstrap over episodes that all ended alike says 100 % to 100 %, however few they were.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from training.evaluation.bootstrap import LEVEL, Interval

DEVIATIONS = NormalDist().inv_cdf((1 + LEVEL) / 2)


def wilson(successes: float, trials: float, deviations: float = DEVIATIONS) -> tuple[float, float]:
    """Return the ends of Wilson's score interval of a rate.

    Parameters
    ----------
    successes, trials : float
        Counts, or sums of weights; at least one trial.
    deviations : float
        Standard deviations to each side; by default those of 95 %.
    """
    p, part = successes / trials, deviations**2 / trials
    centre, spread = p + part / 2, math.sqrt(part * (p * (1 - p) + part / 4))
    return (centre - spread) / (1 + part), (centre + spread) / (1 + part)


def share(ends: np.ndarray) -> Interval:
    """Return the share of episodes in which something came about, bool (episodes,).

    Numbers from 0 to 1 are parts of a success, such as a win that is shared; their interval is no
    narrower than that of successes that are whole.
    """
    if not len(ends):
        return Interval(math.nan, math.nan, math.nan)
    low, high = wilson(float(ends.sum()), len(ends))
    return Interval(float(ends.mean()), max(0.0, low), min(1.0, high))
