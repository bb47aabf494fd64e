"""The RLlib adapter: what its env runners make of our games, beside plain replays of the games.

Ray pins another Gymnasium, so these tests run in an environment of their own: ``make rllib-test``.
"""

import runpy

import numpy as np
import pytest

pytest.importorskip("ray", reason="needs Ray RLlib: make rllib-test")

import gymnasium
import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.utils.postprocessing.value_predictions import compute_value_targets
from ray.tune.registry import register_env

import fastenv
from fastenv.adapters import rllib
from fastenv.adapters.rllib import (
    MaskedPPOModule,
    RLlibVectorEnv,
    SemiMarkovAdvantages,
    SemiMarkovPPOLearner,
    advantages,
)
from fastenv.env import FastEnv
from fastenv.errors import ConfigError, InvalidActionError
from tests.toy import RaceGame, WalkGame
from training.ppo.gae import gae_many

# RLlib registers its environments anew in every runner, which Gymnasium warns of.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*Overriding environment")]

IDS = ("SkullKingWorker-v0", "Prospector-v0", "DrMarioPlacement-v0", "GameBoyPixels-v0")
N = 3


def settings(context, lanes=N, spec=MaskedPPOModule, **training):
    """Return the config of a PPO without remote processes."""
    register_env("toy", RLlibVectorEnv)
    return (
        PPOConfig()
        .environment("toy", env_config=context)
        .env_runners(
            num_env_runners=0,
            num_envs_per_env_runner=lanes,
            gym_env_vectorize_mode=gymnasium.VectorizeMode.VECTOR_ENTRY_POINT,
            rollout_fragment_length=20,
        )
        .learners(num_learners=0, learner_class=SemiMarkovPPOLearner)
        .rl_module(rl_module_spec=RLModuleSpec(module_class=spec))
        .training(**training)
        .debugging(seed=5)
    )


def arrays(obs):
    """Return the arrays of an observation, by their names."""
    if not isinstance(obs, dict):
        return {"": obs}
    return {f"{k}.{n}": a for k, v in obs.items() for n, a in arrays(v).items()}


def assert_same(one, other):
    assert arrays(one).keys() == arrays(other).keys()
    for name, array in arrays(one).items():
        assert np.array_equal(array, arrays(other)[name]), name


@pytest.mark.parametrize("env_id", [*IDS, "DrMarioVersus-v0", "GameBoyOverworld-v0"])
def test_shows_what_the_vector_view_shows(env_id):
    ours = RLlibVectorEnv({"env": env_id, "num_envs": N})
    theirs = fastenv.make_vec(env_id, N)
    seeds, rng = ours.lane_seeds(3), np.random.default_rng(0)
    (obs, _), (expected, infos) = ours.reset(seed=3), theirs.reset(seed=seeds)
    for _ in range(60):
        assert obs in ours.observation_space
        assert_same(obs["observations"], expected)
        assert np.array_equal(obs["action_mask"], infos["action_mask"])
        actions = fastenv.sample_legal(theirs.action_masks(), rng)
        obs, *results, ours_infos = ours.step(list(actions))
        expected, *wanted, infos = theirs.step(actions)
        for array, other in zip(results, wanted, strict=True):
            assert (array.dtype, array.tobytes()) == (other.dtype, other.tobytes())
        assert ("tau" in ours_infos) == ("tau" in infos)
        if "tau" in infos:
            assert np.array_equal(ours_infos["tau"], infos["tau"])


def test_what_rllib_keeps_of_a_step_is_not_overwritten_by_the_next():
    env = RLlibVectorEnv({"env": WalkGame(), "num_envs": N})
    kept = [env.reset(seed=0)[0]]
    copies = [{name: a.copy() for name, a in arrays(kept[0]).items()}]
    for _ in range(20):
        kept.append(env.step([1] * N)[0])
        copies.append({name: a.copy() for name, a in arrays(kept[-1]).items()})
    for obs, copy in zip(kept, copies, strict=True):
        assert all(np.array_equal(a, copy[name]) for name, a in arrays(obs).items())


def test_workers_share_no_games():
    env = RLlibVectorEnv({"env": WalkGame(), "num_envs": 64})
    seeds = [set(env.lane_seeds(1 + worker)) for worker in range(8)]
    assert env.lane_seeds(1) == env.lane_seeds(1)
    assert len(set.union(*seeds)) == 8 * 64


def replayed(seed, actions):
    """Play a lane's actions in a single environment; return its episodes."""

    def begun(obs):
        episodes.append({"obs": [obs], "actions": [], "rewards": [], "end": None})

    env, episodes = FastEnv(WalkGame(), backend="reference"), []
    begun(env.reset(seed=seed)[0])
    for action in actions:
        now = episodes[-1]
        if now["end"]:  # what RLlib sends to an episode that has ended is ignored
            begun(env.reset()[0])
            continue
        obs, reward, terminated, truncated, _ = env.step(action)
        for name, value in (("obs", obs), ("actions", action), ("rewards", reward)):
            now[name].append(value)
        if terminated or truncated:
            now["end"] = (terminated, truncated)
    return [each for each in episodes if each["actions"]]


