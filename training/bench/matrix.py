"""Run ``training benchmark matrix``: cells, each in fresh processes, and their summary.

A cell is one setting of one mode of the profiler, which measures it. The best trainer cells must
also learn as well as the default, in trainings of a fixed length over several seeds. ``args`` are
the options of that command throughout.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

import fastenv
from fastenv.errors import BackendUnavailableError, ConfigError
from training.bench import profile, records
from training.bench.choices import FACTORS, check_numbers
from training.bench.env_modes import check_workload
from training.bench.profile import chosen_modes, numbers
from training.bench.tables import matrix_table
from training.bench.timing import NOISE
from training.evaluation.intervals import over_seeds
from training.run import files, machine
from training.run.config import BACKENDS, RunConfig
from training.run.config_files import merge, parse_assignments
from training.run.jsonl import read_lines

START_S = 8.0  # imports, compilation and recording of a fresh process
RUN_LIMIT_S = 3600.0
WORDS = {"backend": BACKENDS, "precision": ("fp32", "bf16", "fp16")}  # other factors are numbers
SHORT = {  # names of factors in ids; others stand there by their value alone
    "num_envs": "ne",
    "env_threads": "et",
    "rollout_steps": "rs",
    "minibatches": "mb",
    "epochs": "ue",
}
ENV_FACTORS = ("backend", "num_envs", "env_threads")
COLUMNS = (
    *("id", "mode", *FACTORS, "status"),
    *("mean", "min", "max", "sd", "stable", "noisy", "reason"),
)
LATE = 0.75  # of a training: what comes behind it counts
SEEDS = 3  # of the trainings of a cell
FLOOR = 0.9  # of the lowest repeat of the best cell
Factors = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Cell:
    """One setting of one mode; a factor that the mode does not have is None.

    Parameters
    ----------
    mode : str
    backend : str
    num_envs, env_threads : int
    rollout_steps, minibatches, epochs : int or None
    precision : str or None
    """

    mode: str
    backend: str
    num_envs: int
    env_threads: int
    rollout_steps: int | None = None
    minibatches: int | None = None
    epochs: int | None = None
    precision: str | None = None

    @property
    def id(self) -> str:
        """Name of the cell: mode and settings."""
        values = ((SHORT.get(name, ""), getattr(self, name)) for name in FACTORS)
        return "-".join([self.mode, *(f"{s}{v}" for s, v in values if v is not None)])


# -- which cells -----------------------------------------------------------------------------------


def chosen_factors(args: argparse.Namespace) -> dict[str, list[Any]]:
    """Return the values of each factor.

    Raises
    ------
    ConfigError
    """
    factors: dict[str, list[Any]] = {}
    for name in FACTORS:
        flag, text = "--" + name.replace("_", "-"), getattr(args, name)
        factors[name] = list(dict.fromkeys(text.split(",")))
        if name not in WORDS:
            factors[name] = numbers(flag, text)
            continue
        for word in factors[name]:
            if word not in WORDS[name]:
                raise ConfigError(f"{flag} {word!r}: must be among {', '.join(WORDS[name])}.")
    return factors


def product(modes: Sequence[str], factors: Factors) -> list[Cell]:
    """Return all combinations of all factors for each mode, each once."""
    cells = []
    for mode in modes:
        names = ENV_FACTORS if mode == "env_only" else tuple(factors)
        combinations = itertools.product(*(factors[name] for name in names))
        cells += [Cell(mode, **dict(zip(names, c, strict=True))) for c in combinations]
    return list(dict.fromkeys(cells))


def default_of(factors: Factors) -> dict[str, Any]:
    """Return the usual value of each factor if it is listed, else the first that is."""
    return {n: FACTORS[n] if FACTORS[n] in v else v[0] for n, v in factors.items()}


def one_at_a_time(modes: Sequence[str], factors: Factors) -> list[Cell]:
    """Return the default of each mode, and the cells that differ from it in one factor."""
    default = {name: [value] for name, value in default_of(factors).items()}
    cells = product(modes, default)
    for name, values in factors.items():
        cells += product(modes, {**default, name: values})
    return list(dict.fromkeys(cells))


def design(
    args: argparse.Namespace, modes: Sequence[str], factors: Factors
) -> tuple[str, list[Cell]]:
    """Return the kind of design that fits the budget, and its cells."""
    cells = product(modes, factors)
    planned = len(cells) * args.repeats * (START_S + 2 * args.seconds)
    if args.budget_seconds is None or planned <= args.budget_seconds:
        return "full", cells
    return "one factor at a time", one_at_a_time(modes, factors)


def order(cells: Sequence[Cell], repeats: int, seed: int) -> list[tuple[Cell, int]]:
    """Return every run: all cells once in random order, then all again, and so on.

    A machine that slows down over the hour slows all cells alike.
    """
    rng = random.Random(seed)
    rounds = (rng.sample(list(cells), len(cells)) for _ in range(repeats))
    return [(cell, repeat) for repeat, cells in enumerate(rounds) for cell in cells]


def gap_of(cell: Cell, env: str, options: dict[str, Any]) -> str | None:
    """Give the reason why a cell cannot be measured here, None if it can."""
    if cell.precision not in (None, "fp32"):
        from training.nets import precision  # brings torch

        try:
            precision.check(cell.precision, precision.choose_device("auto"))
        except ConfigError as error:
            return str(error)
    if cell.minibatches is not None:
        rollout = cell.num_envs * (cell.rollout_steps or 0)
        if rollout % cell.minibatches:
            return f"a rollout of {rollout:,} cannot be cut into {cell.minibatches} minibatches"
    try:
        fastenv.make_engine(env, 1, backend=cell.backend, **options)
    except BackendUnavailableError as error:
        return " ".join(str(error).split())
    return None


# -- measuring -------------------------------------------------------------------------------------


def command(args: argparse.Namespace, cell: Cell, seed: int, repeats: int = 1) -> list[str]:
    """Return the command that measures a cell, without its output options."""
    flags = {
        "modes": cell.mode,
        "env": args.env,
        "backend": cell.backend,
        "num-envs": cell.num_envs,
        "env-threads": cell.env_threads,
        "repeats": repeats,
        "seconds": args.seconds,
        "seed": seed,
    }
    assignments = list(args.set)
    if cell.mode == "env_only":
        flags["workload"] = args.workload
    else:
        flags |= {"rollout-steps": cell.rollout_steps, "minibatches": cell.minibatches}
        assignments += [f"ppo.n_epochs={cell.epochs}", f"ppo.precision={cell.precision}"]
        if args.torch_threads is not None:
            flags["torch-threads"] = args.torch_threads
    words = [word for name, value in flags.items() for word in (f"--{name}", str(value))]
    words += [word for text in assignments for word in ("--set", text)]
    return [sys.executable, "-m", "training", "benchmark", "profile", *words]


def run_cell(
    args: argparse.Namespace, cell: Cell, repeat: int, folder: Path
) -> tuple[dict[str, Any] | None, str]:
    """Measure a cell once in a fresh process, or read what an earlier process has measured.

    Returns
    -------
    entry : dict or None
        The entry of ``modes`` of its artefact; None if it failed.
    error : str
        Why it failed.
    """
    path = folder / f"{cell.id}-r{repeat}.json"
    if not path.exists():
        # torch's threads and OpenMP's stay those of the process: each run starts with none
        words = command(args, cell, args.seed + repeat)
        words += ["--run-id", path.stem, "--out", str(folder.resolve())]
        how: dict[str, Any] = {"capture_output": True, "text": True, "timeout": RUN_LIMIT_S}
        done = subprocess.run(words, cwd=machine.ROOT, check=False, **how)
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            return None, said[-1].removeprefix("error: ")
    try:
        return json.loads(path.read_text(encoding="utf-8"))["modes"][0], ""
    except (OSError, ValueError, LookupError, TypeError):
        return None, f"{path} is no artefact of the profiler"


def run_all(
    args: argparse.Namespace, cells: Sequence[Cell], folder: Path, console: Console
) -> list[dict[str, Any]]:
    """Measure all cells; return a record of each, in the order of the design."""
    options = _env_options(args)
    gaps = {cell: gap_of(cell, args.env, options) for cell in cells}
    possible = [cell for cell in cells if gaps[cell] is None]
    entries: dict[Cell, list[dict[str, Any]]] = {cell: [] for cell in cells}
    errors: dict[Cell, str] = {}
    runs, begin = order(possible, args.repeats, args.seed), time.perf_counter()
    for k, (cell, repeat) in enumerate(runs):
        if args.budget_seconds is not None and time.perf_counter() - begin > args.budget_seconds:
            console.print(f"budget used up after {k} of {len(runs)} runs")
            break
        if cell in errors:
            continue
        entry, said = run_cell(args, cell, repeat, folder)
        if entry is None:
            errors[cell] = said
        else:
            entries[cell].append(entry)
            said = f"{entry['stats']['steps_per_s']['median']:,.0f} steps/s"
        console.print(f"{k + 1}/{len(runs)} {cell.id}: {said}")
    return [
        cell_record(cell, entries[cell], args.repeats, gaps[cell], errors.get(cell))
        for cell in cells
    ]


def _env_options(args: argparse.Namespace) -> dict[str, Any]:
    return dict(parse_assignments(args.set).get("env_options", {}))


# -- what was measured -----------------------------------------------------------------------------


def cell_record(
    cell: Cell,
    entries: Sequence[dict[str, Any]],
    repeats: int,
    gap: str | None = None,
    error: str | None = None,
) -> dict[str, Any]:
    """Make the record of a cell: ``status`` is ok, skipped (a gap) or error.

    Parameters
    ----------
    cell : Cell
    entries : sequence of dict
        Of the ``modes`` of its artefacts, one a repeat.
    repeats : int
        That were asked for.
    gap, error : str, optional
        Why it could not be measured; why it failed.
    """
    about = {"id": cell.id, **asdict(cell)}
    if error is not None:
        return {**about, "status": "error", "reason": error}
    if gap is not None or not entries:
        return {
            **about,
            "status": "skipped",
            "reason": gap or "the budget was used up before its turn",
        }
    speeds = [entry["stats"]["steps_per_s"]["median"] for entry in entries]
    short = len(speeds) < repeats
    return {
        **about,
        "status": "ok",
        "reason": f"{len(speeds)} of {repeats} repeats: the budget was used up" if short else "",
        "ran": entries[0]["ran"],
        "backend_selected": entries[0]["backend_selected"],
        "steps_per_s": speeds,
        "steps_per_cpu_s": [entry["stats"]["steps_per_cpu_s"]["median"] for entry in entries],
        "noisy": any(entry["noisy"] for entry in entries),
        **figures(speeds, repeats),
    }


def figures(values: Sequence[float], wanted: int) -> dict[str, Any]:
    """Compute the statistics of a cell's repeats.

    Parameters
    ----------
    values : sequence of float
        Steps per second, at least one.
    wanted : int
        Repeats that were asked for.

    Returns
    -------
    dict
        ``mean``, ``min``, ``max``, ``p50``, ``sd``, ``interval`` (95 % of the mean; None of a
        single repeat) and ``stable``: all repeats are there, deviating by at most a tenth.
    """
    n, mean = len(values), statistics.fmean(values)
    sd = statistics.stdev(values) if n > 1 else None
    return {
        "mean": mean,
        "min": min(values),
        "max": max(values),
        "p50": statistics.median(values),
        "sd": sd,
        "interval": None if sd is None else over_seeds(values).to_list()[1:],
        "stable": n >= wanted and (sd is None or sd <= NOISE * mean),
    }


def ranked(cells: Sequence[dict[str, Any]], mode: str) -> list[dict[str, Any]]:
    """Return the measured cells of a mode: stable ones first, then by mean, the first on ties."""
    measured = [c for c in cells if c["mode"] == mode and c["status"] == "ok"]
    return sorted(measured, key=lambda c: (not c["stable"], -c["mean"]))


def mode_summary(cells: Sequence[dict[str, Any]], mode: str, target: float) -> dict[str, Any]:
    """Return the verdict on a mode, with the floor that later runs can be held to.

    Parameters
    ----------
    cells : sequence of dict
    mode : str
    target : float
        Steps per second.
    """
    measured = ranked(cells, mode)
    summary: dict[str, Any] = {
        "successful_candidates": len(measured),
        "floor_safety_factor": FLOOR,
        "target_steps_per_sec": target,
        "best_candidate_id": None,
        "target_attained": False,
        "top_candidates": [c["id"] for c in measured[:3]],
    }
    if not measured:
        return summary
    best = measured[0]
    return summary | {
        "best_candidate_id": best["id"],
        "best_is_stable": best["stable"],
        "best_mean_steps_per_sec": best["mean"],
        "best_interval": best["interval"],
        "best_min_steps_per_sec": best["min"],
        "recommended_floor_steps_per_sec": best["min"] * FLOOR,
        "delta_to_target_steps_per_sec": target - best["mean"],
        "target_attained": best["mean"] >= target,
    }


def summarise(
    cells: Sequence[dict[str, Any]], modes: Sequence[str], args: argparse.Namespace
) -> dict[str, Any]:
    """Return ``summary``, ``mode_summaries`` and ``gaps`` of a matrix."""
    per_mode = {mode: mode_summary(cells, mode, args.target_steps_per_sec) for mode in modes}
    counts = {s: sum(c["status"] == s for c in cells) for s in ("ok", "skipped", "error")}
    gaps = [{"id": c["id"], "reason": c["reason"]} for c in cells if c["reason"]]
    missed = [mode for mode, summary in per_mode.items() if not summary["target_attained"]]
    failed = counts["error"] or (args.enforce_target and missed)
    return {
        "summary": {
            "pass": not failed,
            "total_candidates": len(cells),
            "successful_candidates": counts["ok"],
            "skipped_candidates": counts["skipped"],
            "error_candidates": counts["error"],
            "mode_target_failures": missed,
            "coverage_pass": not gaps,
        },
        "mode_summaries": per_mode,
        "gaps": gaps,
    }


# -- whether a fast setting still learns -----------------------------------------------------------


def train_late(args: argparse.Namespace, cell: Cell, folder: Path) -> list[float]:
    """Train a cell with each seed; return the mean return late in each training, NaN without one.

    The runs are kept in a folder; one that is there is not trained again.

    Raises
    ------
    ConfigError
        If it cannot be trained.
    """
    from training.evaluation.trainings import train_or_resume  # brings torch

    assert cell.rollout_steps is not None
    assert cell.minibatches is not None
    ppo = {
        "n_steps": cell.rollout_steps,
        "batch_size": cell.num_envs * cell.rollout_steps // cell.minibatches,
        "n_epochs": cell.epochs,
        "precision": cell.precision,
    }
    values = {
        "env": args.env,
        "total_steps": args.check_steps,
        "torch_threads": args.torch_threads,
        **{name: getattr(cell, name) for name in ENV_FACTORS},
        "ppo": ppo,
    }
    returns = []
    for seed in range(args.seed, args.seed + SEEDS):
        own = {**values, "seed": seed, "name": f"{cell.id}-s{seed}"}
        config = RunConfig.from_mapping(merge(parse_assignments(args.set), own))
        run, *_ = train_or_resume(folder, config)
        returns.append(late_return(run.metrics))
    return returns


def late_return(metrics: Path) -> float:
    """Return the mean return of the episodes late in a training, NaN if none ended then."""
    records = read_lines(metrics)
    late = [r for r in records if r["step"] > LATE * records[-1]["step"] and "episode" in r]
    total = sum(r["episode"]["n"] * r["episode"]["return_mean"] for r in late)
    return total / (sum(r["episode"]["n"] for r in late) or math.nan)


def learns_as_well(returns: Sequence[float], default: Sequence[float]) -> dict[str, Any]:
    """Test whether a setting reaches the return of the default within 2 standard errors.

    Parameters
    ----------
    returns, default : sequence of float
        Mean return late in training, one value a seed; NaN where there was no episode.
    """
    both = (returns, default)
    if any(math.isnan(value) for each in both for value in each):
        return {"pass": False, "why": "a training had no episode to judge by"}
    mean, usual = map(statistics.fmean, both)
    errors = (statistics.stdev(v) / math.sqrt(len(v)) if len(v) > 1 else 0.0 for v in both)
    error = math.hypot(*errors)
    return {
        "returns": list(returns),
        "mean": mean,
        "default_mean": usual,
        "standard_error": error,
        "pass": mean >= usual - 2 * error,
    }


def learned(
    args: argparse.Namespace,
    cells: Sequence[dict[str, Any]],
    default: Cell,
    folder: Path,
    console: Console,
) -> dict[str, Any] | None:
    """Let the best three trainer cells and the default learn; None if there is nothing to check."""
    best = ranked(cells, "trainer")[:3]
    if not best or not args.check_steps:
        return None
    if gap_of(default, args.env, _env_options(args)) is not None:
        return {"default": default.id, "recommended": None, "why": "the default cannot be trained"}
    usual, verdicts = train_late(args, default, folder), dict[str, dict[str, Any]]()
    for each in best:
        cell = Cell(**{name: each[name] for name in ("mode", *FACTORS)})
        returns = usual if cell == default else train_late(args, cell, folder)
        verdict = verdicts[cell.id] = learns_as_well(returns, usual)
        judgement = "learns as well as the default" if verdict["pass"] else "does not learn as well"
        console.print(f"{cell.id}: {judgement}")
    passed = (c["id"] for c in best if c["stable"] and verdicts[c["id"]]["pass"])
    recommended = next(passed, None)
    return {
        "steps": args.check_steps,
        "default": default.id,
        "cells": verdicts,
        "recommended": recommended,
    }


# -- the command -----------------------------------------------------------------------------------


def check(args: argparse.Namespace) -> None:
    """Refuse impossible options."""
    check_numbers(args, repeats=1, check_steps=0, budget_seconds=0)
    if args.record:
        records.check_clean()
    if args.resume and args.run_id is None:
        raise ConfigError("--resume needs the --run-id of the matrix to resume.")


def measure(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Run a matrix; return the content of ``matrix.json``.

    Raises
    ------
    ConfigError
        Bad options, or a run of that name is there already.
    """
    check(args)
    modes, factors = chosen_modes(args.modes), chosen_factors(args)
    fastenv.make_engine(args.env, 1, backend="reference", **_env_options(args))
    if "env_only" in modes:
        check_workload(args.env, args.workload)
    run_id = profile.choose_run_id(args.run_id)
    folder = args.out / run_id
    files.prepare("--out", args.out / f"{run_id}.json")
    if folder.exists() and (not args.resume or (folder / "matrix.json").exists()):
        raise ConfigError(f"{folder} is there already: choose another --run-id, or --resume it.")
    kind, cells = design(args, modes, factors)
    (folder / "cells").mkdir(parents=True, exist_ok=True)
    console.print(f"{len(cells)} cells ({kind}), {args.repeats} repeats, in {folder}")
    measured, default = run_all(args, cells, folder / "cells", console), default_of(factors)
    learning = learned(args, measured, Cell("trainer", **default), folder / "learning", console)
    matrix = {
        **profile.make_head(run_id, {k: str(v) for k, v in vars(args).items()}),
        "kind": "matrix",
        "design": kind,
        "default": default,
        **summarise(measured, modes, args),
        "cells": measured,
        "learning": learning,
    }
    files.write_csv(folder / "matrix.csv", measured, COLUMNS)
    files.write_json(folder / "matrix.json", matrix)
    return matrix


