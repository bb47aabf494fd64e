"""The games that the first page offers: environments by the game that they belong to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastenv.registry import ENVS
from training.run import games, machine
from training.run.games import Family

PICTURES = machine.ROOT / "docs" / "gallery"


def list_families() -> list[dict[str, Any]]:
    """Describe each game, and below it its environments, the one to begin with first."""
    families: dict[Family, list[str]] = {}
    for env in ENVS:
        families.setdefault(find_family(env), []).append(env)
    return [
        {
            "title": family.title,
            "about": family.about,
            "picture": find_picture(family.first) is not None,
            "envs": [
                _describe_env(env) for env in sorted(envs, key=lambda env: env != family.first)
            ],
        }
        for family, envs in families.items()
    ]


def find_family(env: str) -> Family:
    """Find the game of which an environment is; one of its own where none was registered."""
    return games.get_game(env).family or Family(name_env(env), "", first=env)


def _describe_env(env: str) -> dict[str, str]:
    head, _, about = games.get_game(env).about.partition(": ")
    return {"env": env, "title": head or name_env(env), "about": about[:1].upper() + about[1:]}


def name_env(env: str) -> str:
    """Name an environment by its id alone: ``PigDice-v0`` is ``Pig Dice``."""
    name = env.rpartition("-v")[0] or env
    return "".join(
        f" {each}" if each.isupper() and k and name[k - 1].islower() else each
        for k, each in enumerate(name)
    )


def find_picture(env: str) -> Path | None:
    """Find the picture of an environment; None if there is none."""
    path = PICTURES / f"{env}.png"
    return path if env in ENVS and path.is_file() else None
