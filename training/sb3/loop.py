"""What happens between two iterations of stock MaskablePPO: log, save, change knobs, stop."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psutil
from stable_baselines3.common.callbacks import BaseCallback

from fastenv import BatchEngine
from training.config import RunConfig
from training.envs import Knobs
from training.logging import RunLog
from training.sb3.vec import LateActionVecEnv, TimedVecEnv
from training.stats import Window
from training.windows import EngineWindows, WindowRecord

# Names of the values that MaskablePPO.train records, and what they are called in metrics.jsonl.
_TRAIN_VALUES = {
    "train/policy_gradient_loss": "policy_loss",
    "train/value_loss": "value_loss",
    "train/entropy_loss": "entropy_loss",
    "train/approx_kl": "kl",
    "train/clip_fraction": "clipfrac",
    "train/explained_variance": "explained_variance",
    "train/learning_rate": "lr",
    "train/loss": "loss",
}


class Stop:
    """Turns SIGINT and SIGTERM into a wish that is met at the next border between iterations.

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


class Loop(BaseCallback):
    """Callback of a run.

    The start of a rollout is the border between iterations: the update before it is done, nothing
    of the rollout has happened. What a resumed run must find again is what is true at that point.

    Parameters
    ----------
    config : RunConfig
    vec : TimedVecEnv
    engine : BatchEngine
        The one behind ``vec``.
    knobs : Knobs
    log : RunLog
    save : callable
        Writes a checkpoint; takes the number of steps.
    stop : Stop
    late_actions : LateActionVecEnv, optional
        Follows the steps of the training.
    windows : EngineWindows, optional
        Grows with every step.
    iteration, wall_s : int, float
        Iterations and seconds before this process.
    """

    def __init__(
        self,
        config: RunConfig,
        vec: TimedVecEnv,
        engine: BatchEngine,
        knobs: Knobs,
        log: RunLog,
        save: Callable[[int], None],
        stop: Stop,
        late_actions: LateActionVecEnv | None = None,
        windows: EngineWindows | None = None,
        iteration: int = 0,
        wall_s: float = 0.0,
    ) -> None:
        super().__init__()
        self.stopped = False  # at a border, with a checkpoint
        self.steps = 0  # at the last border
        self.iteration = iteration
        self.last_record: dict[str, Any] = {}
        self._config, self._vec, self._knobs, self._log = config, vec, knobs, log
        self._save, self._stop = save, stop
        self._late_actions, self.windows = late_actions, windows
        self._window = Window(engine)
        self._wall_before = wall_s
        self._running = False
        self._saved_at = -1

    @property
    def wall_s(self) -> float:
        """Seconds of training, those before a resume included."""
        return self._wall_before + time.perf_counter() - self._began

    def _on_training_start(self) -> None:
        self._began = time.perf_counter()
        self._saved_at = self.model.num_timesteps if self.model.num_timesteps else -1

    def _on_rollout_start(self) -> None:
        self._border()
        if self._stop.requested:
            self._checkpoint()
            self.stopped = True
            return
        changed = self._knobs.apply(self.steps)
        if changed:
            self._log.event("knobs", step=self.steps, **changed)
        if self._late_actions is not None:
            self._late_actions.steps = self.steps
        self._vec.busy_s = 0.0
        self._window.clear()
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        self._running = True

    def _on_step(self) -> bool:
        if self.stopped:  # the trainer asks only after a step; that step is not part of the run
            return False
        self._window.add()
        if self.windows is not None:
            for record in self.windows.add():
                self._log_window(record)
        return True

    def _on_rollout_end(self) -> None:
        self._collected = time.perf_counter()

    def _on_training_end(self) -> None:
        if not self.stopped:
            self._border()
            self._checkpoint()
            last = self.windows.flush_partial() if self.windows is not None else None
            if last is not None:
                self._log_window(last)

    def _log_window(self, record: WindowRecord) -> None:
        self._log.window({"step": self.model.num_timesteps, **record.to_dict()})

    def _border(self) -> None:
        self.steps = self.model.num_timesteps
        if not self._running:
            return
        self._running = False
        self.iteration += 1
        self.last_record = record = self._record()
        self._log.metrics(record)
        if self.steps - max(self._saved_at, 0) >= self._config.checkpoints.every:
            self._checkpoint()

    def _checkpoint(self) -> None:
        if self._saved_at == self.steps:
            return
        self._save(self.steps)
        self._saved_at = self.steps
        self._log.event("checkpoint", step=self.steps)

    def _record(self) -> dict[str, Any]:
        wall = time.perf_counter() - self._wall
        cpu = time.process_time() - self._cpu
        collect = self._collected - self._wall
        samples = self._config.rollout
        values = self.logger.name_to_value
        return {
            "step": self.steps,
            "iter": self.iteration,
            "time": time.time(),
            "wall_s": self.wall_s,
            "sps": samples / wall,
            "sps_cpu": samples / cpu,
            "phases": {
                "env": self._vec.busy_s,
                "collect": collect - self._vec.busy_s,
                "update": wall - collect,
            },
            "train": {ours: float(values[k]) for k, ours in _TRAIN_VALUES.items() if k in values},
            **self._window.record(),
            **({"held_back": self._late_actions.ticks()} if self._late_actions else {}),
            "mem": {"rss_mb": psutil.Process().memory_info().rss / 2**20},
        }
