"""Environments that are as they should be: what ``fastenv.testing`` finds in them.

Each environment of ``tests/testing/correct.py`` is checked: Gymnasium's classic and toy games, all
of MiniGrid, PettingZoo's classic games, all of fastenv. Games of Gymnasium with a recipe, and
vectors beside their single environments, are compared too. What is known to be wrong in a package
is listed with a script; anything else that is found is a false finding. Run
``python -m benchmarks.correct``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastenv.errors import ConfigError
from fastenv.testing import Report, check, compare
from tests.testing.correct import groups, pairs, what_is_known
from training.run import files, machine

COMPARED = "compared"  # the group of pairs


def row_of(group: str, name: str, report: Report) -> dict[str, Any]:
    """Return a row of the record: how much was tried, and each fault with its script.

    Parameters
    ----------
    group, name : str
        Of the environment.
    report : Report
    """
    findings = [
        {
            "rule": each.rule,
            "stress": each.stress,
            "where": each.where,
            "known": what_is_known(name, each.stress),
            "script": each.script,
        }
        for each in report.faults
    ]
    row: dict[str, Any] = {"group": group, "name": name, "episodes": report.episodes}
    row |= {"steps": report.steps, "cells": report.cells, "seconds": round(report.seconds, 2)}
    for kind, key in (("capability missing", "missing"), ("note", "notes")):
        row[key] = [each.rule for each in report.findings if each.kind == kind]
    return row | {"findings": findings}


def look(group: str, name: str, seconds: float) -> dict[str, Any]:
    """Check an environment, or compare a pair; return a row of the record.

    Raises
    ------
    ConfigError
        It cannot be made here.
    """
    if group == COMPARED:
        fast, reference, sync = pairs()[name]
        ignore, rtol = (("info",), 1e-4) if sync else ((), 0.0)
        how: dict[str, Any] = {"sync": sync, "ignore": ignore, "rtol": rtol}
        return row_of(group, name, compare(fast, reference, seconds=seconds, timeout=120, **how))
    return row_of(group, name, check(groups()[group][name], seconds=seconds, timeout=120))


def summarise(rows: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Return for each group how many were tried, in how many steps, and what was found."""
    summary: dict[str, dict[str, int]] = {}
    for row in rows:
        known = [bool(each["known"]) for each in row["findings"]]
        own = summary.setdefault(
            row["group"], {"environments": 0, "episodes": 0, "steps": 0, "true": 0, "false": 0}
        )
        counts = {"environments": 1, "episodes": row["episodes"], "steps": row["steps"]}
        for key, count in (counts | {"true": sum(known), "false": known.count(False)}).items():
            own[key] += count
    return summary


def show(row: Mapping[str, Any]) -> str:
    """Return a row of the record as a line."""
    words = [f"{row['group'][:12]:12} {row['name'][:48]:48} {row['steps']:7,} steps"]
    words += [
        f"{'known' if each['known'] else 'FALSE?'}: {each['rule']} ({each['stress']})"
        for each in row["findings"]
    ]
    return "  ".join(words)


def main() -> int:
    """Print a line an environment, and write the record; return 1 if there is a false finding."""
    parser = argparse.ArgumentParser(description=__doc__)
    about = "processor time for each; default 3"
    parser.add_argument("--seconds", type=float, default=3, help=about)
    parser.add_argument("--only", default="", help="environments whose group or name has this")
    parser.add_argument("--out", type=Path, help="write the record there, as JSON")
    args = parser.parse_args()
    taken_on = machine.taken_on()
    taken_on["versions"] |= machine.versions(("minigrid", "pettingzoo", "rlcard", "chess"))
    wanted = [(group, name) for group, names in groups().items() for name in names]
    wanted += [(COMPARED, name) for name in pairs()]
    rows, refused = [], {}
    for group, name in wanted:
        if args.only not in f"{group} {name}":
            continue
        try:
            rows.append(look(group, name, args.seconds))
            print(show(rows[-1]), flush=True)
        except ConfigError as error:
            refused[name] = str(error)
            print(f"{name} cannot be made here: {error}", flush=True)
    summary = summarise(rows)
    print(json.dumps(summary, indent=1))
    if args.out:
        record = {**taken_on, "seconds": args.seconds, "groups": summary, "not_made": refused}
        files.write_json(args.out, {**record, "environments": rows})
    return int(any(own["false"] for own in summary.values()))


if __name__ == "__main__":
    sys.exit(main())
