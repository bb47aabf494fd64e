"""The bots that look two placements ahead and more, in plain Python (docs/drmario.md, 17.3).

The best of the first placements are followed to the preview, and what is weighed is both placements
and the bottle behind them. With three, the best of the second ones are followed to a pill that
nobody knows yet, whose nine possibilities count alike; with four, the best of those to one more.
Of the nine the sum is taken instead of the mean, so that all numbers are whole.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

from fastenv.drmario import tables as t
from fastenv.drmario.greedy import Weights, branch, removed, weigh_bottle
from fastenv.drmario.planning import costs_for
from fastenv.drmario.player import Player, pose_of
from fastenv.drmario.reference import DrMario
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
    game: DrMario, player: Player, costs: Sequence[int], weights: Weights, widths: Sequence[int]
) -> int:
    """Return the placement that weighs most with those behind it.

    Parameters
    ----------
    game : DrMario
    player : Player
        Who has to decide.
    costs : sequence of int
        Of the 512 placements; at least one can be reached.
    weights : mapping of str to int
    widths : sequence of int
        How many of the first placements are followed and, if there are more numbers, of those
        behind them.
    """
    scale, found = t.NUM_PILLS ** (len(widths) - 1), []
    for first in best_of(candidates(player, costs, weights), widths[0]):
        if first.over:
            worth = scale * (first.gain + first.rest)
        else:
            behind = follow(game, player, first.action, first.cost)
            worth = scale * first.gain + best_of_pill(*behind, weights, widths[1:])
        found.append((-worth, first.action))
    return min(found)[1]


def best_of_pill(game: DrMario, player: Player, weights: Weights, widths: Sequence[int]) -> int:
    """Return what the best placement of the pill that is due weighs: nine times that a width."""
    found = candidates(player, costs_for(player, game.frame), weights)
    if not widths:
        return max(each.gain + each.rest for each in found)
    scale: int = t.NUM_PILLS ** len(widths)
    return max(
        scale * (each.gain + each.rest)
        if each.over
        else scale * each.gain
        + best_of_all_pills(*follow(game, player, each.action, each.cost), weights, widths[1:])
        for each in best_of(found, widths[0])
    )


def best_of_all_pills(
    game: DrMario, player: Player, weights: Weights, widths: Sequence[int]
) -> int:
    """Return the sum of what the best placement of each of the nine pills weighs."""
    total = 0
    for pill in range(t.NUM_PILLS):
        drawn = copy.copy(player)
        drawn.color_first, drawn.color_second = divmod(pill, t.NUM_COLORS)
        total += best_of_pill(game, drawn, weights, widths)
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
