"""Evaluation of Skull King: whole games on duplicate deals, and rounds at equal goals.

All agents play whole games against sets of bots, in official points, with a bot for what they have
not learnt. Those that play to a goal are also compared with rule bots at the same goals and deals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from rich.console import Console
from rich.table import Table

import fastenv
from training.apps.skullking import abilities, goals, matches, tables
from training.apps.skullking.pair import DECODED
from training.apps.skullking.players import match_player, tier_of, who_plays
from training.apps.skullking.playing import (
    compare_goals,
    games_of,
    match_engine,
    play_matches,
    players_of,
)
from training.apps.skullking.rules import STRONGEST
from training.evaluation.bootstrap import Interval
from training.evaluation.protocol import Curve, EvaluationResult, Headline, Protocol
from training.evaluation.tables import Column, format_interval
from training.logs.run_data import describe_opponents
from training.players.trained import AGENT, DRAWN, Trained
from training.run.config import RunConfig
from training.run.envs import check_agents
from training.run.folder import RunFolder
from training.run.names import is_search
from training.run.options import require
from training.run.sections import EvaluationConfig
from training.run.seeds import GOAL_SEEDS, MATCH_SEEDS

GOAL_TIERS = ("worker", "ability")
TABLE_BIDS = "rule_hard"  # who bids for a Worker at a table, where whoever searches sits
WINS = "win_rate"
CURVE_MEASURES = ("win_rate", "points", "margin", "bid_hit")
DECIDES = "margin"  # against the first opponent set: which policy of a training is the best
PAIRED_MEASURES = ("points", "margin", "win_rate", "bid_hit")  # the first one decides
_GOALS = {
    "uniform": "0 to N equally likely, so that many are out of reach",
    "estimate": "what the hand promises, one less or one more",
}


class MatchCurve(Curve):
    """Whole games against the opponent sets of ``evaluation.curve_opponents``."""

    def __init__(self, config: RunConfig) -> None:
        self._options, self._players = config.evaluation, players_of(config)
        sets = self._options.curve_opponents or (STRONGEST,)
        self._engines = {
            opponents: match_engine(config, opponents, self._options.curve_games)
            for opponents in sets
        }
        self.count = sum(engine.num_envs for engine in self._engines.values())
        self.decides = self._name(DECIDES, sets[0])

    def _name(self, measure: str, opponents: str) -> str:
        return f"{measure}, {self._players - 1} x {opponents}"

    def play(self, agent: Trained, seed: int) -> Mapping[str, Interval]:
        """See :meth:`Curve.play`."""
        options = self._options
        results: dict[str, Interval] = {}
        for opponents, engine in self._engines.items():
            make = match_player(agent, options.bids)
            games = matches.play(engine, make, seed, self._players, options.seed)
            found = matches.intervals(games, options.bootstrap, options.seed)
            results |= {self._name(m, opponents): found[m] for m in CURVE_MEASURES}
        return results


# -- the protocol ----------------------------------------------------------------------------------


class MatchProtocol(Protocol):
    """Whole games of all tiers, and rounds of those that play to a goal."""

    shares = ("win_rate", "bid_hit")
    options = ("games", "episodes", "opponents", "bids", "goals", "only")
    compared_against = (STRONGEST,)

    def evaluate(
        self,
        console: Console,
        title: str,
        trained: Trained,
        options: EvaluationConfig,
        asked: Mapping[str, Any],
    ) -> EvaluationResult:
        """See :meth:`Protocol.evaluate`; ``only`` asks for ``matches`` or ``goals`` alone."""
        record: dict[str, Any] = {}
        only = asked.get("only")
        allowed = "left out with trainer='hier', unless with --against"
        require(not (trained.sample and trained.pair), "--sample", True, allowed)
        if trained.search is not None:
            only = _check_search(trained, options, only)
        if only != "goals":
            found = play_matches(trained, options)
            _print_matches(console, title, trained, options, found)
            record["matches"] = _match_record(trained, options, found)
        if tier_of(trained.config.env) in GOAL_TIERS and only != "matches":
            comparison, accounts = compare_goals(trained, options)
            _print_goals(console, options, comparison)
            record["goals"] = _goal_record(trained, options, comparison)
            if accounts:
                record["abilities"] = _report_abilities(console, options, accounts)
        return EvaluationResult(record)

    def check(self, config: RunConfig) -> None:
        """See :meth:`Protocol.check`: opponents that search must be able to."""
        played = config.evaluation
        for name in {*(played.opponents or ()), *(played.curve_opponents or ())}:
            if is_search(name):
                check_agents(matches.ENV, matches.match_options(name, players_of(config)))

    def curve(self, config: RunConfig) -> Curve:
        """See :meth:`Protocol.curve`."""
        return MatchCurve(config)

    def paired(
        self, trained: Trained, options: EvaluationConfig, reference: RunConfig
    ) -> dict[str, dict[str, dict[str, list[float | None]]]]:
        """See :meth:`Protocol.paired`: by opponent set, with bids that a head computes."""
        results = play_matches(trained, options, baselines=(DECODED,))
        return {
            opponents: {
                player: {name: players[player][name].to_list() for name in PAIRED_MEASURES}
                for player in (AGENT, DECODED)
                if player in players
            }
            for opponents, players in results.items()
        }

    def columns(self, what: str) -> Sequence[Column]:
        """See :meth:`Protocol.columns`."""
        return [
            (name, heading, partial(format_interval, decimals=decimals, factor=factor))
            for name, heading, decimals, factor in tables.MATCH_COLUMNS
            if name in PAIRED_MEASURES
        ]

    def headline(self, what: str, players: int) -> Headline:
        """See :meth:`Protocol.headline`: wins, of which ties share one."""
        wins = next(column for column in self.columns(what) if column[0] == WINS)
        return Headline(wins, 1 / players)

    def comparison_group(self, config: RunConfig) -> str:
        """See :meth:`Protocol.comparison_group`: all tiers meet in games of as many players."""
        return f"{self._game.title} with {players_of(config)} players"

    def milestones(
        self, console: Console, run: RunFolder, options: EvaluationConfig, member: int | None
    ) -> dict[str, Any]:
        """See :meth:`Protocol.milestones`."""
        from training.apps.skullking import milestones

        return milestones.measure(run, options, console, member)

    def milestones_over_seeds(
        self, console: Console, records: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """See :meth:`Protocol.milestones_over_seeds`."""
        from training.apps.skullking import milestones_over_seeds

        found = milestones_over_seeds.summary(records)
        console.print(milestones_over_seeds.table(found))
        return found

    def milestone_table(self, record: Mapping[str, Any]) -> Table:
        """See :meth:`Protocol.milestone_table`."""
        from training.apps.skullking import milestones

        return milestones.table(record)


def _check_search(trained: Trained, options: EvaluationConfig, only: object) -> str:
    """Return what an agent that searches plays: whole games, its network's part of them or all."""
    allowed = "left out or matches with search, which plays whole games alone"
    require(only in (None, "matches"), "--only", only, allowed)
    bids, partial_tier = options.bids, tier_of(trained.config.env) in GOAL_TIERS
    fits = bids == TABLE_BIDS or trained.pair is not None or not partial_tier
    require(fits, "--bids", bids, f"{TABLE_BIDS} with search")
    return "matches"


