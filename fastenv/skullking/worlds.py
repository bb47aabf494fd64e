"""Worlds: a game of Skull King in which all that a player cannot know is drawn anew.

All assignments of the unseen cards to the places where they may be are equally likely; what a
place may hold follows from what everybody has shown (docs/skullking.md, 19.1). The compiled twin is
``_worlds.pxd``: same steps, same names, same order of draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fastenv.rng import Rng
from fastenv.skullking import bots
from fastenv.skullking.tables import SUIT, TIGRESS, Bot, Phase, Scoring

if TYPE_CHECKING:
    from fastenv.skullking.reference import SkullKing

DRAWN, DISCARDED, STOCK = -1, -2, -3  # places that are no hand
MAX_REJECTIONS = 500
SWAPS = 64  # for each unseen card, where a world is not drawn but found

Cards = set[int]
Dealt = dict[int, list[int]]  # cards by place


class Place(NamedTuple):
    """Where unseen cards are: how many, and which of them may be."""

    name: int  # the seat of a hand, or DRAWN, DISCARDED or STOCK
    size: int
    fits: Cards


def resample(game: SkullKing, agent: int, rng: Rng) -> None:
    """Draw a world that ``agent`` cannot tell from the game's; see ``Reference.resample``."""
    unseen = unseen_cards(game, agent)
    places = places_of(game, agent, unseen)
    put(game, agent, places, deal(unseen, places, rng))
    if agent != game.agent:
        game.clear_events()  # they tell of the other's decision
    if agent != game.actor and game.phase == Phase.BENDT_2:
        game.first_discard = rng.bounded(len(game.hand[game.actor]))
    if game.phase in (Phase.BID, Phase.CANNON):
        draw_secrets(game, agent, rng)
    game.look_again()
    game.deal_seed = rng.next() if game.rules.duplicate_deals else 0
    game.rng.state = [rng.next() for _ in range(4)]


# -- what is known ---------------------------------------------------------------------------------


def unseen_cards(game: SkullKing, agent: int) -> Cards:
    """Return the cards of which a player cannot know where they are."""
    unseen = {*game.rules.deck} - game.played - {*game.hand[agent]}
    if agent == game.bendt_seat:
        unseen -= {*game.discard}
    if asks_for_tigress(game, agent):
        unseen.discard(TIGRESS)
    return unseen


def asks_for_tigress(game: SkullKing, agent: int) -> bool:
    """Return whether another seat is asked how it plays the Tigress, which it must hold."""
    return game.phase == Phase.TIGRESS and agent != game.actor


def discards_next(game: SkullKing, agent: int) -> bool:
    """Return whether another seat holds cards that it has drawn and must discard as many."""
    return game.phase in (Phase.BENDT_1, Phase.BENDT_2) and agent != game.actor


def places_of(game: SkullKing, agent: int, unseen: Cards) -> list[Place]:
    """Return where unseen cards are; which cards Jade showed, only who looked knows."""
    looked, drew = agent == game.jade_seat, game.bendt_seat
    shown = unseen & {*game.stock[game.jade_pos :]} if looked else set()
    taken = game.jade_pos < game.stock_pos and agent != drew  # another drew cards that were shown
    unshown, drawing = unseen - shown, discards_next(game, agent)
    places = []
    for seat in range(game.rules.num_hands):
        if seat == agent:
            continue
        size = len(game.hand[seat])
        if seat == game.actor:
            size -= asks_for_tigress(game, agent) + game.stock_pos * drawing
        fits = unseen if taken and seat == drew and not drawing else unshown
        void = {suit for suit in range(4) if game.voids[seat] >> suit & 1}
        places.append(Place(seat, size, {card for card in fits if SUIT[card] not in void}))
    if drawing:
        places.append(Place(DRAWN, game.stock_pos, shown if looked else unseen))
    if game.discard and agent != drew:
        places.append(Place(DISCARDED, len(game.discard), unseen if taken else unshown))
    left = len(game.stock) - game.stock_pos
    places.append(Place(STOCK, left, shown if looked else unseen))
    return places


# -- the draw --------------------------------------------------------------------------------------


def deal(unseen: Cards, places: list[Place], rng: Rng) -> Dealt:
    """Deal the unseen cards to their places, all assignments that fit equally likely.

    Places that cannot hold every card are filled first, those with the least choice before the
    others. How much choice is left to a place depends on what the places before it got: an
    assignment is taken with a probability that makes up for that, or else all is done again.
    """
    bound = [place for place in places if place.fits != unseen]
    bound.sort(key=lambda place: len(place.fits) - place.size)
    dealt = deal_bound(unseen, bound, rng) if bound else {}
    rest = sorted(unseen.difference(*dealt.values()))
    shuffle(rest, rng)
    for place in places:
        if place not in bound:
            dealt[place.name], rest = rest[: place.size], rest[place.size :]
    return dealt


