"""Ids of the environments, and their registration with Gymnasium.

A game module is imported when an environment of its is made, not before.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import gymnasium
from gymnasium.envs import registration

from fastenv.errors import ConfigError, show, unknown_keyword
from fastenv.game import Game

NAMESPACE = "fastenv"

# id -> (module with `make_game(**options) -> Game`, options that the id fixes)
ENVS: Mapping[str, tuple[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "SkullKingFlat-v0": ("fastenv.skullking", {"tier": "flat"}),
        "SkullKingManager-v0": ("fastenv.skullking", {"tier": "manager"}),
        "SkullKingWorker-v0": ("fastenv.skullking", {"tier": "worker"}),
        "SkullKingAbility-v0": ("fastenv.skullking", {"tier": "ability"}),
        "Prospector-v0": ("fastenv.prospector", {}),
        "DrMarioFrame-v0": ("fastenv.drmario", {"agents": 1, "placement": False}),
        "DrMarioPlacement-v0": ("fastenv.drmario", {"agents": 1, "placement": True}),
        "DrMarioVersus-v0": ("fastenv.drmario", {"agents": 2, "placement": True}),
        "DrMarioVersusFrame-v0": ("fastenv.drmario", {"agents": 2, "placement": False}),
        "GameBoyPixels-v0": ("fastenv.gameboy", {"kind": "pixels"}),
        "GameBoyGoal-v0": ("fastenv.gameboy", {"kind": "goal"}),
        "GameBoyOverworld-v0": ("fastenv.gameboy", {"kind": "overworld"}),
        "LanternWalk-v0": (
            "fastenv.gameboy",
            {"kind": "overworld", "rom": "lantern_walk", "visits": "cells"},
        ),
        # `python -m fastenv new-game` enters an id above this line.
    }
)


def list_envs() -> list[str]:
    """Return the ids of all environments, with their namespace."""
    return [f"{NAMESPACE}/{name}" for name in ENVS]


def short_id(env_id: str) -> str:
    """Return an id without its namespace.

    Raises
    ------
    ConfigError
        For an unknown id; the message lists the known ones.
    """
    name = env_id.removeprefix(f"{NAMESPACE}/") if isinstance(env_id, str) else None
    if name not in ENVS:
        raise ConfigError(f"id {show(env_id)}: must be one of {', '.join(list_envs())}")
    return name


def make_game(env_id: str, /, **options: Any) -> Game:
    """Return the configured game of an id.

    Parameters
    ----------
    env_id : str
        With or without the namespace.
    **options
        Options of the game.

    Raises
    ------
    ConfigError
        Unknown id, an option the id fixes, or a value that is not allowed.
    UnknownOptionError
        An unknown option: a ``ConfigError`` that is a ``TypeError`` too.
    """
    module, fixed = ENVS[short_id(env_id)]
    for name in fixed:
        if name in options:
            raise ConfigError(
                f"{name}={show(options[name])}: {name} is fixed by the id {show(env_id)}"
            )
    make = importlib.import_module(module).make_game
    taken = inspect.signature(make).parameters
    if not any(each.kind is each.VAR_KEYWORD for each in taken.values()):
        for name in options:
            if name not in taken:
                raise unknown_keyword(name, show(env_id), taken)
    game: Game = make(**fixed, **options)
    game.env_id = short_id(env_id)
    return game


def register_envs() -> None:
    """Register all ids with Gymnasium; calling it again changes nothing.

    Runs on ``import fastenv``, so ``gymnasium.make("fastenv:fastenv/SkullKingWorker-v0")`` needs no
    import of its own. It is also an entry point of the group ``gymnasium.envs``, for tools that
    read it (Gymnasium itself stopped doing so in 1.0).
    """
    outer = registration.current_namespace
    registration.current_namespace = None  # a plugin loader may have set its own
    try:
        for name, env_id in zip(ENVS, list_envs(), strict=True):
            if env_id not in gymnasium.registry:
                gymnasium.register(
                    env_id,
                    entry_point="fastenv.env:FastEnv",
                    vector_entry_point="fastenv.vector:FastVectorEnv",
                    kwargs={"game": name},
                )
    finally:
        registration.current_namespace = outer
