"""The fused step: one pass gives what stepping, rewarding and encoding one after the other give."""

import numpy as np
import pytest

from fastenv.prospector import encoding, layout
from fastenv.prospector import tables as t
from fastenv.prospector.position import unpack

core = pytest.importorskip("fastenv.prospector._core")
kernels = pytest.importorskip("fastenv.prospector.kernels")

from tests.prospector.test_core import OUT_OF_RANGE, Batch  # noqa: E402

pytestmark = pytest.mark.parity
INFO, TERMS = len(layout.INFO_COLUMNS), len(layout.REWARD_TERMS)
KEPT = ("reward", "columns", "terminated", "truncated", "info", "ep_return", "ep_length")
FINAL = ("final_info", "final_obs")


class Fused(Batch):
    """A batch with buffers, bound."""

    def __init__(self, n, info=range(INFO), terms=range(TERMS), **options):
        super().__init__(n, **options)
        n = len(self.rows)
        self.obs, self.mask = np.full((n, 260), 7, np.float32), np.full((n, 69), 7, np.uint8)
        self.reward, self.columns = np.full(n, 7.0), np.full((n, len(terms)), 7.0)
        self.terminated, self.truncated = np.full(n, 7, np.uint8), np.full(n, 7, np.uint8)
        self.info, self.final_info = np.full((2, n, len(info)), 7.0)
        self.final_obs = np.full((n, 260), 7, np.float32)
        self.ep_return, self.ep_length = np.full(n, 7.0), np.full(n, 7, np.int32)
        self.wanted = [np.array(w, np.int32) for w in (info, terms)]
        self.bind()

    def bind(self, **changes):
        names = ("reward", "columns", "terminated", "truncated", "info", *FINAL, *KEPT[-2:])
        buffers = {name: getattr(self, name) for name in names} | changes
        addresses = buffers.pop("addresses", kernels.addresses())
        self.core.bind(addresses, *buffers.values(), *self.wanted)

    def observe(self, select=None):
        self.core.observe(select, self.obs, self.mask)

    def step_fused(self, actions, select=None, autoreset=True):
        actions = np.ascontiguousarray(np.broadcast_to(actions, len(self.rows)), np.int32)
        self.core.step_fused(actions, select, autoreset, self.obs, self.mask)

    def outputs(self):
        return {name: getattr(self, name) for name in ("obs", "mask", *KEPT, *FINAL)}


def encoded(row, time_max):
    """Return observation, mask and info of a row as the reference writes them."""
    game = unpack(row, time_max)
    obs, mask, info = np.empty(260, np.float32), np.empty(69, np.uint8), np.empty(INFO)
    encoding.encode_obs(game, obs)
    encoding.action_mask(game, mask)
    encoding.info(game, info)
    return obs, mask, info


def check_lane(fused, plain, i, ended, before):
    """Compare lane ``i`` with a plainly stepped row; ``ended`` is that row before a reset."""
    obs, mask, info = encoded(plain, fused.rules["time_max"][0])
    assert fused.obs[i].tobytes() == obs.tobytes()
    assert fused.mask[i].tobytes() == mask.tobytes()
    assert fused.info[i].tobytes() == info.tobytes()
    game = unpack(ended, fused.rules["time_max"][0])
    game.ep_return, game.ep_length = before
    reward, terms = encoding.apply_reward(game)
    assert fused.reward[i] == reward
    assert tuple(fused.columns[i]) == tuple(terms)
    assert (fused.terminated[i], fused.truncated[i]) == (game.done == 1, game.done == 2)
    if game.done:
        obs, _, info = encoded(ended, fused.rules["time_max"][0])
        assert fused.final_obs[i].tobytes() == obs.tobytes()
        assert fused.final_info[i].tobytes() == info.tobytes()
        assert (fused.ep_return[i], fused.ep_length[i]) == (game.ep_return, game.ep_length)
    return game.ep_return, game.ep_length


@pytest.mark.parametrize("autoreset", [True, False])
def test_fused_steps_are_plain_steps_encoded(autoreset):
    n, rng = 6, np.random.default_rng(3)
    fused, plain = Fused(n, time_max=60.0), Batch(n, time_max=60.0)
    for batch in (fused, plain):
        batch.reset(range(n))
    fused.observe()
    sums = [(0.0, 0)] * n
    ends = 0
    for _ in range(60):
        select = (rng.random(n) < 0.9).view(np.uint8)
        if not autoreset:
            select &= plain.rows["done"] == 0
        actions = rng.integers(-2, 71, n).astype(np.int32)
        actions[rng.random(n) < 0.5] = rng.integers(0, 31)
        actions[rng.random(n) < 0.02] = rng.choice(OUT_OF_RANGE)
        old = {name: value.copy() for name, value in fused.outputs().items()}
        fused.step_fused(actions, select, autoreset)
        plain.core.step(actions, select)
        ended = plain.complete()
        done = (plain.rows["done"] != 0).view(np.uint8) & select
        if autoreset:
            plain.core.reset(done, None)
        now, complete = fused.complete(), plain.complete()
        for i in range(n):
            if select[i]:
                sums[i] = check_lane(fused, complete[i], i, ended[i], sums[i])
                ends += done[i]
                if done[i] and autoreset:
                    sums[i] = (0.0, 0)
            else:
                assert fused.reward[i] == fused.terminated[i] == fused.truncated[i] == 0
                assert not fused.columns[i].any()
                assert fused.obs[i].tobytes() == old["obs"][i].tobytes()
                assert fused.info[i].tobytes() == old["info"][i].tobytes()
            if not done[i]:
                assert fused.final_obs[i].tobytes() == old["final_obs"][i].tobytes()
            assert (now["ep_return"][i], now["ep_length"][i]) == sums[i]
        now["ep_return"], now["ep_length"] = complete["ep_return"], complete["ep_length"]
        assert now.tobytes() == complete.tobytes()
    assert ends > 3


