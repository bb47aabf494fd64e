"""Which games there are: the ids of each, and what loads its package.

The only module that knows all games. ``import fastenv`` runs it, so that every process finds the
ids, spawned ones too; a game's package is imported when one of its ids is made, not before.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

import gymnasium
from gymnasium.envs import registration

from fastenv.examples import FOLDER
from fastenv.registry import ENVS, NAMESPACE, Entry, register_finder, register_game


def _skullking() -> ModuleType:
    from fastenv import skullking

    return skullking


def _prospector() -> ModuleType:
    from fastenv import prospector

    return prospector


def _drmario() -> ModuleType:
    from fastenv import drmario

    return drmario


def _gameboy() -> ModuleType:
    from fastenv import gameboy

    return gameboy


def _gameboy_link() -> ModuleType:
    from fastenv.gameboy import linked

    return linked


register_game(
    _skullking,
    {
        "SkullKingFlat-v0": {"tier": "flat"},
        "SkullKingManager-v0": {"tier": "manager"},
        "SkullKingWorker-v0": {"tier": "worker"},
        "SkullKingAbility-v0": {"tier": "ability"},
    },
)
register_game(_prospector, {"Prospector-v0": {}})
register_game(
    _drmario,
    {
        "DrMarioFrame-v0": {"agents": 1, "placement": False},
        "DrMarioPlacement-v0": {"agents": 1, "placement": True},
        "DrMarioVersus-v0": {"agents": 2, "placement": True},
        "DrMarioVersusFrame-v0": {"agents": 2, "placement": False},
    },
)
register_game(
    _gameboy,
    {
        "GameBoyPixels-v0": {"kind": "pixels"},
        "GameBoyGoal-v0": {"kind": "goal"},
        "GameBoyOverworld-v0": {"kind": "overworld"},
        "LanternWalk-v0": {"kind": "overworld", "rom": "lantern_walk", "visits": "cells"},
    },
)
register_game(_gameboy_link, {"GameBoyLink-v0": {}})
# Games of `docs/examples/`: made by name, and named by no list.
_POKER, _DICE = "fastenv.examples.small_poker", "fastenv.examples.liars_dice"
_PUZZLE = "fastenv.examples.eight_puzzle_game"
SMALL: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"{kind}Poker-v0": (_POKER, {"kind": kind.lower()}) for kind in ("Kuhn", "Leduc")},
    "LiarsDice-v0": (_DICE, {}),
    "EightPuzzle-v0": (_PUZZLE, {}),
}
_small: dict[str, Entry] = {}
if (FOLDER / "small_poker.py").exists():  # not in an installed package
    _small = {i: Entry(partial(import_module, name), fixed) for i, (name, fixed) in SMALL.items()}
    register_finder(_small.get)
# `python -m fastenv new-game` enters a game above this line.


def register_envs() -> None:
    """Register all ids with Gymnasium; calling it again changes nothing.

    Runs on ``import fastenv``, so ``gymnasium.make("fastenv:fastenv/SkullKingWorker-v0")`` needs no
    import of its own. It is also an entry point of the group ``gymnasium.envs``, for tools that
    read it (Gymnasium itself stopped doing so in 1.0).
    """
    outer = registration.current_namespace
    registration.current_namespace = None  # a plugin loader may have set its own
    try:
        for name in (*ENVS, *_small):
            env_id = f"{NAMESPACE}/{name}"
            if env_id not in gymnasium.registry:
                gymnasium.register(
                    env_id,
                    entry_point="fastenv.env:FastEnv",
                    vector_entry_point="fastenv.vector:FastVectorEnv",
                    kwargs={"game": name},
                )
    finally:
        registration.current_namespace = outer
