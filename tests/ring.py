"""A toy of three agents who take stones from a pile: in turns, all at once, or some of them.

Who acts is in the row alone, so one set of compiled functions does for the three orders. Agents see
different things (each a secret of its own), are paid different fractions, and the columns of the
info have an entry an agent with one axis and with two.
"""

from functools import lru_cache
from typing import Any

import numba as nb
import numpy as np
from fastenv.examples.numba_rng import bounded, next_bits, seed_rng
from numba import njit, types

from fastenv.errors import ConfigError
from fastenv.game import Compiled, GameSpec
from fastenv.numba_cache import cached_cfunc
from fastenv.plain import PlainGame
from fastenv.rng import Rng
from fastenv.seats import ORDERS, Order
from tests.toy import CORE, KEPT, KERNELS

K, ACTIONS = 3, 4
_void, _u64, _i32 = types.voidptr, types.CPointer(types.uint64), types.CPointer(types.int32)
RING_STATE = np.dtype(
    [
        ("rng", "u8", (4,)),
        ("bot_rng", "u8", (4,)),
        ("ep_return", "f8", (K,)),
        ("ep_length", "i4"),
        ("pile", "i4"),
        ("turn", "i4"),
        ("taken", "i4", (K,)),
        ("gain", "i4", (K,)),
        ("secret", "i4", (K,)),
        ("needs_action", "u1", (K,)),
        ("done", "i1"),
    ],
    align=True,
)
RING_SHARED = np.dtype([("order", "i4"), ("stones", "i4"), ("poison", "i4")], align=True)
RING_INFO = np.dtype([("taken", "i4", (K,)), ("pairs", "i2", (K, 2)), ("pile", "i4")], align=True)
RING_TERMS = np.dtype([("stones", "f4"), ("share", "f4")], align=True)
RING_BOT = np.dtype([("kind", "i4")], align=True)
BOTS = ("random", "greedy", "shy")
LAST = 30  # moves


class Ring:
    """One running game; a pile that is empty ends it, and so does the last move.

    An action takes as many stones. ``poison`` stones left end the game too, behind any move: with
    bots at the table that can be before an agent has decided anything.
    """

    def __init__(self, shared: Any) -> None:
        self.order, self.stones, self.poison = (int(value) for value in shared)
        self.rng, self.bot_rng = Rng(0), [0] * 4
        self.clear()

    def clear(self) -> None:
        self.ep_return, self.ep_length, self.done = [0.0] * K, 0, 0
        self.pile, self.turn = self.stones, 0
        self.taken, self.gain, self.secret = [0] * K, [0] * K, [0] * K
        self.needs_action = [0] * K

    def reset(self, seed: int | None) -> None:
        if seed is not None:
            self.rng = Rng(seed)
        self.clear()
        self.turn = self.rng.bounded(K)
        self.secret = [self.rng.bounded(100) for _ in range(K)]
        self.bot_rng = [self.rng.next() for _ in range(4)]
        self.call()

    def call(self) -> None:
        """Say who must act: all, the one on turn, or that one and any others."""
        for k in range(K):
            also = self.order == 0 or (self.order == 2 and self.rng.bounded(2) == 1)
            self.needs_action[k] = int(also or k == self.turn)

    def legal_actions(self, agent: int) -> list[int]:
        if not self.needs_action[agent]:
            return [0]
        return [*range(min(ACTIONS - 1, self.pile - self.secret[agent] % 2) + 1)] or [0]

    def step(self, actions: list[int]) -> None:
        self.gain = [0] * K
        for k in range(K):
            if not self.needs_action[k]:
                continue
            if not 0 <= actions[k] < ACTIONS or actions[k] > self.pile:
                self.gain[k] = -1
                continue
            self.gain[k] = actions[k]
            self.pile -= actions[k]
            self.taken[k] += actions[k]
        if self.pile <= self.poison:
            self.done = 1
        elif self.ep_length + 1 >= LAST:
            self.done = 2
        self.turn = (self.turn + 1 + self.rng.bounded(2)) % K
        self.call()

    def bot(self, agent: int, kind: int, legal: list[int], rng: Rng) -> int:
        if kind == 0:
            return legal[rng.bounded(len(legal))]
        return max(legal) if kind == 1 else min(1, max(legal))


