"""Values that environments return: kept, compared, overwritten and written as Python text."""

from __future__ import annotations

import copy
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

MOST_SHOWN = 400  # characters of a value in a report

_UNCHANGING = {bool, int, float, str, bytes, type(None), np.float32, np.float64, np.int64, np.bool_}
_PLAIN = _UNCHANGING | {list, tuple, dict}

_short = reprlib.Repr()
_short.maxother = _short.maxstring = MOST_SHOWN
_short.maxlist = _short.maxdict = _short.maxtuple = 12


@dataclass(frozen=True)
class Uncopied:
    """Stands for a value that cannot be copied: only its type is known later."""

    type: type


def keep(value: Any) -> Any:
    """Copy a value, so that nothing that happens to the original changes it."""
    if type(value) in _UNCHANGING:
        return value
    # Plain values are most of them, and of those deepcopy takes several times as long.
    if type(value) is np.ndarray and not value.dtype.hasobject:
        return value.copy()
    if type(value) is dict:
        return {key: keep(each) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(keep, value))
    try:
        return copy.deepcopy(value)
    except Exception:
        return Uncopied(type(value))


def _is_same(a: Any, b: Any) -> bool:
    """Return whether two values are equal at first sight: same type, same bits."""
    if type(a) is not type(b):
        return False
    if type(a) is np.ndarray:
        same_form = a.dtype == b.dtype and a.shape == b.shape and not a.dtype.hasobject
        return bool(same_form and a.tobytes() == b.tobytes())
    try:
        return type(a) in _PLAIN and bool(a == b)
    except ValueError:  # arrays inside
        return False


def is_named(field: str, names: Iterable[str]) -> bool:
    """Return whether a field is one of these, or a part of one: ``info.a`` of ``info``."""
    return any(f"{field}:".startswith(tuple(name + end for end in ".[:")) for name in names)


def leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the arrays and numbers inside a value, each with its path."""
    if isinstance(value, Mapping):
        for key in value:
            yield from leaves(f"{name}[{key!r}]", value[key])
    elif isinstance(value, (list, tuple)):
        for place, each in enumerate(value):
            yield from leaves(f"{name}[{place}]", each)
    elif isinstance(value, np.ndarray) and value.dtype == object:
        for index in np.ndindex(value.shape):
            yield from leaves(f"{name}{list(index)}", value[index])
    else:
        yield name, value


def first_difference(name: str, a: Any, b: Any, rtol: float = 0.0) -> tuple[str, Any, Any] | None:
    """Return path and both values of the first difference, or None.

    Parameters
    ----------
    name : str
        Path of the values.
    a, b : object
        Nested mappings, sequences, arrays and numbers. Two NaN are equal. The dtype of numbers does
        not matter: of two widths of floating-point numbers the narrower counts. Of an object that
        is not equal to its own copy only the type is compared.
    rtol : float
        Tolerance of floating-point numbers, relative and absolute as in :func:`numpy.isclose`.
    """
    if _is_same(a, b):
        return None
    ours, theirs = dict(leaves(name, a)), dict(leaves(name, b))
    if ours.keys() != theirs.keys():  # a list of the numbers of an array has other paths
        ours, theirs = dict(leaves(name, _as_lists(a))), dict(leaves(name, _as_lists(b)))
    for path in ours | theirs:
        if path not in ours or path not in theirs:
            return path, ours.get(path, "nothing"), theirs.get(path, "nothing")
        found = _leaf_difference(path, ours[path], theirs[path], rtol)
        if found is not None:
            return found
    return None


def _as_lists(value: Any) -> Any:
    """Return a value with lists in the places of its arrays."""
    if isinstance(value, Mapping):
        return {key: _as_lists(each) for key, each in value.items()}
    is_array = isinstance(value, np.ndarray) and value.ndim > 0
    return [*map(_as_lists, value)] if is_array or isinstance(value, (list, tuple)) else value


def _is_equal_object(a: Any, b: Any) -> bool:
    """Return whether two objects are equal, as far as their class can tell."""
    kinds = {each.type if isinstance(each, Uncopied) else type(each) for each in (a, b)}
    if Uncopied in (type(a), type(b)):
        return len(kinds) == 1
    try:
        if len(kinds) > 1 or bool(np.all(a == b)):
            return bool(np.all(a == b))
        return repr(a) == repr(b) or not np.all(copy.deepcopy(a) == a)
    except Exception:  # it cannot be compared, or not be copied
        return len(kinds) == 1


def _leaf_difference(name: str, a: Any, b: Any, rtol: float) -> tuple[str, Any, Any] | None:
    x, y = np.asarray(a), np.asarray(b)
    if x.dtype.kind not in "biufc" or y.dtype.kind not in "biufc":
        return None if _is_equal_object(a, b) else (name, a, b)
    if x.shape != y.shape:
        return f"{name}: shape", x.shape, y.shape
    if x.dtype.kind == y.dtype.kind == "f" and x.dtype != y.dtype:
        narrow = min(x.dtype, y.dtype, key=lambda dtype: dtype.itemsize)
        with np.errstate(over="ignore"):
            x, y = x.astype(narrow), y.astype(narrow)
    far = np.asarray((x != y) & ((x == x) | (y == y)))
    if rtol and "f" in x.dtype.kind + y.dtype.kind:
        far &= ~np.isclose(x, y, rtol, rtol)
    if not far.any():
        return None
    if x.ndim == 0:
        return name, x.item(), y.item()
    place = np.unravel_index(int(np.argmax(far)), far.shape)
    return f"{name}[{', '.join(map(str, place))}]", x[place].item(), y[place].item()


def of_lane(batch: Any, lane: int) -> Any:
    """Return the part of a batch of observations that belongs to a lane."""
    if isinstance(batch, Mapping):
        return {key: of_lane(each, lane) for key, each in batch.items()}
    if isinstance(batch, tuple) and batch and isinstance(batch[0], (np.ndarray, tuple, dict)):
        return tuple(of_lane(each, lane) for each in batch)
    return batch[lane]


def overwrite(value: Any) -> None:
    """Write other numbers into every array that a value is made of."""
    for _, leaf in leaves("", value):
        if isinstance(leaf, np.ndarray) and leaf.flags.writeable and leaf.dtype.kind in "biuf":
            leaf[...] = ~leaf if leaf.dtype.kind in "bu" else leaf * 3 + 7


def parts_of(space: spaces.Space[Any]) -> list[tuple[int, int]]:
    """Return of each part of a discrete space how many choices it has, and the first number."""
    if isinstance(space, spaces.Discrete):
        return [(int(space.n), int(space.start))]
    if isinstance(space, spaces.MultiDiscrete):
        pairs = zip(space.nvec.ravel().tolist(), space.start.ravel().tolist(), strict=True)
        return [*pairs]
    return []


def to_action(space: spaces.Space[Any], plain: Any) -> Any:
    """Return the action of a space that plain numbers stand for."""
    if isinstance(space, spaces.Discrete):
        return int(plain)
    if isinstance(space, spaces.Dict):
        return {key: to_action(each, plain[key]) for key, each in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        pairs = zip(space.spaces, plain, strict=True)
        return tuple(to_action(each, value) for each, value in pairs)
    return np.asarray(plain, space.dtype)


def show(value: Any) -> str:
    """Return a value as short text."""
    return _short.repr(value.tolist() if isinstance(value, np.generic) else value)


def say_error(error: BaseException) -> str:
    """Return an error as short text of one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:MOST_SHOWN]
