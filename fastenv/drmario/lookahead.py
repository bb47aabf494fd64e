"""The bots that look two placements ahead and more, in plain Python (docs/drmario.md, 17.3).

The best first placements are followed to the preview, and what is weighed is both placements and
the bottle behind them. Bots that look farther follow the best second placements to a third pill,
which nobody knows yet. Its nine possibilities count alike; their sum is taken instead of the mean,
so that all numbers are whole. The best of what is found is played on in rollouts.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

from fastenv.drmario import tables as t
from fastenv.drmario.greedy import Weights, branch, removed, weigh_bottle
from fastenv.drmario.planning import costs_for
from fastenv.drmario.player import MASK32, Player, pose_of
from fastenv.drmario.reference import DrMario
from fastenv.drmario.successors import follow
from fastenv.drmario.tables import Looking


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


@dataclass(frozen=True)
class Considered:
    """A first placement that was followed.

    Parameters
    ----------
    action : int
    weight : int
        The sum of what it weighs with what is behind it.
    count : int
        Of how many it is the sum: third pills, or rollouts.
    """

    action: int
    weight: int
    count: int


def lookahead_action(
    game: DrMario, player: Player, costs: Sequence[int], weights: Weights, looking: Looking
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
    looking : Looking
    """
    return consider(game, player, costs, weights, looking)[0].action


def consider(
    game: DrMario, player: Player, costs: Sequence[int], weights: Weights, looking: Looking
) -> list[Considered]:
    """Return the first placements that are followed, the best one first; see the same parameters.

    Those that are played on come before all others.
    """
    found = []
    for first in best_of(candidates(player, costs, weights, looking), looking.first):
        worth, second = look_behind(game, player, first, weights, looking)
        found.append((-worth, first.action, first, second))
    found.sort(key=lambda each: each[:2])
    scale = t.NUM_PILLS if looking.second else 1
    kept = sorted(
        (-play_on(game, player, first, second, -minus, weights, looking), action)
        for minus, action, first, second in found[: looking.kept]
    )
    played = [Considered(action, -minus, scale * looking.repeats) for minus, action in kept]
    others = found[looking.kept :]
    return played + [Considered(action, -minus, scale) for minus, action, *_ in others]


def look_behind(
    game: DrMario, player: Player, first: Candidate, weights: Weights, looking: Looking
) -> tuple[int, Candidate | None]:
    """Return the weight of a first placement with the best second one, and that second one.

    With third placements it is nine times that.
    """
    scale = t.NUM_PILLS if looking.second else 1
    if first.over:
        return scale * (first.gain + first.rest), None
    behind, after = follow(game, player, first.action, first.cost)
    found = candidates(after, costs_for(after, behind.frame), weights, looking)
    if not looking.second:
        (second,) = best_of(found, 1)
        return first.gain + second.gain + second.rest, second
    followed = best_of(found, looking.second)
    worths = [worth_of(behind, after, second, weights, looking, None) for second in followed]
    most = max(worths)
    return scale * first.gain + most, followed[worths.index(most)]


def worth_of(
    game: DrMario,
    player: Player,
    second: Candidate,
    weights: Weights,
    looking: Looking,
    hashed: int | None,
) -> int:
    """Return nine times what a second placement weighs with what is behind it.

    That is the best placement of each third pill or, with a number to draw from, its rollout.
    """
    if second.over:
        return t.NUM_PILLS * (second.gain + second.rest)
    behind, after = follow(game, player, second.action, second.cost)
    total = t.NUM_PILLS * second.gain
    for third in range(t.NUM_PILLS):
        drawn = copy.copy(after)
        drawn.color_first, drawn.color_second = divmod(third, t.NUM_COLORS)
        if hashed is None:
            best = best_placement(behind, drawn, weights, looking)
            total += best.gain + best.rest
        else:
            total += roll_out(behind, drawn, third, weights, looking, hashed)
    return total


def best_placement(game: DrMario, player: Player, weights: Weights, looking: Looking) -> Candidate:
    """Return the placement that weighs most by itself, of the pill that is due."""
    return best_of(candidates(player, costs_for(player, game.frame), weights, looking), 1)[0]


def play_on(
    game: DrMario,
    player: Player,
    first: Candidate,
    second: Candidate | None,
    worth: int,
    weights: Weights,
    looking: Looking,
) -> int:
    """Return the sum of a placement's rollouts, or what it is worth if the game ends before."""
    if second is None or second.over:
        return looking.repeats * worth
    behind, after = follow(game, player, first.action, first.cost)
    total = 0
    for i in range(looking.repeats):
        hashed = t.ROLLOUT_HASH * (game.frame * looking.repeats + i + 1) & MASK32
        total += t.NUM_PILLS * first.gain
        total += worth_of(behind, after, second, weights, looking, hashed)
    return total


def roll_out(
    game: DrMario, player: Player, third: int, weights: Weights, looking: Looking, hashed: int
) -> int:
    """Place a third pill and those drawn behind it; return what all of them weigh."""
    placed, total = best_placement(game, player, weights, looking), 0
    for ply in range(looking.plies):
        if placed.over:
            break
        total += placed.gain
        game, player = follow(game, player, placed.action, placed.cost)
        pill = drawn_pill(third, hashed, ply)
        player.color_first, player.color_second = divmod(pill, t.NUM_COLORS)
        placed = best_placement(game, player, weights, looking)
    return total + placed.gain + placed.rest


def drawn_pill(third: int, hashed: int, ply: int) -> int:
    """Return the pill of a ply: behind the nine third pills each comes once in every ply."""
    turned = (hashed >> (5 * ply & 31)) % t.NUM_PILLS
    return (third * (1 + (ply & 1)) + ply + turned) % t.NUM_PILLS


def candidates(
    player: Player, costs: Sequence[int], weights: Weights, looking: Looking
) -> list[Candidate]:
    """List the reachable placements as candidates with their weights.

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
            found[cells] = candidate(player, action, costs[action], weights, looking.attack)
    return list(found.values())


def candidate(player: Player, action: int, cost: int, weights: Weights, attack: int) -> Candidate:
    """Build the candidate of a placement: its own weight and that of the bottle behind it."""
    after, frames = branch(player, action)
    cleared = after.game.goal_met(after)
    blocked = any(after.board[cell] < t.FREE for cell in t.SPAWN_CELLS) and not cleared
    gain = weights["virus"] * removed(after) + weights["frame"] * (cost + frames)
    gain += t.DECIDED * (cleared - blocked)
    if player.game.versus and after.combo_counter >= t.MIN_ATTACK:
        gain += attack * after.combo_counter
    rest = 0 if cleared else weigh_bottle(after.board, weights)
    return Candidate(action, cost, gain, rest, cleared or blocked)


def best_of(given: list[Candidate], width: int) -> list[Candidate]:
    """Return so many candidates that weigh most, of equal ones those with the lowest numbers."""
    return sorted(given, key=lambda each: each.order)[:width]
