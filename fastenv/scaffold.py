"""What is the same for all games: the folder of a new one, its tests and its id.

The files hold the smallest game there is, guessing the toss of a coin, which runs on every backend
and passes its tests from the first minute on; its rules are then replaced, file by file
(``docs/new_game.md``).
"""

from __future__ import annotations

import keyword
import re
from pathlib import Path

from fastenv.errors import ConfigError, show

ENTER_ABOVE = "# `python -m fastenv new-game` enters a game above this line.\n"
BEFORE_FIRST = "register_game(\n"  # the functions that load a game stand above

LOADER = """\
def _@name@() -> ModuleType:
    from fastenv import @name@

    return @name@


"""
ENTRY = 'register_game(_@name@, {"@id@": {}})\n'


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
from fastenv._rng cimport rng_bounded, rng_seed
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


cdef _batch.RowTable table
table.reset, table.step = reset, step
table.state_size = table.fetch = sizeof(State)
TABLE = _batch.export(&table)
'''

CORE_STUB = "TABLE: object\n"

TEST = '''\
"""The backends give the same bits, with the options that ``random_options`` draws."""

import pytest

from fastenv import make_game
from fastenv.verify import Case, available, draw_options


@pytest.mark.parametrize("seed", range(5))
def test_backends_give_the_same_bits(seed):
    options = draw_options("@id@", seed)
    game = make_game("@id@", **options)
    engines = {name: (name, 1) for name, why in available(game).items() if why is None}
    case, ended = Case(game, seed, 7, engines, options), 0
    for _ in range(200):
        difference = case.advance()
        assert difference is None, difference
        ended += int((case.standard.terminated | case.standard.truncated).sum())
    assert ended, "no episode came to its end: the test has not seen what happens then"
'''


def new_game(name: str, root: Path) -> list[Path]:
    """Write the files of a new game into a checkout, and enter its id.

    Parameters
    ----------
    name : str
        Of the folder, such as ``connect_four``; the id is ``ConnectFour-v0``.
    root : Path
        The checkout.

    Returns
    -------
    list of Path
        What was written or changed.

    Raises
    ------
    ConfigError
        If the name is none for a package, the game is there already, or ``root`` is no checkout.
        Nothing has been written then.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or keyword.iskeyword(name):
        raise ConfigError(
            f"name {show(name)}: must be lower-case words joined by _, as connect_four"
        )
    games = root / "fastenv" / "games.py"
    text = games.read_text(encoding="utf-8") if games.exists() else ""
    if text.count(ENTER_ABOVE) != 1:
        raise ConfigError(f"root {show(str(root))}: must be a checkout of fastenv")
    folder, tests = root / "fastenv" / name, root / "tests" / name
    for path in (folder, tests, folder.with_suffix(".py")):
        if path.exists():
            raise ConfigError(f"name {show(name)}: {path.relative_to(root)} is there already")
    camel = "".join(word.capitalize() for word in name.split("_"))
    words = {"@name@": name, "@Class@": camel, "@id@": f"{camel}-v0"}
    files = {
        folder / "__init__.py": GAME,
        folder / "state.py": STATE,
        folder / "reference.py": REFERENCE,
        folder / "kernels.py": KERNELS,
        folder / "_core.pyx": CORE,
        folder / "_core.pyi": CORE_STUB,
        tests / f"test_{name}_parity.py": TEST,
    }
    for path, template in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(_filled(template, words), encoding="utf-8")
    text = text.replace(BEFORE_FIRST, _filled(LOADER, words) + BEFORE_FIRST, 1)
    text = text.replace(ENTER_ABOVE, _filled(ENTRY, words) + ENTER_ABOVE)
    games.write_text(text, encoding="utf-8")
    return [*files, games]


def _filled(template: str, words: dict[str, str]) -> str:
    """Return a template with the words of a game in their places."""
    return re.sub("|".join(words), lambda found: words[found[0]], template)
