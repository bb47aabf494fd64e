"""T9: what the replay returns is what a list of all decisions says, whatever wraps around."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fastenv.errors import ConfigError
from tests.bits import equal
from tests.tables import walk
from tests.training.dqn.twins import ListReplay
from tests.training.ppo.engines import ToyEngine
from training.dqn import replay as windows
from training.dqn.replay import ReplayLanes, TensorReplay

RECORD = np.dtype([("board", "u1", (2, 3)), ("clock", "f4")], align=True)
NAMES = ("obs", "action", "reward", "discount", "next_obs", "next_mask")


class Wild(ToyEngine):
    """Ends episodes, either way, and allows actions by chance; every observation is another."""

    num_actions = 11
    ends = 3  # one decision of so many ends an episode, half of them cut off

    def __init__(self, num_envs, has_tau=False, dtype=None):
        if dtype is not None:
            self.obs_dtype, self.obs_shape = dtype, ()
        super().__init__(num_envs)
        self.spec = type("Spec", (), {"has_tau": has_tau})

    def move(self, actions):
        how = self.draw(2 * self.ends)
        self.terminated[:] = how == 0
        self.truncated[:] = (how == 1) | ((how == 0) & (self.time % 2 == 0))  # both: it terminated
        self.reward[:] = self.draw(100).astype(np.float32) / 7
        if self.spec.has_tau:
            self.tau[:] = 1 + self.draw(5)

    def write(self, out):
        number = self.draw(2**24)
        if self.obs_dtype.names:
            out["board"] = (number[:, None, None] >> np.arange(6, dtype="u8").reshape(2, 3)) % 256
            out["clock"] = number
        else:
            out[:, 0], out[:, 1] = number, self.time

    def legal(self, out):
        bits = 1 + self.draw(2**self.num_actions - 1)
        out[:] = (bits[:, None] >> np.arange(self.num_actions, dtype="u8")) & np.uint64(1)


def as_bytes(obs):
    """An observation as the replay stores it."""
    return np.frombuffer(obs.tobytes(), np.uint8) if obs.dtype.names else obs


class Both:
    """A replay and its twin, written by the same engines."""

    def __init__(self, engines, capacity, n_step, gamma=0.9, **options):
        lanes = sum(e.num_envs for e in engines)
        self.replay = TensorReplay(engines[0], lanes, capacity, n_step, gamma, **options)
        self.twin = ListReplay(lanes, n_step)
        firsts = [sum(e.num_envs for e in engines[:k]) for k in range(len(engines))]
        parts = zip(firsts, engines, strict=True)
        self.parts = [ReplayLanes(self.replay, first, engine) for first, engine in parts]
        self.gamma, self.rows_written = gamma, 0
        for part in self.parts:
            part.engine.reset_many(5, part.slice.start, part.destination(behind=False), part.legal)
            part.store_observation(behind=False)

    def step(self, rng):
        for part in self.parts:
            engine, here = part.engine, range(part.slice.start, part.slice.stop)
            obs, mask = part.obs.numpy().copy(), part.legal.copy()
            action = rng.integers(engine.num_actions, size=engine.num_envs)
            engine.step_many(action, part.destination(behind=True), part.legal)
            part.store(torch.from_numpy(action))
            behind = self.replay.obs[(self.replay.head + 1) % self.replay.rows, part.slice]
            for k, lane in enumerate(here):
                self.twin.store(
                    lane,
                    obs=obs[k],
                    mask=mask[k],
                    action=action[k],
                    reward=float(engine.reward[k]),
                    discount=self.gamma ** int(engine.tau[k]),
                    end=1 if engine.terminated[k] else 2 if engine.truncated[k] else 0,
                    final=as_bytes(engine.final_obs[k].copy()),
                    next_obs=behind[k].numpy().copy(),
                    next_mask=part.legal[k].copy(),
                )
        self.replay.advance()
        self.rows_written += 1

    def check(self, count):
        """Compare a sample with what the twin says of the same decisions."""
        batch = self.replay.sample(count)
        for k, index in enumerate(batch.index.tolist()):
            row, lane = divmod(index, self.replay.lanes)
            age = (self.replay.head - row) % self.replay.rows
            assert self.replay.n_step <= age <= self.replay.size
            expected = self.twin.sample(lane, self.rows_written - age)
            for name in NAMES:
                ours = getattr(batch, name)[k].numpy()
                np.testing.assert_allclose(ours, expected[name], 1e-6, 1e-6, err_msg=name)
        return batch


@given(
    seed=st.integers(0, 2**32 - 1),
    n_step=st.integers(1, 5),
    rows=st.integers(6, 12),
    steps=st.integers(6, 40),
    kind=st.sampled_from(["plain", "tau", "record", "two writers"]),
)
def test_samples_are_what_a_list_of_all_decisions_says(seed, n_step, rows, steps, kind):
    dtype = RECORD if kind == "record" else None
    sizes = [2, 3] if kind == "two writers" else [4]
    engines = [Wild(k, kind == "tau", dtype) for k in sizes]
    both = Both(engines, rows * sum(sizes) + 1, n_step, seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        both.step(rng)
    both.check(32)


def test_last_observations_that_are_overwritten_are_not_drawn():
    engine = Wild(2)
    engine.ends = 1  # every episode is one decision, half of them cut off
    for alpha in (None, 0.5):
        both = Both([engine], 2 * 100, 1, alpha=alpha)
        rng = np.random.default_rng(1)
        for _ in range(250):
            both.step(rng)
        assert both.replay.finals == 12  # of some 100 that were cut off
        batch = both.check(400)
        cut = both.replay.end.view(-1)[batch.index] == 2
        oldest = both.replay.final_at.view(-1)[batch.index[cut]].min()
        assert 0 < cut.sum() < 200
        assert oldest >= both.replay._finals_seen - 12


def test_every_finished_window_is_drawn_and_nothing_else():
    both = Both([Wild(3)], 3 * 8, 2)
    rng = np.random.default_rng(2)
    for written in range(1, 20):
        both.step(rng)
        size = min(written, 7)
        assert both.replay.available == max(0, size - 1) * 3
        if both.replay.available:
            rows = {i // 3 for i in both.replay.sample(500).index.tolist()}
            assert rows == {(both.replay.head - age) % 8 for age in range(2, size + 1)}


def test_lanes_that_are_reset_between_decisions_are_cut_off():
    both = Both([Wild(4)], 4 * 10, 3)
    (part,), rng = both.parts, np.random.default_rng(3)
    part.engine.ends = 10**9
    for _ in range(4):
        both.step(rng)
    last = part.obs.clone()
    both.replay.cut()
    part.engine.reset_many(5, 99, part.destination(behind=False), part.legal)
    part.store_observation(behind=False)
    for _ in range(3):
        both.step(rng)
    before = torch.arange(3 * 4, 4 * 4)  # the last decisions
    batch = both.replay._gather(before, both.replay._windows(before), 0.0)
    assert torch.equal(batch.next_obs, last)
    np.testing.assert_allclose(batch.discount, 0.9)
    assert not torch.equal(both.replay.obs[4], last)


@given(seed=st.integers(0, 2**32 - 1), n_step=st.integers(1, 6), rows=st.integers(7, 20))
@pytest.mark.slow
def test_windows_and_masks_are_the_same_on_any_device(seed, n_step, rows):
    """What torch does where the replay is on a device, beside what Numba does in host memory."""
    draw = torch.Generator().manual_seed(seed)
    reward = torch.randn(rows, 3, generator=draw)
    discount = torch.rand(rows, 3, generator=draw)
    end = torch.randint(3, (rows, 3), generator=draw, dtype=torch.uint8)
    end *= torch.rand(rows, 3, generator=draw) < 0.3
    index = torch.randint(rows * 3, (50,), generator=draw)
    ours, theirs = (
        vars(way(index, n_step, reward, discount, end))
        for way in (windows.windows_of, windows.windows_torch)
    )
    for name, value in ours.items():
        torch.testing.assert_close(value, theirs[name], rtol=1e-6, atol=1e-6)
    packed = torch.randint(256, (rows * 3, 2), generator=draw, dtype=torch.uint8)
    for actions in (1, 8, 11, 16):
        masks = windows.unpack(packed, index, actions)
        assert torch.equal(masks, windows.unpack_torch(packed, index, actions))


@walk("alpha", [None, 0.6])
@walk("steps", [5, 30])
def test_saved_replay_goes_on_exactly(steps, alpha):
    ours, theirs = Both([Wild(4)], 4 * 9, 2, alpha=alpha), Both([Wild(4)], 4 * 9, 2, alpha=alpha)
    rng = np.random.default_rng(4)
    for _ in range(steps):
        ours.step(rng)
    ours.replay.sample(7)
    theirs.replay.load_state_dict(ours.replay.state_dict())
    theirs.replay.generator.set_state(ours.replay.generator.get_state())
    for _ in range(3):
        a, b = ours.replay.sample(64, 0.4), theirs.replay.sample(64, 0.4)
        assert equal(vars(a), vars(b))
    assert equal(ours.replay.tensors(), theirs.replay.tensors())


def test_saved_replay_goes_on_where_last_observations_have_been_overwritten():
    ours, theirs = Both([Wild(2)], 2 * 100, 1), Both([Wild(2)], 2 * 100, 1)
    ours.parts[0].engine.ends = 1
    for step in range(250):
        ours.step(np.random.default_rng(step))
    theirs.replay.load_state_dict(ours.replay.state_dict())
    last = torch.full_like(ours.replay.final_obs[:1], 7.0)
    for both in (ours, theirs):
        both.replay.keep_final(both.replay.head, np.array([1]), last)
    assert equal(ours.replay.tensors(), theirs.replay.tensors())
    assert torch.equal(ours.replay.final_obs, theirs.replay.final_obs)


def test_first_decision_of_a_run_that_goes_on_sees_what_was_shown_last():
    part = Both([Wild(3)], 3 * 8, 2).parts[0]
    obs = np.arange(part.obs.numel(), dtype=np.float32).reshape(part.obs.shape)
    legal = np.eye(3, part.engine.num_actions, k=2, dtype=np.uint8)
    part.restore(obs, legal)
    np.testing.assert_array_equal(part.obs, obs)
    np.testing.assert_array_equal(part.mask, legal)


def test_ring_of_less_than_a_window_is_refused():
    with pytest.raises(ConfigError, match=r"dqn\.capacity=11 is not possible: .* at least 12"):
        TensorReplay(Wild(3), 3, 11, 3)