def test_episodes_are_those_of_the_game(monkeypatch):
    """T22: every transition of every episode, also across the cuts between two samples."""
    taken = []
    step = RLlibVectorEnv.step

    def spied(self, actions):
        taken.append(list(actions))
        return step(self, actions)

    monkeypatch.setattr(RLlibVectorEnv, "step", spied)
    runner = SingleAgentEnvRunner(config=settings({"env": WalkGame()}), worker_index=0)
    whole = {}
    for _ in range(6):
        for part in runner.sample(num_timesteps=60):
            if part.id_ not in whole:
                whole[part.id_] = {"obs": [part.get_observations(0)], "actions": [], "rewards": []}
            own = whole[part.id_]
            own["obs"] += list(unbatched(part.get_observations(slice(1, None))))
            own["actions"] += list(part.get_actions())
            own["rewards"] += list(part.get_rewards())
            own["end"] = (part.is_terminated, part.is_truncated) if part.is_done else None
    seeds = RLlibVectorEnv({"env": WalkGame(), "num_envs": N}).lane_seeds(5)
    expected = [
        episode
        for lane, seed in enumerate(seeds)
        for episode in replayed(seed, [int(actions[lane]) for actions in taken])
    ]
    assert sum(e["end"] is not None for e in expected) > N
    found = [signature(e["obs"], e) for e in whole.values()]
    wanted = [signature([{"observations": o} for o in e["obs"]], e) for e in expected]
    assert sorted(found) == sorted(wanted)


def unbatched(obs):
    return ({k: v[i] for k, v in obs.items()} for i in range(len(obs["observations"])))


def signature(observations, episode):
    """Return everything of an episode as text that sorts."""
    shown = b"".join(np.asarray(o["observations"], np.float32).tobytes() for o in observations)
    rewards = np.asarray(episode["rewards"], np.float64).tobytes()
    actions = np.asarray(episode["actions"], np.int64).tobytes()
    end = episode["end"] and tuple(map(bool, episode["end"]))
    return f"{shown.hex()} {actions.hex()} {rewards.hex()} {end}"


@pytest.mark.parametrize("env_id", IDS[:2])
def test_masked_module_draws_legal_actions(env_id):
    """The engines refuse illegal ones."""
    runner = SingleAgentEnvRunner(config=settings({"env": env_id}), worker_index=0)
    episodes = runner.sample(num_timesteps=300)
    assert sum(len(episode) for episode in episodes) >= 300
    for episode in episodes:
        masks = episode.get_observations()["action_mask"]
        assert masks[np.arange(len(episode)), episode.get_actions()].all()


def test_advantages_are_those_of_the_native_trainer():
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print("seed", seed)
    rng = np.random.default_rng(seed)
    steps, gamma, lam = 40, 0.97, 0.9
    reward, boot = (rng.normal(size=(steps, 1)).astype(np.float32) for _ in range(2))
    value = rng.normal(size=(steps + 1, 1)).astype(np.float32)
    terminated = rng.random((steps, 1)) < 0.1
    truncated = (rng.random((steps, 1)) < 0.1) & ~terminated
    tau = rng.integers(1, 30, (steps, 1))
    discount = np.power(gamma, tau).astype(np.float32)
    adv, ret = np.zeros_like(reward), np.zeros_like(reward)
    done = terminated | truncated
    gae_many(reward, value, done, boot * truncated, discount, lam, adv, ret)
    # The same episodes as RLlib has them: behind each other, each with one more row.
    rows = []
    for t in range(steps):
        rows.append((value[t, 0], reward[t, 0], terminated[t, 0], True, discount[t, 0]))
        if done[t, 0] or t == steps - 1:
            last = boot[t, 0] if truncated[t, 0] else value[t + 1, 0]
            rows.append((last, 0.0, False, False, 1.0))
    columns = [np.array(column, np.float64) for column in zip(*rows, strict=True)]
    columns[3] = columns[3].astype(np.bool_)
    found = advantages(*columns, lam)
    assert np.allclose(found[columns[3]], adv[:, 0], rtol=0, atol=1e-5)
    assert not found[~columns[3]].any()


def test_advantages_without_tau_are_those_of_rllib():
    rng = np.random.default_rng(2)
    values, rewards = rng.normal(size=(2, 30))
    terminated, truncated, real = np.zeros(30), np.zeros(30), np.ones(30, np.bool_)
    for end, over in ((9, True), (17, False), (28, True)):
        (terminated if over else truncated)[end] = 1.0
        real[end + 1] = False
        rewards[end + 1] = 0.0
    theirs = compute_value_targets(values, rewards, terminated, truncated, 0.9, 0.8) - values
    ours = advantages(values, rewards, terminated, real, np.full(30, 0.9), 0.8)
    assert np.allclose(ours[real], theirs[real], rtol=0, atol=1e-6)


