"""Hindsight in plain Python: a finished round with another goal (docs/skullking.md, 11.4).

Cards, masks and results of tricks stay what they were; what depends on the goal is computed anew
from the recorded tricks. ``encoding.py`` and ``rewards.py`` are what it must agree with: with its
own goal a round stays as it is, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.skullking.blocks import one_hot
from fastenv.skullking.blocks_round import ability_values, needed_flags, urgency
from fastenv.skullking.layout import Block, layout
from fastenv.skullking.rewards import bet_reward, bid_reward, trick_reward
from fastenv.skullking.tables import Tier

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class WorkerStep:
    """A decision of the Worker and what came of it.

    Parameters
    ----------
    obs : ndarray of float32, shape (D,)
        What he saw; with or without the card memory.
    reward : float
        What he got, ``reward="shaped"``.
    trick_won : bool or None
        Whether he won the trick that the decision ended; None if it ended none, like the choice of
        the Tigress before her mode.
    allies_on_track : int
        The info column of this name, of the state that ``obs`` shows.
    ended_bid : int or None
        The info column of this name (the bid after Harry's change), in the last step of the round;
        None in the others.
    """

    obs: npt.NDArray[np.float32]
    reward: float
    trick_won: bool | None
    allies_on_track: int = 0
    ended_bid: int | None = None


def relabel_round(
    steps: Sequence[WorkerStep],
    achieved: int,
    *,
    num_players: int = 4,
    goal_bonus: float = 5.0,
    needed_after: bool = False,
) -> list[WorkerStep]:
    """Return the steps of a finished round with another goal.

    Parameters
    ----------
    steps : sequence of WorkerStep
        All of the round.
    achieved : int
        The new goal: the tricks won in the round, or its own goal, which changes nothing.
    num_players, goal_bonus, needed_after
        Options of the environment.

    Raises
    ------
    ValueError
        If the round is not finished, or the goal is neither of the two.
    """
    if not steps or steps[-1].ended_bid is None:
        raise ValueError("the round is not finished: its last step has no ended_bid")
    blocks = {block.name: block for block in layout(Tier.WORKER, num_players)}
    goal, won, *_ = _status(steps[-1].obs, blocks)
    won += bool(steps[-1].trick_won)
    if achieved not in (goal, won):
        raise ValueError(f"achieved={achieved}: must be {won}, the tricks won, or the goal {goal}")
    # Harry's change was made for the goal there was; the tricks won need none.
    ended_bid = steps[-1].ended_bid if achieved == goal else achieved
    exact = won == ended_bid
    new = []
    for step in steps:
        reward = step.reward
        if step.trick_won is not None:
            _, before, left = _status(step.obs, blocks)
            reward = trick_reward(step.trick_won, achieved - before, left, needed_after)
            if step is steps[-1]:
                reward += goal_bonus if exact else 0.0
                reward += bet_reward(_bet(step.obs, blocks), exact)
        last = ended_bid if step is steps[-1] else None
        obs = _with_goal(step, achieved, blocks)
        new.append(replace(step, obs=obs, reward=float(np.float32(reward)), ended_bid=last))
    return new


def relabel_bid(obs: Array, cards: int, bid: int, won: int) -> list[tuple[int, float]]:
    """Return other bids of a finished round and what they would have been worth to the Manager.

    The play is taken as it was, although a Worker with another goal plays otherwise: of use for an
    auxiliary loss alone.

    Parameters
    ----------
    obs : ndarray of float32, shape (D,)
        What the Manager saw when he bid.
    cards, bid, won : int
        Cards dealt, the bid and the tricks won.

    Returns
    -------
    list of (int, float)
        Those of the tricks won, one less and one more than the bid that are from 0 to ``cards`` and
        not the bid, each once; and their rewards (docs/skullking.md, 10.4).

    Raises
    ------
    ValueError
        If the observation shows another number of cards.
    """
    deal = next(block for block in layout(Tier.MANAGER) if block.name == "deal")
    shown = _tenths(obs[deal.offset])
    if shown != cards:
        raise ValueError(f"cards={cards}: the observation shows a deal of {shown}")
    others = dict.fromkeys((won, bid - 1, bid + 1))
    possible = [b for b in others if 0 <= b <= cards and b != bid]
    return [(other, bid_reward(other, won, cards)) for other in possible]


def _tenths(x: float) -> int:
    """Return the whole number that an observation shows as its tenth."""
    return round(10 * float(x))


def _status(obs: Array, blocks: dict[str, Block]) -> tuple[int, int, int]:
    """Return the goal, the tricks won and the tricks left that an observation shows."""
    goal, won, _, left = map(_tenths, obs[blocks["status"].offset : blocks["status"].stop])
    return goal, won, left


def _bet(obs: Array, blocks: dict[str, Block]) -> int:
    """Return Rascal's bet; one won on the last trick would come too late."""
    return round(20 * float(obs[blocks["ability_state"].offset + 1]))


def _with_goal(step: WorkerStep, goal: int, blocks: dict[str, Block]) -> npt.NDArray[np.float32]:
    """Return an observation with another goal."""
    obs = step.obs.copy()
    _, won, left = _status(obs, blocks)
    wanted = goal - won
    harry, rosie, bendt, rascal, _ = map(bool, obs[blocks["pirates"].offset :][:5])

    def write(name: str, values: Sequence[float], first: int = 0) -> None:
        start = blocks[name].offset + first
        obs[start : start + len(values)] = values

    write("status", [goal / 10])
    write("status", [wanted / 10], first=2)
    write("needed_flags", needed_flags(wanted, left))
    write("urgency", [urgency(wanted, left)])
    write("goal", one_hot(goal, blocks["goal"].length))
    write("must_win_all", [float(wanted == left > 0)])
    write("ability_value", ability_values(wanted, harry, rascal, rosie or bendt), first=1)
    good = step.allies_on_track if 0 <= wanted <= left else 0
    write("allies", [0.2 * good], first=1)
    return obs