def show(matrix: dict[str, Any], console: Console) -> None:
    """Print a matrix."""
    title = f"matrix {matrix['run_id']}: {matrix['design']}"
    modes, learning = matrix["mode_summaries"], matrix["learning"]
    console.print(matrix_table(title, [ranked(matrix["cells"], mode) for mode in modes]))
    for mode, best in modes.items():
        if best["best_candidate_id"] is None:
            console.print(f"{mode}: nothing was measured")
            continue
        stable = "" if best["best_is_stable"] else " (no cell is stable)"
        console.print(
            f"{mode}: {best['best_candidate_id']}{stable}, {best['best_mean_steps_per_sec']:,.0f} "
            f"steps/s; recommended floor {best['recommended_floor_steps_per_sec']:,.0f}; "
            f"{best['best_mean_steps_per_sec'] / best['target_steps_per_sec']:.0%} of "
            f"{best['target_steps_per_sec']:,.0f}"
        )
    for gap in matrix["gaps"]:
        console.print(f"gap: {gap['id']}: {gap['reason']}")
    if learning is not None:
        console.print(f"recommended for training: {learning['recommended'] or 'none of the best'}")
    elif "trainer" in modes:
        console.print("recommended for training: none, learning was not checked")


def run(args: argparse.Namespace, console: Console) -> int:
    """Run a matrix, or hold one to its floors, by the options of a command line; return the status.

    Raises
    ------
    ConfigError
    """
    if args.gate is not None:
        return gate(args, console)
    matrix = measure(args, console)
    show(matrix, console)
    console.print(f"written to {args.out / matrix['run_id']}")
    if args.record:
        speeds = ("steps_per_s", "steps_per_cpu_s")
        rows = [
            {"ran": c["ran"], "noisy": c["noisy"], **{k: statistics.median(c[k]) for k in speeds}}
            for c in matrix["cells"]
            if c["status"] == "ok"
        ]
        kept = records.keep("matrix.json", matrix, matrix, rows)
        console.print(f"it is the record {kept}, and in the history")
    return 0 if matrix["summary"]["pass"] else 1


