"""Does the default trainer learn on the fast environment, and does the evaluation say so?"""

import json

import pytest

from tests.needs import needs_speed

CONFIG = {
    "env": "SkullKingWorker-v0",
    "num_envs": 64,
    "total_steps": 300_000,
    "torch_threads": 1,
    "env_options": {"opponents": "rule_medium", "round_weights": "uniform"},
    "ppo": {
        "n_steps": 64,
        "batch_size": 512,
        "n_epochs": 4,
        "net_arch": [64, 64],
        "learning_rate": 3e-3,
        "gae_lambda": 0.85,
        "ent_coef": 0.0,
    },
    "evaluation": {"games": 4, "episodes": 10_000, "opponents": ["random"], "bootstrap": 400},
}


@needs_speed
@pytest.mark.slow
def test_worker_learns_to_reach_its_goal(train, tmp_path):
    assert train(tmp_path, "learn", config=CONFIG, evaluation=True) == 0
    record = json.loads((tmp_path / "learn/evaluation.json").read_text())
    rates = record["goals"]["rates"]
    assert rates["trained"]["overall"][1] > rates["random"]["overall"][2]
