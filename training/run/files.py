"""Write files so that a reader sees the old one or the new one, never half of one."""

from __future__ import annotations

import csv
import errno
import fcntl
import hashlib
import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
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


def write_csv(path: Path, rows: Iterable[Mapping[str, Any]], names: Sequence[str]) -> None:
    """Replace ``path`` by columns of rows as CSV with a head; what is None is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


def read_json(path: Path) -> Any:
    """Read the value of a JSON file of at most ``MOST_JSON`` bytes.

    Raises
    ------
    FileError
        See :func:`fastenv.files.read_json`.
    """
    return read_bounded(path, MOST_JSON)


def read_object(path: Path) -> dict[str, Any]:
    """Read the object of a JSON file; empty if it cannot be read or holds something else.

    For files that describe a run, which can do without them.
    """
    try:
        value = read_json(path)
    except FileError:
        return {}
    return value if isinstance(value, dict) else {}


@contextmanager
def hold(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold a lock file in this process alone; the kernel releases it however the process ends.

    Parameters
    ----------
    path : Path
        Made if it is not there; it stays, empty.
    wait : bool
        Wait for another process that holds it, instead of raising.

    Raises
    ------
    BlockingIOError
        If another process holds it.
    OSError
        If files cannot be locked here.
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


@contextmanager
def temporary_folder(root: Path) -> Iterator[Path]:
    """Make a folder ``.tmp-XXXXXXXX`` in another, for content that is moved there once it is whole.

    A lock is held in it, which the kernel releases however a process ends. Those of processes
    that were killed are removed first.
    """
    root.mkdir(parents=True, exist_ok=True)
    for left in root.glob(".tmp-????????"):
        _remove_abandoned(left)
    with ExitStack() as held:
        folder = _make_locked(root, held)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


_LOCK = ".lock"


def _make_locked(root: Path, held: ExitStack) -> Path:
    """Make a new folder, and hold a lock in it where files can be locked."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=".tmp-", dir=root))
        try:
            held.enter_context(hold(folder / _LOCK))
        except (FileNotFoundError, BlockingIOError):  # others took it for one that was abandoned
            continue
        except OSError:
            return folder
        if folder.exists():
            return folder


def _remove_abandoned(folder: Path) -> None:
    """Remove a temporary folder unless a process holds its lock; no folder of another kind."""
    with suppress(OSError):
        if not (folder / _LOCK).exists():
            folder.rmdir()  # if it is empty: a process was killed before it could lock it
            return
        with hold(folder / _LOCK):
            shutil.rmtree(folder, ignore_errors=True)


def put_in_place(whole: Path, path: Path) -> bool:
    """Rename a folder; return False if there is something of that name already."""
    try:
        os.rename(whole, path)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        return False
    sync_folder(path.parent)
    return True


def sync_file(path: Path) -> None:
    """Make the content of a file durable."""
    sync_folder(path)  # fsync asks for a descriptor, of whatever kind


def sha256(path: Path) -> str:
    """Return the sha256 of a regular file's content; FileError if it is none."""
    with open_regular(path, sys.maxsize) as file:
        return hashlib.file_digest(cast(BufferedReader, file), "sha256").hexdigest()
