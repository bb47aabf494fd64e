"""Training on the Game Boy: its options, its network, and from where it is evaluated."""

import json

import numpy as np
import pytest
from torch import nn

from tests.needs import needs_core
from training import train
from training.evaluation.episodes import Episodes
from training.games.gameboy.evaluation import HELD_OUT, held_out, reached
from training.nets.encoders import Encoder
from training.nets.layout import obs_layout
from training.run.config import RunConfig, load_file
from training.run.envs import make_engine
from training.run.presets import CONFIGS, found_best

IDS = ("GameBoyGoal-v0", "LanternWalk-v0")
FILE = load_file(CONFIGS / "gameboy.yaml")


@pytest.mark.parametrize("env", IDS)
def test_whoever_names_the_id_alone_gets_the_options_that_learn(env):
    found = found_best(env, "native")
    for name in ("ppo", "native", "num_envs", "total_steps", "env_options"):
        assert found[name] == FILE[name]
    assert found["env_options"]["sticky"] == 0.25
    assert found_best(env, "sb3") == found_best("GameBoyPixels-v0", "native") == {}


@needs_core
@pytest.mark.parametrize("env", IDS)
def test_frames_go_through_convolutions_and_starts_differ(env):
    engine = make_engine(env, 64, FILE["env_options"])
    engine.reset_many(seeds=0)
    assert len({*engine.info["start_state"].tolist()}) > 20
    encoder = Encoder(obs_layout(engine), "conv")
    (images,) = encoder.convs
    assert images.field.sides == (72, 80)
    first = next(layer for layer in images.layers if isinstance(layer, nn.Conv2d))
    assert first.in_channels == 4
    numbers = 0 if env == "GameBoyGoal-v0" else 4 + 3  # senses and events
    assert encoder.size_out == images.size_out + numbers


def test_states_that_were_trained_on_are_not_those_of_the_evaluation():
    config = RunConfig.from_mapping({**FILE, "env": IDS[0]})
    assert held_out(config) == {"states": "lantern_walk_held_out"}
    assert set(HELD_OUT).isdisjoint(HELD_OUT.values())
    other = RunConfig.from_mapping({"env": IDS[0], "env_options": {"states": "power_up"}})
    assert held_out(other) == {}


def test_a_goal_is_reached_by_episodes_that_were_terminated():
    ends = np.array([True, False, True, True])
    found = Episodes({"seed": np.arange(4), "terminated": ends, "truncated": ~ends}, final={})
    share = reached(found, 100)
    assert share.value == 0.75
    assert 0 <= share.low <= share.value <= share.high <= 1


@needs_core
def test_a_run_trains_and_is_evaluated_from_other_states(tmp_path):
    small = {"num_envs": 4, "ppo.n_steps": 8, "ppo.batch_size": 16, "torch_threads": 1}
    small |= {"ppo.n_epochs": 1, "ppo.net_arch": "[8]", "env_options.max_steps": 4}
    small |= {"evaluation.episodes": 3, "evaluation.after_training": "true"}
    words = ["--env", IDS[0], "--total-steps", "64", "--name", "small", "--runs", str(tmp_path)]
    for name, value in small.items():
        words += ["--set", f"{name}={value}"]
    assert train.main(words) == 0
    (file,) = (tmp_path / "small").rglob("evaluation*.json")
    episodes = json.loads(file.read_text())["episodes"]
    intervals = episodes["policies"]["trained"]["intervals"]
    assert 0 <= intervals["reached"][0] <= 1
    assert intervals["steps"][0] <= 4
