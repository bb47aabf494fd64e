"""Players at one table: duplicate deals, every rotation, points, wins and ratings."""

import json
import re

import numpy as np
import pytest

import fastenv
from fastenv.errors import ConfigError
from tests.nim import NimGame
from tests.slow import every
from tests.tables import walk
from training.evaluate import main
from training.evaluation.contest import contest, load_players
from training.evaluation.judging import get_judging
from training.players.names import load_who
from training.run.machine import ROOT

from .met import NIM
from .tables import rank_by_points

FLAT = "SkullKingFlat-v0"
PRETRAINED = "pretrained/skullking-ppo"


@pytest.mark.slow
def test_known_strengths_come_out_in_order(trained):
    players = load_players([PRETRAINED, "rule_hard", "random", str(trained("flat"))])
    found = contest(players, 200, seed=3, resamples=200).standings
    names = [one.name for one in found]
    assert names[:2] == ["pretrained/skullking-ppo", "rule_hard"]
    assert sum(one.wins.value for one in found) == pytest.approx(1)
    assert found[0].wins.low > 0.5
    for one in found:
        for interval in (one.points, one.wins, one.skill):
            assert interval.low <= interval.value <= interval.high
    again = contest(players, 200, seed=3, resamples=200).standings
    assert again == found


@pytest.mark.parametrize(
    "kind",
    every(2, ["native", "manager", "recurrent", "ssm", "attention", "hier", "ensemble", "sb3"]),
)
def test_every_kind_can_sit_at_a_table(trained, kind):
    found = contest(load_players([str(trained(kind)), "random"]), 8, resamples=10)
    assert len(found.standings) == 2
    assert (found.deals, found.num_players) == (2, 4)


def test_the_same_player_against_itself_is_even():
    found = contest(load_players([PRETRAINED] * 4), 8, resamples=20).standings
    assert {one.name for one in found} == {PRETRAINED, *(f"{PRETRAINED}#{k}" for k in (2, 3, 4))}
    assert {one.points.value for one in found} == {found[0].points.value}
    np.testing.assert_allclose([one.skill.value for one in found], 25, atol=1)


def test_a_contest_of_one_deal_is_a_record_without_nan():
    points = np.tile([[[3.0, 1.0, 1.0]]], (1, 3, 1))
    found = {one.name: one.record() for one in rank_by_points(["a", "b", "c"], points)}
    text = json.dumps(found, allow_nan=False)
    assert json.loads(text)["a"]["iqm"] == [3.0, None, None]
    assert list(found["b"]["probability_of_improvement"]) == ["a", "c"]
    assert found["b"]["probability_of_improvement"]["c"][0] == 0.5


def test_a_game_for_points_is_ranked_by_points():
    """One wins nine of ten games by little, and loses the tenth by much."""
    points = np.full((10, 2, 2), 1.0)
    points[..., 1] = -1
    points[0] = [-100, 100]
    for judged_by, first in (("win", "rule_hard"), ("points", "heuristic")):
        found = rank_by_points(["rule_hard", "heuristic"], points, judged_by=judged_by)
        assert found[0].name == first, judged_by


def test_what_a_game_says_of_points_is_what_ranks(agent, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(NimGame, "judged_by", "points")
    path = tmp_path / "report.json"
    flags = ["--against", "perfect", "random", "--games", "8", "--output-path", str(path)]
    assert main([agent("nim2"), *flags]) == 0
    assert "Best first by mean points, which this game is played for." in capsys.readouterr().out
    report = json.loads(path.read_text())
    assert report["judged_by"] == "points"
    points = [one["points"][0] for one in report["players"]]
    assert points == sorted(points, reverse=True)
    judging = get_judging(NIM)
    assert (judging.decides, judging.columns[0].name) == ("points", "points")
    monkeypatch.setattr(NimGame, "judged_by", "win")
    assert get_judging(NIM).decides == "win"
    monkeypatch.setattr(NimGame, "judged_by", "luck")
    with pytest.raises(ConfigError, match="judged_by='luck': must be win or points"):
        fastenv.make_game(NIM).spec.check()


def test_sampled_actions_are_another_player(agent, tmp_path, capsys):
    found = {}
    for words in ((), ("--sample",)):
        path = tmp_path / "report.json"
        flags = ["--against", "random", "--games", "40", "--output-path", str(path), *words]
        assert main([agent("nim2"), *flags]) == 0
        assert ("nim2, drawn" in capsys.readouterr().out) == bool(words)
        found[words] = {one["name"]: one for one in json.loads(path.read_text())["players"]}
    best, drawn = ({n.split("/")[-1]: one for n, one in each.items()} for each in found.values())
    assert (best["nim2"]["drawn"], drawn["nim2"]["drawn"], drawn["random"]["drawn"]) == (
        *(False, True),
        False,
    )
    assert best["nim2"]["points"] != drawn["nim2"]["points"]


def test_a_folder_that_is_no_run_does_not_hide_a_bot(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rule_hard").mkdir()
    (tmp_path / "runs/heuristic").mkdir(parents=True)
    assert load_who("rule_hard") == "rule_hard"
    assert load_who("heuristic") == "heuristic"


@pytest.mark.parametrize("where", [".", "runs"])
def test_a_run_with_the_name_of_a_bot_is_named_by_its_path(tmp_path, monkeypatch, where):
    monkeypatch.chdir(tmp_path)
    run = tmp_path / where / "heuristic"
    run.parent.mkdir(exist_ok=True)
    run.symlink_to(ROOT / "pretrained/skullking")
    path = f"{where}/heuristic"
    with pytest.raises(
        ConfigError, match=rf"who='heuristic' .* must be the path {re.escape(path)},"
    ):
        load_who("heuristic")
    assert load_who(path).env == "SkullKingFlat-v0"


@walk(
    ("flags", "refused"),
    [
        (["--games", "0"], "--games must be from 1 to 100,000"),
        (
            ["--episodes", "20"],
            "--episodes 20: must be left out with --against: it is not used there; use --games 20",
        ),
        (["--only", "goals"], "--only goals: must be left out with --against"),
        (["--opponents", "mixed"], "--opponents mixed: must be left out with --against"),
        (["--seed", "-1"], "seed must be from 0"),
    ],
)
def test_command_refuses(capsys, flags, refused):
    assert main([PRETRAINED, "--against", "random", *flags]) == 2
    assert refused in capsys.readouterr().err
