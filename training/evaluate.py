"""Evaluate a run honestly: ``python -m training.evaluate RUN``, or ``--bots`` without one.

Skull King: whole games on duplicate deals against sets of bots, in official points, and, for agents
that play to a goal, the comparison with rule bots at the same goals and deals. Prospector: the same
episodes for the agent, the reference lines and all bots. Nothing here draws from a training
generator, and no evaluation seed is a training seed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import fastenv
from fastenv import BatchEngine
from fastenv.errors import ConfigError, FastEnvError
from fastenv.registry import short_id
from training.evaluation import replays, tables
from training.evaluation.bootstrap import Interval
from training.evaluation.episodes import Episodes
from training.evaluation.trained import (
    AGENT,
    GOAL_TIERS,
    Trained,
    compare_episodes,
    compare_goals,
    episode_protocol,
    load,
    own_episodes,
    play_matches,
)
from training.games.prospector import episodes as prospector
from training.games.skullking import abilities, goals, matches
from training.run import files, machine
from training.run.folder import RunFolder
from training.run.options.evaluation import EvaluationConfig
from training.run.seeds import GOAL_SEEDS, MATCH_SEEDS

_GOALS = {
    "uniform": "0 to N equally likely, so that many are out of reach",
    "estimate": "what the hand promises, one less or one more",
}


def write_replays(
    run: RunFolder,
    trained: Trained,
    played: Episodes,
    count: int,
    env_options: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Record the episodes with the highest returns and enter them into the run's index.

    Returns
    -------
    list of dict
        Their entries, worst first, so that the last one is the best.
    """
    assert played.actions is not None
    ranked = np.argsort(played.columns["return_total"], kind="stable")[-count:]
    entries = []
    for episode in ranked.tolist():
        seed = int(played.columns["seed"][episode])
        window = int(trained.windows.get("window_id", 0))
        found = replays.record(run.config.env, env_options, seed, played.actions[episode])
        entries.append(
            replays.add_to_index(
                run.path,
                replays.save(found, run.replays, window),
                found,
                run_id=run.name,
                window_id=window,
                checkpoint_path=str(trained.path.relative_to(run.path)),
                trainer_backend=run.config.trainer,
                checkpoint_env_steps_total=ticks_of(trained),
                checkpoint_steps=trained.steps,
            )
        )
    return entries


def ticks_of(trained: Trained) -> int | None:
    """Return the ticks a checkpoint was trained for; None if the run did not count them."""
    windows = trained.windows
    return windows["before"][0] + windows["counts"][0] if windows else None


def evaluate(
    run: RunFolder,
    options: EvaluationConfig,
    console: Console,
    *,
    name: str | None = None,
    member: int | None = None,
    only: str | None = None,
    time_max: float | None = None,
) -> dict[str, Any]:
    """Evaluate a checkpoint, print the tables and write ``evaluation.json`` into the run folder.

    Parameters
    ----------
    run : RunFolder
    options : EvaluationConfig
    console : rich.console.Console
    name : str, optional
        Checkpoint; default the newest.
    member : int, optional
        Network of an ensemble, from 1 on; default the first.
    only : {None, "matches", "goals"}
        Play only this part (Skull King).
    time_max : float, optional
        Length of the episodes, if not that of the training (Prospector).

    Returns
    -------
    dict
        What was written.
    """
    import torch

    torch.set_num_threads(1)
    trained = load(run, name, member)
    if trained.member is not None:
        seeds = run.config.ensemble.seeds
        console.print(f"member {trained.member} of {len(seeds)}, seed {seeds[trained.member - 1]}")
    record: dict[str, Any] = {
        "run": run.name,
        "member": trained.member,
        "env": run.config.env,
        "checkpoint": trained.path.name,
        "steps": trained.steps,
        "config_sha256": run.config.sha256(),
        "created": machine.now(),
        "seed": options.seed,
        "policy": "highest legal logit",
        "intervals": f"95 %, percentile bootstrap, {options.bootstrap} resamples",
        **machine.revision(),
        "versions": machine.versions(),
    }
    begin = time.perf_counter()
    played, env_options = None, run.config.env_options
    if trained.tier is None:
        protocol = episode_protocol(options, time_max)
        engine, everybody = compare_episodes(trained, protocol)
        record["episodes"] = _report_episodes(console, engine, everybody, protocol, run.name)
        rows = [row for name, found in everybody.items() for row in found.rows(name)]
        lines = "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)
        files.write_text(run.path / "episodes.jsonl", lines)
        played = everybody[AGENT]
        env_options = {**env_options, "time_max": engine.game.config.time_max}
    if trained.tier is not None and only != "goals":
        found = play_matches(trained, options)
        _print_matches(console, run.name, trained, options, found)
        record["matches"] = _match_record(trained, options, found)
    if trained.tier in GOAL_TIERS and only != "matches":
        comparison, accounts = compare_goals(trained, options)
        _print_goals(console, options, comparison)
        record["goals"] = _goal_record(trained, options, comparison)
        if accounts:
            record["abilities"] = _report_abilities(console, options, accounts)
    if options.replays:
        played = own_episodes(trained, options) if played is None else played
        record["replays"] = write_replays(run, trained, played, options.replays, env_options)
        best = record["replays"][-1]
        console.print(f"best episode: {run.path / best['replay_path']}, {best['return_total']:.2f}")
    record["wall_s"] = round(time.perf_counter() - begin, 1)
    files.write_json(run.path / "evaluation.json", record)
    console.print(
        f"evaluated in {record['wall_s']} s, written to {run.path / 'evaluation.json'}",
    )
    return record


