"""Blocks of the tiers that play one round, Worker and Ability (docs/skullking.md, 10.5, 10.6)."""

from __future__ import annotations

from fastenv.skullking.blocks import (
    ABILITY_PHASES,
    NUMBERED,
    Floats,
    allies_block,
    clip,
    count,
    hand_block,
    is_playing,
    left,
    loot_block,
    needed,
    one_hot,
    opponents,
    own_bid,
    own_hand,
    pad,
    position_block,
    ratio,
    round_block,
    stage_block,
    table_block,
)
from fastenv.skullking.layout import (
    opponent_slots,
)
from fastenv.skullking.position import (
    Position,
)
from fastenv.skullking.rules import (
    FREE,
    OPEN,
    Play,
    lead_suit,
)
from fastenv.skullking.tables import (
    BENDT,
    CLASS,
    FEATURES,
    HARRY,
    JADE,
    NUM_FEATURES,
    PIRATES,
    RASCAL,
    ROSIE,
    CardClass,
    Phase,
)

# -- Worker tier (docs/skullking.md, 10.5) ---------------------------------------------------------


def worker_status(g: Position) -> Floats:
    """Goal and tricks."""
    me = g.actor
    return [own_bid(g) / 10, g.won[me] / 10, needed(g, me) / 10, left(g) / 10]


def worker_needed_flags(g: Position) -> Floats:
    """Reachable, reached, missed."""
    return needed_flags(needed(g, g.actor), left(g))


def needed_flags(wanted: int, tricks_left: int) -> Floats:
    """Return the flags of a player who wants some of the tricks left."""
    return [float(wanted <= tricks_left), float(wanted == 0), float(wanted < 0)]


def worker_urgency(g: Position) -> Floats:
    """How many of the tricks left must be won; at the end there are none."""
    return [0.0 if g.phase == Phase.END else urgency(needed(g, g.actor), left(g))]


def urgency(wanted: int, tricks_left: int) -> float:
    """Return the share of the tricks left that must be won."""
    return clip(wanted / max(tricks_left, 1))


def worker_goal(g: Position) -> Floats:
    """Return the goal once more."""
    return one_hot(g.bid[g.actor], 11)


def worker_must_win_all(g: Position) -> Floats:
    """No trick may be lost."""
    return [float(needed(g, g.actor) == left(g) > 0)]


def worker_pirates(g: Position) -> Floats:
    """Pirates in hand."""
    hand = own_hand(g)
    named = [float(card in hand) for card in (HARRY, ROSIE, BENDT, RASCAL, JADE)]
    return [*named, count(hand, PIRATES) / 5]


def worker_ability_state(g: Position) -> Floats:
    """Abilities that were used."""
    return [
        float(g.harry_seat == g.actor),
        g.rascal_bet / 20 if g.rascal_seat == g.actor else 0.0,
        float(g.phase in ABILITY_PHASES),
        float(g.rosie_lead),
        len(g.drawn) / 2,
        g.abilities_used / 5,
    ]


def worker_ability_value(g: Position) -> Floats:
    """Encode the values of the abilities of pirates in hand."""
    hand = own_hand(g)
    other = ROSIE in hand or BENDT in hand
    values = ability_values(needed(g, g.actor), HARRY in hand, RASCAL in hand, other)
    return [min(0.25 * count(hand, PIRATES), 1.0), *values]


def ability_values(wanted: int, harry: bool, rascal: bool, other: bool) -> Floats:
    """Return the opportunity, and what Harry and Rascal may be worth, to who holds them.

    Parameters
    ----------
    wanted : int
        Tricks still needed.
    harry, rascal, other : bool
        Whether Harry, Rascal, and one of Rosie and Bendt are in hand.
    """
    if harry and abs(wanted) <= 2:
        opportunity = 0.8
    elif rascal and wanted >= 0:
        opportunity = 0.6
    else:
        opportunity = 0.4 if other else 0.0
    change = {0: 0.3, 1: 0.9}.get(abs(wanted), 0.5) if harry else 0.0
    bet = (0.8 if wanted <= 0 else 0.5 if wanted == 1 else 0.2) if rascal else 0.0
    return [opportunity, change, bet]


def worker_specials_unseen(g: Position) -> Floats:
    """Share of the specials in the deck (18 in the full one) that the agent has not seen."""
    specials = g.rules.deck_len - NUMBERED
    return [(specials - g.specials_known) / specials]


def worker_pirate_chance(g: Position) -> Floats:
    """Encode the value of a pirate in hand, higher while no pirate is on the table."""
    if not count(own_hand(g), PIRATES):
        return [0.0]
    taken = any(CLASS[card] == CardClass.PIRATE for card in g.table_card) or any(g.table_mode)
    return [0.3 if taken else 0.8]


