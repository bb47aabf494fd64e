"""Agents of a game for one player, compared on the same episodes."""

import json

import pytest

import training
from training.evaluate import main
from training.players.names import load_who
from training.players.network import draws

AGENT = "pretrained/prospector"
SHORT = ("--episodes", "6", "--seed", "3", "--max-steps", "200")


def evaluate(*words):
    return main([AGENT, "--against", *words, *SHORT])


def test_differences_are_paired_by_episodes(capsys, tmp_path):
    path = tmp_path / "found.json"
    twice = ("greedy_miner", "greedy_miner")
    assert evaluate(*twice, AGENT, "--output-path", str(path)) == 0
    shown = capsys.readouterr().out
    assert f"{AGENT} less prospector: return 0, episodes paired." in shown
    assert "greedy_miner less prospector: return " in shown
    found = json.loads(path.read_text())
    assert (found["baseline"], found["count"], found["base_seed"]) == ("prospector", 6, 3)
    assert found["policies"].keys() == {"prospector", AGENT, "greedy_miner", "greedy_miner#3"}
    assert found["drawn"] == []
    itself, miner = (found["policies"][name] for name in (AGENT, "greedy_miner"))
    assert found["policies"]["greedy_miner#3"]["summary"] == miner["summary"]
    assert itself["return_minus_baseline"] == [0.0, 0.0, 0.0]
    gap = miner["summary"]["return_mean"] - itself["summary"]["return_mean"]
    assert miner["return_minus_baseline"][0] == pytest.approx(gap)
    assert found["policies"]["prospector"]["return_minus_baseline"] is None


def test_trained_agents_may_draw_their_actions(capsys, tmp_path):
    path = tmp_path / "found.json"
    assert evaluate("greedy_miner", AGENT, "--sample", "--output-path", str(path)) == 0
    assert f"{AGENT}, drawn less prospector, drawn: return " in capsys.readouterr().out
    found = json.loads(path.read_text())
    assert found["drawn"] == ["prospector, drawn", f"{AGENT}, drawn"]
    assert found["policies"].keys() == {*found["drawn"], "greedy_miner"}


def test_best_actions_are_taken_where_draws_are_usual_but_not_asked_for():
    policy = training.load_policy(AGENT)
    assert draws(policy)  # as at a table
    assert draws(policy, sample=True)
    assert not draws(policy, sample=False)


def test_a_player_with_a_file_is_no_trained_agent():
    assert load_who("lookahead:judges/first.safetensors") == "lookahead:judges/first.safetensors"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["pretrained/drmario"],
            "cannot sit at this table: env='DrMarioPlacement-v0' must be Prospector-v0",
        ),
        (["nobody"], "or a trained agent: the name of a run in the folder --runs"),
        (["greedy_miner", "--set", "time_max=9"], "--set"),
        (["greedy_miner", "--games", "8"], "--games 8: must be left out"),
    ],
)
def test_who_cannot_play_those_episodes_is_refused(words, said, capsys):
    assert evaluate(*words) == 2
    assert said in capsys.readouterr().err
