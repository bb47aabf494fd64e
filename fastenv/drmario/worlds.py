"""Worlds and rollouts of Dr. Mario: what a player cannot see, drawn anew, and when to stop.

The compiled twin is ``_worlds.pxd``; docs/drmario.md, 12.7, says what is hidden.
"""

from __future__ import annotations

from fastenv.drmario import tables as t
from fastenv.drmario.placement import Placements
from fastenv.drmario.planning import costs_for
from fastenv.drmario.player import Player
from fastenv.drmario.reference import DrMario
from fastenv.rng import Rng

PILLS = "pills="
STOPS = (PILLS,)


def resample(game: DrMario, agent: int, rng: Rng) -> None:
    """Draw pills that nobody has seen, the generators, and where the opponent's pill will lie.

    See :meth:`fastenv.game.Reference.resample`.
    """
    game.rng.state = [rng.next() for _ in range(4)]
    if game.versus:
        game.bot_rng = [rng.next() for _ in range(4)]
    for index in range(max(map(first_hidden, game.players)), t.RESERVE):
        game.reserve[index] = rng.bounded(t.NUM_PILLS)
    if game.versus and isinstance(game, Placements):
        choose_again(game, game.players[1 - agent], rng)


def first_hidden(player: Player) -> int:
    """Return the index behind the pills that a player has been shown; the reserve comes again."""
    count = 100 * t.from_bcd(player.pill_count_hi) + t.from_bcd(player.pill_count_lo)
    return t.RESERVE if count >= t.RESERVE - 1 else player.reserve_index


def choose_again(game: Placements, player: Player, rng: Rng) -> None:
    """Draw the placement of a pill on its way from those that would lock in the same frame."""
    if player.plan_left == 0:
        return
    cost = player.plan_left + game.since(player)
    costs = costs_for(player, player.decided_frame)
    same = [a for a, c in enumerate(costs) if c == cost and c != t.INFEASIBLE]
    if not same:  # a row that no game comes to
        return
    chosen = same[rng.bounded(len(same))]
    if player.ev_action == player.plan_action:
        player.ev_action = chosen
    player.plan_action = chosen


def stopped(game: DrMario, start: DrMario, number: int) -> bool:
    """Tell whether every player has placed so many pills since the start of a rollout."""
    pairs = zip(game.players, start.players, strict=True)
    return all(player.locks - before.locks >= number for player, before in pairs)
