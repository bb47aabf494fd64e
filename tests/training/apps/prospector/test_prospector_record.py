"""Scripted players of Prospector play as their record says."""

import json
from functools import partial
from pathlib import Path

import pytest

import fastenv
from tests.needs import needs_core
from tests.tables import walk
from tests.training.played import play_episodes
from training.players.bots import Bot

ROOT = Path(__file__).resolve().parents[4]
RECORD = json.loads((ROOT / "benchmarks/prospector-bots.json").read_text())


@needs_core
@walk("name", ["short_haul", "rich_haul"])
def test_haulers_play_as_their_record_says(name):
    of_record = RECORD["bots"]["policies"][name]["summary"]
    engine = fastenv.make_engine("Prospector-v0", 300)
    found = play_episodes(engine, partial(Bot, name), 300, 7, 1000).summary()
    for key in ("return_mean", "net_profit_mean", "survival_rate"):
        assert found[key] == pytest.approx(of_record[key], rel=1e-9), key
    assert found["steps_total"] == of_record["steps_total"]
