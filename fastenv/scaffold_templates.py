"""The files of a new game, as templates: the smallest games there are.

For one, guessing the toss of a coin; for two, guessing in turn. A line that begins with
``@hidden@`` is for a game in which each sees what the other does not, one with ``@open@`` for any
other.
"""

from __future__ import annotations

# -- one player -----------------------------------------------------------------------------------

STATE = '''\
"""One game of @Class@ as one row of bytes."""

import numpy as np

TOSSES = 10

STATE_DTYPE = np.dtype(
    [
        ("rng", "u8", (4,)),
        ("ep_return", "f8"),
        ("ep_length", "i4"),
        ("tosses", "i4"),  # so far
        ("done", "i1"),
        ("ev_right", "i1"),  # event: the last guess was right
    ],
    align=True,
)
INFO_DTYPE = np.dtype([("tosses", "i4")], align=True)

# What the compiled code is given: python -m tools.structs @name@
STRUCTS = {"State": STATE_DTYPE}
CONSTANTS = {"TOSSES": TOSSES}
'''

REFERENCE = '''\
"""@Class@ in plain Python: the oracle."""

from fastenv.@name@.state import STATE_DTYPE, TOSSES
from fastenv.rng import Rng


class @Class@:
    """One game: one attribute for each field of the row."""

    __slots__ = STATE_DTYPE.names

    def __init__(self):
        self.rng = Rng(0)
        self.clear()

    def clear(self):
        """Forget the last episode."""
        self.ep_return, self.ep_length = 0.0, 0
        self.tosses = self.done = self.ev_right = 0

    def reset(self, seed=None):
        """Start an episode: from a seed, or going on with the stream."""
        if seed is not None:
            self.rng = Rng(seed)
        self.clear()

    def legal_actions(self):
        """Return the legal actions; at the end nothing matters."""
        return [0, 1]

    def step(self, action):
        """Guess a toss."""
        self.ev_right = int(self.rng.bounded(2) == action)
        self.tosses += 1
        self.done = int(self.tosses == TOSSES)
'''

GAME = '''\
"""@Class@: guess the toss of a coin."""

from fastenv.@name@.reference import @Class@
from fastenv.@name@.state import INFO_DTYPE, STATE_DTYPE, TOSSES
from fastenv.game import GameSpec
from fastenv.plain import PlainGame
from fastenv.rng import Rng


def random_options(rng, **given):
    """Draw options for ``python -m fastenv verify``."""
    return given


class @Class@Game(PlainGame):
    """@Class@, configured."""

    def __init__(self):
        spec = GameSpec(
            num_actions=2,
            obs_shape=(1,),
            obs_bounds=(0.0, 1.0),
            state_dtype=STATE_DTYPE,
            info_dtype=INFO_DTYPE,
            kernel_module="fastenv.@name@.kernels",
            core_module="fastenv.@name@._core",
            render_modes=("ansi",),
        )
        super().__init__(spec, limits={"tosses": (0, TOSSES), "done": (0, 2)})

    def create(self):
        return @Class@()

    def encode_obs(self, game, out):
        out[0] = game.tosses / TOSSES

    def reward(self, game):
        return float(game.ev_right), ()

    def info(self, game):
        return (game.tosses,)

    def resample(self, game, agent, rng):
        game.rng = Rng(rng.next())  # nobody knows the luck to come

    def render(self, row, mode):
        return f"{row['tosses']} of {TOSSES} tosses"


make_game = @Class@Game  # the registry calls it with the options of ``make``
'''

KERNELS = '''\
"""@Class@ in Numba: observation, mask, reward, info of a row."""

import numba as nb
from numba import types

from fastenv.@name@.state import INFO_DTYPE, STATE_DTYPE
from fastenv.game import Compiled

TOSSES = 10
_row, _info = (types.CPointer(nb.from_dtype(dtype)) for dtype in (STATE_DTYPE, INFO_DTYPE))
_none, _floats, _bytes = types.voidptr, types.CPointer(types.float32), types.CPointer(types.uint8)


@nb.cfunc(types.void(_row, _none, _none, _floats, _bytes))
def observe(row, derived, shared, obs_out, mask_out):
    s, obs, mask = nb.carray(row, (1,))[0], nb.carray(obs_out, (1,)), nb.carray(mask_out, (2,))
    obs[0] = s.tosses / TOSSES
    mask[0] = mask[1] = 1


@nb.cfunc(types.int32(_row, _none, _none, _floats, _none))
def reward(row, derived, shared, reward_out, terms_out):
    nb.carray(reward_out, (1,))[0] = nb.carray(row, (1,))[0].ev_right
    return 1


@nb.cfunc(types.void(_row, _none, _none, _info))
def info(row, derived, shared, info_out):
    nb.carray(info_out, (1,))[0].tosses = nb.carray(row, (1,))[0].tosses


def functions():
    """Return the functions of a row, by address."""
    return Compiled(observe=observe.address, reward=reward.address, info=info.address)
'''

