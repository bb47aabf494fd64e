"""What a kind of file is: how an original is made, and how it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastenv.errors import FastEnvError


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Parameters
    ----------
    name : str
    make : callable
        Writes an original to a new folder; it may consist of several files there.
    read : callable
        Reads it from its folder, as a user's command would, and does a little with what it found:
        what is accepted must be usable. Nothing that it prints is seen.
    changed : tuple of str
        The files of which one is changed, paths within the folder; all by default.
    mend : callable, optional
        Is called on every second changed folder before it is read, to correct such things as sums
        of bytes, without which nothing else would be looked at.
    refusals : tuple of exception classes
        By which a file is refused.
    """

    name: str
    make: Callable[[Path], None]
    read: Callable[[Path], Any]
    changed: tuple[str, ...] = ()
    mend: Callable[[Path], None] | None = None
    refusals: tuple[type[Exception], ...] = (FastEnvError,)
