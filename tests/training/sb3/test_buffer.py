"""What the rollout buffer of sb3-contrib keeps of the lanes of an engine."""

import numpy as np
import pytest

from fastenv.adapters.sb3 import BatchVecEnv
from tests.training.sb3.models import CountingGame, learn, model


class OneBuffer(BatchVecEnv):
    """Overwrites the observation that SB3 has yet to store."""

    def _next_obs(self):
        return self._obs[0]


@pytest.mark.parametrize("masks", ["rows", "block"])
def test_observations_and_starts_are_stored_where_they_belong(masks):
    """T2: in a game that counts, the number t stands at position t."""
    (kept,) = learn(model(BatchVecEnv(CountingGame(4), masks=masks))).kept
    time = np.arange(16)[:, None] % 5
    assert np.array_equal(kept["observations"][:, :, 1], np.broadcast_to(time, (16, 4)))
    assert np.array_equal(kept["observations"][:, :, 0], np.broadcast_to(np.arange(4), (16, 4)))
    assert np.array_equal(kept["episode_starts"], np.broadcast_to(time == 0, (16, 4)))
    assert np.array_equal(kept["rewards"][:, ::2], np.broadcast_to(time + 1, (16, 2)))


def test_a_single_observation_buffer_is_noticed():
    """T2: the same check fails on an environment that writes into what it returned."""
    (kept,) = learn(model(OneBuffer(CountingGame(4)))).kept
    assert np.array_equal(kept["observations"][:4, 0, 1], [1, 2, 3, 4])
