"""Runs compared on one page of HTML.

The page holds everything it shows, pictures included; it needs no network and runs no scripts.
"""

from __future__ import annotations

import base64
import html
import io
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from training.run import machine

try:
    import matplotlib
    from matplotlib.figure import Figure

    from training.logs import plots
except ImportError as error:
    raise ImportError("A report needs matplotlib: pip install 'fastenv[notebooks]'.") from error
from training.logs.run_data import SMOOTHED, SMOOTHED_LEAST, Interval, RunData, compared, mapping
from training.logs.seeds_data import SeedsData
from training.logs.status import duration

# Measure, heading, decimals, factor; measures that are not named here follow as they are.
_MEASURES = {
    "points": ("points", 0, 1),
    "margin": ("margin", 0, 1),
    "win_rate": ("wins %", 1, 100),
    "rank": ("rank", 2, 1),
    "bid_hit": ("bids made %", 1, 100),
    "return": ("return", 2, 1),
    "net_profit": ("net profit", 2, 1),
    "survival": ("survival %", 1, 100),
    "steps": ("steps", 1, 1),
    "ticks": ("ticks", 1, 1),
}
_STYLE = """
:root { color-scheme: light; --line: #ddd; --dim: #666; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem 1.25rem 4rem;
  background: #fff; color: #1a1a1a; font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; padding-top: .75rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
p, li { max-width: 46rem; } p { margin: .35rem 0; }
.dim { color: var(--dim); } .missing { color: #8a4b00; }
img { display: block; width: 100%; height: auto; margin: .75rem 0; }
.wide { overflow-x: auto; margin: .75rem 0; }
table { border-collapse: collapse; font-size: .87rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; white-space: nowrap; }
thead th { color: var(--dim); font-weight: 600; white-space: normal; vertical-align: bottom; }
th:last-child, td:last-child { padding-right: 0; }
td:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 9rem; }
td.number, th.number { text-align: right; }
td.long { white-space: normal; overflow-wrap: anywhere; min-width: 10rem; }
.range { color: var(--dim); }
.dot { display: inline-block; width: .7em; height: .7em; border-radius: 50%; margin-right: .45em; }
summary { cursor: pointer; color: var(--dim); }
@media print { h2, h3 { break-after: avoid; } img { break-inside: avoid; } }
"""


class Markup(str):
    """HTML; every other string is text."""


def page(
    runs: Sequence[RunData], title: str = "Runs compared", seeds: Sequence[SeedsData] = ()
) -> str:
    """Return the page.

    Parameters
    ----------
    runs : sequence of RunData
    title : str
        Of the page, unless there is only one run and nothing else, whose name it bears then.
    seeds : sequence of SeedsData
        Evaluations over seeds, compared by level.
    """
    heading = runs[0].name if len(runs) == 1 and not seeds else title
    parts = [
        f"<h1>{html.escape(heading)}</h1>",
        *(_of_runs(runs) if runs else ()),
        *_section("Over seeds, by level", *_over_seeds(seeds)),
    ]
    body = "\n".join(part for part in parts if part)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(heading)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


# -- sections --------------------------------------------------------------------------------------


def _of_runs(runs: Sequence[RunData]) -> list[str]:
    return [
        _introduction(runs),
        _summary(runs),
        _notes(runs),
        *_section("Learning", _image(plots.learning_curves(runs), "Learning curves")),
        *_section(
            "How well they play",
            _image(plots.evaluations(runs), "Evaluations with 95 % intervals"),
            _image(plots.evaluation_points(runs), "Evaluations during the training"),
            *_evaluations(runs),
        ),
        *_section(
            "Speed",
            _image(plots.speed(runs), "Decisions a second"),
            _image(plots.phases(runs), "Share of the time by phase"),
        ),
        *_section("Update", _image(plots.losses(runs), "Terms of the update")),
        *_section("Options", *_options(runs)),
        *_section("Machine and versions", _machines(runs)),
    ]


