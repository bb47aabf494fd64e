"""Options of an Asteroid Prospector environment: the length of an episode, and nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from fastenv.options import GameConfig, as_float, check_known, refusal
from fastenv.prospector.state import RULES_DTYPE
from fastenv.prospector.tables import TIME_MAX


@dataclass(frozen=True)
class ProspectorConfig(GameConfig):
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
        number = as_float(self.time_max)
        if not 0 < number < math.inf:
            raise refusal("time_max", self.time_max, "a positive finite number")
        object.__setattr__(self, "time_max", number)

    @classmethod
    def from_options(cls, **options: Any) -> Self:
        """Build a config from keyword options.

        Raises
        ------
        ConfigError
            For an unknown option or a value that is not allowed.
        """
        check_known(options, "Asteroid Prospector", (f.name for f in fields(cls)))
        return cls(**options)

    def rules_record(self) -> np.ndarray:
        """Return the rules as a record array, shape (1,), dtype ``RULES_DTYPE``."""
        row = np.zeros(1, RULES_DTYPE)
        row["time_max"] = self.time_max
        return row
