"""fastenv: game environments, rules in plain Python, batches at compiled speed, equal bit for bit.

>>> import fastenv
>>> vec = fastenv.make_vec("SkullKingWorker-v0", num_envs=4, autoreset_mode="same_step")
>>> obs, infos = vec.reset(seed=0)
>>> actions = fastenv.sample_legal(vec.action_masks(), rng=0)
>>> obs, rewards, terminated, truncated, infos = vec.step(actions)

Nothing heavy is imported here: Numba and the compiled cores are loaded when an environment that
uses them is made.
"""

from __future__ import annotations

import fastenv.startup  # noqa: F401  before what takes long to import

# isort: split

from collections.abc import Sequence
from typing import Any

import gymnasium

from fastenv._version import __version__
from fastenv.backend import Backend, BackendName
from fastenv.engine import BatchEngine
from fastenv.env import FastEnv
from fastenv.errors import (
    BackendUnavailableError,
    ConfigError,
    FastEnvError,
    FileError,
    InvalidActionError,
    ResetNeededError,
    StateError,
    UnknownOptionError,
)
from fastenv.game import Compiled, Game, GameSpec
from fastenv.games import register_envs
from fastenv.memory import StepBuffers
from fastenv.registry import NAMESPACE, list_envs, make_game, make_seated, short_id
from fastenv.vector import AutoresetName, FastVectorEnv, sample_legal

__all__ = [
    "Backend",
    "BackendUnavailableError",
    "BatchEngine",
    "Compiled",
    "ConfigError",
    "FastEnv",
    "FastEnvError",
    "FastVectorEnv",
    "FileError",
    "Game",
    "GameSpec",
    "InvalidActionError",
    "ResetNeededError",
    "StateError",
    "StepBuffers",
    "UnknownOptionError",
    "__version__",
    "list_envs",
    "make",
    "make_engine",
    "make_game",
    "make_vec",
    "sample_legal",
]

register_envs()


def make(
    env_id: str,
    *,
    backend: BackendName | Backend = "auto",
    use_numba: bool | None = None,
    use_cython: bool | None = None,
    render_mode: str | None = None,
    info_columns: Sequence[str] | None = None,
    info_mode: str = "full",
    opponent: str | Sequence[str] | None = None,
    **config: Any,
) -> FastEnv:
    """Return a single environment, without Gymnasium's wrappers.

    Parameters
    ----------
    env_id : str
        An id of :func:`list_envs`, with or without the namespace.
    backend : str or Backend
        ``auto`` (the fastest that can be imported), ``reference``, ``numba``, ``cython`` or
        ``fast``. All give the same bits.
    use_numba, use_cython : bool, optional
        The same choice as two flags; as soon as one is given, the other defaults to False.
    render_mode : {None, "ansi", "rgb_array"}
    info_columns, info_mode, opponent
        See :class:`FastEnv`.
    **config
        Options of the game.

    Raises
    ------
    ConfigError
        An unknown id, or a value that is not allowed; the message names the field.
    UnknownOptionError
        A keyword that is no option: a ``ConfigError`` that is a ``TypeError`` too.
    BackendUnavailableError
        The backend cannot run here; the message says what to install.

    Examples
    --------
    >>> import fastenv
    >>> env = fastenv.make("SkullKingWorker-v0", num_players=5)
    >>> obs, info = env.reset(seed=0)
    >>> obs, reward, terminated, truncated, info = env.step(int(env.action_masks().argmax()))
    """
    flags: dict[str, Any] = {"backend": backend, "use_numba": use_numba, "use_cython": use_cython}
    flags |= {"render_mode": render_mode, "info_columns": info_columns}
    flags |= {"info_mode": info_mode, "opponent": opponent}
    env = FastEnv(short_id(env_id), **flags, **config)
    env.spec = _spec(env_id, {**flags, **config})
    return env


def make_vec(
    env_id: str,
    num_envs: int,
    *,
    backend: BackendName | Backend = "auto",
    use_numba: bool | None = None,
    use_cython: bool | None = None,
    num_threads: int | None = None,
    autoreset_mode: AutoresetName | gymnasium.vector.AutoresetMode = "next_step",
    copy: bool = True,
    render_mode: str | None = None,
    info_columns: Sequence[str] | None = None,
    info_mode: str = "full",
    agents: str = "one",
    opponent: str | Sequence[str] | None = None,
    **config: Any,
) -> FastVectorEnv:
    """Return ``num_envs`` environments behind Gymnasium's vector interface.

    Parameters
    ----------
    env_id, backend, use_numba, use_cython, render_mode, **config
        See :func:`make`.
    num_envs : int
        Number of lanes.
    num_threads, autoreset_mode, copy, info_columns, info_mode, agents, opponent
        See :class:`FastVectorEnv`.

    Examples
    --------
    >>> import fastenv
    >>> vec = fastenv.make_vec("SkullKingWorker-v0", num_envs=4, autoreset_mode="same_step")
    >>> obs, infos = vec.reset(seed=0)
    >>> actions = fastenv.sample_legal(vec.action_masks(), rng=0)
    >>> obs, rewards, terminated, truncated, infos = vec.step(actions)
    >>> obs.shape
    (4, 203)
    """
    options: dict[str, Any] = {
        "backend": backend,
        "use_numba": use_numba,
        "use_cython": use_cython,
        "num_threads": num_threads,
        "autoreset_mode": autoreset_mode,
        "copy": copy,
        "render_mode": render_mode,
        "info_columns": info_columns,
        "info_mode": info_mode,
        "agents": agents,
        "opponent": opponent,
        **config,
    }
    vec = FastVectorEnv(short_id(env_id), num_envs, **options)
    vec.spec = _spec(env_id, {"num_envs": num_envs, **options})
    return vec


def make_engine(
    env_id: str,
    num_envs: int,
    *,
    backend: str | Backend = "auto",
    num_threads: int | None = None,
    info_columns: Sequence[str] | None = None,
    opponent: str | Sequence[str] | None = None,
    **config: Any,
) -> BatchEngine:
    """Return a batch engine, the interface that our trainers use; see :class:`BatchEngine`.

    It shows all agents of a game, unless an ``opponent`` plays the others. With ``seats="all"``
    every seat of any game of several players is played from outside, and the one that must act is
    shown.

    Examples
    --------
    >>> import fastenv
    >>> engine = fastenv.make_engine("SkullKingWorker-v0", num_envs=4)
    >>> engine.reset_many(seeds=0)
    >>> engine.step_many(fastenv.sample_legal(engine.mask, rng=0))
    >>> engine.obs.shape, engine.mask.shape
    ((4, 203), (4, 11))
    """
    game, seating = make_seated(env_id, opponent, config)
    return BatchEngine(game, num_envs, backend, num_threads, info_columns, **seating)


def _spec(env_id: str, kwargs: dict[str, Any]) -> gymnasium.envs.registration.EnvSpec | None:
    """Return the registered spec with the options that were given; None of a name without one."""
    name = f"{NAMESPACE}/{short_id(env_id)}"
    if name not in gymnasium.registry:
        return None
    spec = gymnasium.spec(name)
    given = {name: value for name, value in kwargs.items() if value is not None}
    return gymnasium.envs.registration.EnvSpec(
        spec.id,
        entry_point=spec.entry_point,
        vector_entry_point=spec.vector_entry_point,
        kwargs={**spec.kwargs, **given},
    )
