"""From plain values, as files and command lines hold them, to checked options; and to one text."""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, Union, get_args, get_origin, get_type_hints

from fastenv.errors import ConfigError

Schedule = tuple[tuple[int, Any], ...]


def require(ok: bool, name: str, value: object, allowed: str) -> None:
    """Refuse ``value`` of the option ``name`` unless ``ok``."""
    if not ok:
        raise ConfigError(f"{name}={value!r} is not possible: {name} must be {allowed}.")


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
                f"{where + str(name)!r} is not an option; options: {', '.join(sorted(known))}."
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
    if dataclasses.is_dataclass(kind):
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
        return dict(value)
    return _scalar(kind, value, name)


def _scalar(kind: type, value: Any, name: str) -> Any:
    if kind is float and isinstance(value, str):  # YAML reads 3e-4 as a text
        try:
            value = float(value)
        except ValueError:
            require(False, name, value, "a number")
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if kind is str and value is False:  # YAML reads off as false
        value = "off"
    names = {bool: "true or false", int: "an integer", float: "a number", str: "a text"}
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
        result[knob] = tuple((step, item) for step, item in pairs)
    return result
