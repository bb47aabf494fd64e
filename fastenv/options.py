"""Options of a game: checks that return a value, or refuse it in one sentence.

The sentence names the option, what was given and what is allowed.
"""

from __future__ import annotations

import argparse
import ast
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from fastenv.errors import ConfigError, show, unknown_keyword, with_nearest


def refusal(name: str, value: object, allowed: str) -> ConfigError:
    """Return the error for a value that is not allowed."""
    return ConfigError(f"{name}={show(value)} is not possible: {name} must be {allowed}.")


def check_choice(name: str, value: object, allowed: Iterable[str]) -> int:
    """Return the index of a value in some allowed names."""
    names = list(allowed)
    if not isinstance(value, str) or value not in names:
        message = str(refusal(name, value, "one of " + ", ".join(map(repr, names))))
        raise ConfigError(with_nearest(message, value, names))
    return names.index(value)


def check_integer(name: str, value: object, low: int, high: int, more: str = "") -> int:
    """Return an integer from ``low`` to ``high``; ``more`` ends the sentence of the error."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        number = int(value)
        if low <= number <= high:
            return number
    raise refusal(name, value, f"an integer from {low} to {high}{more}")


def check_number(name: str, value: object, low: float = -math.inf, high: float = math.inf) -> float:
    """Return a finite number from ``low`` to ``high``."""
    number = as_float(value)
    if math.isfinite(number) and low <= number <= high:
        return number
    bounds = "" if math.isinf(high) else f" from {low} to {high}"
    raise refusal(name, value, f"a finite number{bounds}")


def as_float(value: object) -> float:
    """Return a number as a float: infinite if no float can hold it, NaN if it is no number."""
    if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def check_boolean(name: str, value: object) -> bool:
    """Return True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise refusal(name, value, "True or False")
    return bool(value)


def check_path(name: str, value: object) -> None:
    """Refuse what is neither the path of a file nor a name."""
    if not isinstance(value, (str, Path)) or not str(value) or "\0" in str(value):
        raise refusal(name, value, "the path of a file, or a name of ours")


def check_known(
    options: Mapping[str, Any], owner: str, known: Iterable[str], fixed: Iterable[str] = ()
) -> None:
    """Raise :class:`fastenv.UnknownOptionError` for the first keyword that names no option.

    Parameters
    ----------
    options : mapping of str to object
        Keywords that were given.
    owner : str
        Whose options there are, for the message.
    known : iterable of str
        Names of the options.
    fixed : iterable of str
        Those that ids fix: the message leaves them out.
    """
    names, fixed = list(known), set(fixed)
    for name in options:
        if name not in names:
            raise unknown_keyword(name, owner, [each for each in names if each not in fixed])


@dataclass(frozen=True)
class GameConfig:
    """Base class of the options of all games, which are frozen dataclasses."""

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed, validated again."""
        return replace(self, **changes)


def parse_option(text: str) -> tuple[str, Any]:
    """Return name and value of NAME=VALUE on a command line: a Python literal or a word."""
    name, equals, value = text.partition("=")
    if not (name.isidentifier() and equals):
        allowed = "NAME=VALUE, a name of letters, digits and '_', such as level=5"
        raise argparse.ArgumentTypeError(f"{show(text)}: must be {allowed}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return name, value
