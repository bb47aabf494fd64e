"""Two tiny games that have nothing to do with the real ones: they keep the engine free of any game.

``WalkGame`` is as simple as a game gets. ``RaceGame`` uses everything a game may: two agents, whose
decisions last, a structured observation of bytes, columns of several types and shapes, knobs,
shared bytes, a derived record, a tail of configured length, a field the core leaves open, bots with
parameters. Kernels and core of both are ``numba.cfunc``, so that the loop over lanes is proved
without a compiled game.
"""

from functools import cache, lru_cache
from typing import Any

import numba as nb
import numpy as np
from fastenv.examples.numba_rng import bounded, next_bits, seed_rng
from numba import njit, types

from fastenv.errors import ConfigError, InvalidActionError, StateError
from fastenv.game import Compiled, Game, GameSpec
from fastenv.numba_cache import cached_cfunc
from fastenv.rng import Rng

KERNELS, CORE = "numba", "fastenv._batch"
_void, _u64 = types.voidptr, types.CPointer(types.uint64)
_i32 = types.CPointer(types.int32)


class AnyWhole:
    """Takes whole numbers of any type; those that are no action become the next one."""

    def encode(self, action: Any) -> int:
        number = action.item() if np.ndim(action) == 0 and hasattr(action, "item") else action
        whole = isinstance(number, int) or (isinstance(number, float) and number.is_integer())
        if not whole:
            raise InvalidActionError(f"action {number} must be a whole number")
        return int(min(max(number, -1), 3))

    def encode_many(self, actions: Any, out: Any) -> None:
        for lane, action in enumerate(actions):
            try:
                out[lane] = self.encode(action)
            except InvalidActionError as error:
                raise InvalidActionError(f"lane {lane}: {error}") from None


# -- walk ------------------------------------------------------------------------------------------

STATE = np.dtype(
    [
        ("rng", "u8", (4,)),
        ("ep_return", "f8"),
        ("ep_length", "i4"),
        ("position", "i4"),
        ("goal", "i4"),
        ("steps", "i4"),
        ("limit", "i4"),
        ("moved", "i4"),
        ("illegal", "i4"),
        ("done", "i1"),
    ],
    align=True,
)
KNOBS = np.dtype([("limit", "i4")], align=True)
BOT = np.dtype([("kind", "i4")], align=True)
WALK_INFO = np.dtype([("position", "i4"), ("goal", "i4")], align=True)
WALK_TERMS = np.dtype([("distance", "f4"), ("twice", "f4")], align=True)


class Walk:
    """One running game: walk to a goal while the wind blows.

    0 waits, 1 steps, 2 jumps two fields (illegal on odd fields).
    """

    def __init__(self) -> None:
        self.rng = Rng(0)
        self.clear(12)

    def clear(self, limit: int) -> None:
        self.ep_return, self.ep_length, self.done = 0.0, 0, 0
        self.position = self.goal = self.steps = self.moved = self.illegal = 0
        self.limit = limit

    def legal(self) -> list[int]:
        return [0, 1] if self.position % 2 else [0, 1, 2]

    def step(self, action: int) -> None:
        self.steps += 1
        self.moved = 0
        if action not in self.legal():
            self.illegal += 1
        else:
            before = self.position
            wind = self.rng.bounded(4) == 0
            self.position = max(0, self.position + action - wind)
            self.moved = self.position - before
        if self.position >= self.goal:
            self.done = 1
        elif self.steps >= self.limit or self.illegal >= 3:
            self.done = 2


WALK_STOPS = ("odd", "steps=")


@njit
def _is_legal(s, action):
    return 0 <= action <= (1 if s.position % 2 else 2)


