"""Gymnasium's and Stable-Baselines3's suites over the environments of the Game Boy.

The reference runs some twenty frames a second: where it takes part, a step is one frame.
"""

from itertools import pairwise

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.utils.env_match import check_environments_match
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import fastenv
from tests.needs import needs_core
from tests.slow import together

IDS = (
    *("GameBoyPixels-v0", "GameBoyGoal-v0", "GameBoyOverworld-v0", "LanternWalk-v0"),
    "GameBoyLink-v0",
)
every_id = pytest.mark.parametrize("env_id", IDS)
FRAME = {"frames_per_step": 1, "release_after_frames": 1}


@needs_core
@every_id
def test_check_env_has_nothing_to_say(env_id):
    check_env(gymnasium.make(f"fastenv/{env_id}").unwrapped)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["reference", "numba", "cython"])
@pytest.mark.parametrize("env_id", [name for name in IDS if "Goal" not in name])
def test_check_env_has_nothing_to_say_of_other_backends(env_id, backend):
    check_env(gymnasium.make(f"fastenv/{env_id}", backend=backend, **FRAME).unwrapped)


@needs_core
@every_id
def test_passive_checker_stays_silent(env_id):
    env = gymnasium.make(f"fastenv/{env_id}", max_steps=40)
    env.action_space.seed(0)
    env.reset(seed=0)
    ends = 0
    for _ in range(200):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            ends += 1
            env.reset()
    assert ends
    env.close()


@needs_core
@pytest.mark.parametrize("env_id", ["GameBoyPixels-v0", "LanternWalk-v0"])
def test_environments_match_the_reference(env_id):
    reference = gymnasium.make(f"fastenv/{env_id}", backend="reference", **FRAME)
    other = gymnasium.make(f"fastenv/{env_id}", backend="fast", **FRAME)
    check_environments_match(reference, other, num_steps=4, seed=3)


@needs_core
@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("env_id", ["GameBoyGoal-v0", "LanternWalk-v0"])
def test_vector_env_equals_sync_vector_env(env_id, mode):
    """The single environments are those of Cython without Numba, whose info is plain Python's."""
    options = {"max_steps": 3, "stack_k": 1, "start_state": None}
    ours = fastenv.make_vec(env_id, 2, autoreset_mode=mode, **options)
    make = lambda: fastenv.make(env_id, backend="cython", **options)  # noqa: E731
    theirs = SyncVectorEnv([make] * 2, autoreset_mode=mode)
    rng, done, ends = np.random.default_rng(0), np.zeros(2, bool), 0
    a, b = ours.reset(seed=5), theirs.reset(seed=5)
    for step in range(10):
        assert data_equivalence(a, b, exact=True), step
        if mode == AutoresetMode.DISABLED and done.any():
            a, b = (v.reset(options={"reset_mask": done.copy()}) for v in (ours, theirs))
            done[:] = False
            continue
        actions = rng.integers(0, 8, 2)
        a, b = ours.step(actions), theirs.step(actions)
        done = a[2] | a[3]
        ends += done.sum()
    assert ends
    assert ours.observation_space == theirs.observation_space


@needs_core
@pytest.mark.parametrize(
    ("env_id", "policy"),
    together([("LanternWalk-v0", "MultiInputPolicy"), ("GameBoyPixels-v0", "CnnPolicy")], 2),
)
def test_stable_baselines_learns(env_id, policy):
    sb3 = pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.env_checker import check_env as check_sb3

    from fastenv.adapters.sb3 import make_sb3_vec_env

    options = {"max_steps": 20, "pixel_mode": "gray"}
    check_sb3(fastenv.make(env_id, **options), skip_render_check=True)
    venv = make_sb3_vec_env(env_id, 2, seed=0, **options)
    model = sb3.PPO(policy, venv, n_steps=8, batch_size=8, n_epochs=1, device="cpu", seed=0)
    assert model.learn(16).num_timesteps == 16


@needs_core
def test_an_episode_becomes_a_gif(tmp_path):
    """As docs/howto/train_gameboy.md shows it."""
    image = pytest.importorskip("PIL.Image")
    options = {"max_steps": 5, "frames_per_step": 24, "disable_env_checker": True}
    env = gymnasium.make("fastenv/LanternWalk-v0", render_mode="rgb_array", **options)
    env = gymnasium.wrappers.RenderCollection(env)
    env.reset(seed=0)
    rendered, done = [env.unwrapped.render()], False
    while not done:
        _, _, terminated, truncated, _ = env.step(5)
        rendered.append(env.unwrapped.render())
        done = terminated or truncated
    first, *others = map(image.fromarray, env.render())
    film = tmp_path / "walk.gif"
    first.save(film, save_all=True, append_images=others, duration=400, loop=0)
    with image.open(film) as found:
        assert found.size == (160, 144)
        shown = []
        for number in range(found.n_frames):
            found.seek(number)
            shown.append((np.asarray(found.convert("RGB")), found.info["duration"]))
    # A GIF keeps a frame that equals the one before by showing that one for longer.
    assert sum(duration for _, duration in shown) == 400 * len(rendered) == 400 * 6
    different = [rendered[0], *(b for a, b in pairwise(rendered) if (a != b).any())]
    assert len(shown) == len(different) > 2
    for (picture, _), wanted in zip(shown, different, strict=True):
        assert np.array_equal(picture, wanted)