CORE = '''\
"""@Class@ for the loop over lanes: row functions and their table."""
from libc.stdint cimport int32_t, uint64_t

from fastenv cimport _batch
from fastenv._rng cimport rng_bounded, rng_next, rng_seed
from fastenv.@name@._state cimport TOSSES, State


cdef void reset(
    void* row, const void* shared, const void* knobs, const uint64_t* seed
) noexcept nogil:
    cdef State* s = <State*>row
    if seed != NULL:
        rng_seed(s.rng, seed[0])
    s.ep_return = 0.0
    s.ep_length = s.tosses = s.done = s.ev_right = 0


cdef bint step(
    void* row, const void* derived, const void* shared, const void* knobs, const int32_t* actions
) noexcept nogil:
    cdef State* s = <State*>row
    s.ev_right = rng_bounded(s.rng, 2) == <uint64_t>actions[0]
    s.tosses += 1
    s.done = s.tosses == TOSSES
    return False


cdef void resample(
    void* row, const void* shared, int32_t agent, uint64_t* rng
) noexcept nogil:
    rng_seed((<State*>row).rng, rng_next(rng))


cdef _batch.RowTable table
table.reset, table.step, table.resample = reset, step, resample
table.state_size = table.fetch = sizeof(State)
TABLE = _batch.export(&table)
'''


# -- two players, in turn --------------------------------------------------------------------------

STATE_TWO = '''\
"""One game of @Class@ as one row of bytes."""

import numpy as np

TOSSES = 10

STATE_DTYPE = np.dtype(
    [
        ("rng", "u8", (4,)),
        ("bot_rng", "u8", (4,)),
        ("ep_return", "f8", (2,)),
        ("ep_length", "i4"),
        ("tosses", "i4"),  # so far
@hidden@        ("coins", "i4", (2,)),  # 0 or 1; an agent sees its own
        ("done", "i1"),
        ("ev_right", "i1"),  # event: who has just guessed right; 0 nobody, 1 or 2
        ("needs_action", "u1", (2,)),
    ],
    align=True,
)
INFO_DTYPE = np.dtype([("tosses", "i4")], align=True)

# What the compiled code is given: python -m tools.structs @name@
STRUCTS = {"State": STATE_DTYPE}
CONSTANTS = {"TOSSES": TOSSES}
'''

REFERENCE_TWO = '''\
"""@Class@ in plain Python: the oracle."""

from fastenv.@name@.state import STATE_DTYPE, TOSSES
from fastenv.rng import Rng

BOTS = ("random",)


class @Class@:
    """One game: one attribute for each field of the row."""

    __slots__ = STATE_DTYPE.names

    def __init__(self):
        self.reset(0)

    def reset(self, seed=None):
        """Start an episode: from a seed, or going on with the stream."""
        if seed is not None:
            self.rng = Rng(seed)
        self.ep_return, self.ep_length = [0.0, 0.0], 0
        self.tosses = self.done = self.ev_right = 0
        self.bot_rng = [self.rng.next() for _ in range(4)]
        self.needs_action = [0, 1] if self.rng.bounded(2) else [1, 0]
@hidden@        self.coins = [self.rng.bounded(2), self.rng.bounded(2)]

    def legal_actions(self, agent):
        """Return the legal actions; only 0 for an agent that does not act now."""
        return [0, 1] if self.needs_action[agent] else [0]

    def step(self, actions):
@open@        """Guess a toss; then it is the other's turn."""
@hidden@        """Guess the other's coin, which is tossed again; then it is the other's turn."""
        agent = 0 if self.needs_action[0] else 1
@open@        right = self.rng.bounded(2) == actions[agent]
@hidden@        right = self.coins[1 - agent] == actions[agent]
@hidden@        self.coins[1 - agent] = self.rng.bounded(2)
        self.ev_right = 1 + agent if right else 0
        self.tosses += 1
        self.done = int(self.tosses == TOSSES)
        self.needs_action = [0, 0] if self.done else [agent, 1 - agent]

    def resample(self, agent, rng):
@open@        """Draw what an agent cannot know: the luck to come."""
@hidden@        """Draw what an agent cannot know: the other's coin, and the luck to come."""
@hidden@        self.coins[1 - agent] = rng.bounded(2)
        self.rng, self.bot_rng = Rng(rng.next()), [rng.next() for _ in range(4)]

    def bot(self, agent, rng):
        """Guess at random."""
        return rng.bounded(2) if self.needs_action[agent] else 0
'''

