"""A run from its first to its last iteration, or to where it is stopped, with any trainer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch

from fastenv import BatchEngine
from training.callbacks.followers import Followers, followers_of
from training.evaluation.during import evaluations_of
from training.hier.options import policy_run
from training.logs.run_log import RunLog, drop_after, finite, read_lines
from training.nets.precision import be_deterministic
from training.run import checkpoint, envs, machine
from training.run.checkpoint import Checkpoint, CheckpointError
from training.run.config import RunConfig
from training.run.env_impl import EnvImpl
from training.run.folder import RunError, RunFolder
from training.run.loop import Loop, Stop
from training.run.presets import derived_sizes


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


class Learner(Protocol):
    """A trainer on its engines, as a run needs it."""

    @property
    def engines(self) -> Sequence[BatchEngine]:
        """What it steps; not reset yet."""

    @property
    def impl(self) -> EnvImpl:
        """How the implementation of the engines was chosen."""

    @property
    def device(self) -> str:
        """Where the network is."""

    @property
    def precision(self) -> str:
        """Of its layers; ``auto`` until it has chosen."""

    @property
    def updates(self) -> int:
        """Updates of the parameters until now."""

    def learn(self, loop: Loop) -> None:
        """Train to the end, or until the loop says to stop.

        Around each iteration :meth:`Loop.begin_iteration` and ``end_iteration`` are called, after
        each step ``step``, and at the end ``finish``.
        """

    def snapshot(self) -> Snapshot:
        """Return, at a border, everything that decides how the run goes on."""

    def policy(self) -> dict[str, Any]:
        """Return a copy of the parameters of the policy, in host memory."""

    def reset_lanes(self) -> None:
        """Begin a new episode in every lane, at a border; the generators of the lanes go on."""

    def restore(self, saved: Checkpoint) -> None:
        """Put a snapshot back.

        Raises
        ------
        ValueError, KeyError, RuntimeError, TypeError
            It does not fit.
        """

    def close(self) -> None:
        """Let go of threads and processes."""


def conduct(
    run: RunFolder,
    resume: bool,
    learner_of: Callable[[RunConfig], Learner],
    identity: Callable[[RunFolder, BatchEngine], dict[str, Any]],
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
        If its folder cannot be written to, such as on a disk that is full.
    """
    stop = Stop()
    with stop.signals():
        config = run.config
        torch.set_num_threads(torch_threads(config))
        be_deterministic(config.deterministic)
        learner = learner_of(config)
        try:
            engine = learner.engines[0]
            rows = checkpoint.identity_of_rows(engine.spec.state_dtype, config.num_envs)
            return _conduct(run, resume, stop, learner, {**identity(run, engine), **rows})
        except OSError as error:
            raise RunError(
                f"{run.path} cannot be written to ({error}): the checkpoints in it are whole; make "
                "room and go on with --resume."
            ) from error
        finally:
            learner.close()


