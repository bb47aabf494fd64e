"""Capture a goal template, or replay the actions that led to one (docs/gameboy.md, 19).

``python -m fastenv goal`` is the command around it.

A file of actions has one line of JSON a step, a list of one number, ``[5]``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError, FileError
from fastenv.files import parse_json, read_regular, show_path
from fastenv.gameboy import GameBoyGame
from fastenv.gameboy.config import MAX_COUNT, GameBoyConfig
from fastenv.gameboy.frames import unpack
from fastenv.gameboy.goal_template import GoalTemplate
from fastenv.gameboy.state import state_dtype
from fastenv.options import check_integer, check_number, refusal

Array = npt.NDArray[Any]
TAU, K_CONSECUTIVE = 0.05, 2
_LARGEST = 1 << 24  # bytes of a file of actions


def read_actions(path: str | Path, config: GameBoyConfig) -> list[int]:
    """Return the actions of a file.

    Raises
    ------
    ConfigError
        Naming the line that is no list of one action.
    """
    found = []
    try:
        lines = read_regular(path, _LARGEST).splitlines()
    except FileError as error:
        raise ConfigError(f"actions: {error}") from error
    for number, line in enumerate(lines, 1):
        try:
            values = parse_json(line, f"line {number}")
        except FileError:
            values = None
        last = len(config.chords) - 1
        right = isinstance(values, list) and len(values) == 1 and type(values[0]) is int
        if not right or not 0 <= values[0] <= last:
            raise ConfigError(
                f"actions: {show_path(path)}: line {number} must be a list of one action, 0 to "
                f"{last}."
            )
        found.append(values[0])
    return found


def capture(
    game: GameBoyGame, actions: Sequence[int], planes: int, tau: float, k_consecutive: int
) -> GoalTemplate:
    """Return the template of the frames behind some actions.

    Parameters
    ----------
    game : GameBoyGame
        Of any kind.
    actions : sequence of int
        From its start state on.
    planes : int
        Frames that are compared: 1, the newest one, or all of the environment's.
    tau, k_consecutive : float, int
        Of the template.

    Raises
    ------
    ConfigError
        If a number is not possible, the actions are chords, or an episode ends on the way.
    """
    check_number("tau", tau, 0.0, 1.0)
    check_integer("k_consecutive", k_consecutive, 1, MAX_COUNT)
    config, form = game.config, game.config.format
    if config.actions is not None:
        raise refusal("actions", config.actions, "left out: a template names its action_codec")
    if planes not in (1, config.stack_k):
        raise ConfigError(f"planes={planes} is not possible: it must be 1 or {config.stack_k}.")
    engine = BatchEngine(game, 1)
    engine.reset_many(seeds=0)
    start = engine.get_states()
    for step, action in enumerate(actions, 1):
        engine.step_many(np.array([action]), autoreset=False)
        if engine.ended[0] and step < len(actions):
            raise ConfigError(f"actions are not possible: the episode ends with step {step}.")
    stack = engine.get_states()[0]["stack"]
    size = len(form.ys), len(form.xs)
    shades = np.array(unpack(stack[-planes:].tobytes()), np.uint8).reshape(planes, *size)
    return GoalTemplate(
        shades if planes > 1 else shades[0],
        rom_sha256=game.common.cartridge.sha256,
        state_sha256=_machine_hash(start, game.common.cartridge.ram_size),
        actions_sha256=_hash(json.dumps(list(actions)).encode("ascii")),
        action_codec=config.action_codec,
        frames_per_step=config.frames_per_step,
        release_after_frames=config.release_after_frames,
        height=size[0],
        width=size[1],
        stack_k=planes,
        tau=tau,
        k_consecutive=k_consecutive,
    )


def _machine_hash(lane: Array, cart_ram: int) -> str:
    """Return the SHA-256 of the machine of a row."""
    machine = np.zeros(1, state_dtype(cart_ram))
    for name in machine.dtype.names or ():
        machine[name] = lane[name]
    return _hash(machine.tobytes())


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def replay(game: GameBoyGame, actions: Sequence[int]) -> tuple[int | None, list[float]]:
    """Return the step in which a goal is reached, if it is, and the distances of all steps.

    Parameters
    ----------
    game : GameBoyGame
        Of kind ``goal``; the actions go on behind its goal, but not behind a truncation.
    actions : sequence of int
    """
    engine, reached, distances = BatchEngine(game, 1, info_columns=["dist"]), None, []
    engine.reset_many(seeds=0)
    for step, action in enumerate(actions, 1):
        engine.step_many(np.array([action]), autoreset=False)
        distances.append(float(engine.info["dist"][0]))
        if engine.truncated[0]:
            break
        if engine.terminated[0]:
            reached = step if reached is None else reached
            rows = engine.get_states()
            rows["done"] = 0
            engine.set_states(rows, trusted=True)
    return reached, distances


def calibrated(distances: Sequence[float], at_goal: int) -> float:
    """Return a threshold between the last steps, which are at the goal, and all others.

    Raises
    ------
    ConfigError
        If there is none: a step before is as near as one at the goal.
    """
    inside, outside = max(distances[-at_goal:]), min(distances[:-at_goal], default=1.0)
    if outside <= inside:
        raise ConfigError(
            f"tau cannot be found: a step away from the goal is {outside:.4f} from it, one at the "
            f"goal {inside:.4f}; choose steps that change the picture."
        )
    return (inside + outside) / 2
