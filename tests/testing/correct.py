"""Environments of several packages that are as they should be, and what is known to be wrong."""

from __future__ import annotations

import pkgutil
import re
from functools import partial
from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode

import fastenv
from fastenv.adapters import pettingzoo as views
from fastenv.registry import short_id
from fastenv.testing import RECIPES

SEATED = ("SkullKingFlat-v0", "DrMarioVersus-v0", "GameBoyLink-v0")

COPIED_WITHOUT_BOARD = (
    "chess|connect_four|go|leduc_holdem|rps|texas_holdem|texas_holdem_no_limit|tictactoe"
)

# Patterns of environments, what happens then or "" where a call breaks a law, and what is wrong
# there: as read in the code of the packages.
KNOWN = [
    (
        "MountainCarContinuous-v0",
        "with what it returned overwritten",
        "it returns the array that the next step reads",
    ),
    *(
        (
            rf"pettingzoo\.classic\.({COPIED_WITHOUT_BOARD})_v\d:(env|parallel_env)",
            stress,
            "its board is no part of a copy: the copy was not begun",
        )
        for stress in ("copied", "pickled")
    ),
    (r"minigrid:MiniGrid-WFC-.*", "", "the pictures of its patterns are no part of the wheel"),
]


def what_is_known(name: str, stress: str) -> str:
    """Return what is known to be wrong where a finding is, "" if nothing is."""
    reasons = [said for own, at, said in KNOWN if at == stress and re.fullmatch(own, name)]
    return reasons[0] if reasons else ""


def make_cart_poles(mode: AutoresetMode) -> Any:
    """Return three poles of Gymnasium as a vector."""
    return gymnasium.make_vec(
        "CartPole-v1", 3, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}
    )


def make_shifted(env_id: str) -> Any:
    """Return an environment of Gymnasium that draws other episodes: its seeds are others."""
    env = gymnasium.make(env_id, disable_env_checker=True)
    reset = env.reset

    def shifted(*, seed: int | None = None, options: Any = None) -> Any:
        return reset(seed=None if seed is None else seed + 1000, options=options)

    env.reset = shifted  # type: ignore[method-assign]
    return env


def gymnasium_ids() -> list[str]:
    """Return the ids of Gymnasium's classic and toy games."""
    own = re.compile(r"gymnasium\.envs\.(classic_control|toy_text)\.")
    return [name for name, spec in gymnasium.registry.items() if own.match(str(spec.entry_point))]


def minigrid_ids() -> list[str]:
    """Return all ids of MiniGrid's own games."""
    import minigrid  # noqa: F401 - registers them

    return [f"minigrid:{name}" for name in gymnasium.registry if name.startswith("MiniGrid-")]


def classic_games() -> list[str]:
    """Return PettingZoo's classic games, as AEC environments."""
    import pettingzoo.classic

    found = (module.name for module in pkgutil.iter_modules(pettingzoo.classic.__path__))
    return [f"pettingzoo.classic.{name}:env" for name in found if re.search(r"_v\d+$", name)]


def vectors() -> dict[str, tuple[Any, str]]:
    """Return vector environments in each autoreset mode by name, with their single one."""
    found: dict[str, tuple[Any, str]] = {}
    for mode in AutoresetMode:
        ours = partial(fastenv.make_vec, env_id="Prospector-v0", num_envs=2)
        found[f"CartPole-v1, 3 lanes, {mode.value}"] = partial(make_cart_poles, mode), "CartPole-v1"
        vector = partial(ours, autoreset_mode=mode.value)
        found[f"Prospector-v0, 2 lanes, {mode.value}"] = vector, "Prospector-v0"
    return found


def groups() -> dict[str, dict[str, Any]]:
    """Return what is checked: package, name, and what makes it."""
    own: dict[str, Any] = {name: name for name in map(short_id, fastenv.list_envs())}
    for name in SEATED:
        own[f"{name}, AEC"] = partial(views.aec_env, game=name)
        own[f"{name}, parallel"] = partial(views.parallel_env, game=name)
    for name in ("Prospector-v0", "DrMarioVersus-v0"):
        own[f"{name}, engine"] = partial(fastenv.make_engine, env_id=name, num_envs=2)
    both = {name: vector for name, (vector, _) in vectors().items()}
    rps = "pettingzoo.classic.rps_v2:parallel_env"
    return {
        "Gymnasium, classic and toy": {name: name for name in gymnasium_ids()}
        | {name: vector for name, vector in both.items() if name.startswith("CartPole")},
        "MiniGrid": {name: name for name in minigrid_ids()},
        "PettingZoo, classic": {name: name for name in (*classic_games(), rps)},
        "fastenv": own
        | {name: vector for name, vector in both.items() if name.startswith("Prospector")},
    }


def pairs() -> dict[str, tuple[Any, str, str | None]]:
    """Return what is compared, by name: both, and the recipe of a sync."""
    found: dict[str, tuple[Any, str, str | None]] = {
        name: (partial(make_shifted, name), name, name.partition("-")[0])
        for name in gymnasium_ids()
        if name.partition("-")[0] in RECIPES
    }
    return found | {name: (vector, single, None) for name, (vector, single) in vectors().items()}
