"""What a kind of file is, the files that are made of one, and the process that reads them."""

from __future__ import annotations

import os
import random
import resource
import shutil
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

from fastenv.errors import FastEnvError
from tools.mutate_files.mutations import mutate

MEMORY = 1 << 30  # bytes that a reader may take
LONGEST = 600  # characters of a message


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


class Files:
    """The files of a kind, one for each number.

    Parameters
    ----------
    kind : Kind
    seed : int
        The same original, seed and number give the same file.
    kept : Path
        Folder of the original. It is made if it is not there, and stays: two trainings write
        different times, so the next original would be another.
    """

    def __init__(self, kind: Kind, seed: int, kept: Path) -> None:
        self.kind, self.seed = kind, seed
        if not kept.is_dir():
            with tempfile.TemporaryDirectory(dir=kept.parent) as place:
                made = Path(place) / "made"
                made.mkdir()
                kind.make(made)
                made.rename(kept)
        found = sorted(each for each in kept.rglob("*") if each.is_file())
        self.original = {str(path.relative_to(kept)): path.read_bytes() for path in found}

    def write(self, folder: Path, number: int | None) -> None:
        """Write the original to an empty folder, one of its files changed unless number is None."""
        files = dict(self.original)
        rng = random.Random(f"{self.kind.name} {self.seed} {number}")
        if number is not None:
            name = rng.choice(self.kind.changed or tuple(files))
            files[name] = mutate(files[name], rng)
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        if number is not None and self.kind.mend is not None and rng.random() < 0.5:
            self.kind.mend(folder)


def judge(kind: Kind, folder: Path) -> tuple[str, str]:
    """Read a folder; return whether it was accepted or refused, or a crash, and why."""
    try:
        kind.read(folder)
    except kind.refusals as error:
        text = str(error)
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, MemoryError):
                return "crash", f"more than {MEMORY:,} bytes: {text}"
            cause = cause.__cause__ or cause.__context__
        if "\n" in text or len(text) > LONGEST:
            return "crash", f"a message of {len(text)} characters: {text[:200]!r}"
        return "refused", text
    except (Exception, SystemExit):
        return "crash", traceback.format_exc(limit=-4)[-1500:]
    return "accepted", ""


def work(pipe: Connection, name: str, seed: int, kept: Path, first: int, last: int) -> None:
    """Read files from ``first`` to before ``last``; say something before and after each."""
    from tools.mutate_files.kinds import find_kind  # which is made of what stands here

    with open(os.devnull, "r+b") as nowhere:
        for standard in (0, 1, 2):
            os.dup2(nowhere.fileno(), standard)
    kind = find_kind(name)
    files = Files(kind, seed, kept)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "file"
        for number in (None, *range(first, last)):
            folder.mkdir()
            try:
                files.write(folder, number)
                if number is None:
                    kind.read(folder)
            except Exception:
                pipe.send({"error": traceback.format_exc()})
                return
            if number is None:  # what has been imported and compiled is no matter of a file
                limit = psutil.Process().memory_info().vms + MEMORY
                pipe.send({"ready": True})
            else:
                pipe.send({"begun": number})
                resource.setrlimit(resource.RLIMIT_AS, (limit, -1))
                found, why = judge(kind, folder)
                resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
                pipe.send({"file": number, "found": found, "why": why})
            shutil.rmtree(folder)
