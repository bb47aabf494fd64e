"""Tables of Dr. Mario's bots."""

from __future__ import annotations

from tools.figures import records
from tools.figures.records import Record, interval, newest, table

LEARNT = "drmario-network.json"  # the agent that learnt from a bot, beside bots
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
    """Return how an agent plays at the level that it learnt, beside bots in the same games."""
    record, made = newest(LEARNT), []
    for who, found in record.head["levels"][LEVEL][SPEED].items():
        frames, pills = found["frames"], found["pills"]
        cells = [f"`{who}`", interval(found["cleared"], 1, 100, " %")]
        if frames is not None:
            least, _, most = frames["quantiles"]
            cells += [f"{frames['mean']:,.0f} ± {1.96 * frames['error']:,.0f}"]
            cells += [f"{least:,.0f} to {most:,.0f}", f"{pills['mean']:,.0f}"]
        else:
            cells += ["", "", ""]
        made.append([*cells, f"{found['cpu_us_per_decision']:,.0f} µs"])
    heads = ("who plays", "cleared", "frames to clear", "of eight in ten", "pills", "a decision")
    return f"{table(heads, made)}\n\n{record.source}, {record.head['episodes']:,} games."
