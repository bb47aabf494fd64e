"""Tables of what search is worth, from the records in ``benchmarks/``."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

import numpy as np

from tools.figures.records import (
    Row,
    interval,
    newest,
    percent,
    table,
)
from tools.search_study import ALONE, MIXED, PARTS_OF_A_WIN, list_defaults
from training.evaluation.intervals import Interval, Resamples

PAIRED_LEVEL, PAIRED_RESAMPLES = 0.99, 20_000
STRANGERS = ("pretrained/skullking-ppo", "heuristic", "rule_hard")
WITHOUT = "none"
FAIR = "fair, by the network"
PART_NAMES = {
    "best": "the bars",
    WITHOUT: "without search",
    "worlds": "worlds",
    "blueprint": "who plays rollouts",
    "belief": "belief",
    "outcome": "what is judged",
    "horizon": "where rollouts end",
    "value": "closed by a value network",
    "bids": "what is searched",
    "halving": "allocation",
    "budget": "milliseconds a decision",
    "open": "all cards open",
    "bot": "a bot that searches",
}


def skull_king(name: str = "skullking-search.json") -> str:
    """Return wins of one seat against three of each stranger, by what is searched how."""
    record, made = newest(name), []
    for part, label, rows in _groups(record.head["rows"]):
        cells = [percent(rows[other]["win_share"]) if other in rows else "" for other in STRANGERS]
        known = [row for row in rows.values() if "cpu_ms_per_decision" in row]
        spent = [row["cpu_ms_per_decision"] for row in known]
        cost = f"{sum(spent) / len(spent):.2f}" if spent and part != WITHOUT else ""
        games = " / ".join(f"{rows[other]['games']:,}" for other in STRANGERS if other in rows)
        made.append([PART_NAMES[part], label, *cells, cost, games])
    heads = ("", "one seat", *(f"3 x `{other}`" for other in STRANGERS), "CPU ms", "games")
    commits = dict.fromkeys(row["git_rev"][:7] for row in record.head["rows"])
    source = f"`benchmarks/{record.path.name}`, rows at {', '.join(commits)}"
    return f"{table(heads, made)}\n\n{source}. CPU ms is the mean over the opponents."


def open_cards(name: str = "skullking-search.json") -> str:
    """Return the sentence that compares fair search with search that sees all cards."""
    record = newest(name)
    rows = {
        (row["part"], row["label"]): row["win_share"]
        for row in record.head["rows"]
        if row["against"] == STRANGERS[0]
    }
    bound, fair = (rows["open", label] for label in ("all cards open, by the network", FAIR))
    even = 0.25
    share = (fair[0] - even) / (bound[0] - even)
    return (
        f"With all cards open the same search wins {percent(bound)} against three "
        f"of the agent, and fair search {percent(fair)}. So it reaches "
        f"{100 * share:.0f} % of what open cards bring beyond an even share. {record.source}."
    )


def champion(name: str = "skullking-champion-search.json") -> str:
    """Return the table of the champion's wins, alone and with each search by its full name."""
    record, made = newest(name), []
    gaps = compare_with_alone(record.head["rows"])
    for row in record.head["rows"]:
        cells = [percent(row["win_share"])]
        if gaps:
            gap = gaps.get((row["who"], row["against"]))
            cells.append(interval((gap.value, gap.low, gap.high), 1, 100, " %") if gap else "")
        searches = row["who"].startswith("search:")
        cells += [interval(row["points"])]
        cells += [f"{row['cpu_ms_per_decision']:.2f}" if searches else "", f"{row['games']:,}"]
        against = row["against"]
        made.append(
            [f"`{row['who']}`", f"`{against}`" if against == MIXED else f"3 x `{against}`", *cells]
        )
    paired = ("beside the agent alone, 99 %",) if gaps else ()
    heads = ("who plays", "against", "wins", *paired, "points", "CPU ms a decision", "games")
    against = {row["against"] for row in record.head["rows"]}
    is_whole = len(record.head["rows"]) >= len(list_defaults("")) * len(against)
    missing = (
        "" if is_whole else " The command plays more searches, which this record does not have."
    )
    return f"{table(heads, made)}\n\n{record.source}: `{record.head['command']}`.{missing}"


