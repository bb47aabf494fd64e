"""What a run shows while it trains: a live picture on a terminal, a line now and then elsewhere.

The picture is drawn by a thread of its own, once a second or less often, so that showing it costs
under 1 % of the training whatever the terminal is. What goes wrong with the terminal ends the
picture and never the training.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.live import Live
from rich.text import Text

LINE_EVERY_S = 30.0
DRAW_EVERY_S = 1.0
DRAW_SHARE = 0.005  # of the time, at most, for drawing
KEPT = 512  # points of a curve
SMOOTHED, SMOOTHED_LEAST = 0.05, 5  # of the iterations so far, as in the report
# Group and name of what is drawn as a curve; heading; decimals.
CURVES = (
    (("episode", "return_mean"), "return", 2),
    (("rounds", "hit_rate"), "bids made", 3),
)
# Terms of the update: name, heading, format. SB3 records the entropy as a loss.
TERMS = (
    ("entropy", "entropy", ".3f"),
    ("kl", "kl", ".4f"),
    ("clipfrac", "clipped", ".1%"),
    ("explained_variance", "explained", ".2f"),
    ("value_loss", "value loss", ".3g"),
    ("grad_norm", "gradient", ".3g"),
    ("lr", "lr", ".2g"),
)
LABEL = 12  # columns of the headings at the left
BLOCKS, BLOCKS_ASCII = " ▁▂▃▄▅▆▇█", " ._-=+*#@"


class Curve:
    """A curve over a run in at most ``KEPT`` points: when they are full, neighbours are merged."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self._each = 1  # values merged in a point
        self._open: list[float] = []

    def add(self, value: float) -> None:
        """Append a value; what is not finite is left out."""
        if not math.isfinite(value):
            return
        self._open.append(value)
        if len(self._open) < self._each:
            return
        self.values.append(sum(self._open) / self._each)
        self._open.clear()
        if len(self.values) >= KEPT:
            pairs = zip(self.values[::2], self.values[1::2], strict=True)
            self.values = [(a + b) / 2 for a, b in pairs]
            self._each *= 2

    def last(self) -> float:
        """Return the mean over the last points, those that the report smooths over; NaN if none."""
        values = self.values
        tail = values[-max(SMOOTHED_LEAST, int(SMOOTHED * len(values))) :] or list(self._open)
        return sum(tail) / len(tail) if tail else math.nan

    def resampled(self, columns: int) -> list[float]:
        """Return the curve in at most so many means of neighbours."""
        values = list(self.values)
        n = len(values)
        if n <= columns:
            return values
        cuts = [round(k * n / columns) for k in range(columns + 1)]
        return [sum(values[a:b]) / (b - a) for a, b in pairwise(cuts)]