def deal_bound(unseen: Cards, bound: list[Place], rng: Rng) -> Dealt:
    """Deal to the places that cannot hold every card."""
    choice = most_choice(bound)
    for _ in range(MAX_REJECTIONS):
        dealt, weight = propose(unseen, bound, choice, rng)
        if weight == 1.0 or (weight > 0.0 and rng.uniform() < weight):
            return dealt
    return find(unseen, bound, rng)


def most_choice(bound: list[Place]) -> list[int]:
    """Return for each place the most cards that can be left for it to choose from.

    What the places before it cannot fill with cards that do not fit here, they take from those
    that do.
    """
    choice, size, fits = [], 0, set[int]()
    for place in bound:
        choice.append(len(place.fits) - max(0, size - len(fits - place.fits)))
        size, fits = size + place.size, fits | place.fits
    return choice


def propose(unseen: Cards, bound: list[Place], choice: list[int], rng: Rng) -> tuple[Dealt, float]:
    """Fill one place after the other; return the probability to take it, 0 at a dead end."""
    left, dealt, weight = {*unseen}, {}, 1.0
    for place, most in zip(bound, choice, strict=True):
        cards = sorted(place.fits & left)
        if len(cards) < place.size:
            return {}, 0.0
        for i in range(place.size):
            j = i + rng.bounded(len(cards) - i)
            cards[i], cards[j] = cards[j], cards[i]
            weight *= (len(cards) - i) / (most - i)
        dealt[place.name] = cards[: place.size]
        left.difference_update(dealt[place.name])
    return dealt, weight


def shuffle(cards: list[int], rng: Rng) -> None:
    """Shuffle as a deck is shuffled."""
    for i in range(len(cards) - 1, 0, -1):
        j = rng.bounded(i + 1)
        cards[i], cards[j] = cards[j], cards[i]


def find(unseen: Cards, bound: list[Place], rng: Rng) -> Dealt:
    """Find an assignment where hardly any is left, and mix it by swaps that fit."""
    cards = sorted(unseen)
    owner = dict.fromkeys(cards, -1)  # index of a bound place

    def give(i: int, tried: Cards) -> bool:
        """Find a card for a place, if need be one that its owner can replace."""
        for card in cards:
            if card in bound[i].fits and card not in tried:
                tried.add(card)
                if owner[card] < 0 or give(owner[card], tried):
                    owner[card] = i
                    return True
        return False

    for i, place in enumerate(bound):
        for _ in range(place.size):
            give(i, set())
    for _ in range(SWAPS * len(cards)):
        one, other = cards[rng.bounded(len(cards))], cards[rng.bounded(len(cards))]
        i, j = owner[one], owner[other]
        if (i < 0 or other in bound[i].fits) and (j < 0 or one in bound[j].fits):
            owner[one], owner[other] = j, i
    dealt = {}
    for i, place in enumerate(bound):
        dealt[place.name] = [card for card in cards if owner[card] == i]
        shuffle(dealt[place.name], rng)
    return dealt


# -- into the game ---------------------------------------------------------------------------------


def put(game: SkullKing, agent: int, places: list[Place], dealt: Dealt) -> None:
    """Write the cards where the game has them; sets alone stay: who looked has seen the stock."""
    shown = {*game.stock[game.jade_pos :]} if agent == game.jade_seat else set()
    for place in places:
        if place.name >= 0:
            cards = dealt[place.name]
            if place.name == game.actor and asks_for_tigress(game, agent):
                cards = [*cards, TIGRESS]
            game.hand[place.name] = cards if game.is_graybeard(place.name) else sorted(cards)
    drawn = game.stock[: game.stock_pos]
    if DRAWN in dealt:
        drawn = dealt[DRAWN]
        game.hand[game.actor] += drawn
    if DISCARDED in dealt:
        game.discard = dealt[DISCARDED]
        # which cards were drawn only follows if all were shown; else it may be the discarded ones
        looked = agent == game.jade_seat and game.jade_pos < game.stock_pos
        drawn = sorted(shown - {*dealt[STOCK]} if looked else game.discard)
    game.stock = [*drawn, *dealt[STOCK]]


def draw_secrets(game: SkullKing, agent: int, rng: Rng) -> None:
    """Draw bids and cannons that are not revealed yet, by rules that all seats have in common."""
    for seat in range(game.rules.num_players):
        if seat != agent and game.bid[seat] >= 0:
            game.bid[seat] = bots.choose_bid(Bot.HEURISTIC, game.view(seat), rng)
        if seat != agent and game.rules.scoring == Scoring.RASCAL_CANNON:
            game.cannon[seat] = rng.bounded(2)
