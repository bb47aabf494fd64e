"""Evaluation of Skull King: whole games on duplicate deals, and rounds at equal goals.

All agents play whole games against sets of bots, in official points, with a bot for what they have
not learnt. Those that play to a goal are also compared with rule bots at the same goals and deals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from training.apps.skullking import goals, matches
from training.apps.skullking.columns import SHOWN
from training.apps.skullking.matches import count_players
from training.apps.skullking.rules import STRONGEST
from training.apps.skullking.whole_games import tier_of
from training.evaluation.judging import Judging, JudgingRules
from training.players.trained import Trained
from training.run.config import RunConfig
from training.run.options import require
from training.run.sections import EvaluationConfig

TITLE = "Skull King"
GOAL_TIERS = ("worker", "ability")
TABLE_BIDS = "rule_hard"  # who bids for a Worker at a table, where whoever searches sits


def name_group(config: RunConfig) -> str:
    """Return a description of the game of a run: all tiers meet in games of as many players."""
    return f"{TITLE} with {count_players(config)} players"


def load_milestones() -> Any:
    """Return the module of the milestones."""
    from training.apps.skullking import milestones

    return milestones


def evaluate(
    judging: Judging,
    console: Console,
    title: str,
    trained: Trained,
    options: EvaluationConfig,
    asked: Mapping[str, Any],
) -> dict[str, Any]:
    """Play whole games, and rounds to goals where those are learnt; print and return the record.

    Parameters
    ----------
    judging : Judging
    console : rich.console.Console
    title : str
        Of the tables.
    trained : Trained
    options : EvaluationConfig
    asked : mapping
        ``only`` asks for ``matches`` or ``goals`` alone.
    """
    record: dict[str, Any] = {}
    only = asked.get("only")
    allowed = "left out with trainer='hier', unless with --against"
    require(not (trained.sample and trained.pair), "--sample", True, allowed)
    if trained.search is not None:
        only = _check_search(trained, options, only)
    if only != "goals":
        record["matches"] = matches.compare(judging, console, title, trained, options)
    if tier_of(trained.config.env) in GOAL_TIERS and only != "matches":
        record |= goals.compare(console, trained, options)
    return record


def _check_search(trained: Trained, options: EvaluationConfig, only: object) -> str:
    """Return the part that an agent plays with search: whole games; refuse others."""
    allowed = "left out or matches with search, which plays whole games alone"
    require(only in (None, "matches"), "--only", only, allowed)
    bids, partial_tier = options.bids, tier_of(trained.config.env) in GOAL_TIERS
    fits = bids == TABLE_BIDS or trained.pair is not None or not partial_tier
    require(fits, "--bids", bids, f"{TABLE_BIDS} with search")
    return "matches"


# All tiers are judged by whole games, and some by rounds at equal goals too.
JUDGING = JudgingRules(
    shown=SHOWN,
    decides="margin",  # which policy of a training is the best
    headline="win_rate",
    common=False,
    options=("games", "episodes", "opponents", "bids", "only"),
    compared_against=(STRONGEST,),
    plan=matches.plan,
    players=matches.seat_players,
    evaluate=evaluate,
    check=matches.check,
    group=name_group,
    milestones=load_milestones,
)
