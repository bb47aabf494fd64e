"""Observation, reward and info by hand (docs/prospector.md, 12 to 14)."""

import math

import numpy as np
import pytest

from fastenv.prospector import encoding
from fastenv.prospector.layout import INFO_COLUMNS, OBS_LAYOUT, REWARD_TERMS
from fastenv.prospector.reference import Prospector
from fastenv.prospector.tables import NUM_ACTIONS, OBS_DIM, PRICE_BASE, Action
from tests.prospector.games import after, away, info_of, mask_of, obs_of, pay
from tests.tables import walk

START = {name: start for name, start, _, _ in OBS_LAYOUT}


def terms_of(game):
    return dict(zip(REWARD_TERMS, encoding.rewards(game), strict=True))


# -- observation --------------------------------------------------------------------------------


def test_blocks_lie_one_behind_the_other():
    end = 0
    for _, start, length, _ in OBS_LAYOUT:
        assert start == end
        end = start + length
    assert end == OBS_DIM


def test_the_ship_is_shown():
    game = away()
    game.fuel, game.hull, game.heat, game.tool, game.alert = 250.0, 12.5, 150.0, -3.0, 75.0
    game.time_remaining, game.credits = 5_000.0, 1234.5
    game.cargo[:] = [50.0, 25.0, 0.0, 0.0, 0.0, 250.0]
    game.repair_kits, game.stabilizers, game.decoys = 3, 6, 12
    obs = obs_of(game)
    assert obs[:7].tolist() == [0.25, 0.125, 1.0, 0.0, 1.0, 0.75, 0.25]
    assert obs[7] == np.float32(math.log1p(1234.5) / math.log1p(1e7))
    assert obs[8:14].tolist() == [0.25, 0.125, 0.0, 0.0, 0.0, 1.0]
    assert obs[14:17].tolist() == [0.25, 0.5, 1.0]
    assert obs[17:22].tolist() == [0.0, 1.0, 0.0, 1.0, 0.0]  # not the station; selected; cluster
    assert obs[22:24].tolist() == [np.float32(1 / 31), np.float32(1 / 31)]


def test_neighbors_are_shown_with_the_estimate_and_not_the_truth():
    game = Prospector(seed=0)
    obs = obs_of(game)[START["neighbors"] :]
    assert obs[:7].tolist() == [1.0, 0.0, 1.0, 0.0, 1.0, np.float32(46.92232894897461 / 160), 0.5]
    assert not obs[28:44].any()  # two empty slots and the padding
    game.edge_threat_est[0, 0] = 0.25
    assert obs_of(game)[START["neighbors"] + 6] == 0.25


def test_asteroids_are_shown_as_estimated():
    game = away()
    game.comp_est[1, 0] = [0.5, 0.0, 0.25, 0.25, 0.0, 0.0]
    game.stability_est[1, 0], game.depletion[1, 0], game.scan_conf[1, 0] = 0.75, 1.0, 0.5
    obs = obs_of(game)[START["asteroids"] :]
    assert obs[1:7] == pytest.approx([0.5, 0.0, 0.25, 0.25, 0.0, 0.0], abs=1e-7)
    assert obs[2] > 0.0  # shares are never quite 0
    assert obs[[0, 7, 8, 9, 10]].tolist() == [1.0, 0.75, 1.0, 0.5, 1.0]  # selected, though depleted
    assert obs_of(game)[START["selected_ok"]] == 0.0
    assert obs[11 * 9] == 1.0
    assert not obs[11 * 10 : 176].any()


