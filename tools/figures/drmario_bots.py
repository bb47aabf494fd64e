"""Tables of Dr. Mario's bots."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing

from fastenv.drmario.tables import SPEEDS
from tools.figures import records
from tools.figures.records import Record, Row, interval, table

TIMES = "drmario-times.sqlite"
# The agent that learnt from a bot, beside bots: where it learnt, and at a level that it never saw.
LEARNT, OTHER = "drmario-network.json", "drmario-network-level5.json"


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


def beside_bots() -> str:
    """Return how an agent plays beside bots: where it learnt, and at a level that it never saw."""
    return "\n\n".join(played(Record(records.RECORDS / name)) for name in (LEARNT, OTHER))


def strongest() -> str:
    """Return how the two strongest bots play."""
    return played(Record(records.RECORDS / "drmario-rollouts.json"))


def every_level() -> str:
    """Return how bots play at all levels and speeds, but for those that never clear one."""
    record = Record(records.RECORDS / "drmario-bots.json")
    cells = [found for _, _, found in cells_of(record)]
    never = [bot for bot in cells[0] if not any(found[bot]["cleared"][0] for found in cells)]
    named = " and ".join(f"`{bot}`" for bot in never)
    return f"{named} cleared no game at any level.\n\n{played(record, never)}"


def played(record: Record, but: Sequence[str] = ()) -> str:
    """Return how players did in the same games, one a line, but for some."""
    made = []
    for level, speed, found in cells_of(record):
        for who, each in found.items():
            if who in but:
                continue
            frames, spread = each["frames"], ""
            if frames is not None:
                least, _, most = frames["quantiles"]
                spread = f"{least:,.0f} to {most:,.0f}"
            means = mean_of(each, "frames"), spread, mean_of(each, "pills")
            time = f"{each['cpu_us_per_decision'] / 1000:.2f} ms"
            made.append([level, speed, f"`{who}`", rate_of(each), *means, time])
    heads = ("level", "speed", "who plays", "cleared", "frames", "of eight in ten", "pills")
    return f"{table((*heads, 'a decision'), made)}\n\n{of_games(record)}"


def cells_of(record: Record) -> list[tuple[str, str, Row]]:
    """Return level, speed and what players reached, of every cell."""
    levels = record.head["levels"]
    return [(level, speed, found) for level in levels for speed, found in levels[level].items()]


def rate_of(each: Row) -> str:
    """Return the share of cleared games with its interval."""
    return interval(each["cleared"], 1, 100, " %")


def mean_of(each: Row, what: str) -> str:
    """Return the mean of pills or frames of cleared games, with its 95 % interval's half."""
    found = each[what]
    if found is None:
        return ""
    error = "" if found["error"] is None else f" ± {1.96 * found['error']:,.0f}"
    return f"{found['mean']:,.0f}{error}"


def of_games(record: Record) -> str:
    """Return the source of a table, and its games."""
    return f"{record.source}, {record.head['episodes']:,} games each."


def fastest() -> str:
    """Return the frames of the fastest clears that a beam found, of the games of each level."""
    record = Record(records.RECORDS / "drmario-fastest.json")
    made: dict[tuple[str, str], list[str]] = {}
    for game in record.head["games"]:
        frames = "not cleared" if game["frames"] is None else f"{game['frames']:,}"
        made.setdefault((str(game["level"]), game["speed"]), []).append(frames)
    rows = [[*where, *frames] for where, frames in made.items()]
    heads = ("level", "speed", *(f"`S{k:03}`" for k in range(max(map(len, made.values())))))
    return f"{table(heads, rows)}\n\n{record.source}, width {record.head['width']}."


def registered_times() -> str:
    """Return the frames of the best clears of all registered games, by level and speed."""
    path = records.RECORDS / TIMES
    query = "SELECT level, speed, seed, MIN(frames) FROM clears GROUP BY level, speed, seed"
    found: dict[int, dict[str, list[int]]] = {}
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as store:
        for level, speed, _, frames in store.execute(query):
            found.setdefault(level, {}).setdefault(speed, []).append(frames)
    rows = [
        [str(level), *(_range(found[level].get(speed, [])) for speed in SPEEDS)]
        for level in sorted(found)
    ]
    games = sum(len(times) for speeds in found.values() for times in speeds.values())
    return f"{table(('level', *SPEEDS), rows)}\n\n`benchmarks/{TIMES}`, {games:,} games."


def _range(times: Sequence[int]) -> str:
    return f"{sum(times) / len(times):,.0f} ({min(times):,} to {max(times):,})" if times else ""
