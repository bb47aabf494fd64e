"""What the tests of the new interface share: the race on every backend, and all there is to see."""

import dataclasses

import numpy as np

from fastenv.engine import BatchEngine
from tests.needs import FASTEST, HAS_CORE
from tests.toy import RACE_OBS, RaceGame

BACKENDS = ("reference", "numba", "cython", "fast")
HERE = BACKENDS if HAS_CORE else BACKENDS[:2]  # those that work on this machine
# name -> backend, threads: the engines that must agree, the first is the standard
ENGINES = {name: (name, 1) for name in HERE}
if HAS_CORE:
    ENGINES |= {"fast with 2 threads": ("fast", 2), "fast with 3 threads": ("fast", 3)}
N = 5


def engine_of(backend=FASTEST, n=N, game=None, seed=7, **options):
    """Return an engine of the race that has been reset; options of the engine."""
    engine = BatchEngine(RaceGame() if game is None else game, n, backend, **options)
    engine.reset_many(seeds=seed)
    return engine


def everything(engine):
    """Return all that a refused call must leave as it is, as bytes; stale final values too."""
    names = ("obs", "mask", "reward", "terms", "terminated", "truncated", "tau", "final_obs")
    names += ("ep_return", "ep_length", "ep_frames", "ended")
    arrays = {name: getattr(engine, name) for name in names}
    arrays |= {"info": engine.info_records(), "final_info": engine.info_records(final=True)}
    seeded = ~engine.never_reset()
    arrays |= {"rows": engine.get_states(seeded), "seeded": seeded}
    arrays["knobs"] = engine._knobs  # of any game: a name of one is the game's own
    return {
        name + part: (array[part] if part else array).tobytes()
        for name, array in arrays.items()
        for part in array.dtype.names or ("",)  # what is between fields means nothing
    }


def rows_of(game, n=N, seed=0, **fields):
    """Return rows in the first position of an episode, with some fields written by hand."""
    rows = engine_of("reference", n, game, seed).get_states()
    for name, value in fields.items():
        rows[name] = value
    return rows


def with_spec(game, **changes):
    """Return the game after it said something else of itself."""
    game.spec = dataclasses.replace(game.spec, **changes)
    return game


def without_scalars(**options):
    """Return the race with a clock of one entry, in the same bytes: SB3 takes no scalars."""
    fields = [("ahead", "u1", (6,)), ("me", "f4", (2, 2)), ("clock", "i2", (1,))]
    obs = np.dtype(fields, align=True)
    assert obs.itemsize == RACE_OBS.itemsize
    return with_spec(RaceGame(**options), obs_dtype=obs)


class OtherFunctions(RaceGame):
    """The race with changes to its compiled core and kernels, as in ``({"step": 0}, {})``."""

    def __init__(self, core, kernels, **options):
        super().__init__(**options)
        self.changes = core, kernels

    def core(self):
        return dataclasses.replace(super().core(), **self.changes[0])

    def kernels(self):
        return dataclasses.replace(super().kernels(), **self.changes[1])
