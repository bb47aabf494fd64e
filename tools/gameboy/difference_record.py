"""The record of :mod:`tools.gameboy.differences`: what was compared, of which sources."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

import fastenv.gameboy
from fastenv.errors import ConfigError, FileError
from fastenv.files import show_path
from training.run import files

_FOLDER = Path(fastenv.gameboy.__file__).parent
_SUFFIXES = (".py", ".pyx", ".pxd", ".h")
_STRICT = ConfigDict(strict=True, extra="forbid")


def sources_sha256(folder: Path = _FOLDER) -> str:
    """Return a hash over the sources of the Game Boy, names and contents."""
    found = hashlib.sha256()
    for path in sorted(each for each in folder.rglob("*") if each.suffix in _SUFFIXES):
        content = path.read_bytes()
        name = path.relative_to(folder).as_posix()
        found.update(f"{name} {len(content)}\n".encode() + content)
    return found.hexdigest()


@dataclass(config=_STRICT)
class Counts:
    """What was done of a kind; ``cases`` is the number of its next case too."""

    cases: Annotated[int, Field(ge=0)] = 0
    frames: Annotated[int, Field(ge=0)] = 0
    cpu_s: Annotated[float, Field(ge=0)] = 0.0


@dataclass(config=_STRICT)
class Found:
    """A difference: case, frame from 0 on, fields of it, and the revision that has the case."""

    kind: str
    number: int
    frame: int
    fields: dict[str, Any]
    git_rev: str | None

    def __str__(self) -> str:
        """Return a line that names the case and where it differs."""
        where = ", ".join(f"{name} {values}" for name, values in self.fields.items())
        return f"difference in {self.kind}:{self.number}, frame {self.frame}: {where}"


@dataclass(config=_STRICT)
class Part:
    """What was compared of one state of the sources.

    Parameters
    ----------
    sha256 : str
        See :func:`sources_sha256`.
    revisions : list of dict
        ``git_rev`` and ``dirty`` of the checkouts that added to it.
    kinds : dict
        Counts by kind.
    differences : list of Found
    """

    sha256: str
    revisions: list[dict[str, Any]] = field(default_factory=list)
    kinds: dict[str, Counts] = field(default_factory=dict)
    differences: list[Found] = field(default_factory=list)

    @property
    def frames(self) -> int:
        """Frames of all kinds."""
        return sum(counts.frames for counts in self.kinds.values())

    def next_case(self, kinds: Iterable[str]) -> tuple[str, int]:
        """Return the kind that has had the fewest cases, and the number of its next one."""
        done = {kind: self.kinds.get(kind, Counts()).cases for kind in kinds}
        kind = min(done, key=lambda each: done[each])
        return kind, done[kind]

    def counts(self, kind: str) -> Counts:
        """Return the counts of a kind, to be added to."""
        return self.kinds.setdefault(kind, Counts())


class Record:
    """A file with what was compared of today's sources; one of other sources is begun anew.

    Parameters
    ----------
    path : Path
        Read if it exists.
    head : dict
        Of the command that adds to it: ``created``, ``command``, ``git_rev``, ``dirty`` and more.

    Raises
    ------
    ConfigError
        If the file is no such record.
    """

    def __init__(self, path: Path, head: dict[str, Any]) -> None:
        self._path, self.head = path, head
        parts, today = _read(path) if path.exists() else [], sources_sha256()
        self.part = next((part for part in parts if part.sha256 == today), Part(today))
        revision = {name: head[name] for name in ("git_rev", "dirty")}
        if revision not in self.part.revisions:
            self.part.revisions.append(revision)

    def write(self) -> None:
        """Replace the file."""
        dirty = any(each["dirty"] is not False for each in self.part.revisions)
        totals = {"frames": self.part.frames, "differences": len(self.part.differences)}
        sources = [asdict(self.part)]
        files.write_json(self._path, {**self.head, "dirty": dirty, **totals, "sources": sources})


def _read(path: Path) -> list[Part]:
    """Return the parts of a record; earlier ones have a part for each state of the sources.

    Raises
    ------
    ConfigError
        If it is none.
    """
    try:
        sources = json.dumps(files.read_json(path)["sources"])
        return TypeAdapter(list[Part]).validate_json(sources)
    except (FileError, KeyError, TypeError, ValidationError) as error:
        why = f"{type(error).__name__}: {error}"
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise ConfigError(
            f"--out {show_path(path)}: is no record of this command, or damaged "
            f"({why}); move it away to begin again"
        ) from error
