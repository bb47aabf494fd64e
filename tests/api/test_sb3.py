"""Stable-Baselines3 and sb3-contrib over every id, unmodified."""

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

from gymnasium.spaces import Dict
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import VecCheckNan, VecFrameStack, VecMonitor, VecNormalize

import fastenv
from fastenv.adapters.sb3 import make_sb3_vec_env
from tests.api.short import IDS, short
from tests.slow import diagonal

N = 4
# Where illegal actions can raise they do, so a mask that is out of step would show.
OPTIONS = {
    name: {"invalid_action": "raise"} if "SkullKing" in name else short(name) for name in IDS
}
every_id = pytest.mark.parametrize("env_id", IDS)


def parts_of(observed):
    """Return the parts of an observation or of its space, by name."""
    if isinstance(observed, (dict, Dict)):
        return {name: observed[name] for name in observed}
    return {"": observed}


# What SB3 would rather have than planes, which it takes all the same.
@pytest.mark.filterwarnings("ignore:Your observation .*has an unconventional shape")
@pytest.mark.filterwarnings("ignore:It seems that your observation .*is an image")
@pytest.mark.filterwarnings("ignore:The minimal resolution for an image")
@pytest.mark.parametrize(("env_id", "backend"), diagonal(IDS, ["reference", "fast"]))
def test_check_env_has_nothing_to_say(env_id, backend):
    drawn = "ansi" in fastenv.make_game(env_id).spec.render_modes
    env = fastenv.make(env_id, backend=backend, render_mode="ansi" if drawn else None)
    check_env(env, skip_render_check=not drawn)


@every_id
def test_vec_env_wrappers_work_on_top(env_id):
    venv = make_sb3_vec_env(env_id, N, seed=0, vec_env_kwargs={"monitor": False}, **short(env_id))
    venv = VecCheckNan(VecNormalize(VecFrameStack(VecMonitor(venv), 2)), raise_exception=True)
    shown, spaces = parts_of(venv.reset()), parts_of(venv.observation_space)
    assert {name: part.shape for name, part in shown.items()} == {
        name: (N, *space.shape) for name, space in spaces.items()
    }
    assert is_masking_supported(venv)
    episodes, steps = [], 0
    while steps < 150 or not episodes:
        assert steps < 10_000, "no episode ends"
        steps += 1
        actions = fastenv.sample_legal(get_action_masks(venv), 0)
        obs, rewards, _, infos = venv.step(actions)
        assert all(np.isfinite(part).all() for part in parts_of(obs).values())
        assert np.isfinite(rewards).all()
        episodes += [info["episode"] for info in infos if "episode" in info]


@pytest.mark.parametrize(("env_id", "masks"), diagonal(IDS, ["rows", "block"]))
def test_maskable_ppo_learns_and_is_evaluated(env_id, masks):
    venv = make_sb3_vec_env(env_id, N, seed=0, vec_env_kwargs={"masks": masks}, **OPTIONS[env_id])
    model = MaskablePPO(
        "MultiInputPolicy" if isinstance(venv.observation_space, Dict) else "MlpPolicy",
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
