"""Runs read from their folders: curves, options, evaluations, and their results side by side.

A run may lack any of its parts: what is there is read, and :attr:`RunData.notes` says what is not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fastenv.errors import FastEnvError, FileError, show
from training.logs.run_log import flatten
from training.logs.status import mapping
from training.run import files
from training.run.config import RunConfig
from training.run.folder import flatten as flatten_options
from training.run.jsonl import scan_lines
from training.run.seating import AGENT

SMOOTHED, SMOOTHED_LEAST = 0.05, 5  # of the iterations, but at least so many
PLAYERS = 4  # of a table, where a record does not say
PARTS = ("config.json", "metrics.jsonl", "summary.json", "evaluation.json")  # of a run
MAX_COLUMNS = 500  # of the metrics
# What is taken from the parts of a run, and of which type it must be; null stands for nothing.
_FIELDS: dict[str, dict[str, type]] = {
    "config.json": {
        **dict.fromkeys(("created", "sha256", "git_rev"), str),
        **dict.fromkeys(("config", "versions"), dict),
        "dirty": bool,
    },
    "summary.json": {
        **dict.fromkeys(("status", "env", "trainer", "git_rev", "ppo_device"), str),
        **dict.fromkeys(("host", "versions"), dict),
        "steps": int,
        "dirty": bool,
    },
    "evaluation.json": {
        **dict.fromkeys(("env", "created", "config_sha256", "git_rev", "policy"), str),
        **dict.fromkeys(("compared", "matches", "goals", "episodes", "card", "versions"), dict),
        "intervals": str,
        "dirty": bool,
    },
}
_OPTIONS = {"env": str, "trainer": str, "total_steps": int}
_NAMES = {str: "a text", dict: "an object", int: "a whole number", bool: "true or false"}
_SHARED = "decoded bids"  # a player that is the agent's, though not named after it

Interval = Sequence[float]  # value, low, high
Results = dict[str, dict[str, dict[str, Interval]]]  # group to player to measure


class RunDataError(FastEnvError, RuntimeError):
    """There is no run to read; the message says where it was looked for."""


@dataclass(frozen=True)
class RunData:
    """The contents of a run folder.

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
        Evaluations during the training.
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
        """Return the last value of the smoothed curve of a column; NaN if there is none."""
        values = smooth(self.column(name))
        finite = values[np.isfinite(values)]
        return float(finite[-1]) if finite.size else math.nan


# -- reading ---------------------------------------------------------------------------------------


def name_runs(paths: Sequence[Path]) -> dict[str, Path]:
    """Name run folders, each once; folders of the same name with their parent folder's too."""
    unique = list(dict.fromkeys(path.resolve() for path in paths))
    names = [path.name for path in unique]
    labels = [
        f"{path.parent.name}/{path.name}" if names.count(path.name) > 1 else path.name
        for path in unique
    ]
    return dict(zip(labels, unique, strict=True))


def read_runs(paths: Sequence[Path]) -> list[RunData]:
    """Read run folders, named as :func:`name_runs` does.

    Raises
    ------
    RunDataError
        A folder is not there, or holds nothing of a run.
    """
    return [read_run(path, label) for label, path in name_runs(paths).items()]


def read_run(path: Path, name: str | None = None) -> RunData:
    """Read the parts of a run folder that exist.

    Raises
    ------
    RunDataError
        It is not there, or holds nothing of a run.
    """
    if not any((path / part).is_file() for part in PARTS):
        raise RunDataError(f"{path} is no run: it has none of {', '.join(PARTS)}.")
    run = read_head(path, name)
    lines = {name: scan_lines(path / name) for name in ("metrics.jsonl", "evaluations.jsonl")}
    metrics, evaluations = lines.values()
    missing = [] if metrics.records else ["no metrics.jsonl, or an empty one"]
    return replace(
        run,
        metrics=_make_columns(metrics.records),
        evaluations=evaluations.records,
        notes=[*run.notes, *missing, *note_left_out({k: x.left_out for k, x in lines.items()})],
    )


