"""Evaluation of Skull King: whole games on duplicate deals, and rounds at equal goals.

All agents play whole games against sets of bots, in official points, with a bot for what they have
not learnt. Each deal is replayed with the agent in each seat: luck falls on all seats alike, and
players can be compared on equal deals. The measures are those of docs/howto/train_skullking.md.
Agents that play to a goal are also compared with rule bots at the same goals and deals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from rich.console import Console

import fastenv
from training.apps.skullking import goals
from training.apps.skullking.columns import SHOWN
from training.apps.skullking.rules import BASELINES, COMPARED_AGAINST, SETS
from training.apps.skullking.whole_games import DECODED, ENV, match_player, tier_of, who_plays
from training.evaluation.evaluation import Evaluation, play
from training.evaluation.intervals import Interval
from training.evaluation.judging import COMPARE, CURVE, EVALUATE, MATCHES, Judging
from training.evaluation.loop import MAX_DECISIONS
from training.evaluation.results import EvaluationReport
from training.evaluation.tables import format_interval, make_table
from training.logs.run_data import describe_opponents
from training.players.bots import Bot
from training.players.names import AnyPlayer
from training.players.player import MakePlayer
from training.players.trained import DRAWN, WITHOUT, TrainedAgent
from training.run.config import EvaluationConfig, RunConfig
from training.run.envs import check_agents
from training.run.games import get_game
from training.run.options import require
from training.run.seating import AGENT, is_search
from training.run.seeds import CURVE_SEEDS, MATCH_SEEDS

TITLE = "Skull King"
GOAL_TIERS = ("worker", "ability")
REWARD = f"reward table of {ENV}, fastenv {fastenv.__version__}"

# -- whole games -----------------------------------------------------------------------------------


def match(
    opponents: str,
    deals: int,
    first_seed: int,
    *,
    players: int = 4,
    options: Mapping[str, Any] | None = None,
    draws: int = 0,
) -> Evaluation:
    """Return whole games against an opponent set, official rules, every deal from every seat.

    Parameters
    ----------
    opponents : str
    deals : int
    first_seed : int
        Of the deals.
    players : int
        At the table.
    options : mapping, optional
        Of the environment.
    draws : int
        Of what the player draws in the first game; the next has one more.
    """
    return Evaluation(
        opponents,
        ENV,
        {**(options or {}), "num_players": players, "deals": "duplicate"},
        against=opponents,
        seeds=range(first_seed, first_seed + deals),
        rotations=players,
        draws=draws,
        max_steps=MAX_DECISIONS,
        decides="margin",
    )


def count_players(config: RunConfig) -> int:
    """Return the players at a table of a run."""
    return int(config.env_options.get("num_players", 4))


# -- how agents are judged -------------------------------------------------------------------------


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
    options = ("games", "episodes", "opponents", "only")
    compared_against = (COMPARED_AGAINST,)

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
        if (asked or {}).get("only") not in (None, MATCHES):
            return []
        curve, players = purpose == CURVE, count_players(config)
        sets = SETS if options.opponents is None else options.opponents
        if curve:
            sets = options.curve_opponents or (COMPARED_AGAINST,)
        deals = -(-(options.curve_games if curve else options.games) // players)
        first = (CURVE_SEEDS if curve else MATCH_SEEDS) + options.seed
        extended = config.env_options.get("obs_ext")
        shared = {"obs_ext": extended} if extended else {}
        measures = tuple(
            name
            for name, column in get_game(ENV).columns.items()
            if column.is_measured or (purpose == EVALUATE and column.kind != "kept")
        )
        return [
            replace(
                match(each, deals, first, players=players, options=shared, draws=options.seed),
                name=f"{players - 1} x {each}" if curve else each,
                measures=measures,
                resamples=options.bootstrap,
                resample_seed=options.seed,
            )
            for each in sets
        ]

    def players_of(
        self, trained: TrainedAgent, options: EvaluationConfig, purpose: str
    ) -> Mapping[str, AnyPlayer]:
        """Make the players of whole games by name.

        At the end of a training these are bots, and who shares a half with a pair of networks; in a
        comparison the agent, and its pair with bids that a head computes.
        """
        own = {AGENT: match_player(trained)}
        halves = {} if trained.pair is None else trained.pair.halves()
        if purpose == COMPARE:
            return own | {name: make for name, make in halves.items() if name == DECODED}
        if purpose == CURVE:
            return own
        makers: dict[str, MakePlayer] = {name: partial(Bot, name) for name in BASELINES}
        makers |= halves | own
        if trained.draws:
            makers[DRAWN] = match_player(trained, sample=True)
        if trained.search is not None:
            makers[WITHOUT] = match_player(replace(trained, search=None))
        return makers

    def check_run(self, config: RunConfig) -> None:
        """Refuse opponents that search where they cannot."""
        played = config.evaluation
        for name in {*(played.opponents or ()), *(played.curve_opponents or ())}:
            if is_search(name):
                one = match(name, 1, 0, players=count_players(config))
                check_agents(ENV, {**one.options, "opponents": name})

    def refuse(
        self, trained: TrainedAgent, options: EvaluationConfig, asked: Mapping[str, Any]
    ) -> None:
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

    def describe(self, trained: TrainedAgent, options: EvaluationConfig) -> dict[str, Any]:
        """Describe who takes which decisions of the whole games of an agent, and their returns."""
        return {
            "trained_plays": who_plays(trained),
            "shaped_return_is": f"{REWARD}; not a measure of strength",
        }

    def play_further(
        self,
        console: Console,
        trained: TrainedAgent,
        options: EvaluationConfig,
        evaluated: EvaluationReport,
        asked: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Print the rounds of the whole games; play rounds to goals where those are learnt.

        Parameters
        ----------
        console : rich.console.Console
        trained : TrainedAgent
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


def play_matches(
    trained: TrainedAgent, options: EvaluationConfig, purpose: str = EVALUATE
) -> dict[str, dict[str, dict[str, Interval]]]:
    """Play against every opponent set; return set to player to measure to its mean over deals."""
    results = {}
    judging = SkullKingJudging(trained.config.env)
    for each in judging.evaluations(trained.config, options, EVALUATE):
        played = play(each.by(judging.players_of(trained, options, purpose)))
        results[each.name] = each.estimate(played).means
    return results
