"""``benchmarks/history.jsonl``: every measured row of every record, a line each, newest last.

Records are replaced by newer ones of their kind; the history keeps their figures, and only ever
grows. Floors and trend are read from it, by what ran (:mod:`training.bench.ran`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fastenv.errors import ConfigError
from training.bench.ran import key, label
from training.run import files, machine

RECORDS = machine.ROOT / "benchmarks"
HISTORY = RECORDS / "history.jsonl"
# Of a row, as far as it has them.
FIGURES = (
    *("steps_per_s", "steps_per_cpu_s", "share_env", "over_reference", "us"),
    *("python_growth_bytes", "rss_growth_bytes"),
)
Line = dict[str, Any]


def lines(head: Mapping[str, Any], rows: Iterable[Mapping[str, Any]], record: str) -> list[Line]:
    """Return the lines of those rows of a record that say what ran.

    Parameters
    ----------
    head : mapping
        ``created``, ``git_rev``, ``dirty`` and ``host``.
    rows : iterable of mapping
    record : str
        Name of its file in ``benchmarks/``.
    """
    about = {
        "created": head["created"],
        "git_rev": head["git_rev"],
        "dirty": head["dirty"],
        "cpu_model": head["host"]["cpu_model"],
        "record": record,
    }
    return [
        {
            **about,
            **{name: row[name] for name in FIGURES if row.get(name) is not None},
            "noisy": bool(row.get("noisy", False)),
            "ran": row["ran"],
        }
        for row in rows
        if row.get("ran")
    ]


def append(new: Sequence[Line], path: Path | None = None) -> None:
    """Write lines behind those that are there; by default those of the repository."""
    path = path or HISTORY
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    files.write_text(path, text + "".join(json.dumps(line, allow_nan=False) + "\n" for line in new))


def read(path: Path | None = None) -> list[Line]:
    """Return all lines, none where there is no history; by default that of the repository."""
    path = path or HISTORY
    if not path.is_file():
        return []
    return [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]


def check_clean() -> None:
    """Refuse to take a record of what is in no commit.

    Raises
    ------
    ConfigError
    """
    if machine.revision()["dirty"] is not False:
        raise ConfigError(
            "--record: there are uncommitted changes, or no commits: commit and measure again."
        )


def keep(head: Mapping[str, Any], rows: Iterable[Mapping[str, Any]], path: Path) -> int:
    """Append the measured rows of a record in ``benchmarks/``; return their number."""
    new = lines(head, rows, path.relative_to(RECORDS).as_posix())
    append(new)
    return len(new)


def trend(every: Iterable[Line]) -> list[Line]:
    """Return speeds, those of the same thing together and oldest first.

    Returns
    -------
    list of dict
        Lines with ``what`` in words and ``ratio``: of steps per CPU second, to the newest line
        before it that is of the same thing and was taken on a processor of the same model, without
        uncommitted changes; None without one.
    """
    found = [{**line, "what": label(line["ran"])} for line in every if line.get("steps_per_cpu_s")]
    found.sort(key=lambda line: (line["what"], line["created"]))
    before: dict[tuple[str | None, str], float] = {}
    for line in found:
        same = key(line), line["cpu_model"]
        last = before.get(same)
        line["ratio"] = None if last is None else line["steps_per_cpu_s"] / last
        if not line["dirty"]:
            before[same] = line["steps_per_cpu_s"]
    return found
