"""A curriculum whose stages follow one another by certificate, in runs of both trainers."""

import json

import pytest
import torch

from fastenv.skullking.tables import Bot
from tests.tables import walk
from tests.training.left import events, lines
from training.callbacks.curriculum import CurriculumConfig, get_options
from training.callbacks.gate import Gate
from training.callbacks.sequential import EProcess
from training.run.seeds import GATE_SEEDS, training_seed

HIT = {"info": "ended_won", "equals": "ended_bid"}
OVER = {"info": "ended_round", "at_least": 1}  # every episode is a success
GATE = {
    "stages": [
        {"name": "early", "knobs": {"allowed_phases": ["early"]}},
        {"name": "late", "knobs": {"allowed_phases": ["late"]}},
    ],
    "success": OVER,
    "target": 0.6,
    "n_max": 200,
    "tests": 3,
    "gate_every": 2,
    "lanes": 8,
}

OTHER = {"name": "late", "knobs": {"opponents": "rule_hard"}}
OUTSIDE = [GATE["stages"][0], {"name": "late", "knobs": {"opponents": "external"}}]


def flags(**changed):
    return "--set", "gate=" + json.dumps(GATE | changed)


def model(run, steps=512):
    path = run / f"checkpoints/ckpt_{steps:012d}/model.pt"
    return torch.load(path, weights_only=True)["policy"]


@pytest.mark.parametrize("who", ["native", "sb3"])
def test_stage_follows_once_its_gate_is_passed_and_no_rollout_has_two(train, tmp_path, who):
    assert train(tmp_path, "run", "--trainer", who, *flags()) == 0
    run = tmp_path / "run"
    (found,) = events(run, "gate")
    (stage,) = events(run, "stage")
    assert found["failures"] == 0
    assert (found["verdict"], found["step"], found["stage"]) == ("pass", 256, "early")
    assert (stage["name"], stage["step"]) == ("late", 256)
    certificate = json.loads((run / "certificates" / found["certificate"]).read_text())
    assert certificate["verdict"] == "pass"
    assert certificate["first_seed"] == GATE_SEEDS
    assert GATE_SEEDS < certificate["last_seed"] < training_seed(1)
    records = lines(run, "metrics")
    assert [r["gate"] for r in records] == [
        *[{"stage": 0, "tests": 0}] * 2,
        *[{"stage": 1, "tests": 1}] * 2,
    ]
    # Rounds of the first stage are of 3 cards at most, those of the second of 8 at least.
    lengths = [r["episode"]["length_mean"] for r in records]
    assert max(lengths[:2]) <= 3
    assert min(lengths[2:]) >= 8


def test_mode_adaptive_trains_on_what_it_draws(train, tmp_path):
    how = flags(gate_every=1, tests=5, mode="adaptive")
    assert train(tmp_path, "run", "--total-steps", 2048, *how) == 0
    run = tmp_path / "run"
    assert [e["stage"] for e in events(run, "gate")] == ["early"]
    assert {e["verdict"] for e in events(run, "gate")} == {"pass"}
    assert {e["name"] for e in events(run, "stage")} == {"early", "late"}
    for record in lines(run, "metrics"):
        lengths = record["episode"]["length_mean"]
        assert lengths <= 3 if record["gate"]["stage"] == 0 else lengths >= 8
    assert train(tmp_path, "halves", "--total-steps", 1024, *how) == 0
    again = ("--resume", "--total-steps", 2048)
    assert train(tmp_path, "halves", *again, config=None) == 0
    ours, theirs = (
        [r["gate"] for r in lines(tmp_path / name, "metrics")] for name in ("run", "halves")
    )
    assert ours == theirs


def test_a_rate_seen_in_training_decides_when_to_test(train, tmp_path):
    how = flags(watch=True, gate_every=1)
    assert train(tmp_path, "run", *how) == 0
    records = lines(tmp_path / "run", "metrics")
    ended = 0
    for record in records:
        if record["gate"]["tests"]:
            break
        ended += record["episode"]["n"]
    assert ended > 128  # so many are needed, although all are successes
    never = flags(watch=True, gate_every=1, success={"info": "ended_round", "at_least": 99})
    assert train(tmp_path, "never", *never) == 0
    assert not events(tmp_path / "never", "gate")


