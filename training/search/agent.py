"""An agent that searches, by its parts or by its name: ``search:PATH,worlds=64,belief=bids``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastenv import BatchEngine
from training.policies.policy import Policy
from training.run.options import require
from training.search.options import SearchOptions

if TYPE_CHECKING:
    from training.search.guest import SearchGuest, SearchPlayer

PREFIX = "search:"
ALLOWED = "search:WHO, a trained agent or a bot, and behind it options such as ,worlds=64"


@dataclass(frozen=True)
class SearchAgent:
    """Who searches.

    Parameters
    ----------
    base : Policy or str
        A trained agent, or a bot by its name: it takes the decisions that are not searched.
    options : SearchOptions
    name : str
        As it was asked for.
    """

    base: Policy | str
    options: SearchOptions
    name: str

    def guest(self, engine: BatchEngine, seed: int) -> SearchGuest:
        """Return it as a player at tables."""
        from training.search.guest import SearchGuest

        return SearchGuest(self, engine, seed)

    def player(self, seed: int, lanes: int) -> SearchPlayer:
        """Return it as a player of episodes; see :data:`training.evaluation.episodes.Player`."""
        from training.search.guest import SearchPlayer

        return SearchPlayer(self, seed)


def is_search(name: object) -> bool:
    """Return whether a name is that of an agent that searches."""
    return isinstance(name, str) and name.startswith(PREFIX)


def parse(name: str) -> tuple[str, SearchOptions]:
    """Return who is to search, and how.

    Raises
    ------
    ConfigError
        If the name has another form, or options that there are not.
    """
    who, *given = name.removeprefix(PREFIX).split(",")
    require(is_search(name) and bool(who), "player", name, ALLOWED)
    values: dict[str, Any] = {}
    for text in given:
        key, sign, value = text.partition("=")
        require(bool(sign and key) and key not in values, "player", name, ALLOWED)
        values[key] = {"true": True, "false": False, "null": None}.get(value, value)
    return who, SearchOptions.from_mapping(values)


def load(name: str, runs: Path = Path("runs")) -> SearchAgent:
    """Return the agent that a name stands for.

    Parameters
    ----------
    name : str
    runs : Path
        Folder of all runs.

    Raises
    ------
    ConfigError, RunError, CheckpointError
        If there is no such agent, or an option that there is not.
    """
    from training.policies.load import load_policy

    who, options = parse(name)
    path = Path(who) if Path(who).exists() else runs / who
    if not path.exists() and "/" not in who:
        return SearchAgent(who, options, name)  # a bot, or the table refuses it
    return SearchAgent(load_policy(path if path.exists() else who), options, name)