@njit
def _call(s, order):
    for k in range(K):
        also = order == 0
        if order == 2:
            also = bounded(s.rng, 2) == 1
        s.needs_action[k] = also or k == s.turn


@njit
def _most(s, k):
    if not s.needs_action[k]:
        return 0
    return max(0, min(ACTIONS - 1, s.pile - s.secret[k] % 2))


@lru_cache
def ring_functions() -> tuple[Compiled, Compiled]:  # noqa: C901
    """Return core and kernels of the ring."""

    @cached_cfunc(types.void(_void, _void, _void, _u64))
    def reset(row, shared, knobs, seed):
        s, c = nb.carray(row, (1,), RING_STATE)[0], nb.carray(shared, (1,), RING_SHARED)[0]
        words = nb.carray(seed, (1,))
        if words.ctypes.data != 0:
            seed_rng(s.rng, words[0])
        s.ep_length = s.done = 0
        s.pile = c.stones
        s.turn = bounded(s.rng, K)
        for k in range(K):
            s.ep_return[k] = 0.0
            s.taken[k] = s.gain[k] = 0
            s.secret[k] = bounded(s.rng, 100)
        for i in range(4):
            s.bot_rng[i] = next_bits(s.rng)
        _call(s, c.order)

    @cached_cfunc(types.int32(_void, _void, _void, _void, _i32))
    def step(row, derived, shared, knobs, actions):
        s, c = nb.carray(row, (1,), RING_STATE)[0], nb.carray(shared, (1,), RING_SHARED)[0]
        action = nb.carray(actions, (K,))
        for k in range(K):
            s.gain[k] = 0
            if not s.needs_action[k]:
                continue
            if not 0 <= action[k] < ACTIONS or action[k] > s.pile:
                s.gain[k] = -1
                continue
            s.gain[k] = action[k]
            s.pile -= action[k]
            s.taken[k] += action[k]
        if s.pile <= c.poison:
            s.done = 1
        elif s.ep_length + 1 >= LAST:
            s.done = 2
        s.turn = (s.turn + 1 + bounded(s.rng, 2)) % K
        _call(s, c.order)
        return 0

    @cached_cfunc(types.int32(_void, _void, _void, types.int32, types.int32))
    def is_legal(row, derived, shared, agent, action):
        return 0 <= action <= _most(nb.carray(row, (1,), RING_STATE)[0], agent)

    @cached_cfunc(types.int32(_void, _void, _void, _void, types.int32, _void, _void, _u64))
    def bot(row, derived, shared, params, agent, obs, mask, rng):
        most = _most(nb.carray(row, (1,), RING_STATE)[0], agent)
        kind = nb.carray(params, (1,), RING_BOT)[0].kind
        if kind == 0:
            return bounded(nb.carray(rng, (4,)), most + 1)
        return most if kind == 1 else min(1, most)

    @cached_cfunc(types.void(_void, _void, _void, _void, _void))
    def observe(row, derived, shared, obs_out, mask_out):
        s = nb.carray(row, (1,), RING_STATE)[0]
        obs = nb.carray(obs_out, (K, 4), np.float32)
        mask = nb.carray(mask_out, (K, ACTIONS), np.uint8)
        for k in range(K):
            obs[k, 0], obs[k, 1] = s.pile / 50, s.taken[k] / 50
            obs[k, 2], obs[k, 3] = s.secret[k] / 100, ((s.turn - k) % K) / 3
            for a in range(ACTIONS):
                mask[k, a] = a <= _most(s, k)

    @cached_cfunc(types.int32(_void, _void, _void, _void, _void))
    def reward(row, derived, shared, reward_out, terms_out):
        s = nb.carray(row, (1,), RING_STATE)[0]
        out = nb.carray(reward_out, (K,), np.float32)
        terms = nb.carray(terms_out, (K,), RING_TERMS)
        total = s.gain[0] + s.gain[1] + s.gain[2]
        for k in range(K):
            out[k] = np.float32(0.3 * s.gain[k] - 0.1 * total)
            terms[k].stones, terms[k].share = s.gain[k], s.taken[k] / 7
        return 1

    @cached_cfunc(types.void(_void, _void, _void, _void))
    def info(row, derived, shared, info_out):
        s, out = nb.carray(row, (1,), RING_STATE)[0], nb.carray(info_out, (1,), RING_INFO)[0]
        out.pile = s.pile
        for k in range(K):
            out.taken[k] = s.taken[k]
            out.pairs[k, 0], out.pairs[k, 1] = s.secret[k], s.gain[k]

    sizes = {"state_size": RING_STATE.itemsize, "shared_size": RING_SHARED.itemsize}
    core = Compiled(
        reset=reset.address, step=step.address, is_legal=is_legal.address, bot=bot.address, **sizes
    )
    kernels = Compiled(
        observe=observe.address, reward=reward.address, info=info.address, bot=bot.address, **sizes
    )
    KEPT.append((reset, step, is_legal, bot, observe, reward, info))
    return core, kernels


