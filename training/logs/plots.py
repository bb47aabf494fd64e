"""Pictures that compare runs, for notebooks. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, MaxNLocator, PercentFormatter

from training.logs.run_data import (
    Interval,
    RunData,
    compared,
    is_interval,
    mapping,
    phase_shares,
    run_of,
    smooth,
)
from training.logs.sections import MAIN, SHARES, main_panels
from training.logs.seed_groups import SeedGroup

# Told apart by people with any kind of colour vision (Okabe and Ito); black is for bots.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#B8A000")
DASHES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))  # and without colours
MARKERS = ("o", "s", "^", "D", "v")
CURVES = {"episode/return_mean": "training return", "rounds/hit_rate": "bids made"}
Style = dict[str, Any]  # of a line: color, linestyle and marker
POINTS = 800  # of a line, at most
# The environment green, the rest of collecting blue, the update from yellow to red.
PHASE_COLOURS = {
    "env": "#009E73",
    "collect": "#0072B2",
    "forward": "#0072B2",
    "store": "#56B4E9",
    "gae": "#8C7AB8",
    "gather": "#8A8A1F",
    "update": "#D55E00",
    "loss": "#E69F00",
    "backward": "#D55E00",
    "optimizer": "#9C2F00",
    "logging": "#CC79A7",
    "other": "#7F7F7F",
}
WIDTH = 9.0  # inches
LETTERS = 30  # of the name of a player; longer ones lose their middle
_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.8,
    "axes.edgecolor": "#999999",
    "axes.axisbelow": True,
}


# -- curves ----------------------------------------------------------------------------------------


def learning_curves(
    runs: Sequence[RunData],
    curves: Mapping[str, str] = CURVES,
    *,
    over_time: bool = True,
) -> Figure | None:
    """Draw curves over decisions and, below, over time: smoothed, with the raw values behind.

    Returns
    -------
    Figure or None
        None if no run has anything of it.
    """
    rows = ["step", "wall_s"] if over_time else ["step"]
    return _draw_grid(runs, [(column, x) for x in rows for column in curves], curves, len(curves))


def _draw_grid(
    runs: Sequence[RunData],
    panels: Sequence[tuple[str, str]],
    titles: Mapping[str, str],
    across: int,
) -> Figure | None:
    """Draw one panel for each column and x axis that any run has."""
    drawn = [
        (column, x)
        for column, x in panels
        if any(np.isfinite(run.column(column)).any() for run in runs)
    ]
    if not drawn:
        return None
    columns_left = len({column for column, _ in drawn})
    across = min(across, columns_left)
    styles = _choose_styles([run.name for run in runs])

    def draw(axes: Sequence[Axes]) -> None:
        for axis, (column, x) in zip(axes, drawn, strict=True):
            factor, label = _choose_unit(x, runs)
            for run in runs:
                _draw_curve(axis, run.column(x) * factor, run.column(column), styles[run.name])
            axis.set_title(titles[column], loc="left")
            axis.yaxis.set_major_formatter(_format_short)
            values = np.concatenate([run.column(column) for run in runs])
            values = values[np.isfinite(values)]
            if values.size > 1 and np.allclose(values, values[0], rtol=1e-4, atol=0.0):
                axis.set_yticks(values[:1])  # others would bear the same number
            _set_x_axis(axis, x, label)

    with_any = [
        run.name
        for run in runs
        if any(np.isfinite(run.column(column)).any() for column, _ in drawn)
    ]
    return _make_figure(len(drawn), across, 2.4, draw, legend=_select_legend(styles, with_any))


def _draw_curve(axis: Axes, at: np.ndarray, values: np.ndarray, style: Style) -> None:
    known = np.isfinite(at) & np.isfinite(values)
    if not known.any():
        return
    at, raw, smoothed = at[known], values[known], smooth(values[known])
    thinned = slice(None, None, -(-len(at) // POINTS))
    if len(at) > 1:
        axis.plot(at[thinned], raw[thinned], color=style["color"], alpha=0.25, linewidth=0.8)
    marker = style["marker"] if len(at) == 1 else None
    axis.plot(at[thinned], smoothed[thinned], **style | {"marker": marker}, linewidth=1.6)


def _choose_unit(x: str, runs: Sequence[RunData]) -> tuple[float, str]:
    """Choose the factor and the label of an x axis: seconds, minutes or hours of training."""
    if x == "step":
        return 1.0, "decisions"
    longest = max((t for run in runs for t in run.column(x) if np.isfinite(t)), default=0.0)
    if longest < 180:
        return 1.0, "seconds of training"
    minutes = longest < 3 * 3600
    return (1 / 60, "minutes of training") if minutes else (1 / 3600, "hours of training")


def _set_x_axis(axis: Axes, x: str, label: str) -> None:
    axis.set_xlabel(label)
    axis.xaxis.set_major_locator(MaxNLocator(5))
    if x == "step":
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    axis.set_xlim(left=0)


def _format_short(value: float, _position: float | None = None) -> str:
    return f"{value:.4g}"


# -- over seeds ------------------------------------------------------------------------------------


def seed_curves(groups: Sequence[SeedGroup], curves: Mapping[str, str] = CURVES) -> Figure | None:
    """Draw the mean of the seeds of each group over decisions, in a band.

    The band reaches one standard deviation of the seeds to either side. Thin lines are the seeds.
    Columns of the metrics are smoothed, and evaluations during the training have markers. Where
    seeds have other steps, they are interpolated between those that all of them have reached.

    Parameters
    ----------
    groups : sequence of SeedGroup
        As :func:`training.logs.seed_groups.find_groups` returns them.
    curves : mapping
        Column of the metrics, such as ``episode/return_mean``, or measure of the evaluations
        during the training, such as ``return``, to the title of its panel.

    Returns
    -------
    Figure or None
        None if no run has anything of it.
    """
    styles = _choose_styles([group.name for group in groups])
    panels = {
        name: {
            group.name: seeds
            for group in groups
            if (seeds := [line for run in group.runs if (line := _read_line(run, name)).size])
        }
        for name in curves
    }
    panels = {name: lines for name, lines in panels.items() if lines}
    if not panels:
        return None
    measured = {column for group in groups for run in group.runs for column in run.metrics}

    def draw(axes: Sequence[Axes]) -> None:
        for axis, (name, of_group) in zip(axes, panels.items(), strict=True):
            for group, seeds in of_group.items():
                style = styles[group] | ({"marker": None} if name in measured else {})
                _draw_spread(axis, seeds, style)
            axis.set_title(curves[name], loc="left")
            axis.yaxis.set_major_formatter(_format_short)
            _set_x_axis(axis, "step", "decisions")

    drawn = {group for of_group in panels.values() for group in of_group}
    return _make_figure(
        len(panels), min(2, len(panels)), 2.8, draw, legend=_select_legend(styles, drawn)
    )


def _read_line(run: RunData, name: str) -> np.ndarray:
    """Read steps and values, shape (2, n), of a column or of an evaluated measure."""
    if name in run.metrics:
        line = np.array([run.column("step"), smooth(run.column(name))])
    else:
        points = sorted(row[:2] for measure, row in _iterate_measures(run) if measure == name)
        line = np.array(points, np.float64).reshape(-1, 2).T
    return line[:, np.isfinite(line).all(0)]


def _draw_spread(axis: Axes, seeds: Sequence[np.ndarray], style: Style) -> None:
    """Draw lines of seeds, shape (2, n) each, thin, their mean, and a band around it."""
    first, last = max(at[0] for at, _ in seeds), min(at[-1] for at, _ in seeds)
    steps = np.unique(np.concatenate([at for at, _ in seeds]))
    steps = steps[(first <= steps) & (steps <= last)]
    steps = steps[:: max(1, -(-len(steps) // POINTS))]
    values = np.array([np.interp(steps, *line) for line in seeds])
    mean = values.mean(0)
    if len(seeds) > 1:
        for at, value in seeds:
            axis.plot(at, value, **style | {"marker": None}, alpha=0.5, linewidth=0.7)
        wide = values.std(0, ddof=1)
        shade = {"color": style["color"], "alpha": 0.15, "linewidth": 0}
        axis.fill_between(steps, mean - wide, mean + wide, **shade)
    axis.plot(steps, mean, **style, markersize=4, linewidth=1.8)


# -- time by phase ---------------------------------------------------------------------------------


def phases(runs: Sequence[RunData]) -> Figure | None:
    """Draw the share of each phase in the time of an iteration, a bar for each run."""
    shares = {run.name: phase_shares(run) for run in runs}
    shares = {name: by_phase for name, by_phase in shares.items() if by_phase}
    unsorted = dict.fromkeys(phase for by_phase in shares.values() for phase in by_phase)
    order = list(PHASE_COLOURS)
    names = sorted(unsorted, key=lambda name: order.index(name) if name in order else len(order))
    if not names:
        return None

    def draw(axes: Sequence[Axes]) -> None:
        axis = axes[0]
        left = np.zeros(len(shares))
        for phase in names:
            colour = PHASE_COLOURS.get(phase, "#bbbbbb")
            width = np.array([by_phase.get(phase, 0.0) for by_phase in shares.values()])
            axis.barh(range(len(shares)), width, left=left, color=colour, label=phase, height=0.6)
            for y, (w, x) in enumerate(zip(width, left, strict=True)):
                if w >= 0.06:
                    axis.text(x + w / 2, y, f"{w:.0%}", ha="center", va="center", color="white")
            left += width
        axis.set_yticks(range(len(shares)), [_shorten(name) for name in shares])
        axis.invert_yaxis()
        axis.set(xlim=(0, 1), xlabel="share of wall time")
        axis.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
        axis.grid(visible=False)
        axis.legend(frameon=False, ncols=9, loc="lower left", bbox_to_anchor=(0, 1), fontsize=8)

    return _make_figure(1, 1, 0.9 + 0.32 * len(shares), draw)


# -- evaluations -----------------------------------------------------------------------------------

# Measures of the evaluations during a training whose names are not what a reader would say.
_SPOKEN = {"win_rate": "wins", "bid_hit": "bids made"}

_HEADING = 0.3  # inches above the panels of a measure

Panels = dict[str, dict[str, Interval]]  # group to player to interval


def evaluations(runs: Sequence[RunData]) -> Figure | None:
    """Draw the main measure of every evaluation with its intervals, runs above bots.

    Panels of the same measure stand together: the same players in the same lines on one scale.
    """
    blocks = main_panels(compared(runs))
    if not blocks:
        return None
    colour = dict(zip((run.name for run in runs), colours(len(runs)), strict=True))
    lines = {main: _arrange_lines(panels, colour) for main, panels in blocks.items()}
    heights = [_HEADING + sum(map(_compute_height, of_block)) for of_block in lines.values()]
    with matplotlib.rc_context(_STYLE):
        layout = ConstrainedLayoutEngine(h_pad=0.08)
        figure = Figure(figsize=(WIDTH, sum(heights)), layout=layout)
        parts = figure.subfigures(len(blocks), 1, height_ratios=heights, squeeze=False)
        for part, (main, of_block) in zip(parts.flat, lines.items(), strict=True):
            part.suptitle(MAIN[main], x=0.005, ha="left", fontsize=10, fontweight="bold")
            _draw_dots(part, of_block, colour)
            if main in SHARES:
                part.axes[0].xaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    return figure


@dataclass(frozen=True)
class _Line:
    """Panels side by side, and their players, those of runs first."""

    panels: Panels
    players: list[str]


def _arrange_lines(panels: Panels, names: Collection[str]) -> list[_Line]:
    """Put panels with the same players side by side, so that few lines stay empty."""
    across = 2 if len(panels) == 4 else 3
    groups = sorted(panels, key=lambda group: -len(panels[group]))
    lines = []
    for k in range(0, len(groups), across):
        line = {group: panels[group] for group in groups[k : k + across]}
        players = dict.fromkeys(name for rows in line.values() for name in rows)
        ordered = sorted(players, key=lambda name: run_of(name, list(names)) is None)
        lines.append(_Line(line, ordered))
    return lines


def _compute_height(line: _Line) -> float:
    """Compute the height in inches: the titles of panels, a row for each player, and ticks."""
    return 0.6 + 0.2 * len(line.players)


def _draw_dots(part: SubFigure, lines: Sequence[_Line], colour: Mapping[str, str]) -> None:
    """Draw a row for each player and a panel for each group, a dot with its interval in each."""
    across = max(len(line.panels) for line in lines)
    axes = part.subplots(
        *(len(lines), across),
        sharex=True,
        sharey="row",
        squeeze=False,
        height_ratios=[_compute_height(line) for line in lines],
    )
    alone = len(lines) == across == 1
    for beside, line in zip(axes, lines, strict=True):
        for axis in beside[len(line.panels) :]:
            axis.remove()
        beside[0].set_yticks(range(len(line.players)), [_shorten(p) for p in line.players])
        beside[0].set_ylim(len(line.players) - 0.5, -0.5)
        for axis, (group, rows) in zip(beside, line.panels.items(), strict=False):
            for name, interval in rows.items():
                shade = colour.get(run_of(name, list(colour)) or "", "black")
                _draw_dot(axis, line.players.index(name), interval, shade)
            axis.tick_params(labelbottom=True)
            axis.set_title("" if alone else group, loc="left", fontsize=9)
    axes[0, 0].margins(x=0.08)
    axes[0, 0].xaxis.set_major_locator(MaxNLocator(5))


def _draw_dot(axis: Axes, y: int, interval: Interval, colour: str) -> None:
    value, low, high = interval
    error = [[max(0.0, value - low)], [max(0.0, high - value)]]
    axis.errorbar(value, y, xerr=error, fmt="o", capsize=3, color=colour, markersize=4)


def _shorten(name: str) -> str:
    """Shorten a name to ``LETTERS`` letters; beginnings and ends tell names apart."""
    if len(name) <= LETTERS:
        return name
    half = (LETTERS - 1) // 2
    return f"{name[: LETTERS - 1 - half]}…{name[-half:]}"


def evaluation_points(runs: Sequence[RunData]) -> Figure | None:
    """Draw the evaluations that were made during the trainings over decisions."""
    points: dict[str, dict[str, list[tuple[float, ...]]]] = {}
    for run in runs:
        for measure, row in _iterate_measures(run):
            points.setdefault(measure, {}).setdefault(run.name, []).append(row)
    if not points:
        return None
    styles = _choose_styles([run.name for run in runs])

    def draw(axes: Sequence[Axes]) -> None:
        for axis, (measure, by_run) in zip(axes, points.items(), strict=True):
            for name, rows in by_run.items():
                at, value, low, high = np.array(sorted(rows)).T
                axis.plot(at, value, **styles[name], markersize=3, linewidth=1.4)
                shade = {"color": styles[name]["color"], "alpha": 0.15, "linewidth": 0}
                axis.fill_between(at, low, high, **shade)
            kind, comma, against = measure.partition(",")
            axis.set_title(_SPOKEN.get(kind, kind) + comma + against, loc="left")
            _set_x_axis(axis, "step", "decisions")

    legend = _select_legend(styles, {name for by_run in points.values() for name in by_run})
    across = 2 if len(points) % 2 == 0 else min(3, len(points))
    return _make_figure(len(points), across, 2.0, draw, legend=legend)


def _iterate_measures(run: RunData) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Yield measure and step, value, low and high of the evaluations during a training."""
    for evaluation in run.evaluations:
        if isinstance(evaluation.get("step"), int | float):
            for measure, value in mapping(evaluation, "results").items():
                interval = value if is_interval(value) else (value,) * 3
                if is_interval(interval):
                    yield measure, (evaluation["step"], *interval)


