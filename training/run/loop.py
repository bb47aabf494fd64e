"""The loop of a run with any trainer, from its first iteration to its last or to a stop."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import psutil

from fastenv.errors import show_reason
from training.run import checkpoint, games, machine, schedules
from training.run.callback import Callback, EngineStep, Log
from training.run.checkpoint import CheckpointError, CheckpointWriter, State
from training.run.engine import Engine
from training.run.envs import ChosenBackend
from training.run.folder import RunFolder
from training.run.jsonl import drop_after, read_lines, replace_nonfinite
from training.run.signals import Stop
from training.run.stats import IterationSums
from training.run.trainer import Metrics, Trainer

# Takes the decisions of the whole run and those before, and opens its log.
OpenLog = Callable[[int, int], Log]
_PARTS = ("train", "phases")  # of what an iteration returns


@dataclass(frozen=True)
class Outcome:
    """How a training ended.

    Parameters
    ----------
    finished : bool
        False if it was stopped; it can be resumed.
    steps : int
        Decisions taken, those before a resume included.
    wall_s : float
        Seconds of training, likewise.
    """

    finished: bool
    steps: int
    wall_s: float


def run_training(loop: TrainingLoop, open_log: OpenLog) -> Outcome:
    """Train a run to its ``total_steps``, or until a signal stops it.

    Parameters
    ----------
    loop : TrainingLoop
        Where the run begins, or goes on (:meth:`TrainingLoop.resume`).
    open_log : callable

    Raises
    ------
    TrainingError
        If the training cannot go on.
    CheckpointError
        If a checkpoint cannot be written.
    """
    if loop.is_done:
        return Outcome(True, loop.steps, loop.wall_s)
    trainer = loop.trainer
    with loop.open(open_log):
        if loop.steps == 0:
            trainer.begin()
        while loop.goes_on():
            loop.begin_iteration()
            loop.end_iteration(trainer.iterate())
        outcome = loop.end()
    _write_summary(loop, outcome)
    return outcome


class TrainingLoop:
    """The state of a run, and its work between two iterations: log, save, change knobs.

    At the boundary between two iterations the update of the one is done and nothing of the other
    has happened. A resumed run must restore the state at that point.

    Parameters
    ----------
    run : RunFolder
    trainer : Trainer
    callbacks : sequence of Callback
        Called in their order.
    backend : ChosenBackend
        What the lanes run on, and how it was chosen.
    stop : Stop
    adjusted : sequence of str
        Changes that a command has made to the options.

    Attributes
    ----------
    steps, now, iteration, log
        As callbacks see them (:class:`training.run.callback.Progress`).
    last_record : dict
        The newest line of the metrics.
    began_at : int
        Decisions at the boundary where the last iteration began.
    finished : bool
        The training is done; else it can be resumed.
    warnings : list of str
        Damaged checkpoints that were skipped on resume.
    """

    log: Log

    def __init__(
        self,
        run: RunFolder,
        trainer: Trainer,
        callbacks: Sequence[Callback],
        backend: ChosenBackend,
        stop: Stop,
        adjusted: Sequence[str] = (),
    ) -> None:
        self.adjusted = list(adjusted)
        self.run, self.trainer, self.callbacks = run, trainer, callbacks
        self.steps = self.now = self.began_at = self.iteration = 0
        self.finished = False
        self.last_record: dict[str, Any] = {}
        self.backend, self._config, self._stop = backend, run.config, stop
        self._enough = self._resumed = False
        self._wall_before = 0.0
        self._start: float | None = None  # of training in this process
        self._saved_at = -1
        self.warnings: list[str] = []
        engine = trainer.engines[0]
        same = checkpoint.identity_of_agent(run.config, engine)
        rows = checkpoint.identity_of_rows(engine.spec, run.config.num_envs)
        self._identity: dict[str, Any] = {**same, **rows}
        own = [engine for each in callbacks for engine in each.engines]
        self._knobs = schedules.Knobs([*trainer.engines, *own], run.config.schedules)
        self._writer = CheckpointWriter()
        self._delayed = () if trainer.delays_actions else self._config.mask_schedule
        trainer.on_step = self.on_step

    # -- resume ----------------------------------------------------------------------------------

    def resume(self) -> None:
        """Load the newest checkpoint and drop what was logged after it.

        Raises
        ------
        CheckpointError
            If there are checkpoints, and none that is whole, or a foreign one; nothing is written
            then. Without any checkpoint the run begins anew.
        """
        run, self._resumed = self.run, True
        saved = checkpoint.load_newest(run.checkpoints, self._identity, self.warnings.append)
        if saved is not None:  # None if the run was ended before its first checkpoint
            self._restore(saved)
        if self.is_done:
            return
        for file in (run.metrics, run.windows, run.events, run.evaluations):
            drop_after(file, self.steps)
        lines = read_lines(run.evaluations)
        best = {line["step"] for line in lines if line.get("best") and "step" in line}
        checkpoint.keep_only(run.checkpoints / checkpoint.BEST, best)
        if saved is not None:
            kept = self._config.checkpoints
            checkpoint.prune(run.checkpoints, saved.path, kept.keep, kept.keep_every)

    def _restore(self, saved: State) -> None:
        """Restore the complete state of the run from a checkpoint."""
        try:
            self.trainer.load_state(replace(saved, replay=checkpoint.read_replay(saved.path)))
            for each in self.callbacks:
                each.restore(saved)
            progress = saved.values["progress"]
            self.iteration = int(progress["iteration"])
            self._wall_before = float(progress["wall_s"])
            self.steps = self.now = self._saved_at = saved.steps
            self.began_at = int(progress.get("began_at", saved.steps))  # earlier ones lack it
        except (ValueError, LookupError, RuntimeError, TypeError, AttributeError) as error:
            raise CheckpointError(
                f"{saved.path} does not fit this run: {show_reason(error)}."
            ) from error

    @property
    def is_done(self) -> bool:
        """Whether the run is finished, and its summary says so."""
        return self.steps >= self._config.total_steps and self.run.is_finished()

    @property
    def wall_s(self) -> float:
        """Seconds of training, those before a resume included."""
        began = self._start
        return self._wall_before + (0.0 if began is None else time.perf_counter() - began)

    # -- from the first iteration to the last ----------------------------------------------------

    @contextmanager
    def open(self, open_log: OpenLog) -> Iterator[None]:
        """Open the log and start the callbacks; close everything however the training ends."""
        self._knobs.apply(self.began_at)  # what changes at the boundary itself is yet to be logged
        self.log = self.trainer.log = open_log(self._config.planned_steps, self.steps)
        try:
            self._begin_counting()
            _announce(self, self._resumed)
            for each in self.callbacks:
                each.start(self)
            if self._resumed and self.steps:
                self._begin_episodes()
            yield
        finally:
            try:
                self._close()
            finally:
                self.log.close()

    def _begin_counting(self) -> None:
        """Prepare what adds up the steps of an iteration."""
        engine = self.trainer.engines[0]
        self.last_record = dict((read_lines(self.run.metrics) or [{}])[-1])
        placed = [each.placed for each in self.callbacks if each.placed is not None]
        # What a run of an earlier version did not count is not known later either.
        frames = self.last_record.get("frames") if self.steps else 0
        self._sums = IterationSums(engine, placed[0] if placed else None, frames)
        looked_at = any(type(each).step is not Callback.step for each in self.callbacks)
        if not looked_at and not self._delayed:
            self.trainer.on_step = self._sums.on_step
        self._step_times = engine.game.step_times()
        self._start = time.perf_counter()

    def goes_on(self) -> bool:
        """Tell whether there is to be another iteration."""
        left = self.steps < self._config.total_steps
        return left and not self.stopping and not self._enough

    @property
    def stopping(self) -> bool:
        """Whether the run was asked to stop."""
        return self._stop.requested

    def end_early(self) -> None:
        """End the training at the next boundary as if it had reached its ``total_steps``."""
        self._enough = True

    def begin_iteration(self) -> None:
        """Set knobs, and let callbacks and trainer prepare the next iteration."""
        changed = self._knobs.apply(self.steps)
        if changed:
            self.log.event("knobs", step=self.steps, **changed)
        for each in self.callbacks:
            each.begin_iteration(self)
        self.trainer.prepare()
        self._sums.clear()
        if self._step_times is not None:
            self._step_times.read(0.0)  # what was done since the last iteration is not part of it
        self._began, self._cpu = time.perf_counter(), time.process_time()

    def on_step(
        self, engine: Engine, actions: np.ndarray | None, obs: Any, mask: np.ndarray
    ) -> None:
        """Process the step an engine has just made, before its reward is stored.

        Where neither callbacks nor delayed actions need it, steps are added up alone.

        Parameters
        ----------
        engine : Engine
        actions : ndarray of int, shape (n,), or None
            None if all lanes have been reset.
        obs, mask : ndarray
            Where the engine has written what comes next; callbacks may write it anew, and delayed
            actions are taken out of the mask.
        """
        if actions is not None:
            self.now += engine.num_envs
            self._sums.add(engine)
        step = EngineStep(engine, actions, obs, mask)
        for each in self.callbacks:
            each.step(self, step)
        if self._delayed:
            mask[:] = schedules.mask_delayed(engine, self._delayed, self.steps, mask)

    def end_iteration(self, metrics: Metrics) -> None:
        """Log an iteration that is done, and save if it is time to.

        Parameters
        ----------
        metrics : dict
            See :data:`training.run.trainer.Metrics`.
        """
        wall = time.perf_counter() - self._began
        cpu = time.process_time() - self._cpu
        self.now = self.trainer.steps  # of all processes; here those of the lanes of one were seen
        samples = self.now - self.steps
        held_back = {str(r.action): r.ticks_at(self.steps) for r in self._config.mask_schedule}
        self.began_at, self.steps = self.steps, self.now
        self.iteration += 1
        phases, train = metrics["phases"], metrics["train"]
        details = {name: value for name, value in metrics.items() if name not in _PARTS}
        self.last_record = record = {
            "step": self.steps,
            "iter": self.iteration,
            "time": time.time(),
            "wall_s": self.wall_s,
            "sps": samples / wall,
            "sps_cpu": samples / cpu,
            "phases": dict(phases),
            **self._read_env_times(samples, phases),
            "train": dict(train),
            **details,
            **self._sums.record(),
            **({"held_back": held_back} if held_back else {}),
            **{key: value for each in self.callbacks for key, value in each.record().items()},
            "checkpoints": {"skipped": self._writer.skipped},
            "mem": {"rss_mb": psutil.Process().memory_info().rss / 2**20},
        }
        self.log.metrics(record)
        self._save_if_due()
        for each in self.callbacks:
            each.end_iteration(self)

    def _read_env_times(self, samples: int, phases: Mapping[str, float]) -> dict[str, Any]:
        """Read the times of the parts of a step of all lanes, if the game measures them."""
        if self._step_times is None or "env" not in phases:
            return {}
        steps = max(1, samples // self._config.num_envs)
        times = self._step_times.read(phases["env"], steps, self._config.engine_threads)
        return {"env_step": times}

    def end(self) -> Outcome:
        """Save the last state, and let the callbacks finish unless the run was stopped."""
        self._save_last()
        self.finished = self._enough or self.steps >= self._config.total_steps
        if self.finished:
            for each in self.callbacks:
                each.finish(self)
        outcome = Outcome(self.finished, self.steps, self.wall_s)
        self.log.event("end" if self.finished else "stopped", step=self.steps)
        return outcome

    def _close(self) -> None:
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
                for each in self.callbacks:
                    closing.callback(each.close)
        except CheckpointError as lost:
            if why is None:
                raise
            self.log.say(f"warning: {lost}")

    # -- checkpoints -----------------------------------------------------------------------------

    def _save_if_due(self) -> None:
        due = self.steps - max(self._saved_at, 0) >= self._config.checkpoints.every
        # Deterministic runs also leave the same checkpoints every time.
        self._log_written(wait=due and self._config.deterministic)
        if due and self._writer.busy:  # the disk is slower than the training: try again later
            self._writer.skipped += 1
            self.log.event("checkpoint skipped", step=self.steps, skipped=self._writer.skipped)
        elif due:
            self._save()

    def _save_last(self) -> None:
        """Save if it is not saved yet, and wait until it is written."""
        self._log_written(wait=True)
        if self._saved_at != self.steps:
            self._save()
            self._log_written(wait=True)

    def _save(self) -> None:
        self._writer.start(self.steps, self._take_snapshot())
        self._saved_at = self.steps
        self._begin_episodes()

    def _begin_episodes(self) -> None:
        """Begin new episodes, of a game whose rows cannot continue the running ones.

        A run does so after each checkpoint, and where it resumes from one, so that both are equal.
        """
        if not self.trainer.engines[0].game.resumable:
            self.trainer.reset_lanes(self.steps)

    def _take_snapshot(self) -> Callable[[], object]:
        """Copy the state of the run; return a function that writes the checkpoint."""
        config, state = self._config, self.trainer.state()
        tensors = [each.tensors() for each in self.callbacks]
        own = {key: value for each in self.callbacks for key, value in each.state().items()}
        progress = {"iteration": self.iteration, "wall_s": self.wall_s, "began_at": self.began_at}
        decides = {**state.values, "progress": progress, **own}
        values = {
            # Copied at once: the training goes on while this is written.
            **json.loads(json.dumps(decides)),
            "config": config.to_dict(),
            "config_sha256": config.sha256(),
            "versions": machine.versions(games.modules_of(config.env)),
            **machine.revision(),
        }
        trackers = next((each for each in tensors if each is not None), None)
        whole = replace(state, steps=self.steps, values=values, trackers=trackers)
        kept = config.checkpoints
        how: dict[str, Any] = {"keep": kept.keep, "keep_every": kept.keep_every}
        return partial(checkpoint.save, self.run.checkpoints, whole, self._identity, **how)

    def _log_written(self, wait: bool = False) -> None:
        steps = self._writer.written(wait)
        if steps is not None:
            for each in self.callbacks:
                each.saved()
            self.log.event("checkpoint", step=steps)


# -- messages and summary --------------------------------------------------------------------------


def _announce(loop: TrainingLoop, resumed: bool) -> None:
    """Print game, backend, device and sizes of the run, and begin the summary."""
    run, trainer, log, config = loop.run, loop.trainer, loop.log, loop.run.config
    engine, device = trainer.engines[0], str(trainer.device)
    log.say(
        f"{run.name}: {config.env}, backend {engine.backend}, device {device}, "
        f"trainer {config.trainer}, {trainer.chosen_precision}"
    )
    if device.startswith("cuda"):
        log.say("training on CUDA is untested (docs/howto/many_machines.md)")
    log.say(config.sizes(engine.obs[0].nbytes, engine.num_actions))
    shown = [array for each in trainer.engines for array in (each.obs, each.final_obs)]
    log.say(
        f"observations of {engine.obs[0].nbytes:,} bytes: "
        f"{sum(array.nbytes for array in shown) / 2**20:,.1f} MiB in the lanes"
    )
    for line in (line for each in loop.callbacks for line in each.announce()):
        log.say(line)
    for line in _find_remarks(loop):
        log.say(line)
    log.say(config.describe_threads())
    if (longer := config.describe_length()) is not None:
        log.say(longer)
    if resumed:
        log.say(
            f"resumed at {loop.steps:,} decisions"
            if loop.steps
            else "no checkpoint was saved before: it begins again"
        )
    adjusted = {"adjusted": loop.adjusted} if loop.adjusted else {}
    log.event("resume" if resumed else "start", step=loop.steps, **machine.revision(), **adjusted)
    for text in loop.warnings:
        log.warn(text)
    compiled = engine.spec.kernel_module is not None or engine.spec.core_module is not None
    if loop.backend.fell_back and compiled:
        log.say(f"on the backend {loop.backend.name}, which is slow: {loop.backend.probe}")
    so_far = {"status": "running", "steps": loop.steps, "wall_s": loop.wall_s}
    run.write_summary({**so_far, **_describe(loop)})


def _write_summary(loop: TrainingLoop, outcome: Outcome) -> None:
    """Write the summary of a run that has ended."""
    status = {"status": "finished" if outcome.finished else "stopped"}
    timing = {"steps": outcome.steps, "wall_s": outcome.wall_s, "iterations": loop.iteration}
    counted = {
        "ppo_policy_updates": loop.trainer.updates,
        "precision": loop.trainer.chosen_precision,
        **{key: value for each in loop.callbacks for key, value in each.summary().items()},
    }
    last = {"last": replace_nonfinite(loop.last_record)}
    loop.run.write_summary({**status, **timing, **_describe(loop), **counted, **last})


def _describe(loop: TrainingLoop) -> dict[str, Any]:
    """Describe backend, network and rollout, which the summary has from its beginning."""
    facts = {**loop.backend.record(), **loop.run.config.facts(str(loop.trainer.device))}
    remarks = _find_remarks(loop)
    return {**facts, "remarks": remarks} if remarks else facts


def _find_remarks(loop: TrainingLoop) -> list[str]:
    """Find what the game says of the run's options."""
    remarks = games.find(loop.run.config.env, "remarks")
    return [] if remarks is None else list(remarks(loop.trainer.engines[0]))
