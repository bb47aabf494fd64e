"""A ``BatchLoop`` over rows and destinations of its own, for tests of the loop and of the cores."""

from dataclasses import fields, replace

import numpy as np

from fastenv.memory import Buffers, aligned
from fastenv.paths import as_compiled
from tests.rowcalls import unwritten


def copied(array):
    """Copy byte by byte: NumPy does not copy the padding between fields."""
    copy = aligned(array.shape, array.dtype)
    if array.dtype.itemsize:
        copy.reshape(-1).view(np.uint8)[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return copy


def some(dtype, names):
    """Return the dtype of some fields of a record, None for all, as the engine makes it."""
    if names is None:
        return dtype
    return np.dtype([(name, dtype[name]) for name in names], align=True)


def buffers(spec, n, info=None, terms=None):
    """Return destinations of a step of n lanes; every byte tells whether it was written."""
    each, info = spec.agents(n), some(spec.info_dtype, info)
    return Buffers(
        obs=unwritten((*each, *spec.obs_shape), spec.obs_dtype),
        mask=unwritten((*each, spec.num_actions), np.uint8),
        reward=unwritten(each, spec.reward_dtype),
        terms=unwritten(each, some(spec.terms_dtype, terms)),
        terminated=unwritten(n, np.uint8),
        truncated=unwritten(n, np.uint8),
        tau=unwritten(each, np.int32),
        info=unwritten(n, info),
        final_info=unwritten(n, info),
        final_obs=unwritten((*each, *spec.obs_shape), spec.obs_dtype),
        ep_return=unwritten(each, np.float64),
        ep_length=unwritten(n, np.int32),
        ep_frames=unwritten(n, np.int32),
    )


class Loop:
    """``n`` lanes of a game, all of them selected unless something else is said.

    Parameters
    ----------
    game : Game
    n : int
    rows : ndarray, optional
        To begin with, instead of ``n`` rows of zeros; copied.
    num_threads : int
    info, terms : sequence of str, optional
        Columns wanted; default all.
    plain : bool
        The core alone: without kernels, and nothing bound.
    core, kernels : Compiled, optional
        Instead of those of the game.
    """

    def __init__(
        self, game, n=1, *, rows=None, num_threads=1, info=None, terms=None, plain=False,
        core=None, kernels=None,
    ):  # fmt: skip
        from fastenv._batch import BatchLoop

        self.game, self.spec = game, game.spec
        self.rows = aligned(n, self.spec.state_dtype) if rows is None else copied(rows)
        self.n = n = len(self.rows)
        self.knobs = game.default_knobs(n)
        derived = self.spec.derived_dtype
        self.derived = None if derived is None else aligned(n, derived)
        self.shared = aligned(1, game.shared.dtype)
        self.shared[:] = game.shared
        core = as_compiled(game, game.core()) if core is None else core
        if kernels is None and not plain:
            kernels = as_compiled(game, game.kernels())
        self.memory = (self.rows, self.knobs, self.derived, self.shared)
        self.loop = BatchLoop(self.spec, core, kernels, *self.memory, num_threads)
        self.all = np.ones(n, np.uint8)
        self.out = buffers(self.spec, n, info, terms)
        if not plain:
            self.bind()

    def bind(self, **changes):
        """Bind the buffers, some of them replaced."""
        self.loop.bind(self.spec, replace(self.out, **changes))

    def actions(self, actions):
        """Return actions of all lanes, and agents, from as many or fewer."""
        shape = self.spec.agents(self.n)
        return np.ascontiguousarray(np.broadcast_to(np.asarray(actions, np.int32), shape))

    def selected(self, select):
        """Return the flags of the selected lanes."""
        return self.all if select is None else np.asarray(select, np.uint8)

    def reset(self, seeds=None, select=None):
        """Start episodes, from a seed a lane or going on with the rows' streams."""
        seeds = None if seeds is None else np.array([s % 2**64 for s in seeds], np.uint64)
        self.loop.reset(self.selected(select), seeds)

    def step(self, actions, select=None):
        """Take plain steps."""
        self.loop.step(self.actions(actions), self.selected(select))

    def fused(self, actions, select=None, autoreset=True):
        """Take steps, and encode."""
        given = (self.actions(actions), self.selected(select))
        self.loop.step_fused(*given, autoreset, self.out.obs, self.out.mask)

    def observe(self, select=None):
        """Encode the rows as they are."""
        self.loop.observe(self.selected(select), self.out.obs, self.out.mask)

    def complete(self):
        """Return a copy of the rows in which nothing is left open; the lanes stay as they are."""
        other = Loop(self.game, rows=self.rows, plain=True)
        other.loop.complete(other.all)
        return other.rows

    def outputs(self):
        """Return all destinations by name."""
        return {field.name: getattr(self.out, field.name) for field in fields(self.out)}

    def arrays(self):
        """Return everything with a row a lane that the loop writes, by name."""
        arrays = self.outputs() | {"rows": self.rows}
        return arrays if self.derived is None else arrays | {"derived": self.derived}

    def bytes(self):
        """Return the bytes of each lane of :meth:`arrays`."""
        return {
            name: [array[i].tobytes() for i in range(self.n)]
            for name, array in self.arrays().items()
        }
