"""Trainings that differ in their seed or their options: their lengths, costs and checkpoints.

Trainings of equal time have as many decisions for each variant as its speed makes in the seconds.
One that is cut off when its time is over has not come to the end of its schedules. So the speed of
each variant is measured first, in a short training of its own, and its length follows.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fastenv.errors import ConfigError
from training.players.trained import TrainedAgent, load
from training.run import registry
from training.run.config import RunConfig
from training.run.envs import make_lanes
from training.run.folder import RunFolder
from training.run.jsonl import read_lines
from training.run.options import require

MOST_SECONDS = 60_000_000  # two years; no training is as long, and its decisions are countable
ITERATIONS = 9  # of a measurement; the first, which compiles, does not move their median


@dataclass(frozen=True)
class Training:
    """One of several trainings.

    Parameters
    ----------
    variant : str
    config : RunConfig
        Name and seed included.
    command : str
        The command that trains it alone.
    """

    variant: str
    config: RunConfig
    command: str


def parse_seeds(text: str, at_least: int = 1) -> tuple[int, ...]:
    """Parse the seeds of ``--seeds``, such as ``7,19,31``.

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


def train_or_resume(
    root: Path, config: RunConfig
) -> tuple[RunFolder, TrainedAgent, dict[str, Any]]:
    """Train a run to its end, going on where it was if it has begun.

    Parameters
    ----------
    root : Path
        Folder of the runs.
    config : RunConfig

    Returns
    -------
    run : RunFolder
    trained : TrainedAgent
    record : dict
        See :func:`train_to_end`.

    Raises
    ------
    ConfigError, RunError
        See :func:`find_begun`.
    KeyboardInterrupt
        If it was told to stop.
    """
    begun = find_begun(root, config)
    run = RunFolder.create(root, config) if begun is None else begun
    return run, *train_to_end(run, resume=begun is not None)


def train_to_end(run: RunFolder, resume: bool = False) -> tuple[TrainedAgent, dict[str, Any]]:
    """Train a run to its end and load its newest checkpoint.

    Parameters
    ----------
    run : RunFolder
    resume : bool
        Go on from its newest checkpoint; a run that has ended is not trained again.

    Returns
    -------
    trained : TrainedAgent
        Its newest checkpoint.
    record : dict
        Seed, run, checkpoint, decisions and seconds of training, by the clock and of all cores
        together, for a report.

    Raises
    ------
    KeyboardInterrupt
        If it was told to stop.
    """
    train = registry.FUNCTIONS.load("train")
    outcome = train(run, make_lanes(run.config), resume)
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
    """Read the seconds of training at the end of each iteration, by decisions.

    ``cpu_s`` are those of all cores together, without what lies between two iterations.
    """
    seconds: dict[int, dict[str, float]] = {}
    steps, cpu = 0, 0.0
    for record in read_lines(run.metrics):
        if not all(
            type(record.get(name)) in (int, float) for name in ("step", "sps_cpu", "wall_s")
        ):
            continue
        cpu += (record["step"] - steps) / (record["sps_cpu"] or math.inf)
        steps = record["step"]
        seconds[steps] = {"wall_s": record["wall_s"], "cpu_s": cpu}
    return seconds


def settings(config: RunConfig) -> dict[str, Any]:
    """Return the options that a variant has with every seed."""
    return {k: value for k, value in config.to_dict().items() if k not in ("name", "seed")}


def find_begun(root: Path, config: RunConfig) -> RunFolder | None:
    """Find the folder of a run that has begun; None for one that has not.

    Raises
    ------
    ConfigError, RunError
        If it was begun with other options, its length included: schedules depend on it.
    """
    path = root / str(config.name)
    if not path.exists():
        return None
    run = RunFolder.open(path)
    steps = run.config.total_steps
    if steps != config.total_steps:
        raise ConfigError(
            f"{path} was begun with total_steps={steps}, not {config.total_steps}: "
            "choose another --name."
        )
    run.continue_with(config)
    return run


# -- equal time ------------------------------------------------------------------------------------


def fit_to_time(trainings: Sequence[Training], seconds: float, root: Path) -> list[Training]:
    """Set the lengths of trainings so that each takes so many seconds of a core.

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
            speed = _measure_speed(each, root)
            rollout = each.config.rollout  # whole ones, of one at least
            lengths[each.variant] = rollout * max(1, round(speed * seconds / rollout))
            words = f"{each.variant}: {speed:,.0f} decisions a second of a core"
            print(f"{words}, {lengths[each.variant]:,} in {seconds:g} s", file=sys.stderr)
    fitted = []
    for each in trainings:
        steps = lengths[each.variant]
        command = f"{each.command} --total-steps={steps}"
        config = each.config.replace(total_steps=steps)
        fitted.append(replace(each, config=config, command=command))
    return fitted


def _measure_speed(training: Training, root: Path) -> float:
    """Measure the decisions of a training for each second of a core."""
    config = training.config.replace(
        name=f"{str(training.config.name).removesuffix(f'-{training.config.seed}')}-speed",
        total_steps=ITERATIONS * training.config.rollout,
    )
    run, *_ = train_or_resume(root, config)
    return statistics.median(record["sps_cpu"] for record in read_lines(run.metrics))
