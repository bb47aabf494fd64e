"""Write the seed registry of Dr. Mario: ``python -m tools.drmario_seeds``.

For each level from 0 to 20 it draws 120 different seeds from the cycle of the game's generator
(docs/drmario.md, 15.4), and writes them twice beside the game: ``seed_registry.npz``, which the
environment reads, and ``seed_registry.json``, a line a seed, for people and other programs.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from fastenv.drmario import tables as t
from fastenv.drmario.generator import Generator, make_reserve, make_viruses, orbit_state
from fastenv.drmario.seeds import FILE, seed_id
from fastenv.rng import Rng
from tools.command import new_parser

DRAWN_WITH = 1990  # seed of the engine's generator, plus the level
POWER_ON = (0x89, 0x88)
LEVELS = range(t.LAST_VIRUS_LEVEL + 1)


def drawn(level: int) -> list[tuple[int, int]]:
    """Return the seeds of a level in the order of the registry, all different."""
    rng = Rng(DRAWN_WITH + level)
    found: dict[tuple[int, int], None] = {}
    while len(found) < t.REGISTRY_SEEDS:
        found[orbit_state(1 + rng.bounded(t.ORBIT))] = None
    return list(found)


@cache
def positions() -> dict[tuple[int, int], int]:
    """Return the steps from the console's start to each state of the cycle."""
    generator, found = Generator(*POWER_ON), {}
    for position in range(t.ORBIT):
        found[generator.state] = position
        generator.step()
    return found


def entry(level: int, index: int, seed: tuple[int, int]) -> dict[str, Any]:
    """Build the entry of a seed in the registry."""
    generator = Generator(*seed)
    pills = make_reserve(generator)
    board = bytes(make_viruses(level, generator))
    return {
        "id": seed_id(level, index),
        "level": level,
        "seed": list(seed),
        "position": positions()[seed],
        "viruses": sum(tile != t.EMPTY for tile in board),
        "grid": hashlib.sha1(board, usedforsecurity=False).hexdigest()[:16],
        "pills": "".join(map(str, pills)),
    }


def entries(levels: Iterable[int] = LEVELS) -> list[dict[str, Any]]:
    """Return the entries of some levels."""
    return [entry(level, k, seed) for level in levels for k, seed in enumerate(drawn(level))]


def lines(found: list[dict[str, Any]]) -> list[str]:
    """Return the entries as lines of JSON."""
    return [json.dumps(each, separators=(",", ":")) for each in found]


def json_file(found: list[dict[str, Any]]) -> bytes:
    """Return the content of the JSON file: a list, an entry a line."""
    return ("[\n" + ",\n".join(lines(found)) + "\n]\n").encode()


def arrays(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the entries of all levels as arrays, by level and number; pills one a byte."""
    shape = (-1, t.REGISTRY_SEEDS)
    pills = b"".join(each["pills"].encode() for each in found)
    columns = {name: np.array([each[name] for each in found]) for name in ("position", "viruses")}
    return {
        "seed": np.array([each["seed"] for each in found], np.uint8).reshape(*shape, 2),
        "position": columns["position"].astype(np.uint16).reshape(shape),
        "viruses": columns["viruses"].astype(np.uint8).reshape(shape),
        "grid": np.array([each["grid"].encode() for each in found]).reshape(shape),
        "pills": (np.frombuffer(pills, np.uint8) - ord("0")).reshape(*shape, t.RESERVE),
    }


def main() -> None:
    """Write both files."""
    new_parser("drmario_seeds", __doc__).parse_args()
    found, packed = entries(), io.BytesIO()
    np.savez_compressed(packed, **arrays(found))
    for path, content in ((FILE, packed.getvalue()), (FILE.with_suffix(".json"), json_file(found))):
        path.write_bytes(content)
        print(f"{path.name}: {len(found)} seeds, {len(content) / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
