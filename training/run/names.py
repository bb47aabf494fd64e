"""Names of runs; and of players: bots, paths of trained agents, ``search:WHO`` for who searches."""

from __future__ import annotations

import re
from typing import Any

SEARCH = "search:"
# What a run is called, or a record: a file or folder right where it is looked for.
PLAIN = "letters, digits, '.', '_' and '-' alone, a letter or digit first"


def is_plain(name: str) -> bool:
    """Tell whether a run or a record can have a name; see ``PLAIN``."""
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) is not None


def is_search(name: Any) -> bool:
    """Tell whether a name is that of an agent that searches."""
    return isinstance(name, str) and name.startswith(SEARCH)


def is_agent(name: Any) -> bool:
    """Tell whether a player is no bot of the engine: paths have a ``/``, and who searches a colon.

    Such a player is played from outside.
    """
    return isinstance(name, str) and ("/" in name or is_search(name))


def base_of(name: str) -> str:
    """Return who searches, or the name itself where nobody does."""
    return name.removeprefix(SEARCH).partition(",")[0] if is_search(name) else name


def short_name(name: str) -> str:
    """Return what a line of text calls a player: the last part of a path, without options."""
    last = base_of(name).rpartition("/")[2]
    return f"{SEARCH}{last}" if is_search(name) else last


def split_names(text: str) -> tuple[str, ...]:
    """Return names that are separated by commas; options of a search stay with its name."""
    found: list[str] = []
    for part in text.split(","):
        if found and is_search(found[-1]) and "=" in part:
            found[-1] += f",{part}"
        else:
            found.append(part)
    return tuple(found)
