"""Files of JSON lines: written line by line, read as far as they are whole."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, TextIO

from fastenv.errors import FileError
from fastenv.files import open_regular, parse_json
from training.run import files

MAX_LINE = 1 << 23  # bytes; of what a training writes, a line has some thousands


class JsonLines:
    """A file of one JSON object a line, complete after every line.

    Parameters
    ----------
    path : Path
        Appended to.
    """

    def __init__(self, path: Path) -> None:
        self._file: TextIO = path.open("a", encoding="utf-8")

    def write(self, record: dict[str, Any]) -> None:
        """Append one object; what is not finite becomes null."""
        self._file.write(json.dumps(replace_nonfinite(record), allow_nan=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Lines(NamedTuple):
    """The records of a file of JSON lines, and the number of lines that hold none."""

    records: list[dict[str, Any]]
    left_out: int


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read the objects of a file of JSON lines; see :func:`parse_line` for what is left out.

    A file that is not there has none.
    """
    return scan_lines(path).records


def scan_lines(path: Path) -> Lines:
    """Read the objects of a file of JSON lines, and count the whole lines without one."""
    if not path.is_file():
        return Lines([], 0)
    records, left_out = [], 0
    with open_regular(path, sys.maxsize) as file:
        for line in _split_lines(file):
            record = parse_line(line)
            if record is not None:
                records.append(record)
            else:
                left_out += line.endswith(b"\n")  # the last one may still be written
    return Lines(records, left_out)


def parse_line(line: bytes) -> dict[str, Any] | None:
    """Parse the object of a line; None if it has none, or a ``step`` that is no number."""
    if len(line) > MAX_LINE:
        return None
    try:
        record = parse_json(line, "a line")
    except FileError:
        return None
    known = isinstance(record, dict) and type(record.get("step", 0)) in (int, float)
    return record if known else None


def _split_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file; of one beyond ``MAX_LINE`` a part that is too long and ends it."""
    while line := file.readline(MAX_LINE + 1):
        end = line
        while len(end) > MAX_LINE and not end.endswith(b"\n"):
            end = file.readline(MAX_LINE + 1)
        yield line if end is line else line + end[-1:]


# Events of the iteration that begins at a boundary, and not of the one that ends there.
BEHIND_THE_BORDER = ("knobs", "gate", "budgets", "stage", "worker_plays", "early stop")


def drop_after(path: Path, steps: int) -> None:
    """Remove the lines of a file that lie behind the boundary at ``steps``, and incomplete ones.

    A run that was killed may have logged iterations that its newest checkpoint does not contain;
    they will be run again. A window that was closed early because the run ended goes on.
    """
    if not path.is_file():
        return
    kept = (
        json.dumps(record) + "\n"
        for record in read_lines(path)
        if record.get("window_complete", True)
        and (record.get("step", 0), record.get("event") in BEHIND_THE_BORDER) <= (steps, False)
    )
    files.write_text(path, "".join(kept))


def replace_nonfinite(value: Any) -> Any:
    """Replace numbers that are not finite by None in nested values, since JSON has none."""
    if isinstance(value, dict):
        return {key: replace_nonfinite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replace_nonfinite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
