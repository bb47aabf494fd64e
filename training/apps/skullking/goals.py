"""Compare players on the same goals and deals: how often the goal of a round is reached.

One episode is one round with a given goal. All players play the very same episodes (same seeds),
so their differences are paired.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from training.apps.skullking import abilities
from training.apps.skullking.matches import BASELINES
from training.apps.skullking.players import tier_of
from training.evaluation.evaluation import Evaluation, Watch, play
from training.evaluation.intervals import Interval
from training.evaluation.loop import MAX_DECISIONS
from training.evaluation.results import Estimates, Results
from training.players.bots import Bot
from training.players.network import Network
from training.players.player import MakePlayer
from training.players.trained import DRAWN, Trained
from training.run.games import Column
from training.run.names import AGENT
from training.run.sections import EvaluationConfig
from training.run.seeds import GOAL_SEEDS

ROUNDS = 20_000  # of a comparison, unless the config says otherwise
BASELINE, OVERALL = "rule_hard", "overall"
Rates = Mapping[str, Mapping[str, Interval]]  # player to group of rounds to rate


def plan(trained: Trained, options: EvaluationConfig) -> Evaluation:
    """Return the rounds of an agent that plays to goals, and of those it is compared with."""
    fixed = {"round_weights": "uniform", "allowed_phases": (), "goal_mode": options.goals}
    rounds = ROUNDS if options.episodes is None else options.episodes
    network, first = partial(Network, trained.logits), GOAL_SEEDS + options.seed
    makers: dict[str, MakePlayer] = {name: partial(Bot, name) for name in BASELINES}
    makers[AGENT] = network
    if trained.draws:
        makers[DRAWN] = partial(network, sample=True)
    rounds_of = Evaluation(
        "goals",
        trained.config.env,
        {**trained.config.env_options, **fixed},
        seeds=range(first, first + rounds),
        draws=options.seed,
        lanes=rounds,
        max_steps=MAX_DECISIONS,
        decides="reached",
        resamples=options.bootstrap,
        resample_seed=first,
    )
    return rounds_of.by(makers)


def play_abilities(evaluation: Evaluation) -> tuple[Results, dict[str, abilities.Account]]:
    """Play rounds and account for the pirates of each player where that is a decision.

    Returns
    -------
    Results
    dict
        Player to what its pirates came to; empty but for the Ability tier.
    """
    accounts: dict[str, abilities.Account] = {}
    if tier_of(evaluation.env) == "ability":
        count = evaluation.episodes
        accounts = {name: abilities.Account(count) for name in evaluation.players}
    watch: dict[str, Watch] = {**accounts}
    return play(evaluation, watch=watch), accounts


def estimate(played: Results, resamples: int, seed: int) -> Estimates:
    """Return the rates of all players, ``overall`` and in each round that was played.

    Raises
    ------
    AssertionError
        If they have not played the same goals and deals.
    """
    rounds = {
        name: np.stack([own[column] for column in ("round", "cards", "goal")], axis=1)
        for name in played.players
        for own in (played.of(player=name),)
    }
    first = next(iter(rounds.values()))
    if not all(np.array_equal(each, first) for each in rounds.values()):
        raise AssertionError("equal seeds gave different goals or deals")
    groups: dict[str, Column] = {OVERALL: Column("share", of=lambda x: x["reached"])}
    for r in np.unique(first[:, 0]).astype(int).tolist():
        inside = partial(_is_round, number=r)
        groups[f"in_round_{r}"] = Column("kept", of=inside)
        hit = partial(_reached_in, number=r)
        groups[f"round_{r}"] = Column("share", of=hit, per=f"in_round_{r}")
    named = replace(played, about={**played.about, **groups})
    rates = [name for name, each in groups.items() if each.kind == "share"]
    return named.estimate(rates, resamples=resamples, seed=seed)


def _is_round(columns: Mapping[str, np.ndarray], number: int) -> np.ndarray:
    inside: np.ndarray = columns["round"] == number
    return inside


def _reached_in(columns: Mapping[str, np.ndarray], number: int) -> np.ndarray:
    reached: np.ndarray = columns["reached"] * _is_round(columns, number)
    return reached


def find_best(rates: Rates, others: Collection[str]) -> str:
    """Find the one of some players that reaches most goals."""
    return max(others, key=lambda player: rates[player][OVERALL].value)


def is_outside(rates: Rates, player: str, other: str) -> bool:
    """Tell whether a player is better than another, outside both 95 % intervals."""
    return rates[player][OVERALL].low > rates[other][OVERALL].high
