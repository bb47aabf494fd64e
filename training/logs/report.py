"""Runs compared on one page of HTML.

The page holds everything it shows, pictures included; it needs no network and runs no scripts.
What is said is gathered here; how it looks is in ``report.html.jinja``.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from training.run import machine

try:
    import jinja2
    import matplotlib
    from matplotlib.figure import Figure

    from training.logs import plots
except ImportError as error:
    raise ImportError(
        "A report needs matplotlib and Jinja2: pip install '.[notebooks]'."
    ) from error
from training.logs.run_data import SMOOTHED, SMOOTHED_LEAST, Interval, RunData, compared, mapping
from training.logs.seed_groups import GroupComparison, GroupScores
from training.logs.seeds_data import SeedsData
from training.logs.status import duration
from training.run.rounding import rounded

# Measure, heading, decimals, factor; measures that are not named here follow as they are.
_MEASURES = {
    "points": ("points", 0, 1),
    "margin": ("margin", 0, 1),
    "win_rate": ("wins %", 1, 100),
    "win": ("wins %", 1, 100),
    "draw": ("draws %", 1, 100),
    "rank": ("rank", 2, 1),
    "bid_hit": ("bids made %", 1, 100),
    "return": ("return", 2, 1),
    "net_profit": ("net profit", 2, 1),
    "survival": ("survival %", 1, 100),
    "steps": ("steps", 1, 1),
    "ticks": ("ticks", 1, 1),
}


@dataclass(frozen=True)
class Cell:
    """What stands in a cell of a table.

    Parameters
    ----------
    text : str
    kind : str
        ``"number"``, ``"long"`` or nothing.
    colour : str, optional
        Of a dot before the text.
    limits : str
        Of the interval that the text is the middle of, or nothing.
    difference : Cell, optional
        What stands below.
    """

    text: str
    kind: str = ""
    colour: str | None = None
    limits: str = ""
    difference: Cell | None = None


class Table(NamedTuple):
    """The first line of a table, and those that follow."""

    head: Sequence[Cell]
    rows: Sequence[Sequence[Cell]]


class Picture(NamedTuple):
    """A picture as the URL that holds it, and what is said where it cannot be seen."""

    text: str
    source: str


def page(
    runs: Sequence[RunData],
    title: str = "Runs compared",
    seeds: Sequence[SeedsData] = (),
    groups: GroupComparison | None = None,
) -> str:
    """Return the page.

    Parameters
    ----------
    runs : sequence of RunData
    title : str
        Of the page, unless there is only one run and nothing else, whose name it bears then.
    seeds : sequence of SeedsData
        Evaluations over seeds, compared by level.
    groups : GroupComparison, optional
        Of runs that differ in their seed alone.
    """
    heading = runs[0].name if len(runs) == 1 and not seeds else title
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html.jinja").render(
        heading=heading,
        runs=_of_runs(runs) if runs else None,
        groups=_of_groups(groups) if groups else None,
        seeds=_over_seeds(seeds) if seeds else None,
    )


# -- sections --------------------------------------------------------------------------------------


def _of_runs(runs: Sequence[RunData]) -> dict[str, Any]:
    """Return what the template shows of runs, by name."""
    return {
        "count": len(runs),
        "written": machine.now(),
        "smoothed": f"{SMOOTHED:.0%}",
        "smoothed_least": SMOOTHED_LEAST,
        "summary": _table(_SUMMARY, [_summary_row(run, runs) for run in runs], range(4, 9)),
        "notes": _notes(runs),
        "learning": _picture(plots.learning_curves(runs), "Learning curves"),
        "evaluations": _picture(plots.evaluations(runs), "Evaluations with 95 % intervals"),
        "evaluation_points": _picture(
            plots.evaluation_points(runs), "Evaluations during the training"
        ),
        **_evaluations(runs),
        "speed": _picture(plots.speed(runs), "Decisions a second"),
        "phases": _picture(plots.phases(runs), "Share of the time by phase"),
        "losses": _picture(plots.losses(runs), "Terms of the update"),
        **_options(runs),
        "machines": _machines(runs),
    }


_SUMMARY = (
    *("run", "environment", "trainer", "status", "decisions", "training time", "decisions/s"),
    *("return at the end", "bids made %", "evaluated"),
)


def _summary_row(run: RunData, runs: Sequence[RunData]) -> list[str | Cell | None]:
    steps, wall, speeds = run.column("step"), run.column("wall_s"), run.column("sps")
    speeds = speeds[np.isfinite(speeds)]
    taken = int(steps[-1]) if steps.size else run.summary.get("steps")
    return [
        _named(run, runs),
        _first(run.config.get("env"), run.evaluation.get("env"), run.summary.get("env")),
        _first(run.config.get("trainer"), run.summary.get("trainer")),
        run.summary.get("status"),
        None if taken is None else f"{taken:,}",
        duration(float(wall[-1])) if wall.size else None,
        f"{np.median(speeds):,.0f}" if speeds.size else None,
        _number(run.last("episode/return_mean"), 2),
        _number(100 * run.last("rounds/hit_rate"), 1),
        str(run.evaluation.get("created") or "")[:10],
    ]


def _notes(runs: Sequence[RunData]) -> list[str]:
    """Return what is missing, and what stands in the way of a comparison."""
    missing = [f"{run.name}: {'; '.join(run.notes)}" for run in runs if run.notes]
    return missing + [
        f"the evaluations differ in {key}: the runs did not play the same deals"
        for key in _differing_seeds(runs)
    ]


def _differing_seeds(runs: Sequence[RunData]) -> list[str]:
    """Return in what the evaluations differ that decides which deals were played."""
    played = (("matches", ("first_seed", "games")), ("goals", ("goals", "episodes")))
    found: dict[str, set[str]] = {}
    for run in runs:
        for part, keys in played:
            record = mapping(run.evaluation, part)
            for key in keys if record else ():
                found.setdefault(key, set()).add(str(record.get(key)))
    return sorted(key for key, values in found.items() if len(values) > 1)


def _evaluations(runs: Sequence[RunData]) -> dict[str, Any]:
    found = compared(runs)
    measures = {name for players in found.values() for p in players.values() for name in p}
    groups = []
    for group, players in found.items():
        names = dict.fromkeys(name for measured in players.values() for name in measured)
        known = [name for name in _MEASURES if name in names]
        # Rates by round have as many rows as there are rounds, and a column for each player.
        table = _measure_table(players, known) if known else _round_table(players, list(names))
        groups.append((group[0].upper() + group[1:], table))
    return {"protocols": _protocols(runs, measures), "groups": groups}


def _protocols(runs: Sequence[RunData], measures: Collection[str]) -> list[str]:
    """Return how the evaluations were made, each way once, and what is not self-evident."""
    said = dict.fromkeys(
        f"{part}: {record.get('protocol', said_of_all)}; {run.evaluation.get('intervals', '')}"
        for run in runs
        for said_of_all in [run.evaluation.get("policy", "")]
        for part in ("matches", "goals", "episodes", "compared")
        if isinstance(record := run.evaluation.get(part), dict)
    )
    said |= (
        {"margin: points minus those of the mean opponent": None} if "margin" in measures else {}
    )
    return list(said)


Players = Mapping[str, Mapping[str, Interval]]


def _measure_table(players: Players, measures: Sequence[str]) -> Table:
    columns = ["player", *(_MEASURES[name][0] for name in measures)]
    rows = [
        [player, *(_interval(found.get(name), *_MEASURES[name][1:]) for name in measures)]
        for player, found in players.items()
    ]
    return _table(columns, rows, numbers=range(1, len(columns)))


def _round_table(players: Players, names: Sequence[str]) -> Table:
    columns = ["%", *players]
    rows = [
        [name.replace("_", " "), *(_interval(p.get(name), 1, 100) for p in players.values())]
        for name in names
    ]
    return _table(columns, rows, numbers=range(1, len(columns)))


# Of groups of seeds: rates by round are too many there.
_OF_GROUPS = {**_MEASURES, "overall": ("goals reached %", 1, 100)}


def _of_groups(comparison: GroupComparison) -> dict[str, Any]:
    """Return what the template shows of groups of seeds, by name."""
    tables = []
    for what, measures in comparison.played.items():
        known = [name for name in _OF_GROUPS if name in measures]
        if known:
            table = _group_table(comparison, {name: measures[name] for name in known})
            tables.append((what[0].upper() + what[1:], table))
    return {
        "first": comparison.groups[0] if len(comparison.groups) > 1 else None,
        "notes": comparison.notes,
        "profiles": _picture(plots.profiles(comparison), "Performance profiles"),
        "tables": tables,
    }


def _group_table(
    comparison: GroupComparison, measures: Mapping[str, Sequence[GroupScores]]
) -> Table:
    shades = dict(zip(comparison.groups, plots.colours(len(comparison.groups)), strict=True))
    rows = []
    for group in comparison.groups:
        found = {k: row for k, rows in measures.items() for row in rows if row.group == group}
        if found:
            seeds = max(len(row.by_seed) for row in found.values())
            cells = [_group_cell(found.get(name), name) for name in measures]
            rows.append([Cell(group, colour=shades[group]), seeds, *cells])
    columns = ["group", "seeds", *(_OF_GROUPS[name][0] for name in measures)]
    return _table(columns, rows, numbers=range(1, len(columns)))


def _group_cell(row: GroupScores | None, measure: str) -> Cell:
    """Return an interquartile mean, and below it the probability of improvement if there is one."""
    if row is None:
        return Cell("-")
    _, decimals, factor = _OF_GROUPS[measure]
    shown, better = _interval(row.iqm, decimals, factor), row.probability_of_improvement
    if better is None:
        return shown
    above = _interval(better, 0, 100)
    return replace(shown, difference=replace(above, text=f"above in {above.text} %"))


_BY_LEVEL = ("level", "speed", "who plays", "games", *(h for _, h, _, _ in plots.BY_LEVEL))


def _over_seeds(seeds: Sequence[SeedsData]) -> dict[str, Any]:
    """Return what the template shows of evaluations over seeds, by name."""
    return {
        "played": [_played(each) for each in seeds],
        "by_level": _picture(plots.by_level(seeds), "Players by level"),
        "levels": _table(_BY_LEVEL, _level_rows(seeds), (0, *range(3, len(_BY_LEVEL)))),
    }


def _played(each: SeedsData) -> str:
    """Return in a line who an evaluation is of, and what was played."""
    plan = mapping(each.head, "plan")
    facts = [
        f"{plan[key]:,} {word}" for key, word in _PLAN.items() if isinstance(plan.get(key), int)
    ]
    return f"{each.name}: {each.head.get('who', 'somebody')}; {', '.join(facts)}"


_PLAN = {
    "seeds": "games of a level",
    "episodes": "episodes of a game",
    "t_max": "frames at most",
}


def _level_rows(seeds: Sequence[SeedsData]) -> list[list[Any]]:
    rows = []
    for level, speed in plots.levels_of(seeds):
        for each in seeds:
            for record in each.levels:
                if (record["level"], record["speed"]) == (level, speed):
                    cells = [_with_difference(record, *column) for column in plots.BY_LEVEL]
                    rows.append([level, speed, each.player(record), record["games"], *cells])
    return rows


def _with_difference(
    record: Mapping[str, Any], name: str, _: str, factor: float, decimals: int
) -> Cell:
    """Return a figure, and below it the difference to the first player if there is one."""
    shown = _interval(record.get(name), decimals, factor)
    less = mapping(record, "less_first").get(name)
    return (
        shown if less is None else replace(shown, difference=_interval(less, decimals, factor, "+"))
    )


def _options(runs: Sequence[RunData]) -> dict[str, Any]:
    known = [run for run in runs if run.config]
    keys = sorted({key for run in known for key in run.config} - {"name"})
    differing = [key for key in keys if len({repr(run.config.get(key)) for run in known}) > 1]
    columns: list[str | Cell] = ["option", *(_named(run, runs) for run in known)]
    every, some = (_table(columns, [_option(key, known) for key in of]) for of in (keys, differing))
    return {
        "with_options": len(known),
        "options": every if known else None,
        "differing_options": some if differing else None,
    }


def _option(key: str, runs: Sequence[RunData]) -> list[Any]:
    return [key, *("" if key not in run.config else str(run.config[key]) for run in runs)]


def _machines(runs: Sequence[RunData]) -> Table:
    rows: dict[str, list[str]] = {}
    for k, run in enumerate(runs):
        for name, value in _machine(run).items():
            cells = rows.setdefault(name.replace("_", " "), [""] * len(runs))
            cells[k] = "" if value is None else str(value)
    kept = [[name, *cells] for name, cells in rows.items() if any(cells)]
    return _table(["", *(_named(run, runs) for run in runs)], kept)


def _machine(run: RunData) -> dict[str, Any]:
    """Return on what a run was trained."""
    host = run.summary.get("host")
    versions = _first(*(x.get("versions") for x in (run.summary, run.head, run.evaluation)))
    revision = _first(*(x.get("git_rev") for x in (run.head, run.summary, run.evaluation)))
    dirty = _first(*(x.get("dirty") for x in (run.head, run.summary, run.evaluation)))
    return {
        "begun": run.head.get("created"),
        "revision": f"{revision}{', with changes' if dirty else ''}" if revision else None,
        "device": run.summary.get("ppo_device"),
        **(host if isinstance(host, dict) else {}),
        **(versions if isinstance(versions, dict) else {}),
    }


# -- parts of a page -------------------------------------------------------------------------------


def _picture(figure: Figure | None, text: str) -> Picture | None:
    """Return a figure as an image that is part of the page."""
    if figure is None:
        return None
    file = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": text}):  # the same figure, the same bytes
        figure.savefig(file, format="svg", metadata={"Date": None})
    data = base64.b64encode(file.getvalue()).decode()
    return Picture(text, f"data:image/svg+xml;base64,{data}")


def _table(
    columns: Sequence[str | Cell], rows: Sequence[Sequence[Any]], numbers: Iterable[int] = ()
) -> Table:
    """Return a table; columns in which no row has anything are left out."""
    right = set(numbers)
    shown = [k for k in range(len(columns)) if any(row[k] not in (None, "") for row in rows)]
    head, *body = ([_cell(row[k], k in right) for k in shown] for row in (columns, *rows))
    return Table(head, body)


def _cell(value: Any, is_number: bool) -> Cell:
    text = "" if value is None else str(value)
    cell = value if isinstance(value, Cell) else Cell(text, "long" if len(text) > 60 else "")
    return replace(cell, kind="number") if is_number else cell


def _named(run: RunData, runs: Sequence[RunData]) -> Cell:
    """Return the name of a run behind the colour of its curves."""
    colour = plots.colours(len(runs))[runs.index(run)] if len(runs) > 1 else None
    return Cell(run.name, colour=colour)


def _interval(found: Any, decimals: int, factor: float, sign: str = "") -> Cell:
    """Return a value with its interval, signs as told; a dash if it is not known."""
    if not isinstance(found, list | tuple) or not found or not isinstance(found[0], int | float):
        return Cell("-")
    given = [x for x in found if isinstance(x, int | float)]
    value, *limits = (rounded(x, decimals, factor, f"{sign}z,") for x in given)
    return Cell(value, limits=f"[{', '.join(limits)}]" if len(limits) == 2 else "")


def _number(value: float, decimals: int) -> str | None:
    return f"{value:.{decimals}f}" if math.isfinite(value) else None


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)
