"""Whole arrays between lanes, network and learner: the same as through RLlib's own connectors."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("ray", reason="needs Ray RLlib: make rllib-test")

import torch
from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
from ray.rllib.connectors.learner import AddOneTsToEpisodesAndTruncate
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModule
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.evaluation.postprocessing import Postprocessing
from ray.rllib.utils.minibatch_utils import ShardEpisodesIterator
from ray.tune.registry import register_env

from fastenv.adapters.rllib import MASK, OBSERVATIONS, SemiMarkovAdvantages, durations
from tests.tables import walk
from training.rllib.connectors import EpisodesToBatch
from training.rllib.module import ActorCriticLearner, RunnerLanes
from training.rllib.trainer import ENV, algorithm_config
from training.run.config import RunConfig

# RLlib registers its environments anew in every runner, which Gymnasium warns of.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*Overriding environment")]

# Short episodes, long ones, decisions that last, and structured observations that are cut off.
GAMES = {
    "SkullKingWorker-v0": {},
    "Prospector-v0": {},
    "DrMarioPlacement-v0": {"level": 0},
    "LanternWalk-v0": {"max_steps": 10},
}
GAMMA, LAMBDA = 0.97, 0.9


def runner_of(env, own=True):
    values = {
        "env": env,
        "env_options": GAMES[env],
        "trainer": "rllib",
        "num_envs": 8,
        "total_steps": 4096,
        "seed": 3,
        "torch_threads": 1,
        "rllib": {"env_runners": 1},
        "ppo": {"n_steps": 24, "batch_size": 64, "n_epochs": 2, "net_arch": [16]},
    }
    register_env(ENV, RunnerLanes)
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


@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.parametrize("env", GAMES)
def test_batches_are_the_same_without_the_rows_that_nothing_is_learnt_from(env, shards):
    runner = runner_of(env, own=False)
    module = module_of(runner)
    spaces = runner.env.single_observation_space, runner.env.single_action_space
    every = sampled(runner, explore=True)
    lasts = any((durations(episode) > 1).any() for episode in every)
    assert lasts == (env == "DrMarioPlacement-v0")
    assert any(episode.is_truncated for episode in every) == (env == "LanternWalk-v0")
    parts = ShardEpisodesIterator(every, num_shards=shards, len_lookback_buffer=1)
    for episodes in [every] if shards == 1 else parts:
        decisions = sum(map(len, episodes))
        own = EpisodesToBatch(gamma=GAMMA, lambda_=LAMBDA, minibatch=1, spare=0)
        found = own(rl_module=module, episodes=episodes)[DEFAULT_MODULE_ID]
        theirs = runner.config.build_learner_connector(*spaces)
        theirs.prepend(AddOneTsToEpisodesAndTruncate())
        theirs.append(SemiMarkovAdvantages(gamma=GAMMA, lambda_=LAMBDA))
        given = {"shared_data": {}, "metrics": None}
        other = theirs(rl_module=module, batch={}, episodes=episodes, **given)[DEFAULT_MODULE_ID]
        real = other[Columns.LOSS_MASK].bool()
        assert real.sum() == decisions < len(real)
        for name in found[Columns.OBS]:
            assert torch.equal(found[Columns.OBS][name], other[Columns.OBS][name][real])
        for name in (Columns.ACTIONS, Columns.ACTION_LOGP, Columns.ACTION_DIST_INPUTS):
            assert torch.equal(found[name], other[name][real]), name
        # Equal, but that RLlib rounds rewards to float32 first, which Prospector's are not.
        by = 1e-5 if env == "Prospector-v0" else 0.0
        for name in (Postprocessing.ADVANTAGES, Postprocessing.VALUE_TARGETS):
            assert torch.allclose(found[name], other[name][real], rtol=by, atol=by), name


def module_of(runner):
    module = MultiRLModule(rl_module_specs={})
    module.add_module(DEFAULT_MODULE_ID, runner.module)
    return module


@walk(
    ("decisions", "minibatch", "spare", "kept"),
    [
        (200, 64, 8, 192),  # the few beyond whole minibatches
        (200, 64, 7, 200),  # more than these few: behind a lost runner
        (192, 64, 8, 192),
        (63, 64, 64, 63),  # less than one
    ],
)
def test_the_few_decisions_beyond_whole_minibatches_are_left_out(decisions, minibatch, spare, kept):
    batches = EpisodesToBatch(gamma=GAMMA, lambda_=LAMBDA, minibatch=minibatch, spare=spare)
    rows = np.arange(decisions)
    found = [rows[batches._choose_kept(decisions)] for _ in range(20)]
    assert {len(x) for x in found} == {kept}
    assert all((np.diff(x) > 0).all() for x in found)
    assert len({tuple(x) for x in found}) > 1 or kept == decisions  # not always the same ones


@pytest.mark.parametrize(
    ("told", "epochs", "minibatch", "takes"),
    [
        (9, 4, 64, 8),  # a ninth would be of decisions that are left out
        (10, 4, 64, 10),
        (3, 4, 4, 3),
        (0, 4, 64, 0),  # one learner counts for itself
    ],
)
def test_learners_take_no_minibatch_more_for_them(monkeypatch, told, epochs, minibatch, takes):
    asked = {}
    monkeypatch.setattr(PPOTorchLearner, "update", lambda self, **given: asked.update(given))
    learner = object.__new__(ActorCriticLearner)
    learner.config = SimpleNamespace(learner_config_dict={"spare": 16})
    given = {"num_epochs": epochs, "minibatch_size": minibatch}
    learner.update(num_total_minibatches=told, **given)
    assert asked == {"num_total_minibatches": takes, **given}
