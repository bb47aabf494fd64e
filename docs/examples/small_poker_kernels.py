"""Kuhn and Leduc poker in Numba: rules, bot, observation, mask, reward and info of a row."""

import numba as nb
import numpy as np
from fastenv.examples.numba_rng import bounded, next_bits, seed_rng
from fastenv.examples.small_poker import INFO_DTYPE, SHARED_DTYPE, STATE_DTYPE
from numba import types

from fastenv.game import Compiled
from fastenv.numba_cache import cached_cfunc, cached_njit

_row, _shared = (types.CPointer(nb.from_dtype(dtype)) for dtype in (STATE_DTYPE, SHARED_DTYPE))
_info, _none = types.CPointer(nb.from_dtype(INFO_DTYPE)), types.voidptr
_floats, _bytes = types.CPointer(types.float32), types.CPointer(types.uint8)
_words, _ints = types.CPointer(types.uint64), types.CPointer(types.int32)
FOLD, CALL, RAISE = 0, 1, 2


@cached_njit()
def draw(rng, cards, one, other):
    """Draw one of the cards but two, each of which may be -1 for none."""
    low, high = min(one, other), max(one, other)
    card = bounded(rng, cards - (low >= 0) - (high >= 0))
    if low >= 0 and card >= low:
        card += 1
    if high >= 0 and card >= high:
        card += 1
    return card


@cached_njit()
def can_raise(s, rules):
    """Return whether another raise is allowed in this round."""
    return s.raises < rules.raises and s.count < 3


@cached_njit()
def strength(s, rules, card):
    """Return the rank of a card, or more for a pair."""
    rank = card // rules.suits
    pair = s.board >= 0 and rank == s.board // rules.suits
    return rank + rules.ranks * pair


@cached_njit()
def end(s, winner, points):
    """End the hand: the winner gets the points that the other has paid."""
    s.points = points if winner == 0 else -points
    s.done, s.needs_action[0], s.needs_action[1] = 1, 0, 0


@cached_njit()
def end_round(s, rules):
    """Show a card and begin the next round, or compare the hands."""
    s.needs_action[0], s.needs_action[1] = 1, 0
    if s.round + 1 < rules.rounds:
        s.round += 1
        s.count = s.raises = 0
        s.board = draw(s.rng, rules.ranks * rules.suits, s.cards[0], s.cards[1])
        return
    first, second = strength(s, rules, s.cards[0]), strength(s, rules, s.cards[1])
    end(s, 0 if first > second else 1, s.paid[0] if first != second else 0)


