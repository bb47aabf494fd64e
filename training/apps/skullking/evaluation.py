"""Evaluation of Skull King: whole games on duplicate deals, and rounds at equal goals.

All agents play whole games against sets of bots, in official points, with a bot for what they have
not learnt. Those that play to a goal are also compared with rule bots at the same goals and deals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

import fastenv
from training.apps.skullking import goals, matches
from training.apps.skullking.columns import SHOWN
from training.apps.skullking.matches import count_players
from training.apps.skullking.rules import STRONGEST
from training.apps.skullking.whole_games import ENV, tier_of, who_plays
from training.evaluation.evaluation import Evaluation
from training.evaluation.intervals import Interval
from training.evaluation.judging import MATCHES, Judging
from training.evaluation.results import EvaluationReport
from training.evaluation.tables import format_interval, make_table
from training.logs.run_data import describe_opponents
from training.players.names import Who
from training.players.player import MakePlayer
from training.players.trained import Trained
from training.run.config import RunConfig
from training.run.names import AGENT
from training.run.options import require
from training.run.sections import EvaluationConfig

TITLE = "Skull King"
GOAL_TIERS = ("worker", "ability")
REWARD = f"reward table of {ENV}, fastenv {fastenv.__version__}"
TABLE_BIDS = "rule_hard"  # who bids for a Worker at a table, where whoever searches sits


class SkullKingJudging(Judging):
    """How agents of Skull King are judged: by whole games, and some by rounds to goals too."""

    shown = SHOWN
    decides = "margin"  # which policy of a training is the best
    headline = "win_rate"
    common = False
    caption = (
        "Official points of a whole game; margin: points minus those of the mean opponent; 95 % "
        "intervals over deals; shared wins count 1/k; rule_pi is the published bot that gives up "
        "one trick early, all other rule bots are rule_based."
    )
    on_deals = True
    options = ("games", "episodes", "opponents", "bids", "only")
    compared_against = (STRONGEST,)

    def name_group(self, config: RunConfig) -> str:
        """Return a description of the game of a run: all tiers meet in games of as many players."""
        return f"{TITLE} with {count_players(config)} players"

    def evaluations(
        self,
        config: RunConfig,
        options: EvaluationConfig,
        purpose: str,
        asked: Mapping[str, Any] | None = None,
        steps: int | None = None,
    ) -> list[Evaluation]:
        """Plan whole games on duplicate deals; none where other parts alone are asked for."""
        only = (asked or {}).get("only")
        return matches.plan(config, options, purpose) if only in (None, MATCHES) else []

    def players_of(
        self, trained: Trained, options: EvaluationConfig, purpose: str
    ) -> Mapping[str, Who | MakePlayer]:
        """See :func:`training.apps.skullking.matches.seat_players`."""
        return matches.seat_players(trained, options, purpose)

    def check_run(self, config: RunConfig) -> None:
        """Refuse opponents that search where they cannot."""
        matches.check(config)

    def refuse(self, trained: Trained, options: EvaluationConfig, asked: Mapping[str, Any]) -> None:
        """Refuse options that the evaluation of an agent cannot follow.

        Raises
        ------
        ConfigError
        """
        allowed = "left out with trainer='hier', unless with --against"
        require(not (trained.sample and trained.pair), "--sample", True, allowed)
        if trained.search is None:
            return
        only = asked.get("only")
        allowed = "left out or matches with search, which plays whole games alone"
        require(only in (None, MATCHES), "--only", only, allowed)
        bids, partial_tier = options.bids, tier_of(trained.config.env) in GOAL_TIERS
        fits = bids == TABLE_BIDS or trained.pair is not None or not partial_tier
        require(fits, "--bids", bids, f"{TABLE_BIDS} with search")

    def describe(self, trained: Trained, options: EvaluationConfig) -> dict[str, Any]:
        """Describe who takes which decisions of the whole games of an agent, and their returns."""
        return {
            "trained_plays": who_plays(trained, options.bids),
            "shaped_return_is": f"{REWARD}; not a measure of strength",
        }

    def play_further(
        self,
        console: Console,
        trained: Trained,
        options: EvaluationConfig,
        evaluated: EvaluationReport,
        asked: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Print the rounds of the whole games; play rounds to goals where those are learnt.

        Parameters
        ----------
        console : rich.console.Console
        trained : Trained
        options : EvaluationConfig
        evaluated : EvaluationReport
            Of the whole games; empty if they were not asked for.
        asked : mapping
            ``only`` asks for ``matches`` or ``goals`` alone.

        Returns
        -------
        dict
            The records of goals and abilities.
        """
        if evaluated.record:
            played = evaluated.record[MATCHES]
            opponents, policies = list(played["results"].items())[-1]
            means = {name: Interval.from_list(each) for name, each in policies[AGENT].items()}
            _print_rounds(console, means, describe_opponents(opponents, played["players"]))
            shaped = format_interval(means["shaped_return"], 1)
            console.print(
                f"shaped return of whole games ({REWARD}): {shaped}; it does not order agents by "
                "strength"
            )
        to_goals = tier_of(trained.config.env) in GOAL_TIERS and trained.search is None
        if to_goals and asked.get("only") != MATCHES:
            return goals.compare(console, trained, options)
        return {}


def _print_rounds(console: Console, means: Mapping[str, Interval], opponents: str) -> None:
    """Print bids made and points in each round and phase of the agent's games."""
    title = f"{AGENT} against {opponents}, round by round"
    table = make_table(title, None, ["round"], ["bids made %", "points"])
    for name, interval in means.items():
        if name.startswith("bid_hit_"):
            part = name.removeprefix("bid_hit_")
            points = means.get(f"points_{part}")
            shown = "" if points is None else format_interval(points, 1)
            hits = format_interval(interval, 1, 100)
            table.add_row(part.removeprefix("round_"), hits, shown)
    console.print(table)