def sparkline(values: Sequence[float], rows: int = 1, ascii_only: bool = False) -> list[str]:
    """Draw values as filled columns, from the lowest value to the highest.

    Returns
    -------
    list of str
        ``rows`` lines of ``len(values)`` characters, the upper one first.
    """
    if not values:
        return [""] * rows
    blocks = BLOCKS_ASCII if ascii_only else BLOCKS
    low, high = min(values), max(values)
    top = 8 * rows - 1
    span = high - low
    heights = [1 + (round(top * (v - low) / span) if span > 0 else top // 2) for v in values]
    return [
        "".join(blocks[min(8, max(0, height - 8 * row))] for height in heights)
        for row in reversed(range(rows))
    ]


def duration(seconds: float) -> str:
    """Return a time as ``m:ss``, ``h:mm:ss`` or ``d days h:mm``; ``-`` if it is unknown."""
    if not math.isfinite(seconds) or seconds < 0:
        return "-"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} days {hours % 24}:{minute:02d}"
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"


class Status:
    """What is known of a run; draws nothing.

    The training writes and the drawing thread reads without a lock: whoever reads a container that
    grows copies it first, which is one step of the interpreter.

    Parameters
    ----------
    name : str
    total : int
        Decisions of the whole run.
    start : int
        Where this process began.
    """

    def __init__(self, name: str, total: int, start: int = 0) -> None:
        self.name, self.total, self.steps = name, max(total, 1), start
        self.record: Mapping[str, Any] = {}
        self.curves = {where: Curve() for where, _, _ in CURVES}
        self.evaluations: deque[Mapping[str, Any]] = deque(maxlen=2)
        self.warnings: deque[str] = deque(maxlen=3)
        self.phases: dict[str, float] = {}
        self.saved_at: int | None = None
        self._began = time.monotonic()
        self._recent: deque[tuple[float, int]] = deque([(self._began, start)], maxlen=64)
        self._wall = 0.0, self._began  # of the training, and when it was that

    def metrics(self, record: Mapping[str, Any]) -> None:
        """Take in an iteration."""
        self.history(record)
        self.at(int(record.get("step", self.steps)))
        for name, seconds in _numbers(record.get("phases")).items():
            # Recent iterations count most, so that the split is steady and still follows a change.
            self.phases[name] = 0.8 * self.phases.get(name, seconds) + 0.2 * seconds
        wrong = [k for k, v in _section(record, "train").items() if _is_wrong(v)]
        if wrong:
            self.warn(f"not finite in iteration {record.get('iter', '?')}: {', '.join(wrong)}")

    def history(self, record: Mapping[str, Any]) -> None:
        """Take in an iteration of an earlier process."""
        self.record = record
        if "wall_s" in record:
            self._wall = float(record["wall_s"]), time.monotonic()
        for (group, name), curve in self.curves.items():
            value = _section(record, group).get(name)
            if isinstance(value, int | float):
                curve.add(float(value))

    def event(self, kind: str, details: Mapping[str, Any]) -> None:
        """Take in what happened: checkpoints, evaluations and warnings are shown."""
        if kind == "evaluation":
            self.evaluations.append(details)
        elif kind == "warning":
            self.warn(str(details.get("text", "")))
        elif kind == "checkpoint":
            self.saved_at = details.get("step")

    def warn(self, text: str) -> None:
        """Show a warning once; the last few stay."""
        if text not in self.warnings:
            self.warnings.append(" ".join(text.split()))

    def at(self, steps: int) -> None:
        """Say how far the run is."""
        self.steps, now = steps, time.monotonic()
        if len(self._recent) > 2 and now - self._recent[-2][0] < 1.0:
            self._recent[-1] = now, steps
        else:
            self._recent.append((now, steps))

    @property
    def passed_s(self) -> float:
        """Seconds of training, those of earlier processes included."""
        wall, then = self._wall
        return wall + time.monotonic() - then

    @property
    def left_s(self) -> float:
        """Seconds left at the speed of late, pauses included; NaN at the beginning."""
        (began, first), (now, last) = self._recent[0], self._recent[-1]
        if last <= first:
            return math.nan
        waited = time.monotonic() - now
        return max(0.0, (self.total - last) * (now - began) / (last - first) - waited)

    @property
    def done(self) -> float:
        """Share of the run that is done."""
        return min(1.0, self.steps / self.total)

    def line(self) -> str:
        """Return where the run is, in one line."""
        parts = [f"{self.steps:,} of {self.total:,} decisions ({self.done:.0%})"]
        parts += self.speed()[:1]
        if math.isfinite(self.left_s) and self.done < 1:
            parts.append(f"{duration(self.left_s)} left")
        for where, heading, digits in CURVES:
            value = self.curves[where].last()
            if math.isfinite(value):
                parts.append(f"{heading} {value:z.{digits}f}")
        return ", ".join(parts)

    def speed(self) -> list[str]:
        """Return speed, load and memory as far as they are known, the most telling first."""
        sps, sps_cpu = (_number(self.record.get(key)) for key in ("sps", "sps_cpu"))
        parts = []
        if sps > 0:
            parts.append(f"{sps:,.0f} decisions/s")
        if sps > 0 and sps_cpu > 0:
            parts += [f"{sps_cpu:,.0f} per CPU second", f"{sps / sps_cpu:.1f} cores"]
        rss = _number(_section(self.record, "mem").get("rss_mb"))
        if rss > 0:
            parts.append(f"{rss / 1024:.1f} GiB" if rss >= 1024 else f"{rss:.0f} MiB")
        return parts


# -- drawing ---------------------------------------------------------------------------------------


class Picture:
    """The status as lines that fit a terminal: parts that find no room are left out.

    Parameters
    ----------
    status : Status
    """

    def __init__(self, status: Status) -> None:
        self.status = status

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterable[RenderableType]:
        """Yield the lines."""
        height = options.height or console.height
        yield Group(*self.lines(options.max_width, height, options.ascii_only))

    def lines(self, width: int, height: int, ascii_only: bool = False) -> list[Text]:
        """Return at most ``height - 1`` lines of at most ``width`` columns."""
        # The last column stays free: some terminals wrap as soon as it is written.
        width, room = max(1, width - 1), max(1, height - 1)
        rows = 3 if room >= 22 else 2 if room >= 16 else 1
        parts = [  # in order of appearance, with what each is worth
            (4, self._head(width, ascii_only)),
            (0, self._progress(width, ascii_only)),
            (1, self._speed(width)),
            (3, self._curves(width, rows, ascii_only)),
            (5, self._phases(width, ascii_only, air=rows > 1)),
            (6, self._terms(width)),
            (2, self._evaluation(width, ascii_only)),
            (2, self._warnings()),
        ]
        chosen: set[int] = set()
        for k in sorted(range(len(parts)), key=lambda k: parts[k][0]):
            if len(parts[k][1]) <= room:
                chosen.add(k)
                room -= len(parts[k][1])
        lines = [line for k in sorted(chosen) for line in parts[k][1]]
        for line in lines:
            line.no_wrap, line.overflow = True, "crop" if ascii_only else "ellipsis"
            line.truncate(width, overflow=line.overflow)
        return lines

    def _head(self, width: int, ascii_only: bool) -> list[Text]:
        rule = "-" if ascii_only else "─"
        head = Text.assemble((rule * 2 + " ", "dim"), (self.status.name, "bold"))
        return [head.append(" " + rule * max(0, width - head.cell_len - 1), "dim")]

    def _progress(self, width: int, ascii_only: bool) -> list[Text]:
        status = self.status
        counts = f"{status.steps:,} of {status.total:,}"
        text = f" {math.floor(100 * status.done):3d} %  {counts}"
        columns = width - len(text)
        if columns < 8:
            return [Text(text.strip())]
        return [_bar(status.done, columns, "green", ascii_only).append(text)]

    def _speed(self, width: int) -> list[Text]:
        status = self.status
        passed, left = duration(status.passed_s), duration(status.left_s)
        parts = [f"{left} left" if status.done < 1 else "done", f"{passed} passed", *status.speed()]
        if status.saved_at is not None:
            parts.append(f"saved at {status.saved_at:,}")
        line = Text()
        for k, part in enumerate(parts):
            if k and line.cell_len + 3 + len(part) > width:
                break
            line.append("   " if k else "").append(part, "bold cyan" if k in (0, 2) else "")
        return [line]

    def _curves(self, width: int, rows: int, ascii_only: bool) -> list[Text]:
        lines: list[Text] = []
        columns = max(4, width - LABEL - 30)
        for where, heading, digits in CURVES:
            curve = self.status.curves[where]
            values = curve.resampled(columns)
            if not values:
                continue
            low, high = f"{min(values):z.{digits}f}", f"{max(values):z.{digits}f}"
            now = f"{curve.last():z.{digits}f}"
            drawn = sparkline(values, rows, ascii_only)
            if rows > 1:
                lines.append(Text())  # air between tall curves
            for k, line in enumerate(drawn):
                last = k == len(drawn) - 1
                text = _labelled(heading if last else "").append(line, "yellow")
                if last:
                    text.append(f"  {now}", "bold").append(f"   {low} to {high}", "dim")
                lines.append(text)
        return lines

    def _phases(self, width: int, ascii_only: bool, air: bool) -> list[Text]:
        phases = {k: v for k, v in dict(self.status.phases).items() if v > 0}
        total = sum(phases.values())
        if total <= 0 or width < 32:
            return []
        across = 2 if width >= 64 and len(phases) > 3 else 1
        each = (width - LABEL) // across
        columns = min(40, each - 18)
        lines = [Text()] if air else []
        names = list(phases)
        down = -(-len(names) // across)
        for row in range(down):
            line = _labelled("time" if row == 0 else "")
            for name in names[row::down]:
                share = phases[name] / total
                cell = Text(f"{name[:10]:<10} ")
                cell.append(_bar(share, columns, "blue", ascii_only, empty=" "))
                cell.append(f" {100 * share:3.0f} %")
                cell.append(" " * max(0, each - cell.cell_len))
                line.append(cell)
            line.rstrip()
            lines.append(line)
        return lines

    def _terms(self, width: int) -> list[Text]:
        train = dict(_section(self.status.record, "train"))
        if "entropy" not in train and "entropy_loss" in train:
            train["entropy"] = -_number(train["entropy_loss"])
        line = _labelled("update")
        before = line.cell_len
        for name, heading, form in TERMS:
            value = train.get(name)
            if not isinstance(value, int | float):
                continue
            number = format(value, form).replace("%", " %")
            gap = 0 if line.cell_len == before else 3
            if line.cell_len + gap + len(heading) + 1 + len(number) > width:
                break
            line.append(" " * gap).append(heading + " ", "dim").append(number)
        return [line] if line.cell_len > before else []

    def _evaluation(self, width: int, ascii_only: bool) -> list[Text]:
        points = list(self.status.evaluations)
        if not points:
            return []
        newest = points[-1]
        results = newest.get("results")
        before = points[0].get("results") if len(points) > 1 else None
        lines = [_labelled("evaluation").append(f"at {newest.get('step') or 0:,}", "bold")]
        if not isinstance(results, Mapping):
            return lines
        widest = max((len(str(name)) for name in results), default=0)
        for name, interval in list(results.items())[:4]:
            line = (
                Text(" " * LABEL)
                .append(f"{name!s:<{min(widest, 36)}}  ")
                .append(_shown(interval), "bold")
            )
            old = before.get(name) if isinstance(before, Mapping) else None
            change = _number(_first(interval)) - _number(_first(old))
            if math.isfinite(change):
                line.append(f"   {change:+.3g} since {points[0].get('step') or 0:,}", "dim")
            lines.append(line)
        return lines

    def _warnings(self) -> list[Text]:
        return [
            Text.assemble(("! ", "bold red"), (text, "red")) for text in list(self.status.warnings)
        ]


def _labelled(heading: str) -> Text:
    """Begin a line; the style of the heading does not reach what is appended."""
    return Text().append(heading.ljust(LABEL), "dim")


def _bar(share: float, columns: int, style: str, ascii_only: bool, empty: str = "") -> Text:
    share = min(1.0, max(0.0, share)) if math.isfinite(share) else 0.0
    full, half, rest = ("#", "", empty or ".") if ascii_only else ("━", "╸", empty or "━")
    halves = round(2 * columns * share)
    if share > 0:
        halves = max(1, halves)
    bar = Text().append(full * (halves // 2), style).append(half if halves % 2 else "", style)
    return bar.append(rest * (columns - bar.cell_len), "bright_black")


def _shown(interval: Any) -> str:
    if isinstance(interval, Sequence) and not isinstance(interval, str) and len(interval) == 3:
        value, low, high = (f"{_number(x):.4g}" for x in interval)
        return f"{value} [{low}, {high}]"
    return f"{interval:.4g}" if isinstance(interval, int | float) else str(interval)


def _evaluation_line(details: Mapping[str, Any]) -> str:
    found = "; ".join(f"{name} {_shown(x)}" for name, x in _section(details, "results").items())
    return f"evaluation at {details.get('step') or 0:,}: {found}"


def _first(interval: Any) -> Any:
    is_list = isinstance(interval, Sequence) and not isinstance(interval, str) and interval
    return interval[0] if is_list else interval


def _number(value: Any) -> float:
    """Return a number as it is, NaN for anything else."""
    return float(value) if isinstance(value, int | float) else math.nan


def _section(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = record.get(name)
    return found if isinstance(found, Mapping) else {}


def _numbers(section: Any) -> dict[str, float]:
    items = section.items() if isinstance(section, Mapping) else ()
    return {k: float(v) for k, v in items if isinstance(v, int | float) and math.isfinite(v)}


def _is_wrong(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


# -- showing ---------------------------------------------------------------------------------------


class Dashboard:
    """Shows a run: live on a terminal, otherwise a line every ``LINE_EVERY_S`` seconds.

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
        self._last_line = time.monotonic()
        self.draw_s = 0.0  # CPU seconds spent on drawing
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self._start()

    def metrics(self, record: Mapping[str, Any]) -> None:
        """Show an iteration; ``record`` is a line of ``metrics.jsonl``."""
        self._try(self.status.metrics, record)
        self._line_if_due()

    def event(self, kind: str, details: Mapping[str, Any]) -> None:
        """Show what happened, see :meth:`Status.event`; an evaluation, if need be, as a line."""
        self._try(self.status.event, kind, details)
        if kind == "evaluation" and self._live is None:
            self._try(lambda: self.say(_evaluation_line(details)))

    def history(
        self, records: Iterable[Mapping[str, Any]], evaluations: Iterable[Mapping[str, Any]]
    ) -> None:
        """Take in what earlier processes of the run have logged."""
        for record in records:
            self._try(self.status.history, record)
        for evaluation in evaluations:
            self._try(self.status.event, "evaluation", evaluation)

    def progress(self, steps: int) -> None:
        """Show how far the run is within an iteration."""
        self._try(self.status.at, steps)
        self._line_if_due()

    def say(self, text: str) -> None:
        """Print one line, above the picture if there is one."""
        try:
            self._console.print(text, highlight=False, markup=False, soft_wrap=True)
        except Exception:
            self._give_up()

    def close(self) -> None:
        """Draw for the last time and give the terminal back."""
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
        if self._live is None and time.monotonic() - self._last_line >= LINE_EVERY_S:
            self._last_line = time.monotonic()
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
        """Bring the cursor back as well as it goes."""
        try:
            self._console.show_cursor(True)
        except Exception:  # the terminal is gone: nobody is left to tell
            return
