"""The environment alone: what ``python -m training.profile --modes env_only`` measures."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import fastenv
from fastenv.gameboy import GameBoyGame
from fastenv.gameboy.tables import CLOCK, FRAME
from training.bench import gameboy, ran
from training.bench.play import METHOD_SINGLE, Playback, single_env_work
from training.bench.timing import Sample, Work, interleaved, noisy, rss_mb, spread

PIECE_STEPS = 1 << 18  # of a compiled backend: a good tenth of a second
SLOW_PIECE_STEPS = 1 << 10  # of one that steps in Python
FRAMES_A_SECOND = CLOCK / FRAME  # of the console
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


@dataclass
class Ready:
    """A plan that can be timed.

    Parameters
    ----------
    plan : EnvPlan
    work : Work
    engine : BatchEngine
    backend : str
        As selected.
    ticks_per_step : float
    method : str
    ran : dict
        See :mod:`training.bench.ran`.
    built_s : float
        Seconds of building it: compilation, recording, spreading of the lanes.
    """

    plan: EnvPlan
    work: Work
    engine: fastenv.BatchEngine
    backend: str
    ticks_per_step: float
    method: str
    ran: ran.Ran
    built_s: float


def prepare(plan: EnvPlan) -> Ready:
    """Make everything that is not timed.

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
        engine, ticks, method = about["engine"], about["ticks_per_step"], METHOD_SINGLE
        described = about["ran"]
    else:
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
        work, engine, method = play.work(), play.engine, play.method
        ticks, described = play.ticks_per_step(), play.ran()
    built_s = time.perf_counter() - begin
    return Ready(plan, work, engine, engine.backend, ticks, method, described, built_s)


def env_only(
    plans: Mapping[str, EnvPlan], repeats: int, seconds: float, memory: bool = True
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

    Returns
    -------
    dict
        Name to an entry of ``modes`` of an artefact.
    """
    ready = {name: prepare(plan) for name, plan in plans.items()}
    first: dict[str, float] = {}
    found = interleaved({n: r.work for n, r in ready.items()}, repeats, seconds, first)
    return {
        name: _entry(one, found[name], one.built_s + first[name], memory)
        for name, one in ready.items()
    }


def _entry(
    ready: Ready, samples: Sequence[Sample], warmup_s: float, memory: bool
) -> dict[str, Any]:
    plan = ready.plan
    return {
        "mode": "env_only",
        "ran": ready.ran,
        "env": plan.env,
        "options": dict(plan.options),
        "workload": plan.workload,
        "single": plan.single,
        "backend_requested": plan.backend,
        "backend_selected": ready.backend,
        "num_envs": 1 if plan.single else plan.num_envs,
        "num_threads": plan.num_threads,
        "info_columns": None if plan.info_columns is None else list(plan.info_columns),
        "method": ready.method,
        **measured(samples, ready.ticks_per_step, plan.num_threads == 1),
        "phases_us_per_step": {},
        "alloc": memory_pass(ready.work) if memory else {},
        "warmup_s": round(warmup_s, 3),
        **frames(ready, samples),
    }


def frames(ready: Ready, samples: Sequence[Sample]) -> dict[str, Any]:
    """Return what an entry of the Game Boy has beside: ``frames``, and nothing for other games."""
    if not isinstance(ready.engine.game, GameBoyGame):
        return {}
    found = gameboy.figures(ready.engine, ready.plan.seed)
    each = found["frames_per_step"]
    a_second = spread([s.per_s * each for s in samples])
    found |= {
        "frames_per_s": a_second,
        "frames_per_cpu_s": spread([s.per_cpu_s * each for s in samples]),
        "realtime_factor": a_second["median"] / FRAMES_A_SECOND,
    }
    return {"frames": found}


def measured(
    samples: Sequence[Sample], ticks_per_step: float | None, single_thread: bool
) -> dict[str, Any]:
    """Return the part of an entry that every mode has: repeats and their statistics.

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
