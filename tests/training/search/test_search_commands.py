"""Agents that search wherever a policy can sit: evaluations, tables, opponents, watch and play."""

import json
import re

import numpy as np
import pytest

from fastenv.errors import ConfigError
from tests.needs import needs_core
from tests.slow import diagonal
from tests.tables import walk
from training import evaluate, play, watch
from training.evaluation.contest import contest, load_players
from training.evaluation.judging import get_judging
from training.players.trained import WITHOUT
from training.run.config import RunConfig
from training.run.envs import make_engine
from training.run.seating import AGENT
from training.search.searcher import Searcher

PRETRAINED = "pretrained/skullking-ppo"
SEARCH = f"search:{PRETRAINED},worlds=2,lead=0"
FLAT = "SkullKingFlat-v0"
PILLS = "DrMarioPlacement-v0"


def files_of(folder):
    return {path: path.stat().st_mtime_ns for path in sorted(folder.rglob("*"))}


# -- evaluate --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_is_evaluated_with_search_and_without(capsys, tmp_path, pytestconfig):
    folder, path = pytestconfig.rootpath / PRETRAINED, tmp_path / "found.json"
    before = files_of(folder)
    flags = ["--games", "4", "--opponents", "random,search:random,worlds=1,heuristic"]
    assert evaluate.main([SEARCH, *flags, "--output-path", str(path)]) == 0
    assert files_of(folder) == before
    shown = capsys.readouterr().out
    assert WITHOUT in shown
    assert re.search(r"search:\S+: [\d.]+ ms of CPU time a decision, \d+% of them searched", shown)
    record = json.loads(path.read_text())
    assert record["base"] == PRETRAINED
    assert record["checkpoint"].startswith("ckpt_")
    assert record["policy"] == "search"
    search = record["search"]
    assert search["name"] == SEARCH
    assert search["options"]["worlds"] == 2
    assert (search["options"]["rollouts"], search["options"]["horizon"]) == ("model", "round")
    assert search["cpu_ms_per_decision"] > 0
    assert 0 < search["searched"] < search["decisions"]
    results = record["matches"]["results"]
    assert [*results] == ["random", "search:random,worlds=1", "heuristic"]
    assert all({AGENT, WITHOUT, "heuristic"} <= set(each) for each in results.values())
    assert results["heuristic"][AGENT] != results["heuristic"][WITHOUT]


def test_a_game_for_one(capsys, tmp_path):
    path = tmp_path / "found.json"
    who = "search:pretrained/prospector,worlds=1,limit=3"
    flags = ["--episodes", "2", "--max-steps", "3", "--output-path", str(path)]
    assert evaluate.main([who, *flags]) == 0
    record = json.loads(path.read_text())
    assert {AGENT, WITHOUT} <= set(record["episodes"]["policies"])
    assert {row["bot"] for row in record["rows"]} >= {AGENT, WITHOUT}
    assert WITHOUT in capsys.readouterr().out


def test_bots_search(capsys, tmp_path):
    path = tmp_path / "found.json"
    bots = ["--bot", "search:greedy_miner,worlds=1,limit=2", "--bot", "greedy_miner"]
    flags = ["--episodes", "2", "--max-steps", "3", "--output-path", str(path)]
    assert evaluate.main(["--bots", *bots, "--env", "Prospector-v0", *flags]) == 0
    policies = json.loads(path.read_text())["policies"]
    assert [each["kind"] for each in policies.values()] == ["search", "bot"]


@walk(
    ("words", "refused"),
    [
        (["search:heuristic"], "heuristic is no trained agent; .* --bots --bot search:heuristic"),
        ([SEARCH, "--replays", "2"], "--replays 2: must be left out"),
        ([SEARCH, "--only", "goals"], "--only must be left out or matches with search"),
        ([SEARCH, "--set", "num_players=4"], "--set .* must be left out"),
        ([SEARCH, "--checkpoint", "ckpt_1"], "must be a run folder, a checkpoint"),
        (["search:no/where"], "must be a run folder, a checkpoint"),
        ([f"{SEARCH},joy=1"], "'search.joy' is not an option"),
        ([f"{SEARCH},outcome=joy", "--games", "4"], "search.outcome must be points or"),
        (["--bots", "--bot", "search:nobody"], "bot 'nobody'"),
        ([SEARCH, "--games", "4", "--opponents", "search:nobody"], "bot 'nobody'"),
    ],
)
def test_evaluate_refuses(words, refused, capsys):
    assert evaluate.main(words) == 2
    error = capsys.readouterr().err
    assert re.search(refused, error)
    assert error.count("\n") == 1


