"""Tables of what agents of Skull King bid, from ``benchmarks/*-bids.json``."""

from __future__ import annotations

from tools.figures.records import Record, Row, newest, percent, table


def overall(file: str) -> str:
    """Return how often high bids are made, by the agent and by search on the same decisions."""
    record = newest(file)
    played, searched = record.head["played"], record.head["searched"]
    worlds = searched["options"]["worlds"]
    rows = [
        _overall("four of it, all bids", played),
        _overall("four of it, bids drawn of these", searched["agent"]),
        _overall(f"search with {worlds} worlds, the same bids", searched["search"]),
    ]
    high = record.head["high"]
    heads = ("who bids", "bids", f"of {high} and more", "highest", "mean bid", "bids made")
    options = ", ".join(
        f"`{name}={str(value).lower() if isinstance(value, bool) else value}`"
        for name, value in searched["options"].items()
        if value is not None
    )
    return f"{table(heads, rows)}\n\n{_source(record)} Options of the search: {options}."


def _overall(who: str, summary: Row) -> list[str]:
    made = percent(summary["made"]) if "made" in summary else ""
    cells = [f"{summary['bids']:,}", percent(summary["high"]), f"{_highest(summary)}"]
    return [who, *cells, f"{summary['mean_bid']:.2f}", made]


def _highest(summary: Row) -> int:
    """Return the highest bid of a summary."""
    return max(bid for bid, count in enumerate(summary["counts"]) if count)


def by_strength(file: str) -> str:
    """Return bids, tricks and bids made of the agent by hand strength."""
    record, made = newest(file), []
    for row in record.head["played"]["by_strength"]:
        means = [f"{row[name]:.2f}" for name in ("mean_bid", "mean_won")]
        shares = [percent(row[name]) for name in ("high", "made")]
        made.append([f"{row['strength']}", f"{row['bids']:,}", *means, *shares])
    high = f"of {record.head['high']} and more"
    heads = ("hand strength", "bids", "mean bid", "tricks won", high, "bids made")
    highest = f"Its highest bid is {_highest(record.head['played'])}."
    return f"{table(heads, made)}\n\n{_source(record)} {highest}"


def hands(file: str) -> str:
    """Return the bids on the hands of the list, beside those that are right."""
    record, made = newest(file), []
    for row in record.head["hands"]:
        right = f"{row['least']} to {row['most']}" if row["least"] < row["most"] else row["most"]
        missed = "" if row["right"] else " (missed)"
        cells = [f"{right}", f"{row['bid']}{missed}", f"{row['search']}"]
        made.append([row["name"], row["kind"], f"{row['round']}", *cells])
    worlds = record.head["searched"]["options"]["worlds"]
    heads = ("hand", "kind", "round", "right", "its bid", f"search with {worlds} worlds")
    return f"{table(heads, made)}\n\n{record.source}."


def _source(record: Record) -> str:
    return f"{record.source}, {record.head['rounds']:,} rounds."
