"""Batched collection beside that of MaskablePPO."""

import numpy as np
import pytest
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecNormalize

from fastenv.adapters.sb3 import make_sb3_vec_env
from tests.slow import diagonal
from tests.training.sb3.models import learn, model, walk
from training.sb3.algo import BatchMaskablePPO
from training.sb3.buffer import FastMaskableRolloutBuffer


def assert_same_numbers(ours, theirs, iterations=4):
    """Rollouts and parameters within 1e-5."""
    seen, expected = learn(ours, iterations), learn(theirs, iterations)
    assert seen.cut > 5 * iterations
    for a, b in zip(seen.kept, expected.kept, strict=True):
        for name in ("observations", "actions", "episode_starts", "action_masks"):
            assert np.array_equal(a[name], b[name]), name
        for name in a:
            np.testing.assert_allclose(a[name], b[name], rtol=1e-5, atol=1e-5, err_msg=name)
    state = theirs.policy.state_dict()
    for name, x in ours.policy.state_dict().items():
        torch.testing.assert_close(x, state[name], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("buffer", "masks"), diagonal([None, FastMaskableRolloutBuffer], ["rows", "block"])
)
def test_numbers_are_those_of_the_stock_class(buffer, masks):
    order = {} if buffer is None else {"rollout_buffer_kwargs": {"order": "sb3"}}
    ours = model(walk(masks=masks), BatchMaskablePPO, rollout_buffer_class=buffer, **order)
    assert_same_numbers(ours, model(walk()))


def test_wrappers_that_transform_observations_are_respected():
    assert_same_numbers(
        model(VecNormalize(walk()), BatchMaskablePPO), model(VecNormalize(walk())), 2
    )


def test_truncated_lanes_share_one_forward(monkeypatch):
    made = model(walk(), BatchMaskablePPO)
    rows = []
    inner = made.policy.predict_values

    def counted(obs):
        rows.append(len(obs))
        return inner(obs)

    monkeypatch.setattr(made.policy, "predict_values", counted)
    seen = learn(made)
    assert rows.pop() == made.n_envs  # what follows the rollout
    assert sum(rows) == seen.cut > len(rows)


@pytest.mark.parametrize("monitor", [True, False])
def test_episodes_are_counted_from_the_engine(monitor):
    ours = model(walk(monitor=monitor, success_column="goal"), BatchMaskablePPO)
    theirs = model(walk(success_column="goal"))
    learn(ours, 2)
    learn(theirs, 2)
    assert len(ours.ep_info_buffer) == len(theirs.ep_info_buffer) > 10
    for a, b in zip(ours.ep_info_buffer, theirs.ep_info_buffer, strict=True):
        assert (a["r"], a["l"]) == (b["r"], b["l"])
    assert list(ours.ep_success_buffer) == list(theirs.ep_success_buffer)


def test_callback_can_end_it_and_sees_the_local_variables():
    class Once(BaseCallback):
        def _on_step(self):
            assert {"infos", "rewards", "dones", "actions", "values"} <= set(self.locals)
            return False

    made = model(walk(), BatchMaskablePPO)
    made.learn(1000, Once())
    assert made.num_timesteps == made.n_envs


def test_another_environment_is_refused():
    vec = make_sb3_vec_env("SkullKingWorker-v0", 2, "reference")
    with pytest.raises(TypeError, match="DummyVecEnv: use sb3_contrib"):
        model(vec, BatchMaskablePPO).learn(32)
