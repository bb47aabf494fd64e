"""The reference: the worked examples of docs/prospector.md, 20, and every action by hand."""

import copy
import math

import numpy as np
import pytest

from fastenv.prospector import encoding
from fastenv.prospector.arithmetic import f32
from fastenv.prospector.pcg import Pcg
from fastenv.prospector.reference import Prospector
from fastenv.prospector.tables import PRICE_BASE, Action
from tests.prospector.games import Dice, after, away, draws_between, mask_of, rows_of
from tests.tables import walk

# -- worlds (docs/prospector.md, 20) ------------------------------------------------------------

WORLDS = [  # seed, nodes, hazard nodes, edges, asteroids, generator, station's neighbours, prices
    (0, 9, 0, 13, 85, 0x16B374A727F783D1, (1, 2, 6, 4),
     (45.839828, 52.216133, 65.537262, 151.650833, 168.415726, 116.464592)),
    (1, 10, 2, 16, 94, 0x2B492C83755816E1, (1, 2, 3, 6, 7),
     (48.997299, 41.913925, 67.023834, 170.255341, 181.356308, 109.079369)),
    (2, 12, 3, 20, 106, 0xA7AB438A2DBAEBF0, (1, 3),
     (56.466602, 43.425198, 82.457932, 110.440033, 173.460068, 128.798172)),
    (3, 26, 14, 47, 279, 0x14274F703704A16B, (1, 2, 3, 13, 19, 6),
     (51.977154, 43.721821, 60.563374, 124.023117, 205.285797, 128.557037)),
]  # fmt: skip


@pytest.mark.parametrize("world", WORLDS)
def test_worlds_of_the_specification(world):
    seed, nodes, hazards, edges, asteroids, state, neighbors, prices = world
    game = Prospector(seed=seed)
    assert (game.node_count, (game.node_type == 2).sum()) == (nodes, hazards)
    assert (game.neighbor >= 0).sum() == 2 * edges
    assert (game.asteroid_count.sum(), game.rng.state) == (asteroids, state)
    assert tuple(k for k in game.neighbor[0].tolist() if k >= 0) == neighbors
    assert game.price.tolist() == pytest.approx(prices, abs=5e-7)


def test_world_of_seed_0_in_detail():
    game = Prospector(seed=0)
    edges = [
        (1, 8, 46.92232894897461, 0.26939645409584045),
        (2, 5, 37.44377899169922, 0.2067270427942276),
        (6, 1, 94.27613830566406, 0.20488934218883514),
        (4, 3, 21.734722137451172, 0.2521974742412567),
    ]
    fields = (game.neighbor, game.edge_time, game.edge_fuel, game.edge_threat)
    assert [tuple(field[0, k].item() for field in fields) for k in range(4)] == edges
    assert (game.node_type[1], game.asteroid_count[1]) == (1, 10)
    assert game.node_hazard.item(1) == 0.19676724076271057
    assert game.node_pirate.item(1) == 0.2848253846168518
    comp = "0.40611210465431213 0.1215473935008049 0.018209626898169518 0.2581879794597626"
    assert game.true_comp[1, 0].tolist() == [
        *map(float, comp.split()), 0.15609702467918396, 0.03984586149454117,
    ]  # fmt: skip
    assert game.richness.item(1, 0) == 0.7314984798431396
    assert game.stability.item(1, 0) == 0.7544100284576416
    assert game.noise.item(1, 0) == 0.08767608553171158
    market = (game.station_inventory, game.price_phase, game.price_period, game.price_amp)
    assert [field.item(0) for field in market] == [
        111.35558319091797, 3.0506229400634766, 242.673095703125, 9.24470043182373,
    ]  # fmt: skip
    assert game.steps_to_station[:9].tolist() == [0, 1, 1, 2, 1, 2, 1, 2, 2]


@pytest.mark.parametrize(("seed", "draws"), [(0, 1835), (3, 5970), (17, 6191)])
def test_draws_of_a_reset(seed, draws):
    game = Prospector(seed=seed)
    assert draws_between(Pcg(seed).state, game.rng.state) == draws
    n, edges = game.node_count, (game.neighbor >= 0).sum() // 2
    asteroids = int(game.asteroid_count.sum())
    assert draws == 1 + 3 * (n - 1) + (n - 1) + 2 * n + 4 * edges + (n - 1) + 20 * asteroids + 24