class PlainRace(RLlibVectorEnv):
    """The race with its mask for an observation: RLlib has no encoder for structured ones."""

    def shown_space(self):
        return gymnasium.spaces.Box(0, 1, (self.engine.num_actions,), np.float32)

    def shown(self, obs):
        return self.engine.mask.astype(np.float32)


def test_learner_discounts_by_tau():
    """What the learner's pipeline makes of sampled episodes, against the recurrence by hand."""
    config = settings({"env": RaceGame(), "opponent": "random"}, gamma=0.9, lambda_=0.8)
    register_env("toy", PlainRace)
    algo = config.training(train_batch_size_per_learner=120, minibatch_size=60).build_algo()
    learner = algo.learner_group._learner
    pieces = [type(piece).__name__ for piece in learner._learner_connector.connectors]
    assert pieces[-1] == SemiMarkovAdvantages.__name__
    assert pieces.count("GeneralAdvantageEstimation") == 0
    episodes = algo.env_runner.sample(num_timesteps=60)
    taus = [[info["tau"] for info in e.get_infos()[1:]] for e in episodes]
    rewards = [list(e.get_rewards()) for e in episodes]
    over = [e.is_terminated for e in episodes]
    assert max(max(t) for t in taus) > 1
    batch = learner._learner_connector(
        rl_module=learner.module, batch={}, episodes=episodes, shared_data={}, metrics=None
    )["default_policy"]
    real = batch[Columns.LOSS_MASK].numpy().astype(bool)
    with torch.no_grad():
        values = learner.module["default_policy"].compute_values(batch).numpy().astype(float)
    expected, at = [], 0
    for tau, reward, terminated in zip(taus, rewards, over, strict=True):
        v, adv = values[at : at + len(tau) + 1], 0.0
        at += len(tau) + 1
        found = []
        for t in reversed(range(len(tau))):
            g, last = 0.9 ** tau[t], terminated and t == len(tau) - 1
            follow = 0.0 if last else v[t + 1]
            adv = reward[t] + g * follow - v[t] + g * 0.8 * (0.0 if t == len(tau) - 1 else adv)
            found.append(adv)
        expected += found[::-1]
    expected = np.array(expected)
    assert at == len(values)
    targets = batch["value_targets"].numpy()[real]
    assert np.allclose(targets, expected + values[real], rtol=0, atol=1e-5)
    scaled = (expected - expected.mean()) / expected.std()
    assert np.allclose(batch["advantages"].numpy()[real], scaled, rtol=0, atol=1e-4)
    algo.stop()


def test_one_iteration_of_ppo_changes_the_policy():
    config = settings({"env": "SkullKingWorker-v0"}, train_batch_size_per_learner=120)
    algo = config.training(minibatch_size=60, num_epochs=1).build_algo()
    before = algo.get_module().state_dict()["pi.net.mlp.0.weight"].clone()
    algo.train()
    assert not torch.equal(algo.get_module().state_dict()["pi.net.mlp.0.weight"], before)
    algo.stop()


@pytest.mark.parametrize(
    ("context", "text"),
    [
        ({}, "env=None: env_config must name an environment"),
        ({"env": WalkGame(), "autoreset_mode": "same_step"}, "must be 'next_step'"),
        ({"env": WalkGame(), "autoreset_mode": "disabled"}, "must be 'next_step'"),
        ({"env": "DrMarioVersus-v0", "agents": "all"}, "agents='all': must be 'one'"),
        ({"env": "Prospector-v0", "num_envs": 0}, "num_envs"),
    ],
)
def test_bad_input(context, text):
    with pytest.raises(ConfigError, match=text):
        RLlibVectorEnv(context)


def test_masked_actions_are_refused():
    env = RLlibVectorEnv({"env": WalkGame(), "num_envs": 2})
    env.reset(seed=0)
    before = env.engine.get_states().tobytes()
    with pytest.raises(InvalidActionError, match="got a masked one"):
        env.step(np.ma.zeros(2, int))
    assert env.engine.get_states().tobytes() == before


def test_default_module_refuses_structured_observations():
    env = RLlibVectorEnv({"env": RaceGame(), "opponent": "random", "num_envs": 1})
    with pytest.raises(ConfigError, match="no encoder for structured observations"):
        MaskedPPOModule(
            observation_space=env.single_observation_space, action_space=env.single_action_space
        )


def test_another_ray_is_refused(monkeypatch):
    monkeypatch.setattr(ray, "__version__", "1.13.0")
    with pytest.raises(ImportError, match=r"for ray 2.60: .*here is ray 1.13.0"):
        runpy.run_path(rllib.__file__)  # not a reload: classes would no longer be their own
