"""The meaning of the fields of an observation of the Game Boy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastenv.gameboy.config import GameBoyConfig
from fastenv.gameboy.observed import NUMBERS, PIXELS
from training.nets.layout import ObservationParts
from training.run.engine import Engine

BINS = 32  # by which a network sees a number of the memory, from 0 to 1


def parts_of_frames(engine: Engine) -> ObservationParts:
    """Return the parts of an observation: packed frames, and bins of the memory's numbers.

    Two consoles on a cable are alike.
    """
    game: Any = engine.game
    sides = getattr(getattr(game, "common", None), "sides", None)
    config = sides[0].config if sides else getattr(game, "config", None)
    names = engine.obs_dtype.names
    fields: dict[str, Any] = {}
    if names is not None and NUMBERS in names:
        fields[NUMBERS] = {"bins": BINS}
    packed = isinstance(config, GameBoyConfig) and config.format.packed
    if packed and (names is None or PIXELS in names):
        fields["" if names is None else PIXELS] = {"kind": "packed"}
    return ObservationParts(fields=fields)


def parts_of_overworld(engine: Engine) -> ObservationParts:
    """Return the same parts, with a bin of the senses for each row and column of the map."""
    parts, game = parts_of_frames(engine), engine.game
    if not hasattr(game, "common") or "senses" not in (engine.obs_dtype.names or ()):
        return parts
    world: Any = game.common.ram_map
    return replace(parts, fields={**parts.fields, "senses": {"bins": max(world.size)}})