GAME_TWO = '''\
@open@"""@Class@: two guess the toss of a coin in turn."""
@hidden@"""@Class@: two guess in turn which side of its coin the other hides."""

from fastenv.@name@.reference import BOTS, @Class@
from fastenv.@name@.state import INFO_DTYPE, STATE_DTYPE, TOSSES
from fastenv.game import GameSpec
from fastenv.plain import PlainGame


def random_options(rng, **given):
    """Draw options for ``python -m fastenv verify``."""
    return given


class @Class@Game(PlainGame):
    """@Class@, configured."""

    def __init__(self):
        spec = GameSpec(
            num_actions=2,
            num_agents=2,
            order="turns",
            opponent="random",  # of an environment for one, unless another is named
            judged_by="@judged_by@",  # what ranks players: to win games, or points as in poker
@open@            obs_shape=(1,),
@hidden@            obs_shape=(2,),
            obs_bounds=(0.0, 1.0),
            state_dtype=STATE_DTYPE,
            info_dtype=INFO_DTYPE,
            kernel_module="fastenv.@name@.kernels",
            core_module="fastenv.@name@._core",
            render_modes=("ansi",),
@hidden@            hidden=True,
        )
        limits = {"tosses": (0, TOSSES), "done": (0, 2), "ev_right": (0, 2)}
@open@        super().__init__(spec, limits, BOTS)
@hidden@        super().__init__(spec, {**limits, "coins": (0, 1)}, BOTS)

    def decisions(self, rows):
        return (rows["ep_length"][:, None] + (rows["needs_action"] == 0)) // 2

    def create(self):
        return @Class@()

    def encode_obs(self, game, out):
@open@        out[:, 0] = game.tosses / TOSSES
@hidden@        for agent in range(2):
@hidden@            out[agent] = game.tosses / TOSSES, game.coins[agent]

    def reward(self, game):
        first = (game.ev_right == 1) - (game.ev_right == 2)
        return (float(first), float(-first)), ((), ())

    def info(self, game):
        return (game.tosses,)

    def bot_action(self, game, params, agent, obs, mask, rng):
        return game.bot(agent, rng)

    def resample(self, game, agent, rng):
        game.resample(agent, rng)

@open@    def render(self, row, mode):
@open@        return f"{row['tosses']} of {TOSSES} tosses"
@hidden@    def render_seat(self, row, seat, mode):
@hidden@        return f"{row['tosses']} of {TOSSES} tosses, your coin shows {row['coins'][seat]}"


make_game = @Class@Game  # the registry calls it with the options of ``make``
'''

KERNELS_TWO = '''\
"""@Class@ in Numba: observation, mask, reward, info of a row."""

import numba as nb
from numba import types

from fastenv.@name@.state import INFO_DTYPE, STATE_DTYPE
from fastenv.game import Compiled

TOSSES = 10
_row, _info = (types.CPointer(nb.from_dtype(dtype)) for dtype in (STATE_DTYPE, INFO_DTYPE))
_none, _floats, _bytes = types.voidptr, types.CPointer(types.float32), types.CPointer(types.uint8)


@nb.cfunc(types.void(_row, _none, _none, _floats, _bytes))
def observe(row, derived, shared, obs_out, mask_out):
    s, mask = nb.carray(row, (1,))[0], nb.carray(mask_out, (2, 2))
@open@    obs = nb.carray(obs_out, (2, 1))
@hidden@    obs = nb.carray(obs_out, (2, 2))
    for agent in range(2):
        obs[agent, 0] = s.tosses / TOSSES
@hidden@        obs[agent, 1] = s.coins[agent]
        mask[agent, 0], mask[agent, 1] = 1, s.needs_action[agent]


@nb.cfunc(types.int32(_row, _none, _none, _floats, _none))
def reward(row, derived, shared, reward_out, terms_out):
    s, out = nb.carray(row, (1,))[0], nb.carray(reward_out, (2,))
    out[0] = (s.ev_right == 1) - (s.ev_right == 2)
    out[1] = (s.ev_right == 2) - (s.ev_right == 1)
    return 1


@nb.cfunc(types.void(_row, _none, _none, _info))
def info(row, derived, shared, info_out):
    nb.carray(info_out, (1,))[0].tosses = nb.carray(row, (1,))[0].tosses


def functions():
    """Return the functions of a row, by address."""
    return Compiled(observe=observe.address, reward=reward.address, info=info.address)
'''

