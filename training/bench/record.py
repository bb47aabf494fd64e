"""Artefacts of the profiler: one JSON file a run, schema 1, never written over."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastenv.errors import ConfigError
from training.run import files, machine

SCHEMA = 1
FOLDER = Path("artifacts/throughput")
# What a fresh clone compares with.
BASELINES = machine.ROOT / "benchmarks" / "throughput"
# Instruction sets that decide how fast the loops are; the full list is a screenful.
FLAGS = ("sse4_2", "avx", "avx2", "fma", "bmi2", "avx512f", "avx512bw", "avx512vl", "neon", "sve")


def new_run_id(git_rev: str | None) -> str:
    """Return the name of a run: its commit and the UTC time."""
    return (git_rev or "nocommit")[:7] + datetime.now(UTC).strftime("-%Y%m%dT%H%M%SZ")


def new_path(folder: Path, run_id: str) -> Path:
    """Return where the artefact of a run belongs.

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
    """Return an artefact without its figures: what they are taken on."""
    return {
        "schema": SCHEMA,
        "run_id": run_id,
        "created_utc": machine.now(),
        **machine.revision(),
        "host": {**machine.host(), "flags": cpu_flags()},
        "versions": machine.versions(),
        "config": config,
    }


def write(path: Path, report: dict[str, Any]) -> None:
    """Write an artefact."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_json(path, report)


def cpu_flags() -> list[str]:
    """Return those of ``FLAGS`` that the processor has."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    every = next((line for line in lines if line.lower().startswith(("flags", "features"))), "")
    return [flag for flag in FLAGS if flag in every.split()]


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
    """Return one sentence on how far a target is."""
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


# -- the trend -------------------------------------------------------------------------------------


def trend(*folders: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the figures of all artefacts in some folders, the same together, oldest first.

    Returns
    -------
    rows : list of dict
        ``what``, ``created_utc``, ``git_rev``, ``dirty``, ``steps_per_s``, ``steps_per_cpu_s``,
        ``ratio`` (of steps per CPU second, to the row before; None in the first) and ``noisy``.
    skipped : list of str
        Files that are no artefacts.
    """
    rows: list[dict[str, Any]] = []
    skipped = []
    for path in (path for folder in folders for path in sorted(folder.glob("*.json"))):
        try:
            report = json.loads(path.read_text(encoding="utf-8"))
            if report["schema"] != SCHEMA:
                raise ValueError
            rows += [_trend_row(report, entry) for entry in report["modes"]]
        except (OSError, ValueError, KeyError, TypeError):
            skipped.append(str(path))
    rows.sort(key=lambda r: (r["what"], r["created_utc"]))
    before: dict[str, float] = {}
    for row in rows:
        last = before.get(row["what"])
        row["ratio"] = None if last is None else row["steps_per_cpu_s"] / last
        before[row["what"]] = row["steps_per_cpu_s"]
    return rows, skipped


def _trend_row(report: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    medians = {k: entry["stats"][k]["median"] for k in ("steps_per_s", "steps_per_cpu_s")}
    kept = {k: report[k] for k in ("created_utc", "git_rev", "dirty")}
    return {"what": label(entry), **kept, **medians, "noisy": entry["noisy"]}


def label(entry: dict[str, Any]) -> str:
    """Return an entry of ``modes`` in words: equal words, equal thing."""
    parts = [entry["mode"], entry["env"]]
    if entry["options"]:
        parts.append(",".join(f"{k}={v}" for k, v in sorted(entry["options"].items())))
    if "workload" in entry:
        parts.append(entry["workload"])
        if entry["info_columns"] is not None:
            parts.append("info " + (",".join(entry["info_columns"]) or "none"))
    parts.append("gymnasium step" if entry.get("single") else f"n={entry['num_envs']}")
    parts += [f"threads={entry['num_threads']}", entry["backend_selected"]]
    if "minibatch" in entry:
        widths = "x".join(map(str, entry["net_arch"]))
        parts.append(
            f"T={entry['rollout_steps']} minibatch={entry['minibatch']} epochs={entry['epochs']} "
            f"net={widths}"
        )
    return " ".join(parts)
