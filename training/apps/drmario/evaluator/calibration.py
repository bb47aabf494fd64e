"""The calibration of an evaluator: the share of outcomes of games below each decile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from training.apps.drmario.evaluator.model import Evaluator
from training.apps.drmario.evaluator.risk import Measure
from training.apps.drmario.evaluator.samples import CENSORED, Samples
from training.run.options import require

DECILES = tuple(k / 10 for k in range(1, 10))
RESAMPLES = 200


@dataclass(frozen=True)
class Calibration:
    """Predictions of an evaluator for decisions, and the outcomes.

    Parameters
    ----------
    shares : ndarray, shape (9,)
        Of the outcomes at or below each decile.
    intervals : ndarray, shape (9, 2)
        Of the shares, 95 %, by a bootstrap over games: decisions of a game are not independent.
    decisions, games : int
    mean, said : float
        Frames to the clear, and the mean of what the evaluator said.
    explained : float
        Share of the variance that the means explain.
    """

    shares: np.ndarray
    intervals: np.ndarray
    decisions: int
    games: int
    mean: float
    said: float
    explained: float

    @property
    def worst(self) -> float:
        """The largest distance of a share from its decile."""
        return float(np.abs(self.shares - DECILES).max())

    def record(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {
            "deciles": list(DECILES),
            "shares": self.shares.tolist(),
            "intervals": self.intervals.tolist(),
            "worst": self.worst,
            "decisions": self.decisions,
            "games": self.games,
            "frames_mean": self.mean,
            "said_mean": self.said,
            "explained": self.explained,
        }


def calibration(evaluator: Evaluator, samples: Samples) -> Calibration:
    """Compare predictions of an evaluator with the outcomes.

    Parameters
    ----------
    evaluator : Evaluator
    samples : Samples
        Of games that it was not trained on; those that were given up are left out.

    Raises
    ------
    ConfigError
        If no game came to an end.
    """
    ended = samples.outcome != CENSORED
    require(bool(ended.any()), "games", 0, "at least one that comes to an end")
    outcomes = samples.capped(evaluator.head.t_max)[ended]
    quantiles = evaluator.quantiles(samples.seen[ended])
    weights = [Measure("quantile", decile).weights(quantiles.shape[1]) for decile in DECILES]
    below = outcomes[:, None] <= quantiles @ np.stack(weights, 1)
    means = quantiles.mean(1)
    game = np.concatenate([[0], np.cumsum(samples.left[ended] == 0)[:-1]])
    count = int(game[-1]) + 1
    sums = np.stack([np.bincount(game, b, count) for b in below.T.astype(float)], 1)
    sizes = np.bincount(game, minlength=count)
    drawn = np.random.default_rng(0).integers(count, size=(RESAMPLES, count))
    again = sums[drawn].sum(1) / sizes[drawn].sum(1)[:, None]
    left = np.square(outcomes - means).mean() / max(float(outcomes.var()), 1e-9)
    return Calibration(
        below.mean(0),
        np.quantile(again, (0.025, 0.975), axis=0).T,
        len(outcomes),
        count,
        float(outcomes.mean()),
        float(means.mean()),
        float(1.0 - left),
    )
