"""Milestones of several trainings that differ in their seed alone.

An interval over deals says how well one agent plays; how well the next training will do is said by
the spread over trainings.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.table import Table

from fastenv.errors import ConfigError
from training.apps.skullking.milestones import MILESTONES, TIMES, duration, shown
from training.evaluation.over_seeds import half_width, over_seeds

_AT = ("steps", *TIMES)
_SAME = ("env", "games", "first_seed", "bids", "bootstrap")


def summary(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what some trainings came to, milestone by milestone.

    Parameters
    ----------
    records : sequence of mapping
        As :func:`training.apps.skullking.milestones.measure` returns them.

    Returns
    -------
    dict
        ``seeds``; ``milestones``, of each name ``reached``, in how many trainings, and the
        ``median`` and ``range`` of ``steps``, ``wall_s`` and ``cpu_s`` where all have reached it,
        None elsewhere, and ``last``: the mean over trainings at the last checkpoint with its 95 %
        interval, of trainings and of the deals that all have played.

    Raises
    ------
    ConfigError
        If a seed is there twice, or they have not played the same games.
    """
    seeds = [record["trained"]["seed"] for record in records]
    if len(set(seeds)) < len(seeds):
        raise ConfigError(f"the trainings have the seeds {seeds}: each may be there once.")
    for name in _SAME:
        values = list(dict.fromkeys(record[name] for record in records))
        if len(values) > 1:
            raise ConfigError(f"the runs differ in {name}, {values}: they cannot be put together.")
    found = {}
    for milestone in MILESTONES:
        name = milestone.name
        there = [r["milestones"][name] for r in records if r["milestones"][name] is not None]
        whole = len(there) == len(records)
        least, most = (-math.inf, math.inf) if milestone.measure == "margin" else (0.0, 1.0)
        results = [record["checkpoints"][-1]["results"][name] for record in records]
        last, shared = [found[0] for found in results], [half_width(found) for found in results]
        found[name] = {
            "reached": len(there),
            **{key: _spread([t[key] for t in there]) if whole else None for key in _AT},
            "last": over_seeds(last, least, most, shared).to_list(),
            "last_by_seed": last,
        }
    return {
        "seeds": seeds,
        "steps": [record["checkpoints"][-1]["steps"] for record in records],
        "intervals": "at the last checkpoint: 95 %, of trainings (Student's t) and deals together",
        "milestones": found,
    }


def _spread(values: Sequence[float | None]) -> dict[str, Any] | None:
    """Return median and range; None if a value is not known."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return {"median": statistics.median(known), "range": [min(known), max(known)]}


def table(found: Mapping[str, Any]) -> Table:
    """Return the decisions and the time to each milestone, over seeds."""
    count = len(found["seeds"])
    made = Table(
        title=f"Milestones over {count} training seeds: medians with ranges",
        caption="At the last checkpoint: means over trainings with 95 % intervals of trainings and "
        f"deals together, at {min(found['steps']):,} decisions.",
        title_justify="left",
        caption_justify="left",
    )
    for heading in ("milestone", "asked"):
        made.add_column(heading)
    for heading in ("reached by", "decisions", "time", "CPU time", "at the last checkpoint"):
        made.add_column(heading, justify="right")
    for milestone in MILESTONES:
        of = found["milestones"][milestone.name]
        made.add_row(
            *(milestone.name, milestone.says, f"{of['reached']} of {count}"),
            _shown(of["steps"], lambda steps: f"{steps:,.0f}"),
            *(_shown(of[name], duration) for name in TIMES),
            shown(milestone, of["last"]),
        )
    return made


def _shown(spread: Mapping[str, Any] | None, cell: Callable[[float], str]) -> str:
    if spread is None:
        return "-"
    low, high = spread["range"]
    return f"{cell(spread['median'])} ({cell(low)} to {cell(high)})"
