"""Who sits in the other seats is told by rounds that are over, and rollouts are played so."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.search import TABLE, first_cards
from fastenv.errors import ConfigError
from tests.needs import needs_core
from training import load_policy
from training.apps.skullking.opponent_model import OpponentModel
from training.evaluation.loop import Loop
from training.players.draws import mix
from training.players.names import make_player
from training.players.network import seat_policy
from training.players.player import begin_all, every_lane
from training.search.blueprints import BotBlueprint, ModelBlueprint, Start, SteppedBlueprint, take
from training.search.options import SearchOptions
from training.search.searcher import Searcher

pytestmark = needs_core
AGENT = "pretrained/skullking-ppo"
SEATED = ("heuristic", "policy", "heuristic", "rule_hard")  # the first one watches


@pytest.fixture(scope="module")
def policy():
    return load_policy(AGENT)


class Watching:
    """A player whose model watches its decisions."""

    def __init__(self, player, model):
        self.begin, self._act, self._watch = player.begin, player.act, model.watch

    def act(self, engine, lanes):
        self._watch(lanes, engine.get_states(lanes))
        return self._act(engine, lanes)


def play(engine, players):
    """Play games to the end, a player in each seat."""
    lanes = every_lane(engine)
    seating = np.tile(np.arange(len(players)), (len(lanes), 1))
    draws = [k + lanes for k in range(len(players))]
    for _ in Loop(engine, players, 11 + lanes, seating=seating, draws=draws):
        pass


def test_players_are_told_apart(policy):
    engine = TABLE.make(12)
    model = OpponentModel(policy, engine)
    assert model.names == ("policy", "heuristic", "rule_hard")
    who = [policy if name == "policy" else name for name in SEATED]
    first, *others = (make_player(each, engine) for each in who)
    lanes = np.arange(12)
    model.begin(lanes)
    play(engine, [Watching(first, model), *others])
    told = model.likely(lanes)
    for seat in (1, 2, 3):
        assert (told[:, seat] == model.names.index(SEATED[seat])).mean() > 0.9, seat
    model.begin(lanes[:3])
    assert not model.scores[:3].any()
    assert model.scores[3:].any()


def test_candidates_are_drawn_by_how_likely_they_are(policy):
    model = OpponentModel(policy, TABLE.make(1))
    luck = np.random.default_rng(0).random((3000, 4))
    drawn = model.draw(np.zeros(3000, np.int64), luck)
    assert np.abs(np.bincount(drawn.ravel()) / drawn.size - 1 / 3).max() < 0.02
    model.scores[0, 2] = np.log([0.1, 0.1, 0.8])
    drawn = model.draw(np.zeros(3000, np.int64), luck)
    assert abs((drawn[:, 2] == 2).mean() - 0.8) < 0.03


def test_without_a_policy_bots_are_the_candidates():
    model = OpponentModel(None, TABLE.make(2))
    assert model.names == ("heuristic", "rule_hard")
    assert (model.draw(np.arange(2), np.full((2, 4), 0.99)) == 1).all()


# -- rollouts ------------------------------------------------------------------------------------


def start_of(engine, rows, count=3):
    """Return the beginning of rollouts: some worlds of each row, its first legal action."""
    worlds = engine.resample(rows, rows["actor"], 3, worlds=count, trusted=True)
    actions = engine.action_masks_many(worlds, trusted=True).argmax(1).astype(np.int32)
    seats, seeds = worlds["actor"].astype(np.int64), np.arange(len(worlds)).astype(np.uint64)
    lanes = np.repeat(np.arange(len(rows)), count)
    of = np.arange(len(worlds))
    return Start(worlds, of, actions, seeds, "round", None, seats, lanes)


@pytest.fixture(scope="module")
def table():
    engine = TABLE.make(4)
    return engine, first_cards(engine)


def test_a_network_plays_on_as_in_lanes(policy, table):
    engine, rows = table
    start = start_of(engine, rows)
    ends = SteppedBlueprint(engine, policy, "actor").play_on(start)
    lanes = TABLE.make(len(start.of))
    lanes.set_states(start.rows[start.of], trusted=True)
    player, everybody = seat_policy(policy, lanes), every_lane(lanes)
    begin_all(player, lanes, 0)
    begun, actions = lanes.get_states()["rounds_done"], start.actions
    going = np.ones(lanes.num_envs, np.bool_)
    while going.any():
        lanes.step_many(actions, select=going, autoreset=False)
        going &= (lanes.get_states()["rounds_done"] == begun) & ~lanes.ended
        actions = np.zeros(lanes.num_envs, np.int32)
        if going.any():
            actions[going] = player.act(lanes, everybody[going])
    assert np.array_equal(engine.game.outcomes(ends), lanes.get_outcomes())


def test_players_draw_anew_at_each_decision(policy, table, monkeypatch):
    engine, rows = table
    seen, play = [], engine.rollout

    def spy(rows, actions, players, until, limit, seeds, **how):
        seen.append(seeds[0])
        return play(rows, actions, players, until, limit, seeds, **how)

    monkeypatch.setattr(engine, "rollout", spy)
    start = start_of(engine, rows[:1], 1)
    everywhere = np.ones((1, 4), np.int64)
    SteppedBlueprint(engine, policy, "actor", ["random"]).play_on(start, everywhere)
    assert len(seen) == len(set(seen)) > 30


@pytest.mark.parametrize("rollouts", ["policy", "model"])
def test_a_network_plays_to_the_end_of_the_round(policy, table, rollouts):
    engine, _ = table
    options = SearchOptions(rollouts=rollouts, horizon="tricks=2")
    with pytest.raises(ConfigError, match=r"horizon.*must be round or end where a network plays"):
        Searcher(engine, policy, options)


def test_bots_may_stop_earlier(table):
    engine, _ = table
    for rollouts in ("heuristic", "model"):
        Searcher(engine, None, SearchOptions(rollouts=rollouts, horizon="tricks=2"))


class Known:
    """A model that knows who sits there."""

    names = ("policy", "heuristic", "rule_hard")

    def __init__(self, players):
        self.players = np.array(players)

    def draw(self, lanes, luck):
        return np.tile(self.players, (len(lanes), 1))


def test_known_bots_play_in_one_loop(policy, table):
    engine, rows = table
    start = start_of(engine, rows)
    ends = ModelBlueprint(engine, policy, Known([1, 1, 1, 1]), "actor").play_on(start)
    assert np.array_equal(ends, BotBlueprint(engine, ["heuristic"]).play_on(start))


def test_the_own_seat_is_the_network_where_it_meets_itself(policy, table):
    engine, rows = table
    start = start_of(engine, rows)
    ends = ModelBlueprint(engine, policy, Known([0, 0, 0, 0]), "actor").play_on(start)
    assert np.array_equal(ends, SteppedBlueprint(engine, policy, "actor").play_on(start))
    mixed = ModelBlueprint(engine, policy, Known([1, 0, 2, 1]), "actor").play_on(start)
    assert (mixed["done"] == 1).all()
    assert not np.array_equal(mixed, ends)


def test_several_bots_share_the_worlds_and_actions_of_a_world_the_bot(policy, table):
    engine, rows = table
    start = start_of(engine, rows)
    start = replace(start, seeds=mix(start.seeds, start.of, 0))
    assert (start.seeds % 2 != start.of % 2).sum() > 0
    both = BotBlueprint(engine, ["heuristic", "random"]).play_on(start)
    for k, name in enumerate(("heuristic", "random")):
        own = start.seeds % 2 == k
        alone = BotBlueprint(engine, [name]).play_on(start)
        assert np.array_equal(both[own], alone[own])


def test_the_network_that_searches_is_a_candidate_of_its_model(policy, table):
    engine, _ = table
    for who, names in ((policy, ("policy", "heuristic", "rule_hard")), (None, None)):
        model = Searcher(engine, who, SearchOptions(rollouts="model")).model
        assert model.names == (names or ("heuristic", "rule_hard"))


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_network_plays_as_many_decisions_as_rollouts_may_have(policy, table, limit):
    engine, rows = table
    start = replace(start_of(engine, rows), limit=limit)
    counts = []
    one = SteppedBlueprint(engine, policy, "actor")
    step = one._step
    one._step = lambda now, *args: counts.append(len(now)) or step(now, *args)
    one.play_on(start)
    assert counts == [len(start.of)] * limit


def test_some_rollouts_are_the_same_as_among_all(table):
    engine, rows = table
    start = start_of(engine, rows)
    some = start.of % 3 == 1
    part = take(start, some)
    for name in ("of", "actions", "seeds", "seats", "lanes"):
        np.testing.assert_array_equal(getattr(part, name), getattr(start, name)[some], name)
    whole, few = (BotBlueprint(engine, ["random"]).play_on(each) for each in (start, part))
    assert np.array_equal(whole[some], few)
