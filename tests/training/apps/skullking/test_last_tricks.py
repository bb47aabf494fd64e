"""Values of actions in the last tricks, and how far others are behind the best."""

import numpy as np
import pytest

from benchmarks.search import BOT, TABLE, first_cards
from tests.needs import needs_core
from tools.last_tricks import FIRST, LATER, action_values, regret
from training.players.draws import mix
from training.search.rules import margin

pytestmark = needs_core
WORLDS = 12


@pytest.fixture(scope="module")
def engine():
    return TABLE.make(24)


def late(engine, tricks):
    """Return rows of the round of ten with so many tricks to come and a choice."""
    rows = first_cards(engine)
    found = engine.rollout(rows, None, BOT, "round", 40 - 4 * tricks, 0, trusted=True).rows
    return found[engine.action_masks_many(found, trusted=True).sum(1) > 1]


def test_with_two_tricks_to_come_it_is_the_mean_of_rollouts(engine):
    rows = late(engine, 2)
    seeds = np.arange(len(rows)).astype(np.uint64)
    assert len(rows)
    values = action_values(engine, rows, seeds, (WORLDS,))
    legal = engine.action_masks_many(rows, trusted=True) != 0
    assert np.array_equal(np.isnan(values), ~legal)
    number = np.tile(np.arange(WORLDS), len(rows))
    drawn = engine.resample(
        rows, rows["actor"], mix(seeds.repeat(WORLDS), number, FIRST), worlds=WORLDS, trusted=True
    ).reshape(len(rows), WORLDS)
    for k, row in enumerate(rows):
        for action in np.flatnonzero(legal[k]):
            luck = mix(seeds[[k]].repeat(WORLDS), np.arange(WORLDS), LATER)
            given = np.full(WORLDS, action)
            found = engine.rollout(drawn[k], given, BOT, "round", None, luck, trusted=True)
            seat = np.full(WORLDS, row["actor"], np.int64)
            assert values[k, action] == margin(found.outcomes, found.rows, seat).mean()


def test_the_best_answer_is_no_worse_than_to_go_on_as_the_bot_does(engine):
    rows = late(engine, 3)
    seeds = np.arange(len(rows)).astype(np.uint64)
    values = action_values(engine, rows, seeds, (40, 20))
    assert np.isfinite(np.nanmax(values, axis=1)).all()
    again = action_values(engine, rows[-2:], seeds[-2:], (40, 20))
    assert np.array_equal(values[-2:], again, equal_nan=True)  # whatever is judged beside it


def test_regret_is_judged_by_other_worlds_than_the_choice():
    first = np.array([[1.0, 2.0, np.nan], [5.0, np.nan, 0.0]])
    second = np.array([[1.5, 1.0, np.nan], [4.0, np.nan, 1.0]])
    assert regret(first, second, np.array([0, 2])).tolist() == [-0.5, 3.0]
