"""The Game Boy: the options that learn, and how its episodes are evaluated."""

from __future__ import annotations

from training.run.games import GameTraining

LEARNS = ("GameBoyGoal-v0", "LanternWalk-v0")  # by the options of the file, on states of ours


class GameBoy(GameTraining):
    """What training must know of the Game Boy; see :class:`training.run.games.GameTraining`."""

    title = "Game Boy"
    protocol = "training.games.gameboy.evaluation"

    def config(self, env: str, trainer: str) -> str | None:
        """Return the file with the options that learn."""
        known = env.rpartition("/")[2] in LEARNS
        return "gameboy.yaml" if known and trainer == "native" else None


GAME = GameBoy()