@cache
def walk_functions() -> tuple[Compiled, Compiled]:  # noqa: C901
    """Return core and kernels of the walk."""

    @cached_cfunc(types.void(_void, _void, _void, _u64))
    def reset(row, shared, knobs, seed):
        s, k = nb.carray(row, (1,), STATE)[0], nb.carray(knobs, (1,), KNOBS)[0]
        words = nb.carray(seed, (1,))
        if words.ctypes.data != 0:
            seed_rng(s.rng, words[0])
        s.ep_return, s.ep_length, s.done = 0.0, 0, 0
        s.position = s.steps = s.moved = s.illegal = 0
        s.limit = k.limit
        s.goal = 1 + bounded(s.rng, 6)

    @cached_cfunc(types.int32(_void, _void, _void, _void, _i32))
    def step(row, derived, shared, knobs, actions):
        s, action = nb.carray(row, (1,), STATE)[0], nb.carray(actions, (1,))[0]
        s.steps += 1
        s.moved = 0
        if not _is_legal(s, action):
            s.illegal += 1
        else:
            before = s.position
            wind = np.int64(bounded(s.rng, 4) == 0)
            s.position = max(0, before + action - wind)
            s.moved = s.position - before
        if s.position >= s.goal:
            s.done = 1
        elif s.steps >= s.limit or s.illegal >= 3:
            s.done = 2
        return 0

    @cached_cfunc(types.int32(_void, _void, _void, types.int32, types.int32))
    def is_legal(row, derived, shared, agent, action):
        return _is_legal(nb.carray(row, (1,), STATE)[0], action)

    @cached_cfunc(types.int32(_void, _void, _void, _void, types.int32, _void, _void, _u64))
    def bot(row, derived, shared, params, agent, obs, mask, rng):
        s, kind = nb.carray(row, (1,), STATE)[0], nb.carray(params, (1,), BOT)[0].kind
        return 1 if kind == 0 else bounded(nb.carray(rng, (4,)), 2 if s.position % 2 else 3)

    @cached_cfunc(types.void(_void, _void, _void, _void, _void))
    def observe(row, derived, shared, obs_out, mask_out):
        s = nb.carray(row, (1,), STATE)[0]
        obs, mask = nb.carray(obs_out, (3,), np.float32), nb.carray(mask_out, (3,), np.uint8)
        obs[0], obs[1], obs[2] = s.position / 10, s.goal / 10, s.steps / 20
        for action in range(3):
            mask[action] = _is_legal(s, action)

    @cached_cfunc(types.int32(_void, _void, _void, _void, _void))
    def reward(row, derived, shared, reward_out, terms_out):
        s = nb.carray(row, (1,), STATE)[0]
        out, terms = nb.carray(reward_out, (1,), np.float32), nb.carray(terms_out, (1,), WALK_TERMS)
        out[0] = np.float32(0.3 * s.moved - 0.1)
        terms[0].distance = np.float32(s.goal - s.position)
        terms[0].twice = np.float32(2.0 * np.float64(out[0]))
        return 1

    @cached_cfunc(types.void(_void, _void, _void, _void))
    def info(row, derived, shared, info_out):
        s, out = nb.carray(row, (1,), STATE)[0], nb.carray(info_out, (1,), WALK_INFO)[0]
        out.position, out.goal = s.position, s.goal

    @cached_cfunc(types.void(_void, _void, types.int32, _u64))
    def resample(row, shared, agent, rng):
        seed_rng(nb.carray(row, (1,), STATE)[0].rng, next_bits(nb.carray(rng, (4,))))

    @cached_cfunc(types.int32(_void, _void, _void, types.int32, types.int32))
    def stop(row, start, shared, until, number):
        s, first = nb.carray(row, (1,), STATE)[0], nb.carray(start, (1,), STATE)[0]
        return s.position % 2 == 1 if until == 0 else s.steps - first.steps >= number

    core = Compiled(
        reset=reset.address,
        step=step.address,
        is_legal=is_legal.address,
        bot=bot.address,
        resample=resample.address,
        stop=stop.address,
        state_size=STATE.itemsize,
        knobs_size=KNOBS.itemsize,
        fetch=STATE.itemsize,
    )
    kernels = Compiled(
        observe=observe.address,
        reward=reward.address,
        info=info.address,
        state_size=STATE.itemsize,
        info_size=WALK_INFO.itemsize,
        obs_size=12,
    )
    KEPT.append((reset, step, is_legal, bot, resample, stop, observe, reward, info))
    return core, kernels


