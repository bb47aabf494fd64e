"""Comparison of a trained policy with scripted players at the end of a training, as a table."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fastenv.ticker import print_dots
from training.evaluation import tables
from training.evaluation.intervals import Interval
from training.evaluation.judging import Judging, ShownColumn, get_judging
from training.evaluation.run_evaluation import evaluate
from training.logs.run_data import groups_of, is_interval
from training.run import files
from training.run.folder import RunFolder
from training.run.games import Column
from training.run.loop import Outcome
from training.run.seating import AGENT

FILE = "evaluation.txt"
WIDTH = 80  # of the tables
COLUMNS, ROWS = 12, 12  # at most so many groups of results, and so many scripted players
_GOALS = ShownColumn("overall", Column("share", decimals=1))
_OURS = (AGENT, "decoded")  # how players begin that are made of the trained network
_WORDS = {1: "better", 0: "unclear", -1: "worse"}
_EVEN, _VERDICT, _DRAWN = "even share", f"{AGENT} is", f"{AGENT}, drawn"
_GAP = 3  # spaces between columns


class MeasureComparison(NamedTuple):
    """A measure of the trained policy beside that of the scripted players.

    Parameters
    ----------
    played : str
        What all have played, such as ``against 3 x rule_hard``.
    heading : str
        Of the measure.
    ours : str
        Value with its interval.
    scripted : dict of str to str
        Those of the scripted players by name, the best first.
    even : str
        What equally good players come to; empty where the measure has nothing like that.
    verdict : {1, 0, -1}
        Better or worse than the best of them, with intervals that do not meet, or not told apart.
    drawn : tuple of str and {1, 0, -1}, optional
        The same of actions that are drawn as in training, where those were played too.
    """

    played: str
    heading: str
    ours: str
    scripted: dict[str, str]
    even: str
    verdict: int
    drawn: tuple[str, int] | None = None

    @property
    def best(self) -> str:
        """Return the name of the best scripted player."""
        return next(iter(self.scripted))


def conclude(run: RunFolder, outcome: Outcome) -> None:
    """Evaluate a run that has been trained, and print the results.

    All tables of the evaluation are in ``evaluation.txt`` of the run folder.

    Parameters
    ----------
    run : RunFolder
    outcome : Outcome
        Of its training.
    """
    console, text = tables.console(), io.StringIO()
    whole = Console(file=text, highlight=False, width=tables.WIDTH)
    with print_dots(f"{run.name}: evaluating"):
        record = evaluate(run, run.config.evaluation, whole)
    files.write_text(run.path / FILE, text.getvalue())
    compared = compare(record, get_judging(run.config.env))
    config = run.config
    lines = [
        f"{run.name}: {config.env}, {outcome.steps:,} decisions of trainer {config.trainer} in "
        f"{outcome.wall_s:,.0f} s, in {run.path}",
        *summarise(compared),
    ]
    for line in lines:
        _say(console, line)
    for block in make_tables(compared):
        console.print()
        console.print(block, width=WIDTH)
    if any(each.even for each in compared):
        console.print("\neven share: what each comes to where all are equally good")
    _say(console, f"all tables: {run.path / FILE}")


def _say(console: Console, line: str) -> None:
    """Print a line, broken between words by a terminal and not at all into a file."""
    console.print(line, markup=False, soft_wrap=not console.is_terminal)


def compare(record: Mapping[str, Any], judging: Judging) -> list[MeasureComparison]:
    """Compare the trained policy with scripted players, in all that they have played.

    Parameters
    ----------
    record : mapping
        ``evaluation.json``.
    judging : Judging
        Says which measure is compared.
    """
    compared = []
    players = record.get("matches", {}).get("players", 1)
    usual, even_share = judging.find_headline(players)
    for group, results in groups_of(record).items():
        goals = group == "goals reached"
        shown, equals = (_GOALS, None) if goals else (usual, even_share)
        heading = "% of" if goals else tables.name_column(shown)
        cell = partial(tables.show_interval, shown)
        values = {
            name: Interval(*each[shown.name])
            for name, each in results.items()
            if is_interval(each.get(shown.name))
        }
        ours = values.pop(AGENT, None)
        others = {name: x for name, x in values.items() if not name.startswith(_OURS)}
        if ours is None or not others:
            continue
        names = sorted(others, key=lambda name: -others[name].value)
        best = others[names[0]]
        even = "" if equals is None else cell(Interval(equals, math.nan, math.nan))
        scripted = {name: cell(others[name]) for name in names}
        drawn = values.get(_DRAWN)
        compared.append(
            MeasureComparison(
                group,
                heading,
                cell(ours),
                scripted,
                even,
                _judge(ours, best),
                None if drawn is None else (cell(drawn), _judge(drawn, best)),
            )
        )
    return compared


def _judge(ours: Interval, best: Interval) -> int:
    """Tell whether an interval lies above (1) or below (-1) another one; 0 where they meet."""
    return (ours.low > best.high) - (ours.high < best.low)


def summarise(compared: list[MeasureComparison]) -> list[str]:
    """Say in two lines with whom the trained policy is compared, and whether it is better."""
    if not compared:
        return ["compared with: nobody", "better or not: unknown, as no scripted player has played"]
    best = ", ".join(dict.fromkeys(each.best for each in compared))
    if len(compared) == 1:
        times, result = "", _WORDS[compared[0].verdict]
    else:
        times = f" in each of {len(compared)} comparisons"
        counts = [(word, sum(x.verdict == sign for x in compared)) for sign, word in _WORDS.items()]
        result = ", ".join(f"{word} in {count}" for word, count in counts if count)
    return [
        f"compared with: the best scripted player{times}: {best}",
        f"better or not: {result} (by 95 % intervals)",
    ]


def make_tables(compared: Sequence[MeasureComparison]) -> list[Table]:
    """Make tables of a row for each player and a column for each comparison, as many as it takes.

    Scripted players are in the order of the first comparison, the best first.
    """
    compared = compared[:COLUMNS]
    names = list(dict.fromkeys(name for each in compared for name in each.scripted))
    drawn = any(each.drawn for each in compared)
    rows = ["who plays", AGENT, *[_DRAWN] * drawn, *names[:ROWS]]
    rows += [f"{len(names) - ROWS} more"] * (len(names) > ROWS)
    rows += [_EVEN] * any(each.even for each in compared)
    rows += [_VERDICT, *[f"{_DRAWN} is"] * drawn]
    columns = [_make_column(each, rows) for each in compared]
    widths = (_measure_width(column) + _GAP for column in columns)
    parts = tables.fit_columns(widths, WIDTH - _measure_width(rows))
    return [_make_table([rows, *(columns[k] for k in part)]) for part in parts]


def _make_column(each: MeasureComparison, rows: Sequence[str]) -> list[str]:
    """Make heading and cells of a comparison; values stand below each other."""
    cells = {**each.scripted, AGENT: each.ours, _EVEN: each.even}
    verdicts = {_VERDICT: _WORDS[each.verdict], f"{_DRAWN} is": ""}
    if each.drawn is not None:
        cells[_DRAWN], verdicts[f"{_DRAWN} is"] = each.drawn[0], _WORDS[each.drawn[1]]
    parts = [cells.get(row, "").split(" [") for row in rows[1:] if row not in verdicts]
    width = max(len(value) for value, *_ in parts)
    shown = (" [".join([value.rjust(width), *ends]) for value, *ends in parts)
    opponents = each.played.removeprefix("against ")
    met = " against" if opponents != each.played else ""
    heading = f"{each.heading}{met}\n{opponents}"
    return [heading, *shown, *(verdicts[row] for row in rows if row in verdicts)]


def _measure_width(column: Sequence[str]) -> int:
    """Measure the width of a column; a long name is broken between words."""
    heading, *cells = column
    return max(map(len, [*heading.split(), *cells]))


def _make_table(columns: Sequence[Sequence[str]]) -> Table:
    """Make a table of columns, the first one names of players."""
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False)
    wide = max(0, *(_measure_width(column) for column in columns[1:]))
    for k, column in enumerate(columns):
        width = (
            min(_measure_width(column), WIDTH - wide - _GAP) if k == 0 else _measure_width(column)
        )
        table.add_column(Text(column[0]), overflow="fold", width=width, vertical="bottom")
    for k, row in enumerate(list(zip(*columns, strict=True))[1:]):
        table.add_row(*map(Text, row), style="bold" if k == 0 else None)
    return table
