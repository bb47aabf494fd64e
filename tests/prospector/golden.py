"""The golden files: recorded episodes and worlds (docs/prospector.md, 19)."""

import json
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parents[1] / "data" / "prospector"
SCHEMA_VERSION = 1
WORLDS = FOLDER / "golden_public_worlds.npz"
TRACES = tuple(sorted(set(FOLDER.glob("golden_*.npz")) - set(FOLDER.glob("golden_*_worlds.npz"))))

PER_STEP = (
    "actions",
    "obs",
    "reward",
    "terminated",
    "truncated",
    "invalid_action",
    "dt",
    "resolved_action",
    "current_node",
    "node_is_station",
    "rng_state",
)
FIELDS = {  # of a row, where golden files have another name
    "neighbors": "neighbor",
    "edge_travel_time": "edge_time",
    "edge_fuel_cost": "edge_fuel",
    "edge_threat_true": "edge_threat",
    "stability_true": "stability",
    "noise_profile": "noise",
    "rng_state": "rng",
    "tool_condition": "tool",
}


class Trace:
    """One recorded trace; ``trace["obs"]`` is an array of the table in docs/prospector.md, 19."""

    def __init__(self, path):
        self.path = Path(path)
        self.arrays = _arrays(self.path)
        self.meta = json.loads(str(self.arrays["meta"]))
        assert self.meta["schema_version"] == SCHEMA_VERSION, self.path.name
        for name in PER_STEP:
            assert len(self[name]) == len(self), (self.path.name, name)

    def __getitem__(self, name):
        return self.arrays[name]

    def __len__(self):
        return int(self.meta["steps"])

    def group(self, prefix):
        """Return the arrays whose name starts with ``prefix``, without it."""
        found = self.arrays.items()
        return {name[len(prefix) :]: array for name, array in found if name.startswith(prefix)}


def load_worlds(path=WORLDS):
    """Return the arrays of a file of worlds."""
    return _arrays(path)


def world_fields(worlds):
    """Return the arrays of a file of worlds that are fields of a row, under the names there."""
    others = ("seeds", "ast_valid")
    return {FIELDS.get(name, name): a for name, a in worlds.items() if name not in others}


def _arrays(path):
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _outcome(steps, ticks, mean, median, invalid_rate, *means):
    """Return one column of the acceptance table of docs/prospector.md, 17."""
    names = (
        "net_profit",
        "pirate_encounters",
        "value_lost_to_pirates",
        "scan_count",
        "mining_ticks",
        "survival",
    )
    return {
        "steps": steps,
        "ticks": ticks,
        "return_mean": mean,
        "return_median": median,
        "invalid_rate": invalid_rate,
        "info": dict(zip(names, (*means, 0.0), strict=True)),  # nobody survives
    }


# What the baseline bots reach in the episodes of seeds 7 to 306.
# fmt: off
ACCEPTANCE = {
    "greedy_miner": _outcome(
        17018, 29056, -104.985215, -111.667929, 0.000822658,
        181.429503, 14.793333, 1239.060240, 0.0, 14.97,
    ),
    "cautious_scanner": _outcome(
        19083, 39774, -89.415782, -65.742099, 0.0,
        -92.642394, 20.426667, 1771.272898, 5.573333, 32.916667,
    ),
    "market_timer": _outcome(
        15917, 17592, -112.575687, -112.633214, 0.061569391,
        16.995676, 12.113333, 2336.837255, 0.0, 37.893333,
    ),
}
# fmt: on
