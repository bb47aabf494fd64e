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
    """Return a batch engine for an environment id.

    Parameters
    ----------
    env : str
    num_envs : int
    options : mapping, optional
        See :func:`with_defaults` and :func:`training.run.backend.make_seated`.
    backend : str
    num_threads : int
    """
    plain, seat = _seating(env, with_defaults(env, options))
    game, seating = make_seated(env, plain)
    return seat(BatchEngine(game, num_envs, backend, num_threads=num_threads, **seating))


OPPONENTS = ("opponents", "opponent")  # options that say who plays the other seats


def opponents_option(options: Mapping[str, Any]) -> str:
    """Return the option that says who plays the other seats, as far as options tell."""
    return next((name for name in OPPONENTS if name in options), OPPONENTS[0])


def has_agents(options: Mapping[str, Any]) -> bool:
    """Tell whether agents that are played from outside are among the opponents."""
    given = options.get(opponents_option(options))
    return any(map(is_agent, [given] if isinstance(given, str) else given or ()))


def check_agents(env: str, options: Mapping[str, Any]) -> None:
    """Refuse opponents that are played from outside and could not sit there, before they play.

    Raises
    ------
    ConfigError, RunError, CheckpointError
        If one is not there, or does not fit.
    """
    engine: Any = make_engine(env, 1, options)
    if has_agents(options):
        _ = engine.others.players  # they are made when they are asked for


def without_agents(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with the game's own opponents, where trained agents are among them."""
    drop = OPPONENTS if has_agents(options) else ()
    return {name: value for name, value in options.items() if name not in drop}


def _seating(
    env: str, options: Mapping[str, Any]
) -> tuple[dict[str, Any], Callable[[BatchEngine], Any]]:
    """Return what the game is to be made with, and what seats trained agents in an engine."""
    if not has_agents(options):
        return dict(options), lambda engine: engine
    found: tuple[dict[str, Any], Callable[[BatchEngine], Any]]
    found = registry.FUNCTIONS.load("seating")(env, options)
    return found


def with_defaults(env: str, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return options of an environment over those that its game wants in training."""
    return {**games.get_game(env).env_options, **(options or {})}


def with_seating(env: str, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return :func:`with_defaults` as views of fastenv take them: they do not rotate by default."""
    found = with_defaults(env, options)
    game, seating = make_seated(env, found)
    return {**found, **seating} if game.spec.num_agents > 1 else found


@dataclass(frozen=True)
class Lanes:
    """The lanes of a run: one engine, or several that share them, and how they were chosen."""

    engines: tuple[Engine, ...]
    backend: ChosenBackend


def make_lanes(config: RunConfig, groups: int = 1) -> Lanes:
    """Return the engines a run trains on.

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
    """Return one lane of what a run trains on; raises as :func:`make_lanes` would."""
    return _make_lanes(config, 1, 1, 1)


def _make_lanes(config: RunConfig, groups: int, num_envs: int, num_threads: int) -> Lanes:
    options = with_defaults(config.env, config.env_options)
    plain, seat = _seating(config.env, options)
    how = (config.backend, config.env, plain, num_envs, num_threads)
    made = [build(*how) for _ in range(groups)]
    engines = tuple(seat(engine) for engine, _ in made)
    return Lanes(engines, made[0][1])


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
    given = [config.env_options.get(name)]
    given += [value for _, value in config.schedules.get(name, ())]
    given += [stage["knobs"].get(name) for stage in config.gate.get("stages", ())]
    for value in given:
        names = [value] if isinstance(value, str) else value or ()
        allowed = "bots; seats are played from outside with the section selfplay alone"
        require(EXTERNAL not in names, name, value, allowed)


def stream_seed(seed: int, stream: str, bits: int = 32) -> int:
    """Return the seed of one of the generators that derive from a run's seed."""
    child = np.random.SeedSequence(seed).spawn(len(STREAMS))[STREAMS.index(stream)]
    return int(child.generate_state(1, np.uint64)[0]) & ((1 << bits) - 1)


def training_seed(seed: int) -> int:
    """Return the seed of lane 0; lane ``i`` has ``i`` more."""
    return TRAINING_BIT | stream_seed(seed, "env", bits=61)


def get_scheduled_values(schedules: Mapping[str, Schedule], steps: int) -> dict[str, Any]:
    """Return the values that schedules have at ``steps``."""
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
        """Set what holds at ``steps``, for each lane from its next reset; return what changed."""
        active = get_scheduled_values(self._schedules, steps)
        changed = {n: v for n, v in active.items() if n not in self.values or self.values[n] != v}
        for name, value in changed.items():
            self._configure(name, value)
        self.values = active
        return changed

    def _configure(self, name: str, value: Any) -> None:
        for engine in self._engines:
            engine.configure(name, value)
