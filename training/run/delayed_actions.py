"""Actions that are delayed at the start of episodes (option ``mask_schedule``).

Where an agent may end an episode with its first action, it soon finds that this costs nothing, and
stops playing. Where the action is delayed, for fewer and fewer ticks as the training goes on, the
agent has to learn to play.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fastenv.errors import ConfigError
from training.run import games
from training.run.engine import Engine
from training.run.sections import DelayedAction


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


def check(engine: Engine, rules: Sequence[DelayedAction]) -> None:
    """Refuse rules that the game cannot follow.

    Raises
    ------
    ConfigError
        If the game does not count ticks, or has no such action.
    """
    for rule in rules:
        if rule.action >= engine.num_actions:
            raise ConfigError(
                f"mask_schedule.action={rule.action} is not possible: mask_schedule.action must "
                f"be from 0 to {engine.num_actions - 1}."
            )
    if rules:
        count_elapsed(engine)
