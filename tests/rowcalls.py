"""The kernels of a game over rows of its own, one call a row, beside what its reference writes.

Tests compare :func:`by_kernels` with :func:`by_reference`. Without Numba's compiler
(``NUMBA_DISABLE_JIT=1``) the kernels are plain Python: :func:`without_compiler`.
"""

import ctypes
from types import SimpleNamespace

import numba as nb
import numpy as np

from fastenv.memory import aligned
from fastenv.paths import as_compiled, callable_at

UNWRITTEN = 0x7F  # in every byte of a buffer: out of range as any number an encoder writes


def unwritten(shape, dtype):
    """Return an array of bytes that no encoder writes."""
    array = aligned(shape, dtype)
    array.reshape(-1).view(np.uint8).fill(UNWRITTEN)
    return array


class Encoded:
    """What encoders write about n rows."""

    def __init__(self, spec, n):
        each = spec.agents(n)
        self.obs = unwritten((*each, *spec.obs_shape), spec.obs_dtype)
        self.mask = unwritten((*each, spec.num_actions), np.uint8)
        self.info = unwritten(n, spec.info_dtype)
        self.reward = unwritten(each, spec.reward_dtype)
        self.terms = unwritten(each, spec.terms_dtype)
        self.counted = np.zeros(n, np.bool_)  # whether the reward is that of a decision

    def numbers(self):
        """Yield name and numbers of every buffer, those of records field by field."""
        for name, array in vars(self).items():
            if array.dtype.names is None:
                yield name, array
            else:
                yield from ((f"{name} {field}", array[field]) for field in array.dtype.names)


def bits(array):
    """Return the numbers as integers of their size: equal only where every bit is."""
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def assert_same_bits(got, expected):
    """Compare two :class:`Encoded`, but for padding."""
    for (name, ours), (_, theirs) in zip(got.numbers(), expected.numbers(), strict=True):
        np.testing.assert_array_equal(bits(ours), bits(theirs), err_msg=name)


def by_reference(game, rows):
    """Encode rows with the game's reference."""
    out = Encoded(game.spec, len(rows))
    for i, row in enumerate(rows):
        played = game.unpack(row)
        game.encode_obs(played, out.obs[i])
        game.action_mask(played, out.mask[i])
        out.info[i] = game.info(played)
        paid = game.reward(played)
        out.counted[i] = paid is not None
        out.reward[i], out.terms[i] = (0, 0) if paid is None else paid
    return out


class Kernels:
    """The kernels of a game as functions of addresses, such as the loop over lanes calls them."""

    def __init__(self, game):
        functions = as_compiled(game, game.kernels(), "observe", "reward", "info")
        self.spec = game.spec
        self.observe = callable_at(functions.observe, None, 5)
        self.reward = callable_at(functions.reward, ctypes.c_int, 5)
        self.info = callable_at(functions.info, None, 4)
        self.derive = callable_at(functions.derive, None, 3) if functions.derive else None
        self.play = callable_at(functions.bot, ctypes.c_int32, 8) if functions.bot else None
        self._shared = aligned(1, game.shared.dtype)
        self._shared[:] = game.shared
        self.shared = self._shared.ctypes.data

    def derived(self, row):
        """Return the derived record of a row, or None in a game without them."""
        if self.derive is None:
            return None
        record = unwritten(1, self.spec.derived_dtype)
        self.derive(row.ctypes.data, record.ctypes.data, self.shared)
        return record

    def bot(self, row, params, obs, mask, words, agent=0):
        """Return a scripted player's action; its generator ``words``, shape (4,), is advanced."""
        derived = self.derived(row)
        pointers = (row.ctypes.data, None if derived is None else derived.ctypes.data, self.shared)
        rest = (array.ctypes.data for array in (obs, mask, words))
        return self.play(*pointers, params.ctypes.data, agent, *rest)


def by_kernels(game, rows, lanes=None):
    """Encode rows, or those of some lanes, with the game's kernels, which change no row."""
    out, kernels, before = Encoded(game.spec, len(rows)), Kernels(game), rows.tobytes()
    for i in range(len(rows)) if lanes is None else lanes:
        derived = kernels.derived(rows[i : i + 1])
        place = None if derived is None else derived.ctypes.data
        row = (rows[i : i + 1].ctypes.data, place, kernels.shared)
        obs, mask, info, reward, terms = (
            array[i : i + 1].ctypes.data
            for array in (out.obs, out.mask, out.info, out.reward, out.terms)
        )
        kernels.observe(*row, obs, mask)
        kernels.info(*row, info)
        out.counted[i] = kernels.reward(*row, reward, terms)
    assert rows.tobytes() == before
    return out


# -- without Numba's compiler --------------------------------------------------------------------


def without_compiler(kernels):
    """Make the C functions of a module of kernels plain Python.

    They take lists of one record where they would take pointers; a record is whatever has its
    fields as attributes.
    """
    assert nb.config.DISABLE_JIT
    kernels.nb = SimpleNamespace(**{**vars(nb), "carray": lambda pointer, _: pointer})
    kernels.cached_cfunc = lambda *_, **__: lambda function: function
    kernels._cfuncs.cache_clear()