def compare_with_alone(rows: Sequence[Row]) -> dict[tuple[str, str], Interval]:
    """Compare each row of search with the agent alone, by who plays and against whom.

    Intervals of 99 % of the difference in the share of wins, paired by deal. Rows without the wins
    on each deal, or with other deals than the agent alone, are left out.
    """
    alone = {row["against"]: row for row in rows if row["label"] == ALONE}
    found = {}
    for row in rows:
        beside = alone.get(row["against"])
        if beside is None or row is beside or not _have_equal_deals(row, beside):
            continue
        wins = np.stack([_read_wins(row), _read_wins(beside)], axis=1)
        drawn = Resamples(
            wins, np.full(wins.shape, row["games"] / row["deals"]), PAIRED_RESAMPLES, 0
        )
        found[row["who"], row["against"]] = drawn.difference(0, 1, PAIRED_LEVEL)
    return found


def _have_equal_deals(*rows: Row) -> bool:
    """Tell whether rows have the wins on each deal, and the same deals."""
    which = {(row["first_seed"], row["deals"], row["games"]) for row in rows}
    return len(which) == 1 and all("twelfths_won" in row for row in rows)


def _read_wins(row: Row) -> np.ndarray:
    """Read the games won on each deal, float64 (deals,)."""
    return np.array(row["twelfths_won"].split(), np.float64) / PARTS_OF_A_WIN


def _groups(rows: Iterable[Row]) -> list[tuple[str, str, dict[str, Row]]]:
    """Return rows by part and label, in the order of the parts."""
    found: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        found.setdefault((row["part"], row["label"]), {})[row["against"]] = row
    parts = [*PART_NAMES]
    ordered = sorted(found, key=lambda key: parts.index(key[0]))
    return [(part, label, found[part, label]) for part, label in ordered]


def last_tricks(name: str = "skullking-last-tricks.json") -> str:
    """Return how far decisions in the last tricks are from the best answer."""
    record, made = newest(name), []
    for row in record.head["rows"]:
        cells = [f"{row['same']:.0%}", interval(row["regret"], 2, 1, "")]
        made.append([f"`{row['who']}`", f"{row['tricks']}", f"{row['positions']:,}", *cells])
    heads = ("who", "tricks left", "decisions", "plays the best", "regret in points")
    return f"{table(heads, made)}\n\n{record.source}."


def prospector(name: str = "prospector-search.json") -> str:
    """Return a searcher beside the player that it searches for, in Asteroid Prospector."""
    record, made = newest(name), []
    for who, found in record.head["policies"].items():
        ranges = found["intervals"]
        cells = [interval(ranges[column], digits, 1, "") for column, digits in _PROSPECTOR]
        made.append([f"`{who}`", f"{record.head['count']:,}", *cells])
    heads = ("who", "episodes", *(column.replace("_", " ") for column, _ in _PROSPECTOR))
    return f"{table(heads, made)}\n\n{record.source}."


def open_spiel(name: str = "openspiel-hearts.json") -> str:
    """Return the speed of a search of OpenSpiel, and that of our rollouts, in sentences."""
    record = newest(name)
    theirs = statistics.median(record.head["simulations_per_cpu_s"])
    plays = theirs * record.head["plays_of_a_simulation_at_most"]
    ours = statistics.median(record.head["plays_per_cpu_s"])
    return (
        f"OpenSpiel 2.0.2 in the same minutes: {theirs:,.0f} simulations of IS-MCTS in Hearts a "
        "CPU second, with random rollouts, all in C++. With its tree, that is at most "
        f"{plays / 1e6:.1f} M plays. Our bare rollouts, without a tree and without drawing worlds, "
        f"were {ours / 1e6:.1f} M. So this compares no search with a search. {record.source}."
    )


_PROSPECTOR = (("net_profit", 0), ("return", 2), ("steps", 0))
