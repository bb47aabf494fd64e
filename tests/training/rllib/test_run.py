"""Runs with trainer ``rllib``: metrics, checkpoints, resume, and who plays what they learnt."""

import json
import threading
import time
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

pytest.importorskip("ray", reason="needs Ray RLlib: make rllib-test")

import ray
import torch
from ray.cluster_utils import Cluster
from ray.exceptions import OutOfMemoryError

from training import load_policy
from training.rllib.module import state_of
from training.rllib.trainer import RLlibTrainer, start_ray
from training.run.config import RunConfig
from training.run.envs import make_lanes
from training.run.folder import RunError
from training.run.jsonl import read_lines
from training.run.trainer import TrainingError
from training.train import main

# RLlib registers its environments anew in every runner, which Gymnasium warns of.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*Overriding environment")]

TINY = {
    "trainer": "rllib",
    "num_envs": 8,
    "total_steps": 256,
    "torch_threads": 1,
    "ppo": {
        **{"n_steps": 16, "batch_size": 64, "n_epochs": 2, "net_arch": [32]},
        "lr_schedule": "linear",
    },
    "checkpoints": {"every": 128},
    "evaluation": {"during": "off", "games": 4, "episodes": 8, "bootstrap": 50},
}


def train(runs, name, env, *flags, **options):
    config = runs / f"{name}.json"
    config.write_text(json.dumps({"env": env, **TINY, **options}))
    return main(["--config", str(config), "--runs", str(runs), "--name", name, *flags])


def test_an_environment_of_another_package_is_trained_beyond_a_checkpoint(tmp_path):
    assert train(tmp_path, "pole", "CartPole-v1", "--no-evaluation") == 0
    flags = ["--resume", "--total-steps", "384", "--no-evaluation"]
    assert train(tmp_path, "pole", "CartPole-v1", *flags) == 0


def test_trains_evaluates_and_goes_on(tmp_path):
    env = "SkullKingWorker-v0"
    evaluation = TINY["evaluation"] | {"opponents": ["random"]}
    assert train(tmp_path, "run", env, evaluation=evaluation) == 0
    run = tmp_path / "run"
    records = read_lines(run / "metrics.jsonl")
    assert records[-1]["step"] >= 256
    for record in records:
        assert {"loss", "policy_loss", "value_loss", "entropy", "lr"} <= record["train"].keys()
        assert {"sample", "update", "sync"} <= record["phases"].keys()
        assert record["episode"]["n"] > 0
    for before, record in pairwise([{"step": 0}, *records]):  # phases are of the iteration alone
        assert sum(record["phases"].values()) <= (record["step"] - before["step"]) / record["sps"]
    assert records[-1]["train"]["lr"] < records[0]["train"]["lr"]
    assert json.loads((run / "evaluation.json").read_text())
    policy = load_policy(run)
    before = dict(policy_parameters(run))
    vec = policy.make_vec(4)
    obs, infos = vec.reset(seed=0)
    for _ in range(20):
        actions, _ = policy.act(obs, infos["action_mask"])
        obs, *_, infos = vec.step(actions)
    steps = records[-1]["step"]
    flags = ("--resume", "--no-evaluation", "--total-steps", str(steps + 256))
    assert train(tmp_path, "run", env, *flags, evaluation=evaluation) == 0
    records = read_lines(run / "metrics.jsonl")
    assert [record["iter"] for record in records] == list(range(1, len(records) + 1))
    assert records[-1]["step"] >= steps + 256
    after = policy_parameters(run)
    assert any(not torch.equal(after[name], value) for name, value in before.items())


def policy_parameters(run):
    newest = (run / "checkpoints" / (run / "checkpoints/latest").read_text().strip()) / "model.pt"
    return torch.load(newest, weights_only=True)["policy"]


# Ray Data, which comes with several learners, warns of options of its own, one after the other.
@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.data", "ignore::UserWarning:ray.data")
def test_several_learners_average_their_gradients(tmp_path, monkeypatch):
    """Each learns from a share of the samples, and all have the same parameters after it."""
    found, take_over = [], RLlibTrainer._copy_learner

    def look(learner):
        results = learner._algorithm.learner_group.foreach_learner(state_of)
        found[:] = [each.get()["policy"] for each in results.result_or_errors]
        take_over(learner)

    monkeypatch.setattr(RLlibTrainer, "_copy_learner", look)
    env, rllib = "SkullKingWorker-v0", {"env_runners": 1, "learners": 2}
    assert train(tmp_path, "run", env, "--no-evaluation", rllib=rllib) == 0
    one, other = found
    saved = policy_parameters(tmp_path / "run")
    assert one.keys() == other.keys() == saved.keys()
    for name in one:
        assert torch.equal(one[name], other[name]), name
        assert torch.equal(one[name], saved[name]), name
    records = read_lines(tmp_path / "run" / "metrics.jsonl")
    assert records[-1]["step"] >= 256
    assert all({"loss", "entropy"} <= record["train"].keys() for record in records)


