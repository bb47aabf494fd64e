"""The Game Boy: the options that learn, and how its episodes are evaluated."""

from __future__ import annotations

from fastenv.gameboy.config import GameBoyConfig
from training.run.engine import Engine
from training.run.games import GameTraining, ObservationParts

# Files with the options that learn, on states of ours.
LEARNS = {"GameBoyGoal-v0": "gameboy.yaml", "LanternWalk-v0": "lantern_walk.yaml"}


class GameBoy(GameTraining):
    """What training must know of the Game Boy; see :class:`training.run.games.GameTraining`."""

    title = "Game Boy"
    draws = True
    protocol = "training.games.gameboy.evaluation"

    def config(self, env: str, trainer: str) -> str | None:
        """Return the file with the options that learn."""
        return LEARNS.get(env.rpartition("/")[2]) if trainer == "native" else None

    def observation_parts(self, engine: Engine) -> ObservationParts:
        """Say whether frames are packed, four pixels a byte."""
        plain = engine.obs_dtype.names is None
        config = getattr(engine.game, "config", None)
        if not isinstance(config, GameBoyConfig) or not config.format.packed:
            return ObservationParts()
        return ObservationParts(fields={"" if plain else "pixels": {"kind": "packed"}})


GAME = GameBoy()
