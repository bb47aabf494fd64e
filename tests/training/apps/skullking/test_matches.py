from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import fastenv
from fastenv.skullking.tables import Phase
from tests.needs import HAS_CORE
from training.apps.skullking import goals, matches
from training.apps.skullking.players import in_whole_games
from training.players.bots import Bot
from training.players.network import Network
from training.run.envs import make_engine

PLAYERS = 4
LANES = 2000 if HAS_CORE else 500


def test_deals_and_leaders_are_the_same_whatever_the_seat():
    engine = matches.match_engine(3, "rule_medium")
    engine.reset_many(seeds=np.repeat(np.arange(3) + 77, PLAYERS))
    rng = np.random.default_rng(0)
    rounds = 0
    while not engine.ended.any():
        if (engine.info["decision_phase"] == Phase.BID).all():
            rows = engine.get_states()
            assert rows["agent"].tolist() == [0, 1, 2, 3] * 3
            for name in ("hand", "hand_len", "stock", "first_leader"):
                deals = rows[name].reshape(3, PLAYERS, -1)
                np.testing.assert_array_equal(deals, deals[:, :1].repeat(PLAYERS, 1))
            assert (rows["hand"][0] != rows["hand"][PLAYERS]).any()
            rounds += 1
        engine.step_many(fastenv.sample_legal(engine.mask, rng), autoreset=False)
    assert rounds == 10


def test_measures_of_a_hand_made_match():
    totals = np.array([[10, 10, 0, 0], [30, 0, 0, 0], [0, 5, 0, 0], [0, 0, 0, 8]])
    rounds = {
        "cards": np.tile([1, 2], (4, 1)),
        "bid": np.array([[0, 1], [1, 2], [0, 0], [1, 1]]),
        "won": np.array([[0, 0], [1, 2], [1, 0], [0, 1]]),
        "points": np.array([[10, -10], [20, 40], [-10, 20], [-10, 20]]),
        "bonus": np.array([[0, 0], [0, 30], [0, 0], [0, 0]]),
        "alliances": np.zeros((4, 2), int),
    }
    games = matches.Games(PLAYERS, totals, np.arange(4), np.zeros(4), rounds)
    found = {k: a.sum() / b.sum() for k, (a, b) in matches.measures(games).items() if b.sum()}
    assert found["points"] == (10 + 0 + 0 + 8) / 4
    assert found["margin"] == np.mean([10 - 10 / 3, 0 - 30 / 3, 0 - 5 / 3, 8 - 0])
    assert found["win_rate"] == (0.5 + 0 + 0 + 1) / 4
    assert found["rank"] == (1 + 2 + 2 + 1) / 4
    assert found["bid_hit"] == 5 / 8
    assert found["bid_hit_round_1"] == 2 / 4
    assert found["zero_bids"] == 3 / 8
    assert found["zero_bid_success"] == 2 / 3
    assert found["bonus"] == 30 / 4
    assert found["points_round_2"] == 70 / 4


def test_rule_bot_beats_random_bots():
    engine = matches.match_engine(10, "random")
    games = matches.play(engine, partial(Bot, "rule_hard"), seed=5)
    found = matches.intervals(games, resamples=200, seed=0)
    assert found["win_rate"].low > 0.7
    assert found["margin"].low > 100
    totals = games.totals[np.arange(len(games.seat)), games.seat]
    np.testing.assert_array_equal(totals, games.rounds["points"].sum(1))
    np.testing.assert_array_equal(games.rounds["cards"], np.tile(np.arange(10) + 1, (40, 1)))


def test_equal_bots_win_their_share():
    engine = matches.match_engine(50, "rule_hard")
    games = matches.play(engine, partial(Bot, "rule_hard"), seed=5)
    found = matches.intervals(games, resamples=500, seed=0)
    assert found["win_rate"].low < 0.25 < found["win_rate"].high


