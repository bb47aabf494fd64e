"""Evaluation of Asteroid Prospector: starts of episodes, bots and reports.

Cashing out at once returns about nothing, which is more than most play does, so a return alone says
little: every table shows that line, and how long the episodes were.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from training.evaluation.judging import EPISODES, JudgingRules
from training.games.prospector import BOTS, REFERENCE_LINES
from training.run.config import RunConfig

FIRST_SEED = 7  # of the published tables; training seeds lie elsewhere


def starts(config: RunConfig | None, asked: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the option of the episodes' length, if one was asked for."""
    time_max = asked.get("time_max")
    return {EPISODES: {} if time_max is None else {"time_max": time_max}}


JUDGING = JudgingRules(
    headline="net_profit",  # of returns the best is that of who cashes out at once
    caption="cash_out ends an episode with its first action: what returns less would "
    "better not have played.",
    reference_lines=REFERENCE_LINES,
    families=BOTS,  # a market timer of another commodity has a longer name
    reported_options=("time_max",),
    first_seed=FIRST_SEED,
    options=("time_max",),
    starts=starts,
)
