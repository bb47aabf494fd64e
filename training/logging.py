"""What a run says while it runs: JSON lines, TensorBoard, and a bar or a line on the terminal."""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from training import files, machine

LINE_EVERY_S = 30.0


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
        self._file.write(json.dumps(_finite(record), allow_nan=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def drop_after(path: Path, steps: int) -> None:
    """Remove the lines of a metrics file that lie behind ``steps``, and what is not whole.

    A run that was killed may have logged iterations that its newest checkpoint does not contain;
    they will be run again. A window that was closed early because the run ended goes on.
    """
    if not path.is_file():
        return
    kept = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if not isinstance(record, dict) or not record.get("window_complete", True):
            continue
        if record.get("step", 0) <= steps:
            kept.append(line)
    files.write_text(path, "".join(line + "\n" for line in kept))


class RunLog:
    """All the places a run writes to.

    Parameters
    ----------
    folder : Path
        The run folder: ``metrics.jsonl``, ``events.jsonl``, ``windows.jsonl`` (once there is a
        window) and ``tb/`` lie there.
    total_steps : int
        Where the bar ends.
    start : int
        Steps taken before; the bar begins there.
    console : rich.console.Console, optional
        Where to draw; default the standard error stream.
    """

    def __init__(
        self, folder: Path, total_steps: int, start: int = 0, console: Console | None = None
    ) -> None:
        self._metrics = JsonLines(folder / "metrics.jsonl")
        self._events = JsonLines(folder / "events.jsonl")
        self._folder = folder
        self._windows: JsonLines | None = None
        self._board = _tensorboard(folder / "tb", start)
        self._console = console or Console(file=sys.stderr)
        self._bar: Progress | None = None
        self._last_line = time.monotonic()
        self._total = total_steps
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[note]}"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=self._console,
            )
            self._task = self._bar.add_task(
                folder.name, total=total_steps, completed=start, note=""
            )
            self._bar.start()

    def metrics(self, record: dict[str, Any]) -> None:
        """Log one iteration; ``record["step"]`` is where it ended."""
        self._metrics.write(record)
        if self._board is not None:
            for tag, value in _flat(record):
                if tag != "step" and math.isfinite(value):
                    self._board.add_scalar(tag, value, record["step"])

    def window(self, record: dict[str, Any]) -> None:
        """Log a window of ticks; ``record["step"]`` is where it was closed."""
        if self._windows is None:
            self._windows = JsonLines(self._folder / "windows.jsonl")
        self._windows.write(record)

    def event(self, kind: str, **details: Any) -> None:
        """Log something that happened."""
        self._events.write({"event": kind, "time": machine.now(), **details})

    def progress(self, steps: int, note: str) -> None:
        """Show where the run is: the bar on a terminal, otherwise a line now and then."""
        if self._bar is not None:
            self._bar.update(self._task, completed=steps, note=note)
        elif time.monotonic() - self._last_line >= LINE_EVERY_S:
            self._last_line = time.monotonic()
            self.say(f"{steps:,} of {self._total:,} decisions, {note}")

    def say(self, text: str) -> None:
        """Print one line."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Flush and close everything."""
        if self._bar is not None:
            self._bar.stop()
        if self._board is not None:
            self._board.close()
        if self._windows is not None:
            self._windows.close()
        self._metrics.close()
        self._events.close()


def _tensorboard(folder: Path, purge_step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:  # it is optional
        return None
    return SummaryWriter(str(folder), purge_step=purge_step or None)


def _flat(record: dict[str, Any], prefix: str = "") -> list[tuple[str, float]]:
    """Return the numbers of a nested record as ``group/name`` and value."""
    pairs: list[tuple[str, float]] = []
    for key, value in record.items():
        if isinstance(value, dict):
            pairs += _flat(value, f"{prefix}{key}/")
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            pairs.append((prefix + key, float(value)))
    return pairs


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
