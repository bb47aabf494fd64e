"""The list of runs, and their curves, which are read on while a training writes them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fastenv.errors import FastEnvError
from training.evaluation.over_seeds import compare_groups
from training.logs.live_map import LiveMapReader
from training.logs.run_data import (
    PARTS,
    RunData,
    is_interval,
    note_left_out,
    read_head,
    read_part,
)
from training.logs.run_log import flatten
from training.logs.sections import describe_result, make_sections
from training.logs.seed_groups import GroupComparison
from training.logs.status import mapping
from training.players import card
from training.run.folder import has_agent
from training.run.jsonl import MAX_LINE, parse_line
from training.run.seating import AGENT
from training.studio.places import PRETRAINED, Places

MAX_POINTS = 600  # of a curve
MAX_READ = 2 * MAX_LINE  # bytes of a file at once
MAX_COLUMNS = 80
KINDS = ("metrics", "evaluations")
EVALUATION = "evaluation/"  # before what was measured during a training
# Curves of which a table says where they ended, or what their sums are.
SUMMARY = ("wall_s", "sps", "episode/return_mean", "rounds/hit_rate", "phases/")


def listed(places: Places) -> list[dict[str, Any]]:
    """Describe each run and agent for the list: own runs, then agents that come with fastenv."""
    found = sorted(places.folders(), key=lambda each: each[0].startswith(PRETRAINED))
    return [_describe_run(name, path) for name, path in found]


def _describe_run(name: str, path: Path) -> dict[str, Any]:
    head = read_part(path, "config.json")
    summary = read_part(path, "summary.json")
    config = mapping(head, "config")
    judged = RunData(name, path, config, evaluation=read_part(path, "evaluation.json"))
    return {
        "name": name,
        "env": (config.get("env") or "").rpartition("/")[2],
        "trainer": config.get("trainer", "native"),
        "created": head.get("created"),
        "total_steps": config.get("total_steps"),
        "result": describe_result(with_card(judged)),
        "status": summary.get("status"),
        "steps": summary.get("steps"),
        "has_curves": (path / "metrics.jsonl").is_file(),
        "has_agent": has_agent(path),
    }


def with_card(run: RunData) -> RunData:
    """Return a run with the results of its card in the place of an evaluation that it lacks."""
    if run.evaluation:
        return run
    try:
        results = card.read_results(run.path)
    except FastEnvError as error:
        return replace(run, notes=[*run.notes, str(error)])
    if not results:
        return run
    played = {each.config: {AGENT: dict(each.metrics)} for each in results}
    records = [*dict.fromkeys(each.record for each in results if each.record)]
    said = f"its evaluation is that of {', '.join([card.FILE, *records])}"
    notes = [note for note in run.notes if not note.startswith("no ")]
    return replace(run, evaluation={"card": played}, notes=[*notes, said])


class CurveReader:
    """Reads curves of runs, and later what was written since.

    Parameters
    ----------
    paths : mapping of str to Path
        Folders of runs by name.
    """

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = dict(paths)
        self._read: dict[tuple[str, str], int] = {}
        self._too_long: set[tuple[str, str]] = set()  # files in whose last line it stands
        self._left_out: dict[str, dict[str, int]] = {name: {} for name in paths}
        self._points: dict[str, dict[str, list[list[float]]]] = {name: {} for name in paths}
        self._thinning: dict[str, int] = dict.fromkeys(paths, 1)
        self._lines = dict.fromkeys(paths, 0)
        self._newest: dict[str, dict[str, float]] = {name: {} for name in paths}
        self._times: list[int] | None = None
        self._heads: list[RunData] = []
        self._groups: GroupComparison | None = None

    def read(self) -> dict[str, Any] | None:
        """Return the message with all curves; None where nothing has changed."""
        changed = self._read_heads()
        for name, path in self._paths.items():
            for kind in KINDS:
                changed |= self._read_on(name, kind, path / f"{kind}.jsonl")
        if not changed:
            return None
        runs = [self._with_curves(head) for head in self._heads]
        return {
            "kind": "curves",
            "runs": [_describe_run(name, path) for name, path in self._paths.items()],
            "curves": self._points,
            "sections": make_sections(runs, (), self._groups),
        }

    def read_all(self) -> dict[str, Any]:
        """Return the message with all there is by now, of files of any length."""
        newest = self.read()
        while (more := self.read()) is not None:
            newest = more
        return newest or {}

    def _read_heads(self) -> bool:
        """Read all but the curves again if it was written; return whether it was."""
        parts = [path / part for path in self._paths.values() for part in PARTS]
        times = [_get_write_time(file) for file in parts if file.suffix != ".jsonl"]
        if times == self._times:
            return False
        self._times = times
        self._heads = [with_card(read_head(path, name)) for name, path in self._paths.items()]
        self._groups = compare_groups(self._heads)
        return True

    def _with_curves(self, head: RunData) -> RunData:
        """Return a run with its curves, and a note of lines that were left out."""
        notes = [*head.notes, *note_left_out(self._left_out[head.name])]
        return replace(head, metrics=self._make_columns(head.name), notes=notes)

    def _make_columns(self, name: str) -> dict[str, np.ndarray]:
        """Return the curves that a summary is of, the newest values behind them."""
        newest, points = self._newest[name], self._points[name]
        kept = {
            key: {step: value for step, value, *_ in column}
            for key, column in points.items()
            if key.startswith(SUMMARY)
        }
        steps = sorted({step for column in kept.values() for step in column})
        values = {key: np.array([of.get(x, np.nan) for x in steps]) for key, of in kept.items()}
        columns = {"step": np.array(steps), **values} if steps else {}
        if columns and newest["step"] > steps[-1]:
            last = {key: newest.get(key, np.nan) for key in columns}
            columns = {key: np.append(of, last[key]) for key, of in columns.items()}
        return columns

    def _read_on(self, name: str, kind: str, path: Path) -> bool:
        """Take in whole lines that are new; return whether there were some."""
        place, left_out = (name, kind), self._left_out[name]
        begun = self._read.get(place, 0)
        try:
            size = path.stat().st_size
            if size <= begun:
                return False
            with path.open("rb") as file:
                file.seek(begun)
                data = file.read(MAX_READ)
        except OSError:
            return False
        whole = data.rfind(b"\n") + 1
        lines = data[:whole].split(b"\n")[:-1]
        if place in self._too_long and lines:
            del lines[0]
            self._too_long.remove(place)
        if not whole and len(data) > MAX_LINE:  # a line without an end: it is passed over
            whole = len(data)
            left_out[path.name] = left_out.get(path.name, 0) + (place not in self._too_long)
            self._too_long.add(place)
        self._read[place] = begun + whole
        for line in lines:
            record = parse_line(line)
            if record is None:
                left_out[path.name] = left_out.get(path.name, 0) + 1
            else:
                self._take(name, kind, record)
        return whole > 0

    def _take(self, name: str, kind: str, record: dict[str, Any]) -> None:
        step = record.get("step", record.get("steps"))
        if isinstance(step, bool) or not isinstance(step, int | float) or not math.isfinite(step):
            return
        if kind == "evaluations":
            self._add(name, step, _list_measures(record))
            return
        numbers = dict(flatten(record))
        self._newest[name] = {**numbers, "step": step}
        self._lines[name] += 1
        if self._lines[name] % self._thinning[name] == 0:
            self._add(name, step, ((key, [value]) for key, value in numbers.items()))

    def _add(self, name: str, step: float, measures: Iterable[tuple[str, list[float]]]) -> None:
        curves = self._points[name]
        for key, values in measures:
            has_room = key in curves or len(curves) < MAX_COLUMNS
            if has_room and key not in ("step", "steps") and all(map(math.isfinite, values)):
                curves.setdefault(key, []).append([step, *(round(x, 6) for x in values)])
        if any(len(points) > MAX_POINTS for points in curves.values()):
            self._thinning[name] *= 2
            self._points[name] = {key: points[::2] for key, points in curves.items()}


class MapReader:
    """Reads the live maps of runs, and later what has changed since.

    Parameters
    ----------
    paths : mapping of str to Path
        Folders of runs by name.
    """

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._readers = {name: LiveMapReader(path) for name, path in paths.items()}

    def read(self) -> dict[str, Any] | None:
        """Return the message with the maps that have changed; None where none has."""
        read = {name: reader.read() for name, reader in self._readers.items()}
        maps = {name: found for name, found in read.items() if found is not None}
        return {"kind": "maps", "maps": maps} if maps else None


def _list_measures(record: Mapping[str, Any]) -> Iterator[tuple[str, list[float]]]:
    """Yield the measures of an evaluation during a training, with their intervals if known."""
    for measure, value in mapping(record, "results").items():
        if is_interval(value):
            yield f"{EVALUATION}{measure}", [*value]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{EVALUATION}{measure}", [float(value)]


def _get_write_time(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0