# -- printing and recording ------------------------------------------------------------------------


def _who_plays(trained: Trained, bids: str) -> str:
    if trained.pair is not None:
        return "bids by the Manager, cards by the Worker"
    if trained.tier == "flat":
        return "bids and cards by the network"
    if trained.tier == "manager":
        return "bids by the network, cards by rule_hard"
    return f"bids by {bids}, cards by the network"


def _print_matches(
    console: Console,
    name: str,
    trained: Trained,
    options: EvaluationConfig,
    found: dict[str, Any],
) -> None:
    games = -(-options.games // 4) * 4
    caption = (
        f"{AGENT}: {_who_plays(trained, options.bids)}. Official points of a whole game; 95 % "
        "intervals over deals; shared wins count 1/k; rule_pi is the published bot that gives up "
        "one trick early, all other rule bots are rule_based."
    )
    title = f"{name}: {games:,} games a row on the same deals, every seat in turn"
    console.print(tables.match_table(found, title, caption))
    last = list(found)[-1]
    by_round = f"{AGENT} against {tables.table_of(last)}, round by round"
    console.print(tables.round_table(found[last][AGENT], by_round))
    shaped = found[last][AGENT]["shaped_return"]
    console.print(
        f"shaped return of whole games ({_reward_table()}): {tables.shown(shaped, 1)}; "
        "it does not order agents by strength",
    )


def _print_goals(console: Console, options: EvaluationConfig, comparison: goals.Comparison) -> None:
    caption = (
        f"{comparison.episodes:,} rounds, each played by everybody with the same cards, goal and "
        f"opponents' bids; rounds 1 to 10 equally likely, goals {_GOALS[options.goals]}; "
        "intervals of 95 %, differences paired."
    )
    console.print(tables.goal_table(comparison, "The same goals and deals", caption))
    verdict = "lies" if comparison.outside(AGENT) else "does not lie"
    console.print(
        f"the 95 % interval of {AGENT}, overall, {verdict} above that of {comparison.baseline}"
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


def _report_episodes(
    console: Console,
    engine: BatchEngine,
    played: dict[str, Episodes],
    protocol: prospector.Protocol,
    title: str,
) -> dict[str, Any]:
    """Print the comparison and return its record."""
    compared = prospector.compare(played, protocol)
    caption = (
        "Everybody plays the same episodes; means with 95 % intervals over episodes. cash_out ends "
        "an episode with its first action: what returns less would better not have played."
    )
    first, last = protocol.base_seed, protocol.base_seed + protocol.count - 1
    heading = (
        f"{title}: {protocol.count:,} episodes, seeds {first} to {last}, "
        f"time_max {engine.game.config.time_max:g}"
    )
    console.print(tables.episode_table(compared, heading, caption))
    return prospector.record(engine, played, compared, protocol)


def play_bots(args: argparse.Namespace, console: Console) -> int:
    """Let scripted players alone play Prospector; print and, if asked to, write what came out."""
    env = short_id(args.env)
    if not env.startswith("Prospector"):
        raise ConfigError(f"--bots: {args.env} has no episodes for bots alone; Prospector has.")
    given = {"count": args.episodes, "base_seed": args.seed, "max_steps": args.max_steps}
    given = {name: value for name, value in given.items() if value is not None}
    protocol = prospector.Protocol(**{"count": 100, **given}, time_max=args.time_max)
    engine = protocol.engine(env, {})
    played = prospector.play(engine, prospector.scripted(args.bot), protocol)
    found = _report_episodes(console, engine, played, protocol, "bots")
    if args.output_path is not None:
        report = {
            "run_id": args.run_id or f"bots-{machine.now()}",
            "generated_at": machine.now(),
            **found,
            "episodes": [row for name, each in played.items() for row in each.rows(name)],
            **machine.revision(),
            "versions": machine.versions(),
        }
        files.write_json(args.output_path, report)
    return 0


def _reward_table() -> str:
    return f"reward table of {matches.ENV}, fastenv {fastenv.__version__}"


def _match_record(
    trained: Trained, options: EvaluationConfig, found: dict[str, Any]
) -> dict[str, Any]:
    players = trained.config.env_options.get("num_players", 4)
    deals = -(-options.games // players)
    return {
        "protocol": "duplicate deals, agent in every seat",
        "env": matches.ENV,
        "players": players,
        "deals": deals,
        "games": deals * players,
        "first_seed": MATCH_SEEDS + options.seed,
        "trained_plays": _who_plays(trained, options.bids),
        "shaped_return_is": _reward_table() + "; not a measure of strength",
        "results": {
            opponents: {name: _lists(values) for name, values in policies.items()}
            for opponents, policies in found.items()
        },
    }


def _goal_record(
    trained: Trained, options: EvaluationConfig, comparison: goals.Comparison
) -> dict[str, Any]:
    return {
        "protocol": "the same rounds, goals and deals for every policy; rounds uniform",
        "goals": _GOALS[options.goals],
        "first_seed": GOAL_SEEDS + options.seed,
        "episodes": comparison.episodes,
        "opponents": trained.config.env_options.get("opponents", "rule_medium"),
        "baseline": comparison.baseline,
        "rates": {name: _lists(values) for name, values in comparison.rates.items()},
        "minus_baseline": _lists(comparison.differences),
        "above_baseline_outside_intervals": comparison.outside(AGENT),
    }


def _lists(values: dict[str, Interval]) -> dict[str, list[float | None]]:
    return {name: interval.to_list() for name, interval in values.items()}


# -- command line ----------------------------------------------------------------------------------


# Options that only some of what can be evaluated has a use for.
_OF_CARDS = ("games", "opponents", "bids", "goals", "only")
_OF_BELT = ("time_max", "max_steps")
_OF_BOTS = ("bot", "run_id", "output_path")
_OF_RUNS = ("checkpoint", "member", "replays")


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = argparse.ArgumentParser(prog="python -m training.evaluate", description=__doc__)
    parse.add_argument("run", nargs="?", help="a run folder, or the name of one under runs/")
    parse.add_argument("--episodes", type=int, help="rounds at equal goals; Prospector: episodes")
    parse.add_argument(
        "--seed", "--base-seed", type=int, help="evaluation seed; Prospector: of the first episode"
    )
    parse.add_argument("--checkpoint", help="name of a checkpoint, or best; default the newest")
    parse.add_argument("--member", type=int, help="network of an ensemble, from 1; default 1")
    parse.add_argument("--replays", type=int, help="best episodes to record")
    parse.add_argument("--runs", default="runs", help="folder of all runs")
    cards = parse.add_argument_group("Skull King")
    cards.add_argument("--games", type=int, help="whole games for each opponent set")
    cards.add_argument("--opponents", help="opponent sets, separated by commas")
    cards.add_argument("--bids", help="who bids for a Worker: rule_hard or heuristic")
    cards.add_argument("--goals", help="goals of the comparison: uniform or estimate")
    cards.add_argument("--only", choices=("matches", "goals"), help="play only this part")
    belt = parse.add_argument_group("Prospector")
    belt.add_argument("--time-max", type=float, help="ticks of an episode")
    belt.add_argument("--max-steps", type=int, help="decisions after which an episode is given up")
    belt.add_argument("--bots", action="store_true", help="scripted players alone, without a run")
    belt.add_argument("--env", default="Prospector-v0", help="with --bots")
    belt.add_argument("--bot", action="append", help="with --bots: only these; repeatable")
    belt.add_argument("--run-id", help="with --bots: name in the report")
    belt.add_argument("--output-path", type=Path, help="with --bots: JSON report to write")
    return parse


def refuse_unused(args: argparse.Namespace, what: str, names: Iterable[str]) -> None:
    """Refuse options that would change nothing of what is asked for.

    Raises
    ------
    ConfigError
        Names the first of them.
    """
    for name in names:
        value = getattr(args, name)
        if value is not None:
            flag = "--" + name.replace("_", "-")
            raise ConfigError(
                f"{flag} {value}: must be left out with {what}: it is not used there."
            )


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    try:
        if args.bots != (args.run is None):
            raise ConfigError("evaluate either a RUN or --bots.")
        if args.bots:
            refuse_unused(args, "--bots", (*_OF_CARDS, *_OF_RUNS))
            if args.output_path is not None:
                files.prepare("--output-path", args.output_path)
            return play_bots(args, tables.console())
        run = RunFolder.find(args.run, Path(args.runs))
        cards = run.config.env.rpartition("/")[2].startswith("SkullKing")
        of_others = _OF_BELT if cards else _OF_CARDS
        refuse_unused(args, f"a run of {run.config.env}", (*of_others, *_OF_BOTS))
        names = ("games", "episodes", "bids", "goals", "seed", "max_steps", "replays")
        given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
        if args.opponents is not None:
            given["opponents"] = tuple(args.opponents.split(","))
        options = replace(run.config.evaluation, **given)
        shown = tables.console()
        given = {name: getattr(args, name) for name in ("member", "only", "time_max")}
        evaluate(run, options, shown, name=args.checkpoint, **given)
    except (ConfigError, FastEnvError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
