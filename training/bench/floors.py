"""Calibrated floors: a share of the history's figure of the same thing, in steps per CPU second.

A floor is that of the processor its record was taken on, known by name, family, model and flags. On
another one it is held all the same, and what is said of a row below it says so: take a record
there. It is not the target: that is an aspiration in steps per second of wall time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastenv.errors import ConfigError
from training.bench import records
from training.bench.ran import key, label
from training.bench.records import Line
from training.run import machine

SHARE = 0.7


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


def find(
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
        for line in (records.history() if every is None else every)
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


def judge(rows: Iterable[Mapping[str, Any]], share: float = SHARE) -> list[dict[str, Any]]:
    """Return the verdict on each measured row that has a floor.

    Raises
    ------
    ConfigError
        If none has one.
    """
    every, timed = records.history(), [row for row in rows if row.get("steps_per_cpu_s")]
    pairs = ((row, find(row, share, every)) for row in timed)
    judged = [floor.check(row) for row, floor in pairs if floor is not None]
    if not judged:
        named = next((label(row["ran"]) for row in timed if row.get("ran")), "nothing was timed")
        raise ConfigError(
            f"--enforce-floor: {records.RECORDS.name}/{records.HISTORY.name} has nothing of the "
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


def sentence(verdict: Mapping[str, Any]) -> str:
    """Describe a floor that was missed, and other possible reasons, in one sentence."""
    floor = verdict["floor_steps_per_cpu_s"]
    elsewhere = "" if verdict["same_machine"] else "; the record is of another processor"
    busy = "; something else ran on the machine" if verdict["noisy"] else ""
    return (
        f"{verdict['what']}: {verdict['measured']:,.0f} steps per CPU second are below the floor "
        f"of {floor:,.0f} ({verdict['source']}), {floor / verdict['recorded']:.3g} times the "
        f"record{elsewhere}{busy}"
    )


def summary(judged: Sequence[Mapping[str, Any]], rows: Iterable[Mapping[str, Any]]) -> str:
    """Count in one sentence the measured rows that reach their floor, and those that have one."""
    timed = sum(bool(row.get("steps_per_cpu_s")) for row in rows)
    reach = sum(verdict["pass"] for verdict in judged)
    without = timed - len(judged)
    more = f"; {without} more {'has' if without == 1 else 'have'} none on record" if without else ""
    return f"{reach} of {len(judged)} rows reach their floor{more}"