def test_policy_that_is_not_good_enough_stays_and_its_tests_are_counted(train, tmp_path):
    hard = flags(success=HIT, target=0.9, margin=0.09, gate_every=1, tests=2, n_max=1000)
    assert train(tmp_path, "run", *hard) == 0
    run = tmp_path / "run"
    found = events(run, "gate")
    assert [(e["number"], e["verdict"]) for e in found] == [(1, "fail"), (2, "fail")]
    assert len(list((run / "certificates").iterdir())) == 2
    (warning,) = events(run, "warning")
    assert "gate.tests=2" in warning["text"]
    assert lines(run, "metrics")[-1]["gate"] == {"stage": 0, "tests": 2}


def test_test_costs_the_training_nothing_but_time(train, tmp_path):
    hard = flags(success=HIT, target=0.9, margin=0.09, gate_every=1, tests=2, n_max=1000)
    never = flags(success=HIT, target=0.9, margin=0.09, gate_every=100, tests=2, n_max=1000)
    for who in ("native", "sb3"):
        for name, how in (("tested", hard), ("untested", never)):
            assert train(tmp_path, f"{who}-{name}", "--trainer", who, *how) == 0
        ours, theirs = (model(tmp_path / f"{who}-{name}") for name in ("tested", "untested"))
        assert all(torch.equal(theirs[name], x) for name, x in ours.items())
        assert not events(tmp_path / f"{who}-untested", "gate")


@walk(
    ("changed", "says"),
    [
        ({"stages": GATE["stages"][:1]}, "gate.stages=['early']"),
        ({"stages": [{"name": "a", "knobs": {"moon": 1}}, GATE["stages"][1]]}, "moon"),
        ({"success": {"info": "moon", "equals": 1}}, "gate.success.info='moon' is no info column"),
        ({"success": {}}, "gate.success={}"),
        ({"target": 1.0}, "gate.target=1.0"),
        ({"targets": 0.5}, "'gate.targets' is not an option"),
        ({"n_max": 3}, "gate.n_max=3"),
        ({"lanes": 0}, "gate.lanes=0"),
        ({"max_steps": 0}, "gate.max_steps=0"),
        ({"mode": "spiral"}, "gate.mode='spiral'"),
        ({"rehearsal": 0.5}, "gate.rehearsal=0.5"),
        ({"mode": "hop_back"}, "gate.mode='hop_back'"),
        ({"mode": "adaptive", "stages": [GATE["stages"][0], OTHER]}, "gate.stages="),
    ],
)
def test_impossible_gates_are_refused_with_nothing_written(train, tmp_path, capsys, changed, says):
    assert train(tmp_path, "bad", *flags(**changed)) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_scheduled_knobs_hold_in_the_test_too(train, tmp_path, monkeypatch):
    played = []

    def certify(self, update, engine, *args, **kwargs):
        engine.reset_many(seeds=1)
        played.append(set(engine.get_states()["bots"][:, 1:4].ravel().tolist()))
        return real(self, update, engine, *args, **kwargs)

    real = Gate.certify
    monkeypatch.setattr(Gate, "certify", certify)
    schedule = "schedules={opponents: [[0, random], [256, heuristic]]}"
    never = {"info": "ended_round", "at_least": 99}
    assert train(tmp_path, "run", "--set", schedule, *flags(success=never)) == 0
    assert played == [{Bot.HEURISTIC}]


@pytest.mark.parametrize(
    "given",
    [
        "env_options={opponents: [rule_easy, external, rule_easy]}",
        "schedules={opponents: [[0, rule_easy], [9, external]]}",
        "gate=" + json.dumps(GATE | {"stages": OUTSIDE}),
    ],
)
def test_no_seat_is_left_to_be_played_from_outside(train, tmp_path, capsys, given):
    flags = ("--env", "SkullKingFlat-v0", "--set", given)
    assert train(tmp_path, "bad", *flags) == 2
    assert "opponents=" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_network_with_a_memory_is_tested(train, tmp_path):
    assert train(tmp_path, "run", "--set", "native.recurrent=gru", *flags()) == 0
    assert events(tmp_path / "run", "stage")


def test_knob_has_a_schedule_or_a_gate(train, tmp_path, capsys):
    both = "schedules={allowed_phases: [[0, [late]]]}"
    assert train(tmp_path, "bad", *flags(), "--set", both) == 2
    assert "schedules=['allowed_phases']" in capsys.readouterr().err


def test_a_curriculum_has_the_options_of_every_gate(finished):
    from training.run.folder import RunFolder

    config = RunFolder.open(finished).config
    given = type(config).from_mapping(config.to_dict() | {"gate": GATE | {"method": "eprocess"}})
    options = get_options(given)
    assert isinstance(options, CurriculumConfig)
    assert (options.target, options.p1, options.tests) == (0.6, 0.8, 3)
    assert isinstance(options.test(1), EProcess)
