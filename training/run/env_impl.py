"""Which implementation of an environment a run trains on: ``reference``, ``fast`` or ``auto``.

``fast`` is the compiled backend. Whether it works here is found out by playing with it, not by
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

FAST = "fast"
# What the summary of a run calls it, after the published benchmark of Prospector.
PUBLISHED = {"fast": "native"}


@dataclass(frozen=True)
class EnvImpl:
    """What was asked for, and what was taken.

    Parameters
    ----------
    requested : {"reference", "fast", "auto"}
    selected : {"reference", "fast"}
        Who steps the games.
    backend : str
        The engine's backend.
    probe : str
        ``"ok"``, or why the fast backend does not work here.
    """

    requested: str
    selected: str
    backend: str
    probe: str

    @property
    def fell_back(self) -> bool:
        """Whether the fast backend would have been taken, but does not work here."""
        return self.requested == "auto" and self.selected != FAST

    def record(self) -> dict[str, Any]:
        """Return fields of the summary of a run: the backend, and those of the published one."""
        fast = self.selected == FAST
        return {
            "backend": self.backend,
            "ppo_env_impl_requested": PUBLISHED.get(self.requested, self.requested),
            "ppo_env_impl_selected": PUBLISHED.get(self.selected, self.selected),
            "ppo_env_impl_auto_fallback": self.fell_back,
            "ppo_native_available": self.probe == "ok",
            "ppo_native_probe": self.probe,
            "ppo_vector_backend_selected": "native_batch" if fast else "serial",
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
    requested : {"reference", "fast", "auto"}
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
        If the fast backend was requested and does not work here; says why.
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
        _, found = probe(lambda: BatchEngine(game, 1, FAST, opponent=opponent))
        return engine("reference"), EnvImpl(requested, "reference", "reference", found)
    fast, found = probe(lambda: engine(FAST))
    if fast is not None:
        return fast, EnvImpl(requested, FAST, FAST, found)
    if requested == FAST:
        raise BackendUnavailableError(f"env_impl='fast' does not work here: {found}")
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