# -- figures ---------------------------------------------------------------------------------------


def colours(count: int) -> list[str]:
    """List so many colours; after the last one they begin again."""
    return [COLOURS[k % len(COLOURS)] for k in range(count)]


def _choose_styles(names: Sequence[str]) -> dict[str, Style]:
    """Choose the style of the line of each name: colour, and dashes and marker for grey prints."""
    return {
        name: {
            "color": colour,
            "linestyle": DASHES[k % len(DASHES)],
            "marker": MARKERS[k % len(MARKERS)],
        }
        for k, (name, colour) in enumerate(zip(names, colours(len(names)), strict=True))
    }


def _select_legend(styles: Mapping[str, Style], drawn: Collection[str]) -> dict[str, Style]:
    """Select the styles of the lines that are drawn, by name; none if there is only one."""
    return {name: style for name, style in styles.items() if name in drawn and len(styles) > 1}


def _make_figure(
    count: int,
    across: int,
    height: float,
    draw: Callable[[Sequence[Axes]], None],
    legend: Mapping[str, Style] | None = None,
) -> Figure:
    """Make a figure of ``count`` panels, drawn in the common style."""
    down = -(-count // across)
    legend = legend or {}
    across_legend = min(6, max(1, len(legend)))
    above = 0.3 * -(-len(legend) // across_legend)
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(WIDTH, height * down + above), layout="constrained")
        axes = figure.subplots(down, across, squeeze=False).flatten().tolist()
        for axis in axes[count:]:
            axis.remove()
        draw(axes[:count])
        if legend:
            handles = [Line2D([], [], **style, markersize=4) for style in legend.values()]
            figure.legend(
                handles,
                list(legend),
                loc="outside upper left",
                ncols=across_legend,
                frameon=False,
                handlelength=3,
            )
    return figure
