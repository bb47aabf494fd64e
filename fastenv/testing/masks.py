"""Masks of legal actions: where environments have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import gymnasium
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

METHODS = ("action_masks", "valid_action_mask")  # that return them
FIELDS = ("action_mask", "action_masks")  # of an observation or an info

Ask = Callable[[], Any]


def find_method(env: Any) -> Ask | None:
    """Return what asks an environment, its wrappers or the lanes of a vector for masks, or None."""
    game = getattr(env, "unwrapped", env)
    for name in METHODS:
        method = getattr(env, name, getattr(game, name, None))
        if isinstance(env, gymnasium.Env) and env.has_wrapper_attr(name):
            method = env.get_wrapper_attr(name)
        if callable(method):
            return method  # type: ignore[no-any-return]
        # To ask lanes of processes for what they have not would end them.
        is_known = isinstance(game, (SyncVectorEnv, AsyncVectorEnv))
        if is_known and all(game.call("has_wrapper_attr", name)):
            return partial(game.call, name)
    return None


def find_mask(ask: Ask | None, info: Any, observation: Any = None, lane: int | None = None) -> Any:
    """Return the mask of legal actions, or None where there is none.

    Parameters
    ----------
    ask : callable, optional
        Asked where neither observation nor info has one.
    info, observation : object
        Of an environment, or of all lanes of a vector.
    lane : int, optional
        Of a vector, whose infos may say which lanes have a mask.
    """
    for shown in (observation, info):
        for name in FIELDS if isinstance(shown, Mapping) else ():
            masks = shown.get(name)
            if masks is not None and lane is None:
                return masks
            if masks is not None:
                there = shown.get(f"_{name}")
                return masks[lane] if there is None or there[lane] else None
    masks = None if ask is None else ask()
    return masks if masks is None or lane is None else masks[lane]


def find_masks(ask: Ask | None, infos: Any, observations: Any, count: int) -> list[Any]:
    """Return the mask of each lane of a vector, None where there is none; see :func:`find_mask`."""
    once = ask and cache(ask)
    return [find_mask(once, infos, observations, lane) for lane in range(count)]
