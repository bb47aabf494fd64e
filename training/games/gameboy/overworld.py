"""The Game Boy where the memory of the program is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from training.games.gameboy import GameBoy
from training.run.engine import Engine
from training.run.games import ObservationParts


class Overworld(GameBoy):
    """The same with what an episode has found."""

    title = "Game Boy's overworld"
    episode_columns: ClassVar = {
        "items": "measure",
        "events": "measure",
        "cells": "measure",
    }

    def observation_parts(self, engine: Engine) -> ObservationParts:
        """See :class:`GameBoy`; senses have a bin for each row and column of a map."""
        parts, game = super().observation_parts(engine), engine.game
        if not hasattr(game, "common"):
            return parts
        world: Any = game.common.ram_map
        return replace(parts, fields={**parts.fields, "senses": {"bins": max(world.size)}})


GAME = Overworld()
