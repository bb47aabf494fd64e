"""Start a run: check it, make its trainer, its callbacks and its log, and train."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from fastenv.errors import show_reason
from fastenv.seats import EXTERNAL
from fastenv.ticker import print_dots
from training.callbacks import best_times, curriculum
from training.callbacks.curriculum import Curriculum
from training.callbacks.evaluations import make_evaluations
from training.callbacks.shaping import make_shaping
from training.callbacks.trackers import options
from training.callbacks.trackers.base import StepReader, ended_lanes
from training.callbacks.windows import Windows
from training.evaluation.judging import get_judging
from training.logs.live_map import FOLDER
from training.logs.run_log import RunLog, check_wandb
from training.nets.precision import set_up_torch
from training.run import envs, games, registry, schedules
from training.run.callback import Callback, EngineStep, Progress
from training.run.config import RunConfig
from training.run.engine import Engine
from training.run.envs import Lanes
from training.run.folder import RunError, RunFolder
from training.run.loop import Outcome, TrainingLoop, run_training
from training.run.options import require
from training.run.seating import has_agents
from training.run.seeds import stream_seed
from training.run.signals import Stop
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
        Of :func:`training.run.envs.make_lanes`.
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
    make = registry.load_trainer(run.config.trainer).make_trainer
    try:
        trainer: Trainer = make(run.config, lanes, run.path)
    except (MemoryError, RuntimeError) as error:  # torch has no class of its own on a processor
        if isinstance(error, RuntimeError) and "allocate" not in str(error):
            raise
        raise RunError(
            f"there is too little memory for the network and its buffers ({show_reason(error)})."
        ) from error
    return trainer


def make_callbacks(run: RunFolder, trainer: Trainer) -> list[Callback]:
    """Make the callbacks of a run by its config, in the order of their calls."""
    config, engine = run.config, trainer.engines[0]
    callbacks: list[Callback] = []
    if config.window_ticks:
        callbacks.append(Windows(engine, run.name, config.window_ticks))
    if config.episode_events:
        callbacks.append(EpisodeEvents(config.env))
    if config.trackers:
        seed = stream_seed(config.seed, "explore")
        callbacks.append(options.build(engine, config.trackers, seed))
    if config.shaping is not None:
        # Behind an archive, which moves lanes.
        callbacks.append(make_shaping(config, trainer.engines))
    best = None
    if config.best_times is not None:
        best = best_times.make_best_times(config, trainer.engines, run.name)
        callbacks.append(best)
    if config.gate:
        stages = curriculum.get_options(config)
        how = (trainer.engines, run.certificates, trainer.policy, trainer.reset_lanes)
        callbacks.append(Curriculum(config, stages, *how, best))
    if config.live_map is not None:
        callbacks.append(make_live_map(config, trainer.engines, run.path))
    if config.evaluates != "off":
        callbacks.append(make_evaluations(run, trainer.policy))
    return callbacks


def make_live_map(config: RunConfig, engines: Sequence[Engine], run: Path | None) -> Callback:
    """Make the live map of a run in its folder; ConfigError if the game has none."""
    make = games.find(config.env, "live_map")
    given = None if config.live_map is None else config.live_map.to_dict()
    require(make is not None, "live_map", given, "null: this game has no map")
    made: Callback = make(engines, config.live_map, None if run is None else run / FOLDER)
    return made


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
    if config.schedules:
        schedules.Knobs(envs.make_trial_lane(config).engines, config.schedules)
    schedules.check_delayed(engine, config.mask_schedule)
    if config.trackers:
        options.build(engine, config.trackers, seed=0)
    if config.gate:
        curriculum.check(config)
    check_opponents(config, engine)
    if config.shaping is not None:
        make_shaping(config, [engine])
    if has_agents(config.env_options):
        registry.FUNCTIONS.load("opponents")(config)
    if config.window_ticks:
        Windows(engine, "", config.window_ticks)
    if config.live_map is not None:
        make_live_map(config, [engine], None)
    registry.load_trainer(config.trainer).check(config, engine)
    get_judging(config.env).check_run(config)
    if config.best_times is not None:
        best_times.check(config)  # makes the file


def check_opponents(config: RunConfig, engine: Engine) -> None:
    """Refuse seats that are played from outside: a trainer would take their turns for its own.

    Raises
    ------
    ConfigError
        If an option, a schedule or a stage of the gate asks for them.
    """
    seats = engine.game.external_seats
    if seats is None:
        return
    allowed = "left out: seats are played from outside with the section selfplay alone"
    every = config.env_options.get("seats", "one")
    require(every != "all", "env_options.seats", every, allowed)
    name = seats.opponents
    values = [config.env_options.get(name)]
    values += [value for _, value in config.schedules.get(name, ())]
    values += [stage["knobs"].get(name) for stage in config.gate.get("stages", ())]
    for value in values:
        names = [value] if isinstance(value, str) else value or ()
        allowed = "bots; seats are played from outside with the section selfplay alone"
        require(EXTERNAL not in names, name, value, allowed)


def check_config(config: RunConfig) -> None:
    """Check a run that will begin later or in another process; see :func:`check_run`."""
    check_run(config, envs.make_lanes(config).engines[0])


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

    def step(self, loop: Progress, step: EngineStep) -> None:
        """Log the episodes that a step has ended, in the order of the lanes."""
        engine = step.engine
        if step.actions is None:
            return
        ended, lasting = ended_lanes(engine), engine.spec.has_tau
        seen = StepReader.after_step(engine, step.obs)
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
