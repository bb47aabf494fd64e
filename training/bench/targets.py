"""Targets of measured rows: ``benchmarks/targets.toml``, and the verdicts on rows.

Records call them bars: their rows have ``kind`` ``bar``.
"""

from __future__ import annotations

import fnmatch
import statistics
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from training.bench.records import RECORDS

Row = dict[str, Any]
TABLE = RECORDS / "targets.toml"
SPEEDS = ("steps_per_cpu_s", "steps_per_s")


def judge(suite: str, rows: Sequence[Row], **values: float) -> list[Row]:
    """Return the targets of a suite, each with its verdict on measured rows.

    Parameters
    ----------
    suite : str
        As ``--only`` takes it.
    rows : sequence of dict
        What was measured. A target of a game that was not measured at all is left out.
    **values
        Targets that the table names instead of giving a number, such as ``max_mem_delta``.

    Returns
    -------
    list of dict
        In the order of the table, which says at its top what its fields mean.
    """
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))[suite]
    games = {row.get("game") for row in rows}
    asked = (entry for entry in table if entry.get("game") in games or "game" not in entry)
    return [judged for entry in asked for judged in _judge_entry(entry, rows, values)]


def _judge_entry(entry: Row, rows: Sequence[Row], values: Mapping[str, float]) -> Iterator[Row]:
    """Yield the verdict of a target on each of its rows."""
    most = "at_most" in entry
    asked = entry["at_most" if most else "at_least"]
    asked = values[asked] if isinstance(asked, str) else asked
    own = [row for row in rows if row.get("game") == entry.get("game", row.get("game"))]
    chosen = _select(own, entry["row"])
    over = _select(own, entry["over"]) if "over" in entry else [{}]
    if not (chosen and over):
        if "absent" in entry:
            yield unmeasured(entry.get("name", "") or entry["what"], asked, entry["absent"])
        return
    for row in chosen:
        what = entry["what"].format(**row, over=over[0])
        fits = all(row.get(name) == value for name, value in entry.get("where", {}).items())
        if fits and row.get(entry["measure"]) is not None:
            yield _compare(what, asked, most, entry, row, over[0])
        elif "lacks" in entry:
            yield unmeasured(what, asked, entry["lacks"])


def _select(rows: Sequence[Row], fields: Mapping[str, Any]) -> list[Row]:
    """Return the rows whose fields have these values; a text may be a pattern, a list a choice."""

    def has(row: Row, name: str, wanted: Any) -> bool:
        value = row.get(name)
        if isinstance(wanted, list):
            return any(has(row, name, each) for each in wanted)
        if isinstance(wanted, str):
            return isinstance(value, str) and fnmatch.fnmatchcase(value, wanted)
        return bool(value == wanted)

    return [row for row in rows if all(has(row, *each) for each in fields.items())]


def _compare(what: str, asked: float, most: bool, entry: Row, row: Row, over: Row) -> Row:
    """Compare the measured value of a row, turn by turn with that of another if one is named."""
    measure = entry["measure"]
    every = list(row.get(f"{measure}_all", ()))
    if over:
        every = [a / b for a, b in zip(every, over[f"{measure}_all"], strict=True)]
    if "time_unit" in entry:
        every = [entry["time_unit"] / speed for speed in every]
    take = min if entry.get("of") == "least repeat" else statistics.median
    alone = measure in SPEEDS and not over and "time_unit" not in entry
    return target(
        what,
        asked,
        float(take(every)) if every else row[measure],
        most=most,
        every=every,
        wall=row["steps_per_s"] if alone else None,
        noisy=bool(every) and (row["noisy"] or over.get("noisy", False)),
    )


def target(
    what: str,
    asked: float,
    measured: float,
    *,
    most: bool = False,
    every: Sequence[float] = (),
    wall: float | None = None,
    noisy: bool = False,
) -> Row:
    """Return the row of a target.

    Parameters
    ----------
    what : str
    asked, measured : float
    most : bool
        ``measured`` may not be above ``asked``; else not below.
    every : sequence of float
        The value of each repeat.
    wall : float, optional
        Steps a second of wall time, beside a target that is judged by CPU time.
    noisy : bool
        Something else ran on the machine.
    """
    passed = measured <= asked if most else measured >= asked
    return {
        "kind": "bar",
        "what": what,
        "asked": f"{'at most' if most else 'at least'} {asked:,g}",
        "measured": measured,
        "all": list(every),
        "wall": wall,
        "pass": bool(passed),
        "noisy": noisy,
    }


def unmeasured(what: str, asked: float, reason: str) -> Row:
    """Return the row of a target that this machine cannot measure, neither passed nor missed."""
    return target(what, asked, asked) | {"measured": None, "pass": None, "reason": reason}
