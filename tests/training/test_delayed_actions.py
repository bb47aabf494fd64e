"""Actions held back early in episodes: only the trainer's masks change, and less and less."""

import json
import shutil

import numpy as np
import pytest

import fastenv
from fastenv.adapters.sb3 import BatchVecEnv
from fastenv.errors import ConfigError
from tests.slow import late
from training.commands import replay
from training.evaluate import main
from training.evaluation import replays
from training.ppo.trainer import PPOTrainer
from training.run.config import DelayedAction
from training.run.envs import make_engine
from training.sb3.vec import TrainerVecEnv

HOLD, CASH_OUT = 6, 68


def vec_of(*rules, n=4, masks="rows"):
    engine = make_engine("Prospector-v0", n)
    vec = TrainerVecEnv(BatchVecEnv(engine, masks=masks), rules)
    vec.seed(5)
    vec.reset()
    return engine, vec


def seen(vec, n=4):
    """The masks as sb3-contrib takes them."""
    return np.stack(vec.env_method("action_masks")).reshape(n, -1)


def test_ticks_shrink_linearly_to_nothing():
    rule = DelayedAction(action=CASH_OUT, ticks=100, anneal_steps=1000)
    assert [rule.ticks_at(s) for s in (0, 250, 1000, 5000)] == [100, 75, 0, 0]
    assert DelayedAction(action=CASH_OUT, ticks=100).ticks_at(10**9) == 100


@pytest.mark.parametrize("masks", ["rows", "block"])
def test_action_is_offered_once_the_ticks_are_over(masks):
    _, vec = vec_of(DelayedAction(action=CASH_OUT, ticks=3), masks=masks)
    offered = []
    for _ in range(5):
        offered.append(seen(vec)[:, CASH_OUT].copy())
        vec.step(np.full(4, HOLD))  # a tick each
    assert np.array(offered).all(1).tolist() == [False, False, False, True, True]
    assert not np.array(offered[:3]).any()


def test_next_episode_begins_anew():
    _, vec = vec_of(DelayedAction(action=CASH_OUT, ticks=2))
    for _ in range(2):
        vec.step(np.full(4, HOLD))
    assert seen(vec)[:, CASH_OUT].all()
    vec.step(np.array([CASH_OUT, HOLD, HOLD, HOLD]))
    assert seen(vec)[:, CASH_OUT].tolist() == [False, True, True, True]


def test_environment_and_other_actions_are_left_alone():
    engine, vec = vec_of(DelayedAction(action=CASH_OUT, ticks=50))
    twin = make_engine("Prospector-v0", 4)
    twin.reset_many(seeds=5)
    rng = np.random.default_rng(0)
    for _ in range(60):
        masks = seen(vec)
        expected = engine.mask.copy()
        assert expected[:, CASH_OUT].all()
        expected[20_000 - engine.info["time_remaining"] < 50, CASH_OUT] = 0
        np.testing.assert_array_equal(masks, expected)
        actions = fastenv.sample_legal(masks.astype(np.uint8), rng)
        vec.step(actions)
        twin.step_many(actions)
        assert twin.get_states().tobytes() == engine.get_states().tobytes()
        np.testing.assert_array_equal(twin.mask, engine.mask)


def test_training_steps_anneal():
    _, vec = vec_of(DelayedAction(action=CASH_OUT, ticks=10, anneal_steps=100))
    assert not seen(vec)[:, CASH_OUT].any()
    vec.steps = 100
    assert seen(vec)[:, CASH_OUT].all()


def test_no_lane_is_left_without_an_action():
    """Every action is held back, one after the other: the last legal one stays."""
    rules = [DelayedAction(action=action, ticks=10) for action in range(69)]
    engine, vec = vec_of(*rules)
    masks = seen(vec)
    assert (masks.sum(1) == 1).all()
    assert engine.mask[masks].all()


def test_masks_of_some_lanes_are_not_offered():
    _, vec = vec_of(DelayedAction(action=CASH_OUT, ticks=10))
    with pytest.raises(ValueError, match="all lanes"):
        vec.env_method("action_masks", indices=[0])


@pytest.mark.parametrize(
    ("env", "action", "named"),
    [("Prospector-v0", 69, "mask_schedule.action=69"), ("SkullKingWorker-v0", 3, "how many ticks")],
)
def test_rule_that_cannot_be_followed_is_refused(env, action, named):
    lanes = BatchVecEnv(make_engine(env, 2))
    with pytest.raises(ConfigError, match=named):
        TrainerVecEnv(lanes, [DelayedAction(action=action, ticks=5)])


# -- in a run --------------------------------------------------------------------------------------


CONFIG = {
    "env": "Prospector-v0",
    "env_options": {"time_max": 300},
    "num_envs": 8,
    "total_steps": 512,
    "torch_threads": 1,
    "deterministic": True,
    "window_ticks": 150,
    "mask_schedule": [{"action": 68, "ticks": 20, "anneal_steps": 384}],
    "ppo": {"n_steps": 16, "batch_size": 64, "n_epochs": 2, "net_arch": [32]},
    "checkpoints": {"every": 256},
    "evaluation": {"episodes": 4, "bootstrap": 50, "replays": 2, "seed": 7},
}


