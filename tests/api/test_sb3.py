"""Stable-Baselines3 and sb3-contrib over every id, unmodified."""

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import VecCheckNan, VecFrameStack, VecMonitor, VecNormalize

import fastenv
from fastenv.adapters.sb3 import make_sb3_vec_env

# Observations that are planes have test_drmario.py.
IDS = [name for name in fastenv.list_envs() if "DrMario" not in name]
N = 4
# Short episodes; where illegal actions can raise they do, so a mask that is out of step would show.
OPTIONS = {"Prospector": {"time_max": 300.0}, "SkullKing": {"invalid_action": "raise"}}
every_id = pytest.mark.parametrize("env_id", IDS)


@pytest.mark.parametrize("backend", ["reference", "fast"])
@every_id
def test_check_env_has_nothing_to_say(env_id, backend):
    drawn = "ansi" in fastenv.make_game(env_id).spec.render_modes
    env = fastenv.make(env_id, backend=backend, render_mode="ansi" if drawn else None)
    check_env(env, skip_render_check=not drawn)


@every_id
def test_vec_env_wrappers_work_on_top(env_id):
    venv = make_sb3_vec_env(env_id, N, seed=0, vec_env_kwargs={"monitor": False})
    venv = VecCheckNan(VecNormalize(VecFrameStack(VecMonitor(venv), 2)), raise_exception=True)
    assert venv.reset().shape == (N, *venv.observation_space.shape)
    assert is_masking_supported(venv)
    episodes = []
    for _ in range(150):
        actions = fastenv.sample_legal(get_action_masks(venv), 0)
        obs, rewards, _, infos = venv.step(actions)
        assert np.isfinite(obs).all()
        assert np.isfinite(rewards).all()
        episodes += [info["episode"] for info in infos if "episode" in info]
    assert episodes


@pytest.mark.parametrize("masks", ["rows", "block"])
@every_id
def test_maskable_ppo_learns_and_is_evaluated(env_id, masks):
    options = next((given for name, given in OPTIONS.items() if name in env_id), {})
    venv = make_sb3_vec_env(env_id, N, seed=0, vec_env_kwargs={"masks": masks}, **options)
    model = MaskablePPO(
        "MlpPolicy",
        venv,
        n_steps=16,
        batch_size=32,
        n_epochs=1,
        policy_kwargs={"net_arch": [16]},
        device="cpu",
        seed=0,
    )
    model.learn(2 * 16 * N)
    assert model.num_timesteps == 2 * 16 * N
    rewards, lengths = evaluate_policy(model, venv, 4, return_episode_rewards=True)
    assert len(rewards) == len(lengths) == 4


def test_two_rollouts_from_one_seed_are_equal():
    """Also between the batch engine and SB3's own vector environment of references."""
    models = []
    for backend in ("auto", "auto", "reference"):
        venv = make_sb3_vec_env("SkullKingWorker-v0", N, backend, invalid_action="raise")
        model = MaskablePPO(
            "MlpPolicy", venv, n_steps=32, batch_size=64, n_epochs=2, device="cpu", seed=1
        )
        models.append(model.learn(2 * 32 * N))
    weights = [
        np.concatenate([p.detach().numpy().ravel() for p in model.policy.parameters()])
        for model in models
    ]
    assert np.array_equal(weights[0], weights[1])
    assert np.array_equal(weights[0], weights[2])
