"""Trainings of equal time: as many decisions for each variant as its speed makes in the seconds.

A training that is cut off when its time is over has not come to the end of its schedules. So the
speed of each variant is measured first, in a short training of its own, and its length follows.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from training.evaluation.comparison import Training, find_begun
from training.evaluation.over_seeds import train_to_end
from training.run.config import RunConfig
from training.run.folder import RunFolder
from training.run.jsonl import read_lines
from training.run.options import require

MOST_SECONDS = 60_000_000  # two years; no training is as long, and its decisions are countable
ITERATIONS = 9  # of a measurement; the first, which compiles, does not move their median


def fit_to_time(trainings: Sequence[Training], seconds: float, root: Path) -> list[Training]:
    """Return the trainings with the lengths that take so many seconds of a core.

    Each variant is measured in a run beside its trainings, which is kept: the next call finds the
    same speed, so that an interrupted comparison goes on.

    Parameters
    ----------
    trainings : sequence of Training
        Their lengths do not matter.
    seconds : float
        CPU time between the first iteration and the last.
    root : Path
        Folder of the runs.

    Raises
    ------
    ConfigError
        For seconds that are none, or a trainer whose iterations differ in what they do.
    """
    allowed = f"more than 0 and at most {MOST_SECONDS:,}"
    require(0 < seconds <= MOST_SECONDS, "--core-seconds", seconds, allowed)
    for each in trainings:
        words = "one whose iterations all do the same with --core-seconds"
        require(each.config.EQUAL_ITERATIONS, "trainer", each.config.trainer, words)
    lengths: dict[str, int] = {}
    for each in trainings:
        if each.variant not in lengths:
            speed = _speed(each, root)
            lengths[each.variant] = count_decisions(each.config, speed, seconds)
            words = f"{each.variant}: {speed:,.0f} decisions a second of a core"
            print(f"{words}, {lengths[each.variant]:,} in {seconds:g} s", file=sys.stderr)
    return [_with_length(each, lengths[each.variant]) for each in trainings]


def count_decisions(config: RunConfig, speed: float, seconds: float) -> int:
    """Return the decisions of whole iterations that come nearest to the time; at least one's."""
    return config.rollout * max(1, round(speed * seconds / config.rollout))


def _speed(training: Training, root: Path) -> float:
    """Return the decisions of a training for each second of a core."""
    config = training.config.replace(
        name=f"{str(training.config.name).removesuffix(f'-{training.config.seed}')}-speed",
        total_steps=ITERATIONS * training.config.rollout,
    )
    run = find_begun(root, config)
    there = run is not None
    run = run if run is not None else RunFolder.create(root, config)
    train_to_end(run, resume=there)
    return statistics.median(record["sps_cpu"] for record in read_lines(run.metrics))


def _with_length(training: Training, steps: int) -> Training:
    """Return a training of another length."""
    config = training.config.replace(total_steps=steps)
    return replace(training, config=config, command=f"{training.command} --total-steps={steps}")
