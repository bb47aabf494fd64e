"""Hierarchical runs: resume, gate, evaluation, and what is refused."""

import json
from pathlib import Path

import pytest
import torch

from fastenv.errors import ConfigError
from tests.bits import equal
from tests.tables import walk
from training.apps.skullking.hier.options import check, policy_run
from training.apps.skullking.whole_games import BIDS, CARDS, tier_of
from training.callbacks.start import check_config
from training.players.trained import load
from training.run.config import RunConfig
from training.run.config_files import load_file
from training.run.folder import RunFolder
from training.run.jsonl import read_lines


def settings(*assignments):
    return [word for text in assignments for word in ("--set", text)]


def model_of(run):
    newest = (run / "checkpoints/latest").read_text().strip()
    return newest, torch.load(run / "checkpoints" / newest / "model.pt", weights_only=True)


def test_when_checkpoints_are_taken_changes_nothing(train_hier, tmp_path):
    """Even before the Manager's first iteration, while its rounds are still of the first knobs."""
    phases = 'schedules.allowed_phases=[[0, ["late"]], [400, ["early", "mid", "late"]]]'
    for name, every in (("often", 256), ("seldom", 100_000)):
        assert train_hier(name, *settings(phases, f"checkpoints.every={every}")) == 0
    assert equal(model_of(tmp_path / "often"), model_of(tmp_path / "seldom"))


def test_pair_is_evaluated_beside_its_halves(train_hier, tmp_path):
    assert train_hier("run", evaluation=True) == 0
    record = json.loads((tmp_path / "run/evaluation.json").read_text())
    found = record["matches"]["results"]["random"]
    assert set(found) == {"random", "rule_hard", "heuristic", BIDS, CARDS, "trained"}
    assert record["matches"]["trained_plays"] == "bids by the Manager, cards by the Worker"
    assert "trained" in record["goals"]["rates"]
    trained = load(RunFolder.open(tmp_path / "run"))
    assert tier_of(trained.config.env) == "worker"
    assert trained.pair is not None


