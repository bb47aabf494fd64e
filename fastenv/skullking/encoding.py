"""Observation, action mask, reward and info in plain Python: what the kernels must reproduce.

Everything is a function of a reference game as it waits for its agent (``reference.py``; only its
attributes are read, see ``position.py``). One function computes one block of ``layout.py``; the
blocks of a tier are listed at the end of each section. Numbers are Python floats and are rounded to
float32 once, when they are stored. Section numbers are those of the game specification.

>>> import numpy as np
>>> from fastenv.skullking.config import SkullKingConfig
>>> from fastenv.skullking.reference import SkullKing
>>> config = SkullKingConfig(tier="worker")
>>> game = SkullKing(config.rules_record(), config.default_knobs(1), seed=7)
>>> obs = np.empty(203, np.float32)
>>> encode_obs(game, obs)
>>> round(10 * float(obs[126])) == game.bid[game.agent]
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from fastenv.skullking.layout import HAND_SLOTS, layout, opponent_slots, table_slots
from fastenv.skullking.position import Position
from fastenv.skullking.rules import FREE, OPEN, Play, estimate, lead_suit, legal_cards
from fastenv.skullking.tables import (
    BENDT,
    BID_SHARE_UNIT,
    CLASS,
    ESCAPES,
    FEATURES,
    HARRY,
    JADE,
    KING,
    KRAKEN,
    LOOTS,
    MERMAIDS,
    NUM_ACTIONS,
    NUM_CARDS,
    NUM_FEATURES,
    NUMBER,
    PIRATES,
    RASCAL,
    ROSIE,
    STRENGTH,
    SUIT,
    TIGRESS,
    TIGRESS_AS_ESCAPE,
    TIGRESS_AS_PIRATE,
    TRUMP,
    WHALE,
    CardClass,
    Phase,
    Reward,
    Tier,
)

Floats = Sequence[float]
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
    return g.hand[g.agent]


def own_bid(g: Position) -> int:
    """Return the agent's bid, 0 before he has chosen it."""
    return max(g.bid[g.agent], 0)


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
    return [(g.agent + j) % players for j in range(1, players)]


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
    """Return the mean card strength (10.2), 0 for no cards; summed in the order of ``cards``."""
    total = 0.0
    for card in cards:
        total += STRENGTH[card]
    return ratio(total, len(cards))


def allies(g: Position) -> list[int]:
    """Return the seats allied with the agent this round, from his left on, each once."""
    pairs = g.alliances
    return [s for s in opponents(g) if (s, g.agent) in pairs or (g.agent, s) in pairs]


def pad(values: Floats, length: int) -> Floats:
    """Append zeros for empty slots and absent seats."""
    return [*values, *[0.0] * (length - len(values))]


# -- blocks of several tiers (10.1, 10.3, 10.5) ----------------------------------------------------


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
    """Early, mid and late rounds (11.2)."""
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
    partners = allies(g)
    total = 0.0
    for seat in partners:
        total += clip((g.won[seat] - g.bid[seat]) / g.cards)
    good = sum(on_track(g, seat) for seat in partners) if on_track(g, g.agent) else 0
    return [ratio(total, len(partners)), 0.2 * good]


# -- flat tier (10.3) ------------------------------------------------------------------------------


def flat_phase(g: Position) -> Floats:
    """Kind of the decision."""
    index = {Phase.BID: 1, Phase.PLAY: 2, Phase.END: 3}.get(Phase(g.phase), 0)
    return one_hot(index, 4)


def flat_status(g: Position) -> Floats:
    """The agent's round so far."""
    hand, me = own_hand(g), g.agent
    return [
        g.cards / 10,
        len(hand) / 10,
        own_bid(g) / 10,
        g.won[me] / 10,
        needed(g, me) / 10,
        left(g) / 10,
        float(on_track(g, me)),
        estimate(hand, g.cards) / 10,
    ]


def flat_opponents(g: Position) -> Floats:
    """Bids are secret until all have bid (3.3), the cannonball included."""
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
    if g.bid[g.agent] < 0:
        return [0.0]
    wanted = needed(g, g.agent)
    return [-0.5 if wanted <= 0 else min(ratio(wanted, left(g)), 1.0)]


