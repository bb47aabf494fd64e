"""Rollouts: a game of Skull King in which all seats are played from outside, in plain Python.

The compiled twin, which also plays the cards, is ``_rollouts.pxd``.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from fastenv.rng import Rng
from fastenv.skullking import bots
from fastenv.skullking.tables import Bot, Phase, Tier

if TYPE_CHECKING:
    from fastenv.skullking.reference import SkullKing

STOPS = ("round", "tricks=")


def begin(game: SkullKing, kinds: list[int] | None, until: str | None, rng: Rng) -> None:
    """Prepare a game for players of these kinds, one a seat; see ``Reference.begin_rollout``.

    What seats have chosen in secret they choose anew, unless no player decides anything. Every
    decision of every seat is asked for, whatever the tier. What a rule decides, it decides alike
    for all seats, whoever sat there. With ``until="round"`` the episode ends with the round.
    """
    goal = game.agent if game.has_goal() else -1
    changed: dict[str, Any] = {"tier": Tier.FLAT, "external": 1}
    if until == "round":
        changed["full_game"] = 0
    game.rules = SimpleNamespace(**(vars(game.rules) | changed))
    players = game.rules.num_players
    for seat in range(players):
        game.bots[seat] = Bot.RULE_HARD if seat == game.agent else Bot.EXTERNAL
    if game.phase in (Phase.BID, Phase.CANNON):
        seats = [(game.agent + i) % players for i in range(players)]
        place = seats.index(game.actor)
        if kinds is not None:
            choose_again(game, [seat for seat in seats[:place] if seat != goal], kinds, rng)
        forget(game, seats[place + 1 :])


def choose_again(game: SkullKing, seats: list[int], kinds: list[int], rng: Rng) -> None:
    """Let seats that have chosen in secret choose anew: they are others from now on."""
    for seat in seats:
        if game.phase == Phase.BID:
            game.bid[seat] = bots.choose_bid(kinds[seat], game.view(seat), rng)
        else:
            game.cannon[seat] = bots.choose_cannon(kinds[seat], rng)


def forget(game: SkullKing, seats: list[int]) -> None:
    """Take back what seats have chosen that are yet to be asked."""
    if game.phase == Phase.BID:
        game.cannon = [0] * len(game.cannon)
    for seat in seats:
        if game.phase == Phase.BID:
            game.bid[seat] = -1
        game.cannon[seat] = 0


def stopped(game: SkullKing, start: SkullKing, until: str, number: int) -> bool:
    """Return whether a rollout ends: with the round, or with some more tricks of it."""
    over = game.rounds_done != start.rounds_done
    return over or (until == "tricks=" and game.tricks >= start.tricks + number)