def test_points_of_the_curve_are_games_of_the_pair(train_hier, tmp_path):
    curve = {"during": "inline", "every": 1000, "curve_games": 4, "curve_opponents": "[random]"}
    flags = settings(*(f"evaluation.{name}={value}" for name, value in curve.items()))
    assert train_hier("run", *flags) == 0
    points = read_lines(tmp_path / "run/evaluations.jsonl")
    assert [point["step"] // 1000 for point in points] == [1, 2]
    for point in points:
        value, low, high = point["results"]["points, 3 x random"]
        assert low <= value <= high
    trained = load(RunFolder.open(tmp_path / "run"), "best")
    assert trained.pair is not None


@pytest.mark.parametrize("target", [0.05, 0.9])
def test_gate_lets_only_a_worker_play_that_has_passed(train_hier, tmp_path, target):
    flags = settings(f"hier.gate.target={target}", "hier.gate.tests=3", "hier.gate.every=1")
    assert train_hier("run", *flags) == 0
    tests = [e for e in read_lines(tmp_path / "run/events.jsonl") if e["event"] == "gate"]
    records = read_lines(tmp_path / "run/metrics.jsonl")
    partners = {r["partner"]["name"] for r in records if r["policy"] == "manager"}
    certificate = json.loads((tmp_path / "run/certificates/gate_0001.json").read_text())
    assert certificate["verdict"] == tests[0]["verdict"]
    if target < 0.5:
        assert [test["verdict"] for test in tests] == ["pass"]
        assert partners == {"worker"}
    else:
        assert len(tests) == 3  # as many as were planned
        warnings = [e for e in read_lines(tmp_path / "run/events.jsonl") if e["event"] == "warning"]
        assert "none of its 3 tests" in warnings[0]["text"]
        assert len(warnings) == 1
        assert {test["verdict"] for test in tests} == {"fail"}
        assert partners == {"rule_hard"}
        assert [test["number"] for test in tests] == list(range(1, len(tests) + 1))


def test_a_gate_has_the_options_of_every_gate(hier_config):
    gate = hier_config(hier={"gate": {"target": 0.3, "method": "eprocess"}}).hier.gate
    assert (gate.method, gate.n_max, gate.tests, gate.every) == ("eprocess", 20_000, 10, 10)
    assert hier_config(hier={"gate": {"target": None, "every": 5}}).hier.gate is None  # as stored
    with pytest.raises(ConfigError, match=r"hier\.gate\.n_max=10: test 10 of the run"):
        hier_config(hier={"gate": {"target": 0.3, "n_max": 10}})


@walk(
    ("assignment", "says"),
    [
        ("hier.warm_start=-1", "hier.warm_start=-1"),
        ("hier.ratio=0", "hier.ratio=0"),
        ("hier.mode=match", "hier.mode='match'"),
        ("hier.reward=rank", "hier.reward='rank'"),
        ("hier.worker.n_epoch=3", "'hier.worker.n_epoch' is not an option"),
        ("hier.worker.num_envs=3", "'hier.worker.num_envs' is not an option"),
        ("hier.worker.n_epochs=0", "hier.worker: ppo.n_epochs=0"),
        ("hier.manager.batch_size=48", "hier.manager: ppo.batch_size=48"),
        ("hier.worker.recurrent=gru", "hier.worker: native.recurrent='gru'"),
        ("hier.worker.env_groups=2", "hier.worker: native.env_groups=2"),
        ("hier.manager.heads=phase", "hier.manager: native.heads='phase'"),
        ("hier.gate.target=1.5", "hier.gate.target=1.5"),
        ("gate={target: 0.5}", "gate"),
        ("hier.mode=game", "hier.manager.n_steps=4"),
        ("env=SkullKingFlat-v0", "env='SkullKingFlat-v0'"),
        ("env_options.scoring=rascal_cannon", "env_options.scoring='rascal_cannon'"),
        ("window_ticks=100", "window_ticks=100"),
        ("trainer=native", "it belongs to trainer='hier'"),
        ("trainer=sb3", "it belongs to trainer='hier'"),
    ],
)
def test_what_cannot_be_is_refused_with_nothing_written(
    train_hier, tmp_path, capsys, assignment, says
):
    assert train_hier("bad", *settings(assignment)) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not (tmp_path / "bad").exists()


@walk("section", ["env_options", "schedules"])
@walk(("name", "value"), [("goal_mode", "uniform"), ("mode", "game")])
def test_what_the_section_hier_decides_is_not_decided_twice(hier_config, section, name, value):
    given = value if section == "env_options" else [[0, value]]
    with pytest.raises(ConfigError, match=rf"{section}\.{name}=.* which decides it"):
        check(hier_config(**{section: {name: given}}))


def test_curriculum_of_phases_reaches_both_policies(train_hier, tmp_path):
    phases = "schedules.allowed_phases=[[0, [late]], [1000, [mid, late]], [1600, []]]"
    assert train_hier("run", *settings(phases)) == 0
    seen = {}
    for record in read_lines(tmp_path / "run/metrics.jsonl"):
        ended = sum(record["by_round"]["n"])
        assert ended == record["rounds"]["n"] == record["episode"]["n"]
        began = record["step"] - (256 if record["policy"] == "worker" else 64)
        part = 0 if began < 1000 else 1 if began < 1600 else 2
        found = {phase for phase, figures in record["by_phase"].items() if figures["n"]}
        seen.setdefault((record["policy"], part), []).append(found)
    assert all(found == {"late"} for found in seen["worker", 0])
    # A round that was dealt before a change is still played.
    assert seen["manager", 1][-1] == {"mid", "late"}
    assert seen["worker", 2][-1] == {"early", "mid", "late"}


def test_shipped_config_can_be_trained():
    path = Path(__file__).parents[5] / "training/configs/hierarchical.yaml"
    check_config(RunConfig.from_mapping(load_file(path)))


def test_spec_defaults_of_both_policies(hier_config):
    config = hier_config(ppo={"n_epochs": 9}, hier={"worker": {"n_epochs": 12}})
    worker = policy_run(config, "worker")
    assert (worker.ppo.n_epochs, worker.ppo.ent_coef, worker.ppo.target_kl) == (12, 0.01, 0.02)
    manager = policy_run(config, "manager")
    assert (manager.ppo.n_epochs, manager.ppo.ent_coef, manager.ppo.target_kl) == (1, 0.02, 0.02)
    assert worker.seed != manager.seed
    assert worker.total_steps + manager.total_steps == config.total_steps
    assert manager.total_steps == round((2000 - 512) / 6)
    with pytest.raises(ConfigError, match=r"hier\.worker: ppo\.gamma=2"):
        check(hier_config(hier={"worker": {"gamma": 2.0}}))
