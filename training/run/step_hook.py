"""The hook that a trainer calls after every step of an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from training.run import delayed_actions
from training.run.engine import Engine
from training.run.loop import Loop
from training.run.sections import DelayedAction


class StepHook:
    """Reports every step to the loop of a run, and masks delayed actions.

    Parameters
    ----------
    rules : sequence of DelayedAction
        The ``mask_schedule`` of the run.

    Attributes
    ----------
    loop : Loop or None
        None until the training begins.
    """

    def __init__(self, rules: Sequence[DelayedAction]) -> None:
        self._rules = rules
        self.loop: Loop | None = None

    def __call__(
        self, engine: Engine, actions: np.ndarray | None, obs: Any, mask: np.ndarray
    ) -> None:
        """Report a step, or, with None for actions, the reset before the first step.

        Parameters
        ----------
        engine : Engine
        actions : ndarray of int, shape (n,), or None
        obs, mask : ndarray
            Where the engine has written what comes next; both may be written anew.
        """
        if self.loop is not None:
            self.loop.step(engine, actions, obs, mask)
        if self._rules:
            steps = 0 if self.loop is None else self.loop.steps
            mask[:] = delayed_actions.mask_delayed(engine, self._rules, steps, mask)
