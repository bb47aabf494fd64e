"""Engines for training and evaluation, and the seeds they start from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.seats import EXTERNAL
from training.run import games, registry
from training.run.backend import ChosenBackend, build, make_seated
from training.run.config import RunConfig
from training.run.engine import Engine
from training.run.names import is_agent
from training.run.options import Schedule, require
from training.run.seeds import TRAINING_BIT

# Children of the run's seed, in this order for ever: adding one at the end changes no other.
STREAMS = (
    "env",
    "sampler",
    "minibatch",
    "init",
    "explore",
    "eval",
    "auxiliary",
    "manager",
    "curriculum",
    "noise",
    "pool",
    "episodes",
)


def make_engine(
    env: str,
    num_envs: int,
    options: Mapping[str, Any] | None = None,
    *,
    backend: str = "auto",
    num_threads: int = 1,
) -> BatchEngine:
    """Make a batch engine for an environment id.

    Parameters
    ----------
    env : str
    num_envs : int
    options : mapping, optional
        See :func:`with_defaults` and :func:`training.run.backend.make_seated`.
    backend : str
    num_threads : int
    """
    plain, seat = _prepare_seating(env, with_defaults(env, options))
    game, seating = make_seated(env, plain)
    return seat(BatchEngine(game, num_envs, backend, num_threads=num_threads, **seating))


OPPONENTS = ("opponents", "opponent")  # options for the players of the other seats


def opponents_option(options: Mapping[str, Any]) -> str:
    """Name the option for the players of the other seats: the one in use, else the first."""
    return next((name for name in OPPONENTS if name in options), OPPONENTS[0])


def has_agents(options: Mapping[str, Any]) -> bool:
    """Tell whether agents that are played from outside are among the opponents."""
    opponents = options.get(opponents_option(options))
    return any(map(is_agent, [opponents] if isinstance(opponents, str) else opponents or ()))


def check_agents(env: str, options: Mapping[str, Any]) -> None:
    """Refuse opponents played from outside that are missing or do not fit, before they play.

    Raises
    ------
    ConfigError, RunError, CheckpointError
        If one is not there, or does not fit.
    """
    engine: Any = make_engine(env, 1, options)
    if has_agents(options):
        _ = engine.others.players  # they are made when they are asked for


def without_agents(options: Mapping[str, Any]) -> dict[str, Any]:
    """Replace opponents by the game's own, where trained agents are among them."""
    drop = OPPONENTS if has_agents(options) else ()
    return {name: value for name, value in options.items() if name not in drop}


def _prepare_seating(
    env: str, options: Mapping[str, Any]
) -> tuple[dict[str, Any], Callable[[BatchEngine], Any]]:
    """Prepare the options of the game, and a function that seats trained agents in an engine."""
    if not has_agents(options):
        return dict(options), lambda engine: engine
    prepared: tuple[dict[str, Any], Callable[[BatchEngine], Any]]
    prepared = registry.FUNCTIONS.load("seating")(env, options)
    return prepared


def with_defaults(env: str, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Merge options of an environment over the defaults of its game in training."""
    return {**games.get_game(env).env_options, **(options or {})}


def with_seating(env: str, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Merge as :func:`with_defaults`, with a seating, since views of fastenv rotate no seats."""
    merged = with_defaults(env, options)
    game, seating = make_seated(env, merged)
    return {**merged, **seating} if game.spec.num_agents > 1 else merged


@dataclass(frozen=True)
class Lanes:
    """The lanes of a run: one engine, or several that share them, and how they were chosen."""

    engines: tuple[Engine, ...]
    backend: ChosenBackend


def make_lanes(config: RunConfig, groups: int = 1) -> Lanes:
    """Make the engines that a run trains on.

    Parameters
    ----------
    config : RunConfig
    groups : int
        Engines that share the lanes.

    Raises
    ------
    ConfigError, BackendUnavailableError
        See :func:`training.run.backend.build`.
    """
    return _make_lanes(config, groups, config.num_envs // groups, config.env_threads)


def make_trial_lane(config: RunConfig) -> Lanes:
    """Make one lane like those of a run; raises as :func:`make_lanes` would."""
    return _make_lanes(config, 1, 1, 1)


def _make_lanes(config: RunConfig, groups: int, num_envs: int, num_threads: int) -> Lanes:
    options = with_defaults(config.env, config.env_options)
    plain, seat = _prepare_seating(config.env, options)
    how = (config.backend, config.env, plain, num_envs, num_threads)
    built = [build(*how) for _ in range(groups)]
    engines = tuple(seat(engine) for engine, _ in built)
    return Lanes(engines, built[0][1])


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


def stream_seed(seed: int, stream: str, bits: int = 32) -> int:
    """Derive the seed of a generator from a run's seed."""
    child = np.random.SeedSequence(seed).spawn(len(STREAMS))[STREAMS.index(stream)]
    return int(child.generate_state(1, np.uint64)[0]) & ((1 << bits) - 1)


def training_seed(seed: int) -> int:
    """Derive the seed of lane 0; that of lane ``i`` is ``i`` more."""
    return TRAINING_BIT | stream_seed(seed, "env", bits=61)


def get_scheduled_values(schedules: Mapping[str, Schedule], steps: int) -> dict[str, Any]:
    """Return the values of schedules at ``steps``."""
    return {
        name: [value for start, value in schedule if start <= steps][-1]
        for name, schedule in schedules.items()
    }


class Knobs:
    """Knobs of engines that follow a schedule.

    Parameters
    ----------
    engines : sequence of Engine
    schedules : mapping of str to sequence of (int, value)

    Raises
    ------
    ConfigError
        From the engine, if it does not know a knob or one of its values.
    """

    def __init__(self, engines: Sequence[Engine], schedules: Mapping[str, Schedule]) -> None:
        self._engines = tuple(engines)
        self._schedules = schedules
        self.values: dict[str, Any] = {}
        for name, schedule in schedules.items():
            for _, value in schedule:  # a bad value should not wait for its step
                self._configure(name, value)

    def apply(self, steps: int) -> dict[str, Any]:
        """Set the values at ``steps``, for each lane from its next reset; return the changes."""
        active = get_scheduled_values(self._schedules, steps)
        changed = {n: v for n, v in active.items() if n not in self.values or self.values[n] != v}
        for name, value in changed.items():
            self._configure(name, value)
        self.values = active
        return changed

    def _configure(self, name: str, value: Any) -> None:
        for engine in self._engines:
            engine.configure(name, value)
