"""Options as people write them: YAML or JSON files, ``section.option=value``, layers of both.

Plain values are mappings with text keys, lists, texts, integers, finite numbers, true, false and
null, as in JSON. The rest of YAML (tags, aliases, sets, binary) is refused with its line; dates are
the texts that they look like.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastenv.errors import ConfigError, FileError, show
from fastenv.files import read_regular
from training.run import plain_yaml


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
        text = read_regular(path, plain_yaml.MAX_BYTES).decode()
    except (FileError, UnicodeDecodeError) as error:
        reason = error if isinstance(error, FileError) else f"{where} is not UTF-8 text."
        raise ConfigError(str(reason)) from error
    values = plain_yaml.parse_yaml(text, where)
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
        if not equals or not all(parts) or len(parts) > plain_yaml.MAX_DEPTH:
            raise ConfigError(f"{where}: must be option=value, such as ppo.n_steps=64.")
        inner = plain_yaml.parse_yaml(value, where)
        for part in reversed(parts):
            inner = {part: inner}
        nested = merge(nested, inner)
    return nested
