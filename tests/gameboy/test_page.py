"""What the page says of test programs is what the record says."""

import dataclasses
import json
from pathlib import Path

from tools.figures import games
from tools.gameboy.acceptance import Result, is_expected, read_expected, suites_of

ROOT = Path(__file__).resolve().parents[2]
RECORD = json.loads((ROOT / "benchmarks" / "gameboy-test-roms.json").read_text(encoding="utf-8"))
RESULTS = {
    name: Result(rom["result"], rom["way"], rom["sha256"], rom["pyboy"])
    for name, rom in RECORD["roms"].items()
}
PAGE = (ROOT / "docs" / "gameboy.md").read_text(encoding="utf-8")
SECTION = PAGE.split("\n## 14 ")[1].split("\n## 15 ")[0]
SUITES = ("mooneye", "wilbertpol", "gbmicrotest", "dmg-acid2")  # all of which should pass
LEFT = 3  # of gbmicrotest


def folder(name: str) -> str:
    """Return a suite, or of those with many folders one of them."""
    parts = name.split("/")
    return parts[1] if parts[0] in ("gambatte", "blargg") else parts[0]


def test_what_fails_is_on_the_list():
    expected = read_expected(None)
    for name, result in RESULTS.items():
        fails = result.counts and result.here != "passed"
        assert is_expected(Path("/", name), expected) == fails, name


def test_suites_are_counted():
    counted = {
        suite: {name: number for name, number in numbers.items() if name != "pixel"}
        for suite, numbers in RECORD["suites"].items()
    }
    assert counted == suites_of(RESULTS)


def test_a_suite_of_which_pyboy_was_asked_a_part_says_so(tmp_path, monkeypatch):
    passed, failed, silent = (Result(x, "", "") for x in ("passed", "failed", "no verdict"))
    asked = dataclasses.replace(passed, pyboy="failed")
    results = {"mooneye/a": passed, "mooneye/b": asked, "mooneye/c": silent, "blargg/a": failed}
    suites = suites_of(results)
    assert suites["mooneye"] == {"passed": 2, "pyboy": 0, "asked": 1, "of": 2}
    assert suites["blargg"]["asked"] == 0
    record = {**RECORD, "suites": {**RECORD["suites"], **suites}}
    (tmp_path / "gameboy-test-roms.json").write_text(json.dumps(record))
    monkeypatch.setattr(games, "RECORDS", tmp_path)
    rows = [line.split(" | ") for line in games.game_boy_roms().splitlines()]
    theirs = {row[0]: row[-1] for row in rows}
    assert theirs["| mooneye"] == "0 of 1 asked |"
    assert theirs["| blargg's"] == "not measured |"


def test_results_by_pixel_are_counted_and_lose_none():
    exact = {name: rom["pixel"] for name, rom in RECORD["roms"].items() if "pixel" in rom}
    counted: dict[str, int] = {}
    for name, result in exact.items():
        if RESULTS[name].counts:
            suite = name.split("/")[0]
            counted[suite] = counted.get(suite, 0) + (result == "passed")
    given = {suite: n["pixel"] for suite, n in RECORD["suites"].items() if "pixel" in n}
    assert counted == given
    assert all(RECORD["suites"][suite]["passed"] <= passed for suite, passed in given.items())
    assert given["mealybug"] >= 18


def test_suites_that_the_page_calls_exact_pass():
    of_these = [name for name in RESULTS if name.split("/")[0] in SUITES]
    failed = [name for name in of_these if RESULTS[name].counts and RESULTS[name].here != "passed"]
    assert len(of_these) > 400
    assert len(failed) <= LEFT


def test_folders_with_more_than_a_few_failures_are_told_of():
    """What is left out beside the figures of a suite would be a silent failure."""
    failures: dict[str, int] = {}
    for name, result in RESULTS.items():
        if result.counts and result.here != "passed":
            failures[folder(name)] = failures.get(folder(name), 0) + 1
    for where, number in failures.items():
        assert number <= LEFT or where in SECTION, (where, number)


def test_free_games_are_judged_by_what_is_asked_of_them(monkeypatch):
    record = json.loads((ROOT / "benchmarks" / "gameboy-free-games.json").read_text("utf-8"))
    assert games.ASKED == {"geometric_mean": 8, "worst": 4}
    measured = {name: record["reached"][name] for name in games.ASKED}
    said = games.free_games()
    assert said in PAGE
    for name, asked in games.ASKED.items():
        (row,) = [line for line in said.splitlines() if f"| at least {asked:g} |" in line]
        reached = measured[name] >= asked
        assert row.endswith(f"| {measured[name]:.2f} | {'yes' if reached else 'no'} |")
    missed = [line for line in said.splitlines() if line.startswith("Missed: ")]
    assert bool(missed) == any(measured[name] < asked for name, asked in games.ASKED.items())
    monkeypatch.setattr(games, "ASKED", measured)
    assert "Missed" not in games.free_games()
