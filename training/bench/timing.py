"""Repeated timings that can be trusted on a shared machine: wall and CPU time, interleaved."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil

from training.run import machine
from training.run.jsonl import JsonLines

NOISE = 0.10
TURNS = 2  # of a repeat at least, where works take turns piece by piece


@dataclass(frozen=True)
class Sample:
    """One repeat.

    Parameters
    ----------
    steps : int
    wall_s, cpu_s : float
        CPU time is that of the process, all threads together.
    load_before, load_after : float
    pieces : tuple of (int, float, float)
        Steps, wall and CPU time of each piece of work (an iteration of a trainer) in it.
    rss_mb : float
        Memory of the process behind it.
    """

    steps: int
    wall_s: float
    cpu_s: float
    load_before: float
    load_after: float
    pieces: tuple[tuple[int, float, float], ...] = ()
    rss_mb: float = 0.0

    @property
    def per_s(self) -> float:
        """Steps a second of wall time."""
        return self.steps / self.wall_s

    @property
    def per_cpu_s(self) -> float:
        """Steps a second of CPU time."""
        return self.steps / self.cpu_s

    def record(self) -> dict[str, Any]:
        """Return the sample as an entry of ``repeats`` in an artefact."""
        return {
            "steps": self.steps,
            "wall_s": round(self.wall_s, 6),
            "cpu_s": round(self.cpu_s, 6),
            "steps_per_s": self.per_s,
            "steps_per_cpu_s": self.per_cpu_s,
            "rss_mb": round(self.rss_mb, 1),
            "load_before": self.load_before,
            "load_after": self.load_after,
        }


class Spent(NamedTuple):
    """Wall and CPU seconds of a piece of work, as another process has measured them."""

    wall_s: float
    cpu_s: float


@dataclass(frozen=True)
class Work:
    """A work: a piece to time, and the steps that it takes.

    Parameters
    ----------
    run : callable
        The timed part; takes ``steps`` steps. What it did elsewhere it returns as :class:`Spent`.
    steps : int
    prepare : callable, optional
        Runs before each ``run``, not timed.
    row : callable, optional
        Returns, behind it, what its row says besides the figures: ``ran`` and more.
    threads : int
        That do the work.
    """

    run: Callable[[], object]
    steps: int
    prepare: Callable[[], None] | None = None
    row: Callable[[], dict[str, Any]] = dict
    threads: int = 1


def interleaved(
    works: Mapping[str, Work],
    repeats: int,
    seconds: float,
    warmup_s: dict[str, float] | None = None,
    turn: Callable[[], object] | None = None,
) -> dict[str, list[Sample]]:
    """Time several works in turns, so that a slow minute of the machine hits all of them.

    Each is run once before, outside of all figures. A repeat lasts at least ``seconds`` of timed
    work. With ``turn``, works take turns piece by piece, and a repeat lasts as long of the first.

    Parameters
    ----------
    works : mapping of str to Work
    repeats : int
    seconds : float
    warmup_s : dict, optional
        Takes in how long each first run was.
    turn : callable, optional
        Is called before the pieces of each turn, not timed.
    """
    if turn is not None:
        turn()
    for name, work in works.items():
        first = _run_once(work)
        if warmup_s is not None:
            warmup_s[name] = first[0]
    samples: dict[str, list[Sample]] = {name: [] for name in works}
    for repeat in range(1, repeats + 1):
        if turn is not None:
            timed = iter(_time_turns(works, seconds, turn))
        for name, work in works.items():
            sample = _time_repeat(work, seconds) if turn is None else next(timed)
            samples[name].append(sample)
            keep_row({"kind": "repeat", "name": name, "repeat": repeat, **sample.record()})
            tell_repeat(repeat, repeats, name, sample.per_s)
    return samples


def rows(
    works: Mapping[str, Work],
    repeats: int,
    seconds: float,
    turn: Callable[[], object] | None = None,
) -> list[dict[str, Any]]:
    """Time several works in turns; return a row each: its name, its own fields, the figures.

    Parameters as of :func:`interleaved`.
    """
    samples = interleaved(works, repeats, seconds, turn=turn)
    every = [
        {"name": name} | work.row() | summary(samples[name], work.threads)
        for name, work in works.items()
    ]
    for row in every:
        keep_row(row)
    return every


def _run_once(work: Work) -> tuple[float, float]:
    if work.prepare is not None:
        work.prepare()
    wall, cpu = time.perf_counter(), time.process_time()
    spent = work.run()
    if isinstance(spent, Spent):
        return spent
    return time.perf_counter() - wall, time.process_time() - cpu


def _time_turns(
    works: Mapping[str, Work], seconds: float, turn: Callable[[], object]
) -> list[Sample]:
    """Time a repeat of each work, a piece of each in turn."""
    before, wall = machine.load(), 0.0
    pieces: list[list[tuple[int, float, float]]] = [[] for _ in works]
    while len(pieces[0]) < TURNS or wall < seconds:
        turn()
        for done, work in zip(pieces, works.values(), strict=True):
            done.append((work.steps, *_run_once(work)))
        wall += pieces[0][-1][1]
    return [sample(done, before) for done in pieces]


def _time_repeat(work: Work, seconds: float) -> Sample:
    before, wall = machine.load(), 0.0
    pieces = []
    while wall < seconds:
        pieces.append((work.steps, *_run_once(work)))
        wall += pieces[-1][1]
    return sample(pieces, before)


def sample(pieces: Sequence[tuple[int, float, float]], load_before: float) -> Sample:
    """Return the repeat that is made up of these pieces and has just ended.

    Parameters
    ----------
    pieces : sequence of (int, float, float)
        Steps, wall and CPU time of each.
    load_before : float
    """
    steps, wall, cpu = (sum(column) for column in zip(*pieces, strict=True))
    cpu = max(cpu, 1e-9)  # the clock of the process may not have ticked
    return Sample(steps, wall, cpu, load_before, machine.load(), tuple(pieces), rss_mb())


def rss_mb() -> float:
    """Return the memory of this process in MiB."""
    return psutil.Process().memory_info().rss / 2**20


def children_cpu_s() -> float:
    """Return the CPU seconds of the processes that this one has started and that still run."""
    used = 0.0
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it ended meanwhile
            used += sum(child.cpu_times()[:2])
    return used


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return ``min``, ``median``, ``mean``, ``max`` and ``p95`` (linear between neighbours)."""
    return {
        "min": float(min(values)),
        "median": float(statistics.median(values)),
        "mean": float(statistics.fmean(values)),
        "max": float(max(values)),
        "p95": float(np.percentile(values, 95)),
    }


