"""Which implementation of an environment a run trains on: ``reference``, ``native`` or ``auto``.

``native`` is the compiled backend. Whether it works here is found out by playing with it, not by
looking for files: a library that was built for another machine is there and does not work.

Where it does not, ``auto`` falls back to the reference, with observations, masks and rewards from
Numba if that works: the games are stepped in plain Python either way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import fastenv
from fastenv import BackendUnavailableError, BatchEngine, ConfigError
from training.run.config import ENV_IMPLS
from training.run.values import require

NATIVE = "fast"


@dataclass(frozen=True)
class EnvImpl:
    """What was asked for, and what was taken.

    Parameters
    ----------
    requested : {"reference", "native", "auto"}
    selected : {"reference", "native"}
        Who steps the games.
    backend : str
        The engine's backend.
    probe : str
        ``"ok"``, or why native does not work here.
    """

    requested: str
    selected: str
    backend: str
    probe: str

    @property
    def fell_back(self) -> bool:
        """Whether native would have been taken, but does not work here."""
        return self.requested == "auto" and self.selected != "native"

    def record(self) -> dict[str, Any]:
        """Return the fields of a run's summary: the backend, and Prospector spec, section 23."""
        native = self.selected == "native"
        return {
            "backend": self.backend,
            "ppo_env_impl_requested": self.requested,
            "ppo_env_impl_selected": self.selected,
            "ppo_env_impl_auto_fallback": self.fell_back,
            "ppo_native_available": self.probe == "ok",
            "ppo_native_probe": self.probe,
            "ppo_vector_backend_selected": "native_batch" if native else "serial",
        }


def build(
    requested: str,
    env: str,
    options: Mapping[str, Any] | None = None,
    num_envs: int = 1,
    num_threads: int = 1,
) -> tuple[BatchEngine, EnvImpl]:
    """Return an engine of the implementation that was asked for, and how it was chosen.

    Its first lane has played a step: whoever trains on it resets all of them.

    Parameters
    ----------
    requested : {"reference", "native", "auto"}
    env : str
        Environment id.
    options : mapping, optional
        Options of the environment, and the ``opponent`` in a game of several agents.
    num_envs, num_threads : int
        Lanes and threads of the engine.

    Raises
    ------
    ConfigError
        For another word, or options that the environment refuses.
    BackendUnavailableError
        If native was requested and does not work here; says why.
    """
    allowed = "one of " + ", ".join(map(repr, ENV_IMPLS))
    require(requested in ENV_IMPLS, "env_impl", requested, allowed)
    given = dict(options or {})
    opponent = given.pop("opponent", None)
    game = fastenv.make_game(env, **given)
    if opponent is not None:
        game.bot(opponent)  # a name it does not know is no fault of the backend

    def engine(backend: str) -> BatchEngine:
        how = {"num_threads": num_threads, "opponent": opponent}
        return BatchEngine(game, num_envs, backend, **how)

    if requested == "reference":
        _, found = probe(lambda: BatchEngine(game, 1, NATIVE, opponent=opponent))
        return engine("reference"), EnvImpl(requested, "reference", "reference", found)
    native, found = probe(lambda: engine(NATIVE))
    if native is not None:
        return native, EnvImpl(requested, "native", NATIVE, found)
    if requested == "native":
        raise BackendUnavailableError(f"env_impl='native' does not work here: {found}")
    half = probe(lambda: engine("numba"))[0] or engine("reference")
    return half, EnvImpl(requested, "reference", half.backend, found)


def probe(make: Callable[[], BatchEngine]) -> tuple[BatchEngine | None, str]:
    """Return an engine whose first lane can be stepped and ``"ok"``, or None and the reason.

    Raises
    ------
    ConfigError
        What is asked for is impossible with any implementation.
    """
    try:
        engine = make()
        first = np.zeros(engine.num_envs, np.uint8)
        first[0] = 1
        engine.reset_many(first, seeds=0)
        engine.step_many(np.argmax(engine.mask, axis=-1).astype(np.int32), select=first)
    except ConfigError:
        raise
    except Exception as error:  # whatever goes wrong is a reason not to use it
        reason = " ".join(str(error).split())
        return None, f"{type(error).__name__}: {reason}"
    return engine, "ok"
