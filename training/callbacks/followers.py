"""What follows a training, is saved with it and goes on with it: windows, trackers, curriculum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fastenv import BatchEngine
from training.callbacks import curriculum
from training.callbacks.curriculum import Curriculum
from training.callbacks.trackers import Trackers, options
from training.callbacks.windows import EngineWindows
from training.run import envs
from training.run.checkpoint import Checkpoint
from training.run.folder import RunFolder


@dataclass(frozen=True)
class Followers:
    """The followers of a run; None for those it does not have.

    Parameters
    ----------
    windows : EngineWindows or None
    trackers : Trackers or None
    curriculum : Curriculum or None
    """

    windows: EngineWindows | None = None
    trackers: Trackers | None = None
    curriculum: Curriculum | None = None

    @property
    def engines(self) -> list[BatchEngine]:
        """Engines of their own, on which the knobs of the training hold too."""
        return [] if self.curriculum is None else [self.curriculum.engine]

    def state(self) -> dict[str, Any]:
        """Return JSON values for a checkpoint; the state of the trackers is a file of its own."""
        return {
            "windows": None if self.windows is None else self.windows.state(),
            "curriculum": None if self.curriculum is None else self.curriculum.state_dict(),
        }

    def restore(self, saved: Checkpoint) -> None:
        """Put back what was saved.

        Raises
        ------
        CheckpointError, KeyError, TypeError
            It does not fit.
        """
        if self.windows is not None:
            self.windows.restore(saved.trainer["windows"])
        if self.trackers is not None:
            self.trackers.load_state_dict(saved.trackers or {})
        if self.curriculum is not None:
            self.curriculum.load_state_dict(saved.trainer["curriculum"])


def followers_of(
    run: RunFolder,
    engines: Sequence[BatchEngine],
    policy: Callable[[], dict[str, Any]],
    reset_lanes: Callable[[], None],
) -> Followers:
    """Return the followers that the config of a run asks for.

    Parameters
    ----------
    run : RunFolder
    engines : sequence of BatchEngine
        Those that are trained on.
    policy, reset_lanes : callable
        See :class:`Curriculum`.
    """
    config, engine = run.config, engines[0]
    windows = EngineWindows(engine, run.name, config.window_ticks) if config.window_ticks else None
    trackers = options.build(engine, config.trackers, envs.stream_seed(config.seed, "explore"))
    stages = curriculum.options_of(config)
    if stages is None:
        return Followers(windows, trackers)
    gates = Curriculum(config, stages, engines, run.certificates, policy, reset_lanes)
    return Followers(windows, trackers, gates)
