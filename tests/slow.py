"""Which parameters of a test wait for ``make slow-test``: the others show a fault first.

Of a test with ``WIDE`` slow cases or more, a run of ``make slow-test`` takes one case in four,
drawn by the variable ``SLOW_SEED``, which the header of the run prints. So it does of a narrower
one whose cases are marked ``drawn``. ``make slow-test ALL=1`` takes all of them.
"""

import os
import random
from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest

Parameters = type(pytest.param())
SHARE = 4  # one in so many
WIDE = 4


def seed() -> str | None:
    """Return what draws the slow parameters of this run; all of them are taken without it."""
    asked = os.environ.get("SLOW_SEED", "")
    return None if asked in ("", "all") else asked


def is_drawn(name: str) -> bool:
    """Return whether this run takes a slow case of that name, as every worker decides alike."""
    return seed() is None or _draw(name) < 1 / SHARE


def first_of(names: Iterable[str]) -> str:
    """Return the case that this run draws before all others of a table."""
    return min(names, key=_draw)


def _draw(name: str) -> float:
    return random.Random(f"{seed()} {name}").random()


def _made(value: Any) -> Any:
    """Return a value as pytest's parameters, which it may be already."""
    return value if isinstance(value, Parameters) else pytest.param(value)


def late(*values: Any, drawn: bool = False) -> list[Any]:
    """Return parameters that are slow, and of which a run takes a drawn share if so asked."""
    marks = [pytest.mark.slow, *([pytest.mark.drawn] if drawn else [])]
    return [
        pytest.param(*each.values, marks=[*each.marks, *marks], id=each.id)
        for each in map(_made, values)
    ]


def every(step: int, values: Iterable[Any]) -> list[Any]:
    """Return parameters of which all but each ``step``-th are slow, and drawn."""
    return [
        value if k % step == 0 else late(value, drawn=True)[0] for k, value in enumerate(values)
    ]


def together(table: Iterable[Any], step: int = 1) -> list[Any]:
    """Return parameters of several arguments each, of which all but each ``step``-th are slow."""
    made = (row if isinstance(row, Parameters) else pytest.param(*row) for row in table)
    return every(step, made)


def diagonal(*axes: Iterable[Any]) -> list[Any]:
    """Return all combinations, slow and drawn but for a few that have each value once or more.

    The k-th of these has the k-th value of every axis, from the first again where there are fewer.
    Values that are slow themselves are in none of them.
    """
    made = [[_made(value) for value in axis] for axis in axes]
    quick = [[k for k, each in enumerate(axis) if not _is_slow(each)] for axis in made]
    most = max(map(len, quick))
    shown = {tuple(axis[k % len(axis)] for axis in quick) for k in range(most)}
    combined = []
    for at in product(*(range(len(axis)) for axis in made)):
        parts = [axis[k] for axis, k in zip(made, at, strict=True)]
        one = pytest.param(
            *(value for each in parts for value in each.values),
            marks=[mark for each in parts for mark in each.marks],
            id=_name_of(parts),
        )
        combined.append(one if at in shown or _is_slow(one) else late(one, drawn=True)[0])
    return combined


def _is_slow(each: Any) -> bool:
    return any(mark.name == "slow" for mark in each.marks)


def _name_of(parts: list[Any]) -> str | None:
    """Return a name where a part has one; pytest makes one up of the values otherwise."""
    if all(each.id is None for each in parts):
        return None
    return "-".join(each.id or "-".join(map(str, each.values)) for each in parts)
