"""Evaluations of games of several agents: wins, opponent sets, the game's own bots."""

import json
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from fastenv.errors import ConfigError
from tests.training import begun, third_game
from tests.training.played import play_episodes
from tests.training.third_game import DUEL, ENV, TINY_DUEL
from training import compare, evaluate, report
from training.commands import replay
from training.evaluation import results
from training.evaluation.evaluation import name_sets
from training.evaluation.intervals import share, wilson
from training.evaluation.judging import get_judging
from training.logs.run_data import describe_opponents, groups_of
from training.players.bots import Bot
from training.players.names import make_player
from training.players.player import begin_all, every_lane
from training.players.trained import load
from training.run import games
from training.run.config import EARLIER_SETS, RunConfig
from training.run.envs import make_engine
from training.run.folder import RunFolder

BOTS = ["fast", "slow", "random"]  # the strongest first
known = pytest.fixture(third_game.known, scope="module", autouse=True)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    runs = tmp_path_factory.mktemp("duels")
    assert begun.train(runs, "duel", config=TINY_DUEL, evaluation=True) == 0
    return runs / "duel"


def read(run):
    return json.loads((run / "evaluation.json").read_text())


# -- episodes --------------------------------------------------------------------------------------


def test_an_episode_says_who_has_won_it():
    engine = make_engine(DUEL, 16, {"opponent": "slow", "goal": 8})
    found = play_episodes(engine, partial(make_player, "random"), 48, 5, 1000)
    one = make_engine(DUEL, 1, {"opponent": "slow", "agent_seat": 1, "goal": 8})
    assert found["seat"].tolist() == [0, 1] * 24
    seen = set()
    for k in range(1, 48, 2):
        seed = int(found["seed"][k])
        one.reset_many(seeds=seed)
        player = Bot("random", one)
        begin_all(player, one, seed)  # lanes have generators of their own
        while not one.ended[0]:
            one.step_many(player.act(one, every_lane(one)), autoreset=False)
        theirs, own = one.get_states()["ep_return"][0]
        assert found["points"][k] == own == found["return"][k]
        assert found["win"][k] == (own > theirs) + 0.5 * (own == theirs)
        assert found["draw"][k] == (own == theirs)
        seen.add(float(found["win"][k]))
    assert seen == {0.0, 0.5, 1.0}


def test_nobody_has_won_what_was_given_up():
    engine = make_engine(DUEL, 8, {"opponent": "slow", "goal": 10**6})
    found = play_episodes(engine, partial(make_player, "fast"), 8, 0, 3, "fast")
    assert found["given_up"].all()
    assert not found["win"].any()
    assert not found["draw"].any()
    assert found["points"].any()
    assert {"win_rate", "draw_rate", "points_mean"} <= found.summary().keys()
    (row, *_) = found.record()
    assert (row["seat"], row["draw"], row["win"]) == (0, False, 0.0)


def test_a_column_with_an_entry_an_agent_is_the_learners(tmp_path):
    columns = {"places": games.Column("measure"), "mood": games.Column("kept")}  # (n, 2) and (n,)
    games.register(DUEL, games.GameTraining(columns=columns))
    try:
        engine = make_engine(DUEL, 8, {"opponent": "slow", "goal": 8})
        found = play_episodes(engine, partial(make_player, "fast"), 16, 0, 1000)
        assert begun.train(tmp_path, "run", config=TINY_DUEL | {"episode_events": True}) == 0
    finally:
        games.unregister(DUEL)
    assert found["places"].tolist() == (found["points"] / 1.5).tolist()  # a field is worth as much
    lines = (tmp_path / "run/events.jsonl").read_text().splitlines()
    ends = [line for line in map(json.loads, lines) if line["event"] == "episode_end"]
    assert all(line["episode_return"] == 1.5 * line["places"] for line in ends)
    assert len(ends) > 8


def test_games_for_one_have_no_winner():
    engine = make_engine("Prospector-v0", 2, {"time_max": 50})
    found = play_episodes(engine, partial(make_player, "random"), 2, 0, 9)
    assert not {"win", "draw", "points", "seat"} & found.columns.keys()


def test_a_win_is_shared_by_all_who_have_reached_as_much():
    reached = np.array([[3.0, 3.0, 1.0], [3.0, 3.0, 1.0], [0.0, 0.0, 0.0], [1.0, 2.0, 0.0]])
    engine = SimpleNamespace(
        get_outcomes=lambda lanes: reached[lanes],
        ended=np.ones(4, bool),
    )
    lanes, seats = np.arange(4), [0, 2, 1, 1]
    found = {n: results.MEETING[n].read(engine, lanes)[lanes, seats] for n in results.MEETING}
    assert found["seat"].tolist() == seats
    assert found["points"].tolist() == [3, 1, 0, 2]
    assert found["win"].tolist() == [1 / 2, 0, 1 / 3, 1]
    assert found["draw"].tolist() == [True, False, True, False]


