"""Engines for training and evaluation, on one of the four backends or ``auto``.

Whether a backend works here is found out by playing with it, not by looking for files: a library
that was built for another machine is there and does not work.

``auto`` takes the fastest that works. Where the compiled core does not, the games are stepped in
plain Python, with observations, masks and rewards from Numba if that works.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fastenv import BackendUnavailableError, BatchEngine, ConfigError, Game
from fastenv import registry as ids
from fastenv.backend import FASTEST_FIRST, named
from fastenv.seats import ROTATE
from training.run import games, machine, registry
from training.run.config import BACKENDS, RunConfig
from training.run.engine import Engine
from training.run.options import require
from training.run.seating import has_agents

FAST = "fast"


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
        See :func:`with_defaults` and :func:`make_seated`.
    backend : str
    num_threads : int
    """
    plain, seat = _prepare_seating(env, with_defaults(env, options))
    game, seating = make_seated(env, plain)
    return seat(BatchEngine(game, num_envs, backend, num_threads=num_threads, **seating))


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


def make_lanes(config: RunConfig) -> Lanes:
    """Make the engines that a run trains on; of several ranks, with this one's share of the lanes.

    A trainer with lanes of its own gets one to check a run with.

    Raises
    ------
    ConfigError, BackendUnavailableError
        See :func:`build`; or ranks that the trainer does not have.
    """
    share = config.share_of(machine.ranks())
    if config.OWN_LANES:
        return make_trial_lane(share)
    engines = share.num_engines
    return _make_lanes(share, engines, share.num_envs // engines, share.engine_threads)


def make_trial_lane(config: RunConfig) -> Lanes:
    """Make one lane like those of a run; raises as :func:`make_lanes` would."""
    return _make_lanes(config, 1, 1, 1)


def _make_lanes(config: RunConfig, engines: int, num_envs: int, num_threads: int) -> Lanes:
    options = with_defaults(config.env, config.env_options)
    plain, seat = _prepare_seating(config.env, options)
    how = (config.backend, config.env, plain, num_envs, num_threads)
    built = [build(*how) for _ in range(engines)]
    return Lanes(tuple(seat(engine) for engine, _ in built), built[0][1])


# -- backends --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ChosenBackend:
    """The requested backend, and the one that was chosen.

    Parameters
    ----------
    requested : {"auto", "reference", "numba", "cython", "fast"}
    name : {"reference", "numba", "cython", "fast"}
        The engine's backend.
    probe : str
        ``"ok"``, or why the fast backend does not work here.
    """

    requested: str
    name: str
    probe: str

    @property
    def fell_back(self) -> bool:
        """Whether the fast backend would have been taken, but does not work here."""
        return self.requested == "auto" and self.name != FAST

    def record(self) -> dict[str, Any]:
        """Return fields of the summary of a run: the backend, and those of the published one."""
        selected = _to_published_name(self.name)
        return {
            "backend": self.name,
            "ppo_env_impl_requested": _to_published_name(self.requested),
            "ppo_env_impl_selected": selected,
            "ppo_env_impl_auto_fallback": self.fell_back,
            "ppo_native_available": self.probe == "ok",
            "ppo_native_probe": self.probe,
            "ppo_vector_backend_selected": "native_batch" if selected == "native" else "serial",
        }


def _to_published_name(name: str) -> str:
    """Convert the name of a backend to that of the published benchmark of Prospector."""
    backend = named(name)
    if backend is None:
        return "auto"
    return "native" if backend.use_cython else "reference"


def make_seated(env: str, options: Mapping[str, Any] | None = None) -> tuple[Game, dict[str, Any]]:
    """Make the configured game of an id, and the seating arguments of its engine.

    In a game of several agents its default opponent plays the others, and the learner gets to know
    every seat, unless options say otherwise.

    Parameters
    ----------
    env : str
        Environment id.
    options : mapping, optional
        Of the environment; in a game of several agents ``opponent`` and ``agent_seat`` too.

    Raises
    ------
    ConfigError
        For options that the environment refuses, or where nobody is named and there is no default.
    """
    game_options = dict(options or {})
    game, seating = ids.make_seated(env, game_options.pop("opponent", None), game_options)
    if game.spec.num_agents == 1:
        return game, seating
    if seating["opponent"] is None:
        seating["opponent"] = game.spec.opponent
    players = f" ({', '.join(game.bot_names)})" if game.bot_names else ""
    allowed = (
        f"the name of a scripted player{players}: {game.spec.num_agents} agents meet in this game, "
        "and it names none itself"
    )
    require(seating["opponent"] is not None, "env_options.opponent", None, allowed)
    return game, {"agent_seat": ROTATE, **seating}


def build(
    requested: str,
    env: str,
    options: Mapping[str, Any] | None = None,
    num_envs: int = 1,
    num_threads: int = 1,
) -> tuple[BatchEngine, ChosenBackend]:
    """Make an engine on the requested backend, and record the choice.

    Its first lane has played a step: whoever trains on it resets all of them.

    Parameters
    ----------
    requested : {"auto", "reference", "numba", "cython", "fast"}
    env : str
        Environment id.
    options : mapping, optional
        See :func:`make_seated`.
    num_envs, num_threads : int
        Lanes and threads of the engine.

    Raises
    ------
    ConfigError
        For another word, or options that the environment refuses.
    ForeignError
        An environment of another package fails.
    BackendUnavailableError
        If a backend was requested by name and does not work here; says why.
    """
    allowed = "one of " + ", ".join(map(repr, BACKENDS))
    require(requested in BACKENDS, "backend", requested, allowed)
    game, seating = make_seated(env, options)

    def engine(backend: str, lanes: int = num_envs, threads: int = num_threads) -> BatchEngine:
        return BatchEngine(game, lanes, backend, num_threads=threads, **seating)

    _, fast_probe = probe(partial(engine, FAST, 1, 1))  # in any case, for the record of a run
    candidates = FASTEST_FIRST if requested == "auto" else (requested,)
    for name in candidates:
        built, why = probe(partial(engine, name))
        if built is not None:
            return built, ChosenBackend(requested, name, fast_probe)
    raise BackendUnavailableError(f"backend={requested!r} does not work here: {why}")


def probe(make: Callable[[], BatchEngine]) -> tuple[BatchEngine | None, str]:
    """Make an engine and step its first lane; return it and ``"ok"``, or None and the reason.

    Raises
    ------
    ConfigError, ForeignError
        What is asked for is impossible with any implementation, or an environment of another
        package fails.
    """
    try:
        engine = make()
        first = np.zeros(engine.num_envs, np.uint8)
        first[0] = 1
        engine.reset_many(first, seeds=0)
        engine.step_many(np.argmax(engine.mask, axis=-1).astype(np.int32), select=first)
    except (ConfigError, games.ForeignError):
        raise
    except Exception as error:  # whatever goes wrong is a reason not to use it
        reason = " ".join(str(error).split())
        return None, f"{type(error).__name__}: {reason}"
    return engine, "ok"
