"""Benchmarks of the environment alone: plans, and entries of their figures."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import fastenv
from training.bench import ran
from training.bench.play import METHOD_SINGLE, Playback, single_env_work
from training.bench.timing import Sample, Work, interleaved, noisy, rss_mb, spread

PIECE_STEPS = 1 << 18  # of a compiled backend: a good tenth of a second
SLOW_PIECE_STEPS = 1 << 10  # of one that steps in Python
REFERENCE_LANES = 64  # its speed does not depend on their number


@dataclass(frozen=True)
class EnvPlan:
    """What to measure.

    Parameters
    ----------
    env : str
    options : mapping
    num_envs, num_threads : int
    backend : str
        As asked for.
    workload : str
    info_columns : tuple of str or None
        None: those of the game.
    single : bool
        One environment through Gymnasium's ``step`` instead of a batch.
    stagger : int
        See :class:`Playback`.
    seed : int
    batches : int or None
        Batch steps of a piece of work (steps, if ``single``); None fits them to backend and lanes.
    """

    env: str
    options: Mapping[str, Any] = field(default_factory=dict)
    num_envs: int = 512
    num_threads: int = 1
    backend: str = "auto"
    workload: str = "masked_uniform"
    info_columns: tuple[str, ...] | None = None
    single: bool = False
    stagger: int = 65
    seed: int = 0
    batches: int | None = None

    @property
    def piece(self) -> int:
        """Batch steps of a piece of work."""
        if self.batches is not None:
            return self.batches
        slow = self.backend != "fast"
        if self.backend == "auto":
            slow = fastenv.make_engine(self.env, 1, **self.options).backend != "fast"
        if self.single:
            return 300 if slow else 3000
        steps = SLOW_PIECE_STEPS if slow else PIECE_STEPS
        return min(max(steps // self.num_envs, 16), 1024)


@dataclass(frozen=True)
class Ready:
    """A plan that can be timed.

    Parameters
    ----------
    plan : EnvPlan
    work : Work
    engine : BatchEngine
    ticks : callable
        Returns how many ticks of the game a step takes on average.
    method : str
    ran : dict
        See :mod:`training.bench.ran`.
    built_s : float
        Seconds of building it: compilation, recording, spreading of the lanes.
    """

    plan: EnvPlan
    work: Work
    engine: fastenv.BatchEngine
    ticks: Callable[[], float]
    method: str
    ran: ran.Ran
    built_s: float

    def about(self) -> dict[str, Any]:
        """Describe the plan for a row or an entry, without figures."""
        plan = self.plan
        return {
            "ran": self.ran,
            "env": plan.env,
            "options": dict(plan.options),
            "workload": plan.workload,
            "single": plan.single,
            "num_envs": 1 if plan.single else plan.num_envs,
            "num_threads": plan.num_threads,
            "info_columns": None if plan.info_columns is None else list(plan.info_columns),
            "method": self.method,
        }

    def for_row(self, beside: str | None = None, **fields: Any) -> Work:
        """Return the work with the fields of its row.

        Parameters
        ----------
        beside : str, optional
            What it is compared with in the same turns, where that tells it from other figures.
        **fields
            More of the row.
        """
        row = {"kind": "env", "what": "batch", **self.about(), "backend": self.engine.backend}
        if beside is not None:
            row["ran"] = self.ran | {"beside": beside}
        return replace(self.work, row=lambda: row | fields, threads=self.plan.num_threads)


def prepare(plan: EnvPlan) -> Ready:
    """Prepare all of a plan that is not timed.

    Raises
    ------
    ConfigError
        A workload that makes no sense here, or what the environment refuses.
    BackendUnavailableError
    """
    begin = time.perf_counter()
    chosen: dict[str, Any] = {
        "workload": plan.workload,
        "info_columns": plan.info_columns,
        "seed": plan.seed,
    }
    if plan.single:
        work, about = single_env_work(plan.env, plan.backend, plan.piece, plan.options, **chosen)
        engine, method, described = about["engine"], METHOD_SINGLE, about["ran"]
        about_single = engine, lambda: about["ticks_per_step"], method, described
        return Ready(plan, work, *about_single, time.perf_counter() - begin)
    play = Playback(
        plan.env,
        plan.num_envs,
        plan.piece,
        plan.options,
        backend=plan.backend,
        num_threads=plan.num_threads,
        stagger=plan.stagger,
        **chosen,
    )
    built_s = time.perf_counter() - begin
    about_play = play.engine, play.ticks_per_step, play.method, play.ran()
    return Ready(plan, play.work(), *about_play, built_s)


def env_only(
    plans: Mapping[str, EnvPlan],
    repeats: int,
    seconds: float,
    memory: bool = True,
    more: Callable[[Ready, Sequence[Sample]], dict[str, Any]] | None = None,
) -> dict[str, dict[str, Any]]:
    """Measure several plans in turns.

    Parameters
    ----------
    plans : mapping of str to EnvPlan
    repeats : int
    seconds : float
        Timed work of a repeat, at least.
    memory : bool
        Look for growing memory in a pass of its own, behind all timing.
    more : callable, optional
        Returns what a game adds to an entry.

    Returns
    -------
    dict
        Name to an entry of ``modes`` of an artefact.
    """
    ready = {name: prepare(plan) for name, plan in plans.items()}
    first: dict[str, float] = {}
    samples = interleaved({n: r.work for n, r in ready.items()}, repeats, seconds, first)
    return {
        name: _make_entry(one, samples[name], one.built_s + first[name], memory)
        | (more(one, samples[name]) if more else {})
        for name, one in ready.items()
    }


def _make_entry(
    ready: Ready, samples: Sequence[Sample], warmup_s: float, memory: bool
) -> dict[str, Any]:
    plan = ready.plan
    return {
        "mode": "env_only",
        **ready.about(),
        "backend_requested": plan.backend,
        "backend_selected": ready.engine.backend,
        **measured(samples, ready.ticks(), plan.num_threads == 1),
        "phases_us_per_step": {},
        "alloc": memory_pass(ready.work) if memory else {},
        "warmup_s": round(warmup_s, 3),
    }


def measured(
    samples: Sequence[Sample], ticks_per_step: float | None, single_thread: bool
) -> dict[str, Any]:
    """Make the part of an entry that every mode has: repeats and their statistics.

    Parameters
    ----------
    samples : sequence of Sample
    ticks_per_step : float or None
        None if nobody counted them.
    single_thread : bool
        See :func:`noisy`.
    """
    speeds = [s.per_s for s in samples]
    iterations = [steps / wall for s in samples for steps, wall, _ in s.pieces]
    stats = {
        "steps_per_s": spread(speeds),
        "steps_per_cpu_s": spread([s.per_cpu_s for s in samples]),
        "iteration_steps_per_s": spread(iterations),
        "wall_s": spread([s.wall_s for s in samples]),
        "cpu_s": spread([s.cpu_s for s in samples]),
    }
    if ticks_per_step is not None:
        stats["ticks_per_s"] = spread([speed * ticks_per_step for speed in speeds])
    return {
        "repeats": [s.record() for s in samples],
        "stats": stats,
        "ticks_per_step": ticks_per_step,
        "iterations": len(iterations),
        "noisy": noisy(samples, single_thread),
    }


def medians(entry: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of an entry by their medians, as a row has them."""
    figures = {name: entry["stats"][name]["median"] for name in ("steps_per_s", "steps_per_cpu_s")}
    if "share_env" in entry:
        figures["share_env"] = entry["share_env"]["median"]
    return figures


def memory_pass(work: Work) -> dict[str, Any]:
    """Run a piece of work under ``tracemalloc``, which slows it several times: never timed.

    Returns
    -------
    dict
        ``rss_growth_mb`` of two untraced pieces, ``python_growth_bytes`` and
        ``python_peak_bytes`` of a traced one.
    """
    prepare = work.prepare or (lambda: None)
    gc.collect()
    before = rss_mb()
    for _ in range(2):
        prepare()
        work.run()
    gc.collect()
    grown = rss_mb() - before
    prepare()
    tracemalloc.start()
    try:
        work.run()  # fills caches of the interpreter that a traced run meets empty
        prepare()
        start, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        work.run()
        end, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return {
        "rss_growth_mb": round(grown, 3),
        "python_growth_bytes": end - start,
        "python_peak_bytes": peak - start,
    }
