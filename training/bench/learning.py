"""What a training brought for its time and its decisions, with its noise; and what it used.

The reward of a rollout is the mean reward of its decisions. A training is its rollouts: how long it
had trained when each began, after how many decisions, and what it brought.
"""

from __future__ import annotations

import math
import os
import resource
import shutil
import statistics
import subprocess
import threading
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil

from training.bench.timing import children_cpu_s
from training.evaluation.intervals import student_quantile

GOALS = Path(__file__).with_name("rewards.toml")
WINDOW = 8192  # decisions whose mean reward is to reach the goal
HOUR, MILLION = 3600.0, 1e6


class Estimate(NamedTuple):
    """A value and its noise.

    Parameters
    ----------
    value : float
    noise : float or None
        Half of its 95 % interval, by Student's t; None if it cannot be told.
    """

    value: float
    noise: float | None

    @property
    def is_noise(self) -> bool:
        """Whether its noise is larger than the value, or unknown."""
        return self.noise is None or self.noise > abs(self.value)


class Curve(NamedTuple):
    """A training, rollout by rollout.

    Parameters
    ----------
    steps, seconds : sequence of float
        Decisions and seconds of training before each rollout.
    rewards : sequence of float
        Mean reward of a decision in it.
    """

    steps: Sequence[float]
    seconds: Sequence[float]
    rewards: Sequence[float]


def find_goal(env: str) -> float | None:
    """Find the reward that is to be reached in an environment; None where none is fixed."""
    goals = tomllib.loads(GOALS.read_text(encoding="utf-8"))["reward"]
    return None if env not in goals else float(goals[env])


def fit_slope(x: Sequence[float], y: Sequence[float]) -> Estimate:
    """Fit a line by least squares; return its slope, with the noise from the residuals.

    Two points have a slope without a noise that could be told.
    """
    from scipy.stats import linregress  # takes a while to import, and few commands need it

    if len(set(x)) < 2:
        return Estimate(math.nan, None)
    fit = linregress(x, y)
    freedom = len(x) - 2
    return Estimate(fit.slope, student_quantile(freedom) * fit.stderr if freedom else None)


def combine(estimates: Sequence[Estimate]) -> Estimate:
    """Combine the estimates of repeats: their mean, with the larger of two noises.

    One is the noise of the mean by how far the repeats lie apart, one by the noise within each.
    """
    values = [each.value for each in estimates]
    mean, count = statistics.fmean(values), len(values)
    noises = []
    if count > 1:
        error = statistics.stdev(values) / math.sqrt(count)
        noises.append(student_quantile(count - 1) * error)
    within = [each.noise for each in estimates if each.noise is not None]
    if len(within) == count:
        noises.append(math.sqrt(sum(noise**2 for noise in within)) / count)
    return Estimate(mean, max(noises, default=None))


def find_time(curve: Curve, goal: float) -> float | None:
    """Find the seconds until the mean reward of the newest decisions reaches a goal.

    None if it never did, or if the training has fewer decisions than the mean is of.
    """
    steps, rewards = np.asarray(curve.steps), np.asarray(curve.rewards)
    if len(steps) < 2:
        return None
    size = float(steps[1] - steps[0])
    width = max(1, math.ceil(WINDOW / size))
    if len(rewards) < width:
        return None
    means = np.convolve(rewards, np.full(width, 1 / width), mode="valid")
    (reached,) = np.nonzero(means >= goal)
    return float(curve.seconds[width - 1 + reached[0]]) if reached.size else None


def describe(curve: Curve, goal: float | None) -> dict[str, Any]:
    """Describe what a training brought, as fields of its repeat."""
    hour = fit_slope(curve.seconds, curve.rewards)
    million = fit_slope(curve.steps, curve.rewards)
    return {
        "reward_before": curve.rewards[0],
        "reward_after": curve.rewards[-1],
        "reward_per_hour": HOUR * hour.value,
        "reward_per_hour_noise": None if hour.noise is None else HOUR * hour.noise,
        "reward_per_million": MILLION * million.value,
        "reward_per_million_noise": None if million.noise is None else MILLION * million.noise,
        "seconds_to_goal": None if goal is None else find_time(curve, goal),
        "trained_s": curve.seconds[-1],
    }