EPISODE = """
0 8 0 1 -0.35691949488111024 953.0776710510254 96.98002834067864 0.7870689630508423 2.9834476470947267 bace4df087a22d01
12 1 0 1 -0.01530777160587695 953.0776710510254 96.83695062461987 0.09838362038135529 3.1408614397048953 1dcba3ec290976e3
29 1 0 1 -1.0311753611136332 953.0776710510254 86.5991118903714 1.7467672377824783 5.578275227546692 77133d8efc6e4361
30 1 1 1 -0.028823436586067487 953.0776710510254 86.42087752451073 0.14838361740112305 2.815689015388489 ec5b950be5121643
8 3 0 1 -0.0710804349937452 948.0776710510254 85.83932667296109 0.44515085220336914 7.52793037891388 ff6858bbf6c42859
10 1 1 1 -0.04769828593517837 940.0776710510254 85.60234381360931 0.14838361740112305 10.765344166755677 af3093666208fe7b
33 2 0 1 -0.049225991512886313 938.0776710510254 85.15008389848045 0.2967672348022461 12.240171742439271 39af32eb0181f4cd
69 1 1 1 -0.02922239388074127 938.0776710510254 84.96752809485471 0.14838361740112305 6.477585530281068 7b5b66da6a1fc7cf
11 2 0 1 -0.05001997115192122 938.0776710510254 84.48691076335106 0.2967672348022461 6.952413105964662 925636d76d7d9d19
0 8 0 0 -0.20894972162168648 891.0529279491799 82.94630882411188 0.0 8.676550412178042 66507fc5f5f688c6
45 1 0 0 0.012451592639285008 891.0529279491799 82.94630882411188 0.0 8.676550412178042 c897df8e14562e7a
42 1 0 0 -0.0009985599725781333 891.0529279491799 82.94630882411188 0.0 0.0 1b7634b01aed09ee
61 1 1 0 -0.01094093757186428 891.0529279491799 82.94630882411188 0.0 0.0 055ddb35b16fef22
68 1 0 0 -0.00097309681472143 891.0529279491799 82.94630882411188 0.0 0.0 0dd93e162e3f7216
"""  # noqa: E501


def test_episode_of_the_specification():
    game = Prospector(seed=0)
    for line in EPISODE.split("\n")[1:-1]:
        action, dt, invalid, node, reward, fuel, hull, heat, alert, state = line.split()
        game.step(int(action))
        assert (game.ev_dt, game.ev_invalid, game.current_node) == (
            int(dt),
            int(invalid),
            int(node),
        )
        assert encoding.reward(game)[0] == pytest.approx(float(reward), abs=1e-12)
        levels = (game.fuel, game.hull, game.heat, game.alert)
        assert levels == (float(fuel), float(hull), float(heat), float(alert)), line
        assert f"{game.rng.state:016x}" == state
    assert game.done == 1
    assert game.ev_action == Action.CASH_OUT


# -- episodes and steps (docs/prospector.md, 6, 7) ----------------------------------------------


def test_without_a_seed_the_stream_goes_on():
    game = Prospector(seed=5)
    game.step(68)
    state = game.rng.state
    game.reset()
    other = Prospector()
    other.rng.state = state
    other.reset()
    assert rows_of(game).tobytes() == rows_of(other).tobytes()
    assert rows_of(game).tobytes() != rows_of(Prospector(seed=5)).tobytes()


def test_a_new_ship_has_what_the_specification_gives_it():
    game = away()
    game.reset(0)
    assert (game.fuel, game.hull, game.heat, game.tool, game.alert) == (1000, 100, 0, 100, 0)
    assert (game.repair_kits, game.stabilizers, game.decoys) == (3, 2, 1)
    assert (game.current_node, game.selected, game.done) == (0, -1, 0)
    assert (game.ev_action, game.ev_dt, game.time_remaining) == (-1, 0, 20_000)
    assert not game.cargo.any()
    assert not game.stabilize_ticks.any()


def test_an_ended_game_does_not_move():
    game = after(away(), 68)
    assert rows_of(after(game, 0)).tobytes() == rows_of(game).tobytes()


@pytest.mark.parametrize("action", [-1, 69, -(10**9), 10**9])
def test_out_of_range_holds_twice(action):
    game = away()
    game.alert, game.heat = 50.0, 40.0
    once, twice = after(game, Action.HOLD), after(game, action)
    assert (twice.ev_action, twice.ev_dt, twice.ev_invalid) == (6, 1, 1)
    assert (once.alert - twice.alert, once.heat - twice.heat) == pytest.approx((3.0, 2.5))
    assert twice.rng.state == once.rng.state


def test_time_runs_out():
    game = Prospector(time_max=5.0, seed=0)
    for _ in range(4):
        game.step(Action.HOLD)
    assert (game.done, game.time_remaining) == (0, 1.0)
    game.step(Action.LISTEN)  # two ticks
    assert (game.done, game.time_remaining, game.ticks_elapsed) == (2, 0.0, 6)