def note_left_out(lines: Mapping[str, int]) -> list[str]:
    """Make a note for each file, by its name, in which lines hold no record."""
    return [
        f"{name}: {count:,} line{'s are' if count > 1 else ' is'} left out, for there is no record "
        "in it"
        for name, count in lines.items()
        if count
    ]


def read_head(path: Path, name: str | None = None) -> RunData:
    """Read the parts of a run folder that exist, without its curves."""
    notes: list[str] = []
    head = read_part(path, "config.json", notes)
    config = head.pop("config", None) or {}
    evaluation = read_part(path, "evaluation.json", notes)
    if config and evaluation.get("config_sha256") not in (None, *_compute_hashes(head, config)):
        notes.append("evaluation.json was made with another config")
    return RunData(
        name=name or path.name,
        path=path,
        config=flatten_options(config),
        head=head,
        summary=read_part(path, "summary.json", notes),
        evaluation=evaluation,
        notes=notes,
    )


def _compute_hashes(head: Mapping[str, Any], config: Any) -> list[Any]:
    """Compute the hashes of a config: as written, and with the options that came since."""
    hashes = [head.get("sha256")]
    with suppress(FastEnvError, TypeError, AttributeError):
        hashes.append(RunConfig.from_mapping(config).sha256())
    return hashes


def read_part(run: Path, part: str, notes: list[str] | None = None) -> dict[str, Any]:
    """Read the content of a JSON file of a run folder, with every known field of its type.

    Parameters
    ----------
    run : Path
    part : str
        One of ``PARTS`` that is JSON.
    notes : list of str, optional
        Takes what is missing, and fields that are left out since they are of another type.
    """
    notes = [] if notes is None else notes
    if not (run / part).exists():
        notes.append(f"no {part}")
        return {}
    try:
        record = files.read_json(run / part)
    except FileError:
        notes.append(f"{part} cannot be read")
        return {}
    if not isinstance(record, dict):
        notes.append(f"{part} holds no object")
        return {}
    _drop_others(record, _FIELDS[part], part, notes)
    if part == "config.json":
        _drop_others(record.get("config") or {}, _OPTIONS, part, notes)
    return record


def _drop_others(
    record: dict[str, Any], fields: Mapping[str, Any], part: str, notes: list[str]
) -> None:
    """Leave out the fields of a record that are of another type, and say so."""
    for name, kind in fields.items():
        value = record.get(name)
        if value is not None and type(value) is not kind:
            del record[name]
            what = f"{part}: {name}={show(value)} is left out"
            notes.append(f"{what}, for it must be {_NAMES[kind]}")


