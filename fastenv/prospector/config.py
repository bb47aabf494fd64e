"""Options of an Asteroid Prospector environment: the length of an episode, and nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from fastenv.errors import ConfigError, show, unknown_keyword
from fastenv.prospector.state import RULES_DTYPE
from fastenv.prospector.tables import TIME_MAX


@dataclass(frozen=True)
class ProspectorConfig:
    """Options of an Asteroid Prospector environment, validated on construction.

    Parameters
    ----------
    time_max : float
        Ticks until an episode is truncated, positive and finite. The observation shows the time
        remaining as a share of it.
    """

    time_max: float = TIME_MAX

    def __post_init__(self) -> None:
        """Validate."""
        value: object = self.time_max
        number = isinstance(value, (int, float, np.integer, np.floating))
        if not number or isinstance(value, bool) or not 0 < _finite(value) < math.inf:
            raise ConfigError(
                f"time_max={show(value)} is not possible: time_max must be a positive finite "
                "number."
            )
        object.__setattr__(self, "time_max", _finite(value))

    @classmethod
    def from_options(cls, **options: Any) -> Self:
        """Build a config from keyword options.

        Raises
        ------
        ConfigError
            For an unknown option or a value that is not allowed.
        """
        known = [f.name for f in fields(cls)]
        for name in options:
            if name not in known:
                raise unknown_keyword(name, "Asteroid Prospector", known)
        return cls(**options)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed, validated again."""
        return replace(self, **changes)

    def rules_record(self) -> np.ndarray:
        """Return the rules as a record array, shape (1,), dtype ``RULES_DTYPE``."""
        row = np.zeros(1, RULES_DTYPE)
        row["time_max"] = self.time_max
        return row


def _finite(value: Any) -> float:
    """Return a number as a float; integers that no float can hold are infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf
