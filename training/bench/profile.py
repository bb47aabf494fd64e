"""Run ``training benchmark profile``: modes of a run, their ratios, and their floors.

``args`` are the options of that command throughout.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from fastenv.errors import ConfigError
from fastenv.registry import short_id
from training.bench import games, records, tables
from training.bench.choices import MINIBATCHES, MODES, check_numbers
from training.bench.env_modes import (
    REFERENCE_LANES,
    EnvPlan,
    check_workload,
    env_only,
    medians,
)
from training.ppo.options import PPOConfig
from training.run import files, machine
from training.run.config import PLAIN, RunConfig, is_plain
from training.run.config_files import merge, parse_assignments
from training.run.games import get_game
from training.run.options import require

SCHEMA = 1
FOLDER = Path("artifacts/throughput")
# What is timed is the machinery of an evaluation, not a verdict on the agent.
SMALL_EVALUATION = {"games": 16, "episodes": 32, "bootstrap": 100}
OPPONENTS = "rule_medium"  # of an evaluation, in games that know them


def chosen_modes(text: str) -> list[str]:
    """Return the modes of a list in their order, each once.

    Raises
    ------
    ConfigError
        For an unknown one.
    """
    names = list(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in MODES:
            raise ConfigError(f"--modes {name!r}: must be among {', '.join(MODES)}.")
    return names


def numbers(flag: str, text: str) -> list[int]:
    """Return the integers of a comma-separated list, each once and at least 1.

    Raises
    ------
    ConfigError
    """
    parts = list(dict.fromkeys(part.strip() for part in text.split(",")))
    if not all(part.isdecimal() and int(part) >= 1 for part in parts):
        raise ConfigError(f"{flag} {text!r}: must be integers of at least 1, such as 1,2.")
    return [int(part) for part in parts]


def run_config(args: argparse.Namespace) -> RunConfig:
    """Return the run that the modes of a command line measure.

    Raises
    ------
    ConfigError
    """
    names = ("env", "num_envs", "env_threads", "torch_threads", "seed")
    flags = {name: getattr(args, name) for name in names}
    chosen = {name: value for name, value in flags.items() if value is not None}
    values = merge(parse_assignments(args.set), chosen)
    opponent_sets = get_game(str(values.get("env", RunConfig.get_default("env")))).opponent_sets
    small = SMALL_EVALUATION | ({"opponents": [OPPONENTS]} if OPPONENTS in opponent_sets else {})
    values = merge({"evaluation": small}, values)
    if args.force_resets:
        env = values.get("env", RunConfig.get_default("env"))
        values = merge(values, {"env_options": dict(games.of(short_id(env)).forced_resets)})
    values["backend"] = args.backend
    ppo = dict(values.get("ppo", {}))
    if args.rollout_steps is not None:
        ppo["n_steps"] = args.rollout_steps
    if args.minibatches is not None or "batch_size" not in ppo:
        lanes = values.get("num_envs", RunConfig.get_default("num_envs"))
        steps = ppo.get("n_steps", PPOConfig.get_default("n_steps"))
        ppo["batch_size"] = batch_size(lanes * steps, args.minibatches or MINIBATCHES)
    return RunConfig.from_mapping({**values, "ppo": ppo})


def batch_size(rollout: int, minibatches: int) -> int:
    """Return the samples of a minibatch.

    Raises
    ------
    ConfigError
        If a rollout cannot be divided evenly.
    """
    if rollout < 1:
        return int(PPOConfig.get_default("batch_size"))  # what is wrong is refused by its own name
    if minibatches < 1 or rollout % minibatches:
        raise ConfigError(
            f"--minibatches {minibatches}: must divide the rollout of {rollout:,} decisions."
        )
    return rollout // minibatches


def env_plans(args: argparse.Namespace, config: RunConfig) -> dict[str, EnvPlan]:
    """Make the plans of ``env_only``, the main one first."""
    main = EnvPlan(
        env=config.env,
        options=config.env_options,
        num_envs=config.num_envs,
        num_threads=config.engine_threads,
        backend=args.backend,
        workload=args.workload,
        single=args.single,
        seed=config.seed,
    )
    plans = {"main": main}
    if args.against is not None:
        lanes = REFERENCE_LANES if args.against == "reference" else config.num_envs
        plans[args.against] = replace(
            main, backend=args.against, num_threads=1, num_envs=min(lanes, config.num_envs)
        )
    return plans


def check(args: argparse.Namespace, modes: Sequence[str], config: RunConfig) -> None:
    """Refuse options that cannot be measured, before anything is measured.

    Raises
    ------
    ConfigError
    """
    check_numbers(args, repeats=1)
    if args.enforce_target and args.target_steps_per_sec is None:
        raise ConfigError("--enforce-target needs --target-steps-per-sec.")
    records.check_share(args.floor_share)
    if args.record:
        records.check_clean()
    if args.force_resets and not games.of(short_id(config.env)).forced_resets:
        which = ", ".join(game.title for game in games.GAMES.values() if game.forced_resets)
        raise ConfigError(f"--force-resets: is for the {which}, not for {config.env}.")
    if "breakdown" in modes and getattr(config, "native", None) is None:
        raise ConfigError(
            f"--modes breakdown: needs the option native.timers, which {config.trainer} has not."
        )
    if "env_only" in modes:
        check_workload(config.env, args.workload, config.env_options)


# -- artefacts: one JSON file a run, never written over --------------------------------------------


def new_run_id(git_rev: str | None) -> str:
    """Return the name of a run: its commit and the UTC time."""
    return (git_rev or "nocommit")[:7] + datetime.now(UTC).strftime("-%Y%m%dT%H%M%SZ")


def choose_run_id(name: str | None) -> str:
    """Return the name of a run: the one that is given, or a new one.

    Raises
    ------
    ConfigError
        If it is no name of a file.
    """
    require(not name or is_plain(str(name)), "--run-id", name, PLAIN)
    return name or new_run_id(machine.revision()["git_rev"])


def new_path(folder: Path, run_id: str) -> Path:
    """Make the path of a run's new artefact.

    Raises
    ------
    ConfigError
        If something is there already.
    """
    path = folder / f"{run_id}.json"
    if path.exists():
        raise ConfigError(f"{path} is there already: choose another --run-id.")
    return path


def make_head(run_id: str, config: dict[str, Any]) -> dict[str, Any]:
    """Make the head of an artefact: the machine, versions and config of its figures."""
    return {"schema": SCHEMA, "run_id": run_id, **machine.taken_on(), "config": config}


def rows_of(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the modes of an artefact as measured rows of a record."""
    return [row_of(entry) for entry in report["modes"]]


