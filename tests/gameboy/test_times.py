"""Where the time of steps goes: what is counted, and that nobody can tell from the results."""

import json

import numpy as np
import pytest

from fastenv.engine import BatchEngine
from fastenv.gameboy import make_game
from tests.gameboy.lanes import engine_of
from tests.needs import needs_core

pytestmark = needs_core
LANES = 4


@pytest.fixture
def core():
    from fastenv.gameboy import _core

    _core.count_times(False)
    yield _core
    _core.count_times(False)


def play(engine, steps=40):
    rng = np.random.default_rng(0)
    for _ in range(steps):
        engine.step_many(rng.integers(0, engine.num_actions, LANES))


def counted(core, engine, steps=40):
    before = core.times_spent()
    play(engine, steps)
    after = core.times_spent()
    return {name: after[name] - before[name] for name in before}


def test_nothing_is_counted_until_somebody_asks(core):
    engine = engine_of(LANES)
    assert not any(counted(core, engine).values())
    make_game().step_times()
    assert all(counted(core, engine)[name] for name in ("steps", "stepping", "encoding"))


@pytest.mark.parametrize("threads", [1, 2])
def test_every_step_of_every_lane_and_every_reset(core, threads):
    found, others = {}, {}
    for most, into in ((None, found), (2, others)):
        engine = BatchEngine(make_game(max_steps=most), LANES, num_threads=threads)
        engine.reset_many(seeds=0)
        core.count_times(True)
        into |= counted(core, engine)
    assert found["steps"] == others["steps"] == 40 * LANES
    assert found["resetting"] == 0 < others["resetting"]
    assert 0 < found["drawing"] < found["watched"]


def test_parts_add_up_to_the_wall_time(core):
    engine = engine_of(LANES)
    times = make_game().step_times()
    play(engine)
    found = times.read(wall_s=1e3, steps=40, num_threads=2)
    assert list(found) == ["emulate_ms", "render_ms", "reset_ms", "python_ms"]
    assert sum(found.values()) == pytest.approx(1e6 / 40)
    assert min(found["emulate_ms"], found["render_ms"]) > 0
    assert times.read(wall_s=1.0) == {**dict.fromkeys(found, 0.0), "python_ms": 1e3}


def test_results_are_the_same(core):
    rows = []
    for on in (False, True):
        core.count_times(on)
        engine = engine_of(LANES, max_steps=5, start_state=None, states="lantern_walk")
        play(engine)
        rows.append((engine.get_state(), engine.obs.copy()))
    assert all(np.array_equal(plain, timed) for plain, timed in zip(*rows, strict=True))


@pytest.mark.slow
def test_metrics_of_a_training_have_them(core, tmp_path):
    train = pytest.importorskip("training.train")
    small = {"num_envs": 4, "ppo.n_steps": 8, "ppo.batch_size": 32, "torch_threads": 1}
    small |= {"ppo.n_epochs": 1, "ppo.net_arch": "[8]", "env_options.max_steps": 4}
    words = ["--env", "GameBoyPixels-v0", "--total-steps", "64", "--name", "small"]
    words += ["--runs", str(tmp_path), "--no-evaluation"]
    assert train.main([*words, *(w for k, v in small.items() for w in ("--set", f"{k}={v}"))]) == 0
    lines = (tmp_path / "small" / "metrics.jsonl").read_text().splitlines()
    assert len(lines) == 2
    for line in map(json.loads, lines):
        found = line["env_step"]
        assert all(ms > 0 for ms in found.values())
        assert sum(found.values()) == pytest.approx(line["phases"]["env"] * 1e3 / 8)
