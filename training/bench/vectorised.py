"""Ways to play many environments side by side: the batch engine and Gymnasium's vector classes.

Every way is created with a number of environments, reset and warmed up; what grows in a run is
looked at before the timing, in whose repeats the ways take turns. A decision may last several
frames (``tau``), which need not be simulated one by one: decisions a second are the figure to
compare. CPU time is that of all processes together: ``AsyncVectorEnv`` plays in others, which use
every core.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import psutil
from rich.console import Console

import fastenv
from fastenv.errors import ConfigError
from fastenv.registry import short_id
from training.bench import ran, records
from training.bench.choices import check_numbers
from training.bench.tables import vectorised_table
from training.bench.targets import Row
from training.bench.timing import children_cpu_s, rss_mb, spread
from training.run import files, machine
from training.run.config_files import parse_assignments

WAYS = ("engine", "sync", "async")
ACTIONS = "random"  # of those that are feasible
WARMUP = 8  # batch steps
CPU_OF = "all processes"  # records without it have the CPU time of the first process alone
REPEATED = (
    *("fps_total", "fps_per_env", "dps_total", "dps_per_env", "avg_tau"),
    *("env_step_ms_mean", "env_step_ms_p50", "env_step_ms_p95"),
    *("batch_wall_ms_mean", "batch_wall_ms_p50", "batch_wall_ms_p95"),
    *("action_selection_ms", "info_extraction_ms", "harness_share", "dps_per_cpu_s"),
)


@dataclass(frozen=True)
class Plan:
    """The options that all cells have in common.

    Parameters
    ----------
    env : str
    options : dict
    steps : int
        Batch steps of a repeat.
    repeats : int
    seed : int
    """

    env: str
    options: dict[str, Any]
    steps: int = 64
    repeats: int = 3
    seed: int = 0


def rows(plan: Plan, ways: Sequence[str], sizes: Sequence[int]) -> list[Row]:
    """Measure a row for each way and number of environments.

    Speed-ups are those over one environment of the same way, NaN-free: None where 1 is not among
    the sizes.
    """
    measured = [row for n in sizes for row in cells(plan, ways, n)]
    measured.sort(key=lambda row: ways.index(row["vectorisation"]))
    alone = {row["vectorisation"]: row["fps_total"] for row in measured if row["num_envs"] == 1}
    for row in measured:
        base = alone.get(row["vectorisation"])
        row["speedup"] = None if base is None else row["fps_total"] / base
        row["efficiency"] = None if base is None else row["speedup"] / row["num_envs"]
    return measured


def make(plan: Plan, way: str, n: int) -> Any:
    """Return ``n`` environments of a way, as a vector environment."""
    if way == "engine":
        return fastenv.make_vec(plan.env, n, num_threads=1, **plan.options)

    def one() -> gymnasium.Env[Any, Any]:
        return fastenv.make(plan.env, **plan.options)

    kind = {"sync": gymnasium.vector.SyncVectorEnv, "async": gymnasium.vector.AsyncVectorEnv}[way]
    return kind([one] * n)


def cells(plan: Plan, ways: Sequence[str], n: int) -> list[dict[str, Any]]:
    """Measure ways with ``n`` environments each, repeat by repeat in turns.

    So a slow moment of the machine meets all of them, and repeats can be compared.
    """
    before = len(psutil.Process().children())
    rows: list[Row] = []
    with ExitStack() as stack:
        steppers = []
        for way in ways:
            vec, create_s = _time(partial(make, plan, way, n))
            stack.callback(vec.close)
            stepper = VectorStepper(vec, plan)
            described = ran_of(vec, plan, way)
            _, reset_s = _time(stepper.reset)
            _, warmup_s = _time(partial(stepper.step, WARMUP))
            blocks, memory = _measure_memory()
            stepper.step(plan.steps)  # not timed: what it leaves behind
            after_blocks, after_memory = _measure_memory()
            rows.append(
                {
                    "kind": "vectorised",
                    "ran": described,
                    "vectorisation": way,
                    "env": short_id(plan.env),
                    "options": plan.options,
                    "actions": ACTIONS,
                    "num_envs": n,
                    "steps": plan.steps,
                    "repeats": plan.repeats,
                    "env_create_s": create_s,
                    "reset_s": reset_s,
                    "warmup_s": warmup_s,
                    "leaked_blocks": after_blocks - blocks,
                    "rss_growth_mb": round(after_memory - memory, 3),
                }
            )
            steppers.append(stepper)
        turns = [[each.step(plan.steps) for each in steppers] for _ in range(plan.repeats)]
    left = len(psutil.Process().children()) - before
    for row, repeats in zip(rows, zip(*turns, strict=True), strict=True):
        for name in REPEATED:
            values = [each[name] for each in repeats]
            row[name] = statistics.fmean(values)
            row[f"{name}_std"] = statistics.pstdev(values)
        row |= {"steps_per_s": row["dps_total"], "steps_per_cpu_s": row["dps_per_cpu_s"]}
        row |= {
            "cpu_of": CPU_OF,
            "steps_per_cpu_s_all": [each["dps_per_cpu_s"] for each in repeats],
        }
        row["left_processes"] = left
    return rows


def ran_of(vec: Any, plan: Plan, way: str) -> ran.Ran:
    """Describe the environments of a cell; those of ``async`` are in processes of their own."""
    engine = vec.engine if way == "engine" else fastenv.make(plan.env, **plan.options).engine
    adapter = {"engine": "make_vec", "sync": "SyncVectorEnv", "async": "AsyncVectorEnv"}[way]
    how: dict[str, Any] = {"workload": f"{ACTIONS} feasible", "batch_steps": plan.steps}
    return ran.describe_engine(engine, "step and infos", adapter=adapter, **how) | {
        "num_envs": vec.num_envs
    }


def _time(call: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.perf_counter()
    return call(), time.perf_counter() - begin


def _measure_memory() -> tuple[int, float]:
    """Measure the memory that Python and the process hold: blocks, and MiB."""
    gc.collect()
    return sys.getallocatedblocks(), rss_mb()


class VectorStepper:
    """Steps a vector environment by its masks, with a clock around each part of a step.

    Parameters
    ----------
    vec : gymnasium.vector.VectorEnv
    plan : Plan
    """

    def __init__(self, vec: Any, plan: Plan) -> None:
        self._vec, self._plan = vec, plan
        self._rng = np.random.default_rng(plan.seed)
        self._mask = np.zeros(0, np.uint8)

    def reset(self) -> None:
        """Start an episode everywhere."""
        _, infos = self._vec.reset(seed=self._plan.seed)
        self._mask = np.asarray(infos["action_mask"])

    def step(self, steps: int) -> dict[str, float]:
        """Take batch steps and return their figures; see ``REPEATED``."""
        clocks = np.zeros((steps, 4))
        others = children_cpu_s()  # outside of the time: to look for them takes milliseconds
        frames, cpu = 0, time.process_time()
        for i in range(steps):
            clocks[i, 0] = time.perf_counter()
            actions = fastenv.sample_legal(self._mask, self._rng).astype(np.int64)
            clocks[i, 1] = time.perf_counter()
            *_, infos = self._vec.step(actions)
            clocks[i, 2] = time.perf_counter()
            self._mask = np.asarray(infos["action_mask"])
            frames += int(np.asarray(infos["tau"]).sum())
            clocks[i, 3] = time.perf_counter()
        cpu = time.process_time() - cpu
        cpu = max(cpu + children_cpu_s() - others, 1e-9)
        return self._compute_figures(clocks, frames, cpu)

    def _compute_figures(self, clocks: np.ndarray, frames: int, cpu: float) -> dict[str, float]:
        n, steps = self._vec.num_envs, len(clocks)
        select, step, extract = np.diff(clocks, axis=1).T * 1e3
        batch = (clocks[:, 3] - clocks[:, 0]) * 1e3
        wall, decisions = batch.sum() / 1e3, steps * n
        figures = {
            "fps_total": frames / wall,
            "fps_per_env": frames / wall / n,
            "dps_total": decisions / wall,
            "dps_per_env": decisions / wall / n,
            "avg_tau": frames / decisions,
            "action_selection_ms": float(select.mean()),
            "info_extraction_ms": float(extract.mean()),
            "harness_share": float(1 - step.sum() / batch.sum()),
            "dps_per_cpu_s": decisions / cpu,
        }
        for name, values in (("env_step_ms", step), ("batch_wall_ms", batch)):
            shown = spread(values.tolist())
            figures |= {f"{name}_{key}": shown[of] for key, of in _SHOWN}
        return figures


_SHOWN = (("mean", "mean"), ("p50", "median"), ("p95", "p95"))


def run(args: argparse.Namespace, console: Console) -> int:
    """Compare the ways by the options of a command line; return the exit status.

    Raises
    ------
    ConfigError
    """
    check_numbers(args, steps=1, repeats=1, seed=0)
    if min(args.num_envs) < 1:
        raise ConfigError(f"--num-envs {min(args.num_envs)}: must be at least 1.")
    if args.out is not None:
        files.prepare("--out", args.out)
    if args.record:
        records.check_clean()
    options = parse_assignments(args.set)
    plan = Plan(args.env, options, args.steps, args.repeats, args.seed)
    begin = records.head()
    measured = rows(plan, args.ways, args.num_envs)
    begin["load_after"] = machine.load()
    console.print(vectorised_table(measured))
    best = max(measured, key=lambda row: float(row["dps_total"]))
    kept = ("vectorisation", "num_envs", "dps_total")
    summary = {"best": {name: best[name] for name in kept}}
    arguments = {**vars(args), "out": None if args.out is None else str(args.out)}
    record = {**begin, "arguments": arguments, "summary": summary, "rows": measured}
    if args.record:
        records.keep(f"vectorised-{measured[0]['env']}.json", record, begin, measured)
    if args.out is not None:
        files.write_json(args.out, record)
        files.write_csv(args.out.with_suffix(".csv"), measured, [*measured[0]])
    return 0
