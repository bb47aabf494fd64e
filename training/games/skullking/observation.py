"""Where the phase and the slots of cards are in observations of Skull King."""

from __future__ import annotations

from typing import Any

from fastenv.skullking.layout import HAND_SLOTS, layout
from fastenv.skullking.tables import Abilities, Tier
from training.nets.layout import ObservationParts
from training.run.engine import Engine


def parts_of(engine: Engine) -> ObservationParts:
    """Locate phase and card slots, in tiers that show them."""
    game: Any = engine.game
    rules = game.rules[0]
    decides = rules["abilities"] == Abilities.AGENT
    shape = int(rules["tier"]), int(rules["num_players"]), bool(rules["memory"])
    blocks = layout(*shape, bool(decides))
    named = {block.name: block for block in blocks}
    phase = named.get("phase") or named.get("decision")
    width = named["hand"].length // HAND_SLOTS
    rows = [named[name] for name in ("hand", "table", "bendt_cards") if name in named]
    slots = tuple((row.offset, row.length // width, width) for row in rows)
    return ObservationParts(
        phase=None if phase is None else (phase.offset, phase.length),
        slots=slots,
        hand=None if shape[0] == Tier.MANAGER else slots[0],
    )
