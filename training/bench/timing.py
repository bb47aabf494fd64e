"""Repeated timings that can be trusted on a shared machine: wall and CPU time, interleaved."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from training import machine

NOISE = 0.10


@dataclass(frozen=True)
class Sample:
    """One repeat.

    Parameters
    ----------
    steps : int
    wall_s, cpu_s : float
        CPU time is that of the process, all threads together.
    load_before, load_after : float
    """

    steps: int
    wall_s: float
    cpu_s: float
    load_before: float
    load_after: float

    @property
    def per_s(self) -> float:
        """Steps a second of wall time."""
        return self.steps / self.wall_s

    @property
    def per_cpu_s(self) -> float:
        """Steps a second of CPU time."""
        return self.steps / self.cpu_s


@dataclass(frozen=True)
class Work:
    """Something to time.

    Parameters
    ----------
    run : callable
        The timed part; takes ``steps`` steps.
    steps : int
    prepare : callable, optional
        Runs before each ``run``, not timed.
    """

    run: Callable[[], None]
    steps: int
    prepare: Callable[[], None] | None = None


def interleaved(works: Mapping[str, Work], repeats: int, seconds: float) -> dict[str, list[Sample]]:
    """Time several works in turns, so that a slow minute of the machine hits all of them.

    Each is run once before, untimed. A repeat lasts at least ``seconds`` of timed work.
    """
    for work in works.values():
        _once(work)
    samples: dict[str, list[Sample]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            samples[name].append(_repeat(work, seconds))
    return samples


def _once(work: Work) -> tuple[float, float]:
    if work.prepare is not None:
        work.prepare()
    wall, cpu = time.perf_counter(), time.process_time()
    work.run()
    return time.perf_counter() - wall, time.process_time() - cpu


def _repeat(work: Work, seconds: float) -> Sample:
    before, steps, wall, cpu = machine.load(), 0, 0.0, 0.0
    while wall < seconds:
        more = _once(work)
        steps, wall, cpu = steps + work.steps, wall + more[0], cpu + more[1]
    return Sample(steps, wall, cpu, before, machine.load())


def summary(samples: list[Sample], threads: int = 1) -> dict[str, Any]:
    """Return medians, all values, load and whether the machine was busy with something else."""
    wall = [s.per_s for s in samples]
    cpu = [s.per_cpu_s for s in samples]
    cores = machine.physical_cores()
    loaded = max(max(s.load_before, s.load_after) for s in samples) > cores
    idle = threads == 1 and any(abs(s.wall_s / s.cpu_s - 1) > NOISE for s in samples)
    return {
        "steps_per_s": statistics.median(wall),
        "steps_per_cpu_s": statistics.median(cpu),
        "steps_per_s_all": wall,
        "steps_per_cpu_s_all": cpu,
        "repeats": len(samples),
        "seconds": [round(s.wall_s, 3) for s in samples],
        # about the number of threads, unless they waited or something else had the cores
        "cores_used": round(statistics.median(s.cpu_s / s.wall_s for s in samples), 3),
        "load": [samples[0].load_before, samples[-1].load_after],
        "noisy": loaded or idle,
    }
