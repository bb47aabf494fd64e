"""Environments of the Game Boy for tests: configurations whose steps are short."""

from fastenv.engine import BatchEngine
from fastenv.gameboy import make_game
from tests.needs import FASTEST, HAS_CORE

BACKENDS = ("reference", "numba", "cython", "fast") if HAS_CORE else ("reference", "numba")
# Numba's machine is that of the reference, which runs some twenty frames a second, and its kernels
# are those of "fast": a fault of either shows between the others first.
FIRST = [name for name in BACKENDS if name != "numba" or not HAS_CORE]
ENGINES = {name: (name, 1) for name in BACKENDS}
if HAS_CORE:
    ENGINES["fast with 2 threads"] = ("fast", 2)
# The reference runs some twenty frames a second: a step of one frame, begun where something moves.
SHORT = {"states": "lantern_walk", "frames_per_step": 1, "release_after_frames": 1}
WORLD = {"kind": "overworld", "visits": "cells"}


def engine_of(n=1, backend=FASTEST, **options):
    """Return an engine that has been reset with seed 0."""
    engine = BatchEngine(make_game(**options), n, backend)
    engine.reset_many(seeds=0)
    return engine
