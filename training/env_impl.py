"""Which implementation of an environment a run trains on: ``reference``, ``native`` or ``auto``.

``native`` is the compiled backend. Whether it works here is found out by playing with it, not by
looking for files: a library that was built for another machine is there and does not work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import fastenv
from fastenv import BackendUnavailableError, BatchEngine, Game
from training.config import ENV_IMPLS
from training.values import require

BACKENDS = {"reference": "reference", "native": "fast"}


@dataclass(frozen=True)
class EnvImpl:
    """What was asked for, and what was taken.

    Parameters
    ----------
    requested : {"reference", "native", "auto"}
    selected : {"reference", "native"}
    probe : str
        ``"ok"``, or why native does not work here.
    """

    requested: str
    selected: str
    probe: str

    @property
    def backend(self) -> str:
        """The name of the engine's backend."""
        return BACKENDS[self.selected]

    def record(self) -> dict[str, Any]:
        """Return the fields of a run's summary (Prospector spec, section 23)."""
        native = self.selected == "native"
        return {
            "ppo_env_impl_requested": self.requested,
            "ppo_env_impl_selected": self.selected,
            "ppo_env_impl_auto_fallback": self.requested == "auto" and not native,
            "ppo_native_available": self.probe == "ok",
            "ppo_native_probe": self.probe,
            "ppo_vector_backend": "serial",
            "ppo_vector_backend_selected": "native_batch" if native else "serial",
        }


def choose(requested: str, env: str, options: Mapping[str, Any] | None = None) -> EnvImpl:
    """Decide on an implementation.

    Parameters
    ----------
    requested : {"reference", "native", "auto"}
    env : str
        Environment id.
    options : mapping, optional
        Options of the environment.

    Raises
    ------
    ConfigError
        For another word, or options that the environment refuses.
    BackendUnavailableError
        If native was requested and does not work here; says why.
    """
    allowed = "one of " + ", ".join(map(repr, ENV_IMPLS))
    require(requested in ENV_IMPLS, "env_impl", requested, allowed)
    found = probe(fastenv.make_game(env, **(options or {})))
    if requested == "native" and found != "ok":
        raise BackendUnavailableError(f"env_impl='native' does not work here: {found}")
    if requested == "auto":
        return EnvImpl(requested, "native" if found == "ok" else "reference", found)
    return EnvImpl(requested, requested, found)


def probe(game: Game) -> str:
    """Return ``"ok"`` if one lane can be created and stepped natively, else the reason."""
    try:
        engine = BatchEngine(game, 1, BACKENDS["native"])
        engine.reset_many(seeds=0)
        engine.step_many(np.argmax(engine.mask, axis=1).astype(np.int32))
    except Exception as error:  # whatever goes wrong is a reason not to use it
        reason = " ".join(str(error).split())
        return f"{type(error).__name__}: {reason}"
    return "ok"
