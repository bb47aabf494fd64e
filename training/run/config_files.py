"""Options as people write them: YAML or JSON files, ``section.option=value``, layers of both.

Plain values are mappings with text keys, lists, texts, integers, finite numbers, true, false and
null, as in JSON. The rest of YAML (tags, aliases, sets, binary) is refused with its line; dates are
the texts that they look like.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import yaml

from fastenv.errors import ConfigError, FileError, show
from fastenv.files import read_regular

MAX_BYTES = 256 * 1024  # of a file; the configs that come along have 2 KiB
MAX_DEPTH = 32  # levels of nesting
MAX_DIGITS = 64  # characters of a number
MAX_INTEGER = 2**63 - 1
_KINDS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null")}


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge ``over`` into a copy of ``base``: sections are merged, other values replaced."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping) and key != "schedules":
            value = merge(old, value)
        merged[key] = value
    return merged


def load_file(path: str | Path) -> dict[str, Any]:
    """Read a YAML or JSON file (JSON is YAML) that holds one mapping.

    Raises
    ------
    ConfigError
        If it cannot be read, or is something else.
    """
    where = f"config file {path}"
    try:
        text = read_regular(path, MAX_BYTES).decode()
    except (FileError, UnicodeDecodeError) as error:
        reason = error if isinstance(error, FileError) else f"{where} is not UTF-8 text."
        raise ConfigError(str(reason)) from error
    values = parse_yaml(text, where)
    if not isinstance(values, dict):
        raise ConfigError(f"{where} must hold a mapping of options to values.")
    return values


def parse_assignments(assignments: Sequence[str]) -> dict[str, Any]:
    """Turn ``section.option=value`` texts into nested values; values are read as YAML.

    Raises
    ------
    ConfigError
        For a text without ``=``, or a value that is no plain YAML.
    """
    nested: dict[str, Any] = {}
    for text in assignments:
        path, equals, value = text.partition("=")
        where, parts = f"--set {show(text)}", path.split(".")
        if not equals or not all(parts) or len(parts) > MAX_DEPTH:
            raise ConfigError(f"{where}: must be option=value, such as ppo.n_steps=64.")
        inner = parse_yaml(value, where)
        for part in reversed(parts):
            inner = {part: inner}
        nested = merge(nested, inner)
    return nested


# -- YAML ------------------------------------------------------------------------------------------


def parse_yaml(text: str, where: str) -> Any:
    """Parse a YAML text into a plain value; JSON is YAML.

    Parameters
    ----------
    text : str
    where : str
        What stands before the reason in errors, such as ``config file a.yaml``.

    Raises
    ------
    ConfigError
        If it is no YAML, or more than plain values; says in which line.
    """
    if len(text) > MAX_BYTES:
        raise ConfigError(f"{where} cannot be read: it is longer than {MAX_BYTES // 1024} KiB.")
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise ConfigError(f"{where} cannot be read: {_describe_error(error)}.") from error


def _describe_error(error: Exception) -> str:
    """Describe in a few words why a text cannot be read, without its name."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        line = f"line {error.problem_mark.line + 1}"
        no_yaml = "" if isinstance(error, _NotPlainError) else "is no YAML, "
        return f"{line} {no_yaml}{error.problem}"
    if isinstance(error, yaml.reader.ReaderError):
        return f"the character at position {error.position} is not allowed in YAML"
    return f"it is no YAML, {' '.join(str(error).split())}"


class _NotPlainError(yaml.MarkedYAMLError):
    """It is YAML, but not one of the plain values."""


def _allow(ok: bool, place: Any, problem: str) -> None:
    if not ok:
        raise _NotPlainError(problem=problem, problem_mark=place.start_mark)


class _Loader(yaml.SafeLoader):
    """Refuses what is not plain before it is built, and before it is nested dangerously deep."""

    # Without dates, "<<" and "=".
    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        first: [(kind, pattern) for kind, pattern in resolvers if kind in _KINDS]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        _allow(not isinstance(event, yaml.AliasEvent), event, "has an alias (*): write it out")
        _allow(event.tag is None, event, f"has the tag {event.tag}: only plain values are allowed")
        _allow(self._depth < MAX_DEPTH, event, f"is nested more than {MAX_DEPTH} levels deep")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            text = key.tag == "tag:yaml.org,2002:str"
            _allow(text, key, "has a key that is no text: put it in quotes")
            _allow(key.value not in seen, key, f"has {key.value!r} a second time")
            seen.add(key.value)
        return dict(super().construct_mapping(node, deep))

    def construct_yaml_int(self, node: Any) -> int:
        short = len(node.value) <= MAX_DIGITS
        value = super().construct_yaml_int(node) if short else math.inf
        possible = abs(value) <= MAX_INTEGER
        _allow(possible, node, "has an integer beyond 64 bits: from -2**63 + 1 to 2**63 - 1")
        return int(value)

    def construct_yaml_float(self, node: Any) -> float:
        short = len(node.value) <= MAX_DIGITS
        value = super().construct_yaml_float(node) if short else math.inf
        _allow(math.isfinite(value), node, "has a number that is not finite")
        return value


for _kind in ("int", "float"):
    _construct = getattr(_Loader, f"construct_yaml_{_kind}")
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _construct)
