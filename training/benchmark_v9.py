"""Measure speed and learning: ``python -m training.benchmark_v9 [--config NAME ...] [--short]``.

Parts: the configurations train stock MaskablePPO and report where the time goes and how many
official points it brought. The trainers are timed in turns: the native one beside stock MaskablePPO
on the same work. The bars time the environment alone, beside the floor: what it costs this machine,
in the same minute, only to write the same output bytes. The training bars hold our trainer to what
was asked of it; they are measured when asked for (``--only training``), and so is what each of the
flags ``use_numba`` and ``use_cython`` alone is worth (``--only flags``).
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from fastenv.errors import ConfigError, FastEnvError
from training import runs_md
from training.bench import bars, bars_prospector, bars_training, flags, trainers
from training.bench.configs import CONFIGS, row
from training.bench.trainer import Flags
from training.evaluation import tables
from training.evaluation.protocol import MILESTONES
from training.run import files, games, machine, plain
from training.run.folder import RunFolder

SCHEMA = 1
STEPS = 3 * 8 * 256  # three rollouts of the benchmark settings
SHORT_STEPS = 8 * 256
PARTS = ("configs", "trainers", "bars", "training", "flags")


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = argparse.ArgumentParser(prog="python -m training.benchmark_v9", description=__doc__)
    parse.add_argument("--config", nargs="+", metavar="NAME", help=f"of {', '.join(CONFIGS)}")
    parse.add_argument("--steps", type=int, help=f"timed steps of a repeat; default {STEPS:,}")
    parse.add_argument("--repeats", type=int, default=3)
    parse.add_argument("--seconds", type=float, help="timed seconds of a repeat of a bar")
    parse.add_argument("--games", type=int, help="whole games before and after; 0 for none")
    parse.add_argument("--lanes", type=int, default=bars.LANES, help="of Skull King's bars")
    parse.add_argument("--out", type=Path, help="file for the rows, one JSON object a line")
    parse.add_argument("--short", action="store_true", help="a few minutes")
    parse.add_argument("--game", choices=("skullking", "prospector"), help="only its bars")
    parse.add_argument("--only", choices=PARTS, help="only this part")
    parse.add_argument("--enforce", action="store_true", help="exit 1 if a bar is missed")
    parse.add_argument(
        "--milestones", nargs="+", metavar="RUN", help="runs whose milestones.json to show"
    )
    parse.add_argument("--runs", type=Path, default=Path("runs"), help="folder of all runs")
    parse.add_argument("--runs-md", type=Path, help="log the rows there, such as RUNS.md")
    parse.add_argument("--allow-dirty", action="store_true", help="log uncommitted changes too")
    parse.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FLAG=VALUE",
        help="change a flag everywhere, such as env=SkullKingWorker-v0 or net_arch=[512,256]",
    )
    return parse


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


def check(args: argparse.Namespace) -> None:
    """Refuse numbers that nothing can be measured with, before anything is.

    Raises
    ------
    ConfigError
        Names the option.
    """
    for name, least in (("repeats", 1), ("steps", 1), ("lanes", 1), ("games", 0)):
        value = getattr(args, name)
        if value is not None and value < least:
            raise ConfigError(f"--{name} {value}: must be at least {least}.")
    if args.seconds is not None and not 0 < args.seconds < math.inf:
        raise ConfigError(f"--seconds {args.seconds:g}: must be a finite number above 0.")


def head() -> dict[str, Any]:
    """Return the first line of a record: what the figures were taken on."""
    return {
        "kind": "head",
        "schema": SCHEMA,
        "created": machine.now(),
        **machine.revision(),
        "host": machine.host(),
        "versions": machine.versions(),
        "load": machine.load(),
    }


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    console = tables.console()
    try:
        out = args.out or Path("runs") / datetime.now(UTC).strftime("bench-%Y%m%d-%H%M%S.jsonl")
        files.prepare("--out", out)
        if args.runs_md is not None:
            files.prepare("--runs-md", args.runs_md)
        rows = measure(args, console)
        write(out, rows)
        console.print(f"rows in {out}")
        if args.runs_md is not None:
            count = runs_md.log(out, args.runs_md, args.allow_dirty)
            console.print(f"{count} lines appended to {args.runs_md}")
    except (ConfigError, FastEnvError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    missed = any(r["kind"] == "bar" and r["pass"] is False for r in rows)
    return 1 if missed and args.enforce else 0


def measure(args: argparse.Namespace, console: Console) -> list[dict[str, Any]]:
    """Run what the command line asks for, print it, and return the rows, the head first."""
    names = args.config or list(CONFIGS)
    for name in names:
        if name not in CONFIGS:
            raise ConfigError(f"--config {name!r}: must be among {', '.join(CONFIGS)}.")
    check(args)
    chosen = {name: with_flags(CONFIGS[name], args.set) for name in names}
    reached = [milestone_row(RunFolder.find(name, args.runs)) for name in args.milestones or ()]
    begin = time.perf_counter()
    rows = [head()]
    console.print(_machine_line(rows[0]))
    # Without --config the bars belong to the run; --config asks for configurations.
    if args.only == "bars" or (args.only is None and args.config is None):
        seconds = args.seconds or (1.0 if args.short else 2.0)
        found, judged = measure_bars(args, seconds)
        console.print(_env_table(found))
        title = (
            f"Bars: Skull King {args.lanes:,} lanes, 3 rule_medium opponents; Prospector "
            f"{bars_prospector.LANES:,} lanes; medians of {args.repeats}"
        )
        console.print(_bar_table(judged, title))
        rows += found + judged
    if args.only == "trainers" or (args.only is None and args.config is None):
        seconds = args.seconds or (1.0 if args.short else 4.0)
        beside = trainers.rows(trainers.setting(128 if args.short else 512), args.repeats, seconds)
        console.print(_trainer_table(beside))
        rows += beside
    if args.only == "training":
        found = bars_training.all_rows(args.repeats, args.seconds or 4.0)
        judged = bars_training.bars(found)
        console.print(_timed_table(found))
        for r in found:
            if "us_per_step" in r:
                console.print(_split_line(r))
        console.print(_bar_table(judged, f"Bars of training; medians of {args.repeats}"))
        rows += found + judged
    if args.only == "flags":
        found = flags.rows(args.repeats, args.seconds or (0.5 if args.short else 2.0))
        judged = flags.bars(found)
        console.print(_flag_table(found))
        console.print(_bar_table(judged, f"Bars of the flags; medians of {args.repeats}"))
        rows += found + judged
    for milestone in reached:
        console.print(games.protocol_of(milestone["env"]).milestone_table(milestone))
    rows += reached
    if args.only in (None, "configs"):
        steps = args.steps or (SHORT_STEPS if args.short else STEPS)
        played = args.games if args.games is not None else (40 if args.short else 200)
        made = [row(name, each, steps, args.repeats, played) for name, each in chosen.items()]
        console.print(_config_table(made, steps, args.repeats, played))
        rows += made
    rows[0]["load_after"] = machine.load()
    rows[0]["wall_s"] = round(time.perf_counter() - begin, 1)
    console.print(f"measured in {rows[0]['wall_s']} s, load {machine.load()}")
    return rows


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
            f"{run.path} has no {MILESTONES}: run python -m training.milestones first."
        ) from error
    return {"kind": "milestones", **record}


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write one JSON object a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_text(path, "".join(json.dumps(r, allow_nan=False) + "\n" for r in rows))


# -- tables ----------------------------------------------------------------------------------------


def _machine_line(record: dict[str, Any]) -> str:
    host, rev = record["host"], record["git_rev"] or "no commit"
    dirty = ", uncommitted changes" if record["dirty"] else ""
    return (
        f"{host['cpu_model']}, {host['physical_cores']} cores, load {record['load']}, {rev}{dirty}"
    )


def _table(title: str, columns: str, left: int = 1) -> Table:
    table = Table(title=title, title_justify="left")
    for k, heading in enumerate(columns.split(", ")):
        table.add_column(heading, justify="left" if k < left else "right")
    return table


def _env_table(rows: list[dict[str, Any]]) -> Table:
    heads = "what, tier, backend, lanes, threads, steps/s, per CPU-s, min, max, ns/step, floor ns"
    table = _table("Environment alone, random legal play unless said; medians", heads, left=3)
    for r in rows:
        if r["kind"] != "env":
            continue
        every = r["steps_per_cpu_s_all"]
        floor = r.get("floor_steps_per_cpu_s")
        figures = (r["steps_per_s"], r["steps_per_cpu_s"], min(every), max(every))
        table.add_row(
            *(r["what"], f"{r['tier']} {r.get('workload', '')}", r["backend"]),
            *(f"{r['num_envs']:,}", str(r["num_threads"])),
            *(f"{x:,.0f}" for x in figures),
            f"{1e9 / r['steps_per_cpu_s']:,.0f}",
            "" if floor is None else f"{1e9 / floor:,.1f}",
        )
    return table


def _flag_table(rows: list[dict[str, Any]]) -> Table:
    heads = (
        "env, flag, lanes, reference us, replaced us, limit us, measured us, part of the limit, "
        "min..max, over reference"
    )
    table = _table("One flag alone, random legal play, same-step reset; CPU a step", heads, left=2)
    for r in rows:
        every = r["share_of_limit_all"]
        table.add_row(
            *(r["env"], r["flag"] + (", noisy" if r["noisy"] else ""), f"{r['num_envs']:,}"),
            *(f"{r[key]:,.1f}" for key in ("reference_us", "replaced_us", "limit_us", "us")),
            *(f"{r['share_of_limit']:.2f}", f"{min(every):.2f}..{max(every):.2f}"),
            f"{r['over_reference']:.2f}",
        )
    return table


def _bar_table(judged: list[dict[str, Any]], title: str) -> Table:
    table = _table(title, "bar, asked, measured, min..max, wall steps/s, pass")
    for bar in judged:
        if bar["measured"] is None:
            table.add_row(bar["what"], bar["asked"], bar["reason"], "-", "-", "not measured here")
            continue
        every, wall, share = bar["all"], bar["wall"], "share" in bar["what"]
        table.add_row(
            *(bar["what"], bar["asked"], _shown(bar["measured"], share)),
            f"{_shown(min(every), share)}..{_shown(max(every), share)}" if every else "-",
            "-" if wall is None else f"{wall:,.0f}",
            ("yes" if bar["pass"] else "NO") + (", noisy" if bar["noisy"] else ""),
        )
    return table


def _shown(value: float, share: bool) -> str:
    if share:
        return f"{value:.1%}"
    return f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"


def _trainer_table(rows: list[dict[str, Any]]) -> Table:
    r = rows[0]
    title = (
        f"Trainers in turns: {r['env']}, {r['num_envs']} lanes, net {r['net_arch']} "
        f"{r['activation']}, {r['epochs']} epochs, minibatches of {r['minibatch']:,}, "
        f"{r['torch_threads']} thread; medians of {r['repeats']}"
    )
    table = _table(title, "trainer, precision, steps/s, per CPU-s, times sb3, min..max", left=2)
    for r in rows:
        every = r["ratio_per_cpu_s_all"]
        table.add_row(
            *(r["trainer"], r["precision"] + (", noisy" if r["noisy"] else "")),
            *(f"{r[key]:,.0f}" for key in ("steps_per_s", "steps_per_cpu_s")),
            *(f"{r['ratio_per_cpu_s']:.2f}", f"{min(every):.2f}..{max(every):.2f}"),
        )
    return table


def _timed_table(rows: list[dict[str, Any]]) -> Table:
    heads = (
        "what, trainer, env, precision, lanes, T, minibatch, epochs, threads, steps/s, per CPU-s, "
        "env %"
    )
    table = _table("Trainers, by what is timed; rows of one kind in turns; medians", heads, left=4)
    for r in rows:
        sizes = ("num_envs", "rollout_steps", "minibatch", "epochs", "torch_threads")
        table.add_row(
            ", ".join([r["mode"], *([r["waiting"]] if "waiting" in r else [])])
            + (", noisy" if r["noisy"] else ""),
            *(r["trainer"], r["env"], r["precision"]),
            *(f"{r[key]:,}" for key in sizes),
            *(f"{r[key]:,.0f}" for key in ("steps_per_s", "steps_per_cpu_s")),
            f"{r['share_env']:.1%}" if "share_env" in r else "",
        )
    return table


def _split_line(row: dict[str, Any]) -> str:
    parts = ", ".join(f"{name} {us:.2f}" for name, us in row["us_per_step"].items())
    return f"{row['mode']}, epochs {row['epochs']}, microseconds a step: {parts}"


def _config_table(rows: list[dict[str, Any]], steps: int, repeats: int, games: int) -> Table:
    title = (
        f"Stock MaskablePPO (hierarchical: our trainer), {steps:,} timed steps, medians of "
        f"{repeats}; points: whole games against 3 x rule_medium ({games})"
    )
    heads = (
        "config, steps/s, collect/s, update/s, env/s, env %, net %, update %, CPU us, RSS MB, "
        "points before, after"
    )
    table = _table(title, heads)
    for r in rows:
        if r["status"] != "measured":
            table.add_row(r["config"], *["-"] * 11)
            table.caption = f"{r['config']}: {r['status']}"
            continue
        speeds = ("steps_per_s", "collect_steps_per_s", "update_steps_per_s")
        shares = ("share_env", "share_forward", "share_update")
        points = (r["points_before"], r["points_after"])
        table.add_row(
            r["config"],
            *(f"{r[key]:,.0f}" for key in (*speeds, "env_only_steps_per_s")),
            *(f"{r[key] * 100:.1f}" for key in shares),
            f"{r['cpu_seconds_per_step'] * 1e6:,.0f}",
            f"{r['peak_rss_mb']:,.0f}",
            *("-" if p is None else f"{p:.0f}" for p in points),
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
