"""Files that come with the package: ROMs, banks of start states, goals, RAM maps."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable


def shipped(*names: str) -> Traversable:
    """Return a file or folder of this package, by the names on the way to it."""
    return resources.files(__package__).joinpath(*names)
