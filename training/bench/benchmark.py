"""What ``training.benchmark_v9`` measures, part by part.

``args`` are the options of that command throughout.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from fastenv.errors import ConfigError
from training.bench import (
    bars,
    bars_drmario,
    bars_gameboy,
    bars_prospector,
    bars_replay,
    bars_scale,
    bars_training,
    flags,
    floors,
    history,
    replay_steps,
    trainers,
    views,
)
from training.bench import benchmark_tables as tables
from training.bench.configs import (
    CONFIGS,
    ENVS,
    ROLLOUTS,
    SHORT_ROLLOUTS,
    of_env,
    row,
)
from training.bench.trainer import TIERS, Flags
from training.evaluation.protocol import MILESTONES, protocol_of
from training.run import files, machine, plain
from training.run.folder import RunFolder

SCHEMA = 1
# With bars; the last only when it is named.
GAMES = ("skullking", "prospector", "drmario", "gameboy")
RECORDED_ALONE = {"bars": "gameboy"}
PARTS = (
    *("configs", "trainers", "bars"),
    *("training", "flags", "views", "replay", "replay_steps", "scale"),
)


def with_flags(given: Flags, assignments: list[str]) -> Flags:
    """Return flags with some changed.

    Raises
    ------
    ConfigError
        For an unknown flag or a value it cannot have.
    """
    known = {f.name: type(getattr(given, f.name)) for f in fields(given)}
    changes: dict[str, Any] = {}
    for text in assignments:
        name, _, value = text.partition("=")
        if name not in known:
            raise ConfigError(f"{name!r} is not a flag; flags: {', '.join(known)}.")
        read = plain.parse(value, f"{name}={value!r}")
        changes[name] = tuple(read) if isinstance(read, list) else read
        if type(changes[name]) is not known[name]:
            raise ConfigError(f"{name}={value!r}: must be of type {known[name].__name__}.")
    return replace(given, **changes)


def chosen_configs(args: argparse.Namespace) -> list[tuple[str, Flags]]:
    """Return the configurations that are to be measured, each with the name it goes by.

    They are those of ``--game``, or of the environment of ``--set env``; without either those of
    Skull King, or with ``--only configs`` those of every game.

    Raises
    ------
    ConfigError
        For a flag or a configuration that is not possible.
    """
    usual = ENVS.values() if args.only == "configs" else [Flags.env]
    envs = [ENVS[args.game]] if args.game else list(usual)
    named = [text.partition("=")[2] for text in args.set if text.startswith("env=")]
    envs = named[-1:] or envs
    found = []
    for env in envs:
        for name in args.config or CONFIGS:
            whole = env in TIERS.values() or not CONFIGS[name].use_hierarchical
            if whole or (args.config and len(envs) == 1):
                found.append((name, with_flags(of_env(name, env), args.set)))
    return found


def check(args: argparse.Namespace) -> None:
    """Refuse numbers that nothing can be measured with, before anything is.

    Raises
    ------
    ConfigError
        Names the option.
    """
    for name, least in (
        ("repeats", 1),
        ("steps", 1),
        ("lanes", 1),
        ("games", 0),
        ("max_mem_delta", 0),
    ):
        value = getattr(args, name)
        if value is not None and value < least:
            option = name.replace("_", "-")
            raise ConfigError(f"--{option} {value}: must be at least {least}.")
    floors.check_share(args.floor_share)
    if args.record:
        record_path(args)
        history.check_clean()
    if args.seconds is not None and not 0 < args.seconds < math.inf:
        raise ConfigError(f"--seconds {args.seconds:g}: must be a finite number above 0.")


def head() -> dict[str, Any]:
    """Return the first line of a record: what the figures were taken on."""
    return {
        "kind": "head",
        "schema": SCHEMA,
        "created": machine.now(),
        "command": machine.command(),
        **machine.revision(),
        "host": machine.host(),
        "versions": machine.versions(),
        "load": machine.load(),
    }


def measure(args: argparse.Namespace, console: Console) -> list[dict[str, Any]]:
    """Run what the command line asks for, print it, and return the rows, the head first.

    Raises
    ------
    ConfigError
        For an unknown configuration or flag, or a number that nothing can be measured with.
    """
    for name in args.config or ():
        if name not in CONFIGS:
            raise ConfigError(f"--config {name!r}: must be among {', '.join(CONFIGS)}.")
    check(args)
    chosen = chosen_configs(args)
    reached = [milestone_row(RunFolder.find(name, args.runs)) for name in args.milestones or ()]
    begin = time.perf_counter()
    rows = [head()]
    console.print(tables.machine_line(rows[0]))
    # Without --config the bars belong to the run; --config asks for configurations.
    usual = ("bars", "trainers") if args.config is None else ()
    for part, measured in _MEASURED.items():
        if args.only == part or (args.only is None and part in usual):
            rows += measured(args, console)
    for milestone in reached:
        console.print(protocol_of(milestone["env"]).milestone_table(milestone))
    rows += reached
    if args.only in (None, "configs"):
        rows += _configs(args, chosen, console)
    rows[0]["load_after"] = machine.load()
    rows[0]["wall_s"] = round(time.perf_counter() - begin, 1)
    console.print(f"measured in {rows[0]['wall_s']} s, load {machine.load()}")
    return rows


def _bars(args: argparse.Namespace, console: Console) -> list[dict[str, Any]]:
    found, judged = measure_bars(args, args.seconds or (1.0 if args.short else 2.0))
    if any(measured["kind"] == "env" for measured in found):
        console.print(tables.env_table(found))
    lanes = (
        f"Skull King {args.lanes:,} lanes, 3 rule_medium opponents; Prospector "
        f"{bars_prospector.LANES:,} lanes; Dr. Mario as named"
    )
    what = {"gameboy": "Game Boy", "drmario": "Dr. Mario"}.get(args.game, lanes)
    title = f"Bars: {what}; medians of {args.repeats}"
    console.print(tables.bar_table(judged, title))
    return found + judged


def _trainers(args: argparse.Namespace, console: Console) -> list[dict[str, Any]]:
    seconds = args.seconds or (1.0 if args.short else 4.0)
    beside = trainers.rows(trainers.setting(128 if args.short else 512), args.repeats, seconds)
    console.print(tables.trainer_table(beside))
    judged = bars_training.trainer_bars(beside)
    console.print(tables.bar_table(judged, f"Bars of the trainers; medians of {args.repeats}"))
    return beside + judged


def _training(args: argparse.Namespace, console: Console) -> list[dict[str, Any]]:
    found = bars_training.all_rows(args.repeats, args.seconds or 4.0)
    judged = bars_training.bars(found)
    console.print(tables.timed_table(found))
    for timed in found:
        if "us_per_step" in timed:
            console.print(tables.split_line(timed))
    console.print(tables.bar_table(judged, f"Bars of training; medians of {args.repeats}"))
    return found + judged


def _flags(args: argparse.Namespace, console: Console) -> list[dict[str, Any]]:
    found = flags.rows(args.repeats, args.seconds or (0.5 if args.short else 2.0))
    judged = flags.bars(found)
    console.print(tables.flag_table(found))
    console.print(tables.bar_table(judged, f"Bars of the flags; medians of {args.repeats}"))
    return found + judged


def _views(args: argparse.Namespace, console: Console) -> list[dict[str, Any]]:
    found = views.rows(args.repeats, args.seconds or (1.0 if args.short else 4.0))
    judged = views.bars(found)
    console.print(tables.bar_table(judged, "Bars of the views; CPU time, medians of paired turns"))
    return found + judged


def _replay(args: argparse.Namespace, console: Console) -> list[dict[str, Any]]:
    found = bars_replay.all_rows(args.repeats, args.seconds or (0.5 if args.short else 2.0))
    judged = bars_replay.bars(found)
    title = f"Bars of the replay; CPU time, medians of {args.repeats}"
    console.print(tables.bar_table(judged, title))
    return found + judged


def _replay_steps(args: argparse.Namespace, console: Console) -> list[dict[str, Any]]:
    found = replay_steps.rows(args.repeats, args.seconds or (0.5 if args.short else 2.0))
    console.print(tables.step_table(found))
    return found


def _scale(args: argparse.Namespace, console: Console) -> list[dict[str, Any]]:
    if not bars_scale.RLLIB_PYTHON.is_file():
        console.print(f"{bars_scale.NO_RLLIB}, and the runs of RLlib are left out")
    iterations = None if args.steps is None else max(1, args.steps // bars_scale.ROLLOUT)
    found = bars_scale.all_rows(args.repeats, iterations)
    judged = bars_scale.bars(found)
    console.print(tables.scale_table(found))
    console.print(tables.bar_table(judged, "Bars of several processes; wall, paired turns"))
    return found + judged


# What each part measures; that of configurations stands alone.
_MEASURED: dict[str, Callable[[argparse.Namespace, Console], list[dict[str, Any]]]] = {
    "bars": _bars,
    "trainers": _trainers,
    "training": _training,
    "flags": _flags,
    "views": _views,
    "replay": _replay,
    "replay_steps": _replay_steps,
    "scale": _scale,
}


def _configs(
    args: argparse.Namespace, chosen: Sequence[tuple[str, Flags]], console: Console
) -> list[dict[str, Any]]:
    rollouts = SHORT_ROLLOUTS if args.short else ROLLOUTS
    played = args.games if args.games is not None else (40 if args.short else 200)
    made = []
    for name, each in chosen:
        steps = args.steps or rollouts * each.n_envs * each.n_steps
        made.append(row(name, each, steps, args.repeats, played))
    for env in dict.fromkeys(one["flags"]["env"] for one in made):
        rows = [one for one in made if one["flags"]["env"] == env]
        console.print(tables.config_table(rows, env, args.repeats, played))
    return made


def measure_bars(
    args: argparse.Namespace, seconds: float
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows that the bars of the chosen games need, and the bars."""
    found: list[dict[str, Any]] = []
    judged: list[dict[str, Any]] = []
    if args.game in (None, "skullking"):
        rows = bars.all_rows(args.repeats, seconds, 16_384, args.lanes)
        found += rows
        judged += bars.bars(rows)
    if args.game in (None, "prospector"):
        rows = bars_prospector.all_rows(args.repeats, seconds)
        found += rows
        judged += bars_prospector.bars(rows)
    if args.game == "gameboy":
        rows = bars_gameboy.all_rows(args.repeats, seconds)
        found += rows
        judged += bars_gameboy.bars(rows, args.max_mem_delta)
    if args.game in (None, "drmario"):
        rows = bars_drmario.all_rows(args.repeats, seconds)
        found += rows
        judged += bars_drmario.bars(rows)
    return found, judged


