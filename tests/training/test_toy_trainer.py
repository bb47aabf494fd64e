"""A trainer of a hundred lines goes through every command, entered in one place alone."""

import json

import numpy as np
import pytest

from fastenv.errors import ConfigError
from tests.training import toy_trainer
from tests.training.left import newest
from training import evaluate, load_policy
from training.run.config import RunConfig
from training.train import main

ENV = "SkullKingWorker-v0"


@pytest.fixture(scope="module", autouse=True)
def known():
    toy_trainer.register()
    yield
    toy_trainer.unregister()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return tmp_path_factory.mktemp("toy")


def train(runs, name, *flags):
    how = ["--env", ENV, "--trainer", toy_trainer.NAME, "--num-envs", "8", "--torch-threads", "1"]
    sets = ["--set=deterministic=true", "--set=checkpoints.every=256", "--no-evaluation"]
    return main([*how, *sets, "--runs", str(runs), "--name", name, *flags])


@pytest.fixture(scope="module")
def finished(runs):
    assert train(runs, "whole", "--total-steps=1024") == 0
    return runs / "whole"


def test_it_learns_and_says_what_it_did(finished):
    summary = json.loads((finished / "summary.json").read_text())
    assert (summary["trainer"], summary["steps"]) == (toy_trainer.NAME, 1024)
    assert summary["status"] == "finished"
    first = toy_trainer.Linear(1, 1)  # another network: the parameters have moved
    assert newest(finished).model["policy"].keys() == first.state_dict().keys()


def test_its_agent_plays_and_is_evaluated(finished, capsys):
    policy = load_policy(finished)
    vec = policy.make_vec(4)
    obs, _ = vec.reset(seed=1)
    actions, _ = policy.act(obs, vec.action_masks())
    assert actions.shape == (4,)
    assert np.take_along_axis(vec.action_masks(), actions[:, None], 1).all()
    assert evaluate.main([str(finished), "--episodes", "40", "--games", "4"]) == 0
    assert "trained" in capsys.readouterr().out


def test_its_options_are_checked_like_all():
    values = {"trainer": toy_trainer.NAME, "reinforce": {"learning_rat": 1}}
    with pytest.raises(ConfigError, match=r"did you mean 'reinforce\.learning_rate'"):
        RunConfig.from_mapping(values)
    with pytest.raises(ConfigError, match=r"reinforce\.n_steps=0"):
        RunConfig.from_mapping({"trainer": toy_trainer.NAME, "reinforce": {"n_steps": 0}})
    with pytest.raises(ConfigError, match="it belongs to trainer='reinforce'"):
        RunConfig.from_mapping({"reinforce": {"n_steps": 3}})
