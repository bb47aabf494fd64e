"""Where the phase and the slots of cards are in observations of Skull King."""

from __future__ import annotations

from typing import Any

from fastenv.skullking.layout import HAND_SLOTS
from fastenv.skullking.tables import Tier
from training.apps.skullking.rules import blocks_of
from training.nets.layout import ObservationParts
from training.run.engine import Engine


def parts_of(engine: Engine) -> ObservationParts:
    """Locate phase and card slots, in tiers that show them."""
    game: Any = engine.game
    named = {block.name: block for block in blocks_of(game)}
    phase = named.get("phase") or named.get("decision")
    width = named["hand"].length // HAND_SLOTS
    rows = [named[name] for name in ("hand", "table", "bendt_cards") if name in named]
    slots = tuple((row.offset, row.length // width, width) for row in rows)
    return ObservationParts(
        phase=None if phase is None else (phase.offset, phase.length),
        slots=slots,
        hand=None if game.rules[0]["tier"] == Tier.MANAGER else slots[0],
    )
