"""Named starting points for a run, which its game offers."""

from __future__ import annotations

from typing import Any

from fastenv.errors import ConfigError
from training.run import games
from training.run.values import shown


def preset(name: str) -> dict[str, Any]:
    """Return the values of a preset.

    Raises
    ------
    ConfigError
        For an unknown name.
    """
    presets = games.presets()
    if not isinstance(name, str) or name not in presets:
        raise ConfigError(f"preset={shown(name)}: there are {', '.join(presets)}.")
    return {**presets[name], "preset": name}
