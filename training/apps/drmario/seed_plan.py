"""Which games of the seed registry are played, and how often; loads nothing that takes long."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fastenv.drmario.tables import LAST_VIRUS_LEVEL, REGISTRY_SEEDS, SPEEDS
from training.run.options import require


@dataclass(frozen=True)
class Plan:
    """What is played.

    Parameters
    ----------
    levels : sequence of int
        0 to 20.
    speeds : sequence of str
    seeds : int
        Of each level, the first ones of the registry.
    episodes : int
        Of each game.
    t_max : int
        Frames after which an episode is given up.
    within : int
        Frames of the rate of those who are at least as fast.
    traces : int
        Anomalies of a game that are kept.
    seed : int
        Of who plays.
    """

    levels: Sequence[int] = (0,)
    speeds: Sequence[str] = ("medium",)
    seeds: int = 10
    episodes: int = 100
    t_max: int = 36_000
    within: int = 7_200
    traces: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        for flag, values in (("--levels", self.levels), ("--speeds", self.speeds)):
            different = len(values) == len(set(values))
            require(different, flag, list(values), "different from each other")
        for level in self.levels:
            allowed = f"from 0 to {LAST_VIRUS_LEVEL}, which the registry has"
            require(0 <= level <= LAST_VIRUS_LEVEL, "--levels", level, allowed)
        for speed in self.speeds:
            require(speed in SPEEDS, "--speeds", speed, f"one of {', '.join(SPEEDS)}")
        for name, low, high in (
            ("seeds", 1, REGISTRY_SEEDS),
            ("episodes", 1, 10**6),
            ("t_max", 1, 10**9),
            ("within", 1, 10**9),
            ("traces", 0, 10**6),
            ("seed", 0, 2**40 - 1),
        ):
            value = getattr(self, name)
            allowed = f"from {low} to {high}"
            require(low <= value <= high, f"--{name.replace('_', '-')}", value, allowed)

    def games(self) -> Iterator[tuple[int, str, int]]:
        """Yield level, speed and number in the registry of each game."""
        return itertools.product(self.levels, self.speeds, range(self.seeds))
