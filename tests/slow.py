"""Which parameters of a test wait for ``make slow-test``: the others show a fault first."""

from collections.abc import Iterable
from typing import Any

import pytest


def late(*values: Any) -> list[Any]:
    """Return parameters that are slow."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def every(step: int, values: Iterable[Any]) -> list[Any]:
    """Return parameters of which all but each ``step``-th are slow."""
    return [value if k % step == 0 else late(value)[0] for k, value in enumerate(values)]