def test_prices_saturate_at_their_base():
    game = Prospector(seed=0)
    game.price[:] = PRICE_BASE
    game.price[0], game.price[1] = 22.5, 110.0
    game.prev_price[:] = game.price
    game.prev_price[2], game.prev_price[3] = 60.0, 320.0
    obs = obs_of(game)
    assert obs[244:250].tolist() == [0.5, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert obs[250:254].tolist() == [0.0, 0.0, 0.25, -1.0]


def test_four_stocks_are_shown():
    game = Prospector(seed=0)
    game.station_inventory[:] = [50.0, 1.0, 100.0, 250.0, 800.0, 2.0]
    assert obs_of(game)[256:].tolist() == [np.float32(0.1), np.float32(0.2), 0.5, 1.0]


# -- mask ---------------------------------------------------------------------------------------


def test_mask_of_a_new_ship():
    always = {6, 7, 8, 11, 32, 33, 34, 35, *range(36, 42), 68}
    station = {0, 1, 2, 3, *range(42, 61)}
    assert set(np.flatnonzero(mask_of(Prospector(seed=0))).tolist()) == always | station


def test_mask_at_an_asteroid():
    mask = mask_of(away())
    rocks = {9, 10, *range(12, 22), 28, 29, 30, 31}
    edges = set(np.flatnonzero(away().neighbor[1] >= 0).tolist())
    always = {6, 7, 8, 11, 32, 33, 34, 35, *range(36, 42), 68}
    assert set(np.flatnonzero(mask).tolist()) == always | rocks | edges
    assert mask.shape == (NUM_ACTIONS,)


# -- reward -------------------------------------------------------------------------------------


def test_terms_of_the_reward_by_hand():
    game = away()
    game.ev_credits, game.credits = 100.0, 350.0
    game.ev_fuel, game.fuel = 500.0, 430.0
    game.ev_tool, game.tool = 90.0, 80.0
    game.ev_hull, game.hull = 70.0, 45.0
    game.ev_value_lost, game.value_lost = 10.0, 60.0
    game.ev_cargo_value, game.cargo[0] = 20.0, 10.0
    game.ev_action, game.ev_dt, game.ev_invalid = int(Action.SCAN_DEEP), 1, 1
    game.heat = 90.0
    gained = 10.0 * game.price.item(0) - 20.0
    assert terms_of(game) == pytest.approx(
        {
            "reward_sell": 0.25,
            "reward_extract": 0.02 * gained / 1000.0,
            "reward_fuel": -0.07,
            "reward_time": -0.001,
            "reward_wear": -0.05,
            "reward_heat": -0.2 * 0.04,
            "reward_damage": -2.5,
            "reward_scan": -0.005,
            "reward_invalid": -0.01,
            "reward_pirate": -0.05,
            "reward_terminal": 0.0,
        }
    )


def test_gains_that_do_not_count():
    """Fuel, hull and tool that rise, and cargo that falls in value, earn nothing."""
    game = away()
    game.ev_fuel = game.ev_hull = game.ev_tool = 0.0
    game.ev_cargo_value = game.ev_value_lost = 1e6
    terms = terms_of(game)
    for name in ("fuel", "wear", "damage", "extract", "pirate"):
        assert terms[f"reward_{name}"] == 0.0


ENDS = [  # done, stranded, destroyed, reward with 3000 credits
    (0, 0, 0, 0.0),
    (1, 0, 0, 0.006),
    (2, 0, 0, 0.006),
    (1, 1, 0, -50.0),
    (1, 0, 1, -100.0),
    (1, 1, 1, -150.0),
]


@walk(("done", "stranded", "destroyed", "expected"), ENDS)
def test_reward_of_the_end(done, stranded, destroyed, expected):
    game = away()
    game.done, game.ev_stranded, game.ev_destroyed, game.credits = done, stranded, destroyed, 3000.0
    assert terms_of(game)["reward_terminal"] == expected


def test_rewards_add_up_over_the_episode():
    game, total = Prospector(seed=0), 0.0
    for count, action in enumerate((0, 12, 29, 69, 68), 1):
        game.step(action)
        reward, terms = encoding.reward(game)
        assert reward == pytest.approx(sum(terms), abs=1e-12)
        assert (game.ep_return, game.ep_length) == (total, count - 1)  # looked at, not added
        total += pay(game)
        assert (game.ep_return, game.ep_length) == (total, count)


# -- info ---------------------------------------------------------------------------------------


def test_info_after_a_reset():
    zero = dict.fromkeys(INFO_COLUMNS, 0.0)
    expected = zero | {"action": -1, "survival": 1, "node_context": 1, "time_remaining": 20_000}
    assert info_of(Prospector(seed=0)) == expected


def test_info_by_hand():
    game = away()
    game.credits, game.total_spend, game.ticks_elapsed = 900.0, 300.0, 200
    game.fuel, game.hull, game.tool = 400.0, 30.0, 101.0
    game.util_sum, game.util_count = 50.0, 200.0
    game.scan_count, game.mining_ticks, game.value_lost = 4, 5, 6.5
    info = info_of(game)
    assert (info["net_profit"], info["profit_per_tick"]) == (600.0, 3.0)  # spending counts twice
    assert (info["fuel_used"], info["hull_damage"], info["tool_wear"]) == (600.0, 70.0, 0.0)
    assert info["cargo_utilization_avg"] == 0.25
    assert (info["scan_count"], info["mining_ticks"]) == (4.0, 5.0)
    assert (info["value_lost_to_pirates"], info["node_context"]) == (6.5, 0.0)


def test_info_of_the_end():
    game = after(away(), Action.CASH_OUT)
    assert [info_of(game)[k] for k in ("terminated", "truncated", "survival")] == [1, 0, 1]
    game = away()
    game.hull = 1e-9
    game.step(Action.HOLD)
    assert [info_of(game)[k] for k in ("terminated", "truncated", "survival")] == [1, 0, 0]
    game = Prospector(time_max=1.0, seed=0)
    game.step(69)
    info = info_of(game)
    assert [info[k] for k in ("terminated", "truncated", "survival")] == [0, 1, 1]
    assert (info["action"], info["dt"], info["invalid_action"]) == (6, 1, 1)
