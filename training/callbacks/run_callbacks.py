"""The callbacks of a run, as its config says, and the training with them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from training.callbacks import best_times, curriculum
from training.callbacks.curriculum import Curriculum
from training.callbacks.evaluations import make_evaluations
from training.callbacks.shaping import make_shaping
from training.callbacks.trackers import Trackers, options
from training.callbacks.trackers.base import StepReader, ended_lanes
from training.callbacks.windows import EngineWindows, WindowRecord
from training.evaluation.judging import get_judging
from training.logs.boards import check_wandb
from training.logs.run_log import RunLog
from training.run import delayed_actions, envs, games, registry, session, trainers
from training.run.checkpoint import Checkpoint
from training.run.config import RunConfig
from training.run.engine import Engine
from training.run.folder import RunFolder
from training.run.loop import Callback, Loop
from training.run.options import require
from training.run.session import Learner, Outcome


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
    envs.Knobs(envs.make_trial_lane(config).engines, config.schedules)
    delayed_actions.check(engine, config.mask_schedule)
    trackers = options.build(engine, config.trackers, seed=0)
    coef = config.intrinsic_coef
    pays = coef is None or (trackers is not None and bool(trackers.intrinsic))
    allowed = "null with trackers none of which pays for what is new"
    require(pays, "native.intrinsic_coef", coef, allowed)
    curriculum.check(config)
    envs.check_opponents(config, engine)
    if config.shaping is not None:
        make_shaping(config, [engine])
    games.get_game(config.env).check(config)
    if envs.has_agents(config.env_options):
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


def run_training(
    run: RunFolder,
    resume: bool,
    learner_of: Callable[[], Learner],
    identity: Callable[[RunFolder, Any], dict[str, Any]],
) -> Outcome:
    """Train a run with its log and its callbacks; see :func:`training.run.session.run_training`."""
    log_of = partial(RunLog, run.path, wandb=run.config.to_dict() if run.config.wandb else None)
    return session.run_training(run, resume, learner_of, identity, log_of, make_callbacks)


def make_callbacks(run: RunFolder, learner: Learner) -> list[Callback]:
    """Return the callbacks that the config of a run asks for, in the order they are called in."""
    config, engine = run.config, learner.engines[0]
    found: list[Callback] = []
    if config.window_ticks:
        found.append(Windows(EngineWindows(engine, run.name, config.window_ticks)))
    if config.episode_events:
        found.append(EpisodeEvents(config.env))
    trackers = options.build(engine, config.trackers, envs.stream_seed(config.seed, "explore"))
    if trackers is not None:
        # Few trainers give intrinsic rewards a value of their own.
        trackers.intrinsic_rewards = getattr(learner, "intrinsic_rewards", None)
        found.append(Tracking(trackers))
    if config.shaping is not None:
        found.append(make_shaping(config, learner.engines))  # behind an archive, which moves lanes
    best = None
    if config.best_times is not None:
        best = best_times.make_best_times(config, learner.engines, run.name)
        found.append(best)
    stages = curriculum.get_options(config)
    if stages is not None:
        how = (learner.engines, run.certificates, learner.policy, learner.reset_lanes)
        records = None if best is None else best.records
        found.append(Curriculum(config, stages, *how, records))
    evaluations = make_evaluations(run, learner.policy)
    return found if evaluations is None else [*found, evaluations]


class EpisodeEvents(Callback):
    """Logs an event ``episode_end`` for each episode.

    Parameters
    ----------
    env : str
        Its game says which columns of the info belong to an episode.
    """

    def __init__(self, env: str) -> None:
        columns = games.get_game(env).columns.items()
        self._columns = tuple(n for n, c in columns if c.read is None and c.of is None)

    def step(
        self, loop: Loop, engine: Engine, actions: np.ndarray | None, obs: Any, mask: np.ndarray
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
        self, loop: Loop, engine: Engine, actions: np.ndarray | None, obs: Any, mask: np.ndarray
    ) -> None:
        """Log the windows that a step closes."""
        for record in self._windows.add() if actions is not None else ():
            self._log(loop, record)

    def finish(self, loop: Loop) -> None:
        """Log the window that the end of the run leaves open."""
        last = self._windows.flush_partial()
        if last is not None:
            self._log(loop, last)

    def _log(self, loop: Loop, record: WindowRecord) -> None:
        loop.log.window({"step": loop.now, **record.to_dict()})

    def summary(self) -> dict[str, Any]:
        """Return what was counted."""
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

    def restore(self, saved: Checkpoint) -> None:
        """Go on from a checkpoint."""
        self._windows.restore(saved.trainer["windows"])


class Tracking(Callback):
    """Lets trackers follow the lanes and add to their rewards; see :class:`Trackers`."""

    def __init__(self, trackers: Trackers) -> None:
        self._trackers = trackers

    @property
    def placed(self) -> np.ndarray | None:
        """Lanes whose episode began in the archive."""
        return self._trackers.placed

    def start(self, loop: Loop) -> None:
        """Print the notes of the trackers."""
        for note in self._trackers.notes:
            loop.log.say(note)

    def begin_iteration(self, loop: Loop) -> None:
        """Reset the sums of the bonuses."""
        self._trackers.begin()

    def step(
        self, loop: Loop, engine: Engine, actions: np.ndarray | None, obs: Any, mask: np.ndarray
    ) -> None:
        """Update all trackers with the step."""
        self._trackers(engine, actions, obs, mask)

    def record(self) -> dict[str, Any]:
        """Return their figures."""
        return {"trackers": self._trackers.metrics()}

    def tensors(self) -> dict[str, Any]:
        """Return their states, by name."""
        return self._trackers.state_dict()

    def restore(self, saved: Checkpoint) -> None:
        """Go on from a checkpoint."""
        self._trackers.load_state_dict(saved.trackers or {})