KEPT: list[Any] = []  # machine code lives as long as its cfunc


class WalkGame(Game):
    bot_names = ("walker", "random")

    def __init__(self, raise_illegal: bool = False, any_integer: bool = False) -> None:
        self.spec = GameSpec(
            num_actions=3,
            obs_shape=(3,),
            state_dtype=STATE,
            knobs_dtype=KNOBS,
            info_dtype=WALK_INFO,
            terms_dtype=WALK_TERMS,
            bot_dtype=BOT,
            illegal_actions="raise" if raise_illegal else "play",
            action_codec=AnyWhole() if any_integer else None,
            kernel_module=KERNELS,
            core_module=CORE,
            render_modes=("ansi", "rgb_array"),
            stops=WALK_STOPS,
        )

    def create(self) -> Walk:
        return Walk()

    def reset(self, game: Walk, knobs: Any, seed: int | None) -> None:
        if seed is not None:
            game.rng = Rng(seed)
        game.clear(int(knobs["limit"]))
        game.goal = 1 + game.rng.bounded(6)

    def step(self, game: Walk, action: int) -> None:
        game.step(action)

    def pack(self, game: Walk) -> bytes:
        row = np.zeros(1, STATE)
        for name in STATE.names or ():
            row[name] = game.rng.state if name == "rng" else getattr(game, name)
        return row.tobytes()

    def unpack(self, row: Any) -> Walk:
        record, game = np.frombuffer(bytes(row), STATE)[0], Walk()
        for name in (STATE.names or ())[1:]:
            setattr(game, name, record[name].item())
        game.rng.state = record["rng"].tolist()
        return game

    def encode_obs(self, game: Walk, out: Any) -> None:
        out[:] = game.position / 10, game.goal / 10, game.steps / 20

    def action_mask(self, game: Walk, out: Any) -> None:
        out[:] = [a in game.legal() for a in range(3)]

    def reward(self, game: Walk) -> Any:
        reward = float(np.float32(0.3 * game.moved - 0.1))
        return reward, (game.goal - game.position, 2 * reward)

    def info(self, game: Walk) -> Any:
        return game.position, game.goal

    def bot_action(self, game: Walk, params: Any, agent: int, obs: Any, mask: Any, rng: Rng) -> int:
        if params["kind"] == 0:
            return 1
        return game.legal()[rng.bounded(len(game.legal()))]

    def resample(self, game: Walk, agent: int, rng: Rng) -> None:
        game.rng = Rng(rng.next())

    def stopped(self, game: Walk, start: Walk, until: str, number: int) -> bool:
        return game.position % 2 == 1 if until == "odd" else game.steps - start.steps >= number

    def kernels(self) -> Compiled:
        return walk_functions()[1]

    def core(self) -> Compiled:
        return walk_functions()[0]

    def default_knobs(self, n: int) -> Any:
        return np.full(n, 12, np.int32).view(KNOBS)

    def set_knob(self, knobs: Any, name: str, value: Any) -> None:
        if name != "limit" or value < 1:
            raise ConfigError(f"{name}={value!r}")
        knobs[name] = value

    def get_knob(self, knobs: Any, name: str) -> Any:
        if name != "limit":
            raise AttributeError(name)
        return int(knobs[name])

    def validate(self, rows: Any) -> None:
        for name in ("position", "goal", "steps"):
            wrong = (rows[name] < 0) | (rows[name] > 1000)
            if wrong.any():
                raise StateError(f"lane {wrong.argmax()}: {name}")

    def describe(self, row: Any) -> str:
        return "ODD" if row["position"] % 2 else "EVEN"

    def render(self, row: Any, mode: str) -> Any:
        if mode == "ansi":
            return f"{row['position']} of {row['goal']}"
        return np.full((4, 6, 3), row["position"], np.uint8)

    def bot(self, name: str) -> Any:
        names = WalkGame.bot_names  # `tests/training/games/walk.py` does not tell of them
        if name not in names:
            raise ConfigError(f"bot {name!r}: must be one of {', '.join(names)}")
        return np.array([(names.index(name),)], BOT)