@pytest.mark.parametrize(
    ("hull", "fuel", "action", "destroyed", "stranded"),
    [(1e-6, 500.0, 6, 1, 0), (100.0, 2.0, 33, 0, 1), (1e-6, 0.0, 68, 1, 1), (100.0, 9.0, 68, 0, 0)],
)
def test_the_end_in_the_field(hull, fuel, action, destroyed, stranded):
    game = away()
    game.hull, game.fuel = hull, fuel
    game.step(action)
    assert (game.done, game.ev_destroyed, game.ev_stranded) == (1, destroyed, stranded)


def test_nobody_is_stranded_at_the_station():
    game = Prospector(seed=0)
    game.fuel = 1.0
    game.step(Action.BURN)
    assert (game.fuel, game.done) == (0.0, 0)


# -- actions (docs/prospector.md, 8, 9) ---------------------------------------------------------


def test_travel_pays_for_the_load():
    game = Prospector(seed=0)
    game.cargo[:] = [30.0, 20.0, 10.0, 20.0, 10.0, 10.0]
    game.step(0)
    assert game.fuel == 1000.0 - 46.92232894897461 * (1.0 + 0.5 * (100.0 / 200.0))
    assert (game.current_node, game.selected, game.ev_dt) == (1, -1, 8)


def test_travel_into_nothing_is_invalid():
    game = after(Prospector(seed=0), 5)
    assert (game.ev_invalid, game.ev_dt, game.current_node) == (1, 1, 0)


def test_burning_makes_hard_to_catch():
    game = after(Prospector(seed=0), Action.BURN)
    assert (game.fuel, game.alert, game.escape_ticks) == (982.0, 10.0, 3)


def test_listening_draws_for_existing_edges_only():
    game = Prospector(seed=0)
    later = after(game, Action.LISTEN)
    estimates = later.edge_threat_est[0].tolist()
    assert estimates[4:] == [0.5, 0.5]
    assert all(x != 0.5 for x in estimates[:4])
    assert (later.edge_threat_est[1:] == 0.5).all()  # this direction only
    assert draws_between(game.rng.state, later.rng.state) == 2 * 4 + 12


@pytest.mark.parametrize(
    ("kind", "fuel", "alert", "dt"), [(8, 5, 4, 3), (9, 4, 3, 2), (10, 8, 6, 4)]
)
def test_scans_cost(kind, fuel, alert, dt):
    game, dice = away(), Dice(0.0, 1.0)  # no pirates
    game.rng, game.alert = dice, 0.0
    game.node_hazard[:] = 0.0
    before = game.fuel
    dice.values = [1.0]
    game.step(kind)
    assert (before - game.fuel, game.alert, game.ev_dt, game.scan_count) == (fuel, alert, dt, 1)


def test_a_wide_scan_at_the_station_finds_nothing():
    game = Prospector(seed=0)
    later = after(game, Action.SCAN_WIDE)
    assert (later.ev_invalid, later.scan_count) == (0, 1)
    assert draws_between(game.rng.state, later.rng.state) == 12


def test_a_failed_scan_costs_but_does_not_count():
    game = after(Prospector(seed=0), Action.SCAN_DEEP)
    assert (game.fuel, game.alert) == (992.0, 3.0)  # + 6, then the hold
    assert (game.ev_invalid, game.ev_dt, game.scan_count) == (1, 1, 0)


def test_mining_by_hand():
    game = away()
    game.rng = Dice(0.999, 0.5, 1.0)  # no fracture, hazard, no pirates
    game.heat, game.tool = 79.0, 50.0
    richness, comp = game.richness.item(1, 0), game.true_comp[1, 0].tolist()
    heat_factor = max(0.1, 1.0 - (0.79 - 0.7) / 0.3)
    k = richness * (0.4 + 0.6 * 0.5) * heat_factor * 1.15
    game.step(Action.MINE_STANDARD)
    assert game.cargo.tolist() == pytest.approx([k * x for x in comp], rel=1e-6)
    assert game.depletion.item(1, 0) == pytest.approx(0.01 * k * sum(comp), rel=1e-6)
    assert (game.tool, game.mining_ticks, game.ev_dt) == (50.0 - 1.6, 1, 1)


def test_mining_fills_the_hold_and_no_more():
    game = away()
    game.cargo[:] = 33.3
    game.rng = Dice(0.999, 0.5, 1.0)
    game.step(Action.MINE_AGGRESSIVE)
    assert game.cargo_total() == pytest.approx(200.0, abs=1e-4)
    assert game.depletion.item(1, 0) == pytest.approx(0.01 * 0.2, abs=1e-6)


