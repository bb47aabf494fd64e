"""The Game Boy: the options that learn, and how its episodes are evaluated."""

from __future__ import annotations

from training.run.games import GameTraining

# Files with the options that learn, on states of ours.
LEARNS = {"GameBoyGoal-v0": "gameboy.yaml", "LanternWalk-v0": "lantern_walk.yaml"}


class GameBoy(GameTraining):
    """What training must know of the Game Boy; see :class:`training.run.games.GameTraining`."""

    title = "Game Boy"
    protocol = "training.games.gameboy.evaluation"

    def config(self, env: str, trainer: str) -> str | None:
        """Return the file with the options that learn."""
        return LEARNS.get(env.rpartition("/")[2]) if trainer == "native" else None


GAME = GameBoy()
