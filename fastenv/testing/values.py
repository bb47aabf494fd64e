"""Values that environments return: kept, compared, overwritten and written as Python text."""

from __future__ import annotations

import copy
import reprlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

MOST_SHOWN = 400  # characters of a value in a report

_UNCHANGING = {bool, int, float, str, bytes, type(None), np.float32, np.float64, np.int64, np.bool_}

_short = reprlib.Repr()
_short.maxother = _short.maxstring = MOST_SHOWN
_short.maxlist = _short.maxdict = _short.maxtuple = 12


def keep(value: Any) -> Any:
    """Copy a value, so that nothing that happens to the original changes it."""
    if type(value) in _UNCHANGING or isinstance(value, np.generic):
        return value
    if isinstance(value, np.ndarray) and value.dtype != object:
        return np.array(value)
    if isinstance(value, Mapping):
        return {key: keep(each) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(keep(each) for each in value)
    try:
        return copy.deepcopy(value)
    except Exception:  # what cannot be copied is compared by its text
        return repr(value)


def is_same(a: Any, b: Any) -> bool:
    """Return whether two kept values are equal at first sight: same type, same bits."""
    if type(a) is not type(b):
        return False
    if type(a) is np.ndarray:
        return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
    if type(a) in _UNCHANGING:
        return bool(a == b)
    try:
        return type(a) in (list, tuple, dict) and bool(a == b)
    except ValueError:  # arrays inside
        return False


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
        Nested mappings, sequences, arrays and numbers. Two NaN are equal; the dtype of numbers does
        not matter.
    rtol : float
        Relative tolerance of floating-point numbers; of numbers below 1, absolute.
    """
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        if a.keys() != b.keys():
            return f"{name}: keys", sorted(map(str, a)), sorted(map(str, b))
        pairs = [(f"{name}[{key!r}]", a[key], b[key]) for key in a]
    elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if len(a) != len(b):
            return f"{name}: length", len(a), len(b)
        pairs = [(f"{name}[{k}]", x, y) for k, (x, y) in enumerate(zip(a, b, strict=True))]
    else:
        return _leaf_difference(name, a, b, rtol)
    for path, x, y in pairs:
        found = first_difference(path, x, y, rtol)
        if found is not None:
            return found
    return None


def _leaf_difference(name: str, a: Any, b: Any, rtol: float) -> tuple[str, Any, Any] | None:
    if is_same(a, b):
        return None
    try:
        x, y = np.asarray(a), np.asarray(b)
    except (ValueError, TypeError):
        return None if repr(a) == repr(b) else (name, a, b)
    if x.shape != y.shape:
        return f"{name}: shape", x.shape, y.shape
    if x.dtype.kind not in "biufc" or y.dtype.kind not in "biufc":
        same = type(a) is type(b) and (repr(a) == repr(b) or bool(np.all(x == y)))
        return None if same else (name, a, b)
    if x.dtype.kind in "fc" or y.dtype.kind in "fc":
        far = ~((x == y) | ((x != x) & (y != y)))
        if rtol and far.any():
            scale = np.maximum(np.maximum(np.abs(x), np.abs(y)), 1.0)
            with np.errstate(invalid="ignore"):
                far &= ~(np.abs(x.astype(np.float64) - y) <= rtol * scale)
    else:
        far = x != y
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
    if isinstance(value, np.ndarray):
        if not value.flags.writeable:
            return
        if value.dtype == object:
            for each in value.flat:
                overwrite(each)
        elif value.dtype.names is None and value.dtype.kind in "biuf":
            value[...] = ~value if value.dtype.kind in "bu" else value * 3 + 7
    elif isinstance(value, Mapping):
        for each in value.values():
            overwrite(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            overwrite(each)


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
