"""The vector environment, on a toy game: beside Gymnasium's own, in each autoreset mode."""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import fastenv
from fastenv.env import FastEnv
from fastenv.vector import FastVectorEnv, sample_legal
from tests.tables import walk
from tests.toy import WalkGame

MODES = list(AutoresetMode)
N = 4


def pair(mode, backend="auto", n=N):
    ours = FastVectorEnv(WalkGame(), n, backend=backend, autoreset_mode=mode)
    single = [lambda: FastEnv(WalkGame(), backend="reference")] * n
    return ours, SyncVectorEnv(single, autoreset_mode=mode)


@pytest.mark.parametrize("mode", ["next_step", "NextStep", "NEXT_STEP", AutoresetMode.NEXT_STEP])
def test_the_mode_may_be_a_name_or_a_member(mode):
    vec = FastVectorEnv(WalkGame(), 2, autoreset_mode=mode)
    assert vec.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    with pytest.raises(fastenv.ConfigError, match="'next_step', 'same_step', 'disabled'"):
        FastVectorEnv(WalkGame(), 2, autoreset_mode="later")


def test_actions_of_ended_lanes_are_ignored_with_next_step():
    vec, _ = pair(AutoresetMode.NEXT_STEP)
    vec.reset(seed=0)
    done = np.zeros(N, bool)
    while not done.any():
        _, _, terminated, truncated, _ = vec.step(np.ones(N, int))
        done = terminated | truncated
    actions = np.where(done, 1000, 1)
    _, reward, terminated, truncated, _ = vec.step(actions)
    assert not reward[done].any()
    assert not (terminated | truncated)[done].any()


def test_ended_lanes_must_be_reset_when_autoreset_is_disabled():
    vec, _ = pair(AutoresetMode.DISABLED)
    with pytest.raises(fastenv.ResetNeededError, match="lane 0"):
        vec.step(np.ones(N, int))
    vec.reset(seed=0)
    done = np.zeros(N, bool)
    while not done.any():
        _, _, terminated, truncated, _ = vec.step(np.ones(N, int))
        done = terminated | truncated
    before = vec.get_states()
    with pytest.raises(fastenv.ResetNeededError, match=f"lane {done.argmax()}"):
        vec.step(np.ones(N, int))
    assert np.array_equal(before, vec.get_states())


def test_bad_reset_masks_are_refused():
    vec, _ = pair(AutoresetMode.DISABLED)
    vec.reset(seed=0)
    for wrong in (np.ones(N, int), [True] * N):
        with pytest.raises(TypeError, match="bool array"):
            vec.reset(options={"reset_mask": wrong})
    for wrong in (np.zeros(N, bool), np.ones(N + 1, bool)):
        with pytest.raises(ValueError, match="shape"):
            vec.reset(options={"reset_mask": wrong})


def test_lanes_can_be_configured_called_and_rendered():
    vec = FastVectorEnv(WalkGame(), N, render_mode="ansi")
    with pytest.raises(fastenv.ResetNeededError):
        vec.render()
    vec.reset(seed=0)
    vec.configure("limit", 3, 1)
    vec.set_attr("limit", [4, 5, 6, 7])
    assert vec.get_attr("limit") == (4, 5, 6, 7)
    assert vec.call("render_mode") == ("ansi",) * N
    assert [m.shape for m in vec.call("action_masks")] == [(3,)] * N
    assert vec.call("position") == tuple(vec.engine.info["position"])
    assert len(vec.render()) == N
    assert vec.render() == vec.call("render")
    with pytest.raises(AttributeError):
        vec.call("colour")
    vec.close()
    vec.close()


@pytest.mark.parametrize("mode", AutoresetMode)
def test_nothing_moves_between_close_and_reset(mode):
    vec = FastVectorEnv(WalkGame(), N, autoreset_mode=mode)
    vec.reset(seed=0)
    vec.close()
    rows, actions = vec.get_states(), np.zeros(N, int)
    for step in (lambda: vec.step(actions), lambda: vec.step_into(actions, {})):
        with pytest.raises(fastenv.ResetNeededError, match="closed"):
            step()
    assert np.array_equal(vec.get_states(), rows)
    vec.reset(seed=0)
    vec.step(actions)


@walk("out", [3, None, [], "obs", {"colour": None}, {3: None}], ids=repr)
def test_destinations_without_a_known_name_are_refused(out):
    vec = FastVectorEnv(WalkGame(), N)
    vec.reset(seed=0)
    rows = vec.get_states()
    with pytest.raises(TypeError, match=r"^out.* of obs, mask, reward, terminated, truncated, tau"):
        vec.step_into(np.zeros(N, int), out)
    assert np.array_equal(vec.get_states(), rows)


def test_unseeded_lanes_draw_from_np_random():
    a, b = (FastVectorEnv(WalkGame(), N) for _ in range(2))
    a.np_random, b.np_random = np.random.default_rng(1), np.random.default_rng(1)
    assert np.array_equal(a.reset()[0], b.reset()[0])
    assert np.array_equal(a.get_states(), b.get_states())


def test_seeds_of_lanes_are_told_as_by_sync_vector_env():
    ours, theirs = pair(AutoresetMode.NEXT_STEP)
    assert ours.np_random_seed == (None,) * N
    ours.reset()
    drawn = ours.np_random_seed
    rows = ours.get_states()
    ours.reset(seed=list(drawn))
    assert np.array_equal(ours.get_states(), rows)
    lists = [list(range(5, 5 + 4 * N, 4)), [None, *range(70, 69 + N)]]
    some = {"reset_mask": np.arange(N) % 2 == 0}
    for seed, options in ((3, None), *((each, None) for each in lists), (90, some), (None, None)):
        for vec in (ours, theirs):
            vec.reset(seed=seed, options=options)
        assert ours.np_random_seed == theirs.np_random_seed


@pytest.mark.parametrize(
    ("seed", "most"),
    [
        (-1, N),
        (2**64 - N + 1, N),
        ([*range(1, N), -4], 1),
        ([*[None] * (N - 1), 2**64], 1),
        (np.arange(N) - 1, 1),
    ],
    ids=range(5),
)
def test_seeds_of_lanes_are_checked_as_single_ones(seed, most):
    vec = FastVectorEnv(WalkGame(), N)
    vec.reset(seed=2**64 - N)
    before, stream = vec.get_states(), vec.np_random
    says = rf"^seed=.*: it must be from 0 to 2\*\*64 - {most} in {N} lanes\.$"
    with pytest.raises(fastenv.ConfigError, match=says):
        vec.reset(seed=seed)
    assert np.array_equal(vec.get_states(), before)
    assert vec.np_random is stream
    assert vec.np_random_seed[-1] == 2**64 - 1


def test_sample_legal_is_uniform_over_legal_actions():
    masks = np.tile(np.array([0, 1, 0, 1, 1], np.uint8), (30_000, 1))
    masks[::2] = [1, 0, 0, 0, 0]
    actions = sample_legal(masks, np.random.default_rng(0))
    assert actions.dtype == np.int32
    assert not actions[::2].any()
    counts = np.bincount(actions[1::2], minlength=5)
    assert counts[[0, 2]].sum() == 0
    assert abs(counts[[1, 3, 4]] / 15_000 - 1 / 3).max() < 0.02
    assert np.array_equal(sample_legal(masks, 3), sample_legal(masks.astype(bool), 3))
    with pytest.raises(ValueError, match="lane 1"):
        sample_legal(np.array([[1, 0], [0, 0]]))
    with pytest.raises(ValueError, match="shape"):
        sample_legal(np.ones(3))
