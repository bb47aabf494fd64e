"""Runs read from their folders, and pictures that compare them.

Notebook and report (:mod:`training.report`) draw with the same functions. A run may lack any of its
parts: what is there is drawn, and :attr:`RunData.notes` says what is not. Needs matplotlib.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, MaxNLocator

from fastenv.errors import FastEnvError
from training.evaluation import tables
from training.logs.run_log import flat, read_lines

# Told apart by people with any kind of colour vision (Okabe and Ito); black is for bots.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#B8A000")
CURVES = {"episode/return_mean": "training return", "rounds/hit_rate": "bids made"}
LOSSES = {
    "train/policy_loss": "policy loss",
    "train/value_loss": "value loss",
    "train/entropy": "entropy",
    "train/kl": "KL",
    "train/clipfrac": "share clipped",
    "train/explained_variance": "explained variance",
    "train/grad_norm": "gradient norm",
    "train/lr": "learning rate",
}
SPEEDS = {"sps": "decisions / s", "sps_cpu": "decisions / CPU second"}
SMOOTHED, SMOOTHED_LEAST = 0.05, 5  # of the iterations, but at least so many
POINTS = 800  # of a line, at most
AGENT = "trained"
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
LONG_NAME = 12  # letters of a player, above which two panels share a line instead of three
_STYLE = {
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


class RunDataError(FastEnvError, RuntimeError):
    """There is no run to read; the message says where it was looked for."""


@dataclass(frozen=True)
class RunData:
    """What a run folder holds.

    Parameters
    ----------
    name : str
        Unique among the runs that were read together.
    path : Path
    config : dict
        Option, such as ``ppo/n_steps``, to value; empty if it is missing.
    head : dict
        ``config.json`` without the options.
    metrics : dict of str to ndarray of float64, shape (iterations,)
        Columns such as ``train/kl``; NaN where an iteration lacks it.
    evaluations : list of dict
        What was found in the middle of the training.
    summary, evaluation : dict
        Empty if they are missing.
    notes : list of str
        What is missing or damaged.
    """

    name: str
    path: Path
    config: dict[str, Any] = field(default_factory=dict)
    head: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, np.ndarray] = field(default_factory=dict)
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    evaluation: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def column(self, name: str) -> np.ndarray:
        """Return a column of the metrics; all NaN if there is none."""
        missing = np.full(len(self.metrics.get("step", ())), np.nan)
        return self.metrics.get(name, missing)

    def last(self, name: str) -> float:
        """Return where the smoothed curve of a column ends; NaN if there is none."""
        values = smooth(self.column(name))
        known = values[np.isfinite(values)]
        return float(known[-1]) if known.size else math.nan


# -- reading ---------------------------------------------------------------------------------------


def read_runs(paths: Sequence[Path]) -> list[RunData]:
    """Read run folders; runs of the same name get their parent folder's name too.

    Raises
    ------
    RunDataError
        A folder is not there, or holds nothing of a run.
    """
    unique = list(dict.fromkeys(path.resolve() for path in paths))
    names = [path.name for path in unique]
    labels = [
        f"{path.parent.name}/{path.name}" if names.count(path.name) > 1 else path.name
        for path in unique
    ]
    return [read_run(path, label) for path, label in zip(unique, labels, strict=True)]


def read_run(path: Path, name: str | None = None) -> RunData:
    """Read what there is of a run folder."""
    parts = ("config.json", "metrics.jsonl", "summary.json", "evaluation.json")
    if not any((path / part).is_file() for part in parts):
        raise RunDataError(f"{path} is no run: it has none of {', '.join(parts)}.")
    notes: list[str] = []
    head = _read_object(path / "config.json", notes)
    config = head.pop("config", {})
    records = read_lines(path / "metrics.jsonl")
    if not records:
        notes.append("no metrics.jsonl, or an empty one")
    evaluation = _read_object(path / "evaluation.json", notes)
    if config and evaluation.get("config_sha256") not in (None, head.get("sha256")):
        notes.append("evaluation.json was made with another config")
    return RunData(
        name=name or path.name,
        path=path,
        config=_options(config) if isinstance(config, dict) else {},
        head=head,
        metrics=_columns(records),
        evaluations=read_lines(path / "evaluations.jsonl"),
        summary=_read_object(path / "summary.json", notes),
        evaluation=evaluation,
        notes=notes,
    )


def _read_object(path: Path, notes: list[str]) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        notes.append(f"no {path.name}")
        return {}
    except (OSError, ValueError):
        notes.append(f"{path.name} cannot be read")
        return {}
    return found if isinstance(found, dict) else {}


def _options(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    options: dict[str, Any] = {}
    for key, value in values.items():
        nested = isinstance(value, dict) and value
        options |= _options(value, f"{prefix}{key}.") if nested else {prefix + key: value}
    return options


def _columns(records: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    records = [record for record in records if "step" in record]
    rows = [dict(flat(dict(record))) for record in records]
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: np.array([row.get(name, np.nan) for row in rows]) for name in names}
    if "train/entropy_loss" in columns and "train/entropy" not in columns:
        columns["train/entropy"] = -columns["train/entropy_loss"]
    return columns


def smooth(values: np.ndarray, share: float = SMOOTHED) -> np.ndarray:
    """Return the running mean over ``share`` of the iterations, or five; NaN is left out."""
    window = max(SMOOTHED_LEAST, int(share * len(values)))
    known = np.isfinite(values)
    sums = np.concatenate([[0.0], np.cumsum(np.where(known, values, 0.0))])
    counts = np.concatenate([[0], np.cumsum(known)])
    last = np.arange(1, len(values) + 1)
    first = np.maximum(0, last - window)
    count = counts[last] - counts[first]
    mean = (sums[last] - sums[first]) / np.maximum(count, 1)
    return np.where(count > 0, mean, np.nan)


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
    return _grid(runs, [(column, x) for x in rows for column in curves], curves, len(curves))


def losses(runs: Sequence[RunData]) -> Figure | None:
    """Draw the terms of the update over decisions."""
    return _grid(runs, [(column, "step") for column in LOSSES], LOSSES, 4, height=1.7)


def speed(runs: Sequence[RunData]) -> Figure | None:
    """Draw the speed over decisions."""
    return _grid(runs, [(column, "step") for column in SPEEDS], SPEEDS, 2, from_zero=True)


def _grid(
    runs: Sequence[RunData],
    panels: Sequence[tuple[str, str]],
    titles: Mapping[str, str],
    across: int,
    *,
    height: float = 2.4,
    from_zero: bool = False,
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

    def draw(axes: Sequence[Axes]) -> None:
        for axis, (column, x) in zip(axes, drawn, strict=True):
            factor, label = _unit(x, runs)
            for run, colour in zip(runs, colours(len(runs)), strict=True):
                _curve(axis, run.column(x) * factor, run.column(column), colour)
            axis.set_title(titles[column], loc="left")
            if from_zero:
                axis.set_ylim(bottom=0)
            axis.yaxis.set_major_formatter(EngFormatter(sep="") if from_zero else _short)
            _x_axis(axis, x, label)

    with_any = [
        run.name
        for run in runs
        if any(np.isfinite(run.column(column)).any() for column, _ in drawn)
    ]
    return _figure(len(drawn), across, height, draw, legend=_legend(runs, with_any))


def _curve(axis: Axes, at: np.ndarray, values: np.ndarray, colour: str) -> None:
    known = np.isfinite(at) & np.isfinite(values)
    if not known.any():
        return
    at, raw, smoothed = at[known], values[known], smooth(values[known])
    thinned = slice(None, None, -(-len(at) // POINTS))
    if len(at) > 1:
        axis.plot(at[thinned], raw[thinned], color=colour, alpha=0.25, linewidth=0.8)
    marker = "o" if len(at) == 1 else None
    axis.plot(at[thinned], smoothed[thinned], color=colour, linewidth=1.6, marker=marker)


def _unit(x: str, runs: Sequence[RunData]) -> tuple[float, str]:
    """Return the factor and the label of an x axis: seconds, minutes or hours of training."""
    if x == "step":
        return 1.0, "decisions"
    longest = max((t for run in runs for t in run.column(x) if np.isfinite(t)), default=0.0)
    if longest < 180:
        return 1.0, "seconds of training"
    minutes = longest < 3 * 3600
    return (1 / 60, "minutes of training") if minutes else (1 / 3600, "hours of training")


def _x_axis(axis: Axes, x: str, label: str) -> None:
    axis.set_xlabel(label)
    axis.xaxis.set_major_locator(MaxNLocator(5))
    if x == "step":
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    axis.set_xlim(left=0)


def _short(value: float, _position: int | None = None) -> str:
    return f"{value:.4g}"


# -- where the time goes ---------------------------------------------------------------------------


def phase_shares(run: RunData) -> dict[str, float]:
    """Return the share of each phase in the time of a run; empty if it is not known."""
    columns = {k: v for k, v in run.metrics.items() if k.startswith("phases/")}
    sums = {k.removeprefix("phases/"): float(np.nansum(v)) for k, v in columns.items()}
    total = sum(sums.values())
    return {k: v / total for k, v in sums.items() if v > 0} if total > 0 else {}


def phases(runs: Sequence[RunData]) -> Figure | None:
    """Draw what share of the time the phases of an iteration took, a bar for each run."""
    shares = {run.name: phase_shares(run) for run in runs}
    shares = {name: found for name, found in shares.items() if found}
    unsorted = dict.fromkeys(phase for found in shares.values() for phase in found)
    order = list(PHASE_COLOURS)
    names = sorted(unsorted, key=lambda name: order.index(name) if name in order else len(order))
    if not names:
        return None

    def draw(axes: Sequence[Axes]) -> None:
        axis = axes[0]
        left = np.zeros(len(shares))
        for phase in names:
            colour = PHASE_COLOURS.get(phase, "#bbbbbb")
            width = np.array([found.get(phase, 0.0) for found in shares.values()])
            axis.barh(range(len(shares)), width, left=left, color=colour, label=phase, height=0.6)
            for y, (w, x) in enumerate(zip(width, left, strict=True)):
                if w >= 0.06:
                    axis.text(x + w / 2, y, f"{w:.0%}", ha="center", va="center", color="white")
            left += width
        axis.set_yticks(range(len(shares)), list(shares))
        axis.invert_yaxis()
        axis.set(xlim=(0, 1), xlabel="share of wall time")
        axis.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
        axis.grid(visible=False)
        axis.legend(frameon=False, ncols=9, loc="lower left", bbox_to_anchor=(0, 1), fontsize=8)

    return _figure(1, 1, 0.9 + 0.32 * len(shares), draw)


# -- how well it plays -----------------------------------------------------------------------------

Interval = Sequence[float]  # value, low, high
Results = dict[str, dict[str, dict[str, Interval]]]  # group to player to measure
# The measure that is drawn of a group, and what stands above it.
_TITLES = {"points": "points {}", "overall": "share of {}", "return": "return, {}"}
# Measures of the evaluations during a training whose names are not what a reader would say.
_SPOKEN = {"win_rate": "wins", "margin": "less mean opponent", "bid_hit": "bids made"}
_SHARED = "decoded bids"  # a player that is the agent's, though not named after it


def results(run: RunData) -> Results:
    """Return what ``training.evaluate`` found: group to player to measure to interval."""
    record = run.evaluation
    found: Results = {}
    for opponents, players in _mapping(_mapping(record, "matches"), "results").items():
        found[f"against {tables.table_of(opponents)}"] = dict(players)
    goals = _mapping(_mapping(record, "goals"), "rates")
    if goals:
        found["goals reached"] = dict(goals)
    played = _mapping(_mapping(record, "episodes"), "policies")
    if played:
        found["episodes"] = {name: _mapping(each, "intervals") for name, each in played.items()}
    return found


def compared(runs: Sequence[RunData]) -> Results:
    """Return the results of all runs in one; a bot that played the same stands there once."""
    merged: Results = {}
    for run in runs:
        for group, players in results(run).items():
            rows = merged.setdefault(group, {})
            for player, measures in players.items():
                label = player
                if player.startswith(AGENT):
                    label = run.name + player.removeprefix(AGENT)
                elif player == _SHARED:
                    label = f"{run.name}, {player}"
                if label in rows and rows[label] != measures:
                    label = f"{label} ({run.name})"
                rows[label] = measures
    agents = [run.name for run in runs]
    return {
        group: dict(sorted(rows.items(), key=lambda row: _run_of(row[0], agents) is None))
        for group, rows in merged.items()
    }


def _run_of(label: str, names: Sequence[str]) -> str | None:
    """Return the run that a player of :func:`compared` belongs to; None for a bot."""
    return next((n for n in names if label == n or label.startswith((f"{n} ", f"{n},"))), None)


def evaluations(runs: Sequence[RunData]) -> Figure | None:
    """Draw the main measure of every evaluation with its intervals, runs above bots."""
    found = compared(runs)
    panels = []
    for group, players in found.items():
        main = next((m for m in _TITLES if any(m in p for p in players.values())), None)
        if main is not None:
            rows = {name: p[main] for name, p in players.items() if _is_interval(p.get(main))}
            panels.append((_TITLES[main].format(group), rows))
    if not panels:
        return None
    colour = dict(zip((run.name for run in runs), colours(len(runs)), strict=True))
    most = max(len(rows) for _, rows in panels)

    def draw(axes: Sequence[Axes]) -> None:
        for axis, (title, rows) in zip(axes, panels, strict=True):
            for y, (name, (value, low, high)) in enumerate(rows.items()):
                error = [[value - low], [high - value]]
                run = _run_of(name, list(colour))
                shade = "black" if run is None else colour[run]
                axis.errorbar(value, y, xerr=error, fmt="o", capsize=3, color=shade, markersize=4)
            axis.set_yticks(range(len(rows)), list(rows))
            axis.set_ylim(len(rows) - 0.5, -0.5)
            axis.set_title(title, loc="left")
            axis.xaxis.set_major_locator(MaxNLocator(5))

    longest = max(len(name) for _, rows in panels for name in rows)
    across = min(3 if longest <= LONG_NAME else 2, len(panels))
    return _figure(len(panels), across, 0.7 + 0.22 * most, draw)


def evaluation_points(runs: Sequence[RunData]) -> Figure | None:
    """Draw the evaluations that were made during the trainings over decisions."""
    points: dict[str, dict[str, list[tuple[float, ...]]]] = {}
    for run in runs:
        for evaluation in run.evaluations:
            if not isinstance(evaluation.get("step"), int | float):
                continue
            for measure, value in _mapping(evaluation, "results").items():
                interval = value if _is_interval(value) else (value,) * 3
                if _is_interval(interval):
                    rows = points.setdefault(measure, {}).setdefault(run.name, [])
                    rows.append((evaluation["step"], *interval))
    if not points:
        return None
    colour = dict(zip((run.name for run in runs), colours(len(runs)), strict=True))

    def draw(axes: Sequence[Axes]) -> None:
        for axis, (measure, found) in zip(axes, points.items(), strict=True):
            for name, rows in found.items():
                at, value, low, high = np.array(sorted(rows)).T
                axis.plot(at, value, "o-", color=colour[name], markersize=3, linewidth=1.4)
                axis.fill_between(at, low, high, color=colour[name], alpha=0.15, linewidth=0)
            kind, comma, against = measure.partition(",")
            axis.set_title(_SPOKEN.get(kind, kind) + comma + against, loc="left")
            _x_axis(axis, "step", "decisions")

    legend = _legend(runs, {name for found in points.values() for name in found})
    across = 2 if len(points) % 2 == 0 else min(3, len(points))
    return _figure(len(points), across, 2.0, draw, legend=legend)


def _mapping(record: Any, name: str) -> dict[str, Any]:
    found = record.get(name) if isinstance(record, Mapping) else None
    return found if isinstance(found, dict) else {}


def _is_interval(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 3
        and all(isinstance(x, int | float) and math.isfinite(x) for x in value)
    )


# -- figures ---------------------------------------------------------------------------------------


def colours(count: int) -> list[str]:
    """Return so many colours; after the last one they begin again."""
    return [COLOURS[k % len(COLOURS)] for k in range(count)]


def _legend(runs: Sequence[RunData], drawn: Collection[str]) -> dict[str, str]:
    """Return name and colour of the runs that are drawn, none if there is only one run."""
    pairs = zip(runs, colours(len(runs)), strict=True)
    return {run.name: colour for run, colour in pairs if run.name in drawn and len(runs) > 1}


def _figure(
    count: int,
    across: int,
    height: float,
    draw: Callable[[Sequence[Axes]], None],
    legend: Mapping[str, str] | None = None,
) -> Figure:
    """Return a figure of ``count`` panels, drawn in the common style."""
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
            handles = [Line2D([], [], color=colour) for colour in legend.values()]
            figure.legend(
                handles, legend, loc="outside upper left", ncols=across_legend, frameon=False
            )
    return figure
