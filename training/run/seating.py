"""Options that say who sits where, and the environment in which players of a game meet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastenv.registry import short_id
from training.run import games

# Options that say who plays where, which a table says itself.
SEATING = ("seats", "agent_seat", "opponent", "opponents")


def without_seating(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of an environment that do not say who plays where."""
    return {name: value for name, value in options.items() if name not in SEATING}


def env_of_table(env: str) -> str:
    """Return the id of the environment in which the policies of one meet others."""
    return games.get_game(env).table.env or short_id(env)