def test_a_share_may_have_parts():
    parts = np.array([1.0, 0.5, 0.0, 0.5])
    found = share(parts)
    assert (found.value, (found.low, found.high)) == (0.5, wilson(2, 4))
    whole = share(np.array([True, True, False, False]))
    assert (found.low, found.high) == (whole.low, whole.high)


# -- protocols -------------------------------------------------------------------------------------


def test_a_game_is_evaluated_by_what_it_is():
    assert get_judging(DUEL).meets
    assert get_judging("DrMarioVersus-v0").meets
    assert list(get_judging(DUEL).scripted()) == BOTS
    assert get_judging(ENV).bots == ("slow", "fast")  # what its GameTraining says
    assert not get_judging("NoSuchGame-v0").meets
    versus = get_judging("DrMarioVersus-v0")
    assert list(versus.scripted()) == ["attack2", "lookahead2", "greedy", "first", "random"]
    assert [name for name, _ in versus.columns][:4] == ["win", "draw", "points", "return"]
    assert get_judging("DrMarioVersusFrame-v0").bots == ("greedy", "first", "random")


def test_a_game_may_be_judged_by_something_else(run, capsys):
    games.register(DUEL, games.GameTraining(judged_by="points"))
    try:
        assert get_judging(DUEL).columns[0].name == "points"
        assert evaluate.main([str(run), "--episodes", "8", "--opponents", "slow"]) == 0
    finally:
        games.unregister(DUEL)
    found = read(run)["matches"]
    assert found["judged_by"] == "points"
    assert found["policies"]["slow"]["trained"]["points_minus_baseline"] is not None
    assert capsys.readouterr().out.index("points") < 250


def config_of(**options):
    return RunConfig.from_mapping({**TINY_DUEL, **options})


def sets(config, option="opponents", steps=0):
    names = getattr(config.evaluation, option)
    return get_judging(config.env).sets(config, option, names, steps)


def test_by_default_it_plays_against_whom_it_was_trained_and_the_strongest_bot():
    assert sets(config_of()) == {"slow": "slow", "fast": "fast"}
    assert sets(config_of(), "curve_opponents") == {"slow": "slow"}
    named = config_of(env_options={"opponent": ["random"], "goal": 8})
    assert sets(named) == {"random": ["random"], "fast": "fast"}
    assert list(sets(config_of(env_options={"opponent": "fast"}))) == ["fast"]
    later = config_of(schedules={"opponent": [[0, "random"], [100, "fast"]]}, total_steps=256)
    assert list(sets(later, steps=50)) == ["random", "fast"]
    assert list(sets(later, steps=100)) == ["fast"]
    asked = {"opponents": ["random"], "curve_opponents": ["fast", "slow"]}
    asked = config_of(evaluation={**TINY_DUEL["evaluation"], **asked})
    assert list(sets(asked)) == ["random"]
    assert list(sets(asked, "curve_opponents")) == ["fast", "slow"]


def test_what_configs_from_before_spell_out_is_the_default():
    earlier = config_of(evaluation={name: list(names) for name, names in EARLIER_SETS.items()})
    get_judging(DUEL).check_run(earlier)
    assert sets(earlier) == sets(config_of())
    assert sets(earlier, "curve_opponents") == sets(config_of(), "curve_opponents")


@pytest.mark.parametrize("option", EARLIER_SETS)
def test_players_that_the_game_does_not_have_are_refused(tmp_path, capsys, option):
    evaluation = {**TINY_DUEL["evaluation"], option: ["slow", "nobody"]}
    assert begun.train(tmp_path, "x", config=TINY_DUEL | {"evaluation": evaluation}) == 2
    said = f"evaluation.{option}: bot 'nobody': must be one of random, slow, fast"
    assert said in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
    with pytest.raises(ConfigError, match="one or more"):
        sets(config_of(evaluation={"opponents": []}))


# -- commands --------------------------------------------------------------------------------------


def test_a_training_ends_with_both_opponents(run):
    text = (run / "evaluation.txt").read_text()
    assert "duel against slow: 16 episodes, seeds 0 to 15" in text
    assert "duel against fast: 16 episodes, seeds 0 to 15" in text
    assert "random_legal" not in text


def test_it_is_evaluated_against_those_that_are_named(run, capsys):
    assert evaluate.main([str(run), "--opponents", "random,fast", "--replays", "2"]) == 0
    said = capsys.readouterr().out
    assert "duel against random: 16 episodes" in said
    assert "win %" in said
    found = read(run)["matches"]
    assert (found["players"], found["agent_seat"], found["judged_by"]) == (2, "rotate", "win")
    assert list(found["results"]) == ["random", "fast"]
    for players in found["policies"].values():
        assert list(players) == ["trained", *BOTS]
        assert players["trained"]["kind"] == "policy"
        assert players["fast"]["win_minus_baseline"] is None  # the strongest is the baseline
    value, low, high = found["results"]["fast"]["fast"]["win"]
    assert low < value < high
    assert found["policies"]["fast"]["fast"]["summary"]["win_rate"] == value
    lines = [json.loads(line) for line in (run / "episodes.jsonl").read_text().splitlines()]
    assert len(lines) == 2 * 4 * 16
    assert [lines[k]["seat"] for k in range(4)] == [0, 1, 0, 1]
    assert {line["opponent"] for line in lines} == {"random", "fast"}
    wins = [line["win"] for line in lines if line["opponent"] == "fast" and line["bot"] == "fast"]
    assert np.mean(wins) == value
    assert set(groups_of(read(run))) == {"against random", "against fast"}
    files = [str(path) for path in (run / "replays").iterdir()]
    assert replay.main(files) == 0
    assert capsys.readouterr().out.count("plays as recorded") == len(files) == 2


