"""Results of trainings that differ in their seed alone: means, intervals and comparisons.

Comparisons of variants pair them by seed; a report compares groups of runs as it finds them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from training.evaluation.intervals import RESAMPLES, Interval, half_width, over_seeds
from training.evaluation.statistics import (
    describe_few,
    improvement_interval,
    iqm_interval,
    performance_profile,
)
from training.evaluation.tables import format_interval, make_table, name_column, show_interval
from training.logs.run_data import RunData
from training.logs.seed_groups import GroupComparison, GroupScores, find_groups
from training.run.seating import AGENT

if TYPE_CHECKING:  # a page of runs need not wait for torch
    from training.evaluation.judging import Judging, ShownColumn


def compare_over_seeds(
    runs: Sequence[Mapping[str, Any]],
    baseline: str,
    shares: Collection[str] = (),
    resamples: int = RESAMPLES,
) -> dict[str, Any]:
    """Compute means over seeds, and differences to the baseline that are paired by seed.

    Parameters
    ----------
    runs : sequence of mapping
        Seed by seed, with ``variant`` and ``results``
        (:func:`training.evaluation.run_evaluation.play_for_comparison`).
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
    played = _group_by_seed(runs)
    compared: dict[str, Any] = {}
    for opponents, rows in played.items():
        compared[opponents] = {row: {} for row in rows}
        for row, measures in rows.items():
            for measure, intervals in measures.items():
                least, most = (0.0, 1.0) if measure in shares else (-math.inf, math.inf)
                each, halves = _get_values(intervals), [half_width(x) for x in intervals]
                mean = over_seeds(each, least, most, halves)
                entry = {"by_seed": [value for value, *_ in intervals], "mean": mean.to_list()}
                entry["iqm"] = iqm_interval(each, resamples).to_list()
                if row != baseline:
                    theirs = _get_values(rows[baseline][measure])
                    gaps = np.subtract(each, theirs).tolist()
                    entry["minus_baseline"] = over_seeds(gaps, least - most, most - least).to_list()
                    better = improvement_interval(each, theirs, resamples)
                    entry["probability_of_improvement"] = better.to_list()
                compared[opponents][row][measure] = entry
    return compared


