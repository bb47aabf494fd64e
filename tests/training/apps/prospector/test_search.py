"""What a searcher is about in Asteroid Prospector."""

import numpy as np

import fastenv
from tests.needs import needs_core
from training.games.prospector.search import LOST, SEARCH, UNIT, profit
from training.players.player import begin_all
from training.search.agent import load


def test_profit_counts_credits_less_what_was_spent_and_lost_ships():
    rows = np.zeros(3, fastenv.make_game("Prospector-v0").spec.state_dtype)
    rows["credits"], rows["total_spend"] = [3 * UNIT, UNIT, 0], [UNIT, 0, 0]
    rows["ev_destroyed"], rows["ev_stranded"] = [0, 1, 0], [0, 0, 1]
    assert profit(np.zeros((3, 1)), rows, np.zeros(3, int)).tolist() == [2.0, 1 - LOST, -LOST]


@needs_core
def test_a_scripted_player_searches_with_the_defaults_of_the_game():
    engine = fastenv.make_engine("Prospector-v0", num_envs=2)
    engine.reset_many(seeds=3)
    player = load("search:rich_haul,worlds=4,limit=30").player(engine)
    begin_all(player, engine, 0)
    first = player.act(engine, np.arange(2))
    assert (engine.mask[np.arange(2), first] != 0).all()
    options = load("search:rich_haul").player(engine).searcher.options
    assert options.lead == SEARCH.options["lead"]
    assert options.worlds == SEARCH.options["worlds"]
    assert options.outcome == "profit"
