"""The Game Boy: how its episodes are evaluated."""

from __future__ import annotations

from training.run.games import GameTraining


class GameBoy(GameTraining):
    """What training must know of the Game Boy; see :class:`training.run.games.GameTraining`."""

    title = "Game Boy"


GAME = GameBoy()
