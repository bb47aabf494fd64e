"""The Game Boy where a picture is to be reached."""

from __future__ import annotations

from typing import ClassVar

from training.games.gameboy import GameBoy


class Goal(GameBoy):
    """The same with the distance at the end of an episode."""

    title = "Game Boy's goal"
    episode_columns: ClassVar = {"dist": "measure"}


GAME = Goal()