def test_opponents_that_are_not_there_are_refused(run, capsys):
    assert evaluate.main([str(run), "--opponents", "fast,nobody"]) == 2
    assert "evaluation.opponents: bot 'nobody'" in capsys.readouterr().err
    assert evaluate.main(["--bots", "--env", DUEL, "--opponents", "nobody"]) == 2
    assert "--opponents: bot 'nobody': must be one of" in capsys.readouterr().err


def test_bots_play_all_against_all(tmp_path, capsys):
    out = tmp_path / "bots.json"
    flags = ["--bots", "--env", DUEL, "--episodes", "12", "--output-path", str(out)]
    assert evaluate.main(flags) == 0
    assert "bots: win % of 12 episodes, seeds 0 to 11" in capsys.readouterr().out
    found = json.loads(out.read_text())
    assert list(found["results"]) == BOTS
    assert all(list(players) == BOTS for players in found["results"].values())
    assert len(found["episodes"]) == 3 * 3 * 12
    assert found["results"]["slow"]["fast"]["win"][0] > found["results"]["fast"]["slow"]["win"][0]
    flags += ["--bot", "random", "--opponents", "fast"]
    assert evaluate.main(flags) == 0
    found = json.loads(out.read_text())
    assert {name: list(players) for name, players in found["results"].items()} == {
        "fast": ["random"]
    }


def test_the_curve_of_a_training_is_of_wins(tmp_path):
    evaluation = {"during": "inline", "every": 256, "curve_episodes": 8, "bootstrap": 50}
    evaluation |= {"curve_opponents": ["fast", "slow"]}
    assert begun.train(tmp_path, "run", config=TINY_DUEL | {"evaluation": evaluation}) == 0
    lines = (tmp_path / "run/evaluations.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    assert [line["step"] for line in found] == [256, 512]
    measures = ("win", "draw", "points", "return", "steps", "ticks")
    names = [f"{measure}, {who}" for who in ("fast", "slow") for measure in measures]
    for line in found:
        assert (line["decides"], line["episodes"]) == ("win, fast", 16)
        assert list(line["results"]) == names
    best = max(found, key=lambda line: line["results"]["win, fast"][1])
    assert load(RunFolder.open(tmp_path / "run"), "best").steps == best["step"]


@pytest.mark.slow
def test_variants_are_compared_by_wins_against_an_opponent(run, capsys):
    (run.parent / "both.json").write_text(json.dumps(TINY_DUEL | {"total_steps": 128}))
    variants = ["--variant", "base", "--variant", "slow", "--with", "ppo.learning_rate=1e-5"]
    flags = ["--config", run.parent / "both.json", "--runs", run.parent, "--seeds", "1,2"]
    flags += ["--games", 8]
    assert compare.main([*map(str, flags), *variants]) == 0
    assert "8 episodes against slow" in capsys.readouterr().out
    found = json.loads((run.parent / "compare.json").read_text())
    assert list(found["compared"]) == ["against slow"]
    flags += ["--opponents", "fast,random", "--name", "more"]
    assert compare.main([*map(str, flags), *variants]) == 0
    found = json.loads((run.parent / "more.json").read_text())
    assert list(found["compared"]) == ["against fast", "against random"]
    assert "slow is" in capsys.readouterr().out
    again = ["--onto", str(run.parent / "more.json"), "--name", "onto"]
    assert (
        compare.main([*map(str, flags), *again, "--variant", "third", "--with", "ppo.gamma=0.9"])
        == 0
    )


def test_wins_are_on_the_page_of_a_report(run):
    assert evaluate.main([str(run), "--episodes", "8"]) == 0
    assert report.main([str(run), "--out", str(run.parent / "report.html")]) == 0
    page = (run.parent / "report.html").read_text()
    assert "wins %" in page
    assert "Against fast" in page


def test_opponent_sets_in_words():
    assert describe_opponents("rule_hard") == "3 x rule_hard"
    assert describe_opponents("fast", 2) == "fast"
    assert describe_opponents("mixed", 4) == "mixed"
    assert describe_opponents("slow + fast", 3) == "slow + fast"
    given = ["slow", ["fast", "fast"], ["slow", "fast"]]
    assert name_sets(given) == dict(zip(("slow", "fast", "slow + fast"), given, strict=True))
