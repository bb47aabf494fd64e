"""What goes along with a run, and what a run says to: the two interfaces of its loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from training.run.checkpoint import Checkpoint

if TYPE_CHECKING:
    from training.run.engine import Engine
    from training.run.loop import Loop


class Callback:
    """Goes along with a run, is saved with it and goes on with it; does nothing by itself."""

    @property
    def engines(self) -> Sequence[Any]:
        """Engines of its own, on which the knobs of the training hold too."""
        return ()

    @property
    def placed(self) -> np.ndarray | None:
        """Lanes whose episode did not begin at its beginning, shape (n,); None for none ever."""
        return None

    def start(self, loop: Loop) -> None:
        """Be told that the training begins or goes on."""

    def begin_iteration(self, loop: Loop) -> None:
        """Be told, at the boundary, that an iteration is to begin; may reset the lanes."""

    def step(
        self, loop: Loop, engine: Engine, actions: np.ndarray | None, obs: Any, mask: np.ndarray
    ) -> None:
        """Take in the step an engine has made; see :meth:`training.run.loop.Loop.step`."""

    def record(self) -> dict[str, Any]:
        """Return what belongs into the line of metrics of an iteration."""
        return {}

    def end_iteration(self, loop: Loop) -> None:
        """Be told, at the boundary, that an iteration is logged and saved."""

    def saved(self) -> None:
        """Be told that the checkpoint with what :meth:`state` returned last is on disk."""

    def finish(self, loop: Loop) -> None:
        """Be told that the training is done and saved."""

    def close(self) -> None:
        """Let go of processes and threads, however the training ended."""

    def summary(self) -> dict[str, Any]:
        """Return what belongs into the summary of a run that has ended."""
        return {}

    def state(self) -> dict[str, Any]:
        """Return JSON values for a checkpoint, under names of its own."""
        return {}

    def tensors(self) -> dict[str, Any] | None:
        """Return what does not fit into JSON; of one callback a run at most."""
        return None

    def restore(self, saved: Checkpoint) -> None:
        """Put back what was saved.

        Raises
        ------
        CheckpointError, KeyError, TypeError
            It does not fit.
        """


class Log(Protocol):
    """Where a run says what happens."""

    def metrics(self, record: dict[str, Any]) -> None:
        """Log one iteration; ``record["step"]`` is where it ended."""

    def window(self, record: dict[str, Any]) -> None:
        """Log a window of ticks; ``record["step"]`` is where it was closed."""

    def event(self, kind: str, **details: Any) -> None:
        """Log something that happened."""

    def evaluation(self, steps: int, results: Mapping[str, Any], **details: Any) -> None:
        """Log what an evaluation of the policy at ``steps`` found."""

    def warn(self, text: str, **details: Any) -> None:
        """Log a warning; it stays in sight."""

    def say(self, text: str) -> None:
        """Print one line."""

    def close(self) -> None:
        """Flush and close everything."""
