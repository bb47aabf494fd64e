"""A check leaves the lanes as they are: a run that goes on is not checked again."""

from pathlib import Path

import numpy as np
import pytest

from tests.tables import walk
from training.callbacks.start import check_run
from training.run.envs import make_lanes
from training.run.option_layers import merge_layers, parser

OWN_ROM = "pokemon_red_parcel"  # a user's own, which is in no repository
CONFIGS = [
    path
    for path in sorted((Path(__file__).parents[2] / "training/configs").glob("*.yaml"))
    if path.stem != OWN_ROM
]
SCHEDULED = "schedules.opponents=[[0,rule_easy],[300,rule_hard]]"


@walk(
    "words",
    [
        *(pytest.param(["--config", str(path)], id=path.stem) for path in CONFIGS),
        pytest.param(["--env", "SkullKingFlat-v0", "--set", SCHEDULED], id="scheduled"),
    ],
)
def test_a_check_leaves_the_lanes_as_they_are(words):
    config = merge_layers(parser().parse_args(words), {})
    (engine,) = make_lanes(config).engines
    before = engine.__getstate__()  # copies of all that decides how it goes on
    check_run(config, engine)
    np.testing.assert_equal(engine.__getstate__(), before)
