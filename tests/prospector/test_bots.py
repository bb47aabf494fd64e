"""Bots (docs/prospector.md, 17): rule by rule, against golden decisions, in whole games."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastenv.errors import ConfigError
from fastenv.prospector import bots, encoding, make_game
from fastenv.prospector.bots import Bot
from fastenv.prospector.reference import Prospector
from fastenv.prospector.tables import COMMODITIES, Action
from fastenv.rng import Rng
from tests.prospector import golden
from tests.prospector.games import mask_of, obs_of, pay, random_walk
from tests.tables import walk

MINER, SCANNER, TIMER = Bot.GREEDY_MINER, Bot.CAUTIOUS_SCANNER, Bot.MARKET_TIMER
HAULER = Bot.RICH_HAUL
STATION, CLUSTER, HAZARD = 1, 2, 3


class Dead:
    """A generator that must not be used."""

    def bounded(self, n):
        raise AssertionError(n)


def seen(ways=(CLUSTER,), rocks=(), at_station=False, credits=0.0, **values):
    """Build an observation; a rock is (share of pge, stability, depletion, conf, selected)."""
    obs = np.zeros(260, np.float32)
    start = {"fuel": 0, "hull": 1, "heat": 2, "tool": 3, "cargo": 4, "alert": 5, "time": 6}
    start |= {"kits": 14, "stabilizers": 15, **{f"load{c}": 8 + c for c in range(6)}}
    start |= {f"price{c}": 244 + c for c in range(6)} | {f"change{c}": 250 + c for c in range(6)}
    full = {"fuel": 1.0, "hull": 1.0, "tool": 1.0, "time": 1.0, "kits": 1.0, "stabilizers": 1.0}
    full |= {f"price{c}": 0.4 for c in range(6)}
    for name, value in (full | values).items():
        obs[start[name]] = value
    obs[17] = at_station
    obs[7] = np.log1p(credits) / np.log1p(1e7)
    for k, way in enumerate(ways):
        if way:
            obs[24 + 7 * k], obs[24 + 7 * k + way] = 1.0, 1.0
    for a, (pge, stability, depletion, conf, selected) in enumerate(rocks):
        rest = (1.0 - pge) / 5.0
        block = [1.0, rest, rest, rest, pge, rest, rest, stability, depletion, conf, selected]
        obs[68 + 11 * a : 68 + 11 * (a + 1)] = block
    return obs


def act(kind, target=3, **view):
    return bots.bot_action(kind, seen(**view), None, Dead(), target)


GOOD, POOR = (0.2, 0.9, 0.0, 0.7, 0.0), (0.2, 0.3, 0.0, 0.7, 0.0)
TAKEN, SHAKY = (0.2, 0.9, 0.0, 0.7, 1.0), (0.2, 0.3, 0.0, 0.7, 1.0)
VAGUE = (0.2, 0.9, 0.0, 0.5, 1.0)
RICH, HALF_RICH = (0.9, 0.5, 0.0, 0.0, 0.0), (0.9, 0.5, 0.5, 0.0, 0.0)

USED, MORE_USED = (0.2, 0.9, 0.01, 0.1, 0.0), (0.2, 0.1, 0.02, 0.1, 0.0)
BROKEN = (0.2, 0.9, 1.0, 0.1, 0.0)
HOME = (CLUSTER, STATION)

RULES = [  # bot, what it sees, what it does
    (MINER, {"at_station": True, "load2": 0.02, "load4": 0.5}, 45 + 3 * 2),
    (MINER, {"at_station": True, "load2": 0.009, "fuel": 0.39, "credits": 211}, 63),
    (MINER, {"at_station": True, "fuel": 0.39, "credits": 209, "ways": (HAZARD, CLUSTER)}, 1),
    (MINER, {"at_station": True, "fuel": 0.41, "credits": 500}, 0),
    (MINER, {"cargo": 0.86, "ways": (CLUSTER, HAZARD, STATION), "rocks": (GOOD,)}, 2),
    (MINER, {"heat": 0.81, "ways": (CLUSTER, HAZARD)}, 0),
    (MINER, {"hull": 0.39, "ways": ()}, 6),
    (MINER, {"fuel": 0.14, "ways": (0, STATION)}, 1),
    (MINER, {"ways": (STATION, HAZARD)}, 1),
    (MINER, {"ways": (STATION,)}, 0),
    (MINER, {"ways": ()}, 6),
    (MINER, {"rocks": (POOR, GOOD, GOOD)}, 13),
    (MINER, {"rocks": (POOR, TAKEN)}, 30),
    (MINER, {"rocks": (TAKEN,), "tool": 0.59}, 29),
    (MINER, {"rocks": (TAKEN,), "tool": 0.6}, 30),  # the single 0.6 is more than the double
    (MINER, {"rocks": (TAKEN,), "heat": 0.6}, 29),
    (SCANNER, {"at_station": True, "load5": 0.02}, 44 + 15),
    (SCANNER, {"at_station": True, "kits": 0.25, "fuel": 0.4, "credits": 151}, 64),
    (SCANNER, {"at_station": True, "kits": 0.25, "fuel": 0.4, "credits": 149}, 62),
    (SCANNER, {"at_station": True, "fuel": 0.51, "credits": 9e5, "ways": (0, HAZARD)}, 1),
    (SCANNER, {"cargo": 0.71, "ways": (CLUSTER, STATION)}, 1),
    (SCANNER, {"heat": 0.76, "ways": (CLUSTER, STATION)}, 1),
    (SCANNER, {"hull": 0.54, "ways": (CLUSTER, STATION)}, 1),
    (SCANNER, {"fuel": 0.19, "ways": (CLUSTER, STATION)}, 1),
    (SCANNER, {"rocks": (VAGUE, RICH)}, 8),
    (SCANNER, {"ways": (HAZARD,)}, 0),
    (SCANNER, {"rocks": (POOR, GOOD)}, 13),
    (SCANNER, {"rocks": (VAGUE,)}, 10),
    (SCANNER, {"rocks": (SHAKY,)}, 31),
    (SCANNER, {"rocks": (SHAKY,), "stabilizers": 0.09, "heat": 0.71}, 33),
    (SCANNER, {"rocks": (TAKEN,)}, 28),
    (TIMER, {"at_station": True, "load3": 0.02, "change3": 0.02, "price3": 0.6}, 43 + 9),
    (TIMER, {"at_station": True, "load3": 0.02, "change3": 0.02, "price3": 0.5}, 0),
    (TIMER, {"at_station": True, "load3": 0.02, "cargo": 0.71}, 43 + 9),
    (TIMER, {"at_station": True, "load5": 0.06, "time": 0.14}, 43 + 15),
    (TIMER, {"at_station": True, "load5": 0.04, "cargo": 0.8, "fuel": 0.4, "credits": 121}, 62),
    (TIMER, {"cargo": 0.13, "heat": 0.66}, 33),
    (TIMER, {"cargo": 0.13, "ways": (CLUSTER, STATION)}, 1),
    (TIMER, {"cargo": 0.13, "rocks": (RICH,)}, 12),
    (TIMER, {"cargo": 0.26, "change3": -0.03, "heat": 0.61}, 33),
    (TIMER, {"cargo": 0.26, "change3": -0.03, "rocks": (RICH,)}, 0),
    (TIMER, {"cargo": 0.86, "rocks": (RICH,)}, 6),
    (TIMER, {"heat": 0.81, "ways": (STATION,)}, 33),
    (TIMER, {"rocks": (GOOD, HALF_RICH)}, 12),  # 0.153 against 0.1125
    (TIMER, {"rocks": (POOR, HALF_RICH)}, 13),
    (TIMER, {"rocks": (GOOD, HALF_RICH), "target": 0}, 12),
    (TIMER, {"ways": (STATION, HAZARD)}, 1),
    (TIMER, {"rocks": (TAKEN,), "heat": 0.59}, 29),
    (TIMER, {"rocks": (TAKEN,), "heat": 0.61}, 28),
    (HAULER, {"at_station": True, "load0": 0.0006, "load1": 0.0006, "load4": 0.5}, 32),
    (HAULER, {"at_station": True, "load0": 0.0005, "load1": 0.0004, "load4": 0.5}, 43 + 12),
    (HAULER, {"at_station": True, "credits": 1}, 68),
    (HAULER, {"at_station": True, "ways": (0, CLUSTER)}, 1),
    (HAULER, {"ways": (CLUSTER,), "rocks": (GOOD,)}, 6),
    (HAULER, {"ways": HOME, "cargo": 0.051, "rocks": (GOOD,)}, 1),
    (HAULER, {"ways": HOME, "hull": 0.84, "rocks": (GOOD,)}, 1),
    (HAULER, {"ways": HOME, "rocks": ()}, 1),
    (HAULER, {"ways": HOME, "alert": 0.2, "load0": 0.01, "rocks": (GOOD,)}, 37),
    (HAULER, {"ways": HOME, "rocks": (USED, MORE_USED, GOOD)}, 14),
    (HAULER, {"ways": HOME, "rocks": (USED, MORE_USED, USED, BROKEN, GOOD)}, 13),
    (HAULER, {"ways": HOME, "rocks": (BROKEN, BROKEN, BROKEN, BROKEN, GOOD)}, 16),
    (HAULER, {"ways": HOME, "rocks": (USED, MORE_USED)}, 13),
    (HAULER, {"ways": HOME, "rocks": (BROKEN, BROKEN)}, 1),
    (HAULER, {"ways": HOME, "rocks": (TAKEN,)}, 28),
    (Bot.CASH_OUT, {}, 68),
    (Bot.HOLD, {}, 6),
]


@walk(("kind", "view", "action"), RULES)
def test_rules(kind, view, action):
    assert act(kind, **view) == action


@walk("name", [bot.name.lower() for bot in Bot])
def test_names(name):
    assert bots.bot_kind(name) == bots.bot_kind(f"  {name.title()} ") == Bot[name.upper()]


@pytest.mark.parametrize("name", ["", "greedy", "miner greedy", None, 3])
def test_unknown_names_are_refused_with_the_known_ones(name):
    with pytest.raises(ConfigError, match=r"greedy_miner, .*, rich_haul(\.|$)"):
        bots.bot_kind(name)


def test_a_player_of_the_game_is_a_record_of_kind_and_target():
    game = make_game()
    for kind in Bot:
        assert game.bot(kind.name.lower()).tolist() == [(kind, bots.TARGET)]
    for target, commodity in enumerate(COMMODITIES):
        assert game.bot(f"market_timer_{commodity}").tolist() == [(TIMER, target)]


@pytest.mark.parametrize("name", ["market_timer_", "market_timer_gold", "hold_iron", "7", None])
def test_a_game_refuses_players_and_targets_it_does_not_know(name):
    with pytest.raises(ConfigError, match=r"greedy_miner, .*, rich_haul(\.|$)"):
        make_game().bot(name)


@pytest.mark.parametrize("target", [-1, 6])
def test_unknown_targets_are_refused(target):
    with pytest.raises(ValueError, match="target"):
        act(TIMER, target=target)


@given(seed=st.integers(0, 2**64 - 1))
def test_decisions_are_in_range_and_repeatable(seed):
    *_, game = random_walk(seed, 8)
    obs, mask = obs_of(game), mask_of(game)
    for kind in Bot:
        one, two = Rng(seed), Rng(seed)
        action = bots.bot_action(kind, obs, mask, one)
        assert action == bots.bot_action(kind, obs, mask, two)
        assert 0 <= action < 69
        assert kind in (Bot.RANDOM, Bot.MASKED_RANDOM) or one.state == Rng(seed).state
        assert kind != Bot.MASKED_RANDOM or mask[action]


def test_random_bots_draw_once():
    mask, rng, twin = mask_of(Prospector(seed=0)), Rng(3), Rng(3)
    legal = np.flatnonzero(mask).tolist()
    assert bots.bot_action(Bot.RANDOM, None, mask, rng) == twin.bounded(69)
    assert bots.bot_action(Bot.MASKED_RANDOM, None, mask, rng) == legal[twin.bounded(len(legal))]
    assert rng.state == twin.state


# -- golden decisions ---------------------------------------------------------------------------


def decisions(trace, kind):
    """Return what a bot would have done at every step of a trace, beside what was done."""
    views = [trace["obs_inject"], *trace["obs"][:-1]]
    for step, obs in zip(trace["reset_step"].tolist(), trace["reset_obs"], strict=True):
        if step + 1 < len(views):
            views[step + 1] = obs
    target = trace.meta["target_commodity"]
    own = [bots.bot_action(kind, obs, None, Dead(), target) for obs in views]
    return np.array(own), trace["actions"]


BY_POLICY = {bot.name.lower(): bot for bot in (MINER, SCANNER, TIMER)}


@pytest.fixture(scope="module")
def traces():
    return [golden.Trace(path) for path in golden.TRACES]


def test_golden_decisions_of_bots(traces):
    """Every decision of traces that a bot has played, if there are any."""
    for trace in traces:
        if trace.meta["policy"] in BY_POLICY:
            own, done = decisions(trace, BY_POLICY[trace.meta["policy"]])
            assert (own == done).all(), trace.path.stem


def test_golden_decisions_of_the_greedy_miner(traces, subtests):
    """In ``eco`` traces it was overruled at random in three of ten steps."""
    eco = [trace for trace in traces if trace.meta["policy"] == "eco"]
    assert eco
    for trace in eco:
        with subtests.test(trace.path.stem):
            own, done = decisions(trace, MINER)
            assert 0.65 < np.mean(own == done) < 0.78
            mined = np.isin(own, (29, 30)) & np.isin(done, (29, 30))
            assert np.mean(own[mined] == done[mined]) > 0.95


# -- whole games: the first episodes of docs/prospector.md, 17; tests/parity plays all 300 ---------


def episode(kind, seed):
    game, obs = Prospector(seed=seed), np.empty(260, np.float32)
    rng, invalid = Rng(seed), 0
    while not game.done:
        encoding.encode_obs(game, obs)
        game.step(bots.bot_action(kind, obs, mask_of(game), rng))
        pay(game)
        invalid += game.ev_invalid
    return game, invalid


@pytest.mark.parametrize(
    ("kind", "steps", "total"),
    [(MINER, 69, -62.953980), (SCANNER, 69, -60.397017), (TIMER, 57, -113.702679)],
)
def test_episode_of_seed_7(kind, steps, total):
    game, _ = episode(kind, 7)
    assert (game.ep_length, round(game.ep_return, 6)) == (steps, total)


def test_bots_that_do_not_play():
    assert episode(Bot.CASH_OUT, 7)[0].ep_length == 1
    held = Prospector(time_max=30.0, seed=7)
    while not held.done:
        held.step(Action.HOLD)
    assert (held.done, held.ticks_elapsed) == (2, 30)
    _, invalid = episode(Bot.MASKED_RANDOM, 7)
    assert invalid == 0
