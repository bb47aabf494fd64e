"""Files that come with the package: ROMs, banks of start states, goals, RAM maps."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from fastenv.errors import ConfigError, FileError, with_nearest


def shipped(*names: str) -> Traversable:
    """Return a file or folder of this package, by the names on the way to it."""
    return resources.files(__package__).joinpath(*names)


def not_read(option: str, error: FileError, given: str | Path, ours: Iterable[str]) -> ConfigError:
    """Return the error of an option whose file cannot be read.

    Parameters
    ----------
    option : str
    error : FileError
    given : str or Path
        What the option names.
    ours : iterable of str
        The files of ours, which are listed where a word without a folder or an ending may mean one.
    """
    message, ours = f"{option}: {error}", [*ours]
    if isinstance(error.__cause__, FileNotFoundError) and str(given).replace("_", "").isalnum():
        message = f"{message.rstrip('.')}, and ours are {', '.join(ours)}."
    return ConfigError(with_nearest(message, str(given), ours))
