"""The display of a run in training: a live picture on a terminal, a line now and then elsewhere.

Between two lines there is a dot a second.

The picture is drawn by a thread of its own, once a second or less often, so that showing it costs
under 1 % of the training whatever the terminal is. What goes wrong with the terminal ends the
picture and never the training.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any

from rich.console import Console
from rich.live import Live

from fastenv.ticker import print_dots
from training.logs.picture import Picture, format_value
from training.logs.status import Status, mapping

LINE_EVERY_S = 5.0  # at first; later a hundredth of the time that has passed, if that is longer
LINE_SHARE = 0.01
DRAW_EVERY_S = 1.0
DRAW_SHARE = 0.005  # of the time, at most, for drawing


class Dashboard:
    """Shows a run: live on a terminal, otherwise a line every ``LINE_EVERY_S`` seconds or so.

    No method raises because of the terminal.

    Parameters
    ----------
    name : str
    total : int
        Decisions of the whole run.
    start : int
        Where this process begins.
    console : rich.console.Console, optional
        Default the standard error stream.
    """

    def __init__(
        self, name: str, total: int, start: int = 0, console: Console | None = None
    ) -> None:
        self.status = Status(name, total, start)
        # FORCE_COLOR makes a terminal of any file, but lines in a log should stay lines.
        on_terminal = None if sys.stderr.isatty() else False
        self._console = console or Console(file=sys.stderr, force_terminal=on_terminal)
        self._live: Live | None = None
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._last_line = self._last_record = self._began = time.monotonic()
        self.draw_s = 0.0  # CPU seconds spent on drawing
        self._ticks = ExitStack()
        self._ticks_between = console is None
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self._start()
            self._ticks_between = False
        self._tick()

    def metrics(self, record: Mapping[str, Any]) -> None:
        """Show an iteration; ``record`` is a line of ``metrics.jsonl``."""
        self._try(self.status.metrics, record)
        self._line_if_due()

    def event(self, kind: str, details: Mapping[str, Any]) -> None:
        """Show an event, see :meth:`Status.event`; some, where there is no picture, as a line."""
        self._try(self.status.event, kind, details)
        if kind in _LINES and self._live is None:
            self._try(lambda: self.say(_LINES[kind](details)))

    def history(
        self, records: Iterable[Mapping[str, Any]], evaluations: Iterable[Mapping[str, Any]]
    ) -> None:
        """Add the records that earlier processes of the run have logged."""
        for record in records:
            self._try(self.status.history, record)
        for evaluation in evaluations:
            self._try(self.status.event, "evaluation", evaluation)

    def say(self, text: str) -> None:
        """Print one line, above the picture if there is one."""
        self._ticks.close()
        try:
            # A terminal would break a long line within a word; in a file it stays one line.
            whole = not self._console.is_terminal
            self._console.print(text, highlight=False, markup=False, soft_wrap=whole)
        except Exception:
            self._give_up()
        self._tick()

    def _tick(self) -> None:
        """Begin to write a dot a second, up to the next line."""
        if self._ticks_between:
            self._ticks.enter_context(print_dots("training"))

    def close(self) -> None:
        """Draw for the last time and give the terminal back."""
        self._ticks_between = False
        self._ticks.close()
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._live is not None:
            live, self._live = self._live, None
            try:
                live.stop()  # draws once more
            except Exception:
                self._restore()

    def _start(self) -> None:
        try:
            self._live = Live(
                Picture(self.status),
                console=self._console,
                auto_refresh=False,
                redirect_stdout=sys.stdout.isatty(),
                vertical_overflow="crop",
            )
            self._live.start()
        except Exception:  # another live display is there, or no terminal after all
            self._give_up()
            return
        self._thread = threading.Thread(target=self._draw, name="dashboard", daemon=True)
        self._thread.start()

    def _draw(self) -> None:
        wait = 0.2  # soon something, then at leisure
        while not self._ended.wait(wait):
            began = time.thread_time()
            live = self._live
            if live is None or not self._try(live.refresh):
                return
            took = time.thread_time() - began
            self.draw_s += took
            wait = max(DRAW_EVERY_S, took / DRAW_SHARE)

    def _line_if_due(self) -> None:
        """Print a line if now is nearer to when one is due than the next iteration would be."""
        now = time.monotonic()
        ahead, self._last_record = (now - self._last_record) / 2, now
        wait = max(LINE_EVERY_S, LINE_SHARE * (now - self._began))
        if self._live is None and now + ahead - self._last_line >= wait:
            self._last_line = now
            self._try(lambda: self.say(self.status.line()))

    def _try(self, do: Any, *arguments: Any) -> bool:
        """Call something that may fail without harm; a failure ends the picture."""
        try:
            do(*arguments)
        except Exception:
            self._give_up()
            return False
        return True

    def _give_up(self) -> None:
        """Go on without the picture, in lines."""
        self._ended.set()
        live, self._live = self._live, None
        if live is not None:
            try:
                live.stop()
            except Exception:
                self._restore()

    def _restore(self) -> None:
        """Show the cursor again, if the terminal is still there."""
        try:
            self._console.show_cursor(True)
        except Exception:  # the terminal is gone: nobody is left to tell
            return


def _format_evaluation(details: Mapping[str, Any]) -> str:
    results = "; ".join(
        f"{name} {format_value(x)}" for name, x in mapping(details, "results").items()
    )
    return f"evaluation at {details.get('step') or 0:,}: {results}"


def _format_quest(details: Mapping[str, Any]) -> str:
    where = f"by lane {details.get('lane')} at decision {details.get('step') or 0:,}"
    return f"quest {details.get('name')}: completed for the first time, {where}"


# Events that are a line of their own where no picture is drawn.
_LINES = {"evaluation": _format_evaluation, "quest": _format_quest}