def describe_speed(
    steps: int, seconds: Mapping[str, float], parts: Mapping[str, float], use: Use
) -> dict[str, Any]:
    """Describe how fast a training was and what it used, as fields of its repeat.

    Parameters
    ----------
    steps : int
        Decisions.
    seconds : mapping of str to float
        ``wall`` and ``cpu`` seconds of all, wall seconds of ``collect`` and ``update``.
    parts : mapping of str to float
        Wall seconds of the parts that have a share.
    use : Use
    """
    return {
        "steps_per_s": steps / seconds["wall"],
        "steps_per_cpu_s": steps / seconds["cpu"],
        "collect_steps_per_s": steps / seconds["collect"],
        "update_steps_per_s": steps / seconds["update"],
        **{f"share_{name}": part / seconds["wall"] for name, part in parts.items()},
        "cpu_seconds_per_step": seconds["cpu"] / steps,
        "cpu_share": use.cpu_share,
        "gpu_share": use.gpu_share,
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def summarise(repeats: Sequence[dict[str, Any]], goal: float | None) -> dict[str, Any]:
    """Summarise what repeats brought: means with their noise, and the median time to the goal."""
    summary: dict[str, Any] = {"goal": goal, "repeats_at_goal": None, "seconds_to_goal": None}
    for name in ("reward_per_hour", "reward_per_million"):
        measured = [each for each in repeats if each.get(name) is not None]
        if len(measured) < len(repeats):
            summary |= {name: None, f"{name}_noise": None}
            continue
        both = combine([Estimate(each[name], each.get(f"{name}_noise")) for each in measured])
        summary |= {name: both.value, f"{name}_noise": both.noise}
    if goal is not None and summary["reward_per_hour"] is not None:
        times = [each["seconds_to_goal"] for each in repeats if each["seconds_to_goal"] is not None]
        summary["repeats_at_goal"] = len(times)
        if 2 * len(times) > len(repeats):  # the median of all, where the others took longer
            every = sorted([*times, *[math.inf] * (len(repeats) - len(times))])
            middle = statistics.median(every)
            summary["seconds_to_goal"] = middle if math.isfinite(middle) else None
    return summary


# -- what it used ----------------------------------------------------------------------------------


class Use:
    """Measures the share of all cores, and of the GPU, that is used inside a ``with``.

    Parameters
    ----------
    gpu : bool
        Ask ``nvidia-smi``, which has to be there, ten times a second.

    Attributes
    ----------
    cpu_share : float
        CPU time of this process and its children, over the time of all cores it may use.
    gpu_share : float or None
        Mean utilisation that was told; None without a GPU.
    """

    def __init__(self, *, gpu: bool) -> None:
        self._gpu = gpu
        self.cpu_share = math.nan
        self.gpu_share: float | None = None
        self._told: list[float] = []
        self._asking: subprocess.Popen[str] | None = None

    def __enter__(self) -> Use:
        """Begin."""
        if self._gpu and shutil.which("nvidia-smi"):
            command = ["nvidia-smi", "--query-gpu=utilization.gpu", "-lms", "100", "-i", "0"]
            command += ["--format=csv,noheader,nounits"]
            self._asking = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            self._thread = threading.Thread(target=self._listen, daemon=True)
            self._thread.start()
        self._wall, self._cpu = time.perf_counter(), _count_cpu_s()
        return self

    def __exit__(self, *_: object) -> None:
        """End, and compute the shares."""
        wall = time.perf_counter() - self._wall
        self.cpu_share = (_count_cpu_s() - self._cpu) / (wall * count_cores())
        if self._asking is not None:
            self._asking.terminate()
            self._asking.wait()
            self._thread.join()
            if self._asking.stdout is not None:
                self._asking.stdout.close()
            if self._told:
                self.gpu_share = statistics.fmean(self._told) / 100

    def _listen(self) -> None:
        assert self._asking is not None
        for line in self._asking.stdout or ():
            if line.strip().isdecimal():
                self._told.append(float(line))


def count_cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _count_cpu_s() -> float:
    """Count the CPU seconds of this process and of its children, those that ended too."""
    times = psutil.Process().cpu_times()
    own = times.user + times.system + times.children_user + times.children_system
    return float(own) + children_cpu_s()
