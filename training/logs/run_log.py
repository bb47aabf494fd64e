"""The log of a run: JSON lines, boards that draw curves, and the dashboard on the terminal.

Boards are TensorBoard, and Weights & Biases if a run asks for it.
"""

from __future__ import annotations

import importlib.util
import math
import os
import socket
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console

from fastenv.ticker import print_dots
from training.logs.dashboard import Dashboard
from training.run import machine
from training.run.callback import Log
from training.run.jsonl import JsonLines, read_lines


class RunLog(Log):
    """Writes to all logs of a run.

    Parameters
    ----------
    folder : Path
        The run folder: ``metrics.jsonl``, ``events.jsonl``, ``windows.jsonl`` and
        ``evaluations.jsonl`` (once there is something for them) and ``tb/`` lie there.
    total_steps : int
        Of the whole run.
    start : int
        Steps taken before.
    console : rich.console.Console, optional
        Where to draw; default the standard error stream.
    wandb : mapping, optional
        Options of a run that also draws on Weights & Biases; see :class:`WandbBoard`.
    """

    def __init__(
        self,
        folder: Path,
        total_steps: int,
        start: int = 0,
        console: Console | None = None,
        wandb: Mapping[str, Any] | None = None,
    ) -> None:
        metrics = read_lines(folder / "metrics.jsonl") if start else []
        self._metrics = JsonLines(folder / "metrics.jsonl")
        self._events = JsonLines(folder / "events.jsonl")
        self._folder = folder
        self._windows: JsonLines | None = None
        self._evaluations: JsonLines | None = None
        with print_dots("preparing"):  # TensorBoard takes a second or two to import
            self._boards = boards_of(folder, start, wandb)
        self._shown = Dashboard(folder.name, total_steps, start, console)
        if start:
            earlier = (r for r in metrics if r.get("step", 0) <= start)
            self._shown.history(earlier, read_lines(folder / "evaluations.jsonl"))

    def metrics(self, record: dict[str, Any]) -> None:
        """Log one iteration; ``record["step"]`` is where it ended."""
        self._metrics.write(record)
        self._draw((pair for pair in flatten(record) if pair[0] != "step"), record["step"])
        self._shown.metrics(record)

    def window(self, record: dict[str, Any]) -> None:
        """Log a window of ticks; ``record["step"]`` is where it was closed."""
        if self._windows is None:
            self._windows = JsonLines(self._folder / "windows.jsonl")
        self._windows.write(record)

    def event(self, kind: str, **details: Any) -> None:
        """Log an event."""
        self._events.write({"event": kind, "time": machine.now(), **details})
        self._shown.event(kind, details)

    def evaluation(self, steps: int, results: Mapping[str, Any], **details: Any) -> None:
        """Log the results of an evaluation during the training.

        Parameters
        ----------
        steps : int
            Decisions of the policy that was evaluated.
        results : mapping
            Measure, such as ``"points, 3 x rule_hard"``, to value or to ``[value, low, high]``.
        **details
            Anything else worth keeping.
        """
        if self._evaluations is None:
            self._evaluations = JsonLines(self._folder / "evaluations.jsonl")
        record = {"step": steps, "results": dict(results), **details}
        self._evaluations.write({"time": machine.now(), **record})
        self._shown.event("evaluation", record)
        firsts = ((n, x[0] if isinstance(x, list | tuple) else x) for n, x in results.items())
        numbers = ((f"evaluation/{n}", x) for n, x in firsts if isinstance(x, int | float))
        self._draw(numbers, steps)

    def warn(self, text: str, **details: Any) -> None:
        """Log a warning; it stays in sight."""
        self.event("warning", text=text, **details)
        self.say(f"warning: {text}")

    def say(self, text: str) -> None:
        """Print one line."""
        self._shown.say(text)

    def _draw(self, numbers: Iterable[tuple[str, float]], step: int) -> None:
        values = {name: float(value) for name, value in numbers if math.isfinite(value)}
        for board in self._boards:
            board.draw(values, step)

    def close(self) -> None:
        """Flush and close everything."""
        self._shown.close()
        for part in (*self._boards, self._windows, self._evaluations, self._metrics, self._events):
            # What a full disk refuses now, it has refused before: that error says why a run ends.
            with suppress(OSError):
                if part is not None:
                    part.close()