def row_of(entry: dict[str, Any]) -> dict[str, Any]:
    """Make a row of an entry of ``modes``: its description, and the medians of its figures."""
    return {"ran": entry["ran"], **medians(entry), "noisy": entry["noisy"]}


def keep(report: dict[str, Any]) -> Path:
    """Make an artefact the record of its environment in ``benchmarks/``; return where it lies."""
    name = f"throughput/{report['config']['run']['env']}.json"
    return records.keep(name, report, report, rows_of(report))


def read_artefacts(folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Convert the artefacts of a folder to lines of the history.

    Returns
    -------
    lines : list of dict
        See :func:`training.bench.records.lines`.
    skipped : list of str
        Files that are no artefacts.
    """
    lines, skipped = list[dict[str, Any]](), []
    for path in sorted(folder.glob("*.json")):
        try:
            report = json.loads(path.read_text(encoding="utf-8"))
            if report["schema"] != SCHEMA:
                raise ValueError
            lines += records.lines(report, rows_of(report), path.name)
        except (OSError, ValueError, KeyError, TypeError):
            skipped.append(str(path))
    return lines, skipped


def judge_target(
    modes: Sequence[dict[str, Any]], steps_per_s: float | None, enforced: bool
) -> dict[str, Any]:
    """Return ``target`` of an artefact: the median of ``env_only``, else of the first, against it.

    Parameters
    ----------
    modes : sequence of dict
        Entries of the artefact.
    steps_per_s : float or None
        None for no target.
    enforced : bool
    """
    if steps_per_s is None:
        return {
            "steps_per_s": None,
            "mode": None,
            "measured": None,
            "enforced": False,
            "pass": True,
        }
    entry = next((m for m in modes if m["mode"] == "env_only"), modes[0])
    measured = entry["stats"]["steps_per_s"]["median"]
    return {
        "steps_per_s": steps_per_s,
        "mode": entry["mode"],
        "measured": measured,
        "enforced": enforced,
        "pass": measured >= steps_per_s,
    }


def target_sentence(target: dict[str, Any]) -> str:
    """Describe the distance to a target in one sentence."""
    measured, wanted = target["measured"], target["steps_per_s"]
    side = "reaches" if target["pass"] else "is below"
    return (
        f"{target['mode']}: the median of {measured:,.0f} steps/s {side} the target of "
        f"{wanted:,.0f} ({measured / wanted:.0%} of it)"
    )


def not_as_requested(modes: Sequence[dict[str, Any]]) -> list[str]:
    """Return a sentence for each entry whose implementation is not the one asked for."""
    return [
        f"{m['mode']}: {m['backend_requested']} was asked for, {m['backend_selected']} selected."
        for m in modes
        if m["backend_requested"] not in ("auto", m["backend_selected"])
        and (m["backend_requested"], m["backend_selected"]) != ("native", "fast")
    ]


# -- measuring -------------------------------------------------------------------------------------


def measure(
    args: argparse.Namespace, modes: Sequence[str], config: RunConfig
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the entries of ``modes`` and the ratios between some of them.

    Raises
    ------
    ConfigError, BackendUnavailableError
    """
    entries: list[dict[str, Any]] = []
    ratios: list[dict[str, Any]] = []
    for mode in modes:
        if mode == "env_only":
            more = games.of(short_id(config.env)).find("frames")
            by_name = env_only(env_plans(args, config), args.repeats, args.seconds, more=more)
            entries += by_name.values()
            ratios += env_ratios(by_name)
            continue
        from training.bench import trainer_modes  # torch

        if mode == "breakdown":
            entries.append(trainer_modes.breakdown(config, args.repeats, args.seconds))
        else:
            evaluation = mode == "trainer_eval"
            entries.append(trainer_modes.trainer(config, args.repeats, args.seconds, evaluation))
    return entries, ratios


def env_ratios(entries: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Compute the speed-ups of the main plan over those timed in turns with it, by CPU time."""
    main, *others = entries.values()
    figure, ratios = "steps_per_cpu_s", []
    for other in others:
        pairs = zip(main["repeats"], other["repeats"], strict=True)
        what = f"{main['backend_selected']} over {other['backend_requested']}"
        value = main["stats"][figure]["median"] / other["stats"][figure]["median"]
        each = [a[figure] / b[figure] for a, b in pairs]
        ratios.append({"what": what, "figure": figure, "value": value, "all": each})
    return ratios


def report(args: argparse.Namespace) -> tuple[dict[str, Any], Path]:
    """Measure what a command line asks for; return the artefact and where it lies.

    Raises
    ------
    ConfigError, BackendUnavailableError, FastEnvError
        With nothing written.
    """
    modes = chosen_modes(args.modes)
    config = run_config(args)
    check(args, modes, config)
    run_id = choose_run_id(args.run_id)
    files.prepare("--out", args.out / f"{run_id}.json")
    path = new_path(args.out, run_id)
    entries, ratios = measure(args, modes, config)
    arguments = {k: v for k, v in vars(args).items() if k != "out"}  # a path of somebody's machine
    result = make_head(run_id, {"run": config.to_dict(), "profile": arguments})
    target = judge_target(entries, args.target_steps_per_sec, args.enforce_target)
    rows = map(row_of, entries)
    result |= {
        "modes": entries,
        "ratios": ratios,
        "target": target,
        "floors": records.judge_floors(rows, args.floor_share) if args.enforce_floor else [],
        "notes": notes(entries),
    }
    records.write(path, result)
    return result, path


def notes(entries: Sequence[dict[str, Any]]) -> list[str]:
    """List the notes for readers of the figures."""
    notes = not_as_requested(entries)
    if any(entry["noisy"] for entry in entries):
        notes.append("noisy: something else ran on the machine; compare ratios only")
    if any(len(entry["repeats"]) < 3 for entry in entries):
        notes.append("fewer than 3 repeats: no spread to speak of")
    return notes


def failures(args: argparse.Namespace, result: dict[str, Any]) -> list[str]:
    """Return a sentence for everything that was enforced and missed."""
    sentences = []
    if result["target"]["enforced"] and not result["target"]["pass"]:
        sentences.append(target_sentence(result["target"]))
    sentences += [
        records.floor_sentence(verdict) for verdict in result["floors"] if not verdict["pass"]
    ]
    limit = args.max_mem_delta
    for entry in result["modes"] if limit is not None else ():
        grown = entry["alloc"].get("rss_growth_mb", 0.0)
        if grown > limit:
            sentences.append(
                f"{entry['mode']}: memory grew by {grown:.1f} MB after warm-up, "
                f"{limit:g} MB are allowed"
            )
    return sentences


# -- the command -----------------------------------------------------------------------------------


def show(result: dict[str, Any], console: Console) -> None:
    """Print an artefact."""
    console.print(tables.mode_table(result))
    for entry in result["modes"]:
        if entry["phases_us_per_step"]:
            console.print(tables.phase_table(entry))
        if "frames" in entry:
            console.print(frames_sentence(entry["frames"]))
    for ratio in result["ratios"]:
        each = ratio["all"]
        console.print(
            f"{ratio['what']}, in turns: {ratio['value']:,.2f} times "
            f"({min(each):,.2f}..{max(each):,.2f})"
        )
    if result["target"]["steps_per_s"] is not None:
        console.print(target_sentence(result["target"]))
    for floor in result["floors"]:
        elsewhere = "" if floor["same_machine"] else "; it was taken on another processor"
        share = floor["floor_steps_per_cpu_s"] / floor["recorded"]
        console.print(
            f"{floor['what']}: floor {floor['floor_steps_per_cpu_s']:,.0f} steps per CPU second "
            f"({share:g} of {floor['source']}{elsewhere})"
        )


def frames_sentence(frames: dict[str, Any]) -> str:
    """Describe the frames of an entry, of a game that has such, in a line."""
    return (
        f"{frames['frames_per_s']['median']:,.0f} frames/s "
        f"({frames['realtime_factor']:,.0f} times the console), "
        f"{frames['frames_per_cpu_s']['median']:,.0f} per CPU-s; "
        f"{frames['instructions_per_frame']:,} instructions a frame; "
        f"{frames['resets_per_step']:.1%} of steps end an episode"
    )


def show_trend(folder: Path, console: Console) -> None:
    """Print the speeds of the history, and of the artefacts in a folder, by commit."""
    artefacts, skipped = read_artefacts(folder)
    rows = records.trend([*records.history(), *artefacts])
    title = f"{len(rows)} figures in {records.HISTORY.name} and {folder}"
    caption = f"no artefacts: {', '.join(skipped)}" if skipped else None
    console.print(tables.trend_table(rows, title, caption))


def run(args: argparse.Namespace, console: Console) -> int:
    """Run the profiler by the options of a command line; return the exit status.

    Raises
    ------
    ConfigError, BackendUnavailableError, FastEnvError
    """
    if args.trend:
        show_trend(args.out, console)
        return 0
    result, path = report(args)
    show(result, console)
    console.print(f"written to {path}")
    if args.record:
        console.print(f"it is the record {keep(result)}, and in the history")
    wrong = not_as_requested(result["modes"])
    missed = failures(args, result)
    for sentence in (*wrong, *missed):
        print(f"error: {sentence}", file=sys.stderr)
    return 2 if wrong else 1 if missed else 0
