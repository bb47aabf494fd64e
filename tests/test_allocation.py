"""Thousands of steps allocate nothing: a block left at every hundredth of them would be seen."""

import gc
import sys
import tracemalloc

import numpy as np
import pytest

import fastenv
from fastenv.vector import allocate
from tests.needs import needs_core
from tests.slow import late, together

pytestmark = pytest.mark.usefixtures("only_own_garbage")
MANY = [2_500, pytest.param(10_000, marks=pytest.mark.slow)]
every_number = pytest.mark.parametrize("steps", MANY)


def leaves_nothing(step, steps):
    """Call ``step`` many times; compare blocks and bytes before and after, then the peak."""
    for i in range(200):
        step(i)
    gc.collect()
    blocks = sys.getallocatedblocks()
    for i in range(steps):
        step(i)
    gc.collect()
    assert abs(sys.getallocatedblocks() - blocks) < 20
    tracemalloc.start()
    try:
        step(0)
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        for i in range(200):
            step(i)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 2_000
    assert peak - before < 8_000  # a few scalars in flight, no array with a row a lane


@needs_core
@every_number
@pytest.mark.parametrize("tier", ["Flat", *late("Manager", "Worker", "Ability")])
def test_engine_and_step_into(tier, steps):
    n = 64
    vec = fastenv.make_vec(
        f"SkullKing{tier}-v0", n, backend="fast", autoreset_mode="same_step", invalid_action="raise"
    )
    vec.reset(seed=0)
    assert vec.engine.obs[:1].nbytes * n > 8_000
    out, actions, wide = allocate(vec), np.zeros(n, np.int32), np.zeros(n, np.int64)
    ended = [0]

    def engine_step(_):
        vec.engine.mask.argmax(axis=1, out=wide)
        np.copyto(actions, wide, casting="same_kind")
        vec.engine.step_many(actions)
        ended[0] += int(vec.engine.terminated.sum())

    def step_into(_):
        out.mask.argmax(axis=1, out=wide)
        vec.step_into(wide, out)

    leaves_nothing(engine_step, steps)
    assert ended[0] > n
    vec.step_into(vec.action_masks().argmax(axis=1), out)
    leaves_nothing(step_into, steps)


@needs_core
@every_number
def test_prospector(steps):
    n = 64
    vec = fastenv.make_vec("Prospector-v0", n, backend="fast", autoreset_mode="same_step")
    vec.reset(seed=0)
    out, actions = allocate(vec), np.random.default_rng(0).integers(-1, 70, (101, n), np.int32)
    ended = [0]

    def engine_step(i):
        vec.engine.step_many(actions[i % len(actions)])
        ended[0] += int(vec.engine.terminated.sum())

    leaves_nothing(engine_step, steps)
    assert ended[0] > n
    leaves_nothing(lambda i: vec.step_into(actions[i % len(actions)], out), steps)


@needs_core
@every_number
@pytest.mark.parametrize(
    ("env_id", "n"),
    together(
        [
            ("DrMarioFrame-v0", 2),
            ("DrMarioPlacement-v0", 3),
            ("DrMarioVersusFrame-v0", 2),
            ("DrMarioVersus-v0", 2),
        ],
        3,
    ),
)
def test_dr_mario(env_id, n, steps):
    agents = "all" if "Versus" in env_id else "one"
    options = {"autoreset_mode": "same_step", "level": 24, "speed": "high", "agents": agents}
    vec = fastenv.make_vec(env_id, n, backend="fast", **options)
    vec.reset(seed=0)
    assert vec.engine.obs.nbytes > 8_000
    out, actions = allocate(vec), np.zeros(vec.engine.reward.shape, np.int64)
    ended = [0]

    def step_into(_):
        vec.step_into(actions, out)
        out.mask.argmax(axis=-1, out=actions)
        ended[0] += int(out.terminated.sum())

    vec.engine.mask.argmax(axis=-1, out=actions)
    leaves_nothing(step_into, steps)
    assert ended[0] > n
