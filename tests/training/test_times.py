"""Budgets of a curriculum: when a stage gets them, how they are tightened, when they are lost."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest

from fastenv.drmario.tables import Reason
from tests.training.left import events
from training.apps.drmario.best_times import BestTimes
from training.callbacks import times
from training.callbacks.gate import Gate
from training.callbacks.times import (
    HARDEST,
    RECENT,
    STREAK,
    Budget,
    TimeGoal,
    TimeGoals,
    list_targets,
)
from training.games.drmario import goals
from training.run.loop import TrainingLoop

SEED = 77
FRAMES, PILLS = Budget("task_max_frames"), Budget("task_max_spawns", "spawns", step=1)
NONE = [None, None]
STAGES = [{"name": "a", "knobs": {"level": -15}}, {"name": "b", "knobs": {"level": -14}}]
GATE = {
    "stages": STAGES,
    "success": {"info": "success", "at_least": 1},
    "target": 0.5,
    "n_max": 4000,
    "tests": 20,
    "gate_every": 1,
    "lanes": 8,
    "times": ["frames", "spawns"],
}
TINY = {
    "env": "DrMarioPlacement-v0",
    "env_options": {"speed": "high", "terminal_clear_bonus": 1.0},
    "num_envs": 16,
    "total_steps": 4096,
    "torch_threads": 1,
    "deterministic": True,
    "ppo": {"n_steps": 16, "batch_size": 128, "n_epochs": 1, "net_arch": [16], "gamma": 0.999},
    "native": {"trunk": "shared", "heads": "placements"},
    "checkpoints": {"every": 256},
    "evaluation": {"during": "off", "episodes": 4},
    "gate": GATE,
}


def drawn(rng, number):
    """Times of episodes in frames and pills."""
    frames = rng.integers(500, 900, number)
    return np.stack([frames, frames // 40], axis=1)


def mastered(rng, floors=NONE):
    """A goal that has just got its budgets, and the times it has seen."""
    goal, seen = TimeGoal([FRAMES, PILLS]), drawn(rng, STREAK)
    goal.add(np.ones(STREAK, bool), seen)
    goal.settle(floors)
    return goal, seen


def test_a_streak_is_the_shortest_whose_bound_is_above_the_rate():
    def lower(n, z=2.0):  # Wilson (1927), all of n succeeded
        return n / (n + z * z)

    assert STREAK == 397
    assert lower(STREAK) > 0.99 >= lower(STREAK - 1)
    assert list_targets() == pytest.approx([1 - math.exp(-0.6 * k) for k in (1, 2, 3)])


def test_budgets_come_with_a_full_streak_and_go_with_a_failure():
    rng = np.random.default_rng(SEED)
    goal, kept = TimeGoal([FRAMES, PILLS]), []
    for number in range(3 * STREAK):
        met = number not in (5, STREAK + 300)  # the second streak is longer than one needs
        took = drawn(rng, 1)
        goal.add(np.array([met]), took)
        kept += took.tolist() if met else []
        goal.settle(NONE)
        since = number - 5 if number < STREAK + 300 else number - STREAK - 300
        assert goal.streak == (number + 1 if number < 5 else since)
        if since == STREAK and number > 5:
            recent = np.array(kept[-RECENT:])
            expected = tuple(np.floor(recent.mean(axis=0)).astype(int).tolist())
            assert goal.values == expected, f"seed {SEED}"
        assert (goal.values is None) == (number < 5 or since < STREAK)
    assert goal.values == expected  # later times do not move it


def test_a_certificate_tightens_by_a_tenth_of_the_deviation_and_a_pill():
    goal, seen = mastered(np.random.default_rng(SEED))
    frames = seen[-RECENT:, 0]
    deviation = np.median(np.abs(frames - np.median(frames)))
    first = goal.values
    wanted = [1 - math.exp(-0.6 * k) for k in (1, 2, 3, 3, 3)]
    for number, target in enumerate(wanted):
        assert goal.target == pytest.approx(target)
        goal.tighten(NONE)
        step = (number + 1) * math.floor(0.1 * deviation)
        assert goal.values == (first[0] - step, first[1] - number - 1)
    same = TimeGoal([FRAMES])  # episodes that all take as long: one frame at least
    same.add(np.ones(STREAK, bool), np.full((STREAK, 1), 700))
    same.settle([None])
    same.tighten([None])
    assert same.values == (699,)
    assert HARDEST == 3


def test_no_budget_falls_below_its_floor():
    rng = np.random.default_rng(SEED)
    goal, seen = mastered(rng, [750.5, None])
    assert goal.values[0] == 751 > seen[-RECENT:, 0].mean()
    goal.tighten([750.5, 1e9])  # a floor that has come to lie above leaves the budget as it is
    assert goal.values[0] == 751
    before = goal.values[1]
    assert before < 30
    for _ in range(60):
        goal.tighten([None, 3.2])
    assert goal.values[1] == 4
    for _ in range(2000):
        goal.tighten(NONE)
    assert goal.values == (1, 1)


def test_mastery_that_is_lost_begins_anew():
    rng = np.random.default_rng(SEED)
    goal, _ = mastered(rng)
    goal.tighten(NONE)
    goal.add(np.array([True, False, True]), drawn(rng, 3))
    goal.settle(NONE)
    assert (goal.values, goal.streak) == (None, 1)
    assert goal.target == list_targets()[0]
    again = TimeGoal([FRAMES, PILLS])
    again.restore(json.loads(json.dumps(goal.state())))
    for each in (goal, again):
        each.add(np.ones(STREAK, bool), drawn(np.random.default_rng(3), STREAK))
        each.settle(NONE)
        each.tighten(NONE)
    assert again.values == goal.values
    assert again.state() == goal.state()


# -- in runs ---------------------------------------------------------------------------------------


@pytest.fixture
def timed_run(train, tmp_path, monkeypatch):
    """Train with streaks that tiny runs can reach."""
    monkeypatch.setattr(times, "STREAK", 24)
    monkeypatch.setattr("training.callbacks.stage_schedules.FEWEST_EPISODES", 10)
    monkeypatch.setattr("training.callbacks.stage_schedules.FEWEST_DECISIONS", 10)
    monkeypatch.setattr("training.callbacks.stage_schedules.FEWEST_EFFECTIVE", 8.0)

    def call(name, *flags, **changed):
        return train(tmp_path / "runs", name, *flags, config=TINY | changed)

    return call


def gates(run):
    return [json.loads(x)["gate"] for x in (run / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_a_run_tightens_its_budgets(timed_run, tmp_path, monkeypatch):
    played = []

    def certify(self, update, engine, *args, **kwargs):
        played.append((kwargs["target"], engine.get_knob("task_max_frames")[0]))
        return real(self, update, engine, *args, **kwargs)

    real = Gate.certify
    monkeypatch.setattr(Gate, "certify", certify)
    over = {"info": "reason", "at_least": 1}  # every episode is a success
    monkeypatch.setattr(goals, "MET", over)
    assert timed_run("straight", gate=GATE | {"success": over}) == 0
    run = tmp_path / "runs/straight"
    found = [e["frames"] for e in events(run, "budgets")]
    assert sum(lower < higher for higher, lower in pairwise(found) if higher and lower) >= 2
    tested = [(target, budget) for target, budget in played if target in list_targets()]
    assert len(tested) >= 2
    assert all(budget is not None for _, budget in tested)
    assert all(budget is None for target, budget in played if target not in list_targets())
    told = gates(run)
    assert told[0] == {**told[0], "budgets": {"frames": None, "spawns": None}}
    assert any(g["budgets"]["frames"] for g in told)


def test_a_training_keeps_the_games_it_clears_and_they_replay(timed_run, tmp_path):
    path = tmp_path / "times.sqlite"
    gate = GATE | {"times": ["frames"]}
    assert timed_run("run", gate=gate, best_times=str(path), episode_events=True) == 0
    ended = events(tmp_path / "runs/run", "episode_end")
    cleared = {(e["level"], e["game_seed"]) for e in ended if e["reason"] == Reason.CLEAR}
    with BestTimes(path) as store:
        kept = [clear for level in (-15, -14) for clear in store.top(level, "high", 10**6)]
        again = [BestTimes(tmp_path / "again.sqlite").add(kept)]
        floor = store.quantiles(-15, "high", (0.1,))
        pills = store.quantiles(-15, "high", (0.0, 1.0), of="spawns")
    assert {(clear.level, clear.seed) for clear in kept} == cleared
    assert {clear.run_id for clear in kept} == {"run"}
    assert again == [len(kept)]
    assert floor
    assert 1 <= pills[0] <= pills[1]
    lines = (tmp_path / "runs/run/metrics.jsonl").read_text().splitlines()
    assert json.loads(lines[-1])["best_times"] == {"new": len(kept)}
    for event in events(tmp_path / "runs/run", "budgets"):
        assert event["frames"] is None or event["frames"] >= 1


def test_what_a_checkpoint_has_of_episodes_does_not_change_while_it_is_written(
    timed_run, tmp_path, monkeypatch
):
    """A disk may be so slow that the training has gone on for an iteration by then."""

    def snapshot(self, *args):
        write = take(self, *args)
        copies.append((json.dumps(write.args[1].values), write))
        return write

    take, copies = TrainingLoop._take_snapshot, []
    monkeypatch.setattr(TrainingLoop, "_take_snapshot", snapshot)
    level = {"env_options": {"level": -13, "speed": "high"}, "gate": {}}
    path = str(tmp_path / "times.sqlite")
    assert timed_run("run", "--total-steps", 1024, best_times=path, **level) == 0
    assert len(copies) == 4
    for then, write in copies:
        assert json.dumps(write.args[1].values) == then


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"gate": GATE | {"times": ["hours"]}}, "gate.times=['hours'] is not possible"),
        ({"gate": GATE | {"times": ["frames", "frames"]}}, "gate.times=['frames', 'frames']"),
        ({"env_options": {"task_max_frames": 600}}, "without task_max_frames elsewhere"),
        ({"gate": GATE | {"n_max": 3}}, "gate.n_max=3"),
        ({"best_times": "t.db", "gate": {}, "env_options": {"extended_inputs": True}}, "extended"),
        ({"best_times": "timed.json", "gate": {}}, "timed.json cannot be used as a store of times"),
        ({"best_times": ".", "gate": {}}, "best_times .: cannot be written: it is a folder"),
        (
            {"best_times": "t.db", "gate": {}, "trackers": {"archive": {"cell": "viruses"}}},
            "best_times='t.db' is not possible: best_times must be null with an archive",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(
    timed_run, tmp_path, capsys, monkeypatch, changed, says
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "timed.json").write_text("{}")
    assert timed_run("bad", **changed) == 2
    *_, error = capsys.readouterr().err.splitlines()
    assert error.startswith("error: ")
    assert says in error
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("passed", [True, False])
def test_budgets_are_tightened_by_a_certificate_alone(passed):
    goals_of = TimeGoals({"frames": FRAMES, "spawns": PILLS}, 2, None)
    goals_of._goals[1] = mastered(np.random.default_rng(SEED))[0]
    before = goals_of._goals[1].values
    assert goals_of.record_verdict(1, passed, None) == passed
    after = goals_of._goals[1].values
    assert all(now < then for now, then in zip(after, before, strict=True)) == passed
    assert (after == before) == (not passed)
