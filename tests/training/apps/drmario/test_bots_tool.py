"""Bots and trained agents play the same games in ``tools/drmario_bots.py``."""

import json

import numpy as np
import pytest

from tests.needs import needs_core
from tests.slow import late
from tools import drmario_bots
from tools.figures.drmario import LEARNT
from training.apps.drmario.compare import load_player, play_games
from training.games.drmario.splits import draw_seeds, seeds_for
from training.run.machine import ROOT

AGENT = "pretrained/drmario"
RECORD = ROOT / "benchmarks" / LEARNT
LEVEL, SPEED = "20", "high"


@needs_core
def test_an_agent_plays_the_games_of_the_bots(tmp_path, monkeypatch):
    played, out = {}, tmp_path / "record.json"
    play_games = drmario_bots.play_games

    def watch(player, *args, **options):
        found = play_games(player, *args, **options)
        played[player if isinstance(player, str) else AGENT] = found["game_seed"].tolist()
        return found

    monkeypatch.setattr(drmario_bots, "play_games", watch)
    bots = f"greedy,{AGENT}"
    words = ["--cells", "0:low", "--episodes", "8", "--bots", bots, "--out", str(out)]
    assert drmario_bots.main(words) == 0
    assert played["greedy"] == played[AGENT]
    assert len(set(played[AGENT])) == 8
    assert set(played[AGENT]) <= set(seeds_for("reports").tolist())
    record = json.loads(out.read_text())
    assert set(record["levels"]["0"]["low"]) == {"greedy", AGENT}
    assert set(record["agents"]) == {AGENT}


def test_the_record_is_of_the_agent_that_lies_there():
    record = json.loads(RECORD.read_text())
    head = json.loads((ROOT / AGENT / "config.json").read_text())
    trained = record["agents"][AGENT]
    assert trained["config_sha256"] == head["sha256"]
    assert trained["git_rev"] == head["git_rev"]
    assert trained["checkpoint"] == (ROOT / AGENT / "checkpoints/latest").read_text().strip()
    assert [record["dirty"], trained["dirty"], head["dirty"]] == [False] * 3
    assert record["episodes"] == 1000


@needs_core
@pytest.mark.parametrize("games", [20, *late(60)])
def test_the_agent_plays_as_its_record_says(games):
    """Some games of the record: as many are cleared as three standard deviations allow."""
    record = json.loads(RECORD.read_text())
    rate = record["levels"][LEVEL][SPEED][AGENT]["cleared"][0]
    player, options = load_player(str(ROOT / AGENT))
    seeds = draw_seeds("reports", 1000, np.random.default_rng([0, int(LEVEL)]))[:games]
    same = [(int(LEVEL), SPEED, int(seed)) for seed in seeds]
    found = play_games(player, same, options, t_max=10**9, max_steps=drmario_bots.MOST_PILLS)
    assert found["clear"].mean() == pytest.approx(rate, abs=3 * (rate * (1 - rate) / games) ** 0.5)