def profiles(compared: Mapping[str, Any]) -> dict[str, Any]:
    """Compute the performance profiles of the results of :func:`compare_over_seeds`.

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
    profiles_of: dict[str, Any] = {}
    for opponents, rows in compared.items():
        profiles_of[opponents] = {}
        for measure in dict.fromkeys(name for row in rows.values() for name in row):
            scores = {row: of[measure]["by_seed"] for row, of in rows.items() if measure in of}
            complete = {row: values for row, values in scores.items() if None not in values}
            if complete:
                above = np.unique(np.concatenate(list(complete.values())))
                share = {r: performance_profile(x, above).tolist() for r, x in complete.items()}
                profiles_of[opponents][measure] = {"above": above.tolist(), "share": share}
    return profiles_of


def _group_by_seed(
    runs: Sequence[Mapping[str, Any]],
) -> dict[str, dict[str, dict[str, list[Sequence[float | None]]]]]:
    """Group the intervals of each measure seed by seed, by what is played and row of a table."""
    played: dict[str, dict[str, dict[str, list[Sequence[float | None]]]]] = {}
    for run in runs:
        for opponents, players in run["results"].items():
            for player, measures in players.items():
                row = run["variant"] if player == AGENT else f"{run['variant']}, {player}"
                of_row = played.setdefault(opponents, {}).setdefault(row, {})
                for measure, interval in measures.items():
                    of_row.setdefault(measure, []).append(interval)
    return played


def _get_values(intervals: Sequence[Sequence[float | None]]) -> list[float]:
    return [math.nan if value is None else value for value, *_ in intervals]


# -- printing --------------------------------------------------------------------------------------


def show(console: Console, report: Mapping[str, Any], judging: Judging) -> None:
    """Print a table for each opponent set, and whether a variant is apart from the baseline."""
    baseline = report["baseline"]
    for opponents, rows in report["compared"].items():
        columns = [each for each in judging.columns if each.name in rows[baseline]]
        played = judging.describe_amount(opponents, report["evaluation"])
        console.print(_make_table(report, played, rows, columns))
        console.print(_make_robust_table(report, rows, columns))
        decisive, heading = columns[0].name, name_column(columns[0])
        for row in rows:
            if row != baseline:
                gap = Interval.from_list(rows[row][decisive]["minus_baseline"])
                apart = "above" if gap.low > 0 else "below" if gap.high < 0 else "not apart from"
                console.print(f"{row} is {apart} {baseline} in {heading}, by the 95 % interval")
    for line in describe_few(len(report["seeds"])):
        console.print(line)


def _make_table(
    report: Mapping[str, Any], played: str, rows: Mapping[str, Any], columns: Sequence[ShownColumn]
) -> Table:
    core = {name: f" in {s[0]:.0f} s of a core" for name, s in report.get("core_s", {}).items()}
    decisions = ", ".join(
        f"{name} {np.mean(steps):,.0f}{core.get(name, '')}"
        for name, steps in report["decisions"].items()
    )
    title = f"{report['name']}: {len(report['seeds'])} seeds, {played} a run"
    caption = (
        "Means over training seeds with 95 % intervals of seeds and games together. Below "
        "the line: the mean of a variant minus that of the baseline, paired by seed, with 95 % t "
        "intervals over seeds. "
        f"Decisions of a training: {decisions}."
    )
    table = make_table(title, caption, ["variant"], [*map(name_column, columns), "training s"])
    for row, entry in rows.items():
        cells = [show_interval(x, Interval.from_list(entry[x.name]["mean"])) for x in columns]
        trained = report["training_s"].get(row)
        table.add_row(row, *cells, "" if trained is None else f"{trained[0]:.0f}")
    table.add_section()
    for row, entry in rows.items():
        if row != report["baseline"]:
            gaps = [(x, Interval.from_list(entry[x.name]["minus_baseline"])) for x in columns]
            cells = [show_interval(each, gap) for each, gap in gaps]
            table.add_row(f"{row} minus {report['baseline']}", *cells)
    return table


def _make_robust_table(
    report: Mapping[str, Any], rows: Mapping[str, Any], columns: Sequence[ShownColumn]
) -> Table:
    """Make a table of a line for each measure and row, which fits a narrow terminal as well."""
    baseline = report["baseline"]
    title = f"The same {len(report['seeds'])} seeds: IQM and probability of improvement"
    caption = (
        f"IQM: interquartile mean over seeds. Above {baseline}: how probable it is that a "
        f"seed comes to more than one of {baseline}. 95 % intervals by bootstrap over seeds alone."
    )
    table = make_table(title, caption, ["measure", "variant"], ["IQM", f"above {baseline} %"])
    table.columns[1].overflow, table.columns[2].no_wrap = "fold", True
    for each in columns:
        table.add_section()
        measure, heading = each.name, name_column(each)
        for k, (row, entry) in enumerate(rows.items()):
            mean = Interval.from_list(entry[measure]["iqm"])
            better = entry[measure].get("probability_of_improvement")
            over = "" if better is None else format_interval(Interval.from_list(better), 0, 100)
            table.add_row("" if k else heading, row, show_interval(each, mean), over)
    return table


# -- groups of runs, for the report ----------------------------------------------------------------


def compare_groups(runs: Sequence[RunData]) -> GroupComparison | None:
    """Compare groups of runs; None if no group has several seeds.

    All are compared with the first group that has played anything.

    Parameters
    ----------
    runs : sequence of RunData
    """
    scores = {group.name: group.scores() for group in find_groups(runs)}
    scores = {name: of_group for name, of_group in scores.items() if of_group}
    every = [values for of in scores.values() for own in of.values() for values in own.values()]
    counts = {len(values) for values in every}
    if max(counts, default=0) < 2:
        return None
    first = next(iter(scores))
    played: dict[str, dict[str, list[GroupScores]]] = {}
    for name, of_group in scores.items():
        for what, measures in of_group.items():
            for measure, values in measures.items():
                theirs = scores[first].get(what, {}).get(measure)
                better = None
                if name != first and theirs is not None:
                    better = improvement_interval(values, theirs).to_list()
                mean = iqm_interval(values).to_list()
                row = GroupScores(name, tuple(values), mean, better)
                played.setdefault(what, {}).setdefault(measure, []).append(row)
    notes = dict.fromkeys(line for count in sorted(counts) for line in describe_few(count))
    return GroupComparison(tuple(scores), played, tuple(notes))
