"""Blocks of the tiers that play whole games, flat and Manager (docs/skullking.md, 10.3, 10.4)."""

from __future__ import annotations

from collections.abc import Sequence

from fastenv.skullking.blocks import (
    Floats,
    allies,
    allies_block,
    clip,
    count,
    hand_block,
    high_standard,
    left,
    loot_block,
    mean_strength,
    needed,
    on_track,
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
    table_slots,
)
from fastenv.skullking.position import (
    Position,
)
from fastenv.skullking.rules import (
    estimate,
)
from fastenv.skullking.tables import (
    BID_SHARE_UNIT,
    ESCAPES,
    KING,
    KRAKEN,
    LOOTS,
    MERMAIDS,
    NUMBER,
    PIRATES,
    STRENGTH,
    SUIT,
    TIGRESS,
    TRUMP,
    WHALE,
    Phase,
)

# -- flat tier (docs/skullking.md, 10.3) -----------------------------------------------------------


def flat_phase(g: Position) -> Floats:
    """Kind of the decision."""
    index = {Phase.BID: 1, Phase.PLAY: 2, Phase.END: 3}.get(Phase(g.phase), 0)
    return one_hot(index, 4)


def flat_status(g: Position) -> Floats:
    """Return the agent's round so far."""
    hand, me = own_hand(g), g.actor
    return [
        g.cards / 10,
        min(len(hand) / 10, 1.0),
        own_bid(g) / 10,
        g.won[me] / 10,
        needed(g, me) / 10,
        left(g) / 10,
        float(on_track(g, me)),
        estimate(hand, g.cards) / 10,
    ]


def flat_opponents(g: Position) -> Floats:
    """Bids are secret until all have bid (docs/skullking.md, 3.3), the cannonball included."""
    secret = g.phase in (Phase.BID, Phase.CANNON)
    slots: list[float] = []
    for seat in opponents(g):
        bid = 0 if secret else g.bid[seat]
        slots += [bid / 10, clip(g.total[seat] / 500), g.won[seat] / 10]
    return pad(slots, 3 * opponent_slots(g.rules.num_players))


def flat_hand_counts(g: Position) -> Floats:
    """Strong cards in hand."""
    hand = own_hand(g)
    return [
        count(hand, PIRATES) / 5,
        float(KING in hand),
        count(hand, MERMAIDS) / 2,
        sum(map(high_standard, hand)) / 10,
    ]


def flat_opponent_history(g: Position) -> Floats:
    """How the opponents bid, and how far off they were, in completed rounds."""
    rounds, slots = g.rounds_done, []
    for seat in opponents(g):
        slots.append(ratio(g.bid_sum[seat], 10 * rounds))
        slots.append(min(ratio(g.abs_error[seat], 5 * rounds), 1.0))
    return pad(slots, 2 * opponent_slots(g.rules.num_players))


def flat_played_counts(g: Position) -> Floats:
    """Strong cards that are gone; clipped, for Graybeard's cards are beyond N*P."""
    return [min(n / (g.cards * g.rules.num_players), 1.0) for n in g.counts]


def flat_progress(g: Position) -> Floats:
    """How much of the round is over."""
    return [g.tricks / g.cards]


def flat_pressure(g: Position) -> Floats:
    """How many of the tricks left must be won."""
    if g.bid[g.actor] < 0:
        return [0.0]
    wanted = needed(g, g.actor)
    return [-0.5 if wanted <= 0 else min(ratio(wanted, left(g)), 1.0)]


def flat_played_last(g: Position) -> Floats:
    """How often the agent had the last word."""
    return [ratio(g.played_last[g.actor], g.tricks)]


def flat_strength(g: Position) -> Floats:
    """Strength of the hand relative to what has been seen this round."""
    hand = own_hand(g)
    if not hand:
        return [0.0, 0.0]
    seen = g.tricks * g.rules.num_hands + len(g.table_card)
    mean = ratio(g.seen_strength, seen)
    return [max(STRENGTH[card] for card in hand) - mean, mean_strength(hand) - mean]


def flat_goal(g: Position) -> Floats:
    """Return the bid once more."""
    return [own_bid(g) / 10]


def flat_allied(g: Position) -> Floats:
    """Return the agent's own seat, never set, then the others."""
    partners = allies(g, g.actor)
    slots = [0.0, *(float(seat in partners) for seat in opponents(g))]
    return pad(slots, table_slots(g.rules.num_players))


FLAT = {
    "phase": flat_phase,
    "hand": hand_block,
    "table": table_block,
    "status": flat_status,
    "opponents": flat_opponents,
    "hand_counts": flat_hand_counts,
    "position": position_block,
    "opponent_history": flat_opponent_history,
    "played_counts": flat_played_counts,
    "progress": flat_progress,
    "pressure": flat_pressure,
    "played_last": flat_played_last,
    "strength": flat_strength,
    "round": round_block,
    "goal": flat_goal,
    "loot": loot_block,
    "allied": flat_allied,
    "allies": allies_block,
}


# -- Manager tier (docs/skullking.md, 10.4) --------------------------------------------------------


def manager_deal(g: Position) -> Floats:
    """Cards dealt and cards in hand."""
    return [g.cards / 10, len(own_hand(g)) / 10]


