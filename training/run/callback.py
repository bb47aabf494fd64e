"""Callbacks of a run, and the log that a run writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from training.run.engine import Engine

if TYPE_CHECKING:  # who logs need not wait for torch
    from training.run.checkpoint import State


class Log:
    """The log of a run; the base class writes nothing."""

    def metrics(self, record: dict[str, Any]) -> None:
        """Log one iteration; ``record["step"]`` is where it ended."""

    def window(self, record: dict[str, Any]) -> None:
        """Log a window of ticks; ``record["step"]`` is where it was closed."""

    def event(self, kind: str, **details: Any) -> None:
        """Log an event."""

    def evaluation(self, steps: int, results: Mapping[str, Any], **details: Any) -> None:
        """Log the results of an evaluation of the policy at ``steps``."""

    def warn(self, text: str, **details: Any) -> None:
        """Log a warning; it stays in sight."""

    def say(self, text: str) -> None:
        """Print one line."""

    def close(self) -> None:
        """Flush and close everything."""


class Progress(Protocol):
    """The progress of a run, as callbacks read and change it.

    Attributes
    ----------
    log : Log
    steps : int
        Decisions at the last boundary.
    now : int
        Decisions until now.
    iteration : int
        Iterations that are done.
    """

    log: Log
    steps: int
    now: int
    iteration: int

    @property
    def stopping(self) -> bool:
        """Whether the run was asked to stop."""

    def end_early(self) -> None:
        """End the training at the next boundary as if it had reached its ``total_steps``."""


class EngineStep(NamedTuple):
    """A step that an engine has just made.

    Attributes
    ----------
    engine : Engine
    actions : ndarray of int, shape (n,), or None
        None if all lanes have been reset.
    obs, mask : ndarray
        Where the engine has written what comes next; callbacks may write it anew.
    """

    engine: Engine
    actions: np.ndarray | None
    obs: Any
    mask: np.ndarray


class Callback:
    """Observes a run, and is saved and resumed with it; the base class does nothing."""

    @property
    def engines(self) -> Sequence[Any]:
        """Engines of its own, on which the knobs of the training hold too."""
        return ()

    @property
    def placed(self) -> np.ndarray | None:
        """Lanes whose episode began in a stored state, shape (n,); None if none ever does."""
        return None

    def announce(self) -> list[str]:
        """Return lines that are printed before the training begins."""
        return []

    def start(self, loop: Progress) -> None:
        """Prepare for a training that begins or resumes."""

    def begin_iteration(self, loop: Progress) -> None:
        """Prepare for the next iteration, at the boundary before it; may reset the lanes."""

    def step(self, loop: Progress, step: EngineStep) -> None:
        """Process a step of an engine, before its reward is stored."""

    def record(self) -> dict[str, Any]:
        """Return the entries for an iteration's line of metrics."""
        return {}

    def end_iteration(self, loop: Progress) -> None:
        """React to an iteration that is logged and saved, at the boundary after it."""

    def saved(self) -> None:
        """React to a checkpoint on disk that holds what :meth:`state` returned last."""

    def finish(self, loop: Progress) -> None:
        """React to the end of the training, once it is saved."""

    def close(self) -> None:
        """End processes and threads, however the training ended."""

    def summary(self) -> dict[str, Any]:
        """Return the entries for the summary of a run that has ended."""
        return {}

    def state(self) -> dict[str, Any]:
        """Return JSON values for a checkpoint, under names of its own."""
        return {}

    def tensors(self) -> dict[str, Any] | None:
        """Return tensors for a checkpoint, None for none; at most one callback of a run has any."""
        return None

    def restore(self, saved: State) -> None:
        """Put back what was saved.

        Raises
        ------
        CheckpointError, KeyError, TypeError
            It does not fit.
        """
