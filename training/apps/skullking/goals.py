"""Compare players on the same goals and deals: how often the goal of a round is reached.

One episode is one round with a given goal. All players play the very same episodes (same seeds),
so their differences are paired.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from rich.console import Console

from training.apps.skullking import abilities
from training.apps.skullking.rules import BASELINES
from training.apps.skullking.whole_games import tier_of
from training.evaluation.evaluation import Evaluation, play
from training.evaluation.judging import ShownColumn
from training.evaluation.loop import MAX_DECISIONS
from training.evaluation.results import Results
from training.evaluation.tables import format_interval, make_table, name_column, show_interval
from training.players.bots import Bot
from training.players.network import Network
from training.players.player import MakePlayer
from training.players.trained import DRAWN, TrainedAgent
from training.run.config import EvaluationConfig
from training.run.seating import AGENT
from training.run.seeds import GOAL_SEEDS

ROUNDS = 20_000  # of a comparison, unless the config says otherwise
BASELINE, OVERALL = "rule_hard", "overall"
GOALS = "0 to N equally likely, so that many are out of reach"


def plan(trained: TrainedAgent, options: EvaluationConfig) -> Evaluation:
    """Return the rounds of an agent that plays to goals, and of those it is compared with."""
    fixed = {"round_weights": "uniform", "allowed_phases": (), "goal_mode": "uniform"}
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


def compare(console: Console, trained: TrainedAgent, options: EvaluationConfig) -> dict[str, Any]:
    """Play the rounds, print the tables and return the records: of goals, and of abilities."""
    rounds = plan(trained, options)
    decides = tier_of(rounds.env) == "ability"
    played = abilities.play_abilities(rounds) if decides else play(rounds)
    record = {"goals": _report_goals(console, trained, options, rounds, played)}
    if decides:
        record["abilities"] = _report_abilities(console, options, played)
    return record


def _report_goals(
    console: Console,
    trained: TrainedAgent,
    options: EvaluationConfig,
    rounds: Evaluation,
    played: Results,
) -> dict[str, Any]:
    rounds_of = [
        np.stack([own[column] for column in ("round", "cards", "goal")], axis=1)
        for own in (played.of(player=name) for name in played.players)
    ]
    if not all(np.array_equal(each, rounds_of[0]) for each in rounds_of):
        raise AssertionError("equal seeds gave different goals or deals")
    groups = [f"round_{r}" for r in np.unique(played["round"]).astype(int).tolist()]
    drawn = played.estimate(
        [OVERALL, *groups], resamples=options.bootstrap, seed=rounds.resample_seed
    )
    rates, gaps = drawn.means, drawn.gaps(BASELINE, OVERALL)
    caption = (
        f"{rounds.episodes:,} rounds, each played by everybody with the same cards, goal and "
        f"opponents' bids; rounds 1 to 10 equally likely, goals {GOALS}; "
        "intervals of 95 %, differences paired."
    )
    table = make_table("The same goals and deals", caption, ["goals reached %"], rates)
    for group in rates[BASELINE]:
        cells = [format_interval(of[group], 1, 100) for of in rates.values()]
        table.add_row(group.replace("_", " "), *cells, end_section=group == OVERALL)
    table.add_section()
    cells = [format_interval(gaps[name], 1, 100) if name in gaps else "" for name in rates]
    table.add_row(f"minus {BASELINE}", *cells)
    console.print(table)
    others = [name for name in rates if name not in (AGENT, DRAWN)]
    best = max(others, key=lambda name: rates[name][OVERALL].value)
    own, theirs = rates[AGENT][OVERALL], rates[best][OVERALL]
    above = own.low > theirs.high
    reached, scripted = (format_interval(each, 1, 100) for each in (own, theirs))
    console.print(
        f"{AGENT} reaches {reached} % of the goals, {best}, the best of the scripted players, "
        f"{scripted} %: {'outside' if above else 'not above it outside'} the 95 % intervals"
    )
    return {
        "protocol": "the same rounds, goals and deals for every policy; rounds uniform",
        "goals": GOALS,
        "first_seed": GOAL_SEEDS + options.seed,
        "episodes": rounds.episodes,
        "opponents": trained.config.env_options.get("opponents", "rule_medium"),
        "baseline": BASELINE,
        "rates": drawn.record(),
        "minus_baseline": {name: gap.to_list() for name, gap in gaps.items()},
        "best_scripted": best,
        "above_best_scripted_outside_intervals": above,
    }


def _report_abilities(
    console: Console, options: EvaluationConfig, played: Results
) -> dict[str, Any]:
    """Print what pirates came to and return its record."""
    names = abilities.MEASURES
    drawn = played.estimate(names, resamples=options.bootstrap, seed=options.seed)
    means = drawn.means
    caption = (
        "Decisions about pirates in the same rounds, with 95 % intervals over deals; - where there "
        "was none. Hand strength: mean change of the sum of the strengths of its cards, which "
        "rule bots raise while tricks are needed and lower when none is."
    )
    table = make_table("Pirate abilities", caption, ["own decisions"], means)
    for shown in (ShownColumn(*each) for each in names.items()):
        cells = (show_interval(shown, each[shown.name]) for each in means.values())
        table.add_row(name_column(shown), *cells)
    console.print(table)
    counts = {player: played.of(player=player) for player in means}
    return {
        "protocol": "own decisions about pirates in the rounds of the comparison of goals",
        "results": drawn.record(),
        "counted": {
            player: {name: int(own[f"{name}_count"].sum()) for name in names}
            for player, own in counts.items()
        },
    }
