"""Best responses: what is gained against an agent by who knows it."""

import json

import numpy as np
import pytest

from tests.needs import needs_core
from training import exploit
from training.policies.best_response import Measured
from training.policies.contest import load_players
from training.policies.guests import find_table

pytestmark = needs_core
ENV = "SkullKingFlat-v0"
TINY = ("num_envs=16", "ppo.n_steps=16", "ppo.batch_size=64", "ppo.n_epochs=1", "torch_threads=1")


def run(runs, *words, agent="random", ways="scratch,agent,search", seeds="1,2", steps=512):
    tiny = [word for each in (*TINY, "ppo.net_arch=[16]") for word in ("--set", each)]
    flags = ["--env", ENV, "--runs", runs, "--ways", ways, "--seeds", seeds, "--games", 8]
    flags += ["--search", "worlds=4"] if "search" in ways else []
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
    own, (points, _) = measured.play(None)[0], measured.play(player)
    assert points.shape == own.shape == (10, 4, 4)
    assert found.gain.value == pytest.approx(points[:, :, 0].mean() - own[:, :, 0].mean())


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
    assert record["ways"]["search"]["name"] == "search:random,worlds=4"
    assert {"git_rev", "host", "created", "command"} <= record.keys()


def test_the_same_command_goes_on(done, capsys):
    runs, record = done
    before = {path: path.stat().st_mtime_ns for path in runs.rglob("model.pt")}
    assert run(runs) == 0
    assert {path: path.stat().st_mtime_ns for path in runs.rglob("model.pt")} == before
    again = json.loads((runs / "exploit-random.json").read_text())
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


@pytest.mark.parametrize(
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
        (("--search", "worlds=0"), {}, "search.worlds=0"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(tmp_path, capsys, words, changed, says):
    assert run(tmp_path, *words, **changed) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())
