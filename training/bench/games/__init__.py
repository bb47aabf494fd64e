"""The games that are measured, each in a module of its own; they are registered here alone."""

from __future__ import annotations

from training.bench.game import GameBenchmark
from training.bench.games import drmario, gameboy, prospector, skullking

GAMES: dict[str, GameBenchmark] = {
    each.name: each for each in (skullking.GAME, prospector.GAME, drmario.GAME, gameboy.GAME)
}
FIRST = next(iter(GAMES.values()))  # what is measured where no game is named
PIXELS = gameboy.PIXELS  # where learning from pixels is measured


def of(env: str) -> GameBenchmark:
    """Return the game of an environment id; one that nobody has registered has the defaults."""
    return next((game for game in GAMES.values() if env.startswith(game.envs)), GameBenchmark())
