"""The seed registry: 120 seeds of the game's generator for each level (docs/drmario.md, 15.4).

>>> seeds = registry_seeds()
>>> seeds.shape, hex(seeds[5, 17])
((21, 120), '0x8471')
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from fastenv.drmario import tables as t
from fastenv.errors import ConfigError, show

FILE = Path(__file__).with_name("seed_registry.npz")  # python -m tools.drmario_seeds writes it


@cache
def registry_seeds() -> np.ndarray:
    """Return the seeds of each level, first byte * 256 + second, uint16 (21, 120), read-only."""
    with np.load(FILE, allow_pickle=False) as file:
        seeds: np.ndarray = file["seed"].astype(np.uint16) @ np.array([256, 1], np.uint16)
    seeds.flags.writeable = False
    return seeds


def seeds_of(level: int) -> list[int]:
    """Return the seeds of a level; those below 0 have the bottles of level 0, those above 20 of 20.

    Parameters
    ----------
    level : int
    """
    seeds: list[int] = registry_seeds()[t.layout_level(level)].tolist()
    return seeds


def seed_id(level: int, index: int) -> str:
    """Return the id of a seed in the registry, such as ``L05_S017``."""
    return f"L{level:02}_S{index:03}"


def seed_of(name: str) -> tuple[int, int]:
    """Return level and seed of an entry of the registry.

    Parameters
    ----------
    name : str
        Such as ``L05_S017``.

    Raises
    ------
    ConfigError
        If there is no such entry.
    """
    for (level, index), seed in np.ndenumerate(registry_seeds()):
        if name == seed_id(level, index):
            return level, int(seed)
    last = seed_id(t.LAST_VIRUS_LEVEL, t.REGISTRY_SEEDS - 1)
    raise ConfigError(f"seed {show(name)}: must be one of the registry, L00_S000 to {last}.")
