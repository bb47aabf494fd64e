"""What happens between two iterations, whatever the trainer: log, save, change knobs, stop.

A :class:`Callback` is told of it and a :class:`Log` says it.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import numpy as np
import psutil

from training.run.checkpoint import Checkpoint, CheckpointError
from training.run.config import RunConfig
from training.run.engine import Engine
from training.run.envs import Knobs
from training.run.stats import Window
from training.run.writer import CheckpointWriter

# Takes a snapshot at once and returns what writes it.
TakeSnapshot = Callable[[int], Callable[[], object]]


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

    def start(self, loop: Loop) -> None:
        """Prepare for a training that begins or resumes."""

    def begin_iteration(self, loop: Loop) -> None:
        """Prepare for the next iteration, at the boundary before it; may reset the lanes."""

    def step(
        self, loop: Loop, engine: Engine, actions: np.ndarray | None, obs: Any, mask: np.ndarray
    ) -> None:
        """Take in the step an engine has made; see :meth:`training.run.loop.Loop.step`."""

    def record(self) -> dict[str, Any]:
        """Return the entries for an iteration's line of metrics."""
        return {}

    def end_iteration(self, loop: Loop) -> None:
        """React to an iteration that is logged and saved, at the boundary after it."""

    def saved(self) -> None:
        """React to a checkpoint on disk that holds what :meth:`state` returned last."""

    def finish(self, loop: Loop) -> None:
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


class Stop:
    """Turns SIGINT and SIGTERM into a request to stop at the next boundary between iterations.

    Attributes
    ----------
    requested : bool
    """

    def __init__(self) -> None:
        self.requested = False

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Listen for the signals; a second one ends the run at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        both = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self._ask) for number in both}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _ask(self, number: int, _frame: object) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        print(f"{signal.Signals(number).name}: stopping after this iteration", file=sys.stderr)


