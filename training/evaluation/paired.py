"""Trained agents on the same games, compared over training seeds, paired by seed."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from training.evaluation.bootstrap import Interval
from training.evaluation.over_seeds import half_width, over_seeds
from training.evaluation.protocol import Protocol
from training.evaluation.statistics import (
    RESAMPLES,
    describe_few,
    improvement_interval,
    iqm_interval,
    performance_profile,
)
from training.evaluation.tables import Column, format_interval
from training.players.trained import AGENT


def statistics(
    runs: Sequence[Mapping[str, Any]],
    baseline: str,
    shares: Collection[str] = (),
    resamples: int = RESAMPLES,
) -> dict[str, Any]:
    """Return means over seeds, and differences to the baseline that are paired by seed.

    Parameters
    ----------
    runs : sequence of mapping
        Seed by seed, with ``variant`` and ``results``
        (:meth:`training.evaluation.protocol.Protocol.paired`).
    baseline : str
    shares : collection of str
        Measures that lie between 0 and 1, and their intervals with them.
    resamples : int
        Of the intervals by bootstrap over seeds.

    Returns
    -------
    dict
        Opponent set to row to measure to ``by_seed``, ``mean``, ``iqm`` and, for all but the
        baseline, ``minus_baseline`` and ``probability_of_improvement`` over it; all but the first
        as value, low and high.
    """
    played = _by_seed(runs)
    compared: dict[str, Any] = {}
    for opponents, rows in played.items():
        compared[opponents] = {row: {} for row in rows}
        for row, measures in rows.items():
            for measure, intervals in measures.items():
                least, most = (0.0, 1.0) if measure in shares else (-math.inf, math.inf)
                each, halves = _values(intervals), [half_width(found) for found in intervals]
                mean = over_seeds(each, least, most, halves)
                found = {"by_seed": [value for value, *_ in intervals], "mean": mean.to_list()}
                found["iqm"] = iqm_interval(each, resamples).to_list()
                if row != baseline:
                    theirs = _values(rows[baseline][measure])
                    gaps = np.subtract(each, theirs).tolist()
                    found["minus_baseline"] = over_seeds(gaps, least - most, most - least).to_list()
                    better = improvement_interval(each, theirs, resamples)
                    found["probability_of_improvement"] = better.to_list()
                compared[opponents][row][measure] = found
    return compared


def profiles(compared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the performance profiles of what :func:`statistics` has compared.

    Parameters
    ----------
    compared : mapping

    Returns
    -------
    dict
        Opponent set to measure to ``above``, which are the values of all seeds, and ``share``: row
        to the share of its seeds above each of them. A row in which a seed lacks the measure is
        left out.
    """
    found: dict[str, Any] = {}
    for opponents, rows in compared.items():
        found[opponents] = {}
        for measure in dict.fromkeys(name for row in rows.values() for name in row):
            scores = {row: of[measure]["by_seed"] for row, of in rows.items() if measure in of}
            known = {row: values for row, values in scores.items() if None not in values}
            if known:
                above = np.unique(np.concatenate(list(known.values())))
                share = {row: performance_profile(x, above).tolist() for row, x in known.items()}
                found[opponents][measure] = {"above": above.tolist(), "share": share}
    return found


def _by_seed(
    runs: Sequence[Mapping[str, Any]],
) -> dict[str, dict[str, dict[str, list[Sequence[float | None]]]]]:
    """Return what is played to row of a table to measure to its intervals, seed by seed."""
    played: dict[str, dict[str, dict[str, list[Sequence[float | None]]]]] = {}
    for run in runs:
        for opponents, players in run["results"].items():
            for player, found in players.items():
                row = run["variant"] if player == AGENT else f"{run['variant']}, {player}"
                of_row = played.setdefault(opponents, {}).setdefault(row, {})
                for measure, interval in found.items():
                    of_row.setdefault(measure, []).append(interval)
    return played


def _values(intervals: Sequence[Sequence[float | None]]) -> list[float]:
    return [math.nan if value is None else value for value, *_ in intervals]


# -- printing --------------------------------------------------------------------------------------


def show(console: Console, report: Mapping[str, Any], protocol: Protocol) -> None:
    """Print a table for each opponent set, and whether a variant is apart from the baseline."""
    baseline = report["baseline"]
    for opponents, rows in report["compared"].items():
        columns = [c for c in protocol.columns(opponents) if c[0] in rows[baseline]]
        played = protocol.played(opponents, report["evaluation"])
        console.print(_table(report, played, rows, columns))
        console.print(_robust_table(report, rows, columns))
        measure, heading, _ = columns[0]
        for row in rows:
            if row != baseline:
                gap = Interval.from_list(rows[row][measure]["minus_baseline"])
                apart = "above" if gap.low > 0 else "below" if gap.high < 0 else "not apart from"
                console.print(f"{row} is {apart} {baseline} in {heading}, by the 95 % interval")
    for line in describe_few(len(report["seeds"])):
        console.print(line)


def _table(
    report: Mapping[str, Any], played: str, rows: Mapping[str, Any], columns: Sequence[Column]
) -> Table:
    core = {name: f" in {s[0]:.0f} s of a core" for name, s in report.get("core_s", {}).items()}
    decisions = ", ".join(
        f"{name} {np.mean(steps):,.0f}{core.get(name, '')}"
        for name, steps in report["decisions"].items()
    )
    table = Table(
        title=f"{report['name']}: {len(report['seeds'])} seeds, {played} a run",
        caption="Means over training seeds with 95 % intervals of seeds and games together. Below "
        "the line: the mean of a variant minus that of the baseline, paired by seed, with 95 % t "
        "intervals over seeds. "
        f"Decisions of a training: {decisions}.",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("variant")
    for _, heading, _ in columns:
        table.add_column(heading, justify="right")
    table.add_column("training s", justify="right")
    for row, found in rows.items():
        cells = [cell(Interval.from_list(found[name]["mean"])) for name, _, cell in columns]
        trained = report["training_s"].get(row)
        table.add_row(row, *cells, "" if trained is None else f"{trained[0]:.0f}")
    table.add_section()
    for row, found in rows.items():
        if row != report["baseline"]:
            gaps = (Interval.from_list(found[name]["minus_baseline"]) for name, _, _ in columns)
            cells = [cell(gap) for gap, (_, _, cell) in zip(gaps, columns, strict=True)]
            table.add_row(f"{row} minus {report['baseline']}", *cells)
    return table


def _robust_table(
    report: Mapping[str, Any], rows: Mapping[str, Any], columns: Sequence[Column]
) -> Table:
    """Return a line for each measure and row, which fits a narrow terminal as well."""
    baseline = report["baseline"]
    table = Table(
        title=f"The same {len(report['seeds'])} seeds: IQM and probability of improvement",
        caption=f"IQM: interquartile mean over seeds. Above {baseline}: how probable it is that a "
        f"seed comes to more than one of {baseline}. 95 % intervals by bootstrap over seeds alone.",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("measure")
    table.add_column("variant", overflow="fold")
    table.add_column("IQM", justify="right", no_wrap=True)
    table.add_column(f"above {baseline} %", justify="right")
    for measure, heading, cell in columns:
        table.add_section()
        for k, (row, found) in enumerate(rows.items()):
            mean = Interval.from_list(found[measure]["iqm"])
            better = found[measure].get("probability_of_improvement")
            over = "" if better is None else format_interval(Interval.from_list(better), 0, 100)
            table.add_row("" if k else heading, row, cell(mean), over)
    return table
