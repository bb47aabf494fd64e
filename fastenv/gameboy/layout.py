"""What an observation, an info and the terms of a reward consist of (docs/gameboy.md, 17 to 20)."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv.gameboy.config import GameBoyConfig
from fastenv.gameboy.tables import SAMPLES

SENSES = ("map", "x", "y", "last_reward")
_MACHINE_INFO: list[tuple[str, str]] = [("cpu_locked", "?"), ("start_state", "i4")]
_KIND_INFO: dict[str, list[tuple[str, str]]] = {
    "pixels": [],
    "goal": [("episode_step", "i4"), ("dist", "f4"), ("consecutive", "i4")],
    "overworld": [
        ("map", "u1"),
        ("x", "u1"),
        ("y", "u1"),
        ("facing", "u1"),
        ("dialogue", "u1"),
        ("items", "u1"),
        ("steps", "u2"),  # as the program counts them
        ("events", "i4"),  # how many of those that are rewarded have fired
        ("cells", "i4"),  # new cells of the episode
    ],
}
INFO = {kind: np.dtype([*_MACHINE_INFO, *own], align=True) for kind, own in _KIND_INFO.items()}
_TERMS = {
    "pixels": (),
    "goal": ("reward_step", "reward_progress", "reward_goal"),
    "overworld": (
        *("reward_cells", "reward_items", "reward_dialogue", "reward_events", "reward_finish"),
    ),
}
TERMS = {kind: np.dtype([(name, "f8") for name in names]) for kind, names in _TERMS.items()}


AUDIO = "audio"  # column with the samples of the sound
WAITED = "waited"  # column of how often the step was as long again


def audio_shape(config: GameBoyConfig) -> tuple[int, int, int]:
    """Return the shape of the samples of a step: frames, samples of each, left and right."""
    return config.frames_per_step, SAMPLES, 2


def with_audio(info: np.dtype[Any], config: GameBoyConfig) -> np.dtype[Any]:
    """Return the columns of a state with that of the samples behind them, if there are any."""
    if not config.audio:
        return info
    own: list[Any] = [(name, info[name]) for name in info.names or ()]
    return np.dtype([*own, (AUDIO, "<i2", audio_shape(config))], align=True)


def with_waits(info: np.dtype[Any], config: GameBoyConfig) -> np.dtype[Any]:
    """Return the columns of a state with that of how long the step lasted, if it waits."""
    if config.wait_until is None:
        return info
    own: list[Any] = [(name, info[name]) for name in info.names or ()]
    return np.dtype([*own, (WAITED, "<i4")], align=True)


def pixels_shape(config: GameBoyConfig) -> tuple[int, int, int]:
    """Return the shape of the frames of an observation, (K, H, W)."""
    return config.stack_k, *config.format.shape


def obs_record(config: GameBoyConfig, num_events: int) -> np.dtype[Any]:
    """Return the record of an observation of an overworld."""
    return np.dtype(
        [
            ("pixels", "u1", pixels_shape(config)),
            ("senses", "f4", (len(SENSES),)),
            ("events", "u1", (num_events,)),
        ],
        align=True,
    )


def highest_pixel(config: GameBoyConfig) -> int:
    """Return the highest number of a frame of an observation."""
    return 255 if config.format.packed or config.pixel_mode == "gray" else 3