def _introduction(runs: Sequence[RunData]) -> str:
    return (
        f'<p class="dim">{len(runs)} run{"s" * (len(runs) != 1)}, written {machine.now()}. Thin '
        f"lines are raw, thick ones the mean over the last {SMOOTHED:.0%} of the iterations, "
        f"{SMOOTHED_LEAST} at least. What a run is trained on is no measure of strength; "
        "evaluations are.</p>"
    )


_SUMMARY = (
    *("run", "environment", "trainer", "status", "decisions", "training time", "decisions/s"),
    *("return at the end", "bids made %", "evaluated"),
)


def _summary(runs: Sequence[RunData]) -> str:
    return _table(_SUMMARY, [_summary_row(run, runs) for run in runs], numbers=range(4, 9))


def _summary_row(run: RunData, runs: Sequence[RunData]) -> list[str | None]:
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


def _notes(runs: Sequence[RunData]) -> str:
    """Return what is missing, and what stands in the way of a comparison."""
    items = [f"{run.name}: {'; '.join(run.notes)}" for run in runs if run.notes]
    items += [
        f"the evaluations differ in {key}: the runs did not play the same deals"
        for key in _differing_seeds(runs)
    ]
    lines = "".join(f"<li>{html.escape(item)}</li>" for item in items)
    return f'<ul class="missing">{lines}</ul>' if items else ""


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


def _evaluations(runs: Sequence[RunData]) -> Iterable[str]:
    groups = compared(runs)
    measures = {name for players in groups.values() for p in players.values() for name in p}
    yield from _protocols(runs, measures)
    for group, players in groups.items():
        names = dict.fromkeys(name for found in players.values() for name in found)
        known = [name for name in _MEASURES if name in names]
        yield f"<h3>{html.escape(group[0].upper() + group[1:])}</h3>"
        # Rates by round have as many rows as there are rounds, and a column for each player.
        yield _measure_table(players, known) if known else _round_table(players, list(names))


def _protocols(runs: Sequence[RunData], measures: Collection[str]) -> Iterable[str]:
    """Yield how the evaluations were made, each way once, and what is not self-evident."""
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
    for line in said:
        yield f'<p class="dim">{html.escape(line)}</p>'


Players = Mapping[str, Mapping[str, Interval]]


def _measure_table(players: Players, measures: Sequence[str]) -> str:
    columns = ["player", *(_MEASURES[name][0] for name in measures)]
    rows = [
        [player, *(_interval(found.get(name), *_MEASURES[name][1:]) for name in measures)]
        for player, found in players.items()
    ]
    return _table(columns, rows, numbers=range(1, len(columns)))


def _round_table(players: Players, names: Sequence[str]) -> str:
    columns = ["%", *players]
    rows = [
        [name.replace("_", " "), *(_interval(p.get(name), 1, 100) for p in players.values())]
        for name in names
    ]
    return _table(columns, rows, numbers=range(1, len(columns)))


_BY_LEVEL = ("level", "speed", "who plays", "games", *(h for _, h, _, _ in plots.BY_LEVEL))


def _over_seeds(seeds: Sequence[SeedsData]) -> Iterable[str]:
    """Yield a picture and a table of evaluations over seeds, level by level."""
    if not seeds:
        return
    yield from (f'<p class="dim">{html.escape(_played(each))}</p>' for each in seeds)
    yield (
        '<p class="dim">95 % intervals over games. Frames are a cost: the mean of the worst share '
        "is that of the longest, and a game without a clear counts as many as there may be. Small "
        "differences are to the first player of the same evaluation, games paired.</p>"
    )
    yield _image(plots.by_level(seeds), "Players by level")
    yield _table(_BY_LEVEL, _level_rows(seeds), numbers=(0, *range(3, len(_BY_LEVEL))))