def test_a_fracture_depletes_hurts_and_leaves_a_hazard():
    game = away()
    game.rng = Dice(0.0, 0.5, 0.5, 1.0)  # fracture, damage, hazard, no pirates
    hull, hazard = game.hull, game.node_hazard.item(1)
    game.step(Action.MINE_CONSERVATIVE)
    worse = f32(hazard + 0.1)
    assert game.hull == pytest.approx(hull - 9.0 - worse * 0.7)
    assert (game.depletion.item(1, 0), game.node_hazard.item(1)) == (1.0, worse)
    assert (game.selected, game.selected_ok()) == (0, False)
    assert not mask_of(game)[[9, 10, 12, 28, 29, 30, 31]].any()


def test_stabilizing_protects_a_slot_wherever_the_ship_goes():
    game = after(away(), Action.STABILIZE)
    assert (game.stabilizers, game.stabilize_ticks.tolist()) == (1, [4] + [0] * 15)
    game = after(game, 1)
    assert game.stabilize_ticks.item(0) == max(0, 4 - game.ev_dt)


def test_refining_by_hand():
    game = Prospector(seed=0)
    game.cargo[:] = [10.0, 30.0, 1.0, 2.0, 3.0, 4.0]
    game.step(Action.REFINE)
    expected = [8.5, 25.5, 1.0, 2.0, 3.0 + 0.65 * 6.0, 4.0]
    assert game.cargo.tolist() == pytest.approx(expected, rel=1e-6)
    assert (game.fuel, game.heat, game.alert) == (996.0, 1.0, 3.0)


def test_refining_nothing_still_costs():
    game = after(Prospector(seed=0), Action.REFINE)
    assert (game.fuel, game.ev_invalid, game.cargo.any()) == (996.0, 0, False)


def test_cooling_repairs_and_docking():
    game = Prospector(seed=0)
    game.heat, game.tool, game.hull, game.alert = 60.0, 50.0, 90.0, 30.0
    game.step(Action.COOLDOWN)
    assert (game.heat, game.fuel, game.alert) == (35.0, 998.0, 31.0)
    game.step(Action.MAINTAIN_TOOL)
    game.step(Action.PATCH_HULL)
    assert (game.tool, game.hull, game.repair_kits) == (75.0, 100.0, 1)
    game.step(Action.DOCK)
    assert game.alert == 11.0
    game.step(Action.MAINTAIN_TOOL)
    assert (game.tool, game.repair_kits) == (100.0, 0)
    for action in (Action.MAINTAIN_TOOL, Action.PATCH_HULL):
        assert after(game, action).ev_invalid == 1


def test_jettison_calms_even_with_an_empty_hold():
    game = Prospector(seed=0)
    game.alert, game.cargo[2] = 20.0, 7.0
    game.step(Action.JETTISON + 2)
    assert (game.alert, game.cargo.any(), game.ev_invalid) == (12.0, False, 0)
    game.step(Action.JETTISON + 2)
    assert (game.alert, game.ev_invalid) == (4.0, 0)


@pytest.mark.parametrize(("bucket", "share"), [(0, 0.25), (1, 0.5), (2, 1.0)])
def test_selling_by_hand(bucket, share):
    game = Prospector(seed=0)
    game.cargo[3] = 40.0
    stock, price = game.station_inventory.item(3), game.price.item(3)
    game.step(Action.SELL + 3 * 3 + bucket)
    q = 40.0 * share
    ratio = q / (stock + q)
    slip = min(0.70, 0.25 * ratio + 0.2 * math.sqrt(ratio))
    assert game.credits == q * (price * (1.0 - slip))
    assert game.cargo.item(3) == 40.0 - q
    assert game.station_inventory.item(3) == f32(f32(stock + q) * f32(0.998))
    assert game.recent_sales.item(3) == f32(q * f32(math.exp(-1 / 14.0)))


def test_selling_nothing_is_valid_at_the_station_only():
    assert after(Prospector(seed=0), Action.SELL).ev_invalid == 0
    assert after(away(), Action.SELL).ev_invalid == 1


PURCHASES = [  # action, price, what it changes, by how much
    (61, 60.0, "fuel", 120.0),
    (62, 120.0, "fuel", 260.0),
    (63, 210.0, "fuel", 480.0),
    (64, 150.0, "repair_kits", 1),
    (65, 175.0, "stabilizers", 1),
    (66, 110.0, "decoys", 1),
    (67, 280.0, "hull", 50.0),
]