@pytest.mark.parametrize("env", ["Prospector-v0", "DrMarioVersus-v0", "GameBoyOverworld-v0"])
def test_every_game(env, tmp_path):
    """Images, structured observations, decisions that last, and a game of two in its one view."""
    options = {"schedules": {}, "num_envs": 2, "total_steps": 32}
    ppo = TINY["ppo"] | {"n_steps": 16, "batch_size": 16, "n_epochs": 1}
    assert train(tmp_path, "run", env, "--no-evaluation", **options, ppo=ppo) == 0
    policy = load_policy(tmp_path / "run")
    vec = policy.make_vec(2)
    obs, infos = vec.reset(seed=0)
    actions, _ = policy.act(obs, infos["action_mask"])
    assert infos["action_mask"][np.arange(2), actions].all()


def test_a_node_out_of_memory_is_said_in_one_sentence():
    def train():
        raise OutOfMemoryError("Task was killed due to the node running low on memory.\nMemory")

    config = RunConfig.from_mapping(TINY | {"env": "SkullKingWorker-v0"})
    trainer = RLlibTrainer(config, make_lanes(config))
    group = SimpleNamespace(healthy_env_runner_ids=lambda: [1])
    trainer._algorithm = SimpleNamespace(train=train, env_runner_group=group, stop=lambda: None)
    with pytest.raises(TrainingError, match=r"^Ray has lost .* --resume \(OutOfMemoryError: Task"):
        trainer._train()
    trainer.close()


def test_ray_that_does_not_start_is_said_in_one_sentence(monkeypatch):
    def init(**options):
        raise Exception("The current node timed out during startup.\nThis could happen")

    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(RunError, match=r"^no Ray cluster on this machine: .*startup. This"):
        start_ray(RunConfig.from_mapping(TINY))


def wait_for(metrics, iterations):
    while not metrics.is_file() or len(read_lines(metrics)) < iterations:
        time.sleep(0.1)


def kill_a_runner(metrics, killed):
    """End an env runner by SIGKILL, once two iterations are done."""
    wait_for(metrics, 2)
    for process in psutil.process_iter(["name", "cmdline"]):
        if any("SingleAgentEnvRunner" in part for part in process.info["cmdline"] or ()):
            process.kill()
            killed.append(time.time())
            return


def test_goes_on_when_a_runner_is_lost(tmp_path):
    """Nothing is lost but what that runner was sampling; another takes its place."""
    run, killed = tmp_path / "run", []
    watch = threading.Thread(
        daemon=True, target=kill_a_runner, args=(run / "metrics.jsonl", killed)
    )
    watch.start()
    steps, rllib = 128 * 150, {"env_runners": 2}
    env = "SkullKingWorker-v0"
    assert train(tmp_path, "run", env, "--no-evaluation", total_steps=steps, rllib=rllib) == 0
    watch.join()
    records, events = read_lines(run / "metrics.jsonl"), read_lines(run / "events.jsonl")
    assert [record["iter"] for record in records] == list(range(1, len(records) + 1))
    assert {event["event"] for event in events} >= {"env runners lost", "env runners back"}
    assert {record["env_runners"] for record in records} >= {1, 2}
    following = min(record["time"] for record in records if record["time"] > killed[0])
    assert following - killed[0] < 60
    assert records[-1]["step"] >= steps


def test_goes_on_when_a_machine_is_lost_and_after_all_are(tmp_path, monkeypatch):
    """Two nodes of Ray on this machine, an env runner on each."""
    monkeypatch.setenv("RAY_worker_niceness", "0")  # else whatever runs beside it starves it
    run = tmp_path / "run"
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    node = cluster.add_node(num_cpus=1)

    def lose():
        wait_for(run / "metrics.jsonl", 2)
        cluster.remove_node(node, allow_graceful=False)

    watch = threading.Thread(target=lose, daemon=True)
    watch.start()
    env, rllib = "SkullKingWorker-v0", {"env_runners": 2, "address": cluster.address}
    try:
        assert train(tmp_path, "run", env, "--no-evaluation", total_steps=1280, rllib=rllib) == 0
        watch.join()
    finally:
        cluster.shutdown()
    records, events = read_lines(run / "metrics.jsonl"), read_lines(run / "events.jsonl")
    lost = [event for event in events if event["event"] == "env runners lost"]
    assert len(lost) == 1
    assert len(lost[0]["runners"]) == 1
    assert records[-1]["env_runners"] == 1
    flags = ("--resume", "--no-evaluation", "--total-steps", str(records[-1]["step"] + 128))
    assert train(tmp_path, "run", env, *flags, rllib=rllib) == 2  # there is no such cluster now
    rllib = {"env_runners": 2, "address": None}
    assert train(tmp_path, "run", env, *flags, rllib=rllib) == 0
    after = read_lines(run / "metrics.jsonl")
    assert [record["iter"] for record in after] == list(range(1, len(after) + 1))
    assert after[-1]["step"] > records[-1]["step"]
