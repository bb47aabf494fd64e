"""The page on training on Dr. Mario says what the record of the bots says."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_rates_of_the_page_are_those_of_the_record():
    page = (ROOT / "docs" / "howto" / "train_drmario.md").read_text(encoding="utf-8")
    assert "`benchmarks/drmario-bots.json`" in page
    record = json.loads((ROOT / "benchmarks" / "drmario-bots.json").read_text(encoding="utf-8"))
    assert record["dirty"] is False
    assert record["episodes"] == 200
    for level, found in record["levels"].items():
        for bot, each in found.items():
            rate, low, high = (f"{100 * x:.1f}" for x in each["cleared"])
            left = f"{100 * each['viruses_left']:.1f}"
            pills, frames = (
                "" if each[what] is None else f"{each[what]:,.0f}"
                for what in ("pills_to_clear", "frames_to_clear")
            )
            rates = f"{rate} % [{low}, {high}] | {left} %"
            row = f"| {level} | `{bot}` | {rates} | {pills} | {frames} |"
            assert re.sub(r" +", " ", row) in page
