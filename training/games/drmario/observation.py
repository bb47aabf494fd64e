"""The meaning of the fields of an observation of Dr. Mario, and the cells of placements."""

from __future__ import annotations

from typing import Any

from fastenv.drmario import tables as t
from fastenv.drmario.layout import PLANES, STABLE
from fastenv.drmario.view import Half, halves_of
from training.nets.layout import Colours, ObservationParts, Placements
from training.run.engine import Engine

COST_UNIT = 64.0  # frames: about what a pill falls from top to bottom


def parts_of(engine: Engine) -> ObservationParts:
    """Return the parts of an observation: planes, costs, numbers and cells of placements."""
    game: Any = engine.game
    config, dtype = game.config, engine.obs_dtype
    names = dtype.names or ("",)
    planes = names[0]
    fields: dict[str, dict[str, Any]] = {} if config.stack > 1 else {planes: {"kind": "planes"}}
    if "costs" in names:
        fields["costs"] = {"kind": "numbers", "unit": COST_UNIT}
    for name in ("candidates", "candidate_costs"):
        if name in names:
            fields[name] = {"kind": "numbers"}
    colours = None
    if planes in fields and "pill" in names and PLANES[config.obs][:3] == STABLE:
        colours = Colours(planes, (0, 1, 2), "pill")
    placements = None
    if config.placement:
        costs = "costs" if "costs" in names else None
        placements = Placements(planes, cells_of_placements(), costs)
    return ObservationParts(fields=fields, placements=placements, colours=colours)


def cells_of_placements() -> tuple[tuple[int, int], ...]:
    """Return the cells of both halves of each placement; -1 for one outside the bottle."""

    def cell(half: Half) -> int:
        inside = 0 <= half.row < t.ROWS and 0 <= half.col < t.COLUMNS
        return half.row * t.COLUMNS + half.col if inside else -1

    placements = (halves_of(number, 0, 0) for number in range(t.NUM_PLACEMENTS))
    return tuple((cell(first), cell(second)) for first, second in placements)
