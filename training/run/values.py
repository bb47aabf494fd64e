"""From plain values, as files and command lines hold them, to checked options; and to one text."""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import re
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from decimal import Decimal
from typing import Any, Union, get_args, get_origin, get_type_hints

from fastenv.errors import ConfigError, UnknownOptionError, show

TEXT = "a text of characters that UTF-8 has"
Schedule = tuple[tuple[int, Any], ...]
MAX_NAME = 100  # characters of an option in a message; a stranger may have given any
MAX_LISTED = 35  # options in a message; of more, the few that are most like the one given
MOST_ALIKE = 20
MAX_WRITTEN = 200  # characters of a number
_DIGITS = r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d[\d_]*)(?:\.\d+)?"
_NUMBER = re.compile(rf"({_DIGITS})(?:e\+?(\d{{1,2}})| ?([kmgb]))?", re.ASCII | re.IGNORECASE)
_ZEROS = {"k": 3, "m": 6, "g": 9, "b": 9}
MAX_DEPTH = 40  # levels of nesting; a section, and what plain YAML may hold


def require(ok: bool, name: str, value: object, allowed: str) -> None:
    """Refuse ``value`` of the option ``name`` unless ``ok``."""
    if not ok:
        name = name if len(name) <= MAX_NAME and name.isprintable() else show(name)
        raise ConfigError(f"{name}={shown(value)} is not possible: {name} must be {allowed}.")


def shown(value: object) -> str:
    """Return ``repr(value)`` for an error, cut where it is too long to be read."""
    return show(value)


def listed(name: object, known: Iterable[str]) -> str:
    """Return the names of options for an error: of too many to be read, those most like ``name``.

    Parameters
    ----------
    name : object
        Given, and none of them.
    known : iterable of str
    """
    names = sorted(known)
    if len(names) <= MAX_LISTED:
        return ", ".join(names)
    alike = difflib.get_close_matches(str(name)[:MAX_NAME].lower(), names, MOST_ALIKE, cutoff=0.0)
    return f"{', '.join(alike)} and {len(names) - MOST_ALIKE} more"


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
    require(isinstance(values, Mapping), where.rstrip(".") or "config", values, "a mapping")
    options = [f for f in fields(cls) if f.init]
    known = [f.name for f in options]
    for name in values:
        if name not in known:
            raise UnknownOptionError(
                f"{shown(f'{where}{name}')} is not an option; options: {listed(name, known)}."
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
        known = all(isinstance(key, str) and is_text(key) for key in value)
        require(known, name, value, "a mapping of texts")
        value = value.values()
    elif not isinstance(value, list | tuple):
        known = value is None or isinstance(value, bool | int | float | str)
        finite = abs(value) < 2**63 if type(value) is int else True
        finite &= not isinstance(value, float) or math.isfinite(value)
        allowed = "texts, finite numbers of 64 bits, true, false, null, lists and mappings of them"
        require(known and finite, name, value, allowed)
        require(not isinstance(value, str) or is_text(value), name, value, TEXT)
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
    if kind is int:
        value = whole_number(value)
    if kind is str and value is False:  # YAML reads off as false
        value = "off"
    names = {
        bool: "true or false",
        int: "an integer of 64 bits",
        float: "a finite number",
        str: "a text",
    }
    right = isinstance(value, kind) and not (kind is int and isinstance(value, bool))
    if kind is int and right:
        right = abs(value) < 2**63
    if kind is float and right:
        right = value == value and abs(value) != float("inf")
    require(right, name, value, names[kind])
    require(not isinstance(value, str) or is_text(value), name, value, TEXT)
    return value


def whole_number(value: Any) -> Any:
    """Return the integer that people write as ``1e6``, ``2M``, ``2_000_000`` or ``2,000,000``.

    What is no such text or number, or no integer below 2**63, is returned as it is.
    """
    if not isinstance(value, str | float):
        return value
    text = value.strip() if isinstance(value, str) else repr(value)
    found = _NUMBER.fullmatch(text) if len(text) <= MAX_WRITTEN else None
    if found is None:
        return value
    digits, exponent, suffix = found.groups()
    zeros = _ZEROS[suffix.lower()] if suffix else int(exponent or 0)
    number = Decimal(digits.replace(",", "").replace("_", "")).scaleb(zeros)
    whole = number == number.to_integral_value() and abs(number) < 2**63
    return int(number) if whole else value


def is_text(value: str) -> bool:
    """Tell whether a text has no half of a pair of surrogates, which no file can hold."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _schedules(value: Any, name: str) -> dict[str, Schedule]:
    require(isinstance(value, Mapping), name, value, "a mapping of knobs to [step, value] pairs")
    result = {}
    for knob, pairs in value.items():
        listed = isinstance(pairs, Sequence) and not isinstance(pairs, str)
        shaped = listed and all(
            isinstance(p, Sequence) and len(p) == 2 and type(whole_number(p[0])) is int
            for p in pairs
        )
        require(shaped, f"{name}.{knob}", pairs, "[step, value] pairs, rising from step 0")
        _require_plain(pairs, f"{name}.{knob}")
        result[knob] = tuple((whole_number(step), item) for step, item in pairs)
    return result
