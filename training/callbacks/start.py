"""Start a run: check it, make its trainer, its callbacks and its log, and train."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from fastenv.errors import show_reason
from fastenv.ticker import print_dots
from training.callbacks import best_times, curriculum
from training.callbacks.make import make_callbacks
from training.callbacks.shaping import make_shaping
from training.callbacks.trackers import options
from training.callbacks.windows import EngineWindows
from training.evaluation.judging import get_judging
from training.logs.boards import check_wandb
from training.logs.run_log import RunLog
from training.run import envs, registry, schedules, trainers
from training.run.config import RunConfig
from training.run.envs import Lanes
from training.run.folder import RunError, RunFolder
from training.run.loop import Outcome, Stop, TrainingLoop, run_training
from training.run.seating import check_opponents, has_agents
from training.run.torch_setup import set_up_torch
from training.run.trainer import Trainer


def train(
    run: RunFolder, lanes: Lanes, resume: bool = False, adjusted: Sequence[str] = ()
) -> Outcome:
    """Train a run to its ``total_steps``, or until a signal stops it.

    Parameters
    ----------
    run : RunFolder
        Has the config, and takes all output.
    lanes : Lanes
        What its trainer's ``make_lanes`` returned.
    resume : bool
        Go on from its newest checkpoint.
    adjusted : sequence of str
        Changes that a command has made to the options; for the record.

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
    config, stop = run.config, Stop()
    wandb = config.to_dict() if config.wandb else None
    with stop.signals(), run.lock():
        if not resume and run.events.exists():
            raise RunError(f"{run.path} was begun by another process: use --resume to continue it.")
        try:
            with ExitStack() as closing:
                with print_dots("preparing"):
                    set_up_torch(config)  # imports much of it
                    trainer = _make_trainer(run, lanes)
                    closing.callback(trainer.close)
                    callbacks = make_callbacks(run, trainer)
                    loop = TrainingLoop(run, trainer, callbacks, lanes.backend, stop, adjusted)
                    if resume:
                        loop.resume()
                return run_training(loop, partial(RunLog, run.path, wandb=wandb))
        except OSError as error:
            remedy = "the checkpoints in it are complete; free disk space and use --resume."
            raise RunError(f"{run.path} cannot be written to ({error}): {remedy}") from error


def _make_trainer(run: RunFolder, lanes: Lanes) -> Trainer:
    make = trainers.get_module(run.config.trainer).make_trainer
    try:
        trainer: Trainer = make(run.config, lanes, run.path)
    except (MemoryError, RuntimeError) as error:  # torch has no class of its own on a processor
        if isinstance(error, RuntimeError) and "allocate" not in str(error):
            raise
        raise RunError(
            f"there is too little memory for the network and its buffers ({show_reason(error)})."
        ) from error
    return trainer


def check_run(config: RunConfig, engine: Any) -> None:
    """Refuse a run that cannot be trained, before anything is written.

    Parameters
    ----------
    config : RunConfig
    engine : Engine
        Of the lanes that the run trains on; it is looked at and stays as it is, since a run that
        goes on is not checked again and must find the same. What sets knobs to see whether it can
        be done does so on lanes of its own.

    Raises
    ------
    ConfigError
    """
    if config.wandb:
        check_wandb()
    config.check_memory(engine.obs[0].nbytes, engine.num_actions)
    schedules.Knobs(envs.make_trial_lane(config).engines, config.schedules)
    schedules.check_delayed(engine, config.mask_schedule)
    options.build(engine, config.trackers, seed=0)
    curriculum.check(config)
    check_opponents(config, engine)
    if config.shaping is not None:
        make_shaping(config, [engine])
    if has_agents(config.env_options):
        registry.FUNCTIONS.load("opponents")(config)
    if config.window_ticks:
        EngineWindows(engine, "", config.window_ticks)
    trainers.get_module(config.trainer).check(config, engine)
    get_judging(config.env).check_run(config)
    if config.best_times is not None:
        best_times.check(config)  # makes the file


def check_config(config: RunConfig) -> None:
    """Check a run that will begin later or in another process; see :func:`check_run`."""
    lanes = trainers.get_module(config.trainer).make_lanes(config)
    check_run(config, lanes.engines[0])
