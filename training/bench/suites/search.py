"""Benchmark of search on one core, for every game that has one; ``--only search``."""

from __future__ import annotations

from training.bench import games
from training.bench.game import Searching
from training.bench.suite import Suite
from training.bench.targets import Row


def measured() -> dict[str, Searching]:
    """Return the benchmarks of search by the titles of the games."""
    return {game.title: game.search for game in games.registered() if game.search is not None}


def rows(repeats: int, seconds: float) -> list[Row]:
    """Measure the rows of every game; each names its game."""
    return [
        row | {"game": title}
        for title, search in measured().items()
        for row in search.rows(repeats, seconds)
    ]


def judge(rows: list[Row]) -> list[Row]:
    """Return the targets of every game."""
    return [
        judged
        for title, search in measured().items()
        for judged in search.targets([row for row in rows if row["game"] == title])
    ]


SUITE = Suite(
    name="search",
    rows=rows,
    judge=judge,
    title=lambda _: "Bars of search; CPU time of one core, medians",
    seconds=4.0,
    short_seconds=1.0,
)
