"""Sources that trackers and gates read, as options of a run.

======================================  ====================================================
``credits``                             an info column
``{info: total, bin: 50}``              in steps of 50: 0 from 0 to 49, 1 from 50 to 99, ...
``{info: game_rank, equals: 1}``        1 where it is so, else 0; also another column's name
``{info: net_profit, at_least: 100}``   likewise
``{info: [map, x], sizes: [3, 16]}``    several columns as one number: map * 16 + x
``{obs: 22, times: 31}``                an element of the observation, times 31, rounded
======================================  ====================================================

A source may also be a function of a :class:`training.callbacks.trackers.base.StepReader`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fastenv.errors import ConfigError, list_names, show, with_nearest
from training.callbacks.trackers.base import Array, Source, StepReader
from training.run.engine import Engine
from training.run.options import require

_RULES = ("bin", "equals", "at_least")


def source_of(engine: Engine, given: Any, option: str) -> Source:
    """Make the source that an option describes.

    Parameters
    ----------
    engine : Engine
        That will be read.
    given : str, mapping or callable
    option : str
        Its name, for errors.

    Raises
    ------
    ConfigError
        If it is no source, or the engine has no such column or element.
    """
    if callable(given):
        made: Source = given
        return made
    if isinstance(given, str):
        return _check_column(engine, given, option)
    if isinstance(given, Mapping) and "obs" in given and given.keys() <= {"obs", "times"}:
        return _make_element(engine, given, option)
    if isinstance(given, Mapping) and set(given) == {"info", "sizes"}:
        return _combine(engine, given, option)
    rules = [rule for rule in _RULES if isinstance(given, Mapping) and rule in given]
    allowed = (
        "an info column, {obs: element, times: factor}, or {info: column} with one of "
        + ", ".join(_RULES)
    )
    right = len(rules) == 1 and set(given) == {"info", rules[0]}
    require(right, option, given, allowed)
    column = _check_column(engine, given["info"], f"{option}.info")
    return _make_rule(engine, column, rules[0], given[rules[0]], option)


def _check_column(engine: Engine, name: Any, option: str) -> str:
    """Check that a name is that of an info column with a number a lane, and return it."""
    if not isinstance(name, str) or name not in engine.info:
        there = list_names(engine.info)
        message = f"{option}={show(name)} is no info column: there are {there}."
        raise ConfigError(with_nearest(message, name, engine.info))
    if StepReader(engine, None)[name].ndim > 1:
        raise ConfigError(
            f"{option}={show(name)} is not possible: this info column is a table, it must be one "
            "with a single number."
        )
    return name


def _make_element(engine: Engine, given: Mapping[str, Any], option: str) -> Source:
    at, times = given["obs"], given.get("times", 1)
    shape = engine.obs_shape
    size = shape[0] if len(shape) == 1 else 0  # only vectors have elements
    inside = type(at) is int and 0 <= at < size
    allowed = f"an element of the observation, from 0 to {size - 1}"
    allowed = allowed if size else "left out: the observation is no vector"
    require(inside, f"{option}.obs", at, allowed)
    require(is_number(times), f"{option}.times", times, "a number")

    def element(seen: StepReader) -> Array:
        return np.rint(seen.obs(at) * times)

    return element


def _combine(engine: Engine, given: Mapping[str, Any], option: str) -> Source:
    """Combine columns, each from 0 to its size less 1, to one number; -1 where one is outside."""
    names, sizes = given["info"], given["sizes"]
    listed = isinstance(names, list | tuple) and len(names) > 0
    require(listed, f"{option}.info", names, "a list of info columns")
    whole = isinstance(sizes, list | tuple) and all(type(s) is int and s > 0 for s in sizes)
    require(whole and len(sizes) == len(names), f"{option}.sizes", sizes, "a size for each column")
    columns = [_check_column(engine, name, f"{option}.info") for name in names]

    def number(seen: StepReader) -> Array:
        combined = np.zeros(engine.num_envs, np.int64)
        inside = np.ones(engine.num_envs, np.bool_)
        for column, size in zip(columns, sizes, strict=True):
            value = seen[column].astype(np.int64)
            inside &= (value >= 0) & (value < size)
            combined = combined * size + value
        return np.where(inside, combined, -1)

    return number


def _make_rule(engine: Engine, column: str, rule: str, operand: Any, option: str) -> Source:
    other = None
    if rule == "equals" and isinstance(operand, str):
        other = _check_column(engine, operand, f"{option}.equals")
    elif rule == "bin":
        above = is_number(operand) and operand > 0
        require(above, f"{option}.bin", operand, "a number above 0")
    else:
        require(is_number(operand), f"{option}.{rule}", operand, "a number")

    def value(seen: StepReader) -> Array:
        if rule == "bin":
            return np.floor_divide(seen[column], operand)
        if rule == "at_least":
            return (seen[column] >= operand).astype(np.float64)
        return (seen[column] == (operand if other is None else seen[other])).astype(np.float64)

    return value


def is_number(value: Any) -> bool:
    """Tell whether an option is a number, and neither true nor false."""
    return isinstance(value, int | float) and not isinstance(value, bool)