def milestone_row(run: RunFolder) -> dict[str, Any]:
    """Return the row of a run's milestones, as ``python -m training.milestones`` has found them.

    Raises
    ------
    ConfigError
        If it has not.
    """
    try:
        record = json.loads((run.path / MILESTONES).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{run.path} has no {MILESTONES}: run python -m training compare milestones first."
        ) from error
    return {"kind": "milestones", **record}


def record_path(args: argparse.Namespace) -> Path:
    """Return where the record of what is measured belongs, one file for each kind.

    Raises
    ------
    ConfigError
        If only a part of a kind is measured, or something else than usual.
    """
    whole = args.only is not None and not (args.config or args.set or args.milestones)
    if not whole or args.game not in (None, RECORDED_ALONE.get(args.only)):
        raise ConfigError(
            f"--record needs --only {', '.join(PARTS)} as it is by default, or --only bars "
            "--game gameboy: records are compared."
        )
    return history.RECORDS / f"{'-'.join(filter(None, (args.only, args.game)))}.jsonl"


def keep(args: argparse.Namespace, rows: list[dict[str, Any]]) -> Path:
    """Make what was measured the record of its kind; return where it lies."""
    path = record_path(args)
    write(path, rows)
    history.keep(rows[0], rows[1:], path)
    return path


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write one JSON object a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_text(path, "".join(json.dumps(r, allow_nan=False) + "\n" for r in rows))
