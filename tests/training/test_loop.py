"""The loop that plays: who is asked for which lanes, from which seed, and until when."""

from itertools import pairwise

import numpy as np
import pytest

from fastenv import BatchEngine
from fastenv.seats import EXTERNAL
from tests import nim
from tests.toy import WalkGame
from training.evaluation.loop import Loop, ask
from training.players.player import every_lane

SEEDS = np.array([50, 7, 912, 3, 3, 88, 21, 4, 1000, 64, 5])
both = pytest.mark.parametrize("wait", [True, False])


def engine_of(lanes):
    return BatchEngine(WalkGame(), lanes, backend="reference")


class Walker:
    """Steps, and notes what it is told."""

    def __init__(self):
        self.begun, self.asked = [], []

    def begin(self, engine, lanes, seeds=None):
        self.begun.append((lanes.tolist(), seeds.tolist()))

    def act(self, engine, lanes):
        self.asked.append(lanes.tolist())
        return np.ones(len(lanes), np.int32)


def alone(seed, limit=None, knob=12):
    """Return decisions, position and whether it is over, of an episode in an engine of its own."""
    engine, steps = engine_of(1), 0
    engine.configure("limit", knob)
    engine.reset_many(seeds=int(seed))
    while not engine.ended[0] and steps != limit:
        engine.step_many(np.ones(1, np.int32), autoreset=False)
        steps += 1
    return steps, int(engine.info["position"][0]), bool(engine.ended[0])


def play(loop):
    """Return the same of every episode, in order."""
    steps, ends = np.zeros(len(loop.seeds), int), {}
    for step in loop:
        steps[step.episode[step.lanes]] += 1
        assert step.finished.tolist() == sorted([*step.over, *step.given_up])
        for lane in step.finished.tolist():
            number = int(step.episode[lane])
            assert number not in ends
            position = int(loop.engine.info["position"][lane])
            ends[number] = int(steps[number]), position, lane in step.over
    return [ends[number] for number in range(len(steps))]


@both
@pytest.mark.parametrize("lanes", [1, 4, 16])
@pytest.mark.parametrize("limit", [100, 3])
def test_an_episode_is_its_seed_whatever_is_played_beside(wait, lanes, limit):
    player = Walker()
    loop = Loop(engine_of(lanes), [player], SEEDS, limit=limit, wait=wait)
    wanted = [alone(seed, limit) for seed in SEEDS]
    assert play(loop) == wanted
    assert sorted(seed for _, seeds in player.begun for seed in seeds) == sorted(SEEDS.tolist())
    assert loop.costs[0].decisions == sum(map(len, player.asked)) == sum(n for n, *_ in wanted)
    assert (limit == 3) != all(over for *_, over in wanted)


