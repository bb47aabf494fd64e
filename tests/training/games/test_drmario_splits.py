"""Seeds that players are tuned on are none of those that records report."""

import hashlib

import numpy as np
import pytest

from fastenv.drmario.generator import Generator
from fastenv.drmario.seeds import registry_seeds
from fastenv.errors import ConfigError
from training.games.drmario.splits import PARTS, draw_seeds, seeds_for


def cycle():
    """Return all states of the generator, from the console's start on."""
    generator, found = Generator(0x89, 0x88), []
    while not found or found[0] != generator.state:
        found.append(generator.state)
        generator.step()
    return found


def test_every_state_of_the_cycle_is_in_one_part_or_in_the_registry():
    states = {a << 8 | b for a, b in cycle()}
    registered = set(registry_seeds().ravel().tolist())
    tuning, reports = (set(seeds_for(part).tolist()) for part in PARTS)
    assert len(states) == 32_767
    assert registered <= states
    assert tuning | reports | registered == states
    assert len(tuning) + len(reports) + len(registered) == len(states)
    assert len(reports) / (len(tuning) + len(reports)) == pytest.approx(0.2, abs=0.01)


def test_parts_stay_what_they_are():
    """A record names seeds by their part: another one would make it another record's."""
    digests = {part: hashlib.sha256(seeds_for(part).tobytes()).hexdigest() for part in PARTS}
    assert {part: digest[:16] for part, digest in digests.items()} == {
        "tuning": "cce192bd77350491",
        "reports": "f18c18a2aec32857",
    }
    for part in PARTS:
        with pytest.raises(ValueError, match="read-only"):
            seeds_for(part)[0] = 1


def test_draws_are_different_seeds_of_the_part():
    drawn = draw_seeds("reports", 1000, np.random.default_rng(3))
    assert len(set(drawn.tolist())) == 1000
    assert np.isin(drawn, seeds_for("reports")).all()
    for count in (0, -1, 40_000):
        with pytest.raises(ConfigError, match=f"count={count}"):
            draw_seeds("reports", count, np.random.default_rng(3))
    with pytest.raises(ConfigError, match=r"part='test'.*tuning or reports"):
        seeds_for("test")
