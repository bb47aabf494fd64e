"""Runs and how they go: a list, and curves that are read on while a training writes them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from training.logs.run_data import is_interval, mapping
from training.logs.run_log import flatten
from training.run import files
from training.run.folder import has_agent
from training.studio.places import Places

MAX_POINTS = 600  # of a curve
MAX_READ = 8 << 20  # bytes of a file at once
MAX_COLUMNS, MAX_MEASURES = 80, 40
KINDS = ("metrics", "evaluations")


def listed(places: Places) -> list[dict[str, Any]]:
    """Return what is known of each run and agent."""
    return [_entry(name, path) for name, path in places.folders()]


def _entry(name: str, path: Path) -> dict[str, Any]:
    head = files.read_object(path / "config.json")
    summary = files.read_object(path / "summary.json")
    config = mapping(head, "config")
    evaluation = files.read_object(path / "evaluation.json")
    return {
        "name": name,
        "env": str(config.get("env", "")).rpartition("/")[2],
        "trainer": config.get("trainer", "native"),
        "created": head.get("created"),
        "total_steps": config.get("total_steps"),
        "status": summary.get("status"),
        "steps": summary.get("steps"),
        "evaluated": _measures(evaluation),
        "has_curves": (path / "metrics.jsonl").is_file(),
        "has_agent": has_agent(path),
    }


def _measures(evaluation: Mapping[str, Any]) -> list[list[Any]]:
    """Return name, value, low and high of measures with intervals, a few."""
    found: list[list[Any]] = []
    waiting: list[tuple[str, Any]] = [("", evaluation)]
    while waiting and len(found) < MAX_MEASURES:
        name, value = waiting.pop(0)
        if isinstance(value, Mapping):
            waiting += [(f"{name}/{key}".lstrip("/"), each) for key, each in value.items()]
        elif is_interval(value):
            found.append([name, *value])
    return found


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
        self._points: dict[str, dict[str, list[list[float]]]] = {name: {} for name in paths}
        self._thinning: dict[str, int] = dict.fromkeys(paths, 1)
        self._lines = dict.fromkeys(paths, 0)
        self._sent = False

    def read(self) -> dict[str, Any] | None:
        """Return the message with all curves; None where nothing has changed."""
        changed = not self._sent
        for name, path in self._paths.items():
            for kind in KINDS:
                changed |= self._read_on(name, kind, path / f"{kind}.jsonl")
        self._sent = True
        if not changed:
            return None
        entries = [_entry(name, path) for name, path in self._paths.items()]
        return {"kind": "curves", "runs": entries, "curves": self._points}

    def _read_on(self, name: str, kind: str, path: Path) -> bool:
        """Take in whole lines that are new; return whether there were some."""
        begun = self._read.get((name, kind), 0)
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
        self._read[name, kind] = begun + whole
        for line in data[:whole].splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                self._take(name, kind, record)
        return whole > 0

    def _take(self, name: str, kind: str, record: dict[str, Any]) -> None:
        step = record.get("step", record.get("steps"))
        if not isinstance(step, int | float):
            return
        self._lines[name] += 1
        if kind == "metrics" and self._lines[name] % self._thinning[name]:
            return
        curves = self._points[name]
        for column, value in flatten(record):
            key = column if kind == "metrics" else f"evaluation/{column}"
            known = key in curves or len(curves) < MAX_COLUMNS
            if known and column not in ("step", "steps") and math.isfinite(value):
                curves.setdefault(key, []).append([step, round(value, 6)])
        if any(len(points) > MAX_POINTS for points in curves.values()):
            self._thinning[name] *= 2
            self._points[name] = {key: points[::2] for key, points in curves.items()}
