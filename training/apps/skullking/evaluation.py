"""Evaluation of Skull King: whole games on duplicate deals, and rounds at equal goals.

All agents play whole games against sets of bots, in official points, with a bot for what they have
not learnt. Those that play to a goal are also compared with rule bots at the same goals and deals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

import fastenv
from training.apps.skullking import abilities, goals, matches, tables
from training.apps.skullking.columns import SHOWN
from training.apps.skullking.matches import count_players
from training.apps.skullking.players import tier_of, who_plays
from training.apps.skullking.rules import STRONGEST
from training.evaluation.intervals import Interval
from training.evaluation.judging import EVALUATE, Judging, JudgingRules
from training.evaluation.results import Estimates
from training.evaluation.tables import format_interval
from training.logs.run_data import describe_opponents
from training.players.trained import DRAWN, Trained
from training.run.config import RunConfig
from training.run.names import AGENT
from training.run.options import require
from training.run.sections import EvaluationConfig
from training.run.seeds import GOAL_SEEDS, MATCH_SEEDS

TITLE = "Skull King"
GOAL_TIERS = ("worker", "ability")
TABLE_BIDS = "rule_hard"  # who bids for a Worker at a table, where whoever searches sits
_GOALS = {
    "uniform": "0 to N equally likely, so that many are out of reach",
    "estimate": "what the hand promises, one less or one more",
}
Means = Mapping[str, Mapping[str, Mapping[str, Interval]]]  # opponents to player to measure


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
        means = matches.play_matches(trained, options)
        games = matches.plan(trained.config, options, EVALUATE)[0].episodes
        _print_matches(judging, console, title, trained, options, games, means)
        record["matches"] = _match_record(trained, options, games, means)
    if tier_of(trained.config.env) in GOAL_TIERS and only != "matches":
        rounds = goals.plan(trained, options)
        played, accounts = goals.play_abilities(rounds)
        drawn = goals.estimate(played, options.bootstrap, rounds.resample_seed)
        _print_goals(console, options, rounds.episodes, drawn)
        record["goals"] = _goal_record(trained, options, rounds.episodes, drawn)
        if accounts:
            record["abilities"] = _report_abilities(console, options, accounts)
    return record


def _check_search(trained: Trained, options: EvaluationConfig, only: object) -> str:
    """Return the part that an agent plays with search: whole games; refuse others."""
    allowed = "left out or matches with search, which plays whole games alone"
    require(only in (None, "matches"), "--only", only, allowed)
    bids, partial_tier = options.bids, tier_of(trained.config.env) in GOAL_TIERS
    fits = bids == TABLE_BIDS or trained.pair is not None or not partial_tier
    require(fits, "--bids", bids, f"{TABLE_BIDS} with search")
    return "matches"


# -- printing and recording ------------------------------------------------------------------------


def _print_matches(
    judging: Judging,
    console: Console,
    name: str,
    trained: Trained,
    options: EvaluationConfig,
    games: int,
    means: Means,
) -> None:
    caption = (
        f"{AGENT}: {who_plays(trained, options.bids)}. Official points of a whole game; "
        "margin: points minus those of the mean opponent; 95 % intervals over deals; shared wins "
        "count 1/k; rule_pi is the published bot that gives up one trick early, all other rule "
        "bots are rule_based."
    )
    title = f"{name}: {games:,} games a row on the same deals, every seat in turn"
    console.print(tables.match_table(means, judging.columns, title, caption))
    last = list(means)[-1]
    seats = describe_opponents(last, count_players(trained.config))
    by_round = f"{AGENT} against {seats}, round by round"
    console.print(tables.round_table(means[last][AGENT], by_round))
    shaped = means[last][AGENT]["shaped_return"]
    console.print(
        f"shaped return of whole games ({_reward_table()}): {format_interval(shaped, 1)}; "
        "it does not order agents by strength",
    )


def _print_goals(
    console: Console, options: EvaluationConfig, rounds: int, drawn: Estimates
) -> None:
    caption = (
        f"{rounds:,} rounds, each played by everybody with the same cards, goal and "
        f"opponents' bids; rounds 1 to 10 equally likely, goals {_GOALS[options.goals]}; "
        "intervals of 95 %, differences paired."
    )
    rates, gaps = drawn.means, drawn.gaps(goals.BASELINE, goals.OVERALL)
    table = tables.goal_table(rates, gaps, goals.BASELINE, "The same goals and deals", caption)
    console.print(table)
    best = _best_scripted(rates)
    reached, scripted = (
        format_interval(rates[who][goals.OVERALL], 1, 100) for who in (AGENT, best)
    )
    verdict = "outside" if goals.is_outside(rates, AGENT, best) else "not above it outside"
    console.print(
        f"{AGENT} reaches {reached} % of the goals, {best}, the best of the scripted players, "
        f"{scripted} %: {verdict} the 95 % intervals"
    )


def _report_abilities(
    console: Console, options: EvaluationConfig, accounts: Mapping[str, abilities.Account]
) -> dict[str, Any]:
    """Print what pirates came to and return its record."""
    means = abilities.intervals(accounts, options.bootstrap, options.seed)
    caption = (
        "Decisions about pirates in the same rounds, with 95 % intervals over deals; - where there "
        "was none. Hand strength: mean change of the sum of the strengths of its cards, which "
        "rule bots raise while tricks are needed and lower when none is."
    )
    console.print(tables.ability_table(means, "Pirate abilities", caption))
    return abilities.record(means, accounts)


def _reward_table() -> str:
    return f"reward table of {matches.ENV}, fastenv {fastenv.__version__}"


def _match_record(
    trained: Trained, options: EvaluationConfig, games: int, means: Means
) -> dict[str, Any]:
    players = count_players(trained.config)
    return {
        "protocol": "duplicate deals, agent in every seat",
        "env": matches.ENV,
        "players": players,
        "deals": games // players,
        "games": games,
        "first_seed": MATCH_SEEDS + options.seed,
        "trained_plays": who_plays(trained, options.bids),
        "shaped_return_is": _reward_table() + "; not a measure of strength",
        "results": {
            opponents: {name: _make_lists(values) for name, values in policies.items()}
            for opponents, policies in means.items()
        },
    }


def _goal_record(
    trained: Trained, options: EvaluationConfig, rounds: int, drawn: Estimates
) -> dict[str, Any]:
    rates = drawn.means
    best = _best_scripted(rates)
    return {
        "protocol": "the same rounds, goals and deals for every policy; rounds uniform",
        "goals": _GOALS[options.goals],
        "first_seed": GOAL_SEEDS + options.seed,
        "episodes": rounds,
        "opponents": trained.config.env_options.get("opponents", "rule_medium"),
        "baseline": goals.BASELINE,
        "rates": {name: _make_lists(values) for name, values in rates.items()},
        "minus_baseline": _make_lists(drawn.gaps(goals.BASELINE, goals.OVERALL)),
        "best_scripted": best,
        "above_best_scripted_outside_intervals": goals.is_outside(rates, AGENT, best),
    }


def _best_scripted(rates: goals.Rates) -> str:
    return goals.find_best(rates, [policy for policy in rates if policy not in (AGENT, DRAWN)])


def _make_lists(values: Mapping[str, Interval]) -> dict[str, list[float | None]]:
    return {name: interval.to_list() for name, interval in values.items()}


# All tiers are judged by whole games, and some by rounds at equal goals too.
JUDGING = JudgingRules(
    shown=SHOWN,
    decides="margin",  # which policy of a training is the best
    headline="win_rate",
    common=False,
    options=("games", "episodes", "opponents", "bids", "goals", "only"),
    compared_against=(STRONGEST,),
    plan=matches.plan,
    players=matches.seat_players,
    evaluate=evaluate,
    check=matches.check,
    group=name_group,
    milestones=load_milestones,
)
