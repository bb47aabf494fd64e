"""What was measured when: the log of RUNS.md."""

from __future__ import annotations

from collections import Counter

from tools.figures import records
from tools.figures.records import table
from tools.records import SPEEDS
from training.bench.records import history
from training.run import machine


def measured_speeds() -> str:
    """Return when speeds were measured, newest first: a row for each record, replaced ones too."""
    rows: Counter[tuple[str, ...]] = Counter()
    busy: Counter[tuple[str, ...]] = Counter()
    taken: dict[tuple[str, ...], str] = {}
    for line in history(records.RECORDS / "history.jsonl"):
        key = (line["created"][:10], line["git_rev"][:7], line["record"], machine.describe(line))
        rows[key] += 1
        busy[key] += line["noisy"]
        taken[key] = max(taken.get(key, ""), line["created"])
    made = [
        [day, commit, f"`{record}`", processor, f"{rows[key]}", f"{busy[key] or ''}"]
        for key in sorted(rows, key=lambda key: (taken[key], key), reverse=True)
        for day, commit, record, processor in [key]
    ]
    heads = ("measured", "commit", "record", "processor", "rows", "of them on a busy machine")
    return table(heads, made)


def other_records() -> str:
    """Return the records that hold no speeds, newest first."""
    past = records.RECORDS / "history.jsonl"
    speeds = {line["record"] for line in history(past)} | {past.name}
    made = []
    for path in records.RECORDS.glob("*.json*"):
        head = {} if path.name in speeds else records.Record(path).head
        if head:
            processor = machine.describe(head.get("host", {}))
            day, old = head.get("created", "")[:10], head.get("old", "")
            made.append([day, head.get("git_rev", "")[:7], path.name, processor, old])
    shown = [
        [day, commit, f"`{name}`", processor, old]
        for day, commit, name, processor, old in sorted(made, reverse=True)
    ]
    return table(("made", "commit", "record", "processor", "old, because"), shown)


def to_take() -> str:
    """Return the records that ``make records`` takes, with their commands and how long they take.

    Those of speeds alone; the pages have the commands of trainings and evaluations.
    """
    made = [
        [f"`benchmarks/{speed.name}`", f"`python -m {speed.command}`", f"{speed.minutes:g}"]
        for speed in SPEEDS
    ]
    return table(("record", "command", "about, minutes"), made)
