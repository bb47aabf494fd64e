"""Observation, mask, reward and info of two linked consoles: each side's, as if it were alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.gameboy import encoding
from fastenv.gameboy.linked.environment import LinkEnvironment

Array = npt.NDArray[Any]


def encode_obs(env: LinkEnvironment, out: Array) -> None:
    """Write the frames of each side, the newest last."""
    for side, each in zip(env.sides, out, strict=True):
        encoding.encode_obs(side, each)


def action_mask(env: LinkEnvironment, out: npt.NDArray[np.uint8]) -> None:
    """Write which actions do something."""
    for side, mask in zip(env.sides, out, strict=True):
        encoding.action_mask(side, mask)


def reward(env: LinkEnvironment) -> tuple[list[float], list[tuple[float, ...]]]:
    """Return the reward of each side's last step and its terms."""
    paid = [encoding.reward(side) for side in env.sides]
    return [each[0] for each in paid], [each[1] for each in paid]


def info(env: LinkEnvironment) -> tuple[Any, ...]:
    """Return the columns of the state, with an entry for each side."""
    columns = zip(*(encoding.info(side) for side in env.sides), strict=True)
    return tuple([*column] for column in columns)
