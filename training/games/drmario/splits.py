"""Splits of the seeds: some for tuning and training, others for the reports of records.

The game's generator has 32,767 states, so that seeds drawn afresh repeat games. A hash of a state
says what it is for: one in five is for reports. Those of the registry belong to neither.

>>> tuning, reports = seeds_for("tuning"), seeds_for("reports")
>>> len(tuning), len(reports), len(set(tuning.tolist()) & set(reports.tolist()))
(24199, 6119, 0)
"""

from __future__ import annotations

import hashlib
from functools import cache

import numpy as np

from fastenv.drmario import tables as t
from fastenv.drmario.generator import orbit_state
from fastenv.drmario.seeds import registry_seeds
from training.run.options import require

PARTS = ("tuning", "reports")


@cache
def seeds_for(part: str) -> np.ndarray:
    """Return all seeds of a part, first byte * 256 + second, rising, int32, read-only.

    Parameters
    ----------
    part : {"tuning", "reports"}

    Raises
    ------
    ConfigError
        If there is no such part.
    """
    require(part in PARTS, "part", part, " or ".join(PARTS))
    states = (orbit_state(number) for number in range(1, t.ORBIT + 1))
    registered = set(registry_seeds().ravel().tolist())
    numbers = [
        a << 8 | b
        for a, b in states
        if a << 8 | b not in registered and PARTS[_is_for_reports(a, b)] == part
    ]
    seeds = np.array(sorted(numbers), np.int32)
    seeds.flags.writeable = False
    return seeds


def draw_seeds(part: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw different seeds of a part, int32 (count,).

    Raises
    ------
    ConfigError
        If there are not so many.
    """
    seeds = seeds_for(part)
    require(0 < count <= len(seeds), "count", count, f"1 to {len(seeds):,} seeds for {part}")
    return rng.choice(seeds, count, replace=False)


def _is_for_reports(a: int, b: int) -> bool:
    return hashlib.sha256(bytes((a, b))).digest()[0] % 5 == 0
