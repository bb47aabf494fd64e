"""Gymnasium's suites over the environments of Dr. Mario, whose observations are planes."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.utils.env_match import check_environments_match
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import fastenv

IDS = ("DrMarioFrame-v0", "DrMarioPlacement-v0")
BACKENDS = ("reference", "numba", "cython", "fast")
N = 2
every_id = pytest.mark.parametrize("env_id", IDS)


@pytest.mark.parametrize("backend", BACKENDS)
@every_id
def test_check_env_has_nothing_to_say(env_id, backend):
    check_env(gymnasium.make(f"fastenv/{env_id}", backend=backend).unwrapped)


@every_id
def test_passive_checker_stays_silent(env_id):
    env = gymnasium.make(f"fastenv/{env_id}", speed="high", level=20)
    env.action_space.seed(0)
    _, info = env.reset(seed=0)
    ends = 0
    for step in range(8000):
        mask = info["action_mask"] if step % 3 else None
        _, _, terminated, truncated, info = env.step(env.action_space.sample(mask))
        if terminated or truncated:
            ends += 1
            _, info = env.reset()
    assert ends
    env.close()


@pytest.mark.parametrize("backend", BACKENDS[1:])
@every_id
def test_environments_match_the_reference(env_id, backend):
    reference = gymnasium.make(f"fastenv/{env_id}", backend="reference")
    other = gymnasium.make(f"fastenv/{env_id}", backend=backend)
    check_environments_match(reference, other, num_steps=15, seed=3)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_vector_env_equals_sync_vector_env_of_references(mode):
    ours = fastenv.make_vec(IDS[1], N, autoreset_mode=mode, level=20)
    make = lambda: fastenv.make(IDS[1], backend="reference", level=20)  # noqa: E731
    theirs = SyncVectorEnv([make] * N, autoreset_mode=mode)
    rng, done, ends = np.random.default_rng(0), np.zeros(N, bool), 0
    a, b = ours.reset(seed=5), theirs.reset(seed=5)
    for step in range(60):
        assert data_equivalence(a, b, exact=True), step
        if mode == AutoresetMode.DISABLED and done.any():
            a, b = (v.reset(options={"reset_mask": done.copy()}) for v in (ours, theirs))
            done[:] = False
            continue
        actions = fastenv.sample_legal(ours.action_masks(), rng)
        a, b = ours.step(actions), theirs.step(actions)
        done = a[2] | a[3]
        ends += done.sum()
    assert ends