@walk(("action", "price", "field", "gain"), PURCHASES)
def test_purchases(action, price, field, gain):
    game = Prospector(seed=0)
    game.fuel, game.hull, game.tool, game.credits = 100.0, 50.0, 30.0, price
    poor, far = copy.deepcopy(game), away()
    poor.credits, far.credits = np.nextafter(price, 0.0), 1e6
    before = getattr(game, field)
    game.step(action)
    assert getattr(game, field) == before + gain
    assert (game.credits, game.total_spend, game.ev_invalid) == (0.0, price, 0)
    for other in (poor, far):
        money = other.credits
        other.step(action)
        assert (other.ev_invalid, other.ev_dt, other.credits) == (1, 1, money)


@pytest.mark.parametrize(
    ("action", "field"), [(64, "repair_kits"), (65, "stabilizers"), (66, "decoys")]
)
def test_supplies_have_a_limit(action, field):
    game = Prospector(seed=0)
    game.credits = 1e6
    setattr(game, field, 12)
    game.step(action)
    assert (game.ev_invalid, getattr(game, field)) == (1, 12)


def test_overhaul_takes_three_ticks():
    game = Prospector(seed=0)
    game.hull, game.tool, game.credits = 5.0, 6.0, 300.0
    game.step(Action.OVERHAUL)
    assert (game.hull, game.tool, game.credits, game.ev_dt) == (100.0, 100.0, 20.0, 3)


# -- pirates (docs/prospector.md, 9.2) ----------------------------------------------------------


def robbed(decoys, *dice):
    game = away()
    game.cargo[:], game.decoys, game.alert, game.hull = 20.0, decoys, 0.0, 100.0
    game.rng = Dice(*dice)
    game.meet_pirates(1, 0.3)
    assert not game.rng.values  # the draws were those and no more
    return game


def test_pirates_take_a_share_of_everything():
    game = robbed(0, 0.0, 0.5, 0.5)
    value = sum(20.0 * price for price in game.price.tolist())
    assert game.cargo.tolist() == [f32(20.0 * f32(1.0 - 0.14))] * 6
    assert game.value_lost == pytest.approx(0.14 * value, rel=1e-6)
    assert (game.pirate_encounters, game.hull, game.alert) == (1, 97.5, 8.0)


def test_a_decoy_saves_most_of_it_if_it_works():
    game = robbed(2, 0.0, 0.5, 0.59, 0.5)
    assert (game.decoys, game.cargo.item(0)) == (1, f32(20.0 * f32(1.0 - 0.14 * 0.3)))
    game = robbed(2, 0.0, 0.5, 0.6, 0.5)
    assert (game.decoys, game.cargo.item(0)) == (2, f32(20.0 * f32(1.0 - 0.14)))


def test_pirates_who_do_not_come_take_nothing():
    game = robbed(1, 0.999)
    assert (game.pirate_encounters, game.value_lost, game.alert) == (0, 0.0, 0.0)


def test_there_are_no_pirates_at_the_station():
    game = Prospector(seed=0)
    game.rng = Dice()
    game.meet_pirates(8, 1.0)
    assert game.pirate_encounters == 0


# -- the world goes on (docs/prospector.md, 10) -------------------------------------------------


def test_overheating_hurts():
    game = Prospector(seed=0)
    game.heat = 112.5
    game.step(Action.BURN)
    assert (game.heat, game.overheat_ticks) == (100.0, 1)
    assert game.hull == 100.0 - 1.25 * 10.0


def test_prices_move_around_their_base():
    game = Prospector(seed=0)
    before = game.price.copy()
    game.rng = Dice()  # without noise
    game.station_inventory[:], game.recent_sales[:] = 100.0, 10.0
    game.move_market(1)
    assert (game.prev_price == before).all()
    for c, base in enumerate(PRICE_BASE):
        angle = 2.0 * math.pi / game.price_period.item(c) + game.price_phase.item(c)
        expected = base + game.price_amp.item(c) * math.sin(angle) - 4.0 - 0.5
        assert game.price.item(c) == pytest.approx(expected, rel=1e-6)
    assert game.station_inventory.item(0) == f32(100.0 * f32(0.998))


def test_too_much_cargo_is_scaled_down():
    game = Prospector(seed=0)
    game.cargo[:] = [60.0, 50.0, 40.0, 45.5, 20.0, 30.25]
    game.step(Action.HOLD)
    assert game.cargo_total() == pytest.approx(200.0, abs=1e-4)
    assert game.cargo.item(0) == f32(60.0 * f32(200.0 / 245.75))
