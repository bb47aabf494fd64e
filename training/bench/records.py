"""Records of speeds, one of each kind in ``benchmarks/``, and the history of all their rows.

Records are replaced by newer ones of their kind; ``benchmarks/history.jsonl`` keeps their figures,
a line for each measured row, newest last, and only ever grows. Floors and trend are read from it,
by what ran (:mod:`training.bench.ran`).
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
SCHEMA = 1
# Of a row, as far as it has them.
FIGURES = (
    *("steps_per_s", "steps_per_cpu_s", "share_env", "over_reference", "us"),
    *("python_growth_bytes", "rss_growth_bytes"),
)
Line = dict[str, Any]


def head() -> dict[str, Any]:
    """Return the first line of a record: what the figures were taken on."""
    about = {"kind": "head", "schema": SCHEMA}
    return {**about, **machine.taken_on(), "load": machine.load()}


def write(path: Path, content: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
    """Write a record: an object as JSON, rows as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, Mapping):
        files.write_json(path, content)
    else:
        files.write_text(path, _format_lines(content))


def keep(
    name: str,
    content: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    head: Mapping[str, Any],
    rows: Iterable[Mapping[str, Any]],
) -> Path:
    """Write a record in place of the last of its kind, and append its rows to the history.

    Parameters
    ----------
    name : str
        Of its file in ``benchmarks/``.
    content : mapping or sequence of mapping
        What is written.
    head : mapping
        See :func:`lines`.
    rows : iterable of mapping
        What was measured.

    Returns
    -------
    Path
    """
    path = RECORDS / name
    write(path, content)
    append(lines(head, rows, name))
    return path


def check_clean() -> None:
    """Refuse to take a record of code that is in no commit.

    Raises
    ------
    ConfigError
    """
    if machine.revision()["dirty"] is not False:
        raise ConfigError(
            "--record: there are uncommitted changes, or no commits: commit and measure again."
        )


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
        **machine.processor(head["host"]),
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
    files.write_text(path, text + _format_lines(new))


def _format_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)


def history(path: Path | None = None) -> list[Line]:
    """Return all lines, none where there is no history; by default that of the repository."""
    path = path or HISTORY
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return [json.loads(line) for line in text.splitlines()]


def trend(every: Iterable[Line]) -> list[Line]:
    """Return speeds, those of the same thing together and oldest first.

    Returns
    -------
    list of dict
        Lines with ``what`` in words and ``ratio``: of steps per CPU second, to the newest line
        before it that is of the same thing and was taken on the same processor (name, family,
        model and flags), without uncommitted changes; None without one.
    """
    speeds = [{**line, "what": label(line["ran"])} for line in every if line.get("steps_per_cpu_s")]
    speeds.sort(key=lambda line: (line["what"], line["created"]))
    before: dict[tuple[str | None, str], float] = {}
    for line in speeds:
        same = key(line), json.dumps(machine.processor(line))
        last = before.get(same)
        line["ratio"] = None if last is None else line["steps_per_cpu_s"] / last
        if not line["dirty"]:
            before[same] = line["steps_per_cpu_s"]
    return speeds
