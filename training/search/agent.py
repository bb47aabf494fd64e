"""An agent that searches, by its parts or by its name: ``search:PATH,worlds=64,belief=bids``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastenv import BatchEngine
from training.players.policy import Policy
from training.players.trained import load_policy
from training.run.names import SEARCH, is_search
from training.run.options import format_values, require
from training.search.options import SearchOptions
from training.search.player import SearchPlayer

ALLOWED = "search:WHO, a trained agent or a bot, and behind it options such as ,worlds=64"


@dataclass(frozen=True)
class SearchAgent:
    """A trained agent or a bot with search.

    Parameters
    ----------
    base : Policy or str
        A trained agent, or a bot by its name: it takes the decisions that are not searched.
    options : SearchOptions
    name : str
        The name that it was loaded by.
    """

    base: Policy | str
    options: SearchOptions
    name: str

    def player(self, engine: BatchEngine) -> SearchPlayer:
        """Make its player for an engine."""
        return SearchPlayer(self.base, self.options, engine)


def searching(policy: Policy, **options: Any) -> SearchAgent:
    """Make a trained agent that searches; see :meth:`training.players.policy.Policy.search`."""
    shown = {k: v if isinstance(v, str) else format_values(v) for k, v in options.items()}
    suffix = "".join(f",{name}={value}" for name, value in shown.items())
    return SearchAgent(
        policy, SearchOptions.from_mapping(options), f"{SEARCH}{policy.path}{suffix}"
    )


def parse(name: str) -> tuple[str, SearchOptions]:
    """Parse a name into the base player and the search options.

    Raises
    ------
    ConfigError
        If the name has another form or unknown options.
    """
    who, *assignments = name.removeprefix(SEARCH).split(",")
    require(is_search(name) and bool(who), "player", name, ALLOWED)
    values: dict[str, Any] = {}
    for text in assignments:
        key, sign, value = text.partition("=")
        require(bool(sign and key) and key not in values, "player", name, ALLOWED)
        values[key] = {"true": True, "false": False, "null": None}.get(value, value)
    return who, SearchOptions.from_mapping(values)


def load(
    name: str,
    runs: Path = Path("runs"),
    *,
    checkpoint: str | None = None,
    member: int | None = None,
) -> SearchAgent:
    """Load the agent of a name.

    Parameters
    ----------
    name : str
    runs : Path
        Folder of all runs.
    checkpoint : str, optional
        Name of one, or ``best``; default that of the path, or the newest.
    member : int, optional
        Network of an ensemble, from 1 on; default the first.

    Raises
    ------
    ConfigError, RunError, CheckpointError
        If there is no such agent, or an option that there is not.
    """
    who, options = parse(name)
    path = Path(who) if Path(who).exists() else runs / who
    if not path.exists() and "/" not in who:
        return SearchAgent(who, options, name)  # a bot, or the table refuses it
    path = path if path.exists() else Path(who)
    if checkpoint is not None:
        path = path / "checkpoints" / checkpoint
    return SearchAgent(load_policy(path, member=member), options, name)
