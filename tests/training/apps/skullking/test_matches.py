from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import fastenv
from fastenv.skullking.tables import Phase
from tests.needs import HAS_CORE
from tests.tables import walk
from training.apps.skullking.columns import COLUMNS
from training.apps.skullking.evaluation import match
from training.apps.skullking.whole_games import in_whole_games
from training.evaluation.evaluation import Evaluation, play
from training.evaluation.results import Results
from training.players.bots import Bot
from training.players.network import Network
from training.run.envs import make_engine

PLAYERS = 4
LANES = 2000 if HAS_CORE else 500


def test_deals_and_leaders_are_the_same_whatever_the_seat():
    engine = match("rule_medium", 3, 0).make_engine()
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
        "bid": np.array([[0, 1], [1, 2], [0, 0], [1, 1]]),
        "won": np.array([[0, 0], [1, 2], [1, 0], [0, 1]]),
        "bonus": np.array([[0, 0], [0, 30], [0, 0], [0, 0]]),
    }
    points = np.array([[10, -10], [20, 40], [-10, 20], [-10, 20]])
    lanes, info = np.arange(4), {}
    engine = SimpleNamespace(
        num_envs=4,
        info=info,
        ep_return=np.zeros(4),
        get_outcomes=lambda lanes: totals[lanes],
        get_agents=lambda lanes: lanes,
    )
    columns = {"player": np.full(4, "x"), "seed": np.zeros(4, int)}
    for name, column in COLUMNS.items():
        columns[name] = np.zeros(4)
        for r in range(2) if column.when == "step" else (1,):
            info |= {f"ended_{key}": values[:, r] for key, values in rounds.items()}
            info |= {"ended_round": np.full(4, r + 1), "points": points[:, r]}
            info |= {"ended_alliances": np.zeros(4, int)}
            columns[name] += column.read(engine, lanes)
    names = [name for name, column in COLUMNS.items() if column.kind != "kept"]
    means = Results(columns, COLUMNS).estimate(names, resamples=10).means["x"]
    found = {name: mean.value for name, mean in means.items()}
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


def played(opponents, deals, make, seed=5, **more):
    return play(match(opponents, deals, seed, **more).by({"x": make}))


def test_rule_bot_beats_random_bots():
    games = played("random", 10, partial(Bot, "rule_hard"))
    means = games.estimate(["win_rate", "margin"], resamples=200).means["x"]
    assert means["win_rate"].low > 0.7
    assert means["margin"].low > 100
    by_round = sum(games[f"points_round_{r}"] for r in range(1, 11))
    np.testing.assert_array_equal(games["points"], by_round)
    assert games["rounds"].tolist() == [10] * 40


def test_equal_bots_win_their_share():
    games = played("rule_hard", 50, partial(Bot, "rule_hard"))
    wins = games.mean("win_rate")
    assert wins.low < 0.25 < wins.high


def test_match_is_repeatable():
    one, two = (played("rule_easy", 2, partial(Bot, "heuristic")) for _ in range(2))
    np.testing.assert_array_equal(one["margin"], two["margin"])


def test_players_draw_from_seeds_of_their_own():
    one, two = (played("rule_easy", 4, partial(Bot, "random"), draws=draws) for draws in (0, 1))
    assert (one["bid_hit"] != two["bid_hit"]).any()
    again = played("rule_easy", 4, partial(Bot, "random"), draws=1)
    np.testing.assert_array_equal(two["margin"], again["margin"])


@walk("ext", [None, "memory"])
@walk("tier", ["Worker", "Ability", "Manager"])
def test_network_of_a_smaller_tier_plays_whole_games(tier, ext):
    env = f"SkullKing{tier}-v0"
    view = make_engine(env, 1, {"obs_ext": ext})
    weights = np.random.default_rng(0).normal(size=(view.obs.shape[1], 11)).astype(np.float32)
    make = partial(in_whole_games, lambda obs: obs @ weights, env, {"obs_ext": ext})
    games = played("rule_medium", 2, make, seed=9, options={"obs_ext": ext})
    assert (games["rounds"] == 10).all()


def test_worker_in_a_whole_game_sees_what_it_was_trained_on():
    """A first trick of a game's round, seen by the Worker's engine, is a Worker's observation."""
    engine = match("rule_medium", 1, 0).make_engine()
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


def rounds(make, seed=11, name="x"):
    """Return the rounds to a goal of a player, or of several by name."""
    seeds, options = range(seed, seed + LANES), {"round_weights": "uniform"}
    plan = Evaluation("goals", "SkullKingWorker-v0", options, seeds=seeds, draws=0, lanes=LANES)
    return play(plan.by(make if isinstance(make, dict) else {name: make}))


def test_players_play_the_same_rounds():
    first, second = (rounds(partial(Bot, name)) for name in ("random", "rule_hard"))
    other = rounds(partial(Bot, "rule_hard"), seed=5000)
    for name in ("round", "cards", "goal"):
        np.testing.assert_array_equal(first[name], second[name])
        assert (first[name] != other[name]).any()
    assert (first["goal"] <= first["cards"]).all()


def test_comparison_finds_the_better_player():
    played = rounds({name: partial(Bot, name) for name in ("random", "heuristic")})
    by_round = [f"round_{r}" for r in range(1, 11)]
    drawn = played.estimate(["overall", *by_round], resamples=200, seed=11)
    rates = drawn.means["random"]
    reached, number = played.of(player="random")["reached"], played.of(player="random")["round"]
    for r, name in enumerate(by_round, 1):
        assert rates[name].value == pytest.approx(reached[number == r].mean())
    assert drawn.gaps("random", "overall")["heuristic"].low > 0


def test_constant_network_plays_rounds():
    make = partial(Network, lambda obs: np.zeros((len(obs), 11), np.float32))
    assert 0 < rounds(make, seed=1)["reached"].mean() < 1