class Loop:
    """The course of a run; its trainer calls it at every boundary and after every step.

    At the boundary between two iterations the update of the one is done and nothing of the other
    has happened. What a resumed run must find again is what is true at that point.

    Parameters
    ----------
    config : RunConfig
    engine : Engine
        One of those that are stepped.
    knobs : Knobs
    log : Log
    snapshot : callable
        Takes the number of steps; see :data:`TakeSnapshot`.
    stop : Stop
    callbacks : sequence of Callback
        Called in their order.
    steps, iteration, wall_s : int, int, float
        Decisions, iterations and seconds before this process.
    last_record : mapping, optional
        The last line of the metrics before this process.

    Attributes
    ----------
    steps : int
        Decisions at the last boundary.
    now : int
        Decisions until now.
    stopped : bool
        Nothing may be done any more: it was told to stop, or somebody has had enough of it.
    finished : bool
        The training is done; else it can be resumed.
    began : float
        When the iteration began, on the clock ``time.perf_counter``.
    began_at : int
        Decisions at the boundary where the last iteration began.
    last_record : dict
        The newest line of the metrics.
    """

    def __init__(
        self,
        config: RunConfig,
        engine: Engine,
        knobs: Knobs,
        log: Log,
        snapshot: TakeSnapshot,
        stop: Stop,
        callbacks: Sequence[Callback] = (),
        *,
        steps: int = 0,
        iteration: int = 0,
        wall_s: float = 0.0,
        last_record: Mapping[str, Any] | None = None,
    ) -> None:
        self.steps = self.now = self.began_at = steps
        self.iteration = iteration
        self.stopped = self.finished = False
        self._enough = False
        self.last_record: dict[str, Any] = dict(last_record or {})
        self._config, self._knobs, self._log = config, knobs, log
        self._snapshot, self._stop = snapshot, stop
        self._callbacks = callbacks
        self._writer = CheckpointWriter()
        placed = [each.placed for each in callbacks if each.placed is not None]
        # What a run of an earlier version did not count is not known later either.
        frames = self.last_record.get("frames") if steps else 0
        self._window = Window(engine, placed[0] if placed else None, frames)
        self._step_times = engine.game.step_times()
        self._wall_before, self._start = wall_s, time.perf_counter()
        self._saved_at = steps if steps else -1

    @property
    def log(self) -> Log:
        """Where a trainer says what happened between two iterations."""
        return self._log

    @property
    def stopping(self) -> bool:
        """Whether the run was asked to stop."""
        return self._stop.requested

    @property
    def wall_s(self) -> float:
        """Seconds of training, those before a resume included."""
        return self._wall_before + time.perf_counter() - self._start

    def end_early(self) -> None:
        """End the training at the next boundary as if it had reached its ``total_steps``."""
        self._enough = True

    def start(self) -> None:
        """Tell the callbacks that the training begins or goes on."""
        for each in self._callbacks:
            each.start(self)

    def begin_iteration(self, prepare: Callable[[], None] | None = None) -> bool:
        """Prepare the next iteration; False if there is to be none, with everything saved.

        Parameters
        ----------
        prepare : callable, optional
            What the trainer does before it begins, outside its time and behind what is saved.
        """
        if self._stop.requested:
            self._save_last()
            self.stopped = True
            return False
        if self._enough:
            self.finish()
            self.stopped = True
            return False
        changed = self._knobs.apply(self.steps)
        if changed:
            self._log.event("knobs", step=self.steps, **changed)
        for each in self._callbacks:
            each.begin_iteration(self)
        if prepare is not None:
            prepare()
        self._window.clear()
        if self._step_times is not None:
            self._step_times.read(0.0)  # what was done since the last iteration is not part of it
        self.began, self._cpu = time.perf_counter(), time.process_time()
        return True

    def step(self, engine: Engine, actions: np.ndarray | None, obs: Any, mask: np.ndarray) -> None:
        """Take in the step an engine has just made, before its reward is stored.

        Parameters
        ----------
        engine : Engine
        actions : ndarray of int, shape (n,), or None
            None if all lanes have been reset.
        obs, mask : ndarray
            Where the engine has written what comes next; callbacks may write it anew.
        """
        if actions is not None:
            self.now += engine.num_envs
            self._window.add(engine)
        for each in self._callbacks:
            each.step(self, engine, actions, obs, mask)

    def end_iteration(
        self, train: Mapping[str, Any], phases: Mapping[str, float], **details: Any
    ) -> None:
        """Log an iteration that is done, and save if it is time to.

        Parameters
        ----------
        train : mapping
            What the trainer says of its update.
        phases : mapping
            Where the seconds went.
        **details
            Anything else to log, as JSON values.
        """
        wall = time.perf_counter() - self.began
        cpu = time.process_time() - self._cpu
        samples = self.now - self.steps
        held_back = {str(r.action): r.ticks_at(self.steps) for r in self._config.mask_schedule}
        self.began_at, self.steps = self.steps, self.now
        self.iteration += 1
        self.last_record = record = {
            "step": self.steps,
            "iter": self.iteration,
            "time": time.time(),
            "wall_s": self.wall_s,
            "sps": samples / wall,
            "sps_cpu": samples / cpu,
            "phases": dict(phases),
            **self._env_times(samples, phases),
            "train": dict(train),
            **details,
            **self._window.record(),
            **({"held_back": held_back} if held_back else {}),
            **{key: value for each in self._callbacks for key, value in each.record().items()},
            "checkpoints": {"skipped": self._writer.skipped},
            "mem": {"rss_mb": psutil.Process().memory_info().rss / 2**20},
        }
        self._log.metrics(record)
        due = self.steps - max(self._saved_at, 0) >= self._config.checkpoints.every
        # Deterministic runs also leave the same checkpoints every time.
        self._log_written(wait=due and self._config.deterministic)
        if due and self._writer.busy:
            self._skip()
        elif due:
            self._save()
        for each in self._callbacks:
            each.end_iteration(self)

    def finish(self) -> None:
        """Save what the run came to, and let the callbacks finish."""
        self._save_last()
        for each in self._callbacks:
            each.finish(self)
        self.finished = True

    def close(self) -> None:
        """Close the callbacks, and wait for a checkpoint that is being written.

        Raises
        ------
        CheckpointError
            If that one is lost; it is only said if the run ends with another error anyway.
        """
        why = sys.exception()
        try:
            with ExitStack() as closing:
                closing.callback(self._writer.close)
                for each in self._callbacks:
                    closing.callback(each.close)
        except CheckpointError as lost:
            if why is None:
                raise
            self._log.say(f"warning: {lost}")

    def _env_times(self, samples: int, phases: Mapping[str, float]) -> dict[str, Any]:
        """Return where the time of a step of all lanes went, if the game can say so."""
        if self._step_times is None or "env" not in phases:
            return {}
        steps = max(1, samples // self._config.num_envs)
        found = self._step_times.read(phases["env"], steps, self._config.env_threads)
        return {"env_step": found}

    def _save_last(self) -> None:
        """Save if it is not saved yet, and wait until it is written."""
        self._log_written(wait=True)
        if self._saved_at != self.steps:
            self._save()
            self._log_written(wait=True)

    def _save(self) -> None:
        self._writer.start(self.steps, self._snapshot(self.steps))
        self._saved_at = self.steps

    def _skip(self) -> None:
        """Leave a checkpoint out because the disk is slower than the training; try again later."""
        self._writer.skipped += 1
        self._log.event("checkpoint skipped", step=self.steps, skipped=self._writer.skipped)

    def _log_written(self, wait: bool = False) -> None:
        steps = self._writer.written(wait)
        if steps is not None:
            for each in self._callbacks:
                each.saved()
            self._log.event("checkpoint", step=steps)
