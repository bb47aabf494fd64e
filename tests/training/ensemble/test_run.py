import json

import pytest
import torch

from tests.tables import walk
from training.evaluate import main
from training.players.trained import load
from training.run.folder import RunFolder

# Two members with the lanes of a tiny run each.
GATE = json.dumps(
    {
        "stages": [{"name": "a", "knobs": {}}, {"name": "b", "knobs": {}}],
        "success": {"info": "ended_won", "equals": "ended_bid"},
        "target": 0.5,
    }
)
MEMBERS = ["--trainer", "ensemble", "--num-envs", "16", "--set", "ensemble.seeds=[1,7]"]


def parameters(run, checkpoint="latest"):
    folder = run / "checkpoints"
    name = (folder / "latest").read_text().strip() if checkpoint == "latest" else checkpoint
    return torch.load(folder / name / "model.pt", weights_only=True)["policy"]


@pytest.fixture(scope="module")
def pair(train, tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    assert train(runs, "pair", *MEMBERS, "--total-steps", 1024) == 0
    return runs / "pair"


def test_a_member_is_the_run_with_its_seed(pair, train, tmp_path):
    found = parameters(pair)
    assert list(found) == ["1", "2"]
    assert train(tmp_path, "alone", "--seed", 7, "--total-steps", 512) == 0
    alone = parameters(tmp_path / "alone")
    gap = max(float((alone[name] - found["2"][name]).abs().max()) for name in alone)
    assert gap < 1e-5


def test_metrics_have_every_member(pair):
    records = [json.loads(line) for line in (pair / "metrics.jsonl").read_text().splitlines()]
    assert [r["step"] for r in records] == [256, 512, 768, 1024]
    for record in records:
        members = record["train"]["members"]
        assert {number: m["seed"] for number, m in members.items()} == {"1": 1, "2": 7}
        assert sum(m["episode"]["n"] for m in members.values()) == record["episode"]["n"]
        assert sum(m["rounds"]["hits"] for m in members.values()) == record["rounds"]["hits"]


def test_each_member_is_evaluated(pair, capsys):
    run = RunFolder.open(pair)
    obs = load(run).engine().obs + 0.5
    first, second = (load(run, member=k).logits(obs) for k in (1, 2))
    assert (first != second).any()
    assert (load(run).logits(obs) == first).all()
    flags = ["--only", "matches", "--games", "4", "--opponents", "random"]
    assert main([str(pair), "--member", "2", *flags]) == 0
    assert "member 2 of 2, seed 7" in capsys.readouterr().out
    assert json.loads((pair / "evaluation.json").read_text())["member"] == 2


@walk("member", ["0", "3"])
def test_a_member_that_is_not_there_is_refused(pair, capsys, member):
    assert main([str(pair), "--member", member]) == 2
    assert "--member must be from 1 to 2" in capsys.readouterr().err


def test_a_run_with_one_network_has_no_members(finished, capsys):
    assert main([str(finished), "--member", "1"]) == 2
    assert "this run has one network" in capsys.readouterr().err


@walk(
    ("flags", "says"),
    [
        (["--trainer", "ensemble"], "ensemble.seeds=()"),
        (["--set", "ensemble.seeds=[1,2]"], "empty with trainer='native'"),
        ([*MEMBERS, "--set", "ensemble.learning_rates=[0.1]"], "ensemble.learning_rates=(0.1,)"),
        ([*MEMBERS, "--set", "ensemble.clip_ranges=[0.1,0]"], "ensemble.clip_ranges=0.0"),
        ([*MEMBERS, "--set", "native.recurrent=gru"], "native.recurrent='gru'"),
        ([*MEMBERS, "--set", "native.attention=8"], "native.attention=8"),
        ([*MEMBERS, "--set", "native.env_groups=2"], "native.env_groups=2"),
        ([*MEMBERS, "--set", f"gate={GATE}"], "gate={"),
        ([*MEMBERS, "--set", "trackers={growth: {source: won}}"], "trackers={"),
        ([*MEMBERS, "--set", "native.compile=default"], "native.compile='default'"),
        ([*MEMBERS, "--set", "ppo.precision=auto"], "ppo.precision='auto'"),
        ([*MEMBERS, "--num-envs", "24", "--set", "ppo.batch_size=128"], "ppo.batch_size=128"),
        ([*MEMBERS, "--num-envs", "12", "--set", "ensemble.seeds=[1,2,3,4,5]"], "num_envs=12"),
    ],
)
def test_what_is_not_possible_is_refused_with_nothing_written(train, tmp_path, capsys, flags, says):
    assert train(tmp_path / "runs", "bad", *flags) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not (tmp_path / "runs").exists()
