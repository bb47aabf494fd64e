"""The status of a run while it trains: progress, speed and recent records."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import Any, NamedTuple

KEPT = 512  # points of a curve
SMOOTHED, SMOOTHED_LEAST = 0.05, 5  # of the iterations so far, as in the report
NOISES = 10.0  # standard deviations of the noise that a curve is drawn on at least
# Group and name of what is drawn as a curve; heading; format.
CURVES = (
    (("games", "win_rate"), "wins", ".1%"),
    (("episode", "return_mean"), "return", "z.2f"),
    (("rounds", "hit_rate"), "bids made", "z.3f"),
)


class MergedCurve:
    """A curve over a run in at most ``KEPT`` points: when they are full, neighbours are merged."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self._each = 1  # values merged in a point
        self._open: list[float] = []

    def add(self, value: float) -> None:
        """Append a value; what is not finite is left out."""
        if not math.isfinite(value):
            return
        self._open.append(value)
        if len(self._open) < self._each:
            return
        self.values.append(sum(self._open) / self._each)
        self._open.clear()
        if len(self.values) >= KEPT:
            pairs = zip(self.values[::2], self.values[1::2], strict=True)
            self.values = [(a + b) / 2 for a, b in pairs]
            self._each *= 2

    def last(self) -> float:
        """Compute the mean of the last points, those that the report smooths over; NaN if none."""
        values = self.values
        tail = values[-max(SMOOTHED_LEAST, int(SMOOTHED * len(values))) :] or list(self._open)
        return sum(tail) / len(tail) if tail else math.nan

    def resampled(self, columns: int) -> list[float]:
        """Reduce the curve to at most so many means of neighbours."""
        values = list(self.values)
        n = len(values)
        if n <= columns:
            return values
        cuts = [round(k * n / columns) for k in range(columns + 1)]
        return [sum(values[a:b]) / (b - a) for a, b in pairwise(cuts)]

    def smooth(self, columns: int) -> SmoothedCurve:
        """Smooth the curve for a picture of at most so many columns."""
        values = self.resampled(columns)
        beside = max(min(2, len(values) // 8), len(values) // 20)
        smoothed = [fmean(values[max(0, k - beside) : k + beside + 1]) for k in range(len(values))]
        low, high = min(smoothed), max(smoothed)
        middle, span = (low + high) / 2, max(high - low, NOISES * noise(values))
        return SmoothedCurve(
            smoothed, (middle - span / 2, middle + span / 2), (min(values), max(values))
        )


class SmoothedCurve(NamedTuple):
    """A smoothed curve, the span to draw it on, and the lowest and highest value it smooths."""

    values: list[float]
    span: tuple[float, float]
    seen: tuple[float, float]


def noise(values: Sequence[float]) -> float:
    """Estimate the standard deviation around a trend, by the median of differences.

    Parameters
    ----------
    values : sequence of float
        In their order.
    """
    steps = [b - a for a, b in pairwise(values)]
    if not steps:
        return 0.0
    usual = median(steps)
    # 1.4826 makes a deviation of the median one of a normal distribution; a step is two noises.
    return 1.4826 * median(abs(step - usual) for step in steps) / math.sqrt(2.0)


def duration(seconds: float) -> str:
    """Format a time as ``m:ss``, ``h:mm:ss`` or ``d days h:mm``; ``-`` if it is unknown."""
    if not math.isfinite(seconds) or seconds < 0:
        return "-"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} days {hours % 24}:{minute:02d}"
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"


class Status:
    """The status of a run; draws nothing.

    The training writes and the drawing thread reads without a lock: whoever reads a container that
    grows copies it first, which is one step of the interpreter.

    Parameters
    ----------
    name : str
    total : int
        Decisions of the whole run.
    start : int
        Where this process began.
    """

    def __init__(self, name: str, total: int, start: int = 0) -> None:
        self.name, self.total, self.steps = name, max(total, 1), start
        self.record: Mapping[str, Any] = {}
        self.curves = {where: MergedCurve() for where, _, _ in CURVES}
        self.evaluations: deque[Mapping[str, Any]] = deque(maxlen=2)
        self.warnings: deque[str] = deque(maxlen=3)
        self.phases: dict[str, float] = {}
        self.layers: Mapping[str, Any] = {}  # as of the last iteration that looked at them
        self.saved_at: int | None = None
        self._began = time.monotonic()
        self._recent: deque[tuple[float, int]] = deque([(self._began, start)], maxlen=64)
        self._wall = 0.0, self._began  # of the training, and when it was that

    def metrics(self, record: Mapping[str, Any]) -> None:
        """Add an iteration."""
        self.history(record)
        self.at(int(record.get("step", self.steps)))
        for name, value in mapping(record, "phases").items():
            if math.isfinite(seconds := number(value)):
                # Recent iterations count most: the split is steady, and still follows a change.
                self.phases[name] = 0.8 * self.phases.get(name, seconds) + 0.2 * seconds
        train = mapping(record, "train").items()
        wrong = [k for k, v in train if isinstance(v, float) and not math.isfinite(v)]
        if wrong:
            self.warn(f"not finite in iteration {record.get('iter', '?')}: {', '.join(wrong)}")

    def history(self, record: Mapping[str, Any]) -> None:
        """Add an iteration of an earlier process."""
        self.record = record
        self.layers = mapping(mapping(record, "train"), "layers") or self.layers
        if "wall_s" in record:
            self._wall = float(record["wall_s"]), time.monotonic()
        for (group, name), curve in self.curves.items():
            value = mapping(record, group).get(name)
            if isinstance(value, int | float):
                curve.add(float(value))

    def event(self, kind: str, details: Mapping[str, Any]) -> None:
        """Add an event: checkpoints, evaluations and warnings are shown."""
        if kind == "evaluation":
            self.evaluations.append(details)
        elif kind == "warning":
            self.warn(str(details.get("text", "")))
        elif kind == "checkpoint":
            self.saved_at = details.get("step")

    def warn(self, text: str) -> None:
        """Show a warning once; the last few stay."""
        if text not in self.warnings:
            self.warnings.append(" ".join(text.split()))

    def at(self, steps: int) -> None:
        """Set the number of decisions until now."""
        self.steps, now = steps, time.monotonic()
        self.total = max(self.total, steps)  # of whole rollouts
        if len(self._recent) > 2 and now - self._recent[-2][0] < 1.0:
            self._recent[-1] = now, steps
        else:
            self._recent.append((now, steps))

    @property
    def passed_s(self) -> float:
        """Seconds of training, those of earlier processes included."""
        wall, then = self._wall
        return wall + time.monotonic() - then

    @property
    def left_s(self) -> float:
        """Seconds left at the speed of late, pauses included; NaN at the beginning."""
        (began, first), (now, last) = self._recent[0], self._recent[-1]
        if last <= first:
            return math.nan
        waited = time.monotonic() - now
        return max(0.0, (self.total - last) * (now - began) / (last - first) - waited)

    @property
    def done(self) -> float:
        """Share of the run that is done."""
        return min(1.0, self.steps / self.total)

    def line(self) -> str:
        """Describe progress, speed and curves in one line."""
        parts = [f"{self.steps:,} of {self.total:,} decisions ({self.done:.0%})"]
        parts += self.speed()[:1]
        if math.isfinite(self.left_s) and self.done < 1:
            parts.append(f"{duration(self.left_s)} left")
        for where, heading, form in CURVES:
            value = self.curves[where].last()
            if math.isfinite(value):
                parts.append(f"{heading} {value:{form}}")
        return ", ".join(parts)

    def speed(self) -> list[str]:
        """Describe speed, load and memory as far as they are known, the most important first."""
        sps, sps_cpu = (number(self.record.get(key)) for key in ("sps", "sps_cpu"))
        parts = []
        if sps > 0:
            parts.append(f"{sps:,.0f} decisions/s")
        if sps > 0 and sps_cpu > 0:
            parts += [f"{sps_cpu:,.0f} per CPU second", f"{sps / sps_cpu:.1f} cores"]
        rss = number(mapping(self.record, "mem").get("rss_mb"))
        if rss > 0:
            parts.append(f"{rss / 1024:.1f} GiB" if rss >= 1024 else f"{rss:.0f} MiB")
        return parts


# -- parts of a record ----------------------------------------------------------------------------


def first(interval: Any) -> Any:
    """Return the value of an interval, and anything else as it is."""
    is_list = isinstance(interval, Sequence) and not isinstance(interval, str) and interval
    return interval[0] if is_list else interval


def number(value: Any) -> float:
    """Convert a number to float, NaN for anything else."""
    return float(value) if isinstance(value, int | float) else math.nan


def mapping(record: Any, name: str) -> dict[str, Any]:
    """Return a part of a record that is an object; empty if it is none."""
    part = record.get(name) if isinstance(record, Mapping) else None
    return part if isinstance(part, dict) else {}
