"""Progress of a measurement: a line a repeat, and its rows on the disk."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from training.bench.targets import Row
from training.run.jsonl import JsonLines


class _Rows:
    """A file of rows, which is replaced as soon as there is a first one."""

    def __init__(self, path: Path, head: Row) -> None:
        self._path, self._head = path, head
        self._file: JsonLines | None = None

    def write(self, row: Row) -> None:
        """Append a row."""
        if self._file is None:
            self._path.unlink(missing_ok=True)
            self._file = JsonLines(self._path)
            self._file.write(self._head)
        self._file.write(row)

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._file is not None:
            self._file.close()


_open: list[_Rows] = []  # of the measurement that goes on, if there is one


@contextmanager
def written_to(path: Path, head: Row) -> Iterator[None]:
    """Print repeats, and write rows to a file as soon as they are measured.

    Parameters
    ----------
    path : Path
        Replaced with the first row. What was measured stays there if the measurement is stopped.
    head : dict
        The first row.
    """
    rows = _Rows(path, head)
    _open.append(rows)
    try:
        yield
    finally:
        _open.remove(rows)
        rows.close()


def keep(row: Row) -> None:
    """Write a row that was measured."""
    if _open:
        _open[-1].write(row)


def tell(repeat: int, repeats: int, name: str, per_s: float) -> None:
    """Print the speed of a work in a repeat.

    Parameters
    ----------
    repeat, repeats : int
        Which one of how many, from 1 on.
    name : str
    per_s : float
        Steps a second.
    """
    if _open:
        text = f"{name}, repeat {repeat} of {repeats}: {per_s:,.0f} steps a second"
        print(text, file=sys.stderr, flush=True)