@pytest.mark.parametrize("n", [1, 2, 5, 64])
@pytest.mark.parametrize("num_threads", [2, 3])
def test_results_do_not_depend_on_threads(n, num_threads):
    one, many = Fused(n, time_max=200.0), Fused(n, time_max=200.0, num_threads=num_threads)
    rng = np.random.default_rng(n)
    for batch in (one, many):
        batch.reset(range(n))
        batch.observe()
    for _ in range(50):
        actions = rng.integers(0, t.NUM_ACTIONS, n)
        one.step_fused(actions)
        many.step_fused(actions)
        for name, value in one.outputs().items():
            assert value.tobytes() == many.outputs()[name].tobytes(), name
    assert one.complete().tobytes() == many.complete().tobytes()


@pytest.mark.parametrize(
    ("info", "terms"), [([], []), ([19, 0, 5], [10]), ([3], []), ([], [2, 1]), (range(20), [0])]
)
def test_only_wanted_columns_are_written(info, terms):
    whole, some = Fused(8, time_max=50.0), Fused(8, info, terms, time_max=50.0)
    rng = np.random.default_rng(1)
    for batch in (whole, some):
        batch.reset(range(8))
        batch.observe()
    for _ in range(40):
        actions = rng.integers(0, t.NUM_ACTIONS, 8)
        whole.step_fused(actions)
        some.step_fused(actions)
        assert some.reward.tobytes() == whole.reward.tobytes()
        assert some.columns.tobytes() == whole.columns[:, list(terms)].tobytes()
        assert some.info.tobytes() == whole.info[:, list(info)].tobytes()
        assert some.final_info.tobytes() == whole.final_info[:, list(info)].tobytes()


def test_observe_sees_rows_from_outside():
    one, other = Fused(1), Fused(1)
    one.reset([3])
    other.reset([8])
    for action in (0, 12, 28):
        one.step_fused(action)
    other.observe()
    other.rows[:] = one.rows
    other.observe()
    for action in (6, 6):
        one.step_fused(action)
        other.step_fused(action)
        assert other.obs.tobytes() == one.obs.tobytes()


def test_plain_steps_and_resets_between_fused_ones_are_seen():
    batch = Fused(1)
    batch.reset([3])
    batch.step_fused(6)
    for change in (lambda: batch.step(0), lambda: batch.step(12), lambda: batch.reset([4])):
        change()
        batch.step_fused(6)
        obs, _, _ = encoded(batch.complete()[0], t.TIME_MAX)
        assert batch.obs[0].tobytes() == obs.tobytes()


def test_output_rows_may_change_from_step_to_step():
    batch, rollout = Fused(4), np.full((20, 4, 260), 7, np.float32)
    batch.reset(range(4))
    batch.observe()
    for k, obs in enumerate(rollout):
        batch.core.step_fused(np.array([0, 6, 8, k], np.int32), None, True, obs, batch.mask)
        for i, row in enumerate(batch.complete()):
            assert obs[i].tobytes() == encoded(row, t.TIME_MAX)[0].tobytes()


def test_binding_is_checked():
    batch = Fused(3)
    with pytest.raises(RuntimeError, match="bind"):
        Batch(3).core.step_fused(np.zeros(3, np.int32), None, True, batch.obs, batch.mask)
    for name, value in {
        "reward": np.zeros(2),
        "columns": np.zeros((3, 10)),
        "info": np.zeros((3, 19)),
        "final_info": np.zeros((4, 20)),
        "final_obs": np.zeros((3, 259), np.float32),
        "ep_length": np.zeros(3),
        "addresses": (1, 2, 3),
    }.items():
        with pytest.raises(ValueError, match=r"rows|column|width|dtype|values"):
            batch.bind(**{name: value})
    batch.wanted[0] = np.full(20, 20, np.int32)
    with pytest.raises(ValueError, match="no column 20"):
        batch.bind()
    for obs, mask in (
        (batch.obs[:2], batch.mask),
        (batch.obs[:, :259].copy(), batch.mask),
        (batch.obs, batch.mask[:, :68].copy()),
    ):
        with pytest.raises(ValueError, match=r"rows|width"):
            batch.core.step_fused(np.zeros(3, np.int32), None, True, obs, mask)
        with pytest.raises(ValueError, match=r"rows|width"):
            batch.core.observe(None, obs, mask)
