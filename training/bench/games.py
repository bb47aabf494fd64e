"""The games that are measured: :mod:`training.composition` registers them."""

from __future__ import annotations

from training.bench.game import GameBenchmark
from training.run.registry import BENCHMARKS


def names() -> tuple[str, ...]:
    """Return the games as ``--game`` takes them, the first one where none is named."""
    return tuple(BENCHMARKS)


def get(name: str) -> GameBenchmark:
    """Load the benchmark of a game."""
    game: GameBenchmark = BENCHMARKS.load(name)
    return game


def registered() -> list[GameBenchmark]:
    """Load the benchmarks of all games."""
    return [get(name) for name in names()]


def of(env: str) -> GameBenchmark:
    """Return the game of an environment id; one that nobody has registered has the defaults."""
    return next((game for game in registered() if env.startswith(game.envs)), GameBenchmark())


def pixels() -> dict[str, object]:
    """Return the options of a run that learns from pixels, of the game that has them."""
    return next(dict(game.pixels) for game in registered() if game.pixels)