def test_lanes_that_are_done_wait_for_their_block():
    player = Walker()
    steps = list(Loop(engine_of(4), [player], SEEDS))
    assert [lanes for lanes, _ in player.begun] == [[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2]]
    assert [step.lanes.tolist() for step in steps] == player.asked
    blocks = [set((step.episode // 4).tolist()) for step in steps]
    assert all(len(block) == 1 for block in blocks)
    assert blocks == sorted(blocks, key=min)
    playing = {0, 1, 2, 3}
    for step in steps:
        assert set(step.lanes.tolist()) == playing
        playing -= set(step.finished.tolist())
        if not playing:
            playing = {0, 1, 2, 3} if step.episode[0] == 0 else {0, 1, 2}


def test_lanes_that_do_not_wait_go_on_at_once():
    player = Walker()
    steps = list(Loop(engine_of(4), [player], SEEDS, wait=False))
    for step in steps:
        assert (step.episode % 4 == np.arange(4)).all()
    for now, after in pairwise(steps):
        left = set(now.lanes.tolist()) - set(now.finished.tolist())
        new = {lane for lane in now.finished.tolist() if now.episode[lane] + 4 < len(SEEDS)}
        assert set(after.lanes.tolist()) == left | new
        for lane in new:
            assert after.episode[lane] == now.episode[lane] + 4
    assert len(steps) < len(list(Loop(engine_of(4), [player], SEEDS)))


@both
def test_actions_are_those_of_the_lanes_that_play(wait):
    for step in Loop(engine_of(4), [Walker()], SEEDS, wait=wait):
        assert step.actions.tolist() == np.isin(np.arange(4), step.lanes).astype(int).tolist()


@both
def test_an_episode_may_be_given_up_for_another_reason(wait):
    loop = Loop(
        engine_of(3),
        [Walker()],
        SEEDS,
        give_up=lambda engine: engine.info["position"] >= 2,
        wait=wait,
    )
    found = play(loop)
    whole = [alone(seed) for seed in SEEDS]
    assert {over for *_, over in found} == {True, False}
    for (steps, position, over), (all_steps, end, _) in zip(found, whole, strict=True):
        assert over or position == 2
        assert (steps, position) == (all_steps, end) or (steps < all_steps and not over)


@both
def test_lanes_are_prepared_before_they_are_reset_and_looked_at_after(wait):
    told = {"prepare": [], "begun": []}

    def prepare(engine, lanes, numbers):
        told["prepare"] += zip(lanes.tolist(), numbers.tolist(), strict=True)
        for lane, number in zip(lanes.tolist(), numbers.tolist(), strict=True):
            engine.configure("limit", 1 + number, [lane])

    def begun(engine, lanes, numbers):
        told["begun"] += zip(lanes.tolist(), numbers.tolist(), strict=True)
        assert not engine.get_states(lanes)["steps"].any()
        assert engine.get_states(lanes)["limit"].tolist() == (1 + numbers).tolist()

    seeds = np.full(9, 50)
    loop = Loop(engine_of(4), [Walker()], seeds, prepare=prepare, begun=begun, wait=wait)
    assert play(loop) == [alone(50, knob=1 + number) for number in range(9)]
    assert sorted(number for _, number in told["begun"]) == [*range(9)]
    assert all(lane == number % 4 for lane, number in told["begun"])
    assert told["begun"] == told["prepare"]


@both
def test_no_episodes_are_none(wait):
    assert list(Loop(engine_of(2), [Walker()], [], wait=wait)) == []


def test_who_has_seen_enough_stops():
    engine = engine_of(2)
    next(iter(Loop(engine, [Walker()], SEEDS)))
    assert engine.get_states()["ep_length"].tolist() == [1, 1]


# -- several players -------------------------------------------------------------------------------


def table_of(lanes):
    return BatchEngine(nim.NimGame(3), lanes, opponent=EXTERNAL)


class Seated:
    """Takes the first legal action; notes the seats in which it is asked."""

    def __init__(self):
        self.begun, self.asked = {}, []

    def begin(self, engine, lanes, seeds=None):
        self.begun |= zip(lanes.tolist(), seeds.tolist(), strict=True)

    def act(self, engine, lanes):
        self.asked += zip(lanes.tolist(), engine.get_actors(lanes).tolist(), strict=True)
        return engine.mask[lanes].argmax(1).astype(np.int32)


def test_every_seat_is_asked_of_who_sits_there():
    engine, players = table_of(6), [Seated(), Seated()]
    seating = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0]])
    loop = Loop(engine, players, np.arange(6), seating=seating)
    assert sum(len(step.lanes) for step in loop) == 60  # ten sticks a game
    for k, player in enumerate(players):
        assert all(seating[lane, seat] == k for lane, seat in player.asked)
        assert loop.costs[k].decisions == len(player.asked) > 0
        assert loop.costs[k].cpu_s >= 0
        assert player.begun == {lane: lane + k for lane in range(6)}  # with a seat or without
    assert sum(cost.decisions for cost in loop.costs) == 60
    assert len({*players[0].asked, *players[1].asked}) == 18


@both
def test_who_sits_where_belongs_to_the_episode(wait):
    engine, players = table_of(2), [Seated() for _ in range(3)]
    seating = (np.arange(3) + np.arange(9)[:, None]) % 3
    loop = Loop(engine, players, np.arange(9), seating=seating, wait=wait)
    for step in loop:
        for k, player in enumerate(players):
            assert all(seating[step.episode[lane], seat] == k for lane, seat in player.asked)
            player.asked.clear()


def test_players_draw_from_seeds_of_their_own():
    players, draws = [Seated(), Seated()], [np.arange(100, 104), np.arange(200, 204)]
    seating = np.tile([0, 1, 0], (4, 1))
    list(Loop(table_of(4), players, np.zeros(4, int), seating=seating, draws=draws))
    assert [list(player.begun.values()) for player in players] == [d.tolist() for d in draws]


def test_nobody_is_asked_for_a_place_that_is_nobodys():
    engine, player = engine_of(5), Walker()
    engine.reset_many(seeds=0)
    places = np.array([0, 1, 1, 0])
    found = ask(engine, [None, player], np.array([0, 1, 3, 4]), places)
    assert player.asked == [[1, 3]]
    assert found.tolist() == [0, 1, 0, 1, 0]
    assert found.dtype == np.int32
    assert ask(engine, [player], every_lane(engine)).tolist() == [1] * 5
    assert not ask(engine, [player, None], np.array([2]), np.array([1])).any()
    assert len(player.asked) == 2


def test_each_player_decides_for_the_lanes_it_is_asked_for():
    class Numbered(Walker):
        def act(self, engine, lanes):
            return lanes.astype(np.int32) + 10

    engine, lanes = engine_of(6), np.array([1, 3, 4])
    assert ask(engine, [Numbered()], lanes).tolist() == [0, 11, 0, 13, 14, 0]
    places = np.array([1, 0, 1])
    assert ask(engine, [None, Numbered()], lanes, places).tolist() == [0, 11, 0, 0, 14, 0]
