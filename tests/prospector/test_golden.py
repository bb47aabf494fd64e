"""The reference against the golden files: recorded episodes, worlds, and the files themselves."""

import numpy as np
import pytest

from fastenv.prospector.reference import Prospector
from tests.prospector import golden
from tests.prospector.drivers import ReferenceDriver, replay


@pytest.mark.parametrize("path", golden.TRACES, ids=lambda path: path.stem)
def test_reference_replays_a_golden_trace(path):
    trace = golden.Trace(path)
    replay(ReferenceDriver(float(trace["time_max"])), trace)


WORLD_FIELDS = {  # of the golden file, where a row has another name
    "neighbors": "neighbor",
    "edge_travel_time": "edge_time",
    "edge_fuel_cost": "edge_fuel",
    "edge_threat_true": "edge_threat",
    "stability_true": "stability",
    "noise_profile": "noise",
}


def test_worlds_are_the_golden_ones():
    worlds = golden.load_worlds()
    for k, seed in enumerate(worlds["seeds"].tolist()):
        game = Prospector(seed=seed)
        assert (game.node_count, game.rng.state) == (
            worlds["node_count"][k],
            worlds["rng_state"][k],
        )
        valid = np.arange(16) < game.asteroid_count[:, None]
        assert (valid == worlds["ast_valid"][k]).all(), seed
        for name in worlds.keys() - {"seeds", "node_count", "rng_state", "ast_valid"}:
            mine = getattr(game, WORLD_FIELDS.get(name, name))
            wanted = worlds[name][k].astype(mine.dtype)
            assert mine.tobytes() == wanted.tobytes(), f"seed {seed}: {name}"
