"""Seeds and generators: blocks of seeds by use, streams of a run, and global generators.

No policy is measured on seeds that trained or chose it.

Each use has a block of 2**40 seeds. Where deals are replayed (``deals="duplicate"``, Skull King
8.4), a game with seed ``s`` shuffles its decks with the seeds ``s + 2**40`` to ``s + 10 * 2**40``:
such games reach ten blocks beyond their own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

BLOCK = 1 << 40

# Evaluations by episodes begin at 0, the seeds that people give.
MATCH_SEEDS = 1 * BLOCK  # whole games of an evaluation; decks reach up to 12 blocks
# Rounds at equal goals, of the same evaluation. The matches' first decks have these seeds too: both
# measure the same policy, and nothing is chosen by either.
GOAL_SEEDS = 2 * BLOCK
CURVE_SEEDS = 16 * BLOCK  # evaluations during a training, which choose the best policy
GATE_SEEDS = 32 * BLOCK  # tests of gates, which choose when a curriculum goes on
# Training seeds have this bit.
TRAINING_BIT = 1 << 62

# Children of the run's seed, in this order for ever: adding one at the end changes no other.
STREAMS = (
    "env",
    "sampler",
    "minibatch",
    "init",
    "explore",
    "eval",
    "auxiliary",
    "manager",
    "curriculum",
    "noise",
    "pool",
    "episodes",
)


def stream_seed(seed: int, stream: str, bits: int = 32) -> int:
    """Derive the seed of a generator from a run's seed."""
    child = np.random.SeedSequence(seed).spawn(len(STREAMS))[STREAMS.index(stream)]
    return int(child.generate_state(1, np.uint64)[0]) & ((1 << bits) - 1)


def training_seed(seed: int) -> int:
    """Derive the seed of lane 0; that of lane ``i`` is ``i`` more."""
    return TRAINING_BIT | stream_seed(seed, "env", bits=61)


# -- global generators -----------------------------------------------------------------------------


def global_generators() -> dict[str, Any]:
    """Return the states of Python's and NumPy's global generators as JSON values."""
    version, words, gauss = random.getstate()
    legacy = np.random.get_state(legacy=False)  # noqa: NPY002 (stock trainers draw from it)
    legacy["state"] = {"key": legacy["state"]["key"].tolist(), "pos": int(legacy["state"]["pos"])}
    return {"python": [version, list(words), gauss], "numpy": legacy}


def set_global_generators(saved: dict[str, Any]) -> None:
    """Put back what :func:`global_generators` returned."""
    version, words, gauss = saved["python"]
    random.setstate((version, tuple(words), gauss))
    legacy = dict(saved["numpy"])
    key = np.array(legacy["state"]["key"], np.uint32)
    legacy["state"] = {"key": key, "pos": legacy["state"]["pos"]}
    np.random.set_state(legacy)  # noqa: NPY002


@contextmanager
def generators_kept() -> Iterator[None]:
    """Restore the global generators at the end, whatever draws from them meanwhile."""
    import torch  # of which seeds alone need nothing

    saved, drawn = global_generators(), torch.get_rng_state()
    try:
        yield
    finally:
        set_global_generators(saved)
        torch.set_rng_state(drawn)
