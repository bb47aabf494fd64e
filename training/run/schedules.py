"""Schedules of environment knobs, and of action masks, over the decisions of a training.

Knobs follow the option ``schedules``. Option ``mask_schedule`` delays actions at the start of
episodes: where an agent may end an episode with its first action, it soon finds that this costs
nothing, and stops playing. Where the action is delayed, for fewer and fewer ticks as the training
goes on, the agent has to learn to play.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fastenv.errors import ConfigError
from training.run import games
from training.run.config import DelayedAction
from training.run.engine import Engine
from training.run.options import Schedule, require


def get_scheduled_values(schedules: Mapping[str, Schedule], steps: int) -> dict[str, Any]:
    """Return the values of schedules at ``steps``."""
    return {
        name: [value for start, value in schedule if start <= steps][-1]
        for name, schedule in schedules.items()
    }


class Knobs:
    """Knobs of engines that follow a schedule.

    Parameters
    ----------
    engines : sequence of Engine
    schedules : mapping of str to sequence of (int, value)

    Raises
    ------
    ConfigError
        From the engine, if it does not know a knob or one of its values.
    """

    def __init__(self, engines: Sequence[Engine], schedules: Mapping[str, Schedule]) -> None:
        self._engines = tuple(engines)
        self._schedules = schedules
        self.values: dict[str, Any] = {}
        for name, schedule in schedules.items():
            for _, value in schedule:  # a bad value should not wait for its step
                self._configure(name, value)

    def apply(self, steps: int) -> dict[str, Any]:
        """Set the values at ``steps``, for each lane from its next reset; return the changes."""
        active = get_scheduled_values(self._schedules, steps)
        changed = {n: v for n, v in active.items() if n not in self.values or self.values[n] != v}
        for name, value in changed.items():
            self._configure(name, value)
        self.values = active
        return changed

    def _configure(self, name: str, value: Any) -> None:
        for engine in self._engines:
            engine.configure(name, value)


# -- delayed actions -------------------------------------------------------------------------------


def mask_delayed(
    engine: Engine,
    rules: Sequence[DelayedAction],
    steps: int,
    mask: np.ndarray | None = None,
) -> np.ndarray:
    """Make the masks of legal actions without those that are delayed now.

    Parameters
    ----------
    engine : Engine
        Its own masks stay as they are.
    rules : sequence of DelayedAction
        Applied in turn; an action that is the only one left is not delayed.
    steps : int
        Decisions of training so far.
    mask : ndarray of uint8, shape (n, A), optional
        Where the engine has written its masks, if not to its own.

    Returns
    -------
    ndarray of bool, shape (n, A)
        A new array.
    """
    legal: np.ndarray = (engine.mask if mask is None else mask) != 0
    elapsed = count_elapsed(engine)
    for rule in rules:
        early = elapsed < rule.ticks_at(steps)
        early &= legal.sum(1) > legal[:, rule.action]
        legal[early, rule.action] = False
    return legal


def count_elapsed(engine: Engine) -> np.ndarray:
    """Count the ticks since the episode of each lane began, shape (n,).

    Raises
    ------
    ConfigError
        If the game does not (capability ``elapsed``, a function of an engine).
    """
    count = games.find(engine, "elapsed")
    if count is None:
        raise ConfigError(
            "mask_schedule is not possible here: this game does not say how many ticks an episode "
            "has lasted."
        )
    elapsed: np.ndarray = count(engine)
    return elapsed


def check_delayed(engine: Engine, rules: Sequence[DelayedAction]) -> None:
    """Refuse rules that the game cannot follow.

    Raises
    ------
    ConfigError
        If the game does not count ticks, or has no such action.
    """
    for rule in rules:
        known = rule.action < engine.num_actions
        require(known, "mask_schedule.action", rule.action, f"from 0 to {engine.num_actions - 1}")
    if rules:
        count_elapsed(engine)
