"""The record of the bots is of all levels and speeds that its page promises."""

import json
from pathlib import Path

from tools.drmario_bots import BOTS, LEVELS, SPEEDS

ROOT = Path(__file__).resolve().parents[2]


def test_the_record_has_every_level_speed_and_bot():
    record = json.loads((ROOT / "benchmarks" / "drmario-bots.json").read_text(encoding="utf-8"))
    assert record["dirty"] is False
    assert record["episodes"] == 1000
    assert [*record["levels"]] == [*map(str, LEVELS)]
    for found in record["levels"].values():
        assert [*found] == [*SPEEDS]
        assert all([*bots] == BOTS for bots in found.values())