def manager_hand_classes(g: Position) -> Floats:
    """Count the hand by class."""
    hand = own_hand(g)
    pirates, kings, mermaids = count(hand, PIRATES), count(hand, [KING]), count(hand, MERMAIDS)
    return [
        pirates / 5,
        float(kings),
        mermaids / 2,
        count(hand, ESCAPES) / 5,
        sum(map(high_standard, hand)) / 10,
        count(hand, LOOTS) / 2,
        (pirates + kings + mermaids + count(hand, [TIGRESS])) / 9,
    ]


def manager_hand_strength(g: Position) -> Floats:
    """Strength, Tigress, trumps."""
    hand = own_hand(g)
    return [mean_strength(hand), float(TIGRESS in hand), min(len(trumps(g)) / 4, 1.0)]


def trumps(g: Position) -> list[int]:
    """Return the numbers of the Jolly Rogers in hand."""
    return [NUMBER[card] for card in own_hand(g) if SUIT[card] == TRUMP]


def manager_trumps(g: Position) -> Floats:
    """Trumps and numbers."""
    hand, black = own_hand(g), trumps(g)
    numbers = [NUMBER[card] for card in hand if SUIT[card] >= 0]
    return [
        len(black) / 10,
        ratio(len(black), len(hand)),
        max(black, default=0) / 14,
        ratio(sum(numbers), 14 * len(numbers)),
    ]


def manager_suits(g: Position) -> Floats:
    """Length of the suits."""
    return [sum(SUIT[card] == suit for card in own_hand(g)) / 10 for suit in range(4)]


def manager_history(g: Position) -> Floats:
    """Encode the completed rounds (hit rate 0.5 before the first) and who leads first."""
    me, rounds = g.actor, g.rounds_done
    shares = sum(g.bid_share[: g.rules.num_players])
    return [
        min(ratio(shares, 2 * BID_SHARE_UNIT * rounds), 1.0),
        hit_rate(g, [me]),
        ratio(g.error[me], 10 * rounds),
        float(g.first_leader == me),
    ]


def hit_rate(g: Position, seats: Sequence[int]) -> float:
    """Return the share of exact bids of some seats in completed rounds; 0.5 before the first."""
    hits = sum(g.hits[seat] for seat in seats)
    return hits / (len(seats) * g.rounds_done) if g.rounds_done else 0.5


def seats_from_leader(g: Position, seat: int) -> float:
    """Return how far behind the first leader a seat is, 0..1."""
    players: int = g.rules.num_players
    return (seat - g.first_leader) % players / (players - 1)


def manager_deal_context(g: Position) -> Floats:
    """Seat, beasts and score."""
    hand = own_hand(g)
    return [
        seats_from_leader(g, g.actor),
        float(KRAKEN in hand),
        float(WHALE in hand),
        clip(g.total[g.actor] / 500),
    ]


def manager_abilities(g: Position) -> Floats:
    """Pirates in hand and what their abilities may be worth."""
    hand = own_hand(g)
    rosie, bendt, rascal, jade, harry = (float(pirate in hand) for pirate in PIRATES)
    pirates = count(hand, PIRATES)
    value = 0.5 + 0.5 * (1 - 2 * abs(mean_strength(hand) - 0.5)) if harry else 0.0
    return [
        harry,
        value,
        rosie,
        bendt,
        rascal,
        jade,
        pirates / 5,
        min(0.2 * pirates, 1.0),
        min((1.0 * harry + 0.3 * bendt) / 1.5, 1.0),
        0.15 * rascal + 0.05 * jade + 0.10 * rosie,
    ]


def manager_opponents(g: Position) -> Floats:
    """Public record of the opponents; never their bids of this round, which are secret.

    See docs/skullking.md, 3.3.
    """
    rounds, players = g.rounds_done, g.rules.num_players
    totals = g.total[:players]
    slots: list[float] = []
    for seat in opponents(g):
        slots += [
            clip(g.total[seat] / 500),
            g.last_bid[seat] / 10,
            hit_rate(g, [seat]),
            ratio(g.error[seat], 10 * rounds),
            ratio(g.bid_share[seat], BID_SHARE_UNIT * rounds),
            seats_from_leader(g, seat),
            ratio(g.zero_bids[seat], rounds),
            sum(total > g.total[seat] for total in totals) / (players - 1),
        ]
    return pad(slots, 8 * opponent_slots(players))


def manager_opponents_hit_rate(g: Position) -> Floats:
    """Return the mean hit rate of the opponents."""
    return [hit_rate(g, opponents(g))]


def manager_cannon(g: Position) -> Floats:
    """Return the agent's bid while he chooses between grapeshot and cannonball.

    See docs/skullking.md, 7.1.
    """
    choosing = g.phase == Phase.CANNON
    return [float(choosing), own_bid(g) / 10 if choosing else 0.0, 0.0]


MANAGER = {
    "hand": hand_block,
    "deal": manager_deal,
    "hand_classes": manager_hand_classes,
    "hand_strength": manager_hand_strength,
    "trumps": manager_trumps,
    "suits": manager_suits,
    "history": manager_history,
    "deal_context": manager_deal_context,
    "abilities": manager_abilities,
    "opponents": manager_opponents,
    "round": round_block,
    "stage": stage_block,
    "loot": loot_block,
    "opponents_hit_rate": manager_opponents_hit_rate,
    "cannon": manager_cannon,
}
