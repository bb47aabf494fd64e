"""From plain values, as files and command lines hold them, to checked options; and to one text."""

from __future__ import annotations

import dataclasses
import json
import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, Union, get_args, get_origin, get_type_hints

from fastenv.errors import ConfigError

Schedule = tuple[tuple[int, Any], ...]
MAX_SHOWN = 200  # characters of a value in an error
MAX_DEPTH = 64  # levels of nesting; a section, and what plain YAML may hold


def require(ok: bool, name: str, value: object, allowed: str) -> None:
    """Refuse ``value`` of the option ``name`` unless ``ok``."""
    if not ok:
        raise ConfigError(f"{name}={shown(value)} is not possible: {name} must be {allowed}.")


def shown(value: object) -> str:
    """Return ``repr(value)`` for an error, cut where it is too long to be read."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, very deep nesting
        return f"<{type(value).__name__} that is too large to show>"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def canonical_json(value: object) -> str:
    """Return JSON that is the same text for equal values: keys sorted, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def build(cls: type, values: Mapping[str, Any], where: str) -> Any:
    """Return a dataclass from plain values, checked like all options.

    Parameters
    ----------
    cls : type
    values : mapping
    where : str
        What stands before the names of its options in errors, such as ``ppo.``.

    Raises
    ------
    ConfigError
        For an unknown option, or a value of the wrong type or out of range; names it.
    """
    options = [f for f in fields(cls) if f.init]
    known = [f.name for f in options]
    for name in values:
        if name not in known:
            raise ConfigError(
                f"{shown(where + str(name))} is not an option; options: {', '.join(sorted(known))}."
            )
    for f in options:
        optional = f.default is not MISSING or f.default_factory is not MISSING
        require(optional or f.name in values, where + f.name, None, "given")
    hints = get_type_hints(cls)
    return cls(**{n: _convert(hints[n], v, where + n) for n, v in values.items()})


def _convert(kind: Any, value: Any, name: str) -> Any:
    """Return ``value`` as the annotated type, or refuse it by name."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in get_args(kind):
            return None
        return _convert(get_args(kind)[0], value, name)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        require(isinstance(value, Mapping), name, value, "a mapping of options to values")
        return build(kind, value, name + ".")
    if kind == Mapping[str, Schedule]:
        return _schedules(value, name)
    if origin is tuple:
        listed = isinstance(value, Sequence) and not isinstance(value, str)
        require(listed, name, value, "a list")
        return tuple(_convert(get_args(kind)[0], item, name) for item in value)
    if origin is not None:
        require(isinstance(value, Mapping), name, value, "a mapping")
        _require_plain(value, name)
        return dict(value)
    return _scalar(kind, value, name)


def _require_plain(value: Any, name: str, depth: int = 0) -> None:
    """Refuse what JSON cannot hold, such as a date or NaN, in an option of any values."""
    require(depth < MAX_DEPTH, name, value, f"nested at most {MAX_DEPTH} levels deep")
    if isinstance(value, Mapping):
        require(all(isinstance(key, str) for key in value), name, value, "a mapping of texts")
        value = value.values()
    elif not isinstance(value, list | tuple):
        known = value is None or isinstance(value, bool | int | float | str)
        finite = not isinstance(value, float) or math.isfinite(value)
        allowed = "texts, finite numbers, true, false, null, lists and mappings of them"
        require(known and finite, name, value, allowed)
        return
    for item in value:
        _require_plain(item, name, depth + 1)


def _scalar(kind: type, value: Any, name: str) -> Any:
    if kind is float and isinstance(value, str):  # YAML reads 3e-4 as a text
        try:
            value = float(value)
        except ValueError:
            require(False, name, value, "a number")
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        require(abs(value) < 2**1023, name, value, "a finite number")
        value = float(value)
    if kind is str and value is False:  # YAML reads off as false
        value = "off"
    names = {bool: "true or false", int: "an integer", float: "a finite number", str: "a text"}
    right = isinstance(value, kind) and not (kind is int and isinstance(value, bool))
    if kind is float and right:
        right = value == value and abs(value) != float("inf")
    require(right, name, value, names[kind])
    return value


def _schedules(value: Any, name: str) -> dict[str, Schedule]:
    require(isinstance(value, Mapping), name, value, "a mapping of knobs to [step, value] pairs")
    result = {}
    for knob, pairs in value.items():
        listed = isinstance(pairs, Sequence) and not isinstance(pairs, str)
        shaped = listed and all(
            isinstance(p, Sequence) and len(p) == 2 and type(p[0]) is int for p in pairs
        )
        require(shaped, f"{name}.{knob}", pairs, "[step, value] pairs, rising from step 0")
        _require_plain(pairs, f"{name}.{knob}")
        result[knob] = tuple((step, item) for step, item in pairs)
    return result
