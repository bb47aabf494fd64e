"""What trainer ``rllib`` refuses before anything is started; Ray is not needed for that."""

import importlib.util

import pytest

from fastenv.errors import ConfigError
from tests.tables import walk
from training.run.config import RunConfig

BASE = {"trainer": "rllib", "num_envs": 12, "ppo": {"n_steps": 16, "batch_size": 64}}


@walk(
    ("values", "text"),
    [
        ({"rllib": {"env_runners": 5}}, "rllib.env_runners=5: must be a divisor of num_envs=12"),
        ({"rllib": {"env_runners": -1}}, "rllib.env_runners=-1: must be at least 0"),
        ({"rllib": {"learners": 5}}, "rllib.learners=5: must be a divisor of num_envs"),
        ({"rllib": {"learners": 3}}, "rllib.learners=3: must be a divisor of ppo.batch_size=64"),
        ({"rllib": {"object_store_mb": 1}}, "rllib.object_store_mb=1: must be at least 128"),
        ({"ppo": {"precision": "bf16"}}, "ppo.precision='bf16': must be null or"),
        ({"ppo": {"target_kl": 0.1}}, "ppo.target_kl=0.1: must be null with trainer='rllib'"),
        ({"ppo": {"lr_schedule": "cosine"}}, "must be 'constant' or 'linear' with trainer='rllib'"),
        ({"native": {"recurrent": "gru"}}, "native.recurrent='gru': must be 'none' with"),
        ({"native": {"value_loss": "huber"}}, "native.value_loss='huber': must be 'mse' with"),
        ({"deterministic": True}, "deterministic=True: must be false with trainer='rllib'"),
        ({"trackers": {"visits": {}}}, "trackers="),
        ({"shaping": {"phi": "tricks"}}, "must be null with trainer='rllib'"),
        ({"trainer": "native", "rllib": {"learners": 1}}, "it belongs to trainer='rllib'"),
    ],
)
def test_bad_input(values, text):
    merged = {**BASE, **values}
    if "ppo" in values:
        merged["ppo"] = {**BASE["ppo"], **values["ppo"]}
    with pytest.raises(ConfigError, match=text.replace(": ", ".* ")):
        RunConfig.from_mapping(merged)


def test_sizes_that_divide_are_taken():
    config = RunConfig.from_mapping({**BASE, "rllib": {"env_runners": 4, "learners": 2}})
    assert config.precision == "fp32"


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="Ray is here")
def test_without_ray_it_says_what_to_install(train, tmp_path, capsys):
    assert train(tmp_path, "run", "--trainer", "rllib", "--set", "deterministic=false") == 2
    assert "pip install 'ray[rllib]==2.60.*'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
