"""Prospector in training: its scripted players, and what a searcher is about."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import fastenv
from tests.needs import needs_core
from tests.tables import walk
from tests.training.played import play_episodes
from training.games.prospector.search import LOST, SEARCH, UNIT, profit
from training.players.bots import Bot
from training.players.player import begin_all
from training.search.agent import load

ROOT = Path(__file__).resolve().parents[3]
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


def test_profit_counts_credits_less_what_was_spent_and_lost_ships():
    rows = np.zeros(3, fastenv.make_game("Prospector-v0").spec.state_dtype)
    rows["credits"], rows["total_spend"] = [3 * UNIT, UNIT, 0], [UNIT, 0, 0]
    rows["ev_destroyed"], rows["ev_stranded"] = [0, 1, 0], [0, 0, 1]
    assert profit(np.zeros((3, 1)), rows, np.zeros(3, int)).tolist() == [2.0, 1 - LOST, -LOST]


@needs_core
def test_a_scripted_player_searches_with_the_defaults_of_the_game():
    engine = fastenv.make_engine("Prospector-v0", num_envs=2)
    engine.reset_many(seeds=3)
    player = load("search:rich_haul,worlds=4,limit=30").player(engine)
    begin_all(player, engine, 0)
    first = player.act(engine, np.arange(2))
    assert (engine.mask[np.arange(2), first] != 0).all()
    options = load("search:rich_haul").player(engine).searcher.options
    assert options.lead == SEARCH.options["lead"]
    assert options.worlds == SEARCH.options["worlds"]
    assert options.outcome == "profit"
