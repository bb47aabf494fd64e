"""The bots that look two and three placements ahead, in plain Python (docs/drmario.md, 17.3).

The best of the first placements are followed to the preview, and what is weighed is both placements
and the bottle behind them. With three, the best of the second ones are followed to a pill that
nobody knows yet, whose nine possibilities count alike. Of these the sum is taken instead of the
mean, so that all numbers are whole.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

from fastenv.drmario import tables as t
from fastenv.drmario.greedy import Weights, branch, removed, weigh_bottle
from fastenv.drmario.placement import Placements
from fastenv.drmario.player import Player, pose_of
from fastenv.drmario.successors import follow


@dataclass(frozen=True)
class Candidate:
    """A placement that may be followed.

    Parameters
    ----------
    action, cost : int
    gain : int
        What it weighs by itself: viruses and frames, and the end of the game.
    rest : int
        What the bottle behind it weighs.
    over : bool
        Whether the game ends with it.
    """

    action: int
    cost: int
    gain: int
    rest: int
    over: bool

    @property
    def order(self) -> tuple[int, int]:
        """What the best is the least of."""
        return -self.gain - self.rest, self.action


def lookahead_action(
    game: Placements, player: Player, costs: Sequence[int], weights: Weights, widths: Sequence[int]
) -> int:
    """Return the placement that weighs most with those behind it.

    Parameters
    ----------
    game : Placements
    player : Player
        Who has to decide.
    costs : sequence of int
        Of the 512 placements; at least one can be reached.
    weights : mapping of str to int
    widths : sequence of int
        How many of the first placements are followed and, if there are two numbers, of the second.
    """
    kept = best_of(candidates(player, costs, weights), widths[0])
    return min((-worth(game, player, each, weights, widths[1:]), each.action) for each in kept)[1]


def worth(
    game: Placements, player: Player, first: Candidate, weights: Weights, widths: Sequence[int]
) -> int:
    """Return what a placement weighs with those behind it: nine times that, if there are two."""
    scale = t.NUM_PILLS if widths else 1
    if first.over:
        return scale * (first.gain + first.rest)
    alone, after = _follow(game, player, first)
    behind = candidates(after, alone.costs_for(after, alone.frame), weights)
    if not widths:
        return first.gain + max(each.gain + each.rest for each in behind)
    return scale * first.gain + max(
        scale * (each.gain + each.rest)
        if each.over
        else scale * each.gain + of_all_pills(*_follow(alone, after, each), weights)
        for each in best_of(behind, widths[0])
    )


def of_all_pills(game: Placements, player: Player, weights: Weights) -> int:
    """Return the sum of what the best placement of each of the nine pills weighs."""
    costs, total = game.costs_for(player, game.frame), 0
    for pill in range(t.NUM_PILLS):
        drawn = copy.copy(player)
        drawn.color_first, drawn.color_second = divmod(pill, t.NUM_COLORS)
        total += max(each.gain + each.rest for each in candidates(drawn, costs, weights))
    return total


def candidates(player: Player, costs: Sequence[int], weights: Weights) -> list[Candidate]:
    """Return what the placements that can be reached weigh.

    Of two that fill the same cells with the same colours only the cheaper one is there, of equal
    ones the first.
    """
    found: dict[tuple[int, ...], Candidate] = {}
    for action in sorted(range(t.NUM_PLACEMENTS), key=lambda a: (costs[a], a)):
        if costs[action] == t.INFEASIBLE:
            break
        row, col, rot = pose_of(action)
        alike = player.color_first == player.color_second
        cells = (row, col, rot & 1 if alike else rot)
        if cells not in found:
            found[cells] = candidate(player, action, costs[action], weights)
    return list(found.values())


def candidate(player: Player, action: int, cost: int, weights: Weights) -> Candidate:
    """Return what a placement weighs."""
    after, frames = branch(player, action)
    cleared = after.game.goal_met(after)
    blocked = any(after.board[cell] < t.FREE for cell in t.SPAWN_CELLS) and not cleared
    gain = weights["virus"] * removed(after) + weights["frame"] * (cost + frames)
    gain += t.DECIDED * (cleared - blocked)
    if player.game.versus and after.combo_counter >= t.MIN_ATTACK:
        gain += weights["attack"] * after.combo_counter
    rest = 0 if cleared else weigh_bottle(after.board, weights)
    return Candidate(action, cost, gain, rest, cleared or blocked)


def best_of(given: list[Candidate], width: int) -> list[Candidate]:
    """Return so many candidates that weigh most, of equal ones those with the lowest numbers."""
    return sorted(given, key=lambda each: each.order)[:width]


def _follow(game: Placements, player: Player, first: Candidate) -> tuple[Placements, Player]:
    alone, after = follow(game, player, first.action, first.cost)
    assert isinstance(alone, Placements)
    return alone, after
