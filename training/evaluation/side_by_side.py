"""Bots alone, and agents of a game for one player, who play the same episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from fastenv import make_game
from fastenv.errors import ConfigError
from training.evaluation import tables
from training.evaluation.evaluation import MAX_STEPS, Evaluation, name_sets
from training.evaluation.intervals import Interval
from training.evaluation.judging import (
    EPISODES,
    EVALUATE,
    IN_TURN,
    MATCHES,
    Judging,
    get_judging,
    plan_seeds,
)
from training.evaluation.report import report
from training.logs.run_data import describe_opponents
from training.players.names import load_who, make_player
from training.players.player import MakePlayer
from training.players.policy import Policy
from training.players.trained import load_policy
from training.run.config import EvaluationConfig
from training.run.envs import make_engine
from training.run.folder import RunFolder
from training.run.options import require
from training.run.seating import env_of_table


def play_bots(
    console: Console, env: str, names: Sequence[str] | None, asked: Mapping[str, Any]
) -> dict[str, Any]:
    """Let scripted players alone play; print and return the results.

    Where players meet, each is in the learner's seat against each opponent set, and unless
    opponents are named, all play against all.

    Parameters
    ----------
    console : rich.console.Console
    env : str
    names : sequence of str or None
        Who plays; None is all.
    asked : mapping
        Those of ``episodes``, ``seed``, ``max_steps``, ``time_max`` and ``opponents`` that were
        given.

    Raises
    ------
    ConfigError
        If the game has no such episodes, or an option is impossible.
    """
    judging = get_judging(env)
    if judging.on_deals:
        raise ConfigError(f"--bots: {env} has no episodes for bots alone.")
    seeds = plan_seeds(asked.get("seed", judging.first_seed), asked.get("episodes", 100))
    usual = Evaluation(
        *(EPISODES, env, judging.starts(None, asked)[EPISODES]),
        seeds=seeds,
        max_steps=asked.get("max_steps", MAX_STEPS),
        decides=judging.decides,
    )
    players = judging.scripted(names)
    if not judging.meets:
        alone = report(judging, console, "bots", [usual.by(players)])
        return {**alone.record[EPISODES], "episodes": alone.rows}
    against = asked.get("opponents") or names or judging.bots
    require(bool(against), "--opponents", None, "named: this game does not say who plays it")
    unknown = judging.unknown(env, {}, against)
    if unknown is not None:
        raise ConfigError(f"{'--opponents' if asked.get('opponents') else '--bot'}: {unknown}")
    sets = [
        replace(usual, name=name, against=opponent).by(players)
        for name, opponent in name_sets(against).items()
    ]
    met = report(judging, Console(quiet=True), "bots", sets)
    console.print(_make_cross_table(judging, met.record[MATCHES], seeds))
    console.print(f"rows against columns; {IN_TURN[0].lower()}{IN_TURN[1:]}")
    return {**met.record[MATCHES], "episodes": met.rows}


def _make_cross_table(judging: Judging, record: Mapping[str, Any], seeds: range) -> Table:
    """Make a table of a row for each player and a column for each opponent set."""
    decisive = judging.columns[0]
    title = (
        f"bots: {tables.name_column(decisive)} of {len(seeds):,} episodes, seeds "
        f"{seeds.start} to {seeds.stop - 1}"
    )
    opponents = (describe_opponents(name, record["players"]) for name in record["results"])
    table = tables.make_table(title, None, ["player"], opponents)
    table.columns[0].no_wrap = True
    for who in next(iter(record["results"].values())):
        means = (Interval.from_list(x[who][decisive.name]) for x in record["results"].values())
        table.add_row(who, *(tables.show_interval(decisive, mean) for mean in means))
    return table


# -- agents of a game for one player ---------------------------------------------------------------


def is_for_one(env: str) -> bool:
    """Tell whether players of an environment never meet, so that there is no table for them."""
    return make_game(env_of_table(env)).seats is None


def compare_agents(
    console: Console,
    run: RunFolder,
    others: Sequence[str],
    root: Path,
    options: EvaluationConfig,
    asked: Mapping[str, Any],
    sample: bool = False,
) -> dict[str, Any]:
    """Let a run and others play the same episodes; print and return the results.

    Parameters
    ----------
    console : rich.console.Console
    run : RunFolder
        All play in its environment, and are compared with it.
    others : sequence of str
        Runs, bots, or ``search:`` before one of them.
    root : Path
        Folder of all runs.
    options : EvaluationConfig
    asked : mapping
        See :func:`training.evaluation.run_evaluation.evaluate_trained`.
    sample : bool
        Trained agents draw their actions; else they take their best ones, unless good play needs
        mixed strategies.

    Raises
    ------
    ConfigError
        If the game is not played in episodes, or one cannot play those of the run.
    RunError, CheckpointError
        If one is no trained agent.
    """
    config, judging = run.config, get_judging(run.config.env)
    allowed = f"left out: {config.env} has no episodes for one"
    require(not judging.on_deals, "--against", list(others), allowed)
    plan = judging.evaluations(config, options, EVALUATE, asked)[0]
    plan = replace(plan, options={**config.env_options, **judging.starts(None, asked)[EPISODES]})
    engine = make_engine(plan.env, 1, plan.options)
    named = [(run.name, load_policy(run.path)), *((name, load_who(name, root)) for name in others)]
    players: dict[str, MakePlayer] = {}
    drawn = []
    for name, who in named:
        draws = sample and isinstance(who, Policy)
        shown = f"{name}, drawn" if draws else name
        shown = shown if shown not in players else f"{shown}#{len(players) + 1}"
        players[shown] = partial(make_player, who, sample=sample)
        players[shown](engine)  # or it is refused before anybody plays
        drawn += [shown] if draws else []
    first = next(iter(players))
    beside = report(judging, console, "beside each other", [plan.by(players)], first)
    record = beside.record[EPISODES]
    paired = f"{plan.decides}_minus_baseline"
    for name, entry in record["policies"].items():
        if entry[paired] is not None:
            gap = tables.format_interval_short(Interval.from_list(entry[paired]))
            line = f"{name} less {first}: {plan.decides} {gap}, episodes paired."
            console.print(line, markup=False)
    about = {"env": config.env, "env_options": dict(config.env_options), "drawn": drawn}
    return {**about, **record}
