"""A test that walks a table: every row is a subtest, and a row that fails is named."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import pytest

from tests.slow import Parameters, first_of, is_drawn

_COMPILED = ("cython", "fast")


class _Row:
    """What one row of a table gives to a test."""

    def __init__(self, arguments: dict[str, Any], name: str, is_slow: bool) -> None:
        self.arguments, self.name, self.is_slow = arguments, name, is_slow

    def joined(self, other: _Row) -> _Row:
        """Return the row of two tables: both rows' arguments."""
        return _Row(
            self.arguments | other.arguments,
            f"{self.name}, {other.name}",
            self.is_slow or other.is_slow,
        )


def walk(
    names: str | Iterable[str],
    values: Iterable[Any],
    ids: Callable[[Any], Any] | Iterable[str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a test walk a table, which is written as for ``pytest.mark.parametrize``.

    Fixtures are made once, for all rows. Several tables are walked in all combinations. Rows that
    are marked slow make a second test, which is slow and takes those of them that are drawn, one
    at least (``tests.slow.is_drawn``). A row can have no other mark.
    """
    named = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    rows = _rows(named, [*values], ids)

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        tested = getattr(function, "walked", function)
        inner = getattr(function, "rows", None)
        all_rows = rows if inner is None else [a.joined(b) for a, b in product(inner, rows)]
        return _walking(tested, all_rows)

    return decorate


def _rows(names: list[str], values: list[Any], ids: Any) -> list[_Row]:
    made = []
    for k, value in enumerate(values):
        each = value if isinstance(value, Parameters) else None
        parts = each.values if each else (value,) if len(names) == 1 else tuple(value)
        marks = {mark.name for mark in each.marks} if each else set()
        assert len(parts) == len(names), f"{names}: {parts}"
        assert marks <= {"slow", "drawn"}, f"{marks}: a row that is walked can be slow, and no more"
        if each and each.id:
            name = str(each.id)
        elif callable(ids):
            name = "-".join(str(ids(part)) for part in parts)
        else:
            name = str([*ids][k]) if ids else ", ".join(map(_short, parts))
        made.append(_Row(dict(zip(names, parts, strict=True)), name, bool(marks)))
    return made


def _short(value: Any) -> str:
    try:
        text = getattr(value, "__name__", None) or repr(value)
    except (ValueError, RecursionError):  # a number of many digits, or many lists in each other
        text = type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."


def _walking(function: Callable[..., None], rows: list[_Row]) -> Callable[..., None]:
    """Return the test that gives a function all rows, the slow ones in a test of their own."""
    given = rows[0].arguments if rows else {}
    fixtures = [name for name in inspect.signature(function).parameters if name not in given]

    @functools.wraps(function)
    def test(subtests: Any, slow_rows: bool = False, **fixtures: Any) -> None:
        asked = [row for row in rows if row.is_slow == slow_rows]
        for row in _draw(function, asked) if slow_rows else asked:
            with subtests.test(row.name):
                _need_core(row)
                function(**row.arguments, **fixtures)

    kinds = {row.is_slow for row in rows}
    asked = ["subtests", *fixtures, *(["slow_rows"] if True in kinds else [])]
    test.walked, test.rows = function, rows  # type: ignore[attr-defined]
    test.pytestmark = [*getattr(function, "pytestmark", [])]  # type: ignore[attr-defined]
    test.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in asked]
    )
    if True not in kinds:
        return test
    quick = [pytest.param(False, id="quick")] if False in kinds else []
    slow = pytest.param(True, marks=pytest.mark.slow, id="slow")
    return pytest.mark.parametrize("slow_rows", [*quick, slow])(test)


def _draw(function: Callable[..., None], rows: list[_Row]) -> list[_Row]:
    """Return the slow rows that this run takes: those that are drawn, or one where none is."""
    names = [f"{function.__module__} {function.__name__} {row.name}" for row in rows]
    drawn = [row for row, name in zip(rows, names, strict=True) if is_drawn(name)]
    return drawn or [rows[names.index(first_of(names))]]


def _need_core(row: _Row) -> None:
    if row.arguments.get("backend") in _COMPILED:
        from tests.needs import HAS_CORE

        if not HAS_CORE:
            pytest.skip("needs the compiled core")