def worker_progress(g: Position) -> Floats:
    """Cards and tricks."""
    return [g.cards / 10, min(len(own_hand(g)) / 10, 1.0), g.tricks / 10]


def worker_opponents(g: Position) -> Floats:
    """Bids and tricks of the opponents; bids are secret (docs/skullking.md, 3.3)."""
    secret = g.phase in (Phase.BID, Phase.CANNON)
    slots: list[float] = []
    for seat in opponents(g):
        bid, won = 0 if secret else g.bid[seat], g.won[seat]
        slots += [bid / 10, won / 10, (bid - won) / 10, float(0 <= bid - won <= left(g))]
    return pad(slots, 4 * opponent_slots(g.rules.num_players))


def worker_lead_suit(g: Position) -> Floats:
    """Return the suit to follow."""
    suit = lead_suit(table_plays(g), bool(g.rules.late_suit))
    return [{OPEN: 0.0, FREE: -1.0}.get(suit, (suit + 1) / 4)]


def table_plays(g: Position) -> list[Play]:
    """Return the cards on the table in play order."""
    return list(map(Play, g.table_seat, g.table_card, g.table_mode))


def worker_alliances(g: Position) -> Floats:
    """Alliances the agent is part of, several with one partner included."""
    return [sum(g.actor in pair for pair in g.alliances) / 4]


def tigress_block(g: Position) -> Floats:
    """Return whether the Tigress's mode is decided."""
    return [float(g.phase == Phase.TIGRESS)]


WORKER = {
    "hand": hand_block,
    "table": table_block,
    "status": worker_status,
    "needed_flags": worker_needed_flags,
    "urgency": worker_urgency,
    "goal": worker_goal,
    "must_win_all": worker_must_win_all,
    "pirates": worker_pirates,
    "ability_state": worker_ability_state,
    "ability_value": worker_ability_value,
    "specials_unseen": worker_specials_unseen,
    "pirate_chance": worker_pirate_chance,
    "progress": worker_progress,
    "position": position_block,
    "opponents": worker_opponents,
    "lead_suit": worker_lead_suit,
    "round": round_block,
    "stage": stage_block,
    "loot": loot_block,
    "alliances": worker_alliances,
    "allies": allies_block,
    "tigress_pending": tigress_block,
}


# -- Ability tier (docs/skullking.md, 10.6) --------------------------------------------------------


def ability_decision(g: Position) -> Floats:
    """Kind of the decision."""
    return [float(is_playing(g)), *(float(g.phase == phase) for phase in ABILITY_PHASES)]


def ability_rosie(g: Position) -> Floats:
    """Return how much each seat, the agent's first, wants to lead."""
    length = max(6, g.rules.num_players)
    if g.phase != Phase.ROSIE:
        return [0.0] * length
    seats = [g.actor, *opponents(g)]
    return pad([clip(0.5 + needed(g, seat) / (2 * max(left(g), 1))) for seat in seats], length)


def ability_bendt_cards(g: Position) -> Floats:
    """Return the cards just drawn."""
    discarding = g.phase in (Phase.BENDT_1, Phase.BENDT_2)
    return pad([f for card in g.drawn if discarding for f in FEATURES[card]], 2 * NUM_FEATURES)


def ability_bendt(g: Position) -> Floats:
    """Return how far the discarding is."""
    return [float(g.phase == Phase.BENDT_2), float(g.first_discard >= 0)]


def ability_rascal(g: Position) -> Floats:
    """Encode the tricks still needed, on which Rascal's bet depends."""
    if g.phase != Phase.RASCAL:
        return [0.0, 0.0]
    wanted = needed(g, g.actor)
    return [clip(wanted / max(left(g), 1)), float(wanted <= 0)]


def ability_harry(g: Position) -> Floats:
    """Encode bid and tricks won, on which Harry's change of the bid depends."""
    if g.phase != Phase.HARRY:
        return [0.0] * 4
    bid, won = g.bid[g.actor], g.won[g.actor]
    return [bid / 10, won / 10, (won - bid) / 10, float(won == bid)]


def ability_hidden_specials(g: Position) -> Floats:
    """Specials among the cards in other hands, once Jade has shown the stock."""
    specials = g.rules.deck_len - NUMBERED - g.specials_known
    return [ratio(specials, g.rules.deck_len - len(g.known)) if g.jade_seen else 0.0]


# What shows decisions about abilities, in the order of the Ability tier.
DECISIONS = {
    "ability_state": worker_ability_state,
    "decision": ability_decision,
    "rosie": ability_rosie,
    "bendt_cards": ability_bendt_cards,
    "bendt": ability_bendt,
    "rascal": ability_rascal,
    "harry": ability_harry,
    "tigress": tigress_block,
    "hidden_specials": ability_hidden_specials,
}
ABILITY = WORKER | DECISIONS
