"""The Game Boy where the memory of the program is known."""

from __future__ import annotations

from typing import ClassVar

from training.games.gameboy import GameBoy


class Overworld(GameBoy):
    """The same with what an episode has found."""

    title = "Game Boy's overworld"
    episode_columns: ClassVar = {
        "items": "measure",
        "events": "measure",
        "cells": "measure",
    }


GAME = Overworld()
