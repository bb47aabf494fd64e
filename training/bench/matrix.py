"""Run ``training benchmark matrix``: cells, each in fresh processes, and their summary.

The best trainer cells must also learn as well as the default, in trainings of a fixed length over
several seeds. ``args`` are the options of that command throughout.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
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
from training.run.config import BACKENDS
from training.run.config_files import merge, parse_assignments
from training.run.folder import RunFolder
from training.run.jsonl import read_lines

START_S = 8.0  # imports, compilation and recording of a fresh process
PRECISIONS = ("fp32", "bf16", "fp16")
RUN_LIMIT_S = 3600.0
SHORT = {  # names of factors in ids; others stand there by their value alone
    "num_envs": "ne",
    "env_threads": "et",
    "rollout_steps": "rs",
    "minibatches": "mb",
    "epochs": "ue",
}
ENV_FACTORS = ("backend", "num_envs", "env_threads")


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

    def knobs(self) -> dict[str, Any]:
        """Return the settings without the mode."""
        knobs = asdict(self)
        del knobs["mode"]
        return knobs


def product(modes: Sequence[str], factors: Mapping[str, Sequence[Any]]) -> list[Cell]:
    """Return all combinations of all factors for each mode, each once."""
    cells = []
    for mode in modes:
        names = ENV_FACTORS if mode == "env_only" else tuple(factors)
        combinations = itertools.product(*(factors[name] for name in names))
        cells += [Cell(mode, **dict(zip(names, c, strict=True))) for c in combinations]
    return list(dict.fromkeys(cells))


def default_of(factors: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Return the usual value of each factor if it is listed, else the first that is."""
    return {n: FACTORS[n] if FACTORS[n] in v else v[0] for n, v in factors.items()}


def one_at_a_time(modes: Sequence[str], factors: Mapping[str, Sequence[Any]]) -> list[Cell]:
    """Return the default of each mode, and the cells that differ from it in one factor."""
    default = default_of(factors)
    cells = product(modes, {name: [value] for name, value in default.items()})
    for name, values in factors.items():
        cells += product(modes, {n: values if n == name else [v] for n, v in default.items()})
    return list(dict.fromkeys(cells))


def order(cells: Sequence[Cell], repeats: int, seed: int) -> list[tuple[Cell, int]]:
    """Return every run: all cells once in random order, then all again, and so on.

    A machine that slows down over the hour slows all cells alike.
    """
    rng = random.Random(seed)
    runs = []
    for repeat in range(repeats):
        runs += [(cell, repeat) for cell in rng.sample(list(cells), len(cells))]
    return runs


# -- figures ---------------------------------------------------------------------------------------


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


def mode_summary(
    cells: Sequence[dict[str, Any]], mode: str, safety: float, target: float
) -> dict[str, Any]:
    """Return the verdict on a mode, with the floor that later runs can be held to.

    Parameters
    ----------
    cells : sequence of dict
    mode : str
    safety : float
        Share of the best cell's slowest repeat that is recommended as a floor.
    target : float
        Steps per second.
    """
    top = ranked(cells, mode)[:3]
    summary: dict[str, Any] = {
        "successful_candidates": sum(c["mode"] == mode and c["status"] == "ok" for c in cells),
        "floor_safety_factor": safety,
        "target_steps_per_sec": target,
    }
    if not top:
        return {
            **summary,
            "best_candidate_id": None,
            "target_attained": False,
            "top_candidates": [],
        }
    best = top[0]
    return {
        **summary,
        "best_candidate_id": best["id"],
        "best_is_stable": best["stable"],
        "best_mean_steps_per_sec": best["mean"],
        "best_interval": best["interval"],
        "best_min_steps_per_sec": best["min"],
        "recommended_floor_steps_per_sec": best["min"] * safety,
        "delta_to_target_steps_per_sec": target - best["mean"],
        "target_attained": best["mean"] >= target,
        "top_candidates": [c["id"] for c in top],
    }


# -- which cells -----------------------------------------------------------------------------------


def chosen_factors(args: argparse.Namespace) -> dict[str, list[Any]]:
    """Return the values of each factor.

    Raises
    ------
    ConfigError
    """
    factors: dict[str, list[Any]] = {}
    words = {"backend": BACKENDS, "precision": PRECISIONS}
    for name in FACTORS:
        flag, text = "--" + name.replace("_", "-"), getattr(args, name)
        if name not in words:
            factors[name] = numbers(flag, text)
            continue
        factors[name] = list(dict.fromkeys(text.split(",")))
        for word in factors[name]:
            if word not in words[name]:
                raise ConfigError(f"{flag} {word!r}: must be among {', '.join(words[name])}.")
    return factors


