"""Tables of Dr. Mario's bots."""

from __future__ import annotations

from tools.figures import records
from tools.figures.records import Record, Row, interval, table

COMPARED = ("lookahead3", "lookahead2", "greedy")


def bot_matches() -> str:
    """Return how matches between bots end."""
    made, sources = [], []
    for path in sorted(records.RECORDS.glob("drmario-match-*.json")):
        record = Record(path)
        one, other = record.head["players"]
        drawn = interval(one["draw_share"], 1, 100, " %")
        shares = [interval(each["win_share"], 1, 100, " %") for each in (one, other)]
        made.append([f"`{one['name']}`", shares[0], drawn, shares[1], f"`{other['name']}`"])
        sources.append(record.source)
    heads = ("", "wins", "draws", "wins", "")
    return f"{table(heads, made)}\n\n{', '.join(sources)}."


def bots() -> str:
    """Return what share of games bots clear at every level and speed, and in how many frames."""
    record = Record(records.RECORDS / "drmario-bots.json")
    made = [
        [
            level,
            speed,
            *(f"{rate_of(found[bot])}; {mean_of(found[bot], 'frames')}" for bot in COMPARED),
        ]
        for level, speed, found in cells_of(record)
    ]
    heads = ("level", "speed", *(f"`{bot}`" for bot in COMPARED))
    return f"{table(heads, made)}\n\n{record.source}."


def strongest() -> str:
    """Return how the two strongest bots play."""
    record = Record(records.RECORDS / "drmario-rollouts.json")
    made = []
    for level, speed, found in cells_of(record):
        for bot, each in found.items():
            means = mean_of(each, "pills"), mean_of(each, "frames")
            time = f"{each['cpu_us_per_decision'] / 1000:.2f} ms"
            made.append([level, speed, f"`{bot}`", rate_of(each), *means, time])
    heads = ("level", "speed", "bot", "cleared", "pills", "frames", "a decision")
    return f"{table(heads, made)}\n\n{record.source}."


def cells_of(record: Record) -> list[tuple[str, str, Row]]:
    """Return level, speed and what bots reached, of every cell."""
    levels = record.head["levels"]
    return [(level, speed, found) for level in levels for speed, found in levels[level].items()]


def rate_of(each: Row) -> str:
    """Return the share of cleared games with its interval."""
    return interval(each["cleared"], 1, 100, " %")


def mean_of(each: Row, what: str) -> str:
    """Return the mean of pills or frames of cleared games."""
    return "" if each[what] is None else f"{each[what]['mean']:,.0f}"
