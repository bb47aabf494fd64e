"""What the page says of test programs is what the record says."""

import json
import re
from pathlib import Path

from tools.gameboy.acceptance import is_expected, read_expected

ROOT = Path(__file__).resolve().parents[2]
RECORD = json.loads((ROOT / "benchmarks" / "gameboy-test-roms.json").read_text(encoding="utf-8"))
RESULTS = {name: rom["result"] for name, rom in RECORD["roms"].items()}
PAGE = (ROOT / "docs" / "gameboy.md").read_text(encoding="utf-8")
SECTION = PAGE.split("\n## 14 ")[1].split("\n## 15 ")[0]


def passed(*suites: str) -> tuple[int, int]:
    """Return how many ROMs of some folders passed, and how many there are."""
    found = [RESULTS[name] for name in RESULTS if name.startswith(suites)]
    return found.count("passed"), len(found)


def test_what_does_not_pass_is_on_the_list():
    expected = read_expected(None)
    for name, result in RESULTS.items():
        assert is_expected(Path("/", name), expected) == (result != "passed"), name


def test_figures_of_the_page_are_those_of_the_record():
    shown = {(int(a), int(b)) for a, b in re.findall(r"(\d+) of (\d+)", SECTION)}
    assert shown == {
        passed("mooneye/acceptance/"),
        passed("mooneye/emulator-only/"),
        passed("blargg/cpu_instrs/"),
        passed("blargg/mem_timing/", "blargg/mem_timing-2/"),
    }
    assert passed("blargg/instr_timing/") == (1, 1)
    assert passed("blargg/oam_bug/") == (9 - 6, 9), "six of the nine"
    assert passed("blargg/cgb_sound/", "blargg/dmg_sound/")[0] == 0, "all of them"


def test_differences_of_the_page_are_in_the_record():
    for name in re.findall(r"mooneye's `([\w-]+)`", SECTION):
        (path,) = (path for path in RESULTS if path.endswith(f"/{name}.gb"))
        assert RESULTS[path] != "passed", name


def test_all_that_does_not_pass_is_told_of():
    """What is left out beside the figures of a suite would be a silent failure."""
    figures = ("acceptance", "emulator-only", "oam_bug", "cgb_sound", "dmg_sound")
    for path, result in RESULTS.items():
        folder, name = path.split("/")[1], Path(path).stem
        told = any(word in SECTION for word in (f"`{folder}`", f"`{name}`")) or folder in figures
        assert told or result == "passed", path
