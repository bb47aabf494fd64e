"""Groups of runs that differ in their seed alone, compared for the report."""

from __future__ import annotations

from collections.abc import Sequence

from training.evaluation.statistics import (
    RESAMPLES,
    describe_few,
    improvement_interval,
    iqm_interval,
)
from training.logs.run_data import RunData
from training.logs.seed_groups import GroupComparison, GroupScores, find_groups


def compare_groups(runs: Sequence[RunData], resamples: int = RESAMPLES) -> GroupComparison | None:
    """Return what the groups of some runs came to; None if no seeds stand beside each other.

    All are compared with the first group that has played anything.

    Parameters
    ----------
    runs : sequence of RunData
    resamples : int
        Of the intervals.
    """
    scores = {group.name: group.scores() for group in find_groups(runs)}
    scores = {name: found for name, found in scores.items() if found}
    counts = {len(x) for of in scores.values() for found in of.values() for x in found.values()}
    if max(counts, default=0) < 2:
        return None
    first = next(iter(scores))
    played: dict[str, dict[str, list[GroupScores]]] = {}
    for name, found in scores.items():
        for what, measures in found.items():
            for measure, values in measures.items():
                theirs = scores[first].get(what, {}).get(measure)
                better = None
                if name != first and theirs is not None:
                    better = improvement_interval(values, theirs, resamples).to_list()
                mean = iqm_interval(values, resamples).to_list()
                row = GroupScores(name, tuple(values), mean, better)
                played.setdefault(what, {}).setdefault(measure, []).append(row)
    notes = dict.fromkeys(line for count in sorted(counts) for line in describe_few(count))
    return GroupComparison(tuple(scores), played, tuple(notes))
