"""The rollout buffer beside that of sb3-contrib."""

import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer

from fastenv.adapters.sb3 import BatchVecEnv
from tests.training.sb3.models import CountingGame, learn, model, walk
from training.run.envs import make_engine
from training.sb3.algo import BatchMaskablePPO
from training.sb3.buffer import FastMaskableRolloutBuffer

DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.gpu),
]


def worker():
    return BatchVecEnv(make_engine("SkullKingWorker-v0", 8))


class OneBuffer(BatchVecEnv):
    """Overwrites the observation that SB3 has yet to store."""

    def _next_obs(self):
        return self._obs[0]


@pytest.fixture
def filled():
    """A buffer of 4 steps of 3 lanes whose rewards are 0 to 11 in time-major order."""
    one, act = spaces.Box(-1, 1, (2,)), spaces.Discrete(5)
    buffer = FastMaskableRolloutBuffer(4, one, act, "cpu", 0.9, 0.99, 3)
    fill(buffer)
    return buffer


def fill(buffer, masked=True):
    for t in range(4):
        number = 3 * t + np.arange(3, dtype=np.float32)
        mask = np.arange(5) <= number[:, None] % 5
        buffer.add(
            np.stack([number, -number], 1),
            number.astype(np.int64) % 5,
            number,
            number == 4,
            torch.from_numpy(number)[:, None],
            torch.from_numpy(-number),
            action_masks=mask if masked else None,
        )
    buffer.compute_returns_and_advantage(torch.ones(3, 1), np.zeros(3, bool))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("make", [walk, worker])
def test_parameters_equal_those_of_the_stock_buffer(make, device):
    """T3: four iterations, episodes cut off among them, bit for bit."""
    ours = model(
        make(),
        rollout_buffer_class=FastMaskableRolloutBuffer,
        rollout_buffer_kwargs={"order": "sb3"},
        device=device,
    )
    theirs = model(make(), device=device)
    seen, expected = learn(ours, 4), learn(theirs, 4)
    assert type(theirs.rollout_buffer) is MaskableRolloutBuffer
    if make is walk:
        assert seen.cut > 20
    assert seen.ended > 20
    for a, b in zip(seen.kept, expected.kept, strict=True):
        for name in a:
            assert np.array_equal(a[name], b[name]), name
    state = theirs.policy.state_dict()
    assert all(torch.equal(x, state[name]) for name, x in ours.policy.state_dict().items())


@pytest.mark.parametrize("algorithm", [None, BatchMaskablePPO])
@pytest.mark.parametrize("buffer", [None, FastMaskableRolloutBuffer])
@pytest.mark.parametrize("masks", ["rows", "block"])
def test_observations_and_starts_are_stored_where_they_belong(algorithm, buffer, masks):
    """T2: in a game that counts, the number t stands at position t."""
    kind = {} if algorithm is None else {"algorithm": algorithm}
    vec = BatchVecEnv(CountingGame(4), masks=masks)
    (kept,) = learn(model(vec, rollout_buffer_class=buffer, **kind)).kept
    time = np.arange(16)[:, None] % 5
    assert np.array_equal(kept["observations"][:, :, 1], np.broadcast_to(time, (16, 4)))
    assert np.array_equal(kept["observations"][:, :, 0], np.broadcast_to(np.arange(4), (16, 4)))
    assert np.array_equal(kept["episode_starts"], np.broadcast_to(time == 0, (16, 4)))
    assert np.array_equal(kept["rewards"][:, ::2], np.broadcast_to(time + 1, (16, 2)))


@pytest.mark.parametrize("buffer", [None, FastMaskableRolloutBuffer])
def test_a_single_observation_buffer_is_noticed(buffer):
    """T2: the same check fails on an environment that writes into what it returned."""
    (kept,) = learn(model(OneBuffer(CountingGame(4)), rollout_buffer_class=buffer)).kept
    assert np.array_equal(kept["observations"][:4, 0, 1], [1, 2, 3, 4])


@pytest.mark.parametrize("order", ["time", "sb3"])
def test_minibatches_are_the_rollout_shuffled(filled, order):
    filled.order = order
    batches = list(filled.get(5))
    assert [len(batch.actions) for batch in batches] == [5, 5, 2]
    number = torch.cat([batch.old_values for batch in batches])
    assert number.sort().values.tolist() == list(range(12))
    advantage, returns = filled.advantages.reshape(-1), filled.returns.reshape(-1)
    for batch in batches:
        number = batch.old_values
        assert torch.equal(batch.observations, torch.stack([number, -number], 1))
        assert torch.equal(batch.actions, (number.long() % 5)[:, None])
        assert torch.equal(batch.old_log_prob, -number)
        assert torch.equal(batch.action_masks, torch.arange(5) <= number[:, None] % 5)
        assert batch.action_masks.dtype == torch.bool
        assert np.array_equal(batch.advantages, advantage[number.long()])
        assert np.array_equal(batch.returns, returns[number.long()])


def test_storage_is_allocated_once(filled):
    names = ("observations", "actions", "rewards", "values", "returns", "action_masks")
    before = {name: getattr(filled, name).ctypes.data for name in names}
    list(filled.get(4))
    filled.reset()
    assert (filled.pos, filled.full) == (0, False)
    fill(filled)
    list(filled.get(4))
    assert before == {name: getattr(filled, name).ctypes.data for name in names}


def test_minibatches_are_copies(filled):
    batch = next(filled.get())
    kept = batch.observations.clone()
    filled.observations[:] = 0.5
    assert torch.equal(batch.observations, kept)


def test_without_masks_every_action_is_legal(filled):
    filled.reset()
    fill(filled, masked=False)
    assert filled.action_masks.all()


def test_incomplete_rollout_is_not_sampled(filled):
    filled.reset()
    with pytest.raises(RuntimeError, match="not complete"):
        next(filled.get())


@pytest.mark.parametrize(
    ("seen", "act", "options", "named"),
    [
        (spaces.Box(0, 1, (1,)), spaces.Discrete(2), {"order": "lane"}, "order='lane'"),
        (spaces.Dict({"a": spaces.Box(0, 1, (1,))}), spaces.Discrete(2), {}, "Dict"),
        (spaces.Box(0, 1, (1,)), spaces.Box(0, 1, (1,)), {}, "action masks"),
    ],
)
def test_what_cannot_be_stored_is_refused(seen, act, options, named):
    with pytest.raises(ValueError, match=named):
        FastMaskableRolloutBuffer(4, seen, act, "cpu", n_envs=2, **options)


@pytest.mark.parametrize(
    ("space", "width"),
    [(spaces.Discrete(4), 4), (spaces.MultiDiscrete([2, 3]), 5), (spaces.MultiBinary(3), 6)],
)
def test_masks_are_as_wide_as_those_of_sb3_contrib(space, width):
    theirs = MaskableRolloutBuffer(2, spaces.Box(0, 1, (1,)), space, "cpu", n_envs=2)
    ours = FastMaskableRolloutBuffer(2, spaces.Box(0, 1, (1,)), space, "cpu", n_envs=2)
    assert ours.action_masks.shape == theirs.action_masks.shape == (2, 2, width)
