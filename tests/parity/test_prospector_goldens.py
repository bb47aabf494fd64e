"""Every backend against the golden files of Asteroid Prospector."""

import numpy as np
import pytest

import fastenv
from fastenv.engine import rng_streams
from fastenv.verify import available
from tests.needs import needs_core
from tests.prospector import golden
from tests.prospector.drivers import EngineDriver, replay
from tests.slow import every
from tests.tables import walk

pytestmark = pytest.mark.parity

RUNNABLE = [n for n, why in available(fastenv.make_game("Prospector-v0")).items() if why is None]
# A lane of one, and lanes that fill a chunk unevenly.
BATCHES = {"reference": (1,), "numba": (1,), "cython": (1,), "fast": (1, 3)}


@walk("path", every(9, golden.TRACES), ids=lambda path: path.stem)
@walk("backend", RUNNABLE)
def test_backend_replays_a_golden_trace(backend, path):
    trace = golden.Trace(path)
    for num_envs in BATCHES[backend]:
        replay(EngineDriver(float(trace["time_max"]), backend, num_envs), trace)


@pytest.mark.parametrize("backend", RUNNABLE)
def test_worlds_are_the_golden_ones(backend):
    worlds = golden.load_worlds()
    seeds = worlds["seeds"]
    engine = fastenv.make_engine("Prospector-v0", len(seeds), backend=backend)
    engine.reset_many(seeds=seeds)
    rows = engine.get_states()
    for name, wanted in golden.world_fields(worlds).items():
        mine = rows[name]
        assert mine.tobytes() == wanted.astype(mine.dtype).tobytes(), name
    valid = np.arange(16) < rows["asteroid_count"][:, :, None]
    assert (valid == worlds["ast_valid"]).all()


@needs_core
@pytest.mark.parametrize("name", golden.ACCEPTANCE)
def test_acceptance_table(name):
    """300 episodes of each bot (docs/prospector.md, 17), all at once."""
    n, expected = 300, golden.ACCEPTANCE[name]
    engine = fastenv.make_engine("Prospector-v0", n, backend="fast")
    engine.reset_many(seeds=7)
    streams, invalid = rng_streams(7, n), 0.0
    while not engine.ended.all():
        running = ~engine.ended
        engine.step_many(engine.bot_actions(name, streams), select=running, autoreset=False)
        invalid += engine.info["invalid_action"][running].sum()
    rows = engine.get_states()
    assert rows["ep_length"].sum() == expected["steps"]
    assert rows["ticks_elapsed"].sum() == expected["ticks"]
    assert round(rows["ep_return"].mean(), 6) == expected["return_mean"]
    assert round(np.median(rows["ep_return"]), 6) == expected["return_median"]
    assert round(invalid / expected["steps"], 9) == expected["invalid_rate"]
    for key, value in expected["info"].items():
        assert engine.info[key].mean() == pytest.approx(value, abs=1e-6), key
