"""Rollouts in hindsight: ``fastenv.skullking.relabel`` over all finished rounds of all lanes.

Rewards and values of abilities come from tables that are filled by the functions of the game, so
that no number of theirs stands here. What is written must be what the reference writes, bit for
bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastenv.numba_cache import cached_njit
from fastenv.skullking.blocks_round import ability_values
from fastenv.skullking.config import SkullKingConfig
from fastenv.skullking.layout import layout
from fastenv.skullking.rewards import bet_reward, bid_reward, trick_reward
from fastenv.skullking.tables import MAX_CARDS, Tier

Array = npt.NDArray[Any]

_TRICKS = range(MAX_CARDS + 1)
_WANTED = range(-MAX_CARDS, MAX_CARDS + 1)


class Offsets(NamedTuple):
    """Where the blocks of an observation begin that a goal changes or that count tricks."""

    status: int
    needed_flags: int
    urgency: int
    goal: int
    must_win_all: int
    pirates: int
    ability_state: int
    ability_value: int
    allies: int


class Tables(NamedTuple):
    """Rewards and values as functions of small whole numbers, float64.

    ``trick[won, MAX_CARDS + wanted, left]``, ``bet[bet / 10]`` of a goal that is met,
    ``ability[MAX_CARDS + wanted, harry, rascal, rosie or bendt]``.
    """

    trick: Array
    bet: Array
    ability: Array


class Columns(NamedTuple):
    """Info columns that are relabelled beside observations and rewards; int32, shape (T, N).

    The info columns of these names behind each decision, those of the ended round where it ended
    one.
    """

    ended_cards: Array
    ended_won: Array
    allies_on_track: Array


class Relabelled(NamedTuple):
    """The M decisions of the finished rounds of a rollout, with the tricks won as their goal.

    ``place`` (int64, ``t * N + lane``) says where they lie; ``obs`` (M, D), ``reward`` and the
    discounted return ``ret`` (M,) are float32. Rounds follow each other, lane by lane.
    """

    place: Array
    obs: Array
    reward: Array
    ret: Array


class Relabeller:
    """Relabels the rounds of a Worker.

    Parameters
    ----------
    game : SkullKingConfig
        Its rewards and its layout.
    gamma : float
        Discount of a decision.
    """

    def __init__(self, game: SkullKingConfig, gamma: float) -> None:
        starts = {b.name: b.offset for b in layout(Tier.WORKER, game.num_players)}
        self._offsets = Offsets(*(starts[name] for name in Offsets._fields))
        self._progress, self._pending = starts["progress"], starts["tigress_pending"]
        self._tables = _make_tables(game)
        self._bonus, self._gamma = float(game.goal_bonus), gamma

    def __call__(self, obs: Array, reward: Array, done: Array, columns: Columns) -> Relabelled:
        """Relabel every round that begins and ends within a rollout.

        Parameters
        ----------
        obs : ndarray of float32, shape (T + 1, N, D)
        reward : ndarray of float32, shape (T, N)
        done : ndarray of bool, shape (T, N)
        columns : Columns
        """
        no_trick = obs[0, :, self._progress + 2] == 0
        fresh = no_trick & (obs[0, :, self._pending] == 0)
        rounds = np.empty((int(done.sum()), 3), np.int64)
        rounds = rounds[: _find_rounds(fresh, done, columns.ended_cards, rounds)]
        size = int((rounds[:, 2] - rounds[:, 1] + 1).sum())
        out = Relabelled(
            np.empty(size, np.int64),
            np.empty((size, obs.shape[2]), np.float32),
            np.empty(size, np.float32),
            np.empty(size, np.float32),
        )
        _relabel_rounds(
            *(rounds, obs, reward, columns.ended_won, columns.allies_on_track),
            *(self._offsets, self._tables, self._bonus, self._gamma),
            *out,
        )
        return out


def _make_tables(game: SkullKingConfig) -> Tables:
    def trick(won: bool, wanted: int, left: int) -> float:
        return trick_reward(won, wanted, left, game.needed_after)

    flags = (False, True)
    tricks = [[[trick(won, w, left) for left in _TRICKS] for w in _WANTED] for won in flags]
    ability = [
        [[[ability_values(wanted, h, r, o) for o in flags] for r in flags] for h in flags]
        for wanted in _WANTED
    ]
    bet = [bet_reward(10 * k, exact=True) for k in range(3)]
    return Tables(np.array(tricks), np.array(bet), np.array(ability))


@cached_njit(nogil=True)
def _find_rounds(
    fresh,  # IN bool (N,): the first observation begins a round
    done,  # IN bool (T, N)
    ended_cards,  # IN int32 (T, N)
    rounds_out,  # OUT int64 (at least as many as there are, 3): lane, first and last decision
):
    """Write the rounds that begin and end within the rollout; return how many."""
    steps, lanes = done.shape
    count = 0
    for lane in range(lanes):
        first = 0 if fresh[lane] else -1
        for t in range(steps):
            if done[t, lane]:
                if first >= 0 and ended_cards[t, lane] > 0:  # else its episode was cut off
                    rounds_out[count, 0] = lane
                    rounds_out[count, 1] = first
                    rounds_out[count, 2] = t
                    count += 1
                first = t + 1
    return count


@cached_njit(nogil=True)
def _relabel_rounds(
    rounds,  # IN int64 (R, 3)
    obs,  # IN float32 (T + 1, N, D)
    reward,  # IN float32 (T, N)
    ended_won,  # IN int32 (T, N)
    allies_on_track,  # IN int32 (T, N)
    at,  # Offsets
    tables,
    goal_bonus,
    gamma,
    place_out,  # OUT int64 (M,)
    obs_out,  # OUT float32 (M, D)
    reward_out,  # OUT float32 (M,)
    ret_out,  # OUT float32 (M,)
):
    lanes, most = reward.shape[1], len(tables.ability) // 2
    row = 0
    for k in range(len(rounds)):
        lane, first, last = rounds[k]
        goal = ended_won[last, lane]
        for t in range(first, last + 1):
            before = obs[t, lane]
            place_out[row] = t * lanes + lane
            obs_out[row] = before
            good = allies_on_track[t - 1, lane] if t > first else 0
            won, left = _round_tenths(before[at.status + 1]), _round_tenths(before[at.status + 3])
            _write_goal(goal, won, left, good, at, tables.ability, obs_out[row])
            won_after, left_after = goal, 0
            if t < last:
                after = obs[t + 1, lane]
                won_after, left_after = (
                    _round_tenths(after[at.status + 1]),
                    _round_tenths(after[at.status + 3]),
                )
            if left_after == left:  # the trick goes on
                reward_out[row] = reward[t, lane]
            else:
                paid = tables.trick[won_after - won, most + goal - won, left]
                if t == last:
                    paid += goal_bonus
                    paid += tables.bet[int(2.0 * before[at.ability_state + 1] + 0.5)]
                reward_out[row] = paid
            row += 1
        ret = 0.0
        for back in range(row - 1, row - 2 - (last - first), -1):
            ret = reward_out[back] + gamma * ret
            ret_out[back] = ret


@cached_njit(nogil=True, inline="always")
def _round_tenths(x):
    return int(10.0 * x + 0.5)


@cached_njit(nogil=True)
def _write_goal(goal, won, left, good, at, ability, obs_out):
    """Write what an observation shows of a goal; sums and quotients are those of the reference."""
    wanted, most = goal - won, len(ability) // 2
    obs_out[at.status] = goal / 10
    obs_out[at.status + 2] = wanted / 10
    obs_out[at.needed_flags] = wanted <= left
    obs_out[at.needed_flags + 1] = wanted == 0
    obs_out[at.needed_flags + 2] = wanted < 0
    obs_out[at.urgency] = min(max(wanted / max(left, 1), -1.0), 1.0)
    for k in range(most + 1):
        obs_out[at.goal + k] = k == goal
    obs_out[at.must_win_all] = wanted == left and left > 0
    harry, rascal = obs_out[at.pirates] > 0, obs_out[at.pirates + 3] > 0
    other = obs_out[at.pirates + 1] > 0 or obs_out[at.pirates + 2] > 0
    values = ability[most + wanted, int(harry), int(rascal), int(other)]
    for k in range(3):
        obs_out[at.ability_value + 1 + k] = values[k]
    obs_out[at.allies + 1] = 0.2 * (good if 0 <= wanted <= left else 0)


# -- other bids ------------------------------------------------------------------------------------

# Of bids by cards dealt, bid and tricks won, docs/skullking.md, 10.4; float64.
BID_REWARD = np.array(
    [[[bid_reward(bid, won, cards) for won in _TRICKS] for bid in _TRICKS] for cards in _TRICKS]
)


def relabel_bids(cards: Array, bid: Array, won: Array) -> tuple[Array, Array, Array]:
    """Return other bids of finished rounds and what they would have been worth to the Manager.

    Parameters
    ----------
    cards, bid, won : ndarray of int, shape (k,)
        Cards dealt, the bid taken and the tricks won.

    Returns
    -------
    bids : ndarray of int64, shape (k, 3)
        The tricks won, one less and one more than the bid; 0 where there is none.
    rewards : ndarray of float32, shape (k, 3)
    there : ndarray of bool, shape (k, 3)
        Which of them are from 0 to ``cards``, not the bid and not named before.
    """
    cards, bid, won = (x.astype(np.int64)[:, None] for x in (cards, bid, won))
    bids = np.concatenate((won, bid - 1, bid + 1), 1)
    there = (bids >= 0) & (bids <= cards) & (bids != bid)
    there[:, 1:] &= bids[:, 1:] != won
    bids = np.where(there, bids, 0)
    return bids, BID_REWARD[cards, bids, won].astype(np.float32), there
