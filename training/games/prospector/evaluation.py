"""Evaluation of Asteroid Prospector: starts of episodes, bots and reports.

Cashing out at once returns about nothing, which is more than most play does, so a return alone says
little: every table shows that line, and how long the episodes were.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastenv import BatchEngine
from training.evaluation.judging import EPISODES, Judging
from training.games.prospector import BOTS, REFERENCE_LINES
from training.run.config import RunConfig


class ProspectorJudging(Judging):
    """How agents of Prospector are judged: beside bots, and lines that say what play is worth."""

    headline = "net_profit"  # of returns the best is that of who cashes out at once
    caption = (
        "cash_out ends an episode with its first action: what returns less would better not have "
        "played."
    )
    first_seed = 7  # of the published tables; training seeds lie elsewhere
    options = ("time_max",)

    @property
    def lineup(self) -> tuple[str, ...]:
        """The reference lines, then the bots."""
        return (*REFERENCE_LINES, *self.bots)

    def kind(self, name: str) -> str:
        """See :class:`Judging`; a market timer of another commodity has a longer name."""
        if name in REFERENCE_LINES:
            return "reference_line"
        return "bot" if name.startswith(BOTS) else super().kind(name)

    def report_options(self, engine: BatchEngine) -> dict[str, Any]:
        """Return the maximum length of the episodes."""
        game: Any = engine.game
        return {"time_max": game.config.time_max}

    def starts(
        self, config: RunConfig | None, asked: Mapping[str, Any]
    ) -> dict[str, dict[str, Any]]:
        """Return the option of the episodes' length, if one was asked for; see :class:`Judging`."""
        time_max = asked.get("time_max")
        return {EPISODES: {} if time_max is None else {"time_max": time_max}}