@cached_cfunc(types.void(_row, _shared, _none, _words))
def reset(row, shared, knobs, seed):
    """Start an episode."""
    s, rules, words = nb.carray(row, (1,))[0], nb.carray(shared, (1,))[0], nb.carray(seed, (1,))
    if words.ctypes.data != 0:
        seed_rng(s.rng, words[0])
    for k in range(4):
        s.bot_rng[k] = next_bits(s.rng)
    s.ep_return[0] = s.ep_return[1] = 0.0
    s.paid[0] = s.paid[1] = 1
    s.ep_length = s.points = s.done = s.round = s.count = s.raises = 0
    s.board = -1
    for number in range(8):
        s.moves[number // 4, number % 4] = 0
    s.needs_action[0], s.needs_action[1] = 1, 0
    cards = rules.ranks * rules.suits
    s.cards[0] = draw(s.rng, cards, -1, -1)
    s.cards[1] = draw(s.rng, cards, s.cards[0], -1)


@cached_cfunc(types.int32(_row, _none, _shared, _none, _ints))
def step(row, derived, shared, knobs, actions):
    """Take one decision, of the agent that acts."""
    s, rules = nb.carray(row, (1,))[0], nb.carray(shared, (1,))[0]
    agent = 0 if s.needs_action[0] else 1
    action, other = nb.carray(actions, (2,))[agent], 1 - agent
    if action == RAISE and not can_raise(s, rules):
        action = CALL
    s.moves[s.round, s.count] = 1 + action
    s.count += 1
    if action == FOLD:
        end(s, other, s.paid[agent])
        return 0
    s.paid[agent] = s.paid[other]
    s.needs_action[agent], s.needs_action[other] = 0, 1
    if action == RAISE:
        s.paid[agent] += rules.bets[s.round]
        s.raises += 1
    elif s.count > 1:
        end_round(s, rules)
    return 0


@cached_cfunc(types.void(_row, _shared, types.int32, _words))
def resample(row, shared, agent, words):
    """Draw anew what an agent cannot know."""
    s, rules, rng = nb.carray(row, (1,))[0], nb.carray(shared, (1,))[0], nb.carray(words, (4,))
    s.cards[1 - agent] = draw(rng, rules.ranks * rules.suits, s.cards[agent], s.board)
    seed_rng(s.rng, next_bits(rng))
    for k in range(4):
        s.bot_rng[k] = next_bits(rng)


@cached_cfunc(types.int32(_row, _none, _shared, _none, types.int32, _none, _bytes, _words))
def bot(row, derived, shared, params, agent, obs, mask, words):
    """Return any legal action."""
    legal = nb.carray(mask, (3,))
    left = bounded(nb.carray(words, (4,)), np.int64(legal[0]) + legal[1] + legal[2])
    for action in range(3):
        if legal[action]:
            if left == 0:
                return action
            left -= 1
    return 0


@cached_cfunc(types.void(_row, _none, _shared, _floats, _bytes))
def observe(row, derived, shared, obs_out, mask_out):
    """Write observation and mask of both agents."""
    s, rules = nb.carray(row, (1,))[0], nb.carray(shared, (1,))[0]
    ranks, rounds = rules.ranks, rules.rounds
    obs = nb.carray(obs_out, (2, ranks * rounds + 1 + 8 * rounds))
    mask = nb.carray(mask_out, (2, 3))
    obs[:] = 0.0
    for agent in range(2):
        obs[agent, s.cards[agent] // rules.suits] = 1
        if rounds > 1 and s.board >= 0:
            obs[agent, ranks + s.board // rules.suits] = 1
        at = ranks * min(rounds, 2)
        obs[agent, at] = agent
        for number in range(rounds * 4):
            move = s.moves[number // 4, number % 4]
            if move > 1:
                obs[agent, at + 1 + 2 * number + move - 2] = 1
        acts = s.needs_action[agent] != 0
        mask[agent, FOLD] = not acts or s.paid[agent] < s.paid[1 - agent]
        mask[agent, CALL] = acts
        mask[agent, RAISE] = acts and can_raise(s, rules)


@cached_cfunc(types.int32(_row, _none, _shared, _floats, _none))
def reward(row, derived, shared, reward_out, terms_out):
    """Write the reward of both agents."""
    points, out = nb.carray(row, (1,))[0].points, nb.carray(reward_out, (2,))
    out[0], out[1] = points, -points
    return 1


@cached_cfunc(types.void(_row, _none, _shared, _info))
def info(row, derived, shared, info_out):
    """Write the columns of the state."""
    nb.carray(info_out, (1,))[0].points = nb.carray(row, (1,))[0].points


def functions():
    """Return what the engine calls to show a row, by address."""
    shown = {"observe": observe, "reward": reward, "info": info}
    return Compiled(**{name: each.address for name, each in shown.items()})


def core():
    """Return what the engine calls to move a row, by address."""
    moved = {"reset": reset, "step": step, "resample": resample, "bot": bot}
    sizes = {"state_size": STATE_DTYPE.itemsize, "shared_size": SHARED_DTYPE.itemsize}
    return Compiled(**{n: f.address for n, f in moved.items()}, **sizes, fetch=STATE_DTYPE.itemsize)
