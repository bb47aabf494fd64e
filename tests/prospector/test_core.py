"""The compiled core against reference and golden traces: every field of a row, bit for bit."""

import numpy as np
import pytest

from fastenv.prospector import make_game
from fastenv.prospector import tables as t
from fastenv.prospector.position import unpack
from fastenv.prospector.reference import Prospector
from fastenv.prospector.state import STATE_DTYPE
from tests.loops import Loop, copied
from tests.prospector.games import rows_of
from tests.slow import every
from tests.tables import walk

core = pytest.importorskip("fastenv.prospector._core")

OUT_OF_RANGE = (-1, t.NUM_ACTIONS, -(2**31), 2**31 - 1)


def core_over(n=1, time_max=t.TIME_MAX, **options):
    """Return rows and a loop over them, of the core alone."""
    return Loop(make_game(time_max=time_max), n, plain=True, **options)


def packed(game):
    return rows_of(game)[0]


def assert_same_row(got, wanted, where):
    if got.tobytes() == wanted.tobytes():
        return
    for name in STATE_DTYPE.names:
        if got[name].tobytes() != wanted[name].tobytes():
            raise AssertionError(f"{where}: {name} is {got[name]}, not {wanted[name]}")


@pytest.mark.parity
def test_worlds_are_those_of_the_reference():
    seeds = [*range(40), 2**63 + 12345, 2**64 - 1, -1]
    batch = core_over(len(seeds))
    batch.reset(seeds)
    for seed, row in zip(seeds, batch.complete(), strict=True):
        assert_same_row(row, packed(Prospector(seed=seed)), f"seed {seed}")


def likely_action(rng):
    """Return an action of a policy that gets around: now and then impossible or out of range."""
    kind = rng.random()
    if kind < 0.02:
        return int(rng.choice(OUT_OF_RANGE))
    if kind < 0.25:
        return int(rng.integers(0, t.MAX_NEIGHBORS))
    if kind < 0.45:
        return t.Action.SELECT + int(rng.integers(0, 8))
    if kind < 0.65:
        return t.Action.MINE_CONSERVATIVE + int(rng.integers(0, 3))
    return int(rng.integers(0, t.Action.CASH_OUT + (kind > 0.98)))


@pytest.mark.parity
@walk("seed", every(3, range(12)))
def test_episodes_are_those_of_the_reference(seed):
    rng = np.random.default_rng(seed)
    game, batch = Prospector(2000.0, seed), core_over(1, 2000.0)
    batch.reset([seed])
    for step in range(150):
        action = likely_action(rng)
        if game.done:
            game.reset()
            batch.reset()
        else:
            game.step(action)
            batch.step(action)
        assert_same_row(batch.complete()[0], packed(game), f"step {step} action {action}")


def strange_row(rng, seed):
    """Return a state somewhere in an episode, with values that are rare in play."""
    game = Prospector(5000.0, seed)
    for _ in range(int(rng.integers(0, 30))):
        before = packed(game)
        game.step(likely_action(rng))
        if game.done:
            game = unpack(before, 5000.0)
    row = packed(game)
    here = row["current_node"]
    if here and rng.random() < 0.8:
        row["selected"] = rng.integers(0, row["asteroid_count"][here])
    changes = {
        "fuel": rng.uniform(0, 30),
        "hull": rng.uniform(0, 3),
        "heat": rng.choice([rng.uniform(60, 100), 100.0]),
        "tool": rng.uniform(0, 100),
        "alert": rng.uniform(0, 100),
        "credits": rng.uniform(0, 1000),
        "cargo": rng.choice([0, 5, 33, 34], 6) * rng.choice([1, 0.7]),
        "recent_sales": rng.uniform(0, 100, 6),
        "station_inventory": rng.choice([0.0, 1e-3, 700.0], 6),
        "repair_kits": rng.integers(0, 13),
        "stabilizers": rng.choice([0, 12]),
        "decoys": rng.choice([0, 11, 12]),
        "escape_ticks": rng.integers(0, 5),
        "stabilize_ticks": rng.integers(0, 7, 16),
        "time_remaining": rng.uniform(1, 9),
        "ticks_elapsed": rng.integers(0, 5000),
    }
    for name, value in changes.items():
        if rng.random() < 0.3:
            row[name] = value
    if rng.random() < 0.3:
        row["depletion"][here, : row["asteroid_count"][here]] = rng.choice([0.0, 0.999, 1.0])
    return row


@pytest.mark.parity
@walk("seed", range(10))
def test_every_action_from_strange_rows_is_that_of_the_reference(seed):
    rng = np.random.default_rng(seed)
    row = strange_row(rng, seed)
    actions = [*range(t.NUM_ACTIONS), *OUT_OF_RANGE]
    batch = core_over(time_max=5000.0, rows=np.repeat(row, len(actions)))
    legal = [batch.loop.first_illegal(batch.actions(action), batch.all) for action in actions]
    batch.step(actions)
    for i, action in enumerate(actions):
        game = unpack(row, 5000.0)
        game.step(action)
        assert_same_row(batch.rows[i], packed(game), f"action {action}")
        assert (legal[i] == -1) == (not game.ev_invalid), action


@pytest.mark.parity
def test_laziness_cannot_be_noticed():
    n = 64
    lazy, eager = core_over(n), core_over(n)
    rng = np.random.default_rng(5)
    for batch in (lazy, eager):
        batch.reset(range(n))
    assert lazy.loop.completes
    eager.loop.complete(eager.all)
    assert (lazy.rows["pending"] != 0).all()
    assert not eager.rows["pending"].any()
    for _ in range(40):
        actions = rng.integers(0, 12, n)
        lazy.step(actions)
        eager.step(actions)
        assert lazy.complete().tobytes() == eager.rows.tobytes()
    assert (lazy.rows["pending"] != 0).any()
    # what an episode leaves behind does not show in the next one
    for batch in (lazy, eager):
        batch.rows["done"] = 1
        batch.reset()
    assert lazy.complete().tobytes() == eager.complete().tobytes()


def test_rows_that_have_ended_stay_as_they_are():
    batch = core_over(3)
    batch.reset(range(3))
    batch.step([t.Action.CASH_OUT, 6, 6])
    before = copied(batch.rows)
    batch.step(7)
    assert batch.rows[:1].tobytes() == before[:1].tobytes()
    assert batch.rows["ev_action"].tolist() == [t.Action.CASH_OUT, 7, 7]


def test_steps_tell_whenever_places_change_and_not_always():
    """What the core calls unchanged must be what the kernels would derive again."""
    pytest.importorskip("fastenv.prospector.kernels")
    n, steps, rng, changes = 16, 150, np.random.default_rng(11), 0
    batch = Loop(make_game(time_max=5000.0), n)
    batch.reset(range(n))
    for step in range(steps):
        before = batch.derived["places"].copy()
        batch.step([likely_action(rng) for _ in range(n)])
        after = batch.derived["places"].copy()
        changes += (before != after).any(axis=1).sum()
        batch.loop.derive(batch.all)
        assert batch.derived["places"].tobytes() == after.tobytes(), f"step {step}"
        batch.reset(select=batch.rows["done"] != 0)
    assert n < changes < n * steps