@pytest.mark.parametrize("words", [[SEARCH], [PRETRAINED, "--against", SEARCH]])
def test_ctrl_c_ends_an_evaluation(words, capsys, monkeypatch):
    def press(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(Searcher, "_evaluate", press)
    assert evaluate.main([*words, "--games", "4"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


# -- tables ----------------------------------------------------------------------------------------


def test_a_table_says_what_searching_costs(capsys, tmp_path):
    path = tmp_path / "found.json"
    words = [PRETRAINED, "--against", SEARCH, "heuristic", "search:random,worlds=1"]
    words += ["--set", "schedule=[2, 1]", "--games", "4", "--output-path", str(path)]
    assert evaluate.main(words) == 0
    players = {each["name"]: each for each in json.loads(path.read_text())["players"]}
    assert "cpu_ms_per_decision" not in players["heuristic"]
    assert players[SEARCH]["cpu_ms_per_decision"] > 0
    assert players[PRETRAINED]["cpu_ms_per_decision"] > 0
    shown = capsys.readouterr().out
    assert "CPU ms" in shown
    assert "CPU ms: CPU time of a decision" in shown


def test_a_table_without_search_says_nothing_of_it():
    found = contest(load_players([PRETRAINED, "heuristic"]), 4, resamples=20)
    assert all(one.cpu_ms is None for one in found.standings)
    assert all("cpu_ms_per_decision" not in one for one in found.record()["players"])


# -- opponents -------------------------------------------------------------------------------------


def test_opponents_search():
    options = {"opponents": ["search:heuristic,worlds=1", "rule_hard", SEARCH]}
    engine = make_engine(FLAT, 2, options)
    engine.reset_many(seeds=3)
    for _ in range(12):
        engine.step_many(engine.mask.argmax(1).astype(np.int32))
    first, second, third = engine.others.players
    assert second is None
    assert first.cost.searched > 0
    assert third.cost.searched > 0


def test_opponents_inside_an_engine_do_not():
    with pytest.raises(
        ConfigError, match="bots or trained agents here: agents that search play whole"
    ):
        make_engine("SkullKingWorker-v0", 1, {"opponents": "search:heuristic"})


def test_a_training_refuses_opponents_that_search(train, tmp_path, capsys):
    flag = '--set=env_options={"opponents": "search:heuristic"}'
    flags = ["--env", FLAT, "--set=num_envs=2", flag]
    assert train(tmp_path, "x", *flags) == 2
    assert "of agents that do not search: a training cannot wait" in capsys.readouterr().err


@walk(
    ("name", "refused"),
    [("search:nobody", "bot 'nobody'"), ("search:heuristic,belief=bids", "search.belief='bids'")],
)
def test_opponents_of_an_evaluation_are_checked_before_a_training(name, refused):
    config = RunConfig.from_mapping({"env": FLAT, "evaluation": {"opponents": [name]}})
    with pytest.raises(ConfigError, match=refused):
        get_judging(FLAT).check_run(config)


def test_runs_are_compared_against_opponents_that_search():
    from training.compare import parser
    from training.evaluation.seed_flags import evaluation_of

    words = ["--seeds", "1,2", "--opponents", "random,search:heuristic,worlds=2", "--games", "4"]
    config = RunConfig.from_mapping({"env": FLAT})
    played = evaluation_of(parser().parse_args(words), config)
    assert played.opponents == ("random", "search:heuristic,worlds=2")
    words[3] = "search:nobody,worlds=2"
    with pytest.raises(ConfigError, match="bot 'nobody'"):
        evaluation_of(parser().parse_args(words), config)


# -- agents that have learnt only a part of the game -----------------------------------------------


def test_a_worker_searches_in_whole_games(finished, capsys):
    who = f"search:{finished},worlds=2"
    assert watch.main([who, "--max-steps", "12", "--think"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("search:done chooses") == 12
    assert "thought for" in shown
    assert evaluate.main([who, "--games", "4", "--opponents", "random"]) == 0
    assert "done,worlds=2: " in capsys.readouterr().out
    assert not (finished / "evaluation.json").exists()


# -- watch -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "width"),
    diagonal(
        [
            pytest.param([SEARCH], id="alone"),
            pytest.param([PRETRAINED, "--against", SEARCH], id="table"),
            pytest.param(["search:heuristic,worlds=2", "--env", FLAT], id="bot"),
        ],
        [80, 140],
    ),
)
def test_thoughts_are_watched(words, width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    assert watch.main([*words, "--max-steps", "24", "--think"]) == 0
    shown = capsys.readouterr().out
    assert "thought for" in shown
    assert "▶" in shown
    assert max(map(len, shown.splitlines())) <= width
    assert watch.main([*words, "--max-steps", "24"]) == 0
    without = capsys.readouterr().out
    assert "thought for" not in without
    chosen = re.findall(r"chooses .*", shown)
    assert chosen == re.findall(r"chooses .*", without)
    assert len(chosen) == 24


@pytest.mark.parametrize("words", [[SEARCH], [PRETRAINED, "--against", SEARCH]])
def test_ctrl_c_is_said_and_pressed_twice_leaves(words, capsys, monkeypatch):
    """It is pressed in the first search, and then in the third and the fourth."""
    look, searches = Searcher._evaluate, []

    def press(self, position, estimates, done, block):
        searches.extend([1] if done == 0 else [])
        if len(searches) in (1, 3, 4):
            raise KeyboardInterrupt
        look(self, position, estimates, done, block)

    monkeypatch.setattr(Searcher, "_evaluate", press)
    assert watch.main(words) == 0
    shown = capsys.readouterr().out
    assert shown.count("Interrupted before the first world: played as without search.") == 2
    assert len(searches) == 4
    assert "return" not in shown
    assert "points:" not in shown


@needs_core
@pytest.mark.parametrize("table", [[], ["--against", "greedy"]])
def test_watch_shows_what_a_bot_has_found(table, capsys):
    env = "DrMarioVersus-v0" if table else PILLS
    words = ["lookahead3", *table, "--env", env, "--max-steps", "2", "--think", "--delay", "0"]
    assert watch.main(words) == 0
    shown = capsys.readouterr().out
    assert shown.count("thought for") == (1 if table else 2)  # greedy has the other seat
    for line in shown.splitlines():
        if line.startswith("▶"):
            assert line.split()[-1] == "9"  # third pills
            assert line.split()[1] == "row"


@walk(
    ("words", "refused"),
    [
        ([PRETRAINED, "--think"], "--think must be left out: none of them searches"),
        (["heuristic", "--env", FLAT, "--think"], "left out: none of them searches"),
        (["greedy", "--env", PILLS, "--think"], "or is one of lookahead2, lookahead3, rollouts"),
        ([SEARCH, "--think", "--out", "x.gif"], "--think must be left out with --out"),
        (["heuristic", "--env", FLAT, "--sample"], "--sample must be left out with --env"),
        (["search:heuristic"], "must be search:RUN, or with --env search:BOT"),
        (["search:nobody", "--env", FLAT], "bot 'nobody'"),
    ],
)
def test_watch_refuses(words, refused, capsys):
    assert watch.main(words) == 2
    assert refused in capsys.readouterr().err


# -- play ------------------------------------------------------------------------------------------


@pytest.fixture
def person(monkeypatch):
    """Type words in turn, then leave."""

    def types(*words):
        given = iter([*words, "q"])
        monkeypatch.setattr("rich.console.Console.input", lambda self, prompt="": next(given))

    return types


@pytest.mark.parametrize("who", [[], ["search:heuristic,worlds=3"], ["heuristic"]])
def test_a_person_is_advised_on_own_decisions_alone(who, person, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    person("0", "0", "0", "0")
    words = ["--against", SEARCH, "rule_hard", "--seed", "3", "--think", *who]
    assert play.main(words) == 0
    shown = capsys.readouterr().out
    asked = shown.count("advice: ")
    assert asked == 5  # one for each question, the last of which was left
    assert 0 < shown.count("thought for") < asked  # of a single card nothing is searched
    for block in shown.split("thought for")[1:]:
        hand = shown[: shown.index(block)].rpartition("Your hand")[2]
        for line in block.partition("advice")[0].splitlines()[2:]:
            name = re.match(r"▶?\s+(.*?)\s{2,}", line)
            assert name is None or name[1].startswith("bid ") or name[1] in hand


@pytest.mark.parametrize(
    ("who", "bid"),
    [
        (
            "pretrained/skullking",
            r"bid [01]: .* points ahead of the others, the mean of \d+ worlds.",
        ),
        ("search:pretrained/skullking,worlds=2", "The network plays bid [01] with "),
    ],
)
def test_a_person_is_told_why_a_bid_is_advised(who, bid, person, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    person()
    assert play.main(["--against", "heuristic", "--seed", "3", "--think", who]) == 0
    assert re.search(f"^{bid}.*\n  advice: bid [01]$", capsys.readouterr().out, re.MULTILINE)


def test_nobody_is_told_what_others_think(person, capsys):
    person("0", "0", "0")
    assert play.main(["--against", SEARCH, "--seed", "3"]) == 0
    shown = capsys.readouterr().out
    assert "thought for" not in shown
    assert "advice" not in shown


def test_a_game_for_one_is_advised_too(person, capsys):
    person("0")
    who = "search:greedy_miner,worlds=1,limit=2"
    assert play.main(["--env", "Prospector-v0", "--seed", "1", "--think", who]) == 0
    assert capsys.readouterr().out.count("advice: ") == 2


def test_play_refuses_advice_by_nobody(capsys):
    assert play.main(["--against", "heuristic", "--seed", "1", "--think", "nobody"]) == 2
    assert "bot 'nobody'" in capsys.readouterr().err
