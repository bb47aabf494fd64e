"""Named starting points for a run, which its game offers."""

from __future__ import annotations

from typing import Any

from fastenv.errors import ConfigError, show
from training.run import games, machine
from training.run.config_files import load_file, merge

CONFIGS = machine.ROOT / "training" / "configs"
# What a file says of learning; machine, checkpoints and evaluation are the user's own.
_LEARNING = (
    *("total_steps", "num_envs", "env_options", "schedules", "mask_schedule"),
    *("ppo", "native", "hier", "trackers", "without_core"),
)


def read_presets() -> dict[str, dict[str, Any]]:
    """Read the presets of all games, by name.

    Raises
    ------
    ConfigError
        If a file is none of presets.
    """
    paths = dict.fromkeys(game.presets for game in games.registered())
    return {n: v for path in paths if path is not None for n, v in load_file(path).items()}


def load_preset(name: str) -> dict[str, Any]:
    """Read the values of a preset.

    Raises
    ------
    ConfigError
        For an unknown name.
    """
    presets = read_presets()
    if not isinstance(name, str) or name not in presets:
        raise ConfigError(f"preset={show(name)}: there are {', '.join(presets)}.")
    return {**presets[name], "preset": name}


def find_best_options(env: str, trainer: str) -> tuple[str | None, dict[str, Any]]:
    """Find a file and its options for a run that names environment and trainer alone.

    It is the file in ``training/configs`` that the game names; None and nothing if it names none.
    """
    name = games.get_game(env).files.get(trainer)
    if name is None:
        return None, {}
    values = load_file(CONFIGS / name)
    if "preset" in values:
        values = merge(load_preset(values["preset"]), values)
    chosen = {option: values[option] for option in _LEARNING if option in values}
    return f"training/configs/{name}", chosen
