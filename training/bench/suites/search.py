"""What search costs on one core, of every game that says how it is measured; ``--only search``."""

from __future__ import annotations

from training.bench import games
from training.bench.game import Searching
from training.bench.suite import Suite
from training.bench.targets import Row


def measured() -> dict[str, Searching]:
    """Return how search is measured, by the titles of the games."""
    return {game.title: game.search for game in games.registered() if game.search is not None}


def rows(repeats: int, seconds: float) -> list[Row]:
    """Return the rows of every game; each says whose it is."""
    return [
        row | {"game": title}
        for title, search in measured().items()
        for row in search.rows(repeats, seconds)
    ]


def judge(found: list[Row]) -> list[Row]:
    """Return the targets of every game."""
    return [
        judged
        for title, search in measured().items()
        for judged in search.targets([row for row in found if row["game"] == title])
    ]


SUITE = Suite(
    name="search",
    rows=rows,
    judge=judge,
    title=lambda _: "Bars of search; CPU time of one core, medians",
    seconds=4.0,
    short_seconds=1.0,
)