def gap_of(cell: Cell, env: str, options: dict[str, Any]) -> str | None:
    """Give the reason why a cell cannot be measured here, None if it can."""
    if cell.precision not in (None, "fp32"):
        from training.nets import precision  # brings torch

        try:
            precision.check(cell.precision, precision.choose_device("auto"))
        except ConfigError as error:
            return str(error)
    if cell.mode != "env_only":
        assert cell.rollout_steps is not None
        assert cell.minibatches is not None
        rollout = cell.num_envs * cell.rollout_steps
        if rollout % cell.minibatches:
            return f"a rollout of {rollout:,} cannot be cut into {cell.minibatches} minibatches"
    try:
        backend = cell.backend
        fastenv.make_engine(env, 1, backend=backend, **options)
    except BackendUnavailableError as error:
        return " ".join(str(error).split())
    return None


def check(args: argparse.Namespace) -> None:
    """Refuse impossible options."""
    check_numbers(args, repeats=1, check_seeds=1, check_steps=0, budget_seconds=0)
    if not 0 < args.floor_safety_factor <= 1:
        raise ConfigError(
            f"--floor-safety-factor {args.floor_safety_factor}: must be above 0 and at most 1."
        )
    if args.record:
        records.check_clean()
    if args.resume and args.run_id is None:
        raise ConfigError("--resume needs the --run-id of the matrix to resume.")


def design(
    args: argparse.Namespace, modes: Sequence[str], factors: dict[str, list[Any]]
) -> tuple[str, list[Cell]]:
    """Return the kind of design that fits the budget, and its cells."""
    cells = product(modes, factors)
    planned = len(cells) * args.repeats * (START_S + 2 * args.seconds)
    if args.budget_seconds is None or planned <= args.budget_seconds:
        return "full", cells
    return "one factor at a time", one_at_a_time(modes, factors)


# -- running ---------------------------------------------------------------------------------------


def command(args: argparse.Namespace, cell: Cell, seed: int) -> list[str]:
    """Return the command that measures a cell once, without its output options."""
    flags = {
        "modes": cell.mode,
        "env": args.env,
        "backend": cell.backend,
        "num-envs": cell.num_envs,
        "env-threads": cell.env_threads,
        "repeats": 1,
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


def _run(words: Sequence[str]) -> str | None:
    """Run a command in a fresh process; return the last line of its errors, None if it succeeds."""
    how: dict[str, Any] = {"capture_output": True, "text": True, "timeout": RUN_LIMIT_S}
    done = subprocess.run(words, cwd=machine.ROOT, check=False, **how)
    if done.returncode == 0:
        return None
    return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]


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
        output = ["--run-id", path.stem, "--out", str(folder.resolve())]
        failed = _run([*command(args, cell, args.seed + repeat), *output])
        if failed is not None:
            return None, failed.removeprefix("error: ")
    try:
        return json.loads(path.read_text(encoding="utf-8"))["modes"][0], ""
    except (OSError, ValueError, LookupError, TypeError):
        return None, f"{path} is no artefact of the profiler"


def run_all(
    args: argparse.Namespace, cells: Sequence[Cell], folder: Path, console: Console
) -> list[dict[str, Any]]:
    """Measure all cells; return a record of each, in the order of the design."""
    options = dict(parse_assignments(args.set).get("env_options", {}))
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
        entry, error = run_cell(args, cell, repeat, folder)
        if entry is None:
            errors[cell] = error
            console.print(f"{k + 1}/{len(runs)} {cell.id}: {error}")
            continue
        entries[cell].append(entry)
        speed = entry["stats"]["steps_per_s"]["median"]
        console.print(f"{k + 1}/{len(runs)} {cell.id}: {speed:,.0f} steps/s")
    return [
        cell_record(cell, entries[cell], args.repeats, gaps[cell], errors.get(cell))
        for cell in cells
    ]


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
    cell_fields = {"id": cell.id, "mode": cell.mode, **cell.knobs()}
    if error is not None:
        return {**cell_fields, "status": "error", "reason": error}
    if gap is None and not entries:
        gap = "the budget was used up before its turn"
    if gap is not None:
        return {**cell_fields, "status": "skipped", "reason": gap}
    speeds = [entry["stats"]["steps_per_s"]["median"] for entry in entries]
    per_cpu = [entry["stats"]["steps_per_cpu_s"]["median"] for entry in entries]
    short = len(speeds) < repeats
    return {
        **cell_fields,
        "status": "ok",
        "reason": f"{len(speeds)} of {repeats} repeats: the budget was used up" if short else "",
        "ran": entries[0]["ran"],
        "backend_selected": entries[0]["backend_selected"],
        "steps_per_s": speeds,
        "steps_per_cpu_s": per_cpu,
        "noisy": any(entry["noisy"] for entry in entries),
        **figures(speeds, repeats),
    }


