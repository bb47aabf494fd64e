"""The meaning of the fields of an observation of the Game Boy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastenv.gameboy.config import GameBoyConfig
from training.nets.layout import ObservationParts
from training.run.engine import Engine


def parts_of_frames(engine: Engine) -> ObservationParts:
    """Say whether frames are packed, four pixels a byte; two consoles on a cable are alike."""
    game: Any = engine.game
    sides = getattr(getattr(game, "common", None), "sides", None)
    config = sides[0].config if sides else getattr(game, "config", None)
    if not isinstance(config, GameBoyConfig) or not config.format.packed:
        return ObservationParts()
    plain = engine.obs_dtype.names is None
    if not plain and "pixels" not in engine.obs_dtype.names:
        return ObservationParts()
    return ObservationParts(fields={"" if plain else "pixels": {"kind": "packed"}})


def parts_of_overworld(engine: Engine) -> ObservationParts:
    """Say the same, and that senses have a bin for each row and column of a map."""
    parts, game = parts_of_frames(engine), engine.game
    if not hasattr(game, "common") or "senses" not in (engine.obs_dtype.names or ()):
        return parts
    world: Any = game.common.ram_map
    return replace(parts, fields={**parts.fields, "senses": {"bins": max(world.size)}})
