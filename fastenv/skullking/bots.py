"""Opponents of Skull King (docs/skullking.md, 9), in plain Python.

A bot decides from a :class:`View` alone: its own cards, the table, its own bid and tricks. It never
sees the game. Every function takes the kind of bot first and the generator last; the docstrings
say how often a kind draws, because all implementations draw the same numbers in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from fastenv.rng import Rng
from fastenv.skullking.rules import (
    Play,
    clamp_bid,
    estimate,
    tigress_mode,
    winning_play,
)
from fastenv.skullking.tables import (
    BID_NOISE,
    BID_VALUE,
    NUMBER,
    PLAY_STRENGTH,
    PLAY_STRENGTH_WHALE_HIGH,
    STRENGTH,
    TIGRESS,
    WHALE,
    Bot,
    Phase,
)

EASY, MEDIUM, HARD = 0, 1, 2
WIN, LOSE, MIDDLE = "win", "lose", "medium"


class View(NamedTuple):
    """What a player knows when it decides: its information set as far as the bots use it."""

    seat: int
    hand: tuple[int, ...]
    legal: tuple[int, ...]  # cards of the hand that may be played now, in hand order
    table: tuple[Play, ...]
    bid: int  # -1 while it bids
    won: int
    cards: int  # N: cards dealt to a hand this round
    num_players: int
    num_hands: int  # cards of a complete trick

    @property
    def needed(self) -> int:
        """Tricks still wanted."""
        return self.bid - self.won


def difficulty(kind: int) -> int:
    """Return EASY, MEDIUM or HARD; the heuristic decides like HARD where it has no own rule."""
    if Bot.RULE_EASY <= kind <= Bot.RULE_HARD:
        return kind - Bot.RULE_EASY
    if Bot.RULE_PI_EASY <= kind <= Bot.RULE_PI_HARD:
        return kind - Bot.RULE_PI_EASY
    return HARD


# -- Bidding ------------------------------------------------------------------------------------


def rule_bid(view: View, level: int, rng: Rng) -> int:
    """Bid the value of the hand with some noise (docs/skullking.md, 9.2); one ``uniform()``."""
    value = sum(BID_VALUE[card] for card in view.hand) / 100
    u = rng.uniform()
    return clamp_bid(value + (2.0 * u - 1.0) * BID_NOISE[level], view.cards)


def choose_bid(kind: int, view: View, rng: Rng) -> int:
    """Return a bid in ``0..cards``; one draw: ``bounded(cards + 1)`` (random) or ``uniform()``."""
    if kind == Bot.RANDOM:
        return rng.bounded(view.cards + 1)
    bid = rule_bid(view, difficulty(kind), rng)
    if kind == Bot.HEURISTIC:
        bid = clamp_bid((bid + estimate(view.hand, view.cards)) / 2.0, view.cards)
    return bid


def choose_cannon(kind: int, rng: Rng) -> int:
    """Return 1 for the cannonball; random draws ``bounded(2)``, the others take grapeshot.

    See docs/skullking.md, 7.1.
    """
    return rng.bounded(2) if kind == Bot.RANDOM else 0


# -- Playing a card -----------------------------------------------------------------------------


def play_strengths(cards: Sequence[int]) -> list[float]:
    """Return the play strength of each of ``cards``, the set to choose from.

    See docs/skullking.md, 9.2.
    """
    high = sum(NUMBER[card] >= 12 for card in cards) >= 2
    return [
        PLAY_STRENGTH_WHALE_HIGH if card == WHALE and high else PLAY_STRENGTH[card]
        for card in cards
    ]


def plan(needed: int, k: int) -> str:
    """Return the plan of the rule-based bot with ``k`` cards to go (docs/skullking.md, 9.2)."""
    if needed > k or needed == 0:
        return LOSE
    if needed == k:
        return WIN
    if needed > 0:
        return WIN if needed > k // 2 else MIDDLE
    return LOSE


def rule_card(kind: int, view: View, rng: Rng) -> int:
    """Play by plan and strength, blind to the table (docs/skullking.md, 9.2).

    EASY draws ``uniform()``, and ``bounded(3)`` if that is below 0.3; the others draw nothing.
    """
    count_current = kind <= Bot.RULE_HARD  # else rule_pi, which leaves the current trick out
    choice = plan(view.needed, len(view.hand) if count_current else len(view.hand) - 1)
    if difficulty(kind) == EASY and rng.uniform() < 0.3:
        choice = (WIN, LOSE, MIDDLE)[rng.bounded(3)]
    strengths = play_strengths(view.legal)
    slots = range(len(strengths))
    if choice == WIN:
        slot = strengths.index(max(strengths))
    elif choice == LOSE:
        slot = strengths.index(min(strengths))
    else:
        slot = sorted(slots, key=strengths.__getitem__)[len(slots) // 2]
    return view.legal[slot]


def win_chance(view: View, card: int) -> float:
    """Return the heuristic's chance that ``card``, played now, wins the trick.

    See docs/skullking.md, 9.3.
    """
    mode = tigress_mode(view.bid, view.won) if card == TIGRESS else 0
    play = Play(view.seat, card, mode)
    if winning_play([*view.table, play]) is not play:
        return 0.0
    if len(view.table) == view.num_hands - 1:
        return 1.0
    return min(1.0, max(0.0, STRENGTH[card] + 0.1 * len(view.table) - 0.1))


def heuristic_card(view: View) -> int:
    """Play the first card of maximal value (docs/skullking.md, 9.3); no draws."""

    def value(card: int) -> float:
        s, pw = STRENGTH[card], win_chance(view, card)
        if view.needed > 0:
            return pw - (0.15 * s if pw <= 0.5 else 0.0)
        return -pw + (0.15 * s if pw < 0.3 else 0.0)

    return max(view.legal, key=value)


def choose_card(kind: int, view: View, rng: Rng) -> int:
    """Return one of ``view.legal``; random draws ``bounded(len(legal))``, also for one card."""
    if kind == Bot.RANDOM:
        return view.legal[rng.bounded(len(view.legal))]
    if kind == Bot.HEURISTIC:
        return heuristic_card(view)
    return rule_card(kind, view, rng)


# -- Abilities (docs/skullking.md, 9.2); `view.needed` counts the trick just won -------------------


def choose_leader(kind: int, view: View, rng: Rng) -> int:
    """Rosie: return the seat to lead; random draws ``bounded(num_players)``."""
    return rng.bounded(view.num_players) if kind == Bot.RANDOM else view.seat


def choose_discard(kind: int, view: View, rng: Rng, first: int = -1) -> int:
    """Bendt: return one hand slot to discard, not ``first``, the slot of the first discard.

    Random draws ``bounded()`` over the slots that are left. EASY takes the first of them, the
    others the first weakest if they need tricks, the first strongest if not.
    """
    slots = [slot for slot in range(len(view.hand)) if slot != first]
    if kind == Bot.RANDOM:
        return slots[rng.bounded(len(slots))]
    if difficulty(kind) == EASY:
        return slots[0]
    strengths = play_strengths(view.hand)
    best = min if view.needed > 0 else max
    return best(slots, key=strengths.__getitem__)


def choose_bet(kind: int, view: View, rng: Rng) -> int:
    """Rascal: return 0, 1 or 2 for a bet of 0, 10 or 20; random draws ``bounded(3)``."""
    if kind == Bot.RANDOM:
        return rng.bounded(3)
    if difficulty(kind) != HARD:
        return 1
    if view.needed == 0 and all(s < 0.3 for s in play_strengths(view.hand)):
        return 2
    return 0 if view.needed > len(view.hand) or view.needed < 0 else 1


def choose_change(kind: int, view: View, rng: Rng) -> int:
    """Harry: return -1, 0 or +1; random draws ``bounded()`` over the changes within 0..cards."""
    allowed = [change for change in (-1, 0, 1) if 0 <= view.bid + change <= view.cards]
    if kind == Bot.RANDOM:
        return allowed[rng.bounded(len(allowed))]
    return -view.needed if -view.needed in allowed else 0


# -- A bot in the agent's seat ------------------------------------------------------------------


class Table(Protocol):
    """What a bot in the agent's seat asks the game: which seat decides, and what it knows."""

    actor: int
    phase: int
    first_discard: int

    def view(self, seat: int) -> View:
        """Return a player's view of the game."""


def bot_action(game: Table, kind: int, rng: Rng) -> int:
    """Return the action that a bot takes at the actor's pending decision.

    Parameters
    ----------
    game : SkullKing
        A game that waits for a decision; only the actor's view is handed to the bot.
    kind : Bot
        Which bot decides.
    rng : Rng
        Generator of the policy, not of the game.
    """
    view = game.view(game.actor)
    choose: dict[Phase, Callable[[], int]] = {
        Phase.BID: lambda: choose_bid(kind, view, rng),
        Phase.CANNON: lambda: choose_cannon(kind, rng),
        Phase.PLAY: lambda: view.hand.index(choose_card(kind, view, rng)),
        Phase.TIGRESS: lambda: tigress_mode(view.bid, view.won),
        Phase.ROSIE: lambda: (choose_leader(kind, view, rng) - view.seat) % view.num_players,
        Phase.BENDT_1: lambda: choose_discard(kind, view, rng),
        Phase.BENDT_2: lambda: choose_discard(kind, view, rng, game.first_discard),
        Phase.RASCAL: lambda: choose_bet(kind, view, rng),
        Phase.HARRY: lambda: choose_change(kind, view, rng) + 1,
        Phase.END: lambda: 0,
    }
    return choose[Phase(game.phase)]()
