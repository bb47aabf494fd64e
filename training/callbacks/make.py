"""The callbacks of a run, as its config says."""

from __future__ import annotations

from typing import Any

import numpy as np

from training.callbacks import best_times, curriculum
from training.callbacks.curriculum import Curriculum
from training.callbacks.evaluations import make_evaluations
from training.callbacks.shaping import make_shaping
from training.callbacks.trackers import Trackers, options
from training.callbacks.trackers.base import StepReader, ended_lanes
from training.callbacks.windows import EngineWindows, WindowRecord
from training.run import games
from training.run.callback import Callback, Progress
from training.run.checkpoint import State
from training.run.engine import Engine
from training.run.folder import RunFolder
from training.run.seeds import stream_seed
from training.run.trainer import Trainer


def make_callbacks(run: RunFolder, trainer: Trainer) -> list[Callback]:
    """Make the callbacks of a run by its config, in the order of their calls."""
    config, engine = run.config, trainer.engines[0]
    callbacks: list[Callback] = []
    if config.window_ticks:
        callbacks.append(Windows(EngineWindows(engine, run.name, config.window_ticks)))
    if config.episode_events:
        callbacks.append(EpisodeEvents(config.env))
    trackers = options.build(engine, config.trackers, stream_seed(config.seed, "explore"))
    if trackers is not None:
        callbacks.append(Tracking(trackers))
    if config.shaping is not None:
        callbacks.append(
            make_shaping(config, trainer.engines)
        )  # behind an archive, which moves lanes
    best = None
    if config.best_times is not None:
        best = best_times.make_best_times(config, trainer.engines, run.name)
        callbacks.append(best)
    stages = curriculum.get_options(config)
    if stages is not None:
        how = (trainer.engines, run.certificates, trainer.policy, trainer.reset_lanes)
        records = None if best is None else best.records
        callbacks.append(Curriculum(config, stages, *how, records))
    evaluations = make_evaluations(run, trainer.policy)
    return callbacks if evaluations is None else [*callbacks, evaluations]


class EpisodeEvents(Callback):
    """Logs an event ``episode_end`` for each episode.

    Parameters
    ----------
    env : str
        Its game says which columns of the info belong to an episode.
    """

    def __init__(self, env: str) -> None:
        self._columns = tuple(
            name
            for name, column in games.get_game(env).columns.items()
            if column.read is None and column.of is None
        )

    def step(
        self,
        loop: Progress,
        engine: Engine,
        actions: np.ndarray | None,
        obs: Any,
        mask: np.ndarray,
    ) -> None:
        """Log the episodes that a step has ended, in the order of the lanes."""
        if actions is None:
            return
        ended, lasting = ended_lanes(engine), engine.spec.has_tau
        seen = StepReader.after_step(engine, obs)
        columns = {name: seen[name] for name in self._columns if name in engine.info}
        for lane in ended.tolist():
            loop.log.event(
                "episode_end",
                step=loop.now,
                lane=lane,
                episode_return=float(engine.ep_return[lane]),
                decisions=int(engine.ep_length[lane]),
                **({"frames": int(engine.ep_frames[lane])} if lasting else {}),
                truncated=bool(engine.truncated[lane]),
                **{name: values[lane].item() for name, values in columns.items()},
            )


class Windows(Callback):
    """Logs windows of ticks; see :class:`EngineWindows`."""

    def __init__(self, windows: EngineWindows) -> None:
        self._windows = windows

    def step(
        self,
        loop: Progress,
        engine: Engine,
        actions: np.ndarray | None,
        obs: Any,
        mask: np.ndarray,
    ) -> None:
        """Log the windows that a step closes."""
        for record in self._windows.add() if actions is not None else ():
            self._log(loop, record)

    def finish(self, loop: Progress) -> None:
        """Log the window that the end of the run leaves open."""
        last = self._windows.flush_partial()
        if last is not None:
            self._log(loop, last)

    def _log(self, loop: Progress, record: WindowRecord) -> None:
        loop.log.window({"step": loop.now, **record.to_dict()})

    def summary(self) -> dict[str, Any]:
        """Return the counts of windows, steps and episodes."""
        windows = self._windows
        return {
            "windows": {
                "window_ticks": windows.window_env_steps,
                "windows_emitted": windows.current_window_id,
                "env_steps_total": windows.env_steps_total,
                "agent_steps_total": windows.agent_steps_total,
                "episodes_total": windows.episodes_total,
            }
        }

    def state(self) -> dict[str, Any]:
        """Return the sums of the window that is open."""
        return {"windows": self._windows.state()}

    def restore(self, saved: State) -> None:
        """Restore from a checkpoint."""
        self._windows.restore(saved.values["windows"])


class Tracking(Callback):
    """Lets trackers follow the lanes and add to their rewards; see :class:`Trackers`."""

    def __init__(self, trackers: Trackers) -> None:
        self._trackers = trackers

    @property
    def placed(self) -> np.ndarray | None:
        """Lanes whose episode began in the archive."""
        return self._trackers.placed

    def start(self, loop: Progress) -> None:
        """Print the notes of the trackers."""
        for note in self._trackers.notes:
            loop.log.say(note)

    def begin_iteration(self, loop: Progress) -> None:
        """Reset the sums of the bonuses."""
        self._trackers.begin()

    def step(
        self,
        loop: Progress,
        engine: Engine,
        actions: np.ndarray | None,
        obs: Any,
        mask: np.ndarray,
    ) -> None:
        """Update all trackers with the step."""
        self._trackers(engine, actions, obs, mask)

    def record(self) -> dict[str, Any]:
        """Return the figures of the trackers."""
        return {"trackers": self._trackers.metrics()}

    def tensors(self) -> dict[str, Any]:
        """Return the states of the trackers, by name."""
        return self._trackers.state_dict()

    def restore(self, saved: State) -> None:
        """Restore from a checkpoint."""
        self._trackers.load_state_dict(saved.trackers or {})
