"""A run from its first to its last iteration, or to where it is stopped, with any trainer."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch

from fastenv.errors import show_reason
from fastenv.ticker import print_dots
from training.run import checkpoint, envs, machine
from training.run.backend import ChosenBackend
from training.run.checkpoint import Checkpoint, CheckpointError
from training.run.config import RunConfig
from training.run.determinism import be_deterministic
from training.run.engine import Engine
from training.run.folder import RunError, RunFolder
from training.run.jsonl import drop_after, read_lines, replace_nonfinite
from training.run.loop import Callback, Log, Loop, Stop
from training.run.sizes import whole_rollouts


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


@dataclass(frozen=True)
class Snapshot:
    """What a trainer needs to go on exactly, copied; see :func:`training.run.checkpoint.save`."""

    model: dict[str, Any]
    trainer: dict[str, Any]
    states: np.ndarray
    arrays: dict[str, np.ndarray]
    replay: dict[str, np.ndarray] | None = None


class Learner(Protocol):
    """A trainer on its engines, as a run needs it."""

    @property
    def engines(self) -> Sequence[Engine]:
        """What it steps; not reset yet."""

    @property
    def backend(self) -> ChosenBackend:
        """What the engines run on, and how it was chosen."""

    @property
    def device(self) -> str:
        """Where the network is."""

    @property
    def precision(self) -> str:
        """Of its layers; ``auto`` until it has chosen."""

    @property
    def updates(self) -> int:
        """Updates of the parameters until now."""

    def sizes(self) -> str:
        """Return one line on what the options amount to."""

    def facts(self) -> dict[str, Any]:
        """Return what the summary says of network and rollout."""

    def learn(self, loop: Loop) -> None:
        """Train to the end, or until the loop says to stop.

        Around each iteration :meth:`Loop.begin_iteration` and ``end_iteration`` are called, after
        each step ``step``, and at the end ``finish``.
        """

    def snapshot(self) -> Snapshot:
        """Return, at a boundary, everything that decides how the run goes on."""

    def policy(self) -> dict[str, Any]:
        """Return a copy of the parameters of the policy, in host memory."""

    def reset_lanes(self) -> None:
        """Begin a new episode in every lane, at a boundary; the generators of the lanes go on."""

    def restore(self, saved: Checkpoint) -> None:
        """Put a snapshot back.

        Raises
        ------
        ValueError, KeyError, RuntimeError, TypeError
            It does not fit.
        """

    def close(self) -> None:
        """End threads and processes."""


def run_training(
    run: RunFolder,
    resume: bool,
    learner_of: Callable[[], Learner],
    identity: Callable[[RunFolder, Engine], dict[str, Any]],
    log_of: Callable[[int, int], Log],
    make_callbacks: Callable[[RunFolder, Learner], Sequence[Callback]],
) -> Outcome:
    """Train a run to its ``total_steps``, or until it is told to stop.

    Parameters
    ----------
    run : RunFolder
        Where config is, and everything goes.
    resume : bool
        Go on from its newest checkpoint.
    learner_of : callable
        Makes the trainer.
    identity : callable
        Returns what a checkpoint must share with the run.
    log_of : callable
        Takes the decisions of the whole run and those before; opens its log.
    make_callbacks : callable
        Returns the callbacks of the run.

    Raises
    ------
    ConfigError
        From engine or trainer: something they cannot do.
    CheckpointError
        If ``resume`` finds checkpoints, and none that is whole, or a foreign one; nothing is
        written then. Without any checkpoint it begins anew.
    TrainingError
        If the training cannot go on.
    RunError
        If another process is training it, or its folder cannot be written to, such as on a disk
        that is full.
    """
    stop = Stop()
    with stop.signals(), run.lock():
        if not resume and run.events.exists():
            raise RunError(f"{run.path} was begun by another process: use --resume to continue it.")
        try:
            with ExitStack() as closing:
                with print_dots("preparing"):
                    torch.set_num_threads(torch_threads(run.config))
                    be_deterministic(run.config.deterministic)  # imports much of torch
                    learner = _begin(learner_of)
                    closing.callback(learner.close)
                    same = identity(run, learner.engines[0])
                    session = Session(run, learner, make_callbacks(run, learner), same)
                    if resume:
                        session.resume()
                if session.done:
                    return Outcome(True, session.steps, session.progress["wall_s"])
                return session.train(stop, log_of, resume)
        except OSError as error:
            said = "the checkpoints in it are complete; free disk space and use --resume."
            raise RunError(f"{run.path} cannot be written to ({error}): {said}") from error


def _begin(learner_of: Callable[[], Learner]) -> Learner:
    try:
        return learner_of()
    except (MemoryError, RuntimeError) as error:  # torch has no class of its own on a processor
        if isinstance(error, RuntimeError) and "allocate" not in str(error):
            raise
        raise RunError(
            f"there is too little memory for the network and its buffers ({show_reason(error)})."
        ) from error


class Session:
    """A trainer and its callbacks, from where a run is now to its end.

    Parameters
    ----------
    run : RunFolder
    learner : Learner
    callbacks : sequence of Callback
    identity : dict
        What a checkpoint must share with the run, but for the rows of its lanes.

    Attributes
    ----------
    steps : int
        Decisions until now.
    progress : dict
        Iterations and seconds of training until now.
    """

    def __init__(
        self,
        run: RunFolder,
        learner: Learner,
        callbacks: Sequence[Callback],
        identity: dict[str, Any],
    ) -> None:
        self.run, self.learner, self.callbacks = run, learner, callbacks
        spec = learner.engines[0].spec
        self._identity = {**identity, **checkpoint.identity_of_rows(spec, run.config.num_envs)}
        self.steps = 0
        self.progress: dict[str, Any] = {"iteration": 0, "wall_s": 0.0}
        self._began_at = 0
        self._warnings: list[str] = []
        own = [engine for each in callbacks for engine in each.engines]
        self._knobs = envs.Knobs([*learner.engines, *own], run.config.schedules)

    def resume(self) -> None:
        """Load the newest checkpoint and drop what was logged after it."""
        run = self.run
        saved = checkpoint.load_newest(run.checkpoints, self._identity, self._warnings.append)
        if saved is not None:  # None if the run was ended before its first checkpoint
            self._restore(saved)
        if not self.done:
            for file in (run.metrics, run.windows, run.events, run.evaluations):
                drop_after(file, self.steps)
            lines = read_lines(run.evaluations)
            best = {line["step"] for line in lines if line.get("best") and "step" in line}
            checkpoint.keep_only(run.checkpoints / checkpoint.BEST, best)
            if saved is not None:
                kept = run.config.checkpoints
                checkpoint.prune(run.checkpoints, saved.path, kept.keep, kept.keep_every)

    @property
    def done(self) -> bool:
        """Whether nothing is left to do: the run has come to its end, and has said so."""
        return self.steps >= self.run.config.total_steps and self.run.is_finished()

    def _restore(self, saved: Checkpoint) -> None:
        """Put back everything that decides how the run goes on."""
        try:
            self.learner.restore(saved)
            for each in self.callbacks:
                each.restore(saved)
            progress = saved.trainer["progress"]
            iteration, wall_s = int(progress["iteration"]), float(progress["wall_s"])
            self.progress = {"iteration": iteration, "wall_s": wall_s}
            self.steps = saved.steps
            self._began_at = int(progress.get("began_at", saved.steps))  # earlier ones lack it
        except (ValueError, LookupError, RuntimeError, TypeError, AttributeError) as error:
            raise CheckpointError(
                f"{saved.path} does not fit this run: {show_reason(error)}."
            ) from error

    def train(
        self,
        stop: Stop,
        log_of: Callable[[int, int], Log],
        resumed: bool,
    ) -> Outcome:
        """Train to the end, or until it is told to stop; see :func:`run_training`."""
        run, learner = self.run, self.learner
        self._knobs.apply(self._began_at)  # what changes at the boundary itself is yet to be logged
        log = log_of(run.config.planned_steps, self.steps)
        loop = self._loop(log, stop)
        try:
            self._announce(log, resumed)
            loop.start()
            learner.learn(loop)
            outcome = Outcome(loop.finished, loop.steps, loop.wall_s)
            log.event("end" if outcome.finished else "stopped", step=outcome.steps)
        finally:
            try:
                loop.close()
            finally:
                log.close()
        self._summarise(loop, outcome)
        return outcome

    def _loop(self, log: Log, stop: Stop) -> Loop:
        def snapshot(steps: int) -> Callable[[], object]:
            progress = {"iteration": loop.iteration, "wall_s": loop.wall_s}
            return self._snapshot(steps, progress | {"began_at": loop.began_at})

        loop = Loop(
            *(self.run.config, self.learner.engines[0], self._knobs, log, snapshot, stop),
            self.callbacks,
            steps=self.steps,
            last_record=(read_lines(self.run.metrics) or [{}])[-1],
            **self.progress,
        )
        return loop

    def _snapshot(self, steps: int, progress: dict[str, Any]) -> Callable[[], object]:
        """Copy what decides how the run goes on; what is returned writes it."""
        config, taken = self.run.config, self.learner.snapshot()
        tensors = [each.tensors() for each in self.callbacks]
        states = {key: value for each in self.callbacks for key, value in each.state().items()}
        decides = {**taken.trainer, "progress": progress, **states}
        return partial(
            checkpoint.save,
            self.run.checkpoints,
            steps,
            identity=self._identity,
            model=taken.model,
            trainer={
                # Copied at once: the training goes on while this is written.
                **json.loads(json.dumps(decides)),
                "config": config.to_dict(),
                "config_sha256": config.sha256(),
                "versions": machine.versions(),
                **machine.revision(),
            },
            states=taken.states,
            arrays=taken.arrays,
            trackers=next((each for each in tensors if each is not None), None),
            replay=taken.replay,
            keep=config.checkpoints.keep,
            keep_every=config.checkpoints.keep_every,
        )

    def _announce(self, log: Log, resumed: bool) -> None:
        """Say what is trained, how and on what."""
        run, learner, config = self.run, self.learner, self.run.config
        engine, backend = learner.engines[0], learner.backend
        log.say(
            f"{run.name}: {config.env}, backend {engine.backend}, device {learner.device}, "
            f"trainer {config.trainer}, {learner.precision}"
        )
        if learner.device.startswith("cuda"):
            log.say("training on CUDA is untested (docs/howto/many_machines.md)")
        log.say(learner.sizes())
        if (longer := whole_rollouts(config)) is not None:
            log.say(longer)
        if resumed:
            log.say(
                f"resumed at {self.steps:,} decisions"
                if self.steps
                else "no checkpoint was saved before: it begins again"
            )
        log.event("resume" if resumed else "start", step=self.steps, **machine.revision())
        for text in self._warnings:
            log.warn(text)
        if backend.fell_back:
            log.say(f"on the backend {backend.name}, which is slow: {backend.probe}")
        so_far = {"status": "running", "steps": self.steps, "wall_s": self.progress["wall_s"]}
        run.write_summary({**so_far, **self._facts()})

    def _facts(self) -> dict[str, Any]:
        """Return what the summary of a run says from its beginning."""
        return {**self.learner.backend.record(), **self.learner.facts()}

    def _summarise(self, loop: Loop, outcome: Outcome) -> None:
        """Write the summary of a run that has ended."""
        status = {"status": "finished" if outcome.finished else "stopped"}
        timing = {"steps": outcome.steps, "wall_s": outcome.wall_s, "iterations": loop.iteration}
        counted = {
            "ppo_policy_updates": self.learner.updates,
            "precision": self.learner.precision,
            **{key: value for each in self.callbacks for key, value in each.summary().items()},
        }
        last = {"last": replace_nonfinite(loop.last_record)}
        self.run.write_summary({**status, **timing, **self._facts(), **counted, **last})


def torch_threads(config: RunConfig) -> int:
    """Return the threads of the network: as asked, or the cores that the engine leaves.

    Ranks of torchrun on one machine share its cores.
    """
    if config.torch_threads is not None:
        return config.torch_threads
    ranks = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    return max(1, machine.physical_cores() // ranks - config.env_threads)
