"""``RUNS.md``: the log of measured figures, newest last."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fastenv.errors import FastEnvError
from training.run import files

COLUMNS = (
    *("date", "rev", "env", "backend", "mode", "N", "T", "minibatch", "precision"),
    *("steps/s", "steps/CPU-s", "vs previous", "artefact"),
)
_KEY = COLUMNS[2:9]
HEAD = """# Figures

One line a measurement, appended by `python -m training.runs_md`, newest last. N: lanes, T: threads,
mode: `env_only` (no network; random legal play unless another workload is named), `gymnasium step`
(one environment), a mode of `training.profile`, a configuration of `training.benchmark_v9` or one
of its trainers, with what was timed of it and its epochs.
`vs previous`: steps per CPU second against the newest line above for the same thing. What each line
was taken on stands in its artefact.

"""


class RecordError(FastEnvError, RuntimeError):
    """A record cannot be logged; the message says why."""


def lines(
    record: dict[str, Any], rows: list[dict[str, Any]], artefact: str
) -> list[dict[str, str]]:
    """Return the table lines of a record's rows that measured steps.

    Parameters
    ----------
    record : dict
        Head of the record: ``created``, ``git_rev``.
    rows : list of dict
    artefact : str
        Where the record lies.
    """
    found = []
    for row in rows:
        if row["kind"] == "env":
            mode, flags = env_mode(row, single=row["num_envs"] == 1), {}
            lanes, threads = row["num_envs"], row["num_threads"]
            per_cpu = row["steps_per_cpu_s"]
        elif row["kind"] == "config" and row["status"] == "measured":
            mode, flags = row["config"], row["flags"]
            lanes, threads = flags["n_envs"], flags["threads"]
            per_cpu = 1 / row["cpu_seconds_per_step"]
        elif row["kind"] == "trainer" and "mode" in row:
            mode, flags = trainer_mode(row), row
            lanes, threads = row["num_envs"], row["torch_threads"]
            per_cpu = row["steps_per_cpu_s"]
        else:
            continue
        values = (
            record["created"][:10],
            record["git_rev"] or "none",
            row.get("env", flags.get("env", flags.get("tier"))),
            row["backend"],
            mode,
            *(lanes, threads, flags.get("batch", row.get("minibatch", ""))),
            flags.get("precision", "fp32" if flags else ""),
            f"{row['steps_per_s']:,.0f}",
            f"{per_cpu:,.0f}",
            "",
            artefact,
        )
        found.append(dict(zip(COLUMNS, map(str, values), strict=True)))
    return found


def trainer_mode(row: dict[str, Any]) -> str:
    """Return what a timed trainer is called: what was timed of it, who it is, and any epochs."""
    how = " awake" if row.get("waiting") == "awake" else ""
    epochs = f" epochs={row['epochs']}" if "epochs" in row else ""
    return f"{row['mode']}{how} {row.get('name', row['trainer'])}{epochs}"


def env_mode(row: dict[str, Any], single: bool) -> str:
    """Return what a measurement of the environment alone is called: its workload, if unusual."""
    mode = "gymnasium step" if single else "env_only"
    workload = row.get("workload", "masked_uniform")
    return mode if workload == "masked_uniform" else f"{mode} {workload}"


def profile_lines(report: dict[str, Any], artefact: str) -> list[dict[str, str]]:
    """Return a table line for each mode of an artefact of ``training.profile``."""
    found = []
    for entry in report["modes"]:
        env_only = entry["mode"] == "env_only"
        mode = env_mode(entry, entry["single"]) if env_only else entry["mode"]
        values = (
            report["created_utc"][:10],
            report["git_rev"] or "none",
            entry["env"],
            entry["backend_selected"],
            mode,
            *(entry["num_envs"], entry["num_threads"]),
            *(entry.get("minibatch", ""), entry.get("precision", "")),
            f"{entry['stats']['steps_per_s']['median']:,.0f}",
            f"{entry['stats']['steps_per_cpu_s']['median']:,.0f}",
            "",
            artefact,
        )
        found.append(dict(zip(COLUMNS, map(str, values), strict=True)))
    return found


def append(path: Path, new: list[dict[str, str]]) -> None:
    """Add lines to the table in ``path``, with their ratio to the newest comparable one."""
    old = _table(path)
    for line in new:
        same = [o for o in old if all(o[key] == line[key] for key in _KEY)]
        if same:
            ratio = _number(line["steps/CPU-s"]) / _number(same[-1]["steps/CPU-s"])
            line["vs previous"] = f"{ratio:.2f}"
        old.append(line)
    table = ["| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS)]
    table += ["| " + " | ".join(line[c] for c in COLUMNS) + " |" for line in old]
    head, tail = _around(path)
    files.write_text(path, head + "\n".join(table) + "\n" + tail)


def log(record_file: Path, target: Path, allow_dirty: bool = False) -> int:
    """Append a record to the log; return the number of lines.

    Raises
    ------
    RecordError
        If the record was taken with uncommitted changes and ``allow_dirty`` is False, or it cannot
        be read.
    """
    try:
        text = record_file.read_text("utf-8")
        if record_file.suffix == ".json":
            head = json.loads(text)
            new = profile_lines(head, str(record_file))
        else:
            head, *rows = map(json.loads, text.splitlines())
            new = lines(head, rows, str(record_file))
        dirty = head["dirty"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(
            f"{record_file} is no record of training.benchmark_v9 or training.profile."
        ) from error
    if dirty and not allow_dirty:
        raise RecordError(
            f"{record_file} was taken with uncommitted changes: commit and measure again, or say "
            "--allow-dirty."
        )
    append(target, new)
    return len(new)


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _table(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    found = []
    for text in path.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in text.strip("|").split("|")]
        if text.startswith("|") and len(cells) == len(COLUMNS) and cells[0][:2].isdigit():
            found.append(dict(zip(COLUMNS, cells, strict=True)))
    return found


def _around(path: Path) -> tuple[str, str]:
    """Return the text before and behind the table."""
    if not path.is_file():
        return HEAD, ""
    texts = path.read_text(encoding="utf-8").splitlines(keepends=True)
    inside = [k for k, text in enumerate(texts) if text.startswith("| date ")]
    if not inside:
        return "".join(texts).rstrip("\n") + "\n\n", ""
    last = inside[0]
    while last < len(texts) and texts[last].startswith("|"):
        last += 1
    return "".join(texts[: inside[0]]), "".join(texts[last:])
