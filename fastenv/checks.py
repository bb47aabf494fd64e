"""Checks of what an engine is given from outside, before anything moves."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastenv.errors import ConfigError, StateError
from fastenv.game import NOTHING, Game

MAX_THREADS = 256  # more cost more than they bring on any machine, and their stacks take memory


def count(field: str, value: object) -> int:
    """Return a number of at least 1, or raise :class:`ConfigError`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ConfigError(f"{field}={value!r}: must be an integer of at least 1")
    return int(value)


def default_threads(num_envs: int) -> int:
    """Return what the environment variable asks for, at most one thread a lane."""
    text = os.environ.get("FASTENV_NUM_THREADS", "1")
    digits = text.lstrip("0")
    if not (text.isdecimal() and text.isascii() and 1 <= int(digits[:9] or 0) <= MAX_THREADS):
        raise ConfigError(
            f"FASTENV_NUM_THREADS={text!r}: must be an integer from 1 to {MAX_THREADS}"
        )
    return min(int(digits), num_envs)


def threads(num_threads: object, num_envs: int) -> int:
    """Return how many threads to use, None being the default, or raise :class:`ConfigError`."""
    if num_threads is None:
        return default_threads(num_envs)
    most = min(num_envs, MAX_THREADS)
    if count("num_threads", num_threads) > most:
        raise ConfigError(
            f"num_threads={num_threads!r}: must be at most {most}, the smaller of the number of "
            f"lanes and {MAX_THREADS}"
        )
    return int(num_threads)  # type: ignore[call-overload, no-any-return]


def columns(game: Game, wanted: Sequence[str] | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the wanted columns of the state and of the step, or raise :class:`ConfigError`."""
    spec = game.spec
    known = (*spec.info_columns, *spec.term_columns)
    if wanted is None:
        wanted = known if spec.default_info is None else spec.default_info
    is_names = isinstance(wanted, Sequence) and all(isinstance(name, str) for name in wanted)
    if isinstance(wanted, str) or not is_names:
        raise ConfigError(f"info_columns={wanted!r}: must be a sequence of names")
    for name in wanted:
        if name not in known:
            raise ConfigError(f"info_columns: {name!r} must be one of {', '.join(known)}")
        if list(wanted).count(name) > 1:
            raise ConfigError(f"info_columns: {name!r} is named twice")
    terms = tuple(name for name in wanted if name in spec.term_columns)
    return tuple(name for name in wanted if name in spec.info_columns), terms


def only(dtype: np.dtype[Any], names: tuple[str, ...]) -> np.dtype[Any]:
    """Return the aligned dtype of some fields of a record, in this order."""
    if names == (dtype.names or ()):
        return dtype
    return np.dtype([(name, dtype[name]) for name in names], align=True) if names else NOTHING


def where(lane: Any, agent: Any = None) -> str:
    """Say of whom an error speaks."""
    return f"lane {lane}" if agent is None else f"lane {lane}, agent {agent}"


def check_array(name: str, array: object, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse anything but an array of this shape and dtype."""
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{name} must be a NumPy array, got {type(array).__name__}")
    if array.dtype != dtype and dtype.names is not None:
        given = array.dtype.fields or {}
        for field, part in (dtype.fields or {}).items():
            if field not in given:
                raise ValueError(f"{name} has no field {field!r}, must have the dtype {dtype}")
            if given[field][:2] != part[:2]:
                raise ValueError(
                    f"{name}: field {field!r} must be {part[0]} at byte {part[1]}, "
                    f"got {given[field][0]} at byte {given[field][1]}"
                )
    if array.shape != shape or array.dtype != dtype:
        raise ValueError(
            f"{name} must be {dtype} of shape {shape}, got {array.dtype} of shape {array.shape}"
        )


def check_out(name: str, array: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse a destination that cannot be written as it stands."""
    check_array(name, array, shape, dtype)
    if not array.flags.c_contiguous:
        raise ValueError(f"{name} must be C-contiguous")
    if not array.flags.writeable:
        raise ValueError(f"{name} is read-only")


def generators(name: str, words: np.ndarray[Any, Any]) -> None:
    """Refuse states of xoshiro256**, shape (n, 4), that never leave zero: draws would not end."""
    stuck = ~words.any(axis=1)
    if stuck.any():
        lane = int(stuck.argmax())
        raise StateError(f"lane {lane}: {name} is all zeros: a generator of zeros is stuck")
