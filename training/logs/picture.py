"""The status of a run as lines for a terminal of any size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.text import Text

from training.logs.status import CURVES, Status, duration, first, mapping, number

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
# What is known of layers, likewise; the largest is shown, with the layer that has it.
LAYERS = (
    ("update_ratio", "update/weight", ".1e"),
    ("dead_units", "dead units", ".0%"),
)
LABEL = 12  # columns of the headings at the left
BLOCKS, BLOCKS_ASCII = " ▁▂▃▄▅▆▇█", " ._-=+*#@"


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
        """Draw at most ``height - 1`` lines of at most ``width`` columns."""
        # The last column stays free: some terminals wrap as soon as it is written.
        width, room = max(1, width - 1), max(1, height - 1)
        rows = 3 if room >= 22 else 2 if room >= 16 else 1
        parts = [  # in order of appearance, with their priorities, 0 first
            (4, self._draw_head(width, ascii_only)),
            (0, self._draw_progress(width, ascii_only)),
            (1, self._draw_speed(width, lines=2 if rows > 1 else 1)),
            (3, self._draw_curves(width, rows, ascii_only)),
            (5, self._draw_phases(width, ascii_only, air=rows > 1)),
            (6, self._draw_terms(width)),
            (7, self._draw_layers(width)),
            (2, self._draw_evaluation(width, ascii_only)),
            (2, self._draw_warnings()),
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

    def _draw_head(self, width: int, ascii_only: bool) -> list[Text]:
        rule = "-" if ascii_only else "─"
        head = Text.assemble((rule * 2 + " ", "dim"), (self.status.name, "bold"))
        return [head.append(" " + rule * max(0, width - head.cell_len - 1), "dim")]

    def _draw_progress(self, width: int, ascii_only: bool) -> list[Text]:
        status = self.status
        counts = f"{status.steps:,} of {status.total:,}"
        text = f" {math.floor(100 * status.done):3d} %  {counts}"
        columns = width - len(text)
        if columns < 8:
            return [Text(text.strip())]
        return [_draw_bar(status.done, columns, "green", ascii_only).append(text)]

    def _draw_speed(self, width: int, lines: int) -> list[Text]:
        status = self.status
        passed, left = duration(status.passed_s), duration(status.left_s)
        parts = [f"{left} left" if status.done < 1 else "done", f"{passed} passed", *status.speed()]
        if status.saved_at is not None:
            parts.append(f"saved at {status.saved_at:,}")
        styled = [
            Text(part, style="bold cyan" if k in (0, 2) else "") for k, part in enumerate(parts)
        ]
        return _flow(styled, width)[:lines]

    def _draw_curves(self, width: int, rows: int, ascii_only: bool) -> list[Text]:
        lines: list[Text] = []
        columns = max(4, width - LABEL - 30)
        for where, heading, form in CURVES:
            curve = self.status.curves[where]
            if not curve.values:
                continue
            values, span, seen = curve.smooth(columns)
            low, high = (f"{value:{form}}" for value in seen)
            drawn = sparkline(values, rows, ascii_only, span)
            if rows > 1:
                lines.append(Text())  # air between tall curves
            lines += [_begin_line("").append(line, "yellow") for line in drawn[:-1]]
            last = _begin_line(heading).append(drawn[-1], "yellow")
            last.append(f"  {curve.last():{form}}", "bold")
            if last.cell_len + 3 + len(f"{low} to {high}") <= width:
                last.append(f"   {low} to {high}", "dim")
            lines.append(last)
        return lines

    def _draw_phases(self, width: int, ascii_only: bool, air: bool) -> list[Text]:
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
            line = _begin_line("time" if row == 0 else "")
            for name in names[row::down]:
                share = phases[name] / total
                cell = Text(f"{name[:10]:<10} ")
                cell.append(_draw_bar(share, columns, "blue", ascii_only, empty=" "))
                cell.append(f" {100 * share:3.0f} %")
                cell.append(" " * max(0, each - cell.cell_len))
                line.append(cell)
            line.rstrip()
            lines.append(line)
        return lines

    def _draw_terms(self, width: int) -> list[Text]:
        train = dict(mapping(self.status.record, "train"))
        if "entropy" not in train and "entropy_loss" in train:
            train["entropy"] = -number(train["entropy_loss"])
        terms = [
            Text().append(heading + " ", "dim").append(format(value, form).replace("%", " %"))
            for name, heading, form in TERMS
            if isinstance(value := train.get(name), int | float)
        ]
        lines = _flow(terms, width - LABEL)
        return [_begin_line("" if k else "update").append(line) for k, line in enumerate(lines)]

    def _draw_layers(self, width: int) -> list[Text]:
        parts = []
        for name, heading, form in LAYERS:
            values = {
                layer: value
                for layer, figures in self.status.layers.items()
                if math.isfinite(value := number(mapping(self.status.layers, layer).get(name)))
            }
            if not values:
                continue
            where = max(values, key=lambda layer: values[layer])
            most = format(values[where], form).replace("%", " %")
            parts.append(
                Text().append(f"{heading} ", "dim").append(most).append(f" {where}", "dim")
            )
        lines = _flow(parts, width - LABEL)
        return [_begin_line("" if k else "layers").append(line) for k, line in enumerate(lines)]

    def _draw_evaluation(self, width: int, ascii_only: bool) -> list[Text]:
        points = list(self.status.evaluations)
        if not points:
            return []
        newest, before = points[-1], points[0] if len(points) > 1 else {}
        head = _begin_line("evaluation").append(f"at {newest.get('step') or 0:,}", "bold")
        if before:
            head.append(f"   changes since {before.get('step') or 0:,}", "dim")
        results, old = mapping(newest, "results"), mapping(before, "results")
        rows = list(results.items())[:4]
        cells = [format_value(interval) for _, interval in rows]
        widest = max((len(cell) for cell in cells), default=0)
        room = max(1, width - LABEL - widest - 14)
        names = min(room, max((len(str(name)) for name, _ in rows), default=0))
        lines = [head]
        for (name, interval), cell in zip(rows, cells, strict=True):
            text = Text(str(name))
            text.truncate(names, overflow="crop" if ascii_only else "ellipsis", pad=True)
            line = _begin_line("").append(text).append(f"  {cell:<{widest}}", "bold")
            change = number(first(interval)) - number(first(old.get(name)))
            if math.isfinite(change):
                line.append(f"  {change:+.{_choose_decimals(interval)}f}", "dim")
            lines.append(line)
        return lines

    def _draw_warnings(self) -> list[Text]:
        return [
            Text.assemble(("! ", "bold red"), (text, "red")) for text in list(self.status.warnings)
        ]


def sparkline(
    values: Sequence[float],
    rows: int = 1,
    ascii_only: bool = False,
    span: tuple[float, float] | None = None,
) -> list[str]:
    """Draw values as filled columns.

    Parameters
    ----------
    values : sequence of float
    rows : int
    ascii_only : bool
    span : (float, float), optional
        Values at the bottom and at the top; default the lowest and the highest.

    Returns
    -------
    list of str
        ``rows`` lines of ``len(values)`` characters, the upper one first.
    """
    if not values:
        return [""] * rows
    blocks = BLOCKS_ASCII if ascii_only else BLOCKS
    low, high = span or (min(values), max(values))
    top = 8 * rows - 1
    scale = top / (high - low) if high > low else 0.0
    heights = [1 + (round(scale * (v - low)) if scale else top // 2) for v in values]
    return [
        "".join(blocks[min(8, max(0, height - 8 * row))] for height in heights)
        for row in reversed(range(rows))
    ]


def _begin_line(heading: str) -> Text:
    """Begin a line; the style of the heading does not reach what is appended."""
    return Text().append(heading.ljust(LABEL), "dim")


def _draw_bar(share: float, columns: int, style: str, ascii_only: bool, empty: str = "") -> Text:
    share = min(1.0, max(0.0, share)) if math.isfinite(share) else 0.0
    full, half, rest = ("#", "", empty or ".") if ascii_only else ("━", "╸", empty or "━")
    halves = round(2 * columns * share)
    if share > 0:
        halves = max(1, halves)
    bar = Text().append(full * (halves // 2), style).append(half if halves % 2 else "", style)
    return bar.append(rest * (columns - bar.cell_len), "bright_black")


def _flow(parts: Iterable[Text], width: int) -> list[Text]:
    """Put parts beside each other on as many lines as they need."""
    lines: list[Text] = []
    for part in parts:
        if lines and lines[-1].cell_len + 3 + part.cell_len <= width:
            lines[-1].append("   ").append(part)
        else:
            lines.append(Text().append(part))
    return lines


def format_value(interval: Any) -> str:
    """Format a value, with its interval if it has one, to about three digits."""
    if isinstance(interval, Sequence) and not isinstance(interval, str) and len(interval) == 3:
        value, low, high = (f"{number(x):.{_choose_decimals(interval)}f}" for x in interval)
        return f"{value} [{low}, {high}]"
    return f"{interval:.4g}" if isinstance(interval, int | float) else str(interval)


def _choose_decimals(interval: Any) -> int:
    size = abs(number(first(interval)))
    return 3 if size < 1 else 2 if size < 10 else 1 if size < 1000 else 0
