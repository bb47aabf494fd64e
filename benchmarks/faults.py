"""Faults written into four small games: how many ``fastenv.testing`` finds, and how short.

Each fault of ``tests/testing/mutants.toml`` is looked for twice: beside the game as it should be
(``compare``), and alone (``check``). Each script of a finding is run again in a new process. Run
``python -m benchmarks.faults``.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import runpy
import statistics
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fastenv.testing import Report, check, compare
from fastenv.testing.process import fresh_process
from tests.testing.faulty import CLASSES, faulty_text, read_faults
from tests.testing.twins import bluff_twin
from training.run import files, machine

WAYS = ("beside", "alone")


def look_for(fault: Mapping[str, Any], number: int, folder: Path, seconds: float) -> dict[str, Any]:
    """Look for a fault in both ways, and return a row of the record.

    Parameters
    ----------
    fault : mapping
        Of the list.
    number : int
        Its place there.
    folder : Path
        Where the game with the fault is written; on the module search path.
    seconds : float
        Of processor time, for each way.
    """
    stem = Path(fault["file"]).stem
    (folder / f"faulty_{number}.py").write_text(faulty_text(fault))
    faulty = f"faulty_{number}:{CLASSES[stem]}"
    # The reference of the vector is the single game.
    reference = f"tests.testing.games.{stem}:{'Drop' if stem == 'drop' else CLASSES[stem]}"
    twin = bluff_twin if stem == "bluff" else None
    row = {"number": number, "file": fault["file"], "what": fault["what"]}
    row["early"] = fault.get("early", False)
    row["beside"] = judge(compare(faulty, reference, seconds=seconds), folder, number)
    row["alone"] = judge(check(faulty, seconds=seconds, twin=twin, first=True), folder, number)
    return row


def judge(report: Report, folder: Path, number: int) -> dict[str, Any]:
    """Return the rule found, the steps of the shortest case, whether its script fails again."""
    if not report.faults:
        return {"found": "", "steps": None, "replays": None}
    finding = min(report.faults, key=lambda each: each.steps)
    script = folder / f"script_{number}.py"
    script.write_text(finding.script)
    # The status of a process is no use: beside other threads, multiprocessing may lose it.
    result = folder / f"result_{number}.txt"
    process = fresh_process().Process(target=run_script, args=(script, result))
    process.start()
    process.join()
    return {"found": finding.rule, "steps": finding.steps, "replays": result.read_text() == "1"}


def run_script(script: Path, result: Path) -> None:
    """Run a script without what it prints, and write down its status: the work of a process."""
    result.write_text("")
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(str(script), run_name="__main__")
    except SystemExit as status:
        result.write_text(str(status.code))


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return for each way how many of how many were found, the median of steps, the replays."""
    summary = {}
    for way in WAYS:
        found = [row[way] for row in rows if row[way]["found"]]
        summary[way] = {
            "found": len(found),
            "of": len(rows),
            "median_steps": statistics.median([row["steps"] for row in found] or [0]),
            "scripts_that_fail_again": sum(row["replays"] for row in found),
        }
    return summary


def show(row: Mapping[str, Any]) -> str:
    """Return a row of the record as a line."""
    words = [f"{row['number']:3} {row['file']:9} {row['what'][:56]:56}"]
    for way in WAYS:
        length = f"{row[way]['steps']} steps" if row[way]["found"] else "-"
        words.append(f"{length:>9}{' NOT AGAIN' * (row[way]['replays'] is False)}")
    return "  ".join([*words, row["alone"]["found"][:60]])


def main() -> None:
    """Print a line a fault, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="for each fault; default 10")
    parser.add_argument("--only", default="", help="faults whose file or text has this")
    about = "searches at a time; their seconds are of the processor, so that the results are equal"
    parser.add_argument("--jobs", type=int, default=1, help=f"{about}; default 1")
    parser.add_argument("--out", type=Path, help="write the record there, as JSON")
    args = parser.parse_args()
    taken_on = machine.taken_on()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        faults = [
            (number, fault)
            for number, fault in enumerate(read_faults())
            if args.only in fault["file"] + fault["what"]
        ]

        def look(each: tuple[int, dict[str, Any]]) -> dict[str, Any]:
            return look_for(each[1], each[0], Path(folder), args.seconds)

        with ThreadPoolExecutor(args.jobs) as pool:
            for row in pool.map(look, faults):
                rows.append(row)
                print(show(row), flush=True)
    summary = summarise(rows)
    print(json.dumps(summary, indent=1))
    if args.out:
        files.write_json(args.out, {**taken_on, "seconds": args.seconds, **summary, "faults": rows})


if __name__ == "__main__":
    main()
