"""Groups of runs that differ in their seed alone, and their scores, for the report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from training.logs.run_data import RunData, results
from training.run.seating import AGENT

_OWN = ("name", "seed")  # options that runs of a group do not share


@dataclass(frozen=True)
class SeedGroup:
    """Runs with equal options but for name and seed, each seed once.

    Parameters
    ----------
    name : str
        What their names have in common.
    runs : tuple of RunData
    """

    name: str
    runs: tuple[RunData, ...]

    def scores(self) -> dict[str, dict[str, list[float]]]:
        """Collect the values of the runs by what is played and by measure."""
        values: dict[str, dict[str, list[float]]] = {}
        for run in self.runs:
            for what, players in results(run).items():
                for measure, interval in players.get(AGENT, {}).items():
                    if _is_known(interval):
                        values.setdefault(what, {}).setdefault(measure, []).append(interval[0])
        return values


@dataclass(frozen=True)
class GroupScores:
    """The scores of a group in a measure.

    Parameters
    ----------
    group : str
    by_seed : tuple of float
    iqm : sequence of float or None
        Interquartile mean as value, low and high; the ends are None for one seed.
    probability_of_improvement : sequence of float or None, optional
        Over the first group, likewise; None for that one.
    """

    group: str
    by_seed: tuple[float, ...]
    iqm: Sequence[float | None]
    probability_of_improvement: Sequence[float | None] | None = None


@dataclass(frozen=True)
class GroupComparison:
    """Groups of runs beside each other.

    Parameters
    ----------
    groups : tuple of str
        Their names, the one that the others are compared with first.
    played : mapping
        What is played to measure to the scores of each group that has it.
    notes : tuple of str
        Warnings about few seeds.
    """

    groups: tuple[str, ...]
    played: Mapping[str, Mapping[str, Sequence[GroupScores]]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def find_groups(runs: Sequence[RunData]) -> list[SeedGroup]:
    """Find the groups of some runs, in their order; a run without config belongs to none."""
    by_options: dict[str, dict[str, RunData]] = {}
    for run in runs:
        if run.config:
            shared = sorted((k, repr(v)) for k, v in run.config.items() if k not in _OWN)
            by_options.setdefault(repr(shared), {}).setdefault(repr(run.config.get("seed")), run)
    groups = [tuple(of_seed.values()) for of_seed in by_options.values()]
    names = [_find_common_name(of_group) for of_group in groups]
    return [
        SeedGroup(name if names.count(name) == 1 else of_group[0].name, of_group)
        for name, of_group in zip(names, groups, strict=True)
    ]


def _find_common_name(runs: Sequence[RunData]) -> str:
    """Find the name without the seed behind it, if that is one; else that of the first run."""
    stems = {run.name.removesuffix(f"-{run.config.get('seed')}") for run in runs}
    return stems.pop() if len(stems) == 1 and len(runs) > 1 else runs[0].name


def _is_known(interval: object) -> bool:
    if not isinstance(interval, list | tuple) or not interval:
        return False
    return isinstance(interval[0], int | float) and math.isfinite(interval[0])
