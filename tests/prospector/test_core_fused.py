"""The fused step: one pass gives what stepping, rewarding and encoding one after the other give."""

import numpy as np
import pytest

from fastenv.prospector import encoding, layout, make_game
from fastenv.prospector import tables as t
from fastenv.prospector.position import unpack
from tests.loops import Loop
from tests.prospector.games import mask_of, obs_of, pay

core = pytest.importorskip("fastenv.prospector._core")
kernels = pytest.importorskip("fastenv.prospector.kernels")

from tests.prospector.test_core import OUT_OF_RANGE, core_over  # noqa: E402
from tests.tables import walk  # noqa: E402

pytestmark = pytest.mark.parity


def fused_over(n, time_max=t.TIME_MAX, **options):
    """Return rows and a loop over them, of core and kernels, bound."""
    return Loop(make_game(time_max=time_max), n, **options)


def encoded(row, time_max):
    """Return the bytes of observation, mask and info of a row as the reference writes them."""
    game, info = unpack(row, time_max), np.zeros(1, layout.INFO_DTYPE)
    info[0] = encoding.info(game)
    return obs_of(game).tobytes(), mask_of(game).tobytes(), info[0].item()


def check_lane(fused, plain, i, ended, before):
    """Compare lane ``i`` with a plainly stepped row; ``ended`` is that row before a reset."""
    out, time_max = fused.out, float(fused.game.rules["time_max"][0])
    assert (out.obs[i].tobytes(), out.mask[i].tobytes(), out.info[i].item()) == encoded(
        plain, time_max
    )
    game = unpack(ended, time_max)
    game.ep_return, game.ep_length = before
    _, terms = encoding.reward(game)
    assert out.reward[i] == pay(game)
    assert out.terms[i].item() == terms
    assert out.tau[i] == 1
    assert (out.terminated[i], out.truncated[i]) == (game.done == 1, game.done == 2)
    if game.done:
        obs, _, info = encoded(ended, time_max)
        assert (out.final_obs[i].tobytes(), out.final_info[i].item()) == (obs, info)
        sums = (game.ep_return, game.ep_length, game.ep_length)
        assert (out.ep_return[i], out.ep_length[i], out.ep_frames[i]) == sums
    return game.ep_return, game.ep_length


@pytest.mark.parametrize("autoreset", [True, False])
def test_fused_steps_are_plain_steps_encoded(autoreset):
    n, rng = 6, np.random.default_rng(3)
    fused, plain = fused_over(n, 60.0), core_over(n, 60.0)
    fused.out.tau[:] = 1  # as the engine has it in games whose decisions do not last
    for batch in (fused, plain):
        batch.reset(range(n))
    fused.observe()
    out, sums = fused.out, [(0.0, 0)] * n
    ends = 0
    for _ in range(60):
        select = (rng.random(n) < 0.9).view(np.uint8)
        if not autoreset:
            select &= plain.rows["done"] == 0
        actions = rng.integers(-2, 71, n).astype(np.int32)
        actions[rng.random(n) < 0.5] = rng.integers(0, 31)
        actions[rng.random(n) < 0.02] = rng.choice(OUT_OF_RANGE)
        old = {name: value.copy() for name, value in fused.outputs().items()}
        fused.fused(actions, select, autoreset)
        plain.step(actions, select)
        ended = plain.complete()
        done = (plain.rows["done"] != 0).view(np.uint8) & select
        if autoreset:
            plain.reset(select=done)
        now, complete = fused.complete(), plain.complete()
        for i in range(n):
            if select[i]:
                sums[i] = check_lane(fused, complete[i], i, ended[i], sums[i])
                ends += done[i]
                if done[i] and autoreset:
                    sums[i] = (0.0, 0)
            else:
                assert out.reward[i] == out.terminated[i] == out.truncated[i] == 0
                assert not any(out.terms[i].item())
                assert out.obs[i].tobytes() == old["obs"][i].tobytes()
                assert out.info[i].item() == old["info"][i].item()
            if not done[i]:
                assert out.final_obs[i].tobytes() == old["final_obs"][i].tobytes()
            assert (now["ep_return"][i], now["ep_length"][i]) == sums[i]
        now["ep_return"], now["ep_length"] = complete["ep_return"], complete["ep_length"]
        assert now.tobytes() == complete.tobytes()
    assert ends > 3


@walk("n", [1, 2, 5, 64])
@walk("num_threads", [2, 3])
def test_results_do_not_depend_on_threads(n, num_threads):
    one, many = fused_over(n, 200.0), fused_over(n, 200.0, num_threads=num_threads)
    rng = np.random.default_rng(n)
    for batch in (one, many):
        batch.reset(range(n))
        batch.observe()
    for _ in range(50):
        actions = rng.integers(0, t.NUM_ACTIONS, n)
        one.fused(actions)
        many.fused(actions)
        for name, value in one.outputs().items():
            assert value.tobytes() == many.outputs()[name].tobytes(), name
    assert one.complete().tobytes() == many.complete().tobytes()


def test_rows_from_outside_are_seen_once_they_are_derived():
    one, other = fused_over(1), fused_over(1)
    one.reset([3])
    other.reset([8])
    for action in (0, 12, 28):
        one.fused(action)
    other.observe()
    other.rows[:] = one.rows
    other.loop.derive(other.all)
    other.observe()
    for action in (6, 6):
        one.fused(action)
        other.fused(action)
        assert other.out.obs.tobytes() == one.out.obs.tobytes()


def test_plain_steps_and_resets_between_fused_ones_are_seen():
    batch = fused_over(1)
    batch.reset([3])
    batch.fused(6)
    for change in (lambda: batch.step(0), lambda: batch.step(12), lambda: batch.reset([4])):
        change()
        batch.fused(6)
        assert batch.out.obs[0].tobytes() == encoded(batch.complete()[0], t.TIME_MAX)[0]


def test_output_rows_may_change_from_step_to_step():
    batch, rollout = fused_over(4), np.full((20, 4, 260), 7, np.float32)
    batch.reset(range(4))
    batch.observe()
    for k, batch.out.obs in enumerate(rollout):
        batch.fused([0, 6, 8, k])
        for i, row in enumerate(batch.complete()):
            assert batch.out.obs[i].tobytes() == encoded(row, t.TIME_MAX)[0]
