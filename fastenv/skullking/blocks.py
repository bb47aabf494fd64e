"""Parts of observations that several tiers share, in plain Python.

A block of ``layout.py`` is computed by one function of a reference game that waits for its agent:
here, in ``blocks_game.py`` (flat, Manager) or in ``blocks_round.py`` (Worker, Ability). Numbers are
Python floats; ``encoding.py`` rounds them to float32 once, when it stores them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fastenv.skullking.layout import (
    HAND_SLOTS,
    table_slots,
)
from fastenv.skullking.position import (
    Position,
)
from fastenv.skullking.tables import (
    FEATURES,
    LOOTS,
    NUM_CARDS,
    NUM_FEATURES,
    NUMBER,
    STRENGTH,
    SUIT,
    TIGRESS,
    TIGRESS_AS_ESCAPE,
    TIGRESS_AS_PIRATE,
    Phase,
)

Floats = Sequence[float]
BlockFunction = Callable[[Position], Floats]
NUMBERED = 56  # the rest of any deck are specials
ABILITY_PHASES = (Phase.ROSIE, Phase.BENDT_1, Phase.BENDT_2, Phase.RASCAL, Phase.HARRY)

# -- small parts -----------------------------------------------------------------------------------


def clip(x: float) -> float:
    """Clip to [-1, 1]."""
    return min(max(x, -1.0), 1.0)


def ratio(a: float, b: float) -> float:
    """Return a/b, or 0 if there is nothing to divide by."""
    return a / b if b else 0.0


def one_hot(index: int, length: int) -> Floats:
    """Return zeros with a 1 at ``index``; no 1 if it is out of range."""
    return [float(i == index) for i in range(length)]


def own_hand(g: Position) -> list[int]:
    """Return the agent's hand."""
    return g.hand[g.actor]


def own_bid(g: Position) -> int:
    """Return the agent's bid, 0 before he has chosen it."""
    return max(g.bid[g.actor], 0)


def needed(g: Position, seat: int) -> int:
    """Return bid - won of a seat; 0 before a bid is chosen."""
    return max(g.bid[seat], 0) - g.won[seat]


def left(g: Position) -> int:
    """Return the tricks of the round that are not completed, the current one included."""
    return g.cards - g.tricks


def on_track(g: Position, seat: int) -> bool:
    """Tell whether a seat can still make its bid by winning some of the tricks left."""
    return 0 <= needed(g, seat) <= left(g)


def opponents(g: Position) -> list[int]:
    """Return the seats of the opponents, from the agent's left on."""
    players = g.rules.num_players
    return [(g.actor + j) % players for j in range(1, players)]


def is_playing(g: Position) -> bool:
    """Tell whether the agent is to play a card (or to say how he plays the Tigress)."""
    return g.phase in (Phase.PLAY, Phase.TIGRESS)


def count(cards: Sequence[int], kind: Sequence[int]) -> int:
    """Count the ``cards`` that are in ``kind``."""
    return sum(card in kind for card in cards)


def high_standard(card: int) -> bool:
    """Tell whether a card is a standard one from 10 on."""
    return SUIT[card] in (0, 1, 2) and NUMBER[card] >= 10


def mean_strength(cards: Sequence[int]) -> float:
    """Return the mean card strength, 0 for no cards; summed in the order of ``cards``.

    See docs/skullking.md, 10.2.
    """
    total = 0.0
    for card in cards:
        total += STRENGTH[card]
    return ratio(total, len(cards))


def allies(g: Position, seat: int) -> list[int]:
    """Return the seats allied with a seat this round, from his left on, each once."""
    pairs, players = g.alliances, g.rules.num_players
    others = [(seat + k) % players for k in range(1, players)]
    return [s for s in others if (s, seat) in pairs or (seat, s) in pairs]


def pad(values: Floats, length: int) -> Floats:
    """Append zeros for empty slots and absent seats."""
    return [*values, *[0.0] * (length - len(values))]


# -- blocks of several tiers (docs/skullking.md, 10.1, 10.3, 10.5) ---------------------------------


def hand_block(g: Position) -> Floats:
    """Nine features a card; an eleventh card (Bendt in round 10) is in the ability context."""
    slots = [f for card in own_hand(g)[:HAND_SLOTS] for f in FEATURES[card]]
    return pad(slots, HAND_SLOTS * NUM_FEATURES)


def table_block(g: Position) -> Floats:
    """Nine features a card in play order; the Tigress is what she is played as."""
    slots: list[float] = []
    for card, mode in zip(g.table_card, g.table_mode, strict=True):
        played = TIGRESS_AS_PIRATE if mode else TIGRESS_AS_ESCAPE
        slots += FEATURES[played if card == TIGRESS else card]
    return pad(slots, table_slots(g.rules.num_players) * NUM_FEATURES)


def position_block(g: Position) -> Floats:
    """How many have played before the agent, at his turn to play."""
    place = len(g.table_card) if is_playing(g) else -1
    return one_hot(place, table_slots(g.rules.num_players))


def round_block(g: Position) -> Floats:
    """Index in the schedule."""
    return one_hot(min(g.round_idx, 9), 10)


def stage_block(g: Position) -> Floats:
    """Early, mid and late rounds (docs/skullking.md, 11.2)."""
    return one_hot(stage(g), 3)


def stage(g: Position) -> int:
    """Return 0, 1 or 2 for the rounds 1..3, 4..6 and from 7."""
    return min(g.round_idx // 3, 2)


def loot_block(g: Position) -> Floats:
    """Loot in hand."""
    loots = count(own_hand(g), LOOTS)
    return [float(loots > 0), loots / 2]


def allies_block(g: Position) -> Floats:
    """How the allies are doing."""
    partners = allies(g, g.actor)
    total = 0.0
    for seat in partners:
        total += clip((g.won[seat] - g.bid[seat]) / g.cards)
    good = sum(on_track(g, seat) for seat in partners) if on_track(g, g.actor) else 0
    return [ratio(total, len(partners)), 0.2 * good]


# -- card memory (docs/skullking.md, 10.7) ---------------------------------------------------------


def _members(cards: Iterable[int]) -> Floats:
    cards = set(cards)
    return [float(card in cards) for card in range(NUM_CARDS)]


MEMORY: dict[str, BlockFunction] = {
    "memory_hand": lambda g: _members(own_hand(g)),
    "memory_played": lambda g: _members(g.played),
    "memory_out": lambda g: _members(g.out),
}