def rows_of(cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the measured cells as rows of a record: what ran, and the medians of its speeds."""
    speeds = ("steps_per_s", "steps_per_cpu_s")
    return [
        {"ran": c["ran"], "noisy": c["noisy"], **{k: statistics.median(c[k]) for k in speeds}}
        for c in cells
        if c["status"] == "ok"
    ]


# -- whether a fast setting still learns -----------------------------------------------------------

LATE = 0.75  # of a training: what comes behind it counts


def train_late(
    args: argparse.Namespace, knobs: Mapping[str, Any], folder: Path
) -> list[float | None]:
    """Train a cell with each seed; return the mean return late in each training.

    Each is a fresh process, kept in a folder; one that is there is not run again.

    Parameters
    ----------
    args : Namespace
    knobs : mapping
        ``id`` and settings of the cell.
    folder : Path

    Raises
    ------
    ConfigError
        If a training fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rollout = knobs["num_envs"] * knobs["rollout_steps"]
    values: dict[str, Any] = {
        "env": args.env,
        "total_steps": args.check_steps,
        "torch_threads": args.torch_threads,
        **{name: knobs[name] for name in ENV_FACTORS},
        "ppo": {
            "n_steps": knobs["rollout_steps"],
            "batch_size": rollout // knobs["minibatches"],
            "n_epochs": knobs["epochs"],
            "precision": knobs["precision"],
        },
    }
    returns = []
    for seed in range(args.seed, args.seed + args.check_seeds):
        name = f"{knobs['id']}-s{seed}"
        path, config = folder / name, folder / f"{name}.json"
        if not (path / "summary.json").exists():
            options = merge(parse_assignments(args.set), {**values, "seed": seed})
            files.write_json(config, options)
            words = [sys.executable, "-m", "training.train", "--config", str(config)]
            words += ["--name", name, "--runs", str(folder), "--no-evaluation"]
            failed = _run(words)
            if failed is not None:
                raise ConfigError(f"{shlex.join(words)} failed: {failed}")
        returns.append(late_return(RunFolder.open(path).metrics))
    return returns


def late_return(metrics: Path) -> float | None:
    """Return the mean return of the episodes late in a training, None if none ended then."""
    records = read_lines(metrics)
    late = [r for r in records if r["step"] > LATE * records[-1]["step"] and "episode" in r]
    episodes = sum(r["episode"]["n"] for r in late)
    if not episodes:
        return None
    return sum(r["episode"]["n"] * r["episode"]["return_mean"] for r in late) / episodes


def compare(
    train: Callable[[dict[str, Any]], list[float | None]],
    best: Sequence[dict[str, Any]],
    default: dict[str, Any],
) -> dict[str, Any]:
    """Return the verdict on each of the best cells, and the first stable one that passes.

    Parameters
    ----------
    train : callable
        Trains a cell; see :func:`train_late`.
    best : sequence of dict
        Records of cells, the best first.
    default : dict
        ``id`` and settings of the cell to compare with.
    """
    usual = train(default)
    verdicts: dict[str, dict[str, Any]] = {}
    for cell in best:
        returns = usual if cell["id"] == default["id"] else train(cell)
        ours, theirs = _keep_complete(returns), _keep_complete(usual)
        if ours is None or theirs is None:
            verdicts[cell["id"]] = {"pass": False, "why": "a training had no episode to judge by"}
        else:
            verdicts[cell["id"]] = learns_as_well(ours, theirs)
    passed = (c["id"] for c in best if c["stable"] and verdicts[c["id"]]["pass"])
    return {"default": default["id"], "cells": verdicts, "recommended": next(passed, None)}


def learns_as_well(returns: Sequence[float], default: Sequence[float]) -> dict[str, Any]:
    """Test whether a setting reaches the return of the default within 2 standard errors.

    Parameters
    ----------
    returns, default : sequence of float
        Mean return late in training, one value a seed.
    """
    mean, usual = statistics.fmean(returns), statistics.fmean(default)
    error = math.hypot(_standard_error(returns), _standard_error(default))
    return {
        "returns": list(returns),
        "mean": mean,
        "default_mean": usual,
        "standard_error": error,
        "pass": mean >= usual - 2 * error,
    }


def _keep_complete(returns: Sequence[float | None]) -> list[float] | None:
    """Return the values if none is missing, else None."""
    present = [value for value in returns if value is not None]
    return present if len(present) == len(returns) else None


def _standard_error(values: Sequence[float]) -> float:
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


# -- results ---------------------------------------------------------------------------------------

COLUMNS = (
    "id",
    "mode",
    *FACTORS,
    "status",
    "mean",
    "min",
    "max",
    "sd",
    "stable",
    "noisy",
    "reason",
)


def summarise(
    cells: Sequence[dict[str, Any]], modes: Sequence[str], args: argparse.Namespace
) -> dict[str, Any]:
    """Return ``summary``, ``mode_summaries`` and ``gaps`` of a matrix."""
    per_mode = {
        mode: mode_summary(cells, mode, args.floor_safety_factor, args.target_steps_per_sec)
        for mode in modes
    }
    counts = {s: sum(c["status"] == s for c in cells) for s in ("ok", "skipped", "error")}
    gaps = [{"id": c["id"], "reason": c["reason"]} for c in cells if c["reason"]]
    missed = [mode for mode, summary in per_mode.items() if not summary["target_attained"]]
    passed = not counts["error"] and not (args.enforce_target and missed)
    return {
        "summary": {
            "pass": passed and not (args.fail_on_gap and gaps),
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


def show(matrix: dict[str, Any], console: Console) -> None:
    """Print a matrix."""
    title = f"matrix {matrix['run_id']}: {matrix['design']}"
    modes = matrix["mode_summaries"]
    console.print(matrix_table(title, [ranked(matrix["cells"], mode) for mode in modes]))
    for mode, best in matrix["mode_summaries"].items():
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
    learning = matrix["learning"]
    if learning is not None:
        console.print(f"recommended for training: {learning['recommended'] or 'none of the best'}")
    elif "trainer" in matrix["mode_summaries"]:
        console.print("recommended for training: none, learning was not checked")


def measure(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Run a matrix; return the content of ``matrix.json``.

    Raises
    ------
    ConfigError
        Bad options, or a run of that name is there already.
    """
    check(args)
    modes, factors = chosen_modes(args.modes), chosen_factors(args)
    options = parse_assignments(args.set).get("env_options", {})
    fastenv.make_engine(args.env, 1, backend="reference", **options)
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
    cells_found = run_all(args, cells, folder / "cells", console)
    matrix = {
        **profile.make_head(run_id, {k: str(v) for k, v in vars(args).items()}),
        "kind": "matrix",
        "design": kind,
        "default": default_of(factors),
        **summarise(cells_found, modes, args),
        "cells": cells_found,
        "learning": learned(
            args, cells_found, Cell("trainer", **default_of(factors)), folder, console
        ),
    }
    files.write_csv(folder / "matrix.csv", cells_found, COLUMNS)
    files.write_json(folder / "matrix.json", matrix)
    return matrix


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
    options = dict(parse_assignments(args.set).get("env_options", {}))
    if gap_of(default, args.env, options) is not None:
        return {"default": default.id, "recommended": None, "why": "the default cannot be trained"}
    train = partial(train_late, args, folder=(folder / "learning").resolve())
    verdicts = compare(train, best, {"id": default.id, **default.knobs()})
    for name, verdict in verdicts["cells"].items():
        judgement = "learns as well as the default" if verdict["pass"] else "does not learn as well"
        console.print(f"{name}: {judgement}")
    return {"steps": args.check_steps, **verdicts}


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
        kept = records.keep("matrix.json", matrix, matrix, rows_of(matrix["cells"]))
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
        words = command(args, cell, args.seed)
        words[words.index("--repeats") + 1] = str(args.repeats)
        words += ["--target-steps-per-sec", str(floor), "--enforce-target"]
        run_id = f"{profile.new_run_id(machine.revision()['git_rev'])}-gate-{mode}"
        words += ["--run-id", run_id, "--out", str(args.out.resolve())]
        done = subprocess.run(words, cwd=machine.ROOT, timeout=RUN_LIMIT_S, check=False)
        console.print(f"{cell.id}: {'holds' if done.returncode == 0 else 'FAILS'}")
        status = max(status, done.returncode)
    return status
