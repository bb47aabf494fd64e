"""The standings of players at one table as tables in a terminal (``evaluate --against``)."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table as Printed

from training.evaluation import skill
from training.evaluation.contest import POINTS, Contest, Standing
from training.evaluation.judging import ShownColumn
from training.evaluation.loop import MAX_DECISIONS
from training.evaluation.tables import fit_columns, format_interval, name_column, show_interval

IQM, AHEAD, CPU = "IQM", "above next %", "CPU ms"  # headings
OVER = "points over next"
_NAME = 24  # letters of a name that a table has room for, where it is asked
_DIGITS = ((1, 3), (10, 2), (50, 1))  # of points up to a size; beyond it none


def show(console: Console, contest: Contest) -> None:
    """Print the standings, in as many tables as the terminal is too narrow for one."""
    seats = [
        (", drawn" if one.drawn else "") + (f" ({one.seats} seats)" if one.seats > 1 else "")
        for one in contest.standings
    ]
    names = [escape(one.name) + more for one, more in zip(contest.standings, seats, strict=True)]
    columns = _make_columns(contest.standings) | _make_own_columns(contest)
    groups = f", {contest.groups} groups" if contest.groups > 1 else ""
    title = (
        f"{contest.games:,} games: {contest.deals:,} deals, {contest.num_players} rotations of the "
        f"seats{groups}"
    )
    widths = [3 + max(map(len, (heading, *cells))) for heading, cells in columns.items()]
    room = console.width - 4 - min(_NAME, max(map(len, names)))
    for numbers in fit_columns(widths, room):
        part = [[*columns][k] for k in numbers]
        table = Printed(title=title if "points" in part else None, title_justify="left")
        table.add_column("player", overflow="fold")
        for heading in part:
            table.add_column(heading, justify="right", no_wrap=True)
        for k, name in enumerate(names):
            table.add_row(name, *(columns[heading][k] for heading in part))
        console.print(table)
    for line in _explain_columns(contest, list(columns)):
        console.print(line, style="dim")


def _make_columns(standings: Sequence[Standing]) -> dict[str, list[str]]:
    """Make the cells of each column by its heading."""
    ends = [abs(end) for one in standings for end in (one.points.low, one.points.high)]
    decimals = next((digits for size, digits in _DIGITS if max(ends) <= size), 0)
    columns = {
        "points": [format_interval(one.points, decimals) for one in standings],
        "wins %": [format_interval(one.wins, 1, 100) for one in standings],
    }
    if any(one.draws.value for one in standings):
        columns["drawn %"] = [format_interval(one.draws, 1, 100) for one in standings]
    columns["openskill"] = [format_interval(one.skill, 1) for one in standings]
    nexts = [*zip(standings, (one.name for one in standings[1:]), strict=False)]
    over = [one.over[name] for one, name in nexts]
    columns[OVER] = [*(format_interval(each, decimals) for each in over), ""]
    columns[IQM] = [format_interval(one.iqm, decimals) for one in standings]
    ahead = [one.ahead[name] for one, name in nexts]
    columns[AHEAD] = [*(format_interval(each, 1, 100) for each in ahead), ""]
    return columns


def _make_own_columns(contest: Contest) -> dict[str, list[str]]:
    """Make the cells of the game's own measures, and of the cost, by heading."""
    shown = [ShownColumn(name, column) for name, column in contest.about.items()]
    columns = {
        name_column(each): [
            show_interval(each, one.measures[each.name]) for one in contest.standings
        ]
        for each in shown
    }
    spent = [one.cpu_ms for one in contest.standings]
    if any(each is not None for each in spent):
        columns[CPU] = ["" if each is None else f"{each:.3g}" for each in spent]
    return columns


def _explain_columns(contest: Contest, columns: Sequence[str]) -> list[str]:
    """Explain the columns, a sentence or two a line."""
    drawn = ", which are those drawn" if "drawn %" in columns else ""
    ranked = (
        "mean points, which this game is played for" if contest.judged_by == POINTS else "openskill"
    )
    lines = [
        f"Best first by {ranked}",
        "Means of a seat and game with 95 % intervals over deals; shared wins count 1/k" + drawn,
        "openskill: mu by Plackett and Luce, 25 at first; the mean over "
        f"{skill.ORDERS} random orders of the games",
        f"{OVER}: the difference of their points, deals paired",
        f"{IQM}: mean points of the middle half of the deals; {AHEAD}: deals on which it comes to "
        "more than the next, equal ones half",
    ]
    if any(one.drawn for one in contest.standings):
        lines.append("drawn: its actions are drawn from its policy; else it takes the best one")
    if CPU in columns:
        lines.append(f"{CPU}: CPU time of a decision, on the mean of all that it took")
    if contest.given_up:
        lines.append(
            f"{contest.given_up} games were given up after {MAX_DECISIONS:,} decisions: "
            "their points count as they stood, and nobody has won"
        )
    return [f"{line}." for line in lines]