class RingGame(PlainGame):
    """The ring.

    Parameters
    ----------
    order : {"turns", "together", "mixed"}
    stones, poison : int
        Stones at the beginning, and how few end the game.
    raise_illegal : bool
    """

    def __init__(
        self,
        order: Order = "turns",
        stones: int = 20,
        poison: int = 0,
        raise_illegal: bool = True,
    ) -> None:
        self._options = (order, stones, poison, raise_illegal)
        self.shared = np.array([(ORDERS.index(order), stones, poison)], RING_SHARED)
        spec = GameSpec(
            num_actions=ACTIONS,
            num_agents=K,
            order=order,
            obs_shape=(4,),
            state_dtype=RING_STATE,
            info_dtype=RING_INFO,
            terms_dtype=RING_TERMS,
            bot_dtype=RING_BOT,
            illegal_actions="raise" if raise_illegal else "play",
            kernel_module=KERNELS,
            core_module=CORE,
            hidden=True,
        )
        limits = {"pile": (-3, 100), "turn": (0, K - 1), "done": (0, 2)}
        super().__init__(spec, limits, BOTS)

    def __reduce__(self) -> Any:
        return RingGame._with_shared, (self._options, self.shared)

    @staticmethod
    def _with_shared(options: Any, shared: Any) -> "RingGame":
        game = RingGame(*options)
        game.shared = shared
        return game

    def with_shared(self, shared: Any, trusted: bool = False) -> "RingGame":
        """Return the ring with another number of stones."""
        mine = self.shared.copy()
        if not 5 <= shared["stones"][0] <= 40:
            raise ConfigError(f"shared: stones={shared['stones'][0]} must be 5..40")
        mine["stones"] = shared["stones"]
        return self.accept_shared(RingGame._with_shared(self._options, mine), shared, trusted)

    def create(self) -> Ring:
        return Ring(self.shared[0])

    def encode_obs(self, game: Ring, out: Any) -> None:
        for k in range(K):
            waits = (game.turn - k) % K
            out[k] = game.pile / 50, game.taken[k] / 50, game.secret[k] / 100, waits / 3

    def reward(self, game: Ring) -> Any:
        total = sum(game.gain)
        rewards = [float(np.float32(0.3 * gain - 0.1 * total)) for gain in game.gain]
        return rewards, [(g, t / 7) for g, t in zip(game.gain, game.taken, strict=True)]

    def info(self, game: Ring) -> Any:
        return game.taken, [*zip(game.secret, game.gain, strict=True)], game.pile

    def bot_action(self, game: Ring, params: Any, agent: int, obs: Any, mask: Any, rng: Rng) -> int:
        return game.bot(agent, int(params["kind"]), np.flatnonzero(mask).tolist(), rng)

    def resample(self, game: Ring, agent: int, rng: Rng) -> None:
        """Draw the others' secrets anew; in Python alone."""
        for k in range(K):
            if k != agent:
                game.secret[k] = rng.bounded(100)
        game.rng, game.bot_rng = Rng(rng.next()), [rng.next() for _ in range(4)]

    def kernels(self) -> Compiled:
        return ring_functions()[1]

    def core(self) -> Compiled:
        return ring_functions()[0]