@pytest.fixture(scope="module", params=["native", *late("sb3")])
def run(request, train, tmp_path_factory):
    """A finished and evaluated run of Prospector; not to be changed."""
    runs, config = tmp_path_factory.mktemp("runs"), CONFIG | {"trainer": request.param}
    assert train(runs, "belt", config=config, evaluation=True) == 0
    return runs / "belt"


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_metrics_say_what_was_held_back(run):
    found = lines(run / "metrics.jsonl")
    ticks = [20, 20 * 256 / 384, 20 * 128 / 384, 0]
    assert [r["held_back"]["68"] for r in found] == pytest.approx(ticks)


def test_masks_that_are_stored_lack_what_is_held_back(train, tmp_path, monkeypatch):
    """Without windows and trackers too, where nobody else looks at a step."""
    stored = []

    def update(self, objective):
        stored.append(self.rollout.mask.clone())
        return original(self, objective)

    original = PPOTrainer.update
    monkeypatch.setattr(PPOTrainer, "update", update)
    rule = {"action": CASH_OUT, "ticks": 300, "anneal_steps": 128}  # all of an episode, then none
    changed = {"window_ticks": 0, "mask_schedule": [rule], "total_steps": 256}
    assert train(tmp_path, "run", config=CONFIG | changed) == 0
    first, second = (mask[..., CASH_OUT] for mask in stored)
    assert not first.any()
    assert second[1:].all()  # the first mask is the last one of the iteration before


def test_windows_add_up_to_the_run(run):
    found = lines(run / "windows.jsonl")
    summary = json.loads((run / "summary.json").read_text())["windows"]
    assert [r["window_id"] for r in found] == list(range(len(found)))
    assert all(r["env_steps_in_window"] == 150 for r in found[:-1])
    assert [r["window_complete"] for r in found] == [True] * (len(found) - 1) + [False]
    assert sum(r["agent_steps"] for r in found) == 512 == summary["agent_steps_total"]
    assert sum(r["env_steps_in_window"] for r in found) == summary["env_steps_total"]
    episodes = sum(r["episode"]["n"] for r in lines(run / "metrics.jsonl") if "episode" in r)
    assert sum(r["episodes_completed"] for r in found) == summary["episodes_total"] == episodes
    returns = sum(r["return_mean"] * r["episodes_completed"] for r in found)
    metrics = [r["episode"] for r in lines(run / "metrics.jsonl") if "episode" in r]
    assert returns == pytest.approx(sum(e["return_mean"] * e["n"] for e in metrics))


def test_evaluation_shows_reference_lines_and_bots_beside_the_agent(run):
    record = json.loads((run / "evaluation.json").read_text())["episodes"]
    lines_of_reference = ["cash_out", "hold", "masked_random", "random"]
    names = ["trained", "trained, drawn", *lines_of_reference, "greedy_miner"]
    assert list(record["policies"])[:7] == names
    assert (record["base_seed"], record["count"], record["time_max"]) == (7, 4, 300)
    for found in record["policies"].values():
        assert {"return", "net_profit", "survival", "steps", "ticks"} <= set(found["intervals"])
    rows = lines(run / "episodes.jsonl")
    assert len(rows) == 4 * len(record["policies"])


@pytest.mark.slow
def test_agent_whose_training_held_back_to_the_end_is_shown_both_ways(train, tmp_path):
    config = CONFIG | {"mask_schedule": [{"action": 68, "ticks": 20}], "total_steps": 128}
    assert train(tmp_path, "kept", config=config, evaluation=True) == 0
    found = json.loads((tmp_path / "kept/evaluation.json").read_text())["episodes"]["policies"]
    assert list(found)[:4] == ["trained", "trained, drawn", "trained, held back", "cash_out"]
    rows = lines(tmp_path / "kept/episodes.jsonl")
    assert min(r["dt_total"] for r in rows if r["bot"] == "trained, held back") >= 20


@pytest.mark.slow
def test_best_episodes_are_kept_and_play_again(run, capsys):
    index = replays.load_index(run)
    assert len(index) == 2
    rows = [r for r in lines(run / "episodes.jsonl") if r["bot"] == "trained"]
    best = sorted(r["return_total"] for r in rows)[-2:]
    assert [e["return_total"] for e in index] == pytest.approx(best)
    assert index[-1]["checkpoint_path"] == "checkpoints/ckpt_000000000512"
    files = [str(run / entry["replay_path"]) for entry in index]
    assert replay.main([*files, "--backend", "reference"]) == 0


def test_skull_king_keeps_replays_too(finished, tmp_path):
    copy = shutil.copytree(finished, tmp_path / "copy")
    flags = ["--only", "goals", "--episodes", "8", "--replays", "1"]
    assert main([str(copy), *flags]) == 0
    (entry,) = replays.load_index(copy)
    assert (entry["window_id"], entry["checkpoint_env_steps_total"]) == (0, None)
    assert replay.main([str(copy / entry["replay_path"]), "--backend", "reference"]) == 0
