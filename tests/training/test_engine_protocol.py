"""Everything that trainers step is an :class:`training.run.engine.Engine`."""

import inspect

import numpy as np
import pytest

from training.apps.skullking.hier.manager_env import ManagerEnv
from training.run.engine import Engine
from training.run.envs import make_engine
from training.selfplay.opponents import OpponentEngine
from training.selfplay.pool import PoolEngine, PoolPlayer

LANES = 3
ARRAYS = {name for name in Engine.__annotations__ if not name.startswith("_")}
OTHERS = {name for name in vars(Engine) if not name.startswith("_")}
METHODS = {name for name in OTHERS if inspect.isfunction(vars(Engine)[name])}


def flat():
    return make_engine("SkullKingFlat-v0", LANES, {"schedule": [1], "opponents": "rule_easy"})


def batch():
    return make_engine("Prospector-v0", LANES)


def pool():
    engine = flat()
    return PoolEngine(engine, PoolPlayer(engine, None, seed=0), bots=1.0)


def opponents():
    return OpponentEngine(flat(), [None, None, None])


def manager():
    worker = make_engine("SkullKingWorker-v0", LANES, {"goal_mode": "manager"})
    return ManagerEnv(worker, make_engine("SkullKingManager-v0", 1))


@pytest.fixture(params=[batch, pool, opponents, manager], ids=lambda make: make.__name__)
def engine(request):
    return request.param()


def test_the_protocol_says_something():
    assert {"obs", "mask", "reward", "final_obs"} <= ARRAYS
    assert {"reset_many", "step_many", "get_state", "set_state", "configure"} <= METHODS
    assert {"game", "spec", "num_envs", "info"} <= OTHERS - METHODS


def test_an_engine_has_every_member(engine):
    assert {name for name in ARRAYS | OTHERS if not hasattr(engine, name)} == set()


def test_its_methods_take_the_arguments_of_the_protocol(engine):
    for name in METHODS:
        _, *wanted = inspect.signature(vars(Engine)[name]).parameters.values()
        given = {p.name: p for p in wanted if p.default is not inspect.Parameter.empty}
        required = [p.name for p in wanted if p.name not in given]
        inspect.signature(getattr(engine, name)).bind(*required, **given)


def test_its_arrays_have_a_row_for_each_lane(engine):
    engine.reset_many(seeds=7)
    for name in ARRAYS:
        assert len(getattr(engine, name)) == engine.num_envs == LANES, name
    for name in ("obs", "final_obs"):
        column = getattr(engine, name)
        assert (column.shape[1:], column.dtype) == (engine.obs_shape, engine.obs_dtype), name
    assert engine.mask.shape == (LANES, engine.num_actions)


def test_it_goes_on_from_its_rows(engine):
    engine.reset_many(seeds=7)
    rows = engine.get_state()
    mask = engine.mask.copy()
    engine.step_many(engine.mask.argmax(1).astype(np.int32))
    engine.set_state(None, rows)
    engine.refresh()
    np.testing.assert_array_equal(engine.get_state(), rows)
    np.testing.assert_array_equal(engine.mask, mask)


def test_obs_and_mask_can_go_elsewhere_and_be_brought_up_to_date(engine):
    engine.reset_many(seeds=7)
    obs, mask = np.zeros_like(engine.obs), np.zeros_like(engine.mask)
    engine.step_many(engine.mask.argmax(1).astype(np.int32), obs, mask)
    engine.refresh()
    np.testing.assert_array_equal(engine.obs, obs)
    np.testing.assert_array_equal(engine.mask, mask)
