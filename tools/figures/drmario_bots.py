"""Tables of Dr. Mario's bots."""

from __future__ import annotations

from tools.figures import records
from tools.figures.records import Record, interval, newest, table

# The agent that learnt from a bot, beside bots: where it learnt, and at a level that it never saw.
LEARNT, OTHER = "drmario-network.json", "drmario-network-level5.json"
LEVEL, SPEED = "20", "high"


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
    """Return how an agent plays beside bots in the same games, by level and speed."""
    taken, made = [newest(name) for name in (LEARNT, OTHER)], []
    cells = [
        (f"{level}, {speed}", players)
        for record in taken
        for level, speeds in record.head["levels"].items()
        for speed, players in speeds.items()
    ]
    for where, players in cells:
        for who, found in players.items():
            frames, pills = found["frames"], found["pills"]
            least, _, most = frames["quantiles"]
            mean = f"{frames['mean']:,.0f} ± {1.96 * frames['error']:,.0f}"
            row = [where, f"`{who}`", interval(found["cleared"], 1, 100, " %"), mean]
            row += [f"{least:,.0f} to {most:,.0f}", f"{pills['mean']:,.0f}"]
            made.append([*row, f"{found['cpu_us_per_decision']:,.0f} µs"])
            where = ""
    heads = ("level", "who plays", "cleared", "frames to clear", "of eight in ten", "pills")
    games = f"{taken[0].head['episodes']:,} games of each level"
    sources = ", ".join(record.source for record in taken)
    return f"{table((*heads, 'a decision'), made)}\n\n{sources}, {games}."
