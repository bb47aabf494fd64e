"""Speed of the environments of all games; ``--only bars``."""

from __future__ import annotations

from typing import Any

from benchmarks import drmario, gameboy, prospector, skullking
from training.bench.games import GAMES
from training.bench.runner import GAME_RECORDS, BenchmarkOptions, Suite
from training.bench.targets import Row

# By the name of a game: its module has ``all_rows``.
MODULES: dict[str, Any] = {
    "skullking": skullking,
    "prospector": prospector,
    "drmario": drmario,
    "gameboy": gameboy,
}


def measure(options: BenchmarkOptions) -> list[Row]:
    """Measure the rows of the game that is asked for, or of all but those with records alone."""
    named = options.args.game
    rows = []
    for name in [named] if named else [name for name in MODULES if name not in GAME_RECORDS]:
        measured = MODULES[name].all_rows(options.repeats, options.seconds, options.args.lanes)
        rows += [row | {"game": GAMES[name].title} for row in measured]
    return rows


SUITE = Suite(
    measure,
    title="Bars: {games}; medians of {repeats}",
    targets=("bars",),
    short_seconds=1.0,
)