def noisy(samples: Sequence[Sample], single_thread: bool = True) -> bool:
    """Tell whether the machine was busy with something else.

    Either the load was above the number of cores, or, where one thread did everything, wall and
    CPU time of a repeat differ by more than ten per cent.
    """
    loaded = max(max(s.load_before, s.load_after) for s in samples) > machine.physical_cores()
    waited = single_thread and any(abs(s.wall_s / s.cpu_s - 1) > NOISE for s in samples)
    return loaded or waited


def summary(samples: Sequence[Sample], threads: int = 1) -> dict[str, Any]:
    """Return medians, all values, load and whether the machine was busy with something else."""
    wall = [s.per_s for s in samples]
    cpu = [s.per_cpu_s for s in samples]
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
        "noisy": noisy(samples, threads == 1),
    }


# -- the progress of a measurement: a line a repeat, and its rows on the disk ----------------------


_keeping: list[Callable[[dict[str, Any]], None]] = []  # rows of the measurement that goes on


@contextmanager
def written_to(path: Path, head: dict[str, Any]) -> Iterator[None]:
    """Print repeats, and write rows to a file as soon as they are measured.

    Parameters
    ----------
    path : Path
        Replaced with the first row. What was measured stays there if the measurement is stopped.
    head : dict
        The first row.
    """
    file: JsonLines | None = None

    def keep(row: dict[str, Any]) -> None:
        nonlocal file
        if file is None:
            path.unlink(missing_ok=True)
            file = JsonLines(path)
            file.write(head)
        file.write(row)

    _keeping.append(keep)
    try:
        yield
    finally:
        _keeping.remove(keep)
        if file is not None:
            file.close()


def keep_row(row: dict[str, Any]) -> None:
    """Write a row that was measured."""
    if _keeping:
        _keeping[-1](row)


def tell_repeat(repeat: int, repeats: int, name: str, per_s: float) -> None:
    """Print the speed of a work in a repeat.

    Parameters
    ----------
    repeat, repeats : int
        Which one of how many, from 1 on.
    name : str
    per_s : float
        Steps a second.
    """
    if _keeping:
        text = f"{name}, repeat {repeat} of {repeats}: {per_s:,.0f} steps a second"
        print(text, file=sys.stderr, flush=True)
