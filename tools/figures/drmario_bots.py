"""Tables of Dr. Mario's bots."""

from __future__ import annotations

from collections.abc import Iterator

from tools.figures import records
from tools.figures.records import Record, Row, interval, newest, table

PLAYERS = ("greedy", "lookahead2", "lookahead3")


def bots() -> str:
    """Return how often bots clear levels at each speed, and in how many frames."""
    record, made = newest("drmario-bots.json"), []
    for level, speed, found in _cells(record):
        cells = [level, speed]
        for bot in PLAYERS:
            each = found[bot]
            cells += [interval(each["cleared"], 1, 100, " %"), f"{each['frames']['mean']:,.0f}"]
        made.append([*cells, f"{found[PLAYERS[-1]]['pills']['mean']:.0f}"])
    heads = ["level", "speed"]
    for bot in PLAYERS:
        heads += [f"`{bot}`", "frames"]
    return f"{table([*heads, 'pills'], made)}\n\n{record.source}."


def strongest() -> str:
    """Return what the strongest bots reach, with quantiles and what a decision costs."""
    record, made = newest("drmario-rollouts.json"), []
    for level, speed, found in _cells(record):
        for bot, each in found.items():
            frames = each["frames"]
            low, _, high = frames["quantiles"]
            made.append(
                [
                    f"{level}, {speed}",
                    f"`{bot}`",
                    interval(each["cleared"], 1, 100, " %"),
                    f"{frames['mean']:,.0f} ± {frames['error']:.0f}",
                    f"{low:,.0f} to {high:,.0f}",
                    f"{each['pills']['mean']:.1f}",
                    f"{each['cpu_us_per_decision'] / 1000:.2f} ms",
                ]
            )
    heads = ("level", "bot", "cleared", "frames", "10 % to 90 %", "pills", "a decision")
    return f"{table(heads, made)}\n\n{record.source}."


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


def _cells(record: Record) -> Iterator[tuple[str, str, Row]]:
    for level, speeds in record.head["levels"].items():
        for speed, found in speeds.items():
            yield level, speed, found