def gate(args: argparse.Namespace, console: Console) -> int:
    """Measure the best cells of a matrix again; return 1 if one is below its recommended floor.

    Raises
    ------
    ConfigError
        If the file is no matrix, or has no best cell for one of the modes.
    """
    try:
        matrix = json.loads(args.gate.read_text(encoding="utf-8"))
        summaries, cells = matrix["mode_summaries"], {c["id"]: c for c in matrix["cells"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"--gate {args.gate}: is no matrix that was measured.") from error
    status = 0
    for mode in chosen_modes(args.modes):
        best = cells.get(summaries.get(mode, {}).get("best_candidate_id"))
        if best is None:
            raise ConfigError(f"--gate {args.gate}: has no best cell for {mode}.")
        cell = Cell(mode, **{name: best[name] for name in FACTORS})
        floor = summaries[mode]["recommended_floor_steps_per_sec"]
        words = command(args, cell, args.seed, args.repeats)
        words += ["--target-steps-per-sec", str(floor), "--enforce-target"]
        run_id = f"{profile.new_run_id(machine.revision()['git_rev'])}-gate-{mode}"
        words += ["--run-id", run_id, "--out", str(args.out.resolve())]
        done = subprocess.run(words, cwd=machine.ROOT, timeout=RUN_LIMIT_S, check=False)
        console.print(f"{cell.id}: {'holds' if done.returncode == 0 else 'FAILS'}")
        status = max(status, done.returncode)
    return status
