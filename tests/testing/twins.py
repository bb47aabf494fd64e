"""Worlds of the small games that look the same to an agent."""

from __future__ import annotations

from typing import Any

import numpy as np


def bluff_twin(env: Any, agent: str, rng: np.random.Generator) -> Any:
    """Roll the other's die again."""
    return env.twin(agent, rng)
