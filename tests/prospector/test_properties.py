"""Properties of the reference (docs/prospector.md, 18), by Hypothesis, in random games."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastenv.prospector import encoding
from fastenv.prospector.layout import OBS_LAYOUT
from fastenv.prospector.reference import Prospector
from fastenv.prospector.tables import NUM_ACTIONS, PRICE_MAX, PRICE_MIN, SCANS, Action
from tests.prospector.games import after, draws_between, mask_of, obs_of, random_walk, rows_of

seeds = st.integers(0, 2**64 - 1)
PAY_ANYWAY = (Action.SCAN_FOCUSED, Action.SCAN_DEEP)


@st.composite
def games(draw):
    """A game that goes on, somewhere in a random episode."""
    steps = draw(st.integers(1, 40))
    *_, game = random_walk(draw(seeds), steps)
    if game.done:
        game.reset()
    return copy.deepcopy(game)


@given(seed=seeds)
def test_everything_stays_in_its_range(seed):
    ticks = 0
    for game in random_walk(seed, 60):
        for level, most in (("fuel", 1000), ("hull", 100), ("heat", 100), ("tool", 100)):
            assert 0.0 <= getattr(game, level) <= most
        assert 0.0 <= game.alert <= 100.0
        assert 0.0 <= game.cargo_total() <= 200.0 + 1e-4
        assert (game.cargo >= 0.0).all()
        assert (game.price >= PRICE_MIN).all()
        assert (game.price <= PRICE_MAX).all()
        ticks += game.ev_dt
        assert game.ticks_elapsed == ticks
        assert game.time_remaining == max(0.0, game.time_max - ticks)
        if game.done:
            ticks = 0


@given(seed=seeds)
def test_observations_keep_their_layout(seed):
    blocks = {name: slice(start, start + length) for name, start, length, _ in OBS_LAYOUT}
    for game in random_walk(seed, 30):
        obs = obs_of(game)
        assert (np.abs(obs) <= 1.0).all()
        assert (np.delete(obs, np.arange(250, 256)) >= 0.0).all()
        assert not obs[blocks["padding"]].any()
        assert obs[blocks["node_type"]].sum() == 1.0
        slots = obs[blocks["neighbors"]].reshape(6, 7)
        assert (slots[:, 1:4].sum(axis=1) == slots[:, 0]).all()
        assert not slots[slots[:, 0] == 0].any()
        rocks = obs[blocks["asteroids"]].reshape(16, 11)
        here = rocks[:, 0] == 1
        assert here.sum() == game.asteroid_count[game.current_node]
        assert np.abs(rocks[here, 1:7].sum(axis=1) - 1.0).max(initial=0.0) < 1e-6
        assert not rocks[~here].any()
        assert not (game.at_station() and rocks.any())


@given(game=games())
def test_the_mask_tells_which_actions_are_flagged(game):
    mask = mask_of(game)
    flagged = [after(game, action).ev_invalid for action in range(NUM_ACTIONS)]
    assert (mask == 1 - np.array(flagged)).all()


def reward_of(game):
    return encoding.reward(game)[0]


@given(game=games())
def test_what_is_not_possible_becomes_a_hold(game):
    held = after(game, Action.HOLD)
    reward = reward_of(held)
    for action in np.flatnonzero(mask_of(game) == 0).tolist():
        tried = after(game, action)
        if action in PAY_ANYWAY:
            continue
        assert reward_of(tried) == pytest.approx(reward - 0.01, abs=1e-12)
        assert (obs_of(tried) == obs_of(held)).all()
        rows = rows_of(held, tried)
        rows["ev_action"], rows["ev_invalid"], rows["ep_return"] = 0, 0, 0.0
        assert rows[0].tobytes() == rows[1].tobytes(), action


@given(game=games(), action=st.sampled_from([-1, 69, 255, -(2**40)]))
def test_out_of_range_is_a_double_hold(game, action):
    tried = after(game, action)
    game.calm_down()
    held = after(game, Action.HOLD)
    held.ev_invalid = 1
    assert rows_of(tried).tobytes() == rows_of(held).tobytes()


def expected_draws(before, later):
    """Count the draws of a step as docs/prospector.md, 16 does, from what was seen to happen."""
    action, possible = later.ev_action, not later.ev_invalid
    draws = 12
    if not later.at_station():
        draws += 2
    if possible and action < Action.HOLD:
        draws += 1 if later.at_station() else 2
    if possible and action in SCANS:
        targets = before.asteroid_count.item(before.current_node)
        draws += 14 * (targets if action == Action.SCAN_WIDE else 1)
    if action == Action.LISTEN:
        draws += 2 * int((before.neighbor[before.current_node] >= 0).sum())
    if possible and Action.MINE_CONSERVATIVE <= action <= Action.MINE_AGGRESSIVE:
        at = (before.current_node, before.selected)
        fractured = later.node_hazard.item(at[0]) != before.node_hazard.item(at[0])
        draws += 3 + fractured
    encounters = later.pirate_encounters - before.pirate_encounters
    return draws + encounters * (3 if before.decoys else 2)


@given(game=games(), decoys=st.sampled_from([0, 12]))
def test_every_action_takes_the_draws_of_the_table(game, decoys):
    game.decoys = decoys  # none, or more than one step can use up
    for action in range(-1, NUM_ACTIONS + 1):
        later = after(game, action)
        assert draws_between(game.rng.state, later.rng.state, 400) == expected_draws(game, later)


@given(game=games())
def test_a_scan_makes_more_certain(game):
    here = game.current_node
    count = game.asteroid_count.item(here)
    if count == 0:
        return
    game.selected = 0
    game.depletion[here, 0] = 0.0
    before, gains = game.scan_conf.item(here, 0), []
    for action, mode in SCANS.items():
        later = after(game, action)
        conf = later.scan_conf.item(here, 0)
        assert conf == pytest.approx(min(1.0, before + mode.gain), abs=1e-6)
        assert later.comp_est[here, :count].sum(axis=1) == pytest.approx(1.0, abs=1e-6)
        assert 0.0 <= later.stability_est.item(here, 0) <= 1.0
        gains.append(conf)
    assert gains[0] <= gains[1] <= gains[2]


@given(seed=seeds, c=st.integers(0, 5), share=st.integers(0, 2), units=st.floats(0.01, 200.0))
def test_selling_turns_cargo_into_credits(seed, c, share, units):
    game = Prospector(seed=seed)
    game.cargo[c] = units
    units, stock = game.cargo.item(c), game.station_inventory.item(c)
    later = after(game, Action.SELL + 3 * c + share)
    sold = units - later.cargo.item(c)
    assert sold == pytest.approx((0.25, 0.5, 1.0)[share] * units, rel=1e-5)
    assert 0.0 < later.credits <= sold * game.price.item(c) * (1.0 + 1e-5)
    assert later.station_inventory.item(c) == pytest.approx(0.998 * (stock + sold), rel=1e-5)
    assert later.recent_sales.item(c) > 0.0
    assert later.credits == pytest.approx(reward_of(later) * 1000.0 + 1.0, abs=1e-6)