def _conduct(
    run: RunFolder, resume: bool, stop: Stop, learner: Learner, identity: dict[str, Any]
) -> Outcome:
    config, engine = run.config, learner.engines[0]
    followers = followers_of(run, learner.engines, learner.policy, learner.reset_lanes)
    knobs = envs.Knobs([*learner.engines, *followers.engines], config.schedules)
    warnings: list[str] = []
    saved = None
    if resume:  # None if the run was ended before its first checkpoint
        saved = checkpoint.load_newest(run.checkpoints, identity, warnings.append)
    progress: dict[str, Any] = {"iteration": 0, "wall_s": 0.0}
    steps = 0
    if saved is not None:
        _restore(learner, followers, saved)
        steps, progress = saved.steps, saved.trainer["progress"]
    if steps >= config.total_steps:  # nothing is left to do
        return Outcome(True, steps, progress["wall_s"])
    if resume:
        for file in (run.metrics, run.windows, run.events, run.evaluations):
            drop_after(file, steps)
    knobs.apply(steps)

    def snapshot(steps: int) -> Callable[[], None]:
        taken = learner.snapshot()
        return partial(
            checkpoint.save,
            run.checkpoints,
            steps,
            identity=identity,
            model=taken.model,
            trainer={
                **taken.trainer,
                "progress": {"iteration": loop.iteration, "wall_s": loop.wall_s},
                **followers.state(),
                "config": config.to_dict(),
                "config_sha256": config.sha256(),
                "versions": machine.versions(),
                **machine.revision(),
            },
            states=taken.states,
            arrays=taken.arrays,
            trackers=None if followers.trackers is None else followers.trackers.state_dict(),
            keep=config.checkpoints.keep,
            keep_every=config.checkpoints.keep_every,
        )

    drawn = config.to_dict() if config.wandb else None
    log = RunLog(run.path, config.total_steps, steps, wandb=drawn)
    evaluations = evaluations_of(run, log, learner.policy, steps)
    loop = Loop(
        *(config, engine, knobs, log, snapshot, stop, followers, evaluations),
        steps=steps,
        last_record=(read_lines(run.metrics) or [{}])[-1],
        **progress,
    )
    described = policy_run(config, "worker") if config.trainer == "hier" else config
    summary = {**learner.impl.record(), **_ppo_record(described, learner.device)}
    try:
        log.say(
            f"{run.name}: {config.env}, backend {engine.backend}, device {learner.device}, "
            f"trainer {config.trainer}, {learner.precision}"
        )
        sizes = derived_sizes(described, engine.obs[0].nbytes, engine.num_actions)
        log.say(f"Worker: {sizes}" if config.trainer == "hier" else sizes)
        log.event("resume" if resume else "start", step=steps, **machine.revision())
        for text in warnings:
            log.warn(text)
        impl = learner.impl
        if impl.fell_back:
            log.say(f"on the backend {impl.backend}, which is slow: {impl.probe}")
        so_far = {"status": "running", "steps": steps, "wall_s": progress["wall_s"]}
        run.write_summary({**so_far, **summary})
        if evaluations is not None:
            evaluations.catch_up(steps, loop.iteration)
        learner.learn(loop)
        outcome = Outcome(not loop.stopped, loop.steps, loop.wall_s)
        log.event("end" if outcome.finished else "stopped", step=outcome.steps)
    finally:
        loop.close()
        log.close()
    status = {"status": "finished" if outcome.finished else "stopped"}
    timing = {"steps": outcome.steps, "wall_s": outcome.wall_s, "iterations": loop.iteration}
    summary |= {"ppo_policy_updates": learner.updates, "precision": learner.precision}
    if (windows := followers.windows) is not None:
        summary["windows"] = {
            "window_ticks": config.window_ticks,
            "windows_emitted": windows.current_window_id,
            "env_steps_total": windows.env_steps_total,
            "agent_steps_total": windows.agent_steps_total,
            "episodes_total": windows.episodes_total,
        }
    run.write_summary({**status, **timing, **summary, "last": finite(loop.last_record)})
    return outcome


def _ppo_record(config: RunConfig, device: str) -> dict[str, Any]:
    """Return the fields of the summary on network and rollout (Prospector spec, section 23)."""
    ppo = config.ppo
    return {
        "ppo_policy_arch": f"mlp-{'x'.join(map(str, ppo.net_arch))}-{ppo.activation}",
        "ppo_device": device,
        "ppo_num_envs": config.num_envs,
        "ppo_num_workers": config.env_threads,
        "ppo_rollout_steps": ppo.n_steps,
    }


def torch_threads(config: RunConfig) -> int:
    """Return the threads of the network: as asked, or the cores that the engine leaves."""
    if config.torch_threads is not None:
        return config.torch_threads
    return max(1, machine.physical_cores() - config.env_threads)


def _restore(learner: Learner, followers: Followers, saved: Checkpoint) -> None:
    """Put back everything that decides how the run goes on."""
    try:
        learner.restore(saved)
        followers.restore(saved)
    except (ValueError, KeyError, RuntimeError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise CheckpointError(f"{saved.path} does not fit this run: {reason}") from error
