"""What a training says at its end: what it is, against whom, better or not; a short table."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from training.evaluation import tables
from training.evaluation.bootstrap import Interval
from training.evaluation.protocols import get_protocol
from training.evaluation.run_evaluation import evaluate
from training.evaluation.tables import Column, format_interval
from training.evaluation.trained import AGENT
from training.logs.run_data import groups_of, is_interval
from training.run import files
from training.run.folder import RunFolder
from training.run.session import Outcome
from training.run.ticker import print_dots

FILE = "evaluation.txt"
WIDTH, ROWS = 80, 12  # of the table; a row may take two lines
_GOALS: Column = ("overall", "reached %", lambda interval: format_interval(interval, 1, 100))
_OURS = (AGENT, "decoded")  # how players begin that are made of the trained network
_HEADINGS = ("played", "by", AGENT, "best scripted player", f"{AGENT} is")
_WORDS = {1: "better", 0: "unclear", -1: "worse"}


class MeasureComparison(NamedTuple):
    """A measure of the trained policy beside that of the best scripted player.

    Parameters
    ----------
    played : str
        What both have played, such as ``against 3 x rule_hard``.
    heading : str
        Of the measure.
    ours, theirs : str
        Values with their intervals.
    best : str
        Name of the scripted player.
    verdict : {1, 0, -1}
        Better or worse, with intervals that do not meet, or not told apart.
    """

    played: str
    heading: str
    ours: str
    best: str
    theirs: str
    verdict: int


def conclude(run: RunFolder, outcome: Outcome, console: Console) -> None:
    """Evaluate a run that has been trained, and print what came out.

    All tables of the evaluation are in ``evaluation.txt`` of the run folder.

    Parameters
    ----------
    run : RunFolder
    outcome : Outcome
        Of its training.
    console : rich.console.Console
    """
    text = io.StringIO()
    whole = Console(file=text, highlight=False, width=tables.WIDTH)
    with print_dots(f"{run.name}: evaluating"):
        record = evaluate(run, run.config.evaluation, whole)
    files.write_text(run.path / FILE, text.getvalue())
    protocol = get_protocol(run.config.env)
    found = compare(record, lambda group: protocol.columns(group)[0])
    config = run.config
    lines = [
        f"{run.name}: {config.env}, {outcome.steps:,} decisions of trainer {config.trainer} in "
        f"{outcome.wall_s:,.0f} s, in {run.path}",
        *verdict(found),
    ]
    for line in lines:
        _say(console, line)
    if found:
        console.print(table(found), width=WIDTH)
    _say(console, f"all tables: {run.path / FILE}")


def _say(console: Console, line: str) -> None:
    """Print a line, broken between words by a terminal and not at all into a file."""
    console.print(line, markup=False, soft_wrap=not console.is_terminal)


def compare(record: Mapping[str, Any], column_of: Any) -> list[MeasureComparison]:
    """Return how the trained policy compares with the best scripted player, in all it has played.

    Parameters
    ----------
    record : mapping
        ``evaluation.json``.
    column_of : callable
        Takes a group of results and returns the column of the measure they are judged by.
    """
    found = []
    for group, players in groups_of(record).items():
        measure, heading, cell = _GOALS if group == "goals reached" else column_of(group)
        values = {
            name: Interval(*each[measure])
            for name, each in players.items()
            if is_interval(each.get(measure))
        }
        ours = values.get(AGENT)
        scripted = {name: x for name, x in values.items() if not name.startswith(_OURS)}
        if ours is None or not scripted:
            continue
        best = max(scripted, key=lambda name: scripted[name].value)
        theirs = scripted[best]
        sign = (ours.low > theirs.high) - (ours.high < theirs.low)
        found.append(MeasureComparison(group, heading, cell(ours), best, cell(theirs), sign))
    return found


def verdict(found: list[MeasureComparison]) -> list[str]:
    """Return against whom the trained policy has played, and whether it is better, in two lines."""
    if not found:
        return ["against whom: nobody", "better or not: unknown, as no scripted player has played"]
    best = ", ".join(dict.fromkeys(each.best for each in found))
    counts = [(word, sum(x.verdict == sign for x in found)) for sign, word in _WORDS.items()]
    said = ", ".join(f"{word} in {count}" for word, count in counts if count)
    times = "" if len(found) == 1 else f" in each of {len(found)} comparisons"
    return [
        f"against whom: the best scripted player{times}: {best}",
        f"better or not: {said if times else _WORDS[found[0].verdict]} (by 95 % intervals)",
    ]


def table(found: list[MeasureComparison]) -> Table:
    """Return a row for each comparison, at most ``ROWS``: values, and their intervals below."""
    rows = [_HEADINGS]
    for each in found[:ROWS]:
        ours, theirs = (text.replace(" [", "\n[") for text in (each.ours, each.theirs))
        cells = (each.played.removeprefix("against "), each.heading, ours)
        rows.append((*cells, f"{each.best} {theirs}", _WORDS[each.verdict]))
    found_table = Table(box=None, padding=(0, 1, 0, 0))
    for heading, width in zip(_HEADINGS, _widths(rows), strict=True):
        found_table.add_column(heading, overflow="fold", width=width)
    for row in rows[1:]:
        found_table.add_row(*row)
    return found_table


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return how wide columns are: as their longest lines, or less as long as no word is broken.

    Rich keeps to the least width of a column only after it has shrunk all, beyond the edge.
    """
    columns = list(zip(*rows, strict=True))
    widths = [max(len(line) for text in x for line in text.splitlines()) for x in columns]
    words = [max(len(word) for text in x for word in text.split()) for x in columns]
    while sum(widths) + len(widths) > WIDTH and widths != words:
        spare = [width - word for width, word in zip(widths, words, strict=True)]
        widths[spare.index(max(spare))] -= 1
    return widths
