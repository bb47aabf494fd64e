"""Faults written into four small games: how many ``fastenv.testing`` finds, and how short.

Each fault of ``tests/testing/mutants.toml`` is looked for twice: beside the game as it should be
(``compare``), and alone (``check``). Run ``python -m benchmarks.faults``.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import statistics
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from fastenv.testing import Report, check, compare

TESTS = Path(__file__).resolve().parent.parent / "tests" / "testing"
CLASSES = {"ferry": "Ferry", "piles": "Piles", "drop": "DropVector", "bluff": "Bluff"}


def read_faults() -> list[dict[str, Any]]:
    """Return the faults of the list."""
    text = (TESTS / "mutants.toml").read_text()
    faults: list[dict[str, Any]] = tomllib.loads(text)["mutant"]
    return faults


def write_game(fault: dict[str, Any], number: int, folder: Path) -> str:
    """Write a game with a fault as a module, and return the name of its class."""
    text = (TESTS / "games" / fault["file"]).read_text()
    if text.count(fault["old"]) != 1:
        raise ValueError(f"{fault['what']}: its text must stand once in {fault['file']}")
    name = f"faulty_{number}"
    (folder / f"{name}.py").write_text(text.replace(fault["old"], fault["new"]))
    return f"{name}:{CLASSES[Path(fault['file']).stem]}"


def reference_of(fault: dict[str, Any]) -> str:
    """Return the game as it should be; of the vector, the single one."""
    stem = Path(fault["file"]).stem
    return f"tests.testing.games.{stem}:{'Drop' if stem == 'drop' else CLASSES[stem]}"


def twin_of(fault: dict[str, Any]) -> Any:
    """Return what draws hidden information again, in the game that has some."""
    if fault["file"] != "bluff.py":
        return None
    from tests.testing.twins import bluff_twin

    return bluff_twin


def judge(report: Report) -> dict[str, Any]:
    """Return what was found, the steps of the shortest case, whether its script fails again."""
    if not report.faults:
        return {"found": "", "steps": None, "replays": None}
    finding = report.faults[0]
    steps = sum(len(episode.actions) for episode in finding.case)
    return {"found": finding.rule, "steps": steps, "replays": run_script(finding.script)}


def run_script(script: str) -> bool:
    """Return whether the script of a finding still fails."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(script, "script", "exec"), {"__name__": "__main__"})
    return "no difference" not in said.getvalue()


def main() -> None:
    """Print a table, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="for each fault; default 10")
    parser.add_argument("--only", help="faults whose file or text has this")
    parser.add_argument("--out", type=Path, help="write the record there, as JSON")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        for number, fault in enumerate(read_faults()):
            if args.only and args.only not in fault["file"] + fault["what"]:
                continue
            faulty = write_game(fault, number, Path(folder))
            beside = judge(compare(faulty, reference_of(fault), seconds=args.seconds))
            alone = judge(check(faulty, seconds=args.seconds, twin=twin_of(fault)))
            rows.append(
                {
                    "number": number,
                    "file": fault["file"],
                    "what": fault["what"],
                    "early": fault.get("early", False),
                    "beside": beside,
                    "alone": alone,
                }
            )
            words = [f"{number:3} {fault['file']:9} {fault['what'][:52]:52}"]
            for each in (beside, alone):
                length = f"{each['steps']} steps" if each["found"] else "-"
                again = "" if each["replays"] in (None, True) else " NOT AGAIN"
                words.append(f"{length:>9}{again}")
            words.append(alone["found"][:60])
            print("  ".join(words), flush=True)
    for way in ("beside", "alone"):
        found = [row for row in rows if row[way]["found"]]
        steps = [row[way]["steps"] for row in found]
        replayed = sum(bool(row[way]["replays"]) for row in found)
        median = statistics.median(steps) if steps else "-"
        print(
            f"{way}: {len(found)} of {len(rows)} found, median {median} steps, "
            f"{replayed} scripts fail again"
        )
    if args.out:
        args.out.write_text(json.dumps({"seconds": args.seconds, "faults": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
