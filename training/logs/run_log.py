"""The log of a run: JSON lines, TensorBoard, and the dashboard on the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich.console import Console

from fastenv.ticker import print_dots
from training.logs.boards import boards_of
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
        Options of a run that also draws on Weights & Biases; see :mod:`training.logs.boards`.
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
