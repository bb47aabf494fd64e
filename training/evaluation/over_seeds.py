"""Trainings that differ in their seed alone, and what a few such figures say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from training.evaluation.bootstrap import LEVEL, Interval
from training.players.trained import Trained, load
from training.run import registry, trainers
from training.run.folder import RunFolder
from training.run.jsonl import read_lines
from training.run.options import require


def parse_seeds(text: str, at_least: int = 1) -> tuple[int, ...]:
    """Return the seeds of ``--seeds``, such as ``7,19,31``.

    Raises
    ------
    ConfigError
        If they are not different numbers, or fewer than ``at_least``.
    """
    parts = text.split(",")
    seeds = [int(part) for part in parts if part.strip().isdecimal()]
    plain = at_least <= len(seeds) == len(set(seeds)) == len(parts)
    many = "" if at_least == 1 else f"at least {at_least} "
    require(plain, "--seeds", text, f"{many}different numbers, separated by commas")
    return tuple(seeds)


def train_to_end(run: RunFolder, resume: bool = False) -> tuple[Trained, dict[str, Any]]:
    """Train a run to its end and read what it came to.

    Parameters
    ----------
    run : RunFolder
    resume : bool
        Go on from its newest checkpoint; a run that has ended is not trained again.

    Returns
    -------
    trained : Trained
        Its newest checkpoint.
    record : dict
        Seed, run, checkpoint, decisions and seconds of training, by the clock and of all cores
        together, for a report.

    Raises
    ------
    KeyboardInterrupt
        If it was told to stop.
    """
    trainer = trainers.get_module(run.config.trainer)
    train = registry.FUNCTIONS.load("train")
    outcome = train(run, trainer.make_lanes(run.config), resume)
    if not outcome.finished:
        raise KeyboardInterrupt
    trained = load(run)
    return trained, {
        "seed": run.config.seed,
        "run": run.name,
        "run_dir": str(run.path),
        "checkpoint": trained.path.name,
        "steps": trained.steps,
        "wall_s": outcome.wall_s,
        "core_s": list(seconds_of(run).values())[-1]["cpu_s"],
    }


def seconds_of(run: RunFolder) -> dict[int, dict[str, float]]:
    """Return the seconds of training at the end of each iteration, by decisions.

    ``cpu_s`` are those of all cores together, without what lies between two iterations.
    """
    found: dict[int, dict[str, float]] = {}
    steps, cpu = 0, 0.0
    for record in read_lines(run.metrics):
        if not all(
            type(record.get(name)) in (int, float) for name in ("step", "sps_cpu", "wall_s")
        ):
            continue
        cpu += (record["step"] - steps) / (record["sps_cpu"] or math.inf)
        steps = record["step"]
        found[steps] = {"wall_s": record["wall_s"], "cpu_s": cpu}
    return found


def over_seeds(
    values: Sequence[float],
    least: float = -math.inf,
    most: float = math.inf,
    shared: Sequence[float] = (),
) -> Interval:
    """Return the mean over training seeds with its 95 % interval; NaN bounds for one seed.

    The spread over seeds, by Student's t, does not show what the deals or episodes do to the mean
    that all trainings have been evaluated on: there they err together, so that more seeds do not
    help. With ``shared`` that is added, as one training alone errs: squares of half widths add up.

    NaN, if it is among the values, is what all of them come to.

    Parameters
    ----------
    values : sequence of float
        One of each seed.
    least, most : float
        What a mean can be; the interval ends there.
    shared : sequence of float
        Half widths of the 95 % intervals of the values over the deals or episodes that all
        trainings have played; none where each has played others.
    """
    x = np.asarray(values, np.float64)
    mean, n = float(x.mean()), len(x)
    if n == 1 or math.isnan(mean):
        return Interval(mean, np.nan, np.nan)
    half = _student(n - 1) * float(x.std(ddof=1)) / n**0.5
    if len(shared):
        half = math.hypot(half, math.sqrt(float(np.mean(np.square(shared)))))
    return Interval(mean, max(least, mean - half), min(most, mean + half))


def half_width(interval: Sequence[float | None]) -> float:
    """Return half the width of an interval as value, low and high; NaN if it is not known."""
    _, low, high = interval
    return math.nan if low is None or high is None else (high - low) / 2


def _student(freedom: int) -> float:
    """Return the ``t`` that Student's distribution stays within with probability ``LEVEL``."""
    from scipy.special import stdtrit  # takes a while to import, and few commands need it

    return float(stdtrit(freedom, (1 + LEVEL) / 2))
