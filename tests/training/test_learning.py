"""Does the stock trainer learn on the fast environment?"""

import json

import pytest

CONFIG = {
    "env": "SkullKingWorker-v0",
    "num_envs": 64,
    "total_steps": 150_000,
    "torch_threads": 1,
    "env_options": {"opponents": "rule_medium", "round_weights": "uniform"},
    "schedules": {"allowed_phases": [[0, ["early"]]]},
    "ppo": {"n_steps": 64, "batch_size": 512, "n_epochs": 4, "net_arch": [64, 64]},
    "evaluation": {"games": 4, "episodes": 6000, "opponents": ["random"], "bootstrap": 400},
}


@pytest.mark.slow
def test_worker_learns_to_reach_its_goal(train, tmp_path):
    path = tmp_path / "learn.json"
    path.write_text(json.dumps(CONFIG))
    assert train(tmp_path, "learn", config=path, evaluation=True) == 0
    record = json.loads((tmp_path / "learn/evaluation.json").read_text())
    rates = record["goals"]["rates"]
    for part in ("round_2", "round_3"):  # what it was trained on
        assert rates["trained"][part][1] > rates["random"][part][2]
