"""Artefacts of the profiler: one JSON file a run, schema 1, never written over."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastenv.errors import ConfigError
from training.bench import records
from training.bench.env_modes import medians
from training.run import machine
from training.run.names import PLAIN, is_plain
from training.run.options import require

SCHEMA = 1
FOLDER = Path("artifacts/throughput")


def new_run_id(git_rev: str | None) -> str:
    """Return the name of a run: its commit and the UTC time."""
    return (git_rev or "nocommit")[:7] + datetime.now(UTC).strftime("-%Y%m%dT%H%M%SZ")


def choose_run_id(name: str | None) -> str:
    """Return the name of a run: the one that is given, or a new one.

    Raises
    ------
    ConfigError
        If it is no name of a file.
    """
    require(not name or is_plain(str(name)), "--run-id", name, PLAIN)
    return name or new_run_id(machine.revision()["git_rev"])


def new_path(folder: Path, run_id: str) -> Path:
    """Make the path of a run's new artefact.

    Raises
    ------
    ConfigError
        If something is there already.
    """
    path = folder / f"{run_id}.json"
    if path.exists():
        raise ConfigError(f"{path} is there already: choose another --run-id.")
    return path


def head(run_id: str, config: dict[str, Any]) -> dict[str, Any]:
    """Make the head of an artefact: the machine, versions and config of its figures."""
    return {"schema": SCHEMA, "run_id": run_id, **machine.taken_on(), "config": config}


def rows_of(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the modes of an artefact as measured rows of a record."""
    return [row_of(entry) for entry in report["modes"]]


def row_of(entry: dict[str, Any]) -> dict[str, Any]:
    """Make a row of an entry of ``modes``: its description, and the medians of its figures."""
    return {"ran": entry["ran"], **medians(entry), "noisy": entry["noisy"]}


def keep(report: dict[str, Any]) -> Path:
    """Make an artefact the record of its environment in ``benchmarks/``; return where it lies."""
    name = f"throughput/{report['config']['run']['env']}.json"
    return records.keep(name, report, report, rows_of(report))


def artefacts(folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Convert the artefacts of a folder to lines of the history.

    Returns
    -------
    lines : list of dict
        See :func:`training.bench.records.lines`.
    skipped : list of str
        Files that are no artefacts.
    """
    lines, skipped = list[dict[str, Any]](), []
    for path in sorted(folder.glob("*.json")):
        try:
            report = json.loads(path.read_text(encoding="utf-8"))
            if report["schema"] != SCHEMA:
                raise ValueError
            lines += records.lines(report, rows_of(report), path.name)
        except (OSError, ValueError, KeyError, TypeError):
            skipped.append(str(path))
    return lines, skipped


# -- the target ------------------------------------------------------------------------------------


def judge_target(
    modes: Sequence[dict[str, Any]], steps_per_s: float | None, mode: str, enforced: bool
) -> dict[str, Any]:
    """Return ``target`` of an artefact: the median of the first entry of ``mode`` against it.

    Raises
    ------
    ConfigError
        If that mode was not measured.
    """
    if steps_per_s is None:
        return {
            "steps_per_s": None,
            "mode": None,
            "measured": None,
            "enforced": False,
            "pass": True,
        }
    entry = next((m for m in modes if m["mode"] == mode), None)
    if entry is None:
        raise ConfigError(f"--target-mode {mode}: that mode is not among --modes.")
    measured = entry["stats"]["steps_per_s"]["median"]
    return {
        "steps_per_s": steps_per_s,
        "mode": mode,
        "measured": measured,
        "enforced": enforced,
        "pass": measured >= steps_per_s,
    }


def target_sentence(target: dict[str, Any]) -> str:
    """Describe the distance to a target in one sentence."""
    measured, wanted = target["measured"], target["steps_per_s"]
    side = "reaches" if target["pass"] else "is below"
    return (
        f"{target['mode']}: the median of {measured:,.0f} steps/s {side} the target of "
        f"{wanted:,.0f} ({measured / wanted:.0%} of it)"
    )


def not_as_requested(modes: Sequence[dict[str, Any]]) -> list[str]:
    """Return a sentence for each entry whose implementation is not the one asked for."""
    return [
        f"{m['mode']}: {m['backend_requested']} was asked for, {m['backend_selected']} selected."
        for m in modes
        if m["backend_requested"] not in ("auto", m["backend_selected"])
        and (m["backend_requested"], m["backend_selected"]) != ("native", "fast")
    ]
