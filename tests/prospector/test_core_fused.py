"""The fused step: one pass gives what stepping, rewarding and encoding one after the other give."""

import numpy as np
import pytest

from fastenv.prospector import encoding, layout, make_game
from fastenv.prospector import tables as t
from fastenv.prospector.position import unpack
from tests.loops import Loop
from tests.prospector.games import mask_of, obs_of

core = pytest.importorskip("fastenv.prospector._core")
kernels = pytest.importorskip("fastenv.prospector.kernels")


pytestmark = pytest.mark.parity


def fused_over(n, time_max=t.TIME_MAX, **options):
    """Return rows and a loop over them, of core and kernels, bound."""
    return Loop(make_game(time_max=time_max), n, **options)


def encoded(row, time_max):
    """Return the bytes of observation, mask and info of a row as the reference writes them."""
    game, info = unpack(row, time_max), np.zeros(1, layout.INFO_DTYPE)
    info[0] = encoding.info(game)
    return obs_of(game).tobytes(), mask_of(game).tobytes(), info[0].item()


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
