"""Best responses: what is gained against an agent by who knows it."""

import json

import numpy as np
import pytest

from tests.needs import needs_core
from tests.tables import walk
from training import exploit
from training.evaluation import best_response
from training.evaluation.best_response import ORIGIN, Measured
from training.evaluation.contest import load_players
from training.players.contest_table import find_table
from training.run.config import RunConfig

pytestmark = needs_core
ENV = "SkullKingFlat-v0"
TINY = ("num_envs=16", "ppo.n_steps=16", "ppo.batch_size=64", "ppo.n_epochs=1", "torch_threads=1")


def run(runs, *words, agent="random", ways="scratch,agent,search", seeds="1,2", steps=512):
    tiny = [word for each in (*TINY, "ppo.net_arch=[16]") for word in ("--set", each)]
    flags = ["--env", ENV, "--runs", runs, "--ways", ways, "--seeds", seeds, "--games", 8]
    flags += ["--search", "worlds=1"] if "search" in ways else []
    length = [] if steps is None else ["--total-steps", steps]
    return exploit.main([str(word) for word in (agent, *flags, *length, *tiny, *words)])


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    runs = tmp_path_factory.mktemp("exploit")
    assert run(runs) == 0
    return runs, json.loads((runs / "exploit-random.json").read_text())


def test_who_plays_like_the_agent_gains_nothing():
    measured = Measured(find_table([], ENV), "heuristic", 40, 3)
    found, _ = measured.measure(load_players(["heuristic"])[0])
    assert found.gain.to_list() == [0.0, 0.0, 0.0]
    assert found.wins.low <= 0.25 <= found.wins.high


def test_who_plays_better_gains_what_it_has_more():
    measured = Measured(find_table([], ENV), "random", 40, 3)
    (player,) = load_players(["heuristic"])
    found, cost = measured.measure(player)
    assert cost is None
    assert found.wins.low > 0.25
    assert found.gain.low > 0
    (own, _), (played, _) = measured.play(None), measured.play(player)
    assert len(own) == len(played) == 10 * 4
    gained = played["points"].mean() - own["points"].mean()
    assert found.gain.value == pytest.approx(gained)


@pytest.mark.slow
def test_the_record_has_all_ways_and_seeds(done):
    runs, record = done
    assert record["agent"] == "random"
    assert (record["games"], record["seats"], record["even_share"]) == (8, 4, 0.25)
    assert record["total_steps"] == 512
    assert list(record["ways"]) == ["scratch", "agent", "search"]
    for way in ("scratch", "agent"):
        found = record["ways"][way]
        assert [one["seed"] for one in found["runs"]] == [1, 2]
        assert found["wins"][0] == pytest.approx(np.mean([one["wins"][0] for one in found["runs"]]))
        for one in found["runs"]:
            config = json.loads((runs / one["run"] / "config.json").read_text())["config"]
            assert config["env_options"]["opponents"] == ["random"] * 3
            assert config["trainer"] == {"scratch": "native", "agent": "expert"}[way]
            assert one["steps"] == 512
            assert one["core_s"] > 0
    assert config["expert"]["teacher"] == "random"
    assert record["strongest"] in ("scratch", "agent")
    assert record["ways"]["search"]["name"] == "search:random,worlds=1"
    assert {"git_rev", "host", "created", "command"} <= record.keys()


def test_the_same_command_goes_on(tmp_path, capsys):
    assert run(tmp_path, ways="scratch", steps=256) == 0
    record, before = read(tmp_path), {p: p.stat().st_mtime_ns for p in tmp_path.rglob("model.pt")}
    assert len(before) >= 2
    assert run(tmp_path, ways="scratch", steps=256) == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("model.pt")} == before
    again = read(tmp_path)
    wins = [[one["wins"] for one in each["ways"]["scratch"]["runs"]] for each in (record, again)]
    assert wins[0] == wins[1]
    assert "an even share is 25 % of wins" in capsys.readouterr().out


@pytest.mark.slow
def test_an_agent_of_a_run_is_met_and_imitated(done, tmp_path):
    runs, _ = done
    agent = str(runs / "exploit-random-scratch-1")
    assert run(tmp_path, agent=agent, ways="agent", seeds="3") == 0
    found = json.loads((tmp_path / "exploit-exploit-random-scratch-1.json").read_text())
    assert list(found["ways"]) == ["agent"]
    assert found["ways"]["agent"]["wins"][1:] == [None, None]  # one seed has no spread


def test_core_minutes_say_how_long(tmp_path):
    assert run(tmp_path, "--core-minutes", "0.001", steps=None, ways="scratch", seeds="1") == 0
    record = json.loads((tmp_path / "exploit-random.json").read_text())
    assert record["core_minutes"] == 0.001
    assert record["ways"]["scratch"]["runs"][0]["steps"] % 256 == 0


def test_what_is_changed_of_the_options_is_said(tmp_path, capsys):
    shortened = "total_steps=128 is less than a rollout, which is shortened: ppo.n_steps 8 "
    assert run(tmp_path, ways="search", seeds="1", steps=128) == 0
    assert "less than a rollout" not in capsys.readouterr().out  # nothing is trained
    assert run(tmp_path, ways="scratch", seeds="1", steps=128) == 0
    assert capsys.readouterr().out.count(shortened) == 1


def test_a_plan_says_once_that_it_shortens_the_rollout(tmp_path):
    base = RunConfig.from_mapping({"env": ENV, "trainer": "native"})
    lines = []
    steps = base.rollout // 2
    trainings = best_response.plan(
        *(base, find_table([], ENV), "random", ["scratch", "agent"], [1, 2], "t", tmp_path),
        steps=steps,
        say=lines.append,
    )
    assert [each.config.rollout for each in trainings] == [steps] * 4
    assert len(lines) == 1
    assert lines[0].startswith(f"total_steps={steps:,} is less than a rollout")