def _make_columns(records: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    records = [record for record in records if "step" in record]
    rows = [dict(flatten(dict(record))) for record in records]
    names = [*dict.fromkeys(name for row in rows for name in row)][:MAX_COLUMNS]
    columns = {name: np.array([row.get(name, np.nan) for row in rows]) for name in names}
    if "train/entropy_loss" in columns and "train/entropy" not in columns:
        columns["train/entropy"] = -columns["train/entropy_loss"]
    return columns


def smooth(values: np.ndarray, share: float = SMOOTHED) -> np.ndarray:
    """Compute the running mean over ``share`` of the iterations, or five; NaN is left out."""
    window = max(SMOOTHED_LEAST, int(share * len(values)))
    finite = np.isfinite(values)
    sums = np.concatenate([[0.0], np.cumsum(np.where(finite, values, 0.0))])
    counts = np.concatenate([[0], np.cumsum(finite)])
    last = np.arange(1, len(values) + 1)
    first = np.maximum(0, last - window)
    count = counts[last] - counts[first]
    mean = (sums[last] - sums[first]) / np.maximum(count, 1)
    return np.where(count > 0, mean, np.nan)


def phase_shares(run: RunData) -> dict[str, float]:
    """Compute the share of each phase in the time of a run; empty if it is not known."""
    columns = {k: v for k, v in run.metrics.items() if k.startswith("phases/")}
    sums = {k.removeprefix("phases/"): float(np.nansum(v)) for k, v in columns.items()}
    total = sum(sums.values())
    return {k: v / total for k, v in sums.items() if v > 0} if total > 0 else {}


# -- results of evaluations ------------------------------------------------------------------------


def results(run: RunData) -> Results:
    """Return the results of ``training evaluate`` or a comparison, by group, player and measure."""
    return groups_of(run.evaluation)


def describe_opponents(opponents: str, players: int = PLAYERS) -> str:
    """Describe an opponent set: the number and name of a bot, or names, such as ``mixed``."""
    named = players == 2 or opponents == "mixed" or " + " in opponents
    return opponents if named else f"{players - 1} x {opponents}"


def groups_of(record: Mapping[str, Any]) -> Results:
    """Return the results in ``evaluation.json``, by group, player and measure."""
    groups: Results = {}
    for what, players in mapping(record, "compared").items():
        whole = what == "episodes" or what.startswith("against ")
        group = what if whole else f"against {describe_opponents(what)}"
        groups[group] = _select_players(players)
    matches = mapping(record, "matches")
    seats = matches.get("players")
    seats = seats if type(seats) is int else PLAYERS
    for opponents, players in mapping(matches, "results").items():
        groups[f"against {describe_opponents(opponents, seats)}"] = _select_players(players)
    goals = mapping(mapping(record, "goals"), "rates")
    if goals:
        groups["goals reached"] = _select_players(goals)
    for what, players in mapping(record, "card").items():
        groups[what] = _select_players(players)
    played = mapping(mapping(record, "episodes"), "policies")
    if played:
        intervals = {name: mapping(each, "intervals") for name, each in played.items()}
        groups["episodes"] = _select_players(intervals)
    return groups


def _select_players(record: Any) -> dict[str, dict[str, Interval]]:
    """Select the known measures of players; none of something that is no record of players."""
    players = record.items() if isinstance(record, dict) else ()
    return {
        player: {name: value for name, value in measures.items() if _is_measured(value)}
        for player, measures in players
        if isinstance(measures, dict)
    }


def _is_measured(value: Any) -> bool:
    """Tell whether something is a value in a list, with or without its interval, or None."""
    if value is None:
        return True
    numbers = isinstance(value, list | tuple) and 1 <= len(value) <= 3
    return numbers and all(x is None or type(x) in (int, float) for x in value)


def compared(runs: Sequence[RunData]) -> Results:
    """Merge the results of all runs, runs above bots, a run above its parts.

    A bot that played the same in two evaluations stands there once.
    """
    merged: Results = {}
    for run in runs:
        for group, players in results(run).items():
            rows = merged.setdefault(group, {})
            for player, measures in players.items():
                label = _make_label(player, run)
                if label in rows and rows[label] != measures:
                    label = f"{label} ({run.name})"
                rows[label] = measures
    names = [run.name for run in runs]

    def place(label: str) -> tuple[int, bool]:
        run = run_of(label, names)
        return len(names) if run is None else names.index(run), label != run

    return {
        group: {label: rows[label] for label in sorted(rows, key=place)}
        for group, rows in merged.items()
    }


def _make_label(player: str, run: RunData) -> str:
    """Make the label of a player of a run's evaluation beside those of other runs."""
    if player.startswith(AGENT):
        return run.name + player.removeprefix(AGENT)
    return f"{run.name}, {player}" if player == _SHARED else player


def run_of(label: str, names: Sequence[str]) -> str | None:
    """Find the run that a player of :func:`compared` belongs to; None for a bot."""
    return next((n for n in names if label == n or label.startswith((f"{n} ", f"{n},"))), None)


def is_interval(value: Any) -> bool:
    """Tell whether something is value, low and high, all finite."""
    return (
        isinstance(value, list | tuple)
        and len(value) == 3
        and all(isinstance(x, int | float) and math.isfinite(x) for x in value)
    )
