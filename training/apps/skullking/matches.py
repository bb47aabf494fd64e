"""Whole games on duplicate deals, replayed with the agent in each seat.

Luck of the deal falls on all seats alike, and players can be compared on equal deals. The measures
are those of docs/howto/train_skullking.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from training.apps.skullking.rules import SETS, STRONGEST
from training.apps.skullking.whole_games import DECODED, ENV, match_player
from training.evaluation.evaluation import Evaluation, play
from training.evaluation.intervals import Interval
from training.evaluation.judging import COMPARE, CURVE, EVALUATE
from training.evaluation.loop import MAX_DECISIONS
from training.players.bots import Bot
from training.players.player import MakePlayer
from training.players.trained import DRAWN, WITHOUT, Trained
from training.run.config import RunConfig
from training.run.envs import check_agents
from training.run.games import get_game
from training.run.names import AGENT, is_search
from training.run.sections import EvaluationConfig
from training.run.seeds import CURVE_SEEDS, MATCH_SEEDS

BASELINES = ("random", "rule_hard", "heuristic")


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


def plan(config: RunConfig, options: EvaluationConfig, purpose: str) -> list[Evaluation]:
    """Return the games of a run's agent; see :class:`training.evaluation.judging.Judging`."""
    curve, players = purpose == CURVE, count_players(config)
    sets = SETS if options.opponents is None else options.opponents
    if curve:
        sets = options.curve_opponents or (STRONGEST,)
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


def seat_players(
    trained: Trained, options: EvaluationConfig, purpose: str
) -> dict[str, MakePlayer]:
    """Make the players of whole games by name; see :class:`training.evaluation.judging.Judging`.

    At the end of a training these are bots, and who shares a half with a pair of networks; in a
    comparison the agent, and its pair with bids that a head computes.
    """
    own = {AGENT: match_player(trained, options.bids)}
    halves = {} if trained.pair is None else trained.pair.halves(options.bids)
    if purpose == COMPARE:
        return own | {name: make for name, make in halves.items() if name == DECODED}
    if purpose == CURVE:
        return own
    makers: dict[str, MakePlayer] = {name: partial(Bot, name) for name in BASELINES}
    makers |= halves | own
    if trained.draws:
        makers[DRAWN] = match_player(trained, options.bids, sample=True)
    if trained.search is not None:
        makers[WITHOUT] = match_player(replace(trained, search=None), options.bids)
    return makers


def play_matches(
    trained: Trained, options: EvaluationConfig, purpose: str = EVALUATE
) -> dict[str, dict[str, dict[str, Interval]]]:
    """Play against every opponent set; return set to player to measure to its mean over deals."""
    results = {}
    for each in plan(trained.config, options, EVALUATE):
        played = play(each.by(seat_players(trained, options, purpose)))
        results[each.name] = each.estimate(played).means
    return results


def check(config: RunConfig) -> None:
    """Refuse opponents that search where they cannot."""
    played = config.evaluation
    for name in {*(played.opponents or ()), *(played.curve_opponents or ())}:
        if is_search(name):
            one = match(name, 1, 0, players=count_players(config))
            check_agents(ENV, {**one.options, "opponents": name})
