"""Writing files so that a reader sees the old one or the new one, never half of one."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

import psutil

from fastenv.errors import FileError
from fastenv.files import open_regular
from fastenv.files import prepare as prepare
from fastenv.files import read_json as read_bounded
from fastenv.files import sync_folder as sync_folder
from fastenv.files import write_bytes as write_bytes

MOST_JSON = 1 << 25  # bytes; values take up to twenty times as many
MOST_DIGITS = 9  # of the id of a process


def write_text(path: Path, text: str) -> None:
    """Replace ``path`` by a file with this text, atomically and durably."""
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    """Replace ``path`` by the JSON of ``value``, atomically and durably."""
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Return the value of a JSON file of at most ``MOST_JSON`` bytes.

    Raises
    ------
    FileError
        See :func:`fastenv.files.read_json`.
    """
    return read_bounded(path, MOST_JSON)


def read_object(path: Path) -> dict[str, Any]:
    """Return the object of a JSON file, an empty one where it cannot be read or holds another.

    For files that only tell of a run, which goes without them.
    """
    try:
        found = read_json(path)
    except FileError:
        return {}
    return found if isinstance(found, dict) else {}


@contextmanager
def hold(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Be the one process that holds a lock file; the kernel lets go of it however that ends.

    Parameters
    ----------
    path : Path
        Made if it is not there; it stays, empty.
    wait : bool
        For another process that holds it, in the place of being refused.

    Raises
    ------
    BlockingIOError
        If another process holds it.
    OSError
        If there is no telling.
    """
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield


def lock_of(path: Path) -> Path:
    """Return the lock file of a file that commands write."""
    return path.with_name(f".lock-{path.name}")


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files and folders of processes that were killed, ``.tmp-<pid>-...``.

    Those of living ones stay: somebody may just evaluate a run, and the evaluator of a training
    that was killed may still be at work.
    """
    for left in folder.glob(".tmp-*-*"):
        owner = left.name.split("-")[1]
        number = owner.isdecimal() and len(owner) <= MOST_DIGITS
        alive = number and psutil.pid_exists(int(owner))
        if alive and int(owner) != os.getpid():
            continue
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink(missing_ok=True)


def sync_file(path: Path) -> None:
    """Make the content of a file durable."""
    sync_folder(path)  # fsync asks for a descriptor, of whatever kind


def sha256(path: Path) -> str:
    """Return the sha256 of a regular file's content; FileError if it is none."""
    with open_regular(path, sys.maxsize) as file:
        return hashlib.file_digest(cast(BufferedReader, file), "sha256").hexdigest()