# -- race ------------------------------------------------------------------------------------------

FIXED = [  # of a row of the race, before the board
    ("rng", "u8", (4,)),
    ("bot_rng", "u8", (4,)),
    ("stamp", "u8"),  # the core leaves it 0 until somebody reads the row, and keeps meanwhile
    ("stamp_from", "u8"),  # what it is made of
    ("ep_return", "f8", (2,)),
    ("ep_length", "i4"),
    ("ep_frames", "i4"),
    ("tau", "i4", (2,)),
    ("clock", "i4"),
    ("limit", "i4"),
    ("place", "i4", (2,)),
    ("ready_at", "i4", (2,)),
    ("decided_at", "i4", (2,)),
    ("ev_gain", "i4", (2,)),
    ("ev_illegal", "i4", (2,)),
    ("needs_action", "u1", (2,)),
    ("done", "i1"),
    ("pad", "u1", (5,)),
]
RACE_FIXED = np.dtype(FIXED, align=True)
RACE_SHARED = np.dtype([("goal", "i4"), ("bonus", "f4"), ("board_at", "i4"), ("size", "i4")])
RACE_DERIVED = np.dtype([("reach", "u1", (2,))])
RACE_BOT = np.dtype([("stride", "i4"), ("random", "i4")], align=True)
RACE_TERMS = np.dtype([("gain", "f4"), ("progress", "f8")], align=True)
RACE_INFO = np.dtype(
    [
        ("clock", "i8"),
        ("places", "i4", (2,)),
        ("apart", "?"),
        ("mood", "u1"),
        ("share", "f4"),
        ("needs", "u1", (2,)),
    ],
    align=True,
)
RACE_STOPS = ("apart", "frames=")
SEEN = 6  # fields of the board ahead that an agent sees
RACE_OBS = np.dtype([("ahead", "u1", (SEEN,)), ("me", "f4", (2, 2)), ("clock", "i2")], align=True)
HOLE = 9


class Race:
    """One running race of two, each of whose steps takes as long as the ground is bad.

    0 waits, 1 to 3 walk as far, unless there is a hole in the way.
    """

    def __init__(self, shared: Any) -> None:
        self.goal, self.bonus = int(shared["goal"]), float(shared["bonus"])
        self.size = int(shared["size"])
        self.rng, self.bot_rng = Rng(0), [0] * 4
        self.clear(0)

    def clear(self, limit: int) -> None:
        self.limit, self.clock, self.stamp, self.done = limit, 0, 0, 0
        self.ep_return, self.ep_length, self.ep_frames = [0.0, 0.0], 0, 0
        self.tau, self.place, self.ready_at, self.decided_at = [0, 0], [0, 0], [0, 0], [0, 0]
        self.ev_gain, self.ev_illegal, self.needs_action = [0, 0], [0, 0], [0, 0]
        self.board = [0] * self.size

    def reset(self, limit: int, seed: int | None) -> None:
        if seed is not None:
            self.rng = Rng(seed)
        self.clear(limit)
        self.board = [self.rng.bounded(10) for _ in range(self.size)]
        self.ready_at = [self.rng.bounded(2), self.rng.bounded(2)]
        self.bot_rng = [self.rng.next() for _ in range(4)]
        self.stamp = ((self.bot_rng[0] | 1) * 3 + 1) % 2**64
        self.clock = min(self.ready_at)
        self.needs_action = [int(at <= self.clock) for at in self.ready_at]

    def reach(self, agent: int) -> int:
        """Return how far an agent may walk: up to three fields, and not into a hole."""
        fields = [self.board[(self.place[agent] + k) % self.size] for k in (1, 2, 3)]
        return [*fields, HOLE].index(HOLE)

    def resample(self, agent: int, rng: Rng) -> None:
        """Draw anew the fields that an agent has not seen, and the luck to come."""
        for i in range(self.place[agent] + SEEN, self.size):
            self.board[i] = rng.bounded(10)
        self.rng = Rng(rng.next())
        self.bot_rng = [rng.next() for _ in range(4)]
        self.stamp = ((self.bot_rng[0] | 1) * 3 + 1) % 2**64

    def step(self, actions: list[int]) -> None:
        self.ev_gain, self.ev_illegal = [0, 0], [0, 0]
        for agent, action in enumerate(actions):
            if not self.needs_action[agent]:
                continue
            if not 0 <= action <= self.reach(agent):
                self.ev_illegal[agent], action = 1, 0
            self.place[agent] += action
            self.ev_gain[agent] = action
            self.decided_at[agent] = self.clock
            ground = self.board[self.place[agent] % self.size]
            wind = self.rng.bounded(2)
            self.ready_at[agent] = self.clock + 1 + action + ground + wind
        before, self.clock = self.clock, min(self.ready_at)
        self.ep_frames += self.clock - before
        self.tau = [self.clock - at for at in self.decided_at]
        self.needs_action = [int(at <= self.clock) for at in self.ready_at]
        if max(self.place) >= self.goal:
            self.done = 1
        elif self.clock >= self.limit:
            self.done = 2