def _played(each: SeedsData) -> str:
    """Return in a line who an evaluation is of, and what was played."""
    plan = mapping(each.head, "plan")
    told = [
        f"{plan[key]:,} {word}" for key, word in _PLAN.items() if isinstance(plan.get(key), int)
    ]
    return f"{each.name}: {each.head.get('who', 'somebody')}; {', '.join(told)}"


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
) -> str | Markup:
    """Return a figure, and below it the difference to the first player if there is one."""
    shown = _interval(record.get(name), decimals, factor)
    less = mapping(record, "less_first").get(name)
    if less is None:
        return shown
    gap = _interval(less, decimals, factor, "+")
    return Markup(f'{shown}<br><small class="range">{gap}</small>')


def _options(runs: Sequence[RunData]) -> Iterable[str]:
    known = [run for run in runs if run.config]
    if not known:
        return
    keys = sorted({key for run in known for key in run.config} - {"name"})
    differing = [key for key in keys if len({repr(run.config.get(key)) for run in known}) > 1]
    columns = ["option", *(_named(run, runs) for run in known)]
    if len(known) > 1 and differing:
        yield "<p>What differs:</p>"
        yield _table(columns, [_option(key, known) for key in differing])
    elif len(known) > 1:
        yield "<p>All options are equal.</p>"
    table = _table(columns, [_option(key, known) for key in keys])
    yield f"<details><summary>All {len(keys)} options</summary>{table}</details>"


def _option(key: str, runs: Sequence[RunData]) -> list[Any]:
    return [key, *("" if key not in run.config else str(run.config[key]) for run in runs)]


def _machines(runs: Sequence[RunData]) -> str:
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


def _section(title: str, *parts: str) -> list[str]:
    """Return a section, or nothing if it is empty."""
    kept = [part for part in parts if part]
    return [f"<h2>{html.escape(title)}</h2>", *kept] if kept else []


def _image(figure: Figure | None, text: str) -> str:
    """Return a figure as an image that is part of the page."""
    if figure is None:
        return ""
    file = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": text}):  # the same figure, the same bytes
        figure.savefig(file, format="svg", metadata={"Date": None})
    data = base64.b64encode(file.getvalue()).decode()
    return f'<img alt="{html.escape(text)}" src="data:image/svg+xml;base64,{data}">'


def _table(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], numbers: Iterable[int] = ()
) -> str:
    """Return a table; columns in which no row has anything are left out."""
    right = set(numbers)
    shown = [k for k in range(len(columns)) if any(row[k] not in (None, "") for row in rows)]
    head = "".join(f"<th{_aligned(k, right, '')}>{_text(columns[k])}</th>" for k in shown)
    lines = [f"<thead><tr>{head}</tr></thead><tbody>"]
    for row in rows:
        cells = (f"<td{_aligned(k, right, row[k])}>{_text(row[k])}</td>" for k in shown)
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f'<div class="wide"><table>{"".join(lines)}</tbody></table></div>'


def _aligned(k: int, right: set[int], value: Any) -> str:
    if k in right:
        return ' class="number"'
    is_long = not isinstance(value, Markup) and len(str(value)) > 60
    return ' class="long"' if is_long else ""


def _text(value: Any) -> str:
    if isinstance(value, Markup):
        return value
    return "" if value is None else html.escape(str(value))


def _named(run: RunData, runs: Sequence[RunData]) -> Markup:
    """Return the name of a run behind the colour of its curves."""
    colour = plots.colours(len(runs))[runs.index(run)] if len(runs) > 1 else None
    dot = f'<span class="dot" style="background:{colour}"></span>' if colour else ""
    return Markup(dot + html.escape(run.name))


def _interval(found: Any, decimals: int, factor: float, sign: str = "") -> str | Markup:
    """Return a value with its interval, signs as told; a dash if it is not known."""
    if not isinstance(found, list | tuple) or not found or not isinstance(found[0], int | float):
        return "-"
    numbers = [f"{x * factor:{sign}z,.{decimals}f}" for x in found if isinstance(x, int | float)]
    if len(numbers) != 3:
        return numbers[0]
    value, low, high = numbers
    return Markup(f'{value} <span class="range">[{low}, {high}]</span>')


def _number(value: float, decimals: int) -> str | None:
    return f"{value:.{decimals}f}" if math.isfinite(value) else None


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)
