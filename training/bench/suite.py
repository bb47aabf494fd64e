"""Suites: rows that are measured together, and the targets that judge them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console, RenderableType

from training.bench.tables import target_table
from training.bench.targets import Row


@dataclass(frozen=True)
class Options:
    """The options of a measurement.

    Parameters
    ----------
    args : Namespace
    console : Console
        For what is to be said beside the tables.
    """

    args: argparse.Namespace
    console: Console

    @property
    def short(self) -> bool:
        """Whether it may take a few minutes only."""
        return bool(self.args.short)

    @property
    def repeats(self) -> int:
        """Repeats of each work."""
        return int(self.args.repeats)

    def seconds_of(self, suite: Suite) -> float:
        """Return the timed work of a repeat of a suite."""
        usual = suite.short_seconds if self.short and suite.short_seconds else suite.seconds
        return float(self.args.seconds or usual)


@dataclass(frozen=True)
class Suite:
    """Rows that are measured together, and the targets that judge them.

    Parameters
    ----------
    name : str
        As ``--only`` takes it.
    rows : callable
        Takes the repeats and the timed seconds of each; returns the measured rows.
    judge : callable
        Takes them; returns a row for each target.
    tables : tuple of callable
        Each shows the measured rows; None where it has nothing to show.
    title : callable
        Returns that of the table of targets.
    seconds, short_seconds : float
        Timed work of a repeat, and where it has to be short.
    usual : bool
        It is measured unless another suite is asked for.
    """

    name: str
    rows: Callable[[int, float], list[Row]] = lambda *_: []
    judge: Callable[[list[Row]], list[Row]] = lambda _: []
    tables: tuple[Callable[[list[Row]], RenderableType | None], ...] = ()
    title: Callable[[Options], str] = lambda _: ""
    seconds: float = 2.0
    short_seconds: float | None = None
    usual: bool = False

    def measure(self, options: Options) -> list[Row]:
        """Return the rows that a command line asks for."""
        return self.rows(options.repeats, options.seconds_of(self))

    def judge_for(self, rows: list[Row], options: Options) -> list[Row]:
        """Return their targets."""
        return self.judge(rows)

    def run(self, options: Options) -> list[Row]:
        """Measure, judge and show; return all rows."""
        rows = self.measure(options)
        judged = self.judge_for(rows, options)
        shown = [table(rows) for table in self.tables]
        if judged:
            shown.append(target_table(judged, self.title(options)))
        for each in shown:
            if each is not None:
                options.console.print(each)
        return rows + judged
