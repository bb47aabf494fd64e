"""What networks see of Skull King: where phase and cards are, and what the critic sees beside."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from fastenv.numba_cache import cached_njit
from fastenv.skullking.layout import HAND_SLOTS
from fastenv.skullking.tables import MAX_HAND, NUM_CARDS, Tier
from training.apps.skullking.rules import blocks_of
from training.nets.layout import CriticView, ObservationParts
from training.run.engine import Engine

SEAT = NUM_CARDS + MAX_HAND  # a number for each card, and one for each bid from 0 on


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


# -- inputs of a value network beside the observation: the hands and bids of others ----------------


def make_critic_view(engine: Engine) -> CriticView:
    """Make the view of a table, which has a hand for each seat and Graybeard.

    For each other seat, from the one after the player's on: 1 for each card in its hand, then 1 at
    its bid, which is hidden until all have bid.
    """
    game: Any = engine.game
    num_hands = int(game.rules[0]["num_hands"])
    return CriticView((num_hands - 1) * SEAT, partial(_write, num_hands=num_hands))


def _write(rows: np.ndarray, out: np.ndarray, num_hands: int) -> None:
    fields = (rows[name] for name in ("actor", "hand", "hand_len", "bid"))
    _fill(*fields, num_hands, out)


@cached_njit(nogil=True)
def _fill(actor, hand, hand_len, bid, num_hands, out):
    """Write the view of each row, uint8 (n, (num_hands - 1) * SEAT)."""
    out[:] = 0
    for i in range(len(actor)):
        for place in range(1, num_hands):
            seat = (actor[i] + place) % num_hands
            first = (place - 1) * SEAT
            for k in range(hand_len[i, seat]):
                out[i, first + hand[i, seat, k]] = 1
            if bid[i, seat] >= 0:
                out[i, first + NUM_CARDS + bid[i, seat]] = 1
