"""Records of speeds, one of each kind in ``benchmarks/``, and the history of all their rows.

Records are replaced by newer ones of their kind; ``benchmarks/history.jsonl`` keeps their figures,
a line for each measured row, newest last, and only ever grows. Floors and trend are read from it,
by what ran (:mod:`training.bench.ran`).

A floor is a share of the history's figure of the same thing, in steps per CPU second. It is that of
the processor its record was taken on, known by name, family, model and flags. On another one it is
held all the same, and what is said of a row below it says so: take a record there. It is not the
target: that is an aspiration in steps per second of wall time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastenv.errors import ConfigError
from training.bench.ran import key, label
from training.run import files, machine

RECORDS = machine.ROOT / "benchmarks"
HISTORY = RECORDS / "history.jsonl"
SCHEMA = 1
SHARE = 0.7  # of a record: the usual floor
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


# -- floors ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Floor:
    """The least value of a figure.

    Parameters
    ----------
    steps_per_cpu_s : float
    recorded : float
        What it is a share of.
    source : str
        Record and commit.
    same_machine : bool
        The record was taken on such a processor: of this name, family, model and these flags.
    """

    steps_per_cpu_s: float
    recorded: float
    source: str
    same_machine: bool

    def check(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Compare a measured row with the floor; return the verdict."""
        measured = row["steps_per_cpu_s"]
        return {
            "what": label(row["ran"]),
            "floor_steps_per_cpu_s": self.steps_per_cpu_s,
            "recorded": self.recorded,
            "measured": measured,
            "source": self.source,
            "same_machine": self.same_machine,
            "noisy": bool(row.get("noisy", False)),
            "pass": measured >= self.steps_per_cpu_s,
        }


def find_floor(
    row: Mapping[str, Any], share: float = SHARE, every: Sequence[Line] | None = None
) -> Floor | None:
    """Return the floor of a measured row: a share of the newest line of the history that is equal.

    One of the same processor goes before one of another; None without any.

    Parameters
    ----------
    row : mapping
        With ``ran``.
    share : float
    every : sequence of dict, optional
        Lines of a history; default that of the repository.
    """
    wanted, here = key(row), machine.processor(machine.host())
    same = [
        line
        for line in (history() if every is None else every)
        if wanted is not None
        and key(line) == wanted
        and line.get("steps_per_cpu_s")
        and not line["dirty"]
    ]
    if not same:
        return None
    last = max(same, key=lambda line: (machine.processor(line) == here, line["created"]))
    recorded = last["steps_per_cpu_s"]
    source = f"{last['record']}, commit {last['git_rev']}"
    return Floor(share * recorded, recorded, source, machine.processor(last) == here)


def judge_floors(rows: Iterable[Mapping[str, Any]], share: float = SHARE) -> list[dict[str, Any]]:
    """Return the verdict on each measured row that has a floor.

    Raises
    ------
    ConfigError
        If none has one.
    """
    every, timed = history(), [row for row in rows if row.get("steps_per_cpu_s")]
    pairs = ((row, find_floor(row, share, every)) for row in timed)
    judged = [floor.check(row) for row, floor in pairs if floor is not None]
    if not judged:
        named = next((label(row["ran"]) for row in timed if row.get("ran")), "nothing was timed")
        raise ConfigError(
            f"--enforce-floor: {RECORDS.name}/{HISTORY.name} has nothing of the "
            f"same thing ({named}); take a record with --record."
        )
    return judged


def check_share(share: float) -> None:
    """Refuse a share that is no floor.

    Raises
    ------
    ConfigError
    """
    if not 0 < share < float("inf"):
        raise ConfigError(f"--floor-share {share}: must be a finite number above 0.")


def floor_sentence(verdict: Mapping[str, Any]) -> str:
    """Describe a floor that was missed, and other possible reasons, in one sentence."""
    floor = verdict["floor_steps_per_cpu_s"]
    elsewhere = "" if verdict["same_machine"] else "; the record is of another processor"
    busy = "; something else ran on the machine" if verdict["noisy"] else ""
    return (
        f"{verdict['what']}: {verdict['measured']:,.0f} steps per CPU second are below the floor "
        f"of {floor:,.0f} ({verdict['source']}), {floor / verdict['recorded']:.3g} times the "
        f"record{elsewhere}{busy}"
    )


def floor_summary(judged: Sequence[Mapping[str, Any]], rows: Iterable[Mapping[str, Any]]) -> str:
    """Count in one sentence the measured rows that reach their floor, and those that have one."""
    timed = sum(bool(row.get("steps_per_cpu_s")) for row in rows)
    reach = sum(verdict["pass"] for verdict in judged)
    without = timed - len(judged)
    more = f"; {without} more {'has' if without == 1 else 'have'} none on record" if without else ""
    return f"{reach} of {len(judged)} rows reach their floor{more}"
