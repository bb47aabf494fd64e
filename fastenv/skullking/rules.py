"""The rules of Skull King in plain Python: who may play what, who wins, what it scores.

The flow of a game (deal, turns, abilities) is in ``reference.py``. Everything here is a pure
function of its arguments and works on cards as integers (see ``tables.py``) and on plays:

>>> trick = [Play(0, 65), Play(1, 7), Play(2, 0), Play(3, 3)]  # C14, Rascal, Skull King, mermaid
>>> resolve_trick(trick).winner, resolve_trick(trick).bonus
(3, 50)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

from fastenv.skullking.tables import (
    CLASS,
    ESCAPES,
    KING,
    KRAKEN,
    MERMAIDS,
    NUMBER,
    PIRATES,
    STRENGTH,
    SUIT,
    TIGRESS,
    TRUMP,
    WHALE,
    CardClass,
    Scoring,
)

OPEN, FREE = -1, -2  # lead suits of a trick: nothing decided yet; no suit in this trick
BEASTS = (KRAKEN, WHALE)


class Play(NamedTuple):
    """A card on the table; ``mode`` matters for the Tigress only: 0 escape, 1 pirate."""

    seat: int
    card: int
    mode: int = 0


class Captures(NamedTuple):
    """Cards of a trick that pay its winner a bonus (docs/skullking.md, 5)."""

    fourteens: int = 0  # of the standard suits
    trump_fourteen: int = 0
    mermaids: int = 0  # captured by a pirate
    pirates: int = 0  # captured by the Skull King
    king: int = 0  # captured by a mermaid


CAPTURE_POINTS = Captures(fourteens=10, trump_fourteen=20, mermaids=20, pirates=30, king=40)
ALLIANCE_POINTS = 20  # to each of the two


class Trick(NamedTuple):
    """Outcome of a trick (docs/skullking.md, 4.5)."""

    winner: int  # seat, -1: destroyed
    next_leader: int
    bonus: int
    alliances: list[tuple[int, int]]  # (seat of the Loot, seat of the winner)
    captures: Captures


class RoundScore(NamedTuple):
    """Points of one player for one round, and the capture bonuses among them."""

    points: int
    bonus: int


@dataclass(frozen=True)
class TrickRules:
    """Rule switches that matter inside a trick, with their default values.

    See docs/skullking.md, 7.
    """

    late_suit: bool = False
    trump_any_time: bool = False
    left_of_kraken: bool = False
    whale_void_would_win: bool = False
    tigress_bonus: bool = True


DEFAULT_RULES = TrickRules()
RulesLike = TrickRules | SimpleNamespace  # anything that has the switches of TrickRules


# -- cards (docs/skullking.md, 2) ---------------------------------------------------------------


def is_special(card: int) -> bool:
    """Tell whether ``card`` is not one of the 56 numbered cards."""
    return CLASS[card] != CardClass.NUMBER


def effective_class(play: Play) -> CardClass:
    """Return the class of a card on the table: the Tigress is an Escape or a pirate."""
    if play.card == TIGRESS:
        return CardClass.PIRATE if play.mode else CardClass.ESCAPE
    return CLASS[play.card]


def tigress_mode(bid: int, won: int) -> int:
    """Return how the Tigress is played by rule: as a pirate if tricks are needed.

    See docs/skullking.md, 8.3.
    """
    return 1 if bid - won > 0 else 0


# -- deal (docs/skullking.md, 3.2) --------------------------------------------------------------


def hand_sizes(schedule: Sequence[int], deck_size: int = 74, num_hands: int = 4) -> list[int]:
    """Return the cards dealt to a hand in every round: as scheduled, if the deck suffices."""
    return [min(cards, deck_size // num_hands) for cards in schedule]


# -- which cards may be played (docs/skullking.md, 3.5) -----------------------------------------


def lead_suit(plays: Sequence[Play], late_suit: bool = False) -> int:
    """Return the suit to follow, or ``OPEN`` (not decided yet), or ``FREE`` (none in this trick).

    Parameters
    ----------
    plays : sequence of Play
        Cards on the table in play order.
    late_suit : bool
        Switch (docs/skullking.md, 7): the first numbered card sets the suit, whatever lies before
        it. Nothing is ``FREE`` then.
    """
    for play in plays:
        kind = effective_class(play)
        if kind == CardClass.NUMBER:
            return SUIT[play.card]
        if kind in (CardClass.ESCAPE, CardClass.LOOT) or late_suit:
            continue  # defers the choice
        return FREE  # a character or a beast
    return OPEN


def legal_cards(
    hand: Sequence[int], plays: Sequence[Play] = (), rules: RulesLike = DEFAULT_RULES
) -> list[int]:
    """Return the cards of ``hand``, in its order, that may be played to ``plays``."""
    suit = lead_suit(plays, bool(rules.late_suit))
    if suit in (OPEN, FREE) or all(SUIT[card] != suit for card in hand):
        return list(hand)
    suits = (suit, TRUMP) if rules.trump_any_time else (suit,)
    return [card for card in hand if is_special(card) or SUIT[card] in suits]


def shows_void(card: int, suit: int, rules: RulesLike = DEFAULT_RULES) -> bool:
    """Tell whether a card played when ``suit`` is led shows that the hand has none of it.

    Parameters
    ----------
    card : int
    suit : int
        What :func:`lead_suit` says before the card: ``OPEN`` and ``FREE`` ask for nothing.
    rules : TrickRules or the rules of a game
    """
    free = (suit, TRUMP) if rules.trump_any_time else (suit,)
    return suit not in (OPEN, FREE) and not is_special(card) and SUIT[card] not in free


# -- trick resolution (docs/skullking.md, 4) ----------------------------------------------------


def best_play(plays: Sequence[Play]) -> Play:
    """Return the winning play of a trick without beasts (docs/skullking.md, 4.1)."""

    def first(kind: CardClass) -> Play | None:
        return next((play for play in plays if effective_class(play) == kind), None)

    king, mermaid, pirate = map(first, (CardClass.KING, CardClass.MERMAID, CardClass.PIRATE))
    if king is not None:  # 4.1.1: the King falls only to a mermaid
        return king if mermaid is None else mermaid
    if pirate is not None:  # 4.1.2
        return pirate
    if mermaid is not None:  # 4.1.3
        return mermaid
    numbered = [play for play in plays if SUIT[play.card] >= 0]
    if numbered:  # 4.1.4: trump, else the suit of the first number
        trumped = any(SUIT[play.card] == TRUMP for play in numbered)
        suit = TRUMP if trumped else SUIT[numbered[0].card]
        return max(
            (play for play in numbered if SUIT[play.card] == suit), key=lambda p: NUMBER[p.card]
        )
    return plays[0]  # 4.1.5: escapes and Loot only


def acting_beast(plays: Sequence[Play]) -> Play | None:
    """Return the Kraken or Whale that acts: of two, the one played second.

    See docs/skullking.md, 4.3.
    """
    beasts = [play for play in plays if play.card in BEASTS]
    return beasts[-1] if beasts else None


def winning_play(plays: Sequence[Play]) -> Play | None:
    """Return the winning play, None in a destroyed trick (docs/skullking.md, 4.1 to 4.3)."""
    beast = acting_beast(plays)
    if beast is None:
        return best_play(plays)
    if beast.card == KRAKEN:  # 4.2
        return None
    # 4.3: the highest number wins, whatever its suit; of equal ones the first played
    numbered = [play for play in plays if SUIT[play.card] >= 0]
    return max(numbered, key=lambda play: NUMBER[play.card]) if numbered else None


def leader_after_destroyed(plays: Sequence[Play], rules: RulesLike = DEFAULT_RULES) -> int:
    """Return the seat that leads after a trick that nobody won (docs/skullking.md, 4.4).

    The player to the left is the next one in play order, so that nobody needs to know the seats.
    """
    beast = acting_beast(plays)
    assert beast is not None, "only a beast destroys a trick"
    if beast.card == KRAKEN and rules.left_of_kraken:
        return plays[(plays.index(beast) + 1) % len(plays)].seat
    if beast.card == WHALE and not rules.whale_void_would_win:
        return beast.seat
    others = [play for play in plays if play.card not in BEASTS]
    return best_play(others).seat if others else beast.seat


def captured(plays: Sequence[Play], winner: Play, tigress_bonus: bool = True) -> Captures:
    """Count the cards that pay the winner of a trick a bonus (docs/skullking.md, 5).

    Without ``tigress_bonus`` the Tigress as a pirate is neither captor nor captive.
    """
    kinds = [effective_class(p) for p in plays if tigress_bonus or p.card != TIGRESS]
    fourteens = [SUIT[play.card] for play in plays if NUMBER[play.card] == 14]
    captor = effective_class(winner) if tigress_bonus or winner.card != TIGRESS else None
    return Captures(
        fourteens=sum(suit != TRUMP for suit in fourteens),
        trump_fourteen=fourteens.count(TRUMP),
        mermaids=kinds.count(CardClass.MERMAID) if captor == CardClass.PIRATE else 0,
        pirates=kinds.count(CardClass.PIRATE) if captor == CardClass.KING else 0,
        king=kinds.count(CardClass.KING) if captor == CardClass.MERMAID else 0,
    )


def resolve_trick(plays: Sequence[Play], rules: RulesLike = DEFAULT_RULES) -> Trick:
    """Return who wins a complete trick, who leads next, and what it is worth.

    See docs/skullking.md, 4.5.
    """
    winner = winning_play(plays)
    if winner is None:
        return Trick(-1, leader_after_destroyed(plays, rules), 0, [], Captures())
    captures = captured(plays, winner, bool(rules.tigress_bonus))
    bonus = sum(n * points for n, points in zip(captures, CAPTURE_POINTS, strict=True))
    loot = [play.seat for play in plays if CLASS[play.card] == CardClass.LOOT]
    alliances = [(seat, winner.seat) for seat in loot if seat != winner.seat]
    return Trick(winner.seat, winner.seat, bonus, alliances, captures)


# -- scoring (docs/skullking.md, 5) -------------------------------------------------------------


def score_bid(
    bid: int,
    won: int,
    cards: int,
    bonus: int = 0,
    scoring: int = Scoring.SKULL_KING,
    cannonball: bool = False,
) -> RoundScore:
    """Score the bid and the captured bonuses, without Loot and Rascal's bet (5 and 7.1)."""
    distance = abs(won - bid)
    if scoring == Scoring.SKULL_KING:
        if bid == 0:
            return RoundScore(10 * cards if won == 0 else -10 * cards, 0)
        return RoundScore(20 * bid + bonus, bonus) if won == bid else RoundScore(-10 * distance, 0)
    if scoring == Scoring.RASCAL_CANNON and cannonball:
        return RoundScore(15 * cards + bonus, bonus) if won == bid else RoundScore(0, 0)
    if distance == 0:
        return RoundScore(10 * cards + bonus, bonus)
    if distance == 1:  # half of both; a bonus is a multiple of 10
        return RoundScore(5 * cards + bonus // 2, bonus // 2)
    return RoundScore(0, 0)


def score_round(
    bid: int,
    won: int,
    cards: int,
    bonus: int = 0,
    alliances: int = 0,
    bet: int = 0,
    scoring: int = Scoring.SKULL_KING,
    cannonball: bool = False,
) -> RoundScore:
    """Return the points of one player for one round (docs/skullking.md, 5).

    Parameters
    ----------
    bid, won, cards : int
        Bid (after Harry's change), tricks won, and cards dealt to a hand.
    bonus : int
        Capture bonuses of the tricks won.
    alliances : int
        Number of alliances whose two members both have exact bids.
    bet : int
        Rascal's bet: 0, 10 or 20.
    scoring : Scoring
        See docs/skullking.md, 7.1.
    cannonball : bool
        With ``Scoring.RASCAL_CANNON``: the player chose the cannonball.
    """
    points, paid = score_bid(bid, won, cards, bonus, scoring, cannonball)
    return RoundScore(points + ALLIANCE_POINTS * alliances + (bet if won == bid else -bet), paid)


# -- estimate of a hand (docs/skullking.md, 10.2) -----------------------------------------------


def estimate(hand: Sequence[int], cards: int) -> int:
    """Return how many of ``cards`` tricks a hand is expected to win."""
    longest = max(sum(SUIT[card] == suit for card in hand) for suit in range(3))
    high = sum(STRENGTH[card] > 0.7 for card in hand)
    x = 0.0
    for card in hand:
        x += STRENGTH[card]
    if longest >= max(0.6 * cards, 3.0):
        x += 0.5
    if any(card in MERMAIDS for card in hand) and high >= 2:
        x -= 0.5
    if cards >= 5 and sum(card in PIRATES for card in hand) >= 2:
        x += 0.3
    x -= 0.4 * sum(card in ESCAPES for card in hand)
    if KING in hand:
        x += 0.2
    return clamp_bid(x, cards)


def clamp_bid(x: float, cards: int) -> int:
    """Round half to even and clamp to the bids ``0..cards``."""
    return min(max(round(x), 0), cards)