@walk(
    ("words", "changed", "says"),
    [
        ((), {"agent": "nobody"}, "opponents='nobody'"),
        ((), {"agent": "runs/none"}, "runs/none"),
        ((), {"agent": "search:random,worlds=4"}, "an agent that does not search"),
        ((), {"ways": "scratch,magic"}, "--ways='scratch,magic'"),
        ((), {"ways": ""}, "--ways=''"),
        ((), {"seeds": "1,1"}, "--seeds='1,1'"),
        (("--games", "0"), {}, "--games=0"),
        (("--seed", "-1"), {}, "--seed=-1"),
        (("--core-minutes", "3"), {}, "left out with --core-minutes"),
        (("--core-minutes", "nan"), {"steps": None}, "--core-minutes=nan"),
        (("--core-minutes", "-1"), {"steps": None}, "--core-minutes=-1"),
        (("--env", "Prospector-v0"), {"agent": "greedy_miner"}, "players do not meet"),
        (("--set", "trainer=sb3"), {}, "it trains against one agent"),
        (("--core-minutes", "1e300"), {"steps": None}, "more than 0 and at most 1,000,000"),
        (("--search", "worlds=0"), {}, "search.worlds=0"),
        (("--set", "env=Prospector-v0"), {}, "env must be left to --env."),
        (("--set", "seed=3"), {}, "seed must be left to --seeds."),
        (("--set", "name=x"), {}, "name must be left to --name."),
        (("--set", "total_steps=9"), {}, "must be left to --total-steps or --core-minutes."),
        (("--set", "env_options.opponents=rule_easy"), {}, "opponents must be left to AGENT."),
        (("--set", "env_options.deals=random"), {}, "must be left to the table of AGENT."),
        (("--set", "expert.share=0.5", "--set", "trainer=expert"), {}, "left to --ways agent."),
        (("--name", "../x"), {"ways": "search"}, "--name='../x' is not possible"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(tmp_path, capsys, words, changed, says):
    assert run(tmp_path, *words, **changed) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


# -- the record that is there ----------------------------------------------------------------------


def read(runs, name="exploit-random"):
    return json.loads((runs / f"{name}.json").read_text())


def test_other_ways_join_the_record(tmp_path, capsys):
    assert run(tmp_path, ways="scratch", seeds="1") == 0
    first = read(tmp_path)
    assert run(tmp_path, ways="search", seeds="1", steps=256) == 0
    both = read(tmp_path)
    origin = {name: first[name] for name in ORIGIN}
    assert both["ways"]["scratch"] == {**first["ways"]["scratch"], "from": origin}
    assert list(both["ways"]) == ["scratch", "search"]
    assert both["strongest"] == "scratch"
    assert both["total_steps"] == 512  # of what was trained
    capsys.readouterr()
    assert run(tmp_path, ways="search", seeds="1") == 0
    assert read(tmp_path)["ways"]["scratch"] == both["ways"]["scratch"]
    assert "scratch" in capsys.readouterr().out
    for words, changed, says in (
        (("--games", "16"), {"ways": "search"}, "--games=16 is not possible"),
        (("--seed", "5"), {"ways": "search"}, "--seed=5 is not possible"),
        ((), {"ways": "agent", "steps": 256}, "--total-steps=256 is not possible"),
        ((), {"ways": "search", "agent": "heuristic"}, "no record of responses to heuristic"),
    ):
        before = read(tmp_path)
        named = ("--name", "exploit-random") if "agent" in changed else ()
        assert run(tmp_path, *words, *named, **changed) == 2
        error = capsys.readouterr().err
        assert says in error
        assert error.count("\n") == 1
        assert read(tmp_path) == before
    # All anew: nothing is kept that other games would not go together with.
    assert run(tmp_path, "--games", "16", ways="scratch,search", seeds="1") == 0
    assert read(tmp_path)["games"] == 16


def test_two_at_once_lose_no_rows(tmp_path, monkeypatch):
    respond = best_response.respond

    def slower(*args):
        made = respond(*args)
        monkeypatch.setattr(best_response, "respond", respond)
        assert run(tmp_path, ways="search", seeds="1", steps=256) == 0  # begins later, ends first
        return made

    monkeypatch.setattr(best_response, "respond", slower)
    assert run(tmp_path, ways="scratch", seeds="1", steps=256) == 0
    record = read(tmp_path)
    assert record["ways"].keys() == {"scratch", "search"}
    assert record["strongest"] == "scratch"


@pytest.mark.parametrize(
    "content", ["", "garbage", "[]", '{"ways": {}}', '{"ways": {"search": 3}}', '{"runs": []}']
)
def test_another_file_is_not_written_over(tmp_path, capsys, content):
    path = tmp_path / "t.json"
    path.write_text(content)
    assert run(tmp_path, "--name", "t", ways="search") == 2
    error = capsys.readouterr().err
    assert "--name='t' is not possible" in error
    assert error.count("\n") == 1
    assert [each.name for each in tmp_path.iterdir()] == ["t.json"]
    assert path.read_text() == content


def test_a_record_that_cannot_be_written_is_refused_before_the_work(tmp_path, capsys):
    (tmp_path / "exploit-random.json").mkdir()
    assert run(tmp_path) == 2
    assert "cannot be written: it is a folder, must be a file." in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert run(tmp_path / "file") == 2
    assert "file is no folder" in capsys.readouterr().err
    assert {each.name for each in tmp_path.iterdir()} == {"exploit-random.json", "file"}