@njit
def _board(row, shared):
    return nb.carray(row, (shared.board_at + shared.size,), np.uint8)[shared.board_at :]


@njit
def _reach(s, board, agent):
    for k in range(1, 4):
        if board[(s.place[agent] + k) % board.size] == HOLE:
            return k - 1
    return 3


@njit
def _wake(s):
    s.clock = min(s.ready_at[0], s.ready_at[1])
    for k in range(2):
        s.needs_action[k] = s.ready_at[k] <= s.clock


@lru_cache
def race_functions() -> tuple[Compiled, Compiled]:  # noqa: C901
    """Return core and kernels of the race; the board they find by what ``shared`` says."""

    @cached_cfunc(types.void(_void, _void, _void, _u64))
    def reset(row, shared, knobs, seed):
        s, c = nb.carray(row, (1,), RACE_FIXED)[0], nb.carray(shared, (1,), RACE_SHARED)[0]
        k, words = nb.carray(knobs, (1,), KNOBS)[0], nb.carray(seed, (1,))
        board = _board(row, c)
        if words.ctypes.data != 0:
            seed_rng(s.rng, words[0])
        s.limit, s.stamp, s.done = k.limit, 0, 0
        s.ep_length = s.ep_frames = 0
        for a in range(2):
            s.ep_return[a] = 0.0
            s.tau[a] = s.place[a] = s.decided_at[a] = s.ev_gain[a] = s.ev_illegal[a] = 0
        for i in range(c.size):
            board[i] = bounded(s.rng, 10)
        s.ready_at[0] = bounded(s.rng, 2)
        s.ready_at[1] = bounded(s.rng, 2)
        for i in range(4):
            s.bot_rng[i] = next_bits(s.rng)
        s.stamp_from = s.bot_rng[0] | np.uint64(1)
        _wake(s)

    @cached_cfunc(types.void(_void, _void))
    def complete(row, shared):
        s = nb.carray(row, (1,), RACE_FIXED)[0]
        if s.stamp_from:
            s.stamp = s.stamp_from * np.uint64(3) + np.uint64(1)
            s.stamp_from = np.uint64(0)

    @cached_cfunc(types.int32(_void, _void, _void, _void, _i32))
    def step(row, derived, shared, knobs, actions):
        s, c = nb.carray(row, (1,), RACE_FIXED)[0], nb.carray(shared, (1,), RACE_SHARED)[0]
        d, action = nb.carray(derived, (1,), RACE_DERIVED)[0], nb.carray(actions, (2,))
        board = _board(row, c)
        moved = 0
        for k in range(2):
            s.ev_gain[k] = s.ev_illegal[k] = 0
            if not s.needs_action[k]:
                continue
            far = action[k]
            if not 0 <= far <= d.reach[k]:
                s.ev_illegal[k] = 1
                far = 0
            s.place[k] += far
            s.ev_gain[k] = far
            s.decided_at[k] = s.clock
            ground = board[s.place[k] % c.size]
            s.ready_at[k] = s.clock + 1 + far + ground + bounded(s.rng, 2)
            moved += far
        before = s.clock
        _wake(s)
        s.ep_frames += s.clock - before
        for k in range(2):
            s.tau[k] = s.clock - s.decided_at[k]
        if max(s.place[0], s.place[1]) >= c.goal:
            s.done = 1
        elif s.clock >= s.limit:
            s.done = 2
        return moved > 0

    @cached_cfunc(types.void(_void, _void, types.int32, _u64))
    def resample(row, shared, agent, rng):
        s, c = nb.carray(row, (1,), RACE_FIXED)[0], nb.carray(shared, (1,), RACE_SHARED)[0]
        board, words = _board(row, c), nb.carray(rng, (4,))
        for i in range(s.place[agent] + SEEN, c.size):
            board[i] = bounded(words, 10)
        seed_rng(s.rng, next_bits(words))
        for i in range(4):
            s.bot_rng[i] = next_bits(words)
        s.stamp, s.stamp_from = 0, s.bot_rng[0] | np.uint64(1)  # left open

    @cached_cfunc(types.int32(_void, _void, _void, types.int32, types.int32))
    def stop(row, start, shared, until, number):
        s, first = nb.carray(row, (1,), RACE_FIXED)[0], nb.carray(start, (1,), RACE_FIXED)[0]
        return s.place[0] != s.place[1] if until == 0 else s.clock - first.clock >= number

    @cached_cfunc(types.int32(_void, _void, _void, types.int32, types.int32))
    def is_legal(row, derived, shared, agent, action):
        return 0 <= action <= nb.carray(derived, (1,), RACE_DERIVED)[0].reach[agent]

    @cached_cfunc(types.int32(_void, _void))
    def look_ahead(row, shared):
        s, c = nb.carray(row, (1,), RACE_FIXED)[0], nb.carray(shared, (1,), RACE_SHARED)[0]
        return max(s.place[0], s.place[1]) + 3 >= c.goal

    @cached_cfunc(types.void(_void, _void, _void))
    def derive(row, derived, shared):
        s, c = nb.carray(row, (1,), RACE_FIXED)[0], nb.carray(shared, (1,), RACE_SHARED)[0]
        d, board = nb.carray(derived, (1,), RACE_DERIVED)[0], _board(row, c)
        for k in range(2):
            d.reach[k] = _reach(s, board, k)

    @cached_cfunc(types.int32(_void, _void, _void, _void, types.int32, _void, _void, _u64))
    def bot(row, derived, shared, params, agent, obs, mask, rng):
        p, legal = nb.carray(params, (1,), RACE_BOT)[0], nb.carray(mask, (4,), np.uint8)
        stride = bounded(nb.carray(rng, (4,)), 4) if p.random else p.stride
        while stride > 0 and not legal[stride]:
            stride -= 1
        return stride

    @cached_cfunc(types.void(_void, _void, _void, _void, _void))
    def observe(row, derived, shared, obs_out, mask_out):
        s, c = nb.carray(row, (1,), RACE_FIXED)[0], nb.carray(shared, (1,), RACE_SHARED)[0]
        d, board = nb.carray(derived, (1,), RACE_DERIVED)[0], _board(row, c)
        obs, masks = nb.carray(obs_out, (2,), RACE_OBS), nb.carray(mask_out, (2, 4), np.uint8)
        for k in range(2):
            out = obs[k]
            for i in range(SEEN):
                out.ahead[i] = board[(s.place[k] + i) % c.size]
            for j in range(2):
                other = k if j == 0 else 1 - k
                out.me[j, 0] = s.place[other] / 100
                out.me[j, 1] = (s.ready_at[other] - s.clock) / 20
            out.clock = s.clock
            for a in range(4):
                masks[k, a] = a <= d.reach[k] if s.needs_action[k] else a == 0

    @cached_cfunc(types.int32(_void, _void, _void, _void, _void))
    def reward(row, derived, shared, reward_out, terms_out):
        s, c = nb.carray(row, (1,), RACE_FIXED)[0], nb.carray(shared, (1,), RACE_SHARED)[0]
        out = nb.carray(reward_out, (2,), np.float64)
        terms = nb.carray(terms_out, (2,), RACE_TERMS)
        for k in range(2):
            out[k] = s.ev_gain[k] * np.float64(c.bonus) - 0.5 * s.ev_illegal[k]
            terms[k].gain = s.ev_gain[k]
            terms[k].progress = s.place[k] / c.goal
        return 1

    @cached_cfunc(types.void(_void, _void, _void, _void))
    def info(row, derived, shared, info_out):
        s, out = nb.carray(row, (1,), RACE_FIXED)[0], nb.carray(info_out, (1,), RACE_INFO)[0]
        out.clock = s.clock
        for k in range(2):
            out.places[k] = s.place[k]
            out.needs[k] = s.needs_action[k]
        out.apart = s.place[0] != s.place[1]
        out.mood = 2 if s.place[0] > s.place[1] else 0 if s.place[0] < s.place[1] else 1
        out.share = s.clock / max(1, s.limit)

    sizes = {
        "state_size": RACE_FIXED.itemsize,
        "shared_size": RACE_SHARED.itemsize,
        "derived_size": RACE_DERIVED.itemsize,
        "bot_size": RACE_BOT.itemsize,
    }
    core = Compiled(
        reset=reset.address,
        step=step.address,
        is_legal=is_legal.address,
        derive=derive.address,
        complete=complete.address,
        look_ahead=look_ahead.address,
        resample=resample.address,
        stop=stop.address,
        knobs_size=KNOBS.itemsize,
        fetch=128,
        chunk=2,
        **sizes,
    )
    kernels = Compiled(
        derive=derive.address,
        bot=bot.address,
        observe=observe.address,
        reward=reward.address,
        info=info.address,
        obs_size=RACE_OBS.itemsize,
        info_size=RACE_INFO.itemsize,
        terms_size=RACE_TERMS.itemsize,
        **sizes,
    )
    KEPT.append((reset, complete, step, is_legal, look_ahead, derive, resample, stop))
    KEPT.append((bot, observe, reward, info))
    return core, kernels