def test_match_is_repeatable():
    engine = matches.match_engine(2, "rule_easy")
    one, two = (matches.play(engine, partial(Bot, "heuristic"), seed=5) for _ in range(2))
    np.testing.assert_array_equal(one.totals, two.totals)


def test_players_draw_from_seeds_of_their_own():
    engine = matches.match_engine(4, "rule_easy")
    one, two = (matches.play(engine, partial(Bot, "random"), 5, draws=draws) for draws in (0, 1))
    assert (one.rounds["bid"][:, 9] != two.rounds["bid"][:, 9]).any()
    again = matches.play(engine, partial(Bot, "random"), 5, draws=1)
    np.testing.assert_array_equal(two.totals, again.totals)


@pytest.mark.parametrize("ext", [None, "memory"])
@pytest.mark.parametrize("tier", ["Worker", "Ability", "Manager"])
def test_network_of_a_smaller_tier_plays_whole_games(tier, ext):
    env = f"SkullKing{tier}-v0"
    view = make_engine(env, 1, {"obs_ext": ext})
    weights = np.random.default_rng(0).normal(size=(view.obs.shape[1], 11)).astype(np.float32)
    engine = matches.match_engine(2, "rule_medium", options={"obs_ext": ext})
    make = partial(in_whole_games, lambda obs: obs @ weights, env, {"obs_ext": ext})
    games = matches.play(engine, make, seed=9)
    assert (games.rounds["bid"] <= games.rounds["cards"]).all()


def test_worker_in_a_whole_game_sees_what_it_was_trained_on():
    """A first trick of a game's round, seen by the Worker's engine, is a Worker's observation."""
    engine = matches.match_engine(1, "rule_medium")
    engine.reset_many(seeds=3)
    engine.step_many(np.zeros(4, np.int32), autoreset=False)
    view = make_engine("SkullKingWorker-v0", 1)
    obs = view.encode_obs_many(engine.get_states())
    assert obs.shape == (4, 203)
    np.testing.assert_allclose(obs[:, 126], 0)  # goal
    np.testing.assert_allclose(obs[:, 134], 1)  # goal one-hot
    np.testing.assert_allclose(obs[:, 164], 0.1)  # one card dealt


def test_a_network_never_picks_an_illegal_action():
    logits = np.array([[5.0, 1.0, 2.0], [0.0, -1.0, -2.0]], np.float32)
    mask = np.array([[0, 1, 1], [0, 0, 1]], np.uint8)
    engine = SimpleNamespace(num_envs=2, obs=logits, mask=mask, refresh=lambda: None)
    assert Network(lambda obs: obs, engine).act(engine, np.arange(2)).tolist() == [2, 2]


# -- the same goals and deals ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def rounds():
    return make_engine("SkullKingWorker-v0", LANES, {"round_weights": "uniform"})


def test_players_play_the_same_rounds(rounds):
    first, _ = goals.play(rounds, partial(Bot, "random"), seed=11)
    second, _ = goals.play(rounds, partial(Bot, "rule_hard"), seed=11)
    other, _ = goals.play(rounds, partial(Bot, "rule_hard"), seed=5000)
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()
    assert (first[:, 2] <= first[:, 1]).all()


def test_comparison_finds_the_better_player(rounds):
    players = {name: partial(Bot, name) for name in ("random", "heuristic")}
    found = goals.compare(rounds, players, seed=11, resamples=200, baseline="random")
    assert set(found.rates["random"]) == {"overall", *(f"round_{r}" for r in range(1, 11))}
    assert found.differences["heuristic"].low > 0
    assert found.best(["random", "heuristic"]) == "heuristic"
    assert found.outside("heuristic", "random") == (
        found.rates["heuristic"]["overall"].low > found.rates["random"]["overall"].high
    )
    assert not found.outside("random", "heuristic")


def test_constant_network_plays_rounds(rounds):
    make = partial(Network, lambda obs: np.zeros((len(obs), 11), np.float32))
    _, hit = goals.play(rounds, make, seed=1)
    assert 0 < hit.mean() < 1
