"""Names of runs and players: bots, paths of trained agents, ``search:WHO`` for one with search."""

from __future__ import annotations

import re
from typing import Any

SEARCH = "search:"
AGENT = "trained"  # what evaluations and their records call the agent of a run
# Allowed names of runs and records, which name a file or folder.
PLAIN = "letters, digits, '.', '_' and '-' alone, a letter or digit first"


def is_plain(name: str) -> bool:
    """Tell whether a run or a record can have a name; see ``PLAIN``."""
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) is not None


def is_search(name: Any) -> bool:
    """Tell whether a name is that of an agent that searches."""
    return isinstance(name, str) and name.startswith(SEARCH)


def is_agent(name: Any) -> bool:
    """Tell whether a name is that of an agent and no bot: a path, or ``search:WHO``.

    Such a player is played from outside.
    """
    return isinstance(name, str) and ("/" in name or is_search(name))


def base_of(name: str) -> str:
    """Strip the search from a name: ``WHO`` of ``search:WHO,worlds=16``."""
    return name.removeprefix(SEARCH).partition(",")[0] if is_search(name) else name


def short_name(name: str) -> str:
    """Shorten the name of a player for text: the last part of a path, without options."""
    last = base_of(name).rpartition("/")[2]
    return f"{SEARCH}{last}" if is_search(name) else last


def split_names(text: str) -> tuple[str, ...]:
    """Split names at commas; options of a search stay with its name."""
    names: list[str] = []
    for part in text.split(","):
        if names and is_search(names[-1]) and "=" in part:
            names[-1] += f",{part}"
        else:
            names.append(part)
    return tuple(names)