def flatten(record: dict[str, Any], prefix: str = "") -> list[tuple[str, float]]:
    """Flatten the numbers of a nested record to ``group/name`` and value."""
    pairs: list[tuple[str, float]] = []
    for key, value in record.items():
        if isinstance(value, dict):
            pairs += flatten(value, f"{prefix}{key}/")
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            pairs.append((prefix + key, float(value)))
    return pairs


# -- boards ----------------------------------------------------------------------------------------


class Board(Protocol):
    """Takes numbers, named ``group/name``."""

    def draw(self, values: Mapping[str, float], step: int) -> None:
        """Draw the values at a step."""

    def close(self) -> None:
        """Write pending values."""


def boards_of(
    folder: Path, purge_step: int, options: Mapping[str, Any] | None = None
) -> list[Board]:
    """Make the boards of a run.

    Parameters
    ----------
    folder : Path
        Of the run: ``tb/`` and, with ``options``, ``wandb/`` lie there.
    purge_step : int
        Steps taken before; what TensorBoard has of later ones is dropped.
    options : mapping, optional
        Options of a run that also draws on Weights & Biases; see :class:`WandbBoard`.
    """
    boards: list[Board] = []
    with suppress(ImportError):  # it is optional
        boards.append(TensorBoard(folder / "tb", purge_step))
    if options is not None:
        boards.append(WandbBoard(folder, options))
    return boards


class TensorBoard:
    """A file for TensorBoard, written without a thread, so that a full disk raises in the caller.

    Parameters
    ----------
    folder : Path
    purge_step : int
        See :func:`boards_of`.
    """

    def __init__(self, folder: Path, purge_step: int) -> None:
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._summary = Event, Summary
        folder.mkdir(parents=True, exist_ok=True)
        stem = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}"
        number = sum(path.name.startswith(stem) for path in folder.iterdir())
        self._records = RecordWriter((folder / f"{stem}.{number}").open("wb"))
        self._write(file_version="brain.Event:2")
        if purge_step:
            start = SessionLog(status=SessionLog.START)
            self._write(step=purge_step + 1, session_log=start)

    def _write(self, **fields: Any) -> None:
        self._records.write(self._event(wall_time=time.time(), **fields).SerializeToString())
        self._records.flush()

    def draw(self, values: Mapping[str, float], step: int) -> None:
        """See :class:`Board`."""
        scalars = [
            self._summary.Value(tag=name, simple_value=value) for name, value in values.items()
        ]
        self._write(step=step, summary=self._summary(value=scalars))

    def close(self) -> None:
        """See :class:`Board`."""
        self._records.close()


def check_wandb() -> None:
    """Refuse to draw on Weights & Biases where it is not installed.

    Raises
    ------
    ImportError
        Says what to install.
    """
    if importlib.util.find_spec("wandb") is None:
        raise ImportError(
            "--wandb needs the package wandb: pip install '.[wandb]', or leave --wandb out."
        )


class WandbBoard:
    """A run on Weights & Biases, with the run folder's name as its id.

    It is written into the folder and sent nowhere (``wandb sync`` does that later), unless the
    environment variable ``WANDB_MODE`` is ``online``.

    Parameters
    ----------
    folder : Path
        Of the run.
    options : mapping
        All options of the run.
    """

    def __init__(self, folder: Path, options: Mapping[str, Any]) -> None:
        import wandb

        self._run = wandb.init(
            project="fastenv",
            name=folder.name,
            id=folder.name,
            resume="allow",
            dir=str(folder),
            config=dict(options),
            mode=os.environ.get("WANDB_MODE", "offline"),
        )

    def draw(self, values: Mapping[str, float], step: int) -> None:
        """See :class:`Board`; evaluations come late, so the step is a number among the others."""
        self._run.log({**values, "decisions": step})

    def close(self) -> None:
        """See :class:`Board`."""
        self._run.finish()
