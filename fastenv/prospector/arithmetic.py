"""Arithmetic in double precision, stored in single (docs/prospector.md, 2).

Expressions are evaluated left to right, squares are ``x*x``, and everything transcendental is
``math``'s. NumPy's own ``exp``, ``log`` and ``sin`` give other last bits on some processors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def f32(x: float) -> float:
    """Round to single precision, ties to even."""
    return float(np.float32(x))


def clamp(x: float, low: float, high: float) -> float:
    """Return ``x`` moved into ``[low, high]``."""
    return min(high, max(low, x))


def sigmoid(x: float) -> float:
    """Return the logistic function."""
    return 1.0 / (1.0 + math.exp(-x))


def sum6(v: Sequence[float]) -> float:
    """Add six numbers one after the other."""
    return v[0] + v[1] + v[2] + v[3] + v[4] + v[5]


def csum(v: Sequence[float]) -> float:
    """Add six numbers one after the other, each sum rounded to single precision."""
    total = v[0]
    for x in v[1:]:
        total = f32(total + x)
    return total


def norm6(v: Sequence[float]) -> list[float]:
    """Return six shares that add up to 1; none is 0."""
    w = [max(x, 1e-8) for x in v]
    total = sum6(w)
    return [x / total for x in w]