# -- printing and recording ------------------------------------------------------------------------


def _print_matches(
    console: Console,
    name: str,
    trained: Trained,
    options: EvaluationConfig,
    found: dict[str, Any],
) -> None:
    games = games_of(trained.config, options.games)
    caption = (
        f"{AGENT}: {who_plays(trained, options.bids)}. Official points of a whole game; "
        "margin: points minus those of the mean opponent; 95 % intervals over deals; shared wins "
        "count 1/k; rule_pi is the published bot that gives up one trick early, all other rule "
        "bots are rule_based."
    )
    title = f"{name}: {games:,} games a row on the same deals, every seat in turn"
    console.print(tables.match_table(found, title, caption))
    last = list(found)[-1]
    seats = describe_opponents(last, players_of(trained.config))
    by_round = f"{AGENT} against {seats}, round by round"
    console.print(tables.round_table(found[last][AGENT], by_round))
    shaped = found[last][AGENT]["shaped_return"]
    console.print(
        f"shaped return of whole games ({_reward_table()}): {format_interval(shaped, 1)}; "
        "it does not order agents by strength",
    )


def _print_goals(console: Console, options: EvaluationConfig, comparison: goals.Comparison) -> None:
    caption = (
        f"{comparison.episodes:,} rounds, each played by everybody with the same cards, goal and "
        f"opponents' bids; rounds 1 to 10 equally likely, goals {_GOALS[options.goals]}; "
        "intervals of 95 %, differences paired."
    )
    console.print(tables.goal_table(comparison, "The same goals and deals", caption))
    best = _best_scripted(comparison)
    reached, scripted = (
        format_interval(comparison.rates[who]["overall"], 1, 100) for who in (AGENT, best)
    )
    verdict = "outside" if comparison.outside(AGENT, best) else "not above it outside"
    console.print(
        f"{AGENT} reaches {reached} % of the goals, {best}, the best of the scripted players, "
        f"{scripted} %: {verdict} the 95 % intervals"
    )


def _report_abilities(
    console: Console, options: EvaluationConfig, accounts: Mapping[str, abilities.Account]
) -> dict[str, Any]:
    """Print what pirates came to and return its record."""
    found = abilities.intervals(accounts, options.bootstrap, options.seed)
    caption = (
        "Decisions about pirates in the same rounds, with 95 % intervals over deals; - where there "
        "was none. Hand strength: mean change of the sum of the strengths of its cards, which "
        "rule bots raise while tricks are needed and lower when none is."
    )
    console.print(tables.ability_table(found, "Pirate abilities", caption))
    return abilities.record(found, accounts)


def _reward_table() -> str:
    return f"reward table of {matches.ENV}, fastenv {fastenv.__version__}"


def _match_record(
    trained: Trained, options: EvaluationConfig, found: dict[str, Any]
) -> dict[str, Any]:
    players, games = players_of(trained.config), games_of(trained.config, options.games)
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
            opponents: {name: _lists(values) for name, values in policies.items()}
            for opponents, policies in found.items()
        },
    }


def _goal_record(
    trained: Trained, options: EvaluationConfig, comparison: goals.Comparison
) -> dict[str, Any]:
    best = _best_scripted(comparison)
    return {
        "protocol": "the same rounds, goals and deals for every policy; rounds uniform",
        "goals": _GOALS[options.goals],
        "first_seed": GOAL_SEEDS + options.seed,
        "episodes": comparison.episodes,
        "opponents": trained.config.env_options.get("opponents", "rule_medium"),
        "baseline": comparison.baseline,
        "rates": {name: _lists(values) for name, values in comparison.rates.items()},
        "minus_baseline": _lists(comparison.differences),
        "best_scripted": best,
        "above_best_scripted_outside_intervals": comparison.outside(AGENT, best),
    }


def _best_scripted(comparison: goals.Comparison) -> str:
    return comparison.best([policy for policy in comparison.rates if policy not in (AGENT, DRAWN)])


def _lists(values: dict[str, Interval]) -> dict[str, list[float | None]]:
    return {name: interval.to_list() for name, interval in values.items()}
