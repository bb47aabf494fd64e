"""Evaluation of Dr. Mario: how often a bottle is cleared, and how fast where it is.

A return mixes both, so tables show them apart. Frames to clear are a mean over cleared episodes
alone: they say nothing without the rate beside them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fastenv.drmario.tables import Reason
from training.evaluation import tables
from training.evaluation.bootstrap import Interval, Resamples
from training.evaluation.episodes import Comparison, Episodes
from training.evaluation.protocol import EpisodeProtocol, Plan, Protocol
from training.evaluation.tables import Column
from training.run.games import GameTraining

SHARES = ("clear", "timeout")
FRAMES = "frames_to_clear"


class DrMarioProtocol(EpisodeProtocol):
    """Episodes beside the bots, judged by clears."""

    caption = f"{EpisodeProtocol.caption} Frames to clear are those of cleared episodes."

    def __init__(self, game: GameTraining) -> None:
        super().__init__(game)
        self.shares = (*self.shares, *SHARES)

    def compare(self, played: dict[str, Episodes], plan: Plan) -> Comparison:
        """See :meth:`EpisodeProtocol.compare`; with how the episodes ended."""
        compared = super().compare(played, plan)
        for name, found in played.items():
            compared.means[name].update(outcomes(found, plan.bootstrap))
        return compared

    def columns(self, what: str) -> Sequence[Column]:
        """See :meth:`Protocol.columns`."""
        clear, timeout = map(self._column, SHARES)
        return [clear, (FRAMES, "frames to clear", tables.fitting), timeout, *super().columns(what)]


def outcomes(found: Episodes, resamples: int) -> dict[str, Interval]:
    """Return the shares of cleared and of unfinished episodes, and the mean frames to clear.

    Parameters
    ----------
    found : Episodes
        With the column ``reason``; one that was given up counts as a timeout.
    resamples : int
        Of the bootstrap over episodes.
    """
    given_up, reason = found.columns["guard_truncated"], found.columns["reason"]
    clear = (reason == Reason.CLEAR) & ~given_up
    timeout = (reason == Reason.TIMEOUT) | given_up
    ones = np.ones(len(found))
    sums = np.stack([clear, timeout, clear * found.columns["dt_total"]], axis=1)
    drawn = Resamples(sums, np.stack([ones, ones, clear], axis=1), resamples, seed=0)
    return dict(zip((*SHARES, FRAMES), drawn.intervals(), strict=True))


def of(game: GameTraining) -> Protocol:
    """Return the protocol of Dr. Mario."""
    return DrMarioProtocol(game)
