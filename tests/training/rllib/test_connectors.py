"""Whole arrays between lanes, network and learner: the same as through RLlib's own connectors."""

import numpy as np
import pytest

pytest.importorskip("ray", reason="needs Ray RLlib: make rllib-test")

import torch
from ray.rllib.connectors.learner import AddOneTsToEpisodesAndTruncate
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModule
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.evaluation.postprocessing import Postprocessing
from ray.tune.registry import register_env

from fastenv.adapters.rllib import MASK, OBSERVATIONS, SemiMarkovAdvantages
from training.rllib.connectors import EpisodesToBatch
from training.rllib.learner import ENV, algorithm_config
from training.rllib.module import Lanes
from training.run.config import RunConfig

# RLlib registers its environments anew in every runner, which Gymnasium warns of.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*Overriding environment")]

GAMES = ["SkullKingWorker-v0", "SkullKingManager-v0", "Prospector-v0", "LanternWalk-v0"]
GAMMA, LAMBDA = 0.97, 0.9


def runner_of(env, own=True):
    values = {
        "env": env,
        "trainer": "rllib",
        "num_envs": 8,
        "total_steps": 4096,
        "seed": 3,
        "torch_threads": 1,
        "rllib": {"env_runners": 1},
        "ppo": {"n_steps": 24, "batch_size": 64, "n_epochs": 2, "net_arch": [16]},
    }
    register_env(ENV, Lanes)
    config = algorithm_config(RunConfig.from_mapping(values), 0, "fast")
    if not own:
        config.env_runners(
            env_to_module_connector=lambda env, spaces, device: [],
            module_to_env_connector=lambda env, spaces: [],
            add_default_connectors_to_env_to_module_pipeline=True,
            add_default_connectors_to_module_to_env_pipeline=True,
        )
        config.learners(
            learner_connector=lambda observations, actions: [],
            add_default_connectors_to_learner_pipeline=True,
        )
    return SingleAgentEnvRunner(config=config, worker_index=1)


def sampled(runner, explore, times=2):
    torch.manual_seed(5)
    return [episode for _ in range(times) for episode in runner.sample(explore=explore)]


def records(obs, runner):
    """Observations by their fields: bytes between these are anything."""
    dtype = runner.env.unwrapped.engine.obs_dtype
    return obs.view(dtype) if dtype.names else obs


@pytest.mark.parametrize("explore", [True, False])
@pytest.mark.parametrize("env", GAMES)
def test_lanes_play_the_same_episodes(env, explore):
    own, theirs = (runner_of(env, own) for own in (True, False))
    theirs.module.load_state_dict(own.module.state_dict())
    pairs = zip(sampled(own, explore), sampled(theirs, explore), strict=True)
    steps = 0
    for ours, other in pairs:
        assert len(ours) == len(other)
        assert ours.is_terminated == other.is_terminated
        steps += len(ours)
        mine, its = (e.get_observations() for e in (ours, other))
        assert np.array_equal(mine[MASK], its[MASK])
        assert np.array_equal(*(records(obs[OBSERVATIONS], own) for obs in (mine, its)))
        assert np.array_equal(ours.get_actions(), other.get_actions())
        assert np.array_equal(ours.get_rewards(), other.get_rewards())
        # Of the likeliest actions RLlib has no logarithm; nothing is learnt from them.
        names = (Columns.ACTION_DIST_INPUTS, *([Columns.ACTION_LOGP] if explore else []))
        for name in names:
            mine, its = (e.get_extra_model_outputs(name) for e in (ours, other))
            assert mine.dtype == its.dtype
            assert np.array_equal(mine, its)
    assert steps >= 2 * 24 * 8


@pytest.mark.parametrize("env", GAMES)
def test_batches_are_the_same_without_the_rows_that_nothing_is_learnt_from(env):
    runner = runner_of(env, own=False)
    module = MultiRLModule(rl_module_specs={})
    module.add_module(DEFAULT_MODULE_ID, runner.module)
    spaces = runner.env.single_observation_space, runner.env.single_action_space
    theirs = runner.config.build_learner_connector(*spaces)
    theirs.prepend(AddOneTsToEpisodesAndTruncate())
    theirs.append(SemiMarkovAdvantages(gamma=GAMMA, lambda_=LAMBDA))

    episodes = sampled(runner, explore=True)
    decisions = sum(map(len, episodes))
    own = EpisodesToBatch(gamma=GAMMA, lambda_=LAMBDA, size=decisions)
    found = own(rl_module=module, episodes=episodes)[DEFAULT_MODULE_ID]
    smaller = EpisodesToBatch(gamma=GAMMA, lambda_=LAMBDA, size=100)
    first = smaller(rl_module=module, episodes=episodes)[DEFAULT_MODULE_ID]
    given = {"shared_data": {}, "metrics": None}
    other = theirs(rl_module=module, batch={}, episodes=episodes, **given)[DEFAULT_MODULE_ID]

    real = other[Columns.LOSS_MASK].bool()
    assert real.sum() == decisions < len(real)
    for name in found[Columns.OBS]:
        assert torch.equal(found[Columns.OBS][name], other[Columns.OBS][name][real])
    for name in (Columns.ACTIONS, Columns.ACTION_LOGP, Columns.ACTION_DIST_INPUTS):
        assert torch.equal(found[name], other[name][real]), name
    for name in (Postprocessing.ADVANTAGES, Postprocessing.VALUE_TARGETS):
        assert torch.allclose(found[name], other[name][real], rtol=1e-5, atol=1e-6), name
        assert torch.equal(first[name], found[name][:100])
