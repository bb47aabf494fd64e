"""The option that replaces a piece; without it everything is stock."""

import os
import re
import sys

import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer
from sb3_contrib.ppo_mask.policies import MlpPolicy

from fastenv.errors import ConfigError
from tests.training.sb3.models import walk
from training.run import registry
from training.run.config import RunConfig
from training.run.option_layers import load_preset, read_presets
from training.sb3.trainer import build

TINY = {"n_steps": 16, "batch_size": 32, "net_arch": [16]}


def built(**ppo):
    shared = {"trainer": "sb3", "num_envs": 8, "device": "cpu"}
    config = RunConfig.from_mapping({**shared, "ppo": {**TINY, **ppo}})
    return build(config, walk())


def parts(model):
    return type(model), type(model.policy), type(model.rollout_buffer)


def test_defaults_and_presets_are_stock():
    assert parts(built()) == (MaskablePPO, MlpPolicy, MaskableRolloutBuffer)
    on_policy = [name for name in read_presets() if load_preset(name).get("trainer") != "dqn"]
    for name in on_policy:
        config = RunConfig.from_mapping({**load_preset(name), "trainer": "sb3"})
        assert config.precision == "fp32"


@pytest.mark.parametrize("precision", ["bf16", "auto"])
def test_stock_layers_are_of_one_precision(precision):
    says = re.escape("ppo.precision must be null or 'fp32' with trainer='sb3'")
    with pytest.raises(ConfigError, match=says):
        built(precision=precision)


def test_deterministic_run_asks_cublas_for_the_same_bits(train, tmp_path, monkeypatch):
    """Torch refuses matrix products on CUDA without it."""
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    assert train(tmp_path, "run", "--trainer", "sb3", "--total-steps", 128) == 0
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"


def test_a_missing_package_is_named_with_what_installs_it(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("training.sb3")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sb3_contrib", None)
    said = re.escape("trainer='sb3' needs Stable-Baselines3: pip install '.[sb3]', or choose")
    with pytest.raises(ImportError, match=said):
        registry.load_trainer("sb3")