CORE_TWO = '''\
"""@Class@ for the loop over lanes: row functions and their table."""
from libc.stdint cimport int32_t, uint8_t, uint64_t

from fastenv cimport _batch
from fastenv._rng cimport rng_bounded, rng_next, rng_seed
from fastenv.@name@._state cimport TOSSES, State


cdef void reset(
    void* row, const void* shared, const void* knobs, const uint64_t* seed
) noexcept nogil:
    cdef State* s = <State*>row
    cdef int k
    if seed != NULL:
        rng_seed(s.rng, seed[0])
    s.ep_return[0] = s.ep_return[1] = 0.0
    s.ep_length = s.tosses = s.done = s.ev_right = 0
    for k in range(4):
        s.bot_rng[k] = rng_next(s.rng)
    s.needs_action[1] = rng_bounded(s.rng, 2)
    s.needs_action[0] = 1 - s.needs_action[1]
@hidden@    for k in range(2):
@hidden@        s.coins[k] = rng_bounded(s.rng, 2)


cdef bint step(
    void* row, const void* derived, const void* shared, const void* knobs, const int32_t* actions
) noexcept nogil:
    cdef State* s = <State*>row
    cdef int agent = 0 if s.needs_action[0] else 1
@open@    cdef bint right = <int>rng_bounded(s.rng, 2) == actions[agent]
@hidden@    cdef bint right = s.coins[1 - agent] == actions[agent]
@hidden@    s.coins[1 - agent] = rng_bounded(s.rng, 2)
    s.ev_right = 1 + agent if right else 0
    s.tosses += 1
    s.done = s.tosses == TOSSES
    s.needs_action[agent], s.needs_action[1 - agent] = 0, not s.done
    return False


cdef void resample(
    void* row, const void* shared, int32_t agent, uint64_t* rng
) noexcept nogil:
    cdef State* s = <State*>row
    cdef int k
@hidden@    s.coins[1 - agent] = rng_bounded(rng, 2)
    rng_seed(s.rng, rng_next(rng))
    for k in range(4):
        s.bot_rng[k] = rng_next(rng)


cdef int32_t bot(
    const void* row, const void* derived, const void* shared, const void* params, int32_t agent,
    const void* obs, const uint8_t* mask, uint64_t* rng
) noexcept nogil:
    return rng_bounded(rng, 2) if (<const State*>row).needs_action[agent] else 0


cdef _batch.RowTable table
table.reset, table.step, table.bot, table.resample = reset, step, bot, resample
table.state_size = table.fetch = sizeof(State)
TABLE = _batch.export(&table)
'''

# -- both ------------------------------------------------------------------------------------------

CORE_STUB = "TABLE: object\n"

TEST = '''\
"""The backends give the same bits, with the options that ``random_options`` draws."""

import pytest

from fastenv import make_game
from fastenv.verify import Case, available, draw_opponent, draw_options


@pytest.mark.parametrize("seed", range(5))
def test_backends_give_the_same_bits(seed):
    options = draw_options("@id@", seed)
    game = make_game("@id@", **options)
    engines = {name: (name, 1) for name, why in available(game).items() if why is None}
    case, ended = Case(game, seed, 7, engines, options, draw_opponent(game, seed)), 0
    for _ in range(200):
        difference = case.advance(searches=0.1)
        assert difference is None, difference
        ended += int((case.standard.terminated | case.standard.truncated).sum())
    assert ended, "no episode came to its end: the test has not seen what happens then"
'''


# -- by what a game is asked for -------------------------------------------------------------------

_ONE = {
    "__init__.py": GAME,
    "state.py": STATE,
    "reference.py": REFERENCE,
    "kernels.py": KERNELS,
    "_core.pyx": CORE,
}
_TWO = {
    "__init__.py": GAME_TWO,
    "state.py": STATE_TWO,
    "reference.py": REFERENCE_TWO,
    "kernels.py": KERNELS_TWO,
    "_core.pyx": CORE_TWO,
}


def files_of_a_game(players: int, hidden: bool) -> dict[str, str]:
    """Return the templates of the files in the folder of a game, by name.

    ``@name@``, ``@Class@``, ``@id@`` and ``@judged_by@`` stand in them for the name of the game,
    its class, its id and what ranks its players.

    Parameters
    ----------
    players : {1, 2}
    hidden : bool
        Of two: whether each sees what the other does not.
    """
    kept, dropped = ("@hidden@", "@open@") if hidden else ("@open@", "@hidden@")
    files = {**(_ONE if players == 1 else _TWO), "_core.pyi": CORE_STUB}
    for name, text in files.items():
        lines = (line for line in text.splitlines(True) if not line.startswith(dropped))
        files[name] = "".join(line.removeprefix(kept) for line in lines)
    return files
