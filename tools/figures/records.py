"""Records of ``benchmarks/`` and the cells that tables are made of."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from training.evaluation import intervals
from training.run import machine

RECORDS = machine.ROOT / "benchmarks"

Row = dict[str, Any]


class Record:
    """A file of ``benchmarks/``: one JSON object, or a head and its rows."""

    def __init__(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        self.path = path
        self.rows: list[Row] = []
        if path.suffix == ".jsonl":
            self.head, *self.rows = map(json.loads, text.splitlines())
        else:
            self.head = json.loads(text)

    @property
    def source(self) -> str:
        """Return file and commit as the tables name them, and whether it is marked old."""
        return f"`benchmarks/{self.path.name}` at {self.head['git_rev'][:7]}{self.age}"

    @property
    def age(self) -> str:
        """Return the mark of a record that is kept although its code or its agent is gone."""
        return " (old)" if self.head.get("old") else ""

    @property
    def load(self) -> str:
        """Return the load of the machine when it was taken."""
        return f"load {self.head['load']} before and {self.head['load_after']} after"

    def bar(self, what: str) -> Row:
        """Return the bar of that name."""
        return next(row for row in self.rows if row["kind"] == "bar" and row["what"] == what)


def newest(pattern: str) -> Record:
    """Return the newest record whose name fits, of those taken without uncommitted changes."""
    found = [Record(path) for path in RECORDS.glob(pattern)]
    clean = [record for record in found if record.head["dirty"] is False]
    return max(clean, key=lambda record: record.head.get("created", ""))


def interval(values: Sequence[float], decimals: int = 0, factor: float = 1, unit: str = "") -> str:
    """Return ``value unit [low, high]``."""
    value, low, high = (f"{x * factor:.{decimals}f}" for x in values)
    return f"{value}{unit} [{low}, {high}]"


def percent(values: Sequence[float]) -> str:
    """Return ``value % [low, high]`` of a share."""
    return interval(values, 1, 100, " %")


def whole(values: Sequence[float]) -> str:
    """Return ``value [low, high]`` of large numbers, with commas."""
    return "{:,.0f} [{:,.0f}, {:,.0f}]".format(*values)


def middle(row: Row) -> float:
    """Return the median over the repeats of a bar: of a ratio, over its turns."""
    return float(statistics.median(row["all"]))


def ratio(row: Row, decimals: int = 3) -> str:
    """Return the median of a bar with the least and the largest of its turns."""
    return spread(middle(row), row["all"], lambda x: f"{x:.{decimals}f}")


def share(row: Row) -> str:
    """Return a share of time likewise, in per cent."""
    return spread(middle(row), row["all"], lambda x: f"{100 * x:.1f}") + " %"


def spread(value: float, every: Sequence[float], cell: Callable[[float], str]) -> str:
    """Return a value with the least and the largest of its repeats."""
    return f"{cell(value)} ({cell(min(every))} to {cell(max(every))})"


def clock(seconds: float) -> str:
    """Return a time as ``m:ss``."""
    return f"{round(seconds) // 60}:{round(seconds) % 60:02d}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def over_seeds(
    found: Sequence[Sequence[float]], least: float = -math.inf, most: float = math.inf
) -> tuple[float, float, float]:
    """Return the mean over seeds and its 95 % interval, from what each came to and its own.

    All of them have played the same games, whose noise counts too.
    """
    shared = [(high - low) / 2 for _, low, high in found]
    mean = intervals.over_seeds([value for value, *_ in found], least, most, shared)
    return mean.value, mean.low, mean.high


def trained_at(record: Record, runs: Iterable[Row]) -> str:
    """Return a record and the commits that its runs were trained at."""
    commits = dict.fromkeys(run["git_rev"][:7] for run in runs)
    return f"`benchmarks/{record.path.name}`{record.age}, trained at {' and '.join(commits)}"


def listed(head: Row) -> str:
    """Return the seeds of a record."""
    return ", ".join(map(str, head["seeds"]))
