"""Named starting points for a run, which its game offers."""

from __future__ import annotations

from typing import Any

from fastenv.errors import ConfigError
from training.run import games


def preset(name: str) -> dict[str, Any]:
    """Return the values of a preset.

    Raises
    ------
    ConfigError
        For an unknown name.
    """
    presets = games.presets()
    if name not in presets:
        raise ConfigError(f"preset={name!r}: there are {', '.join(presets)}.")
    return {**presets[name], "preset": name}
