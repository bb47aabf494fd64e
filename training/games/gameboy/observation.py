"""The meaning of the fields of an observation of the Game Boy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastenv.gameboy.config import GameBoyConfig
from training.nets.layout import ObservationParts
from training.run.engine import Engine


def parts_of_frames(engine: Engine) -> ObservationParts:
    """Say whether frames are packed, four pixels a byte."""
    return _parts(engine, getattr(engine.game, "config", None))


def parts_of_overworld(engine: Engine) -> ObservationParts:
    """Say the same, and that senses have a bin for each row and column of a map."""
    parts, game = parts_of_frames(engine), engine.game
    if not hasattr(game, "common"):
        return parts
    world: Any = game.common.ram_map
    return replace(parts, fields={**parts.fields, "senses": {"bins": max(world.size)}})


def parts_of_link(engine: Engine) -> ObservationParts:
    """Say whether frames of two consoles, which are alike, are packed."""
    common = getattr(engine.game, "common", None)
    return _parts(engine, None if common is None else common.sides[0].config)


def _parts(engine: Engine, config: Any) -> ObservationParts:
    if not isinstance(config, GameBoyConfig) or not config.format.packed:
        return ObservationParts()
    plain = engine.obs_dtype.names is None
    return ObservationParts(fields={"" if plain else "pixels": {"kind": "packed"}})