def flat_played_last(g: Position) -> Floats:
    """How often the agent had the last word."""
    return [ratio(g.agent_last, g.tricks)]


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
    partners = allies(g)
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


# -- Manager tier (10.4) ---------------------------------------------------------------------------


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
    """What completed rounds tell; neutral before the first: hit rate 0.5, the rest 0."""
    me, rounds = g.agent, g.rounds_done
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
    players = g.rules.num_players
    return (seat - g.first_leader) % players / (players - 1)


def manager_deal_context(g: Position) -> Floats:
    """Seat, beasts and score."""
    hand = own_hand(g)
    return [
        seats_from_leader(g, g.agent),
        float(KRAKEN in hand),
        float(WHALE in hand),
        clip(g.total[g.agent] / 500),
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
    """Public record of the opponents; never their bids of this round, which are secret (3.3)."""
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
    """Return the agent's bid while he chooses between grapeshot and cannonball (7.1)."""
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


# -- Worker tier (10.5) ----------------------------------------------------------------------------


def worker_status(g: Position) -> Floats:
    """Goal and tricks."""
    me = g.agent
    return [g.bid[me] / 10, g.won[me] / 10, needed(g, me) / 10, left(g) / 10]


def worker_needed_flags(g: Position) -> Floats:
    """Reachable, reached, missed."""
    wanted = needed(g, g.agent)
    return [float(wanted <= left(g)), float(wanted == 0), float(wanted < 0)]


def worker_urgency(g: Position) -> Floats:
    """How many of the tricks left must be won; at the end there are none."""
    return [0.0 if g.phase == Phase.END else clip(needed(g, g.agent) / max(left(g), 1))]


def worker_goal(g: Position) -> Floats:
    """Return the goal once more."""
    return one_hot(g.bid[g.agent], 11)


def worker_must_win_all(g: Position) -> Floats:
    """No trick may be lost."""
    return [float(needed(g, g.agent) == left(g) > 0)]


def worker_pirates(g: Position) -> Floats:
    """Pirates in hand."""
    hand = own_hand(g)
    named = [float(card in hand) for card in (HARRY, ROSIE, BENDT, RASCAL, JADE)]
    return [*named, count(hand, PIRATES) / 5]


def worker_ability_state(g: Position) -> Floats:
    """Abilities that were used."""
    return [
        float(g.harry_seat == g.agent),
        g.rascal_bet / 20 if g.rascal_seat == g.agent else 0.0,
        float(g.phase in ABILITY_PHASES),
        float(g.rosie_lead),
        len(g.drawn) / 2,
        g.abilities_used / 5,
    ]


def worker_ability_value(g: Position) -> Floats:
    """What the abilities of pirates in hand may be worth."""
    hand, wanted = own_hand(g), needed(g, g.agent)
    if HARRY in hand and abs(wanted) <= 2:
        opportunity = 0.8
    elif RASCAL in hand and wanted >= 0:
        opportunity = 0.6
    else:
        opportunity = 0.4 if ROSIE in hand or BENDT in hand else 0.0
    harry = {0: 0.3, 1: 0.9}.get(abs(wanted), 0.5) if HARRY in hand else 0.0
    rascal = 0.8 if wanted <= 0 else 0.5 if wanted == 1 else 0.2
    return [
        min(0.25 * count(hand, PIRATES), 1.0),
        opportunity,
        harry,
        rascal if RASCAL in hand else 0.0,
    ]


def worker_specials_unseen(g: Position) -> Floats:
    """Share of the specials in the deck (18 in the full one) that the agent has not seen."""
    specials = g.rules.deck_len - NUMBERED
    return [(specials - g.specials_known) / specials]


def worker_pirate_chance(g: Position) -> Floats:
    """A pirate in hand is worth more while no other one is on the table."""
    if not count(own_hand(g), PIRATES):
        return [0.0]
    taken = any(CLASS[card] == CardClass.PIRATE for card in g.table_card) or any(g.table_mode)
    return [0.3 if taken else 0.8]


def worker_progress(g: Position) -> Floats:
    """Cards and tricks."""
    return [g.cards / 10, min(len(own_hand(g)) / 10, 1.0), g.tricks / 10]


def worker_opponents(g: Position) -> Floats:
    """Bids and tricks of the opponents."""
    slots: list[float] = []
    for seat in opponents(g):
        slots += [
            g.bid[seat] / 10,
            g.won[seat] / 10,
            needed(g, seat) / 10,
            float(on_track(g, seat)),
        ]
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
    return [sum(g.agent in pair for pair in g.alliances) / 4]


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


# -- Ability tier (10.6) ---------------------------------------------------------------------------


def ability_decision(g: Position) -> Floats:
    """Kind of the decision."""
    return [float(is_playing(g)), *(float(g.phase == phase) for phase in ABILITY_PHASES)]


def ability_rosie(g: Position) -> Floats:
    """Return how much each seat, the agent's first, wants to lead."""
    length = max(6, g.rules.num_players)
    if g.phase != Phase.ROSIE:
        return [0.0] * length
    seats = [g.agent, *opponents(g)]
    return pad([clip(0.5 + needed(g, seat) / (2 * max(left(g), 1))) for seat in seats], length)


def ability_bendt_cards(g: Position) -> Floats:
    """Return the cards just drawn."""
    discarding = g.phase in (Phase.BENDT_1, Phase.BENDT_2)
    return pad([f for card in g.drawn if discarding for f in FEATURES[card]], 2 * NUM_FEATURES)


def ability_bendt(g: Position) -> Floats:
    """Return how far the discarding is."""
    return [float(g.phase == Phase.BENDT_2), float(g.first_discard >= 0)]


def ability_rascal(g: Position) -> Floats:
    """Return what a bet depends on."""
    if g.phase != Phase.RASCAL:
        return [0.0, 0.0]
    wanted = needed(g, g.agent)
    return [clip(wanted / max(left(g), 1)), float(wanted <= 0)]


def ability_harry(g: Position) -> Floats:
    """Return what the change of a bid depends on."""
    if g.phase != Phase.HARRY:
        return [0.0] * 4
    bid, won = g.bid[g.agent], g.won[g.agent]
    return [bid / 10, won / 10, (won - bid) / 10, float(won == bid)]


def ability_hidden_specials(g: Position) -> Floats:
    """Specials among the cards in other hands, once Jade has shown the stock."""
    specials = g.rules.deck_len - NUMBERED - g.specials_known
    return [ratio(specials, g.rules.deck_len - len(g.known)) if g.jade_seen else 0.0]


ABILITY = {
    **WORKER,
    "decision": ability_decision,
    "rosie": ability_rosie,
    "bendt_cards": ability_bendt_cards,
    "bendt": ability_bendt,
    "rascal": ability_rascal,
    "harry": ability_harry,
    "tigress": tigress_block,
    "hidden_specials": ability_hidden_specials,
}


# -- card memory (10.7) and the whole observation --------------------------------------------------


def _members(cards: Sequence[int] | set[int]) -> Floats:
    return [float(card in cards) for card in range(NUM_CARDS)]


MEMORY: dict[str, Callable[[Position], Floats]] = {
    "memory_hand": lambda g: _members(own_hand(g)),
    "memory_played": lambda g: _members(g.played),
    "memory_out": lambda g: _members(g.out),
}
BLOCKS: dict[Tier, dict[str, Callable[[Position], Floats]]] = {
    Tier.FLAT: FLAT | MEMORY,
    Tier.MANAGER: MANAGER | MEMORY,
    Tier.WORKER: WORKER | MEMORY,
    Tier.ABILITY: ABILITY | MEMORY,
}


def encode_obs(game: Position, out: npt.NDArray[np.float32]) -> None:
    """Write the observation of the agent.

    Parameters
    ----------
    game : SkullKing
        A reference game; its rules name the tier.
    out : ndarray of float32, shape (obs_dim,)
        Overwritten completely; all values are in [-1, 1].
    """
    rules = game.rules
    blocks = BLOCKS[Tier(rules.tier)]
    for block in layout(rules.tier, rules.num_players, bool(rules.memory)):
        out[block.offset : block.stop] = blocks[block.name](game)


# -- action mask (10.3 to 10.6, section 8.1) -------------------------------------------------------


def legal_actions(g: Position) -> list[int]:
    """Return the legal actions of the pending decision; all of them at the end."""
    hand = own_hand(g)
    bid = g.bid[g.agent]
    if g.phase == Phase.PLAY:
        legal = legal_cards(hand, table_plays(g), g.rules)
        return [slot for slot, card in enumerate(hand) if card in legal]
    if g.phase == Phase.HARRY:
        return [a for a in range(3) if 0 <= bid + a - 1 <= g.cards]
    counts = {
        Phase.BID: g.cards + 1,
        Phase.CANNON: 2,
        Phase.TIGRESS: 2,
        Phase.ROSIE: g.rules.num_players,
        Phase.BENDT_1: len(hand),
        Phase.BENDT_2: len(hand),
        Phase.RASCAL: 3,
        Phase.END: NUM_ACTIONS,
    }
    return [a for a in range(counts[Phase(g.phase)]) if a != g.first_discard]


def action_mask(game: Position, out: npt.NDArray[np.uint8]) -> None:
    """Write 1 for each legal action and 0 for the others.

    Parameters
    ----------
    game : SkullKing
    out : ndarray of uint8, shape (11,)
        Overwritten completely; never all 0. All 1 at the end, where actions mean nothing.
    """
    legal = legal_actions(game)
    out[:] = [action in legal for action in range(NUM_ACTIONS)]


# -- rewards ---------------------------------------------------------------------------------------

RANK_REWARD = (0.0, 10.0, 3.0, -2.0)  # no game ended, 1st, 2nd, 3rd; below that:
LOW_RANK_REWARD = -5.0
INVALID_REWARD = -0.5
TRUNCATION_REWARD = -5.0


def rank_reward(g: Position) -> float:
    """Return the reward for the rank at the end of a game (10.3)."""
    return RANK_REWARD[g.ev_rank] if g.ev_rank < len(RANK_REWARD) else LOW_RANK_REWARD


def flat_shaped(g: Position) -> float:
    """Sum the events of 10.3, in the order of its table."""
    reward, wanted = 0.0, g.ev_needed
    if g.ev_phase == Phase.BID:
        reward += 0.1 + 2 * (1 - abs(g.ev_action - g.ev_estimate) / g.ev_cards)
    if g.ev_card >= 0 and g.ev_phase in (Phase.PLAY, Phase.TIGRESS):
        reward += 0.1
        reward += card_quality(STRENGTH[g.ev_card], wanted)
    if g.ev_trick == 1:
        reward += 3.0 if wanted > 0 else -2.0 if wanted == 0 else 0.0
        for captured, value in zip(g.ev_captures, (0.3, 0.5, 0.5, 0.7, 1.0), strict=True):
            reward += value * captured
    elif g.ev_trick == 2:
        hopeless = wanted > g.ev_left - 1
        reward += 1.5 if wanted == 0 else -1.0 if wanted > 0 and not hopeless else 0.0
    if g.ev_round:
        reward += (5.0, 2.0, -1.0, -5.0)[min(abs(g.ev_bid - g.ev_won), 3)]
        reward += 2.0 * g.ev_alliances
    return reward + rank_reward(g)


def card_quality(strength: float, wanted: int) -> float:
    """Judge the card played: strong ones if tricks are needed, weak ones if none is (10.3)."""
    if wanted > 0:
        return 1.0 if strength > 0.6 else -0.5 if strength < 0.3 else 0.0
    if wanted == 0:
        return 0.5 if strength < 0.4 else -0.3 if strength > 0.7 else 0.0
    return 0.0


def manager_shaped(g: Position) -> float:
    """Judge the bid when its round is over (10.4)."""
    if not g.ev_round:
        return 0.0
    distance = abs(g.ev_bid - g.ev_won)
    if distance == 0:
        return 5.0 + (0.5 * g.ev_cards if g.ev_bid == 0 else 0.0)
    return (1.0, -1.0)[distance - 1] if distance < 3 else -2.0 - 0.5 * distance


def worker_shaped(g: Position) -> float:
    """Judge the trick and the goal (10.5), then decisions about abilities (10.6)."""
    reward = trick_reward(g)
    if g.ev_round and g.ev_won == g.ev_bid:
        reward += g.rules.goal_bonus
    reward += ability_reward(g)
    if g.ev_round:
        reward += 0.01 * (g.ev_bet if g.ev_won == g.ev_bid else -g.ev_bet)
    return reward


def trick_reward(g: Position) -> float:
    """Compare the result of a trick with the tricks needed before it (10.5)."""
    wanted, rest = g.ev_needed, g.ev_left - 1
    if g.ev_trick == 1:
        if g.rules.needed_after:
            wanted -= 1
        return 3.0 if wanted > 0 else -1.5 if wanted == 0 else -2.0
    if g.ev_trick == 2:
        return 0.5 if wanted <= rest else 0.0 if wanted == rest + 1 else -1.0
    return 0.0


def ability_reward(g: Position) -> float:
    """Judge the decision about an ability (10.6)."""
    if g.ev_phase == Phase.ROSIE and g.rules.rosie_shaping:
        return 0.1 if g.ev_action == 0 else -0.05
    if g.ev_phase in (Phase.BENDT_1, Phase.BENDT_2):
        return discard_reward(g.ev_card, g.ev_needed > 0)
    if g.ev_phase == Phase.RASCAL:
        bet = 10 * g.ev_action
        return 0.005 * (bet if g.ev_needed <= 0 else -bet if g.ev_needed > g.ev_left else 0)
    if g.ev_phase == Phase.HARRY:
        return change_reward(g.ev_action - 1, -g.ev_needed)
    return 0.0


def discard_reward(card: int, wants_tricks: bool) -> float:
    """Judge a card discarded with Bendt."""
    kind = CLASS[card]
    if kind == CardClass.ESCAPE:
        return 0.1 if wants_tricks else -0.05
    if kind in (CardClass.PIRATE, CardClass.KING, CardClass.MERMAID):
        return -0.15 if wants_tricks else 0.05
    if high_standard(card):
        return -0.1 if wants_tricks else 0.05
    return 0.1 if SUIT[card] in (0, 1, 2) and NUMBER[card] <= 5 else 0.0


def change_reward(change: int, missing: int) -> float:
    """Judge Harry's change of a bid, where ``missing`` would have made it exact."""
    if change == missing:
        return 0.3 if change else 0.1
    return -0.2 if change and change == -missing else 0.0


SHAPED = {
    Tier.FLAT: flat_shaped,
    Tier.MANAGER: manager_shaped,
    Tier.WORKER: worker_shaped,
    Tier.ABILITY: worker_shaped,
}


def rewards(game: Position) -> tuple[float, float, float]:
    """Return the rewards of the last step: shaped, points, points and rank (10.3)."""
    if game.ev_invalid:
        reward = INVALID_REWARD + (TRUNCATION_REWARD if game.ev_invalid == 2 else 0.0)
        return reward, reward, reward
    points = game.ev_points / 10 if game.ev_round else 0.0
    return SHAPED[Tier(game.rules.tier)](game), points, points + rank_reward(game)


def apply_reward(game: Position) -> tuple[float, tuple[float, float, float]]:
    """Return the reward of the last step and add it to the sums of the episode.

    Returns
    -------
    reward : float
        The one that ``rules.reward`` selects, rounded to float32.
    columns : tuple of float
        All three, rounded to float32, in the order of ``layout.REWARD_COLUMNS``.
    """
    shaped, points, ranked = (float(np.float32(value)) for value in rewards(game))
    columns = (shaped, points, ranked)
    reward = columns[Reward(game.rules.reward)]
    game.ep_return += reward
    game.ep_length += 1
    return reward, columns


# -- info ------------------------------------------------------------------------------------------


def info(game: Position, out: npt.NDArray[np.int32]) -> None:
    """Write the info columns.

    Parameters
    ----------
    game : SkullKing
    out : ndarray of int32, shape (17,)
        Overwritten completely, in the order of ``layout.INFO_COLUMNS``.
    """
    g, me = game, game.agent
    totals = g.total[: g.rules.num_players]
    out[:] = [
        g.round_idx + 1,
        g.cards,
        g.bid[me],
        g.won[me],
        g.ev_points,
        g.total[me],
        1 + sum(total > g.total[me] for total in totals),
        stage(g),
        g.phase,
        g.ev_round,
        g.ev_cards if g.ev_round else 0,
        g.ev_bid,
        g.ev_won,
        g.ev_bonus,
        g.ev_alliances,
        g.ev_rank,
        int(g.ev_invalid != 0),
    ]
