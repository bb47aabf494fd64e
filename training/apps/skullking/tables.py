"""Results of evaluations of Skull King as tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table

from training.evaluation.intervals import Interval
from training.evaluation.judging import Shown
from training.evaluation.tables import format_interval, name_column, show_interval

# Measure, heading, decimals, and the factor that turns it into what is shown.
ABILITY_ROWS = (
    ("rosie_kept", "Rosie: kept the lead %", 1, 100),
    ("rosie_kept_won", "  of these, next trick won %", 1, 100),
    ("bendt", "Bendt: hand strength", 2, 1),
    ("bendt_needed", "  tricks needed", 2, 1),
    ("bendt_not_needed", "  none needed", 2, 1),
    ("rascal_won", "Rascal: bets won %", 1, 100),
    ("rascal_points", "  points a decision", 1, 1),
    ("harry_saves", "Harry: bids saved %", 1, 100),
    ("harry_wins", "  bids made %", 1, 100),
)


def match_table(
    results: Mapping[str, Mapping[str, Mapping[str, Interval]]],
    columns: Sequence[Shown],
    title: str,
    caption: str,
) -> Table:
    """Return one row for each opponent set and policy.

    Parameters
    ----------
    results : mapping
        Opponent set to policy to measure to interval.
    columns : sequence of Shown
    title, caption : str
    """
    table = Table(title=title, caption=caption, title_justify="left", caption_justify="left")
    table.add_column("opponents")
    table.add_column("policy")
    for each in columns:
        table.add_column(name_column(each), justify="right")
    for opponents, policies in results.items():
        for k, (name, means) in enumerate(policies.items()):
            cells = [show_interval(each, means[each.name]) for each in columns]
            last = k == len(policies) - 1
            table.add_row(opponents if k == 0 else "", name, *cells, end_section=last)
    return table


def round_table(measures: Mapping[str, Interval], title: str) -> Table:
    """Return bids made and points in each round and phase of one policy's games."""
    table = Table(title=title, title_justify="left")
    table.add_column("round")
    table.add_column("bids made %", justify="right")
    table.add_column("points", justify="right")
    for name, interval in measures.items():
        if name.startswith("bid_hit_"):
            part = name.removeprefix("bid_hit_")
            points = measures.get(f"points_{part}")
            cells = (
                format_interval(interval, 1, 100),
                "" if points is None else format_interval(points, 1),
            )
            table.add_row(part.removeprefix("round_"), *cells)
    return table


def goal_table(
    rates: Mapping[str, Mapping[str, Interval]],
    gaps: Mapping[str, Interval],
    baseline: str,
    title: str,
    caption: str,
) -> Table:
    """Return the goal-hit rates of all policies, overall and in each round.

    Parameters
    ----------
    rates : mapping
        Policy to group of rounds to rate.
    gaps : mapping
        Policy to its overall rate minus that of ``baseline``.
    baseline, title, caption : str
    """
    table = Table(title=title, caption=caption, title_justify="left", caption_justify="left")
    table.add_column("goals reached %")
    for name in rates:
        table.add_column(name, justify="right")
    for group in rates[baseline]:
        cells = [format_interval(of[group], 1, 100) for of in rates.values()]
        table.add_row(group.replace("_", " "), *cells, end_section=group == "overall")
    table.add_section()
    cells = [format_interval(gaps[name], 1, 100) if name in gaps else "" for name in rates]
    table.add_row(f"minus {baseline}", *cells)
    return table


def ability_table(players: Mapping[str, Mapping[str, Interval]], title: str, caption: str) -> Table:
    """Make the table of players' pirate abilities, a row for each measure."""
    table = Table(title=title, caption=caption, title_justify="left", caption_justify="left")
    table.add_column("own decisions")
    for name in players:
        table.add_column(name, justify="right")
    for measure, heading, digits, factor in ABILITY_ROWS:
        cells = [format_interval(each[measure], digits, factor) for each in players.values()]
        table.add_row(heading, *cells)
    return table