class RaceGame(Game):
    """The race.

    Parameters
    ----------
    size : int
        Fields of the board: the tail of the row.
    goal : int
    raise_illegal : bool
    """

    bot_names = ("random", "slow", "fast")

    def __init__(self, size: int = 24, goal: int = 20, raise_illegal: bool = False) -> None:
        board = ("board", "u1", (-(-size // 8) * 8,))
        dtype = np.dtype([*FIXED, board], align=True)
        self._options = (size, goal, raise_illegal)
        self.shared = np.array([(goal, 1.5, (dtype.fields or {})["board"][1], size)], RACE_SHARED)
        self.spec = GameSpec(
            num_actions=4,
            num_agents=2,
            state_dtype=dtype,
            tail=("board",),
            obs_dtype=RACE_OBS,
            obs_bounds={"ahead": (0, 9), "me": (-100.0, 100.0), "clock": (0, 32767)},
            reward_dtype=np.dtype(np.float64),
            terms_dtype=RACE_TERMS,
            info_dtype=RACE_INFO,
            info_labels={"mood": ("behind", "even", "ahead")},
            knobs_dtype=KNOBS,
            derived_dtype=RACE_DERIVED,
            bot_dtype=RACE_BOT,
            illegal_actions="raise" if raise_illegal else "play",
            kernel_module=KERNELS,
            core_module=CORE,
            render_modes=("ansi",),
            hidden=True,
            stops=RACE_STOPS,
        )

    def __reduce__(self) -> Any:
        return RaceGame._with_shared, (self._options, self.shared)

    def with_shared(self, shared: Any, trusted: bool = False) -> "RaceGame":
        """Return the race to another goal or with another bonus."""
        mine = self.shared.copy()
        if not 1 <= shared["goal"][0] <= 10**6:
            raise ConfigError(f"shared: goal={shared['goal'][0]} must be 1..1000000")
        mine["goal"], mine["bonus"] = shared["goal"], shared["bonus"]
        return self.accept_shared(RaceGame._with_shared(self._options, mine), shared, trusted)

    @staticmethod
    def _with_shared(options: Any, shared: Any) -> "RaceGame":
        game = RaceGame(*options)
        game.shared = shared
        return game

    def create(self) -> Race:
        return Race(self.shared[0])

    def reset(self, game: Race, knobs: Any, seed: int | None) -> None:
        game.reset(int(knobs["limit"]), seed)

    def step(self, game: Race, action: list[int]) -> None:
        game.step(action)

    def pack(self, game: Race) -> bytes:
        row = np.zeros(1, self.spec.state_dtype)
        for name in RACE_FIXED.names or ():
            if name not in ("pad", "stamp_from"):
                row[name] = game.rng.state if name == "rng" else getattr(game, name)
        row["board"][0, : game.size] = game.board
        return row.tobytes()

    def unpack(self, row: Any) -> Race:
        record, game = np.frombuffer(bytes(row), self.spec.state_dtype)[0], Race(self.shared[0])
        for name in (RACE_FIXED.names or ())[1:]:
            setattr(game, name, record[name].tolist())
        game.rng.state = record["rng"].tolist()
        game.board = record["board"][: game.size].tolist()
        return game

    def encode_obs(self, game: Race, out: Any) -> None:
        for k in range(2):
            out["ahead"][k] = [game.board[(game.place[k] + i) % game.size] for i in range(SEEN)]
            for j, other in enumerate((k, 1 - k)):
                waits = game.ready_at[other] - game.clock
                out["me"][k, j] = game.place[other] / 100, waits / 20
            out["clock"][k] = game.clock

    def action_mask(self, game: Race, out: Any) -> None:
        for k in range(2):
            far = game.reach(k) if game.needs_action[k] else 0
            out[k] = [a <= far for a in range(4)]

    def reward(self, game: Race) -> Any:
        pairs = list(zip(game.ev_gain, game.ev_illegal, strict=True))
        rewards = [gain * game.bonus - 0.5 * illegal for gain, illegal in pairs]
        places = zip(game.ev_gain, game.place, strict=True)
        return rewards, [(gain, place / game.goal) for gain, place in places]

    def info(self, game: Race) -> Any:
        a, b = game.place
        share = game.clock / max(1, game.limit)
        return game.clock, game.place, a != b, 1 + (a > b) - (a < b), share, game.needs_action

    def bot_action(self, game: Race, params: Any, agent: int, obs: Any, mask: Any, rng: Rng) -> int:
        stride = rng.bounded(4) if params["random"] else int(params["stride"])
        while stride > 0 and not mask[stride]:
            stride -= 1
        return stride

    def resample(self, game: Race, agent: int, rng: Rng) -> None:
        game.resample(agent, rng)

    def stopped(self, game: Race, start: Race, until: str, number: int) -> bool:
        if until == "apart":
            return game.place[0] != game.place[1]
        return game.clock - start.clock >= number

    def kernels(self) -> Compiled:
        return race_functions()[1]

    def core(self) -> Compiled:
        return race_functions()[0]

    def default_knobs(self, n: int) -> Any:
        return np.full(n, 90, np.int32).view(KNOBS)

    set_knob, get_knob = WalkGame.set_knob, WalkGame.get_knob

    def validate(self, rows: Any) -> None:
        wrong = (rows["place"] < 0).any(axis=1)
        if wrong.any():
            raise StateError(f"lane {wrong.argmax()}: place")

    def describe(self, row: Any) -> str:
        return f"CLOCK {row['clock']}"

    def render(self, row: Any, mode: str) -> Any:
        return f"{row['place']} at {row['clock']}"

    def bot(self, name: str) -> Any:
        players = {"random": (0, 1), "slow": (1, 0), "fast": (3, 0)}
        if name not in players:
            raise ConfigError(f"bot {name!r}: must be one of {', '.join(players)}")
        return np.array([players[name]], RACE_BOT)
