"""Goal templates: a picture to be reached, and how it was captured (docs/gameboy.md, 19)."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.errors import ConfigError, FileError, show
from fastenv.files import read_json, read_npy
from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.config import MAX_COUNT, MAX_STACK, GameBoyConfig
from fastenv.gameboy.frames import BLACK, FrameFormat
from fastenv.gameboy.shipped import shipped
from fastenv.gameboy.tables import HEIGHT, WIDTH

OURS = ("lantern_walk",)
SCHEMA_VERSION, PIPELINE_VERSION = 1, 1
SHADE_LEVELS, METRIC = BLACK + 1, "l1_mean"
_LARGEST_JSON = 1 << 14  # bytes


@dataclass(frozen=True)
class GoalTemplate:
    """A goal.

    Parameters
    ----------
    shades : ndarray of uint8, shape (H, W) or (K, H, W)
        Compared with the newest frame of an observation, or with all of them.
    rom_sha256, state_sha256, actions_sha256 : str
        Of the ROM, of the row from which it was captured, and of the actions that led to it.
    action_codec : str
    frames_per_step, release_after_frames : int
    height, width : int
    stack_k : int
        K, or 1 for a single frame.
    tau : float
        Distance below which a step is at the goal.
    k_consecutive : int
        How many such steps in a row reach it.
    """

    shades: npt.NDArray[np.uint8]
    rom_sha256: str
    state_sha256: str
    actions_sha256: str
    action_codec: str
    frames_per_step: int
    release_after_frames: int
    height: int
    width: int
    stack_k: int
    tau: float
    k_consecutive: int
    schema_version: int = SCHEMA_VERSION
    shade_levels: int = SHADE_LEVELS
    dist_metric: str = METRIC
    pipeline_version: int = PIPELINE_VERSION

    def packed(self) -> bytes:
        """Return the frames, packed."""
        pixels = self.shades.reshape(-1, 4) << np.array([0, 2, 4, 6], np.uint8)
        return bytes(pixels.sum(axis=1, dtype=np.uint8))


# Field of a template -> its type, for those that a file has.
_TYPES: dict[str, type] = {
    "schema_version": int, "rom_sha256": str, "state_sha256": str, "actions_sha256": str,
    "action_codec": str, "frames_per_step": int, "release_after_frames": int, "height": int,
    "width": int, "stack_k": int, "shade_levels": int, "dist_metric": str, "tau": float,
    "k_consecutive": int, "pipeline_version": int,
}  # fmt: skip


def save_goal(folder: str | Path, goal: GoalTemplate) -> None:
    """Write a template to a folder, as ``goal.npy`` and ``goal.json``.

    Raises
    ------
    ConfigError
        If :func:`load_goal` takes the name of the folder for that of a template of ours.
    """
    check_folder(folder)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    np.save(place / "goal.npy", goal.shades, allow_pickle=False)
    values = asdict(goal)
    text = json.dumps({name: values[name] for name in _TYPES}, indent=1)
    (place / "goal.json").write_text(text + "\n", encoding="utf-8")


def check_folder(folder: str | Path) -> None:
    """Refuse a folder whose name means a template of ours; see :func:`save_goal`."""
    if str(folder) in OURS:
        raise ConfigError(
            f"folder {show(str(folder))}: must be another, such as ./{folder}: that name means the "
            "goal that comes with fastenv"
        )


def load_goal(goal: str | Path) -> GoalTemplate:
    """Return a template from its folder, or the one of ours with that name.

    Raises
    ------
    ConfigError
        If it cannot be read, or a field has a value that is not allowed; the message names it.
    """
    folder: Any = Path(goal)
    if goal in OURS:
        folder = shipped("data", f"{goal}_goal")
    try:
        values = read_json(folder / "goal.json", _LARGEST_JSON)
        shades = read_npy(folder / "goal.npy", MAX_STACK * HEIGHT * WIDTH + _LARGEST_JSON)
    except FileError as error:
        raise ConfigError(f"goal: {error}") from error
    if not isinstance(values, dict):
        raise ConfigError(f"goal={show(str(goal))}: goal.json must be an object.")
    for name, kind in _TYPES.items():
        value = values.get(name)
        right = isinstance(value, (int, float) if kind is float else kind)
        if not right or isinstance(value, bool):
            raise _mismatch(goal, name, value, f"of type {kind.__name__}")
    template = GoalTemplate(shades, **{name: values[name] for name in _TYPES})
    _check(goal, template)
    return template


def _mismatch(goal: str | Path, field: str, value: Any, wanted: Any) -> ConfigError:
    return ConfigError(f"goal={show(str(goal))}: {field} is {show(value)}, must be {wanted}.")


def _check(goal: str | Path, found: GoalTemplate) -> None:
    for name, wanted in (
        ("schema_version", SCHEMA_VERSION),
        ("shade_levels", SHADE_LEVELS),
        ("dist_metric", METRIC),
        ("pipeline_version", PIPELINE_VERSION),
    ):
        if getattr(found, name) != wanted:
            raise _mismatch(goal, name, getattr(found, name), repr(wanted))
    if not 0 <= found.tau <= 1:
        raise _mismatch(goal, "tau", found.tau, "from 0 to 1")
    if not 1 <= found.k_consecutive <= MAX_COUNT:
        raise _mismatch(goal, "k_consecutive", found.k_consecutive, f"from 1 to {MAX_COUNT}")
    shades, size = found.shades, (found.height, found.width)
    shapes = [size] if found.stack_k == 1 else []
    if shades.dtype != np.uint8 or shades.shape not in [*shapes, (found.stack_k, *size)]:
        shown = f"{shades.dtype} of shape {shades.shape}"
        wanted = f"uint8 of stack_k {found.stack_k}, height {size[0]} and width {size[1]}"
        raise _mismatch(goal, "goal.npy", shown, wanted)
    if shades.max(initial=0) > BLACK:
        raise _mismatch(goal, "goal.npy", int(shades.max()), f"shades up to {BLACK}")


def goal_of(config: GameBoyConfig, cartridge: Cartridge) -> GoalTemplate:
    """Return the goal of a configuration.

    Raises
    ------
    ConfigError
        If the template was captured with another ROM or other options; the message names the field.
    """
    found, form = load_goal(config.goal), config.format
    for name, wanted in expected(config, cartridge, form).items():
        value = getattr(found, name)
        if value != wanted:
            raise _mismatch(config.goal, name, value, f"{wanted!r} as the environment's")
    if found.stack_k not in (1, config.stack_k):
        wanted = f"1 or {config.stack_k} as the environment's"
        raise _mismatch(config.goal, "stack_k", found.stack_k, wanted)
    return found


def expected(config: GameBoyConfig, cartridge: Cartridge, form: FrameFormat) -> dict[str, Any]:
    """Return the fields in which a template must be as the environment."""
    return {
        "rom_sha256": cartridge.sha256,
        "action_codec": config.action_codec,
        "frames_per_step": config.frames_per_step,
        "release_after_frames": config.release_after_frames,
        "height": len(form.ys),
        "width": len(form.xs),
    }
