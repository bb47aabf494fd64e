"""Cases of verify: who sits where is drawn and compared, and who must act is what the game says."""

import dataclasses

import pytest

from fastenv.verify import Case, draw_opponent, draw_seat, first_difference
from tests.race import ENGINES, HERE, with_spec
from tests.ring import RingGame
from tests.slow import diagonal
from tests.tables import walk
from tests.toy import RaceGame, WalkGame

SEEDS = range(60)
TWO = {name: (name, 1) for name in (HERE[0], HERE[-1])}


@walk(("seed", "order"), diagonal(range(4), ["turns", "together", "mixed"]))
def test_backends_agree_on_who_sits_where(order, seed):
    game = RingGame(order, stones=14, raise_illegal=seed % 2 == 0)
    case, ended = Case(game, seed, 4, ENGINES, {}, draw_opponent(game, seed)), 0
    for _ in range(100):
        difference = case.advance(events=0.3)
        assert difference is None, str(difference)
        ended += int((case.standard.terminated | case.standard.truncated).sum())
    assert ended


def test_all_ways_to_sit_are_drawn():
    game = RingGame()
    drawn = [draw_opponent(game, seed) for seed in SEEDS]
    assert None in drawn
    names = {frozenset(players) for players in drawn if players}
    assert {frozenset(["external"]), frozenset(["random", "external"])} <= names
    assert any(len(each) == 2 and "external" not in each for each in names)
    assert {draw_seat(game, seed) for seed in SEEDS} == {0, 1, 2, "rotate"}
    assert draw_opponent(WalkGame(), 1) is None
    nobody = RaceGame()
    nobody.bot_names = ()  # of a game without scripted players all are from outside
    assert {str(draw_opponent(nobody, seed)) for seed in SEEDS} == {"None", "['external']"}


def test_a_case_says_who_sat_where():
    case = Case(RaceGame(), 3, 2, TWO, {"goal": 20}, ["external"], "rotate")
    assert case.options == {"goal": 20, "opponent": ["external"], "agent_seat": "rotate"}
    assert Case(RaceGame(), 3, 2, TWO, {"goal": 20}).options == {"goal": 20}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda engine: engine.configure("opponent", ["shy", "shy"], [2]), "seating.opponents[0]"),
        (lambda engine: engine.seat_reward.__setitem__((2, 1), 7), "seat_reward[1]"),
        (lambda engine: engine._path.actor.__setitem__(2, 2), "actor"),
    ],
)
def test_a_difference_in_who_sits_where_is_found(change, field):
    case = Case(RingGame("together"), 3, 3, TWO, {}, ["external", "external"], 0)
    assert case.check() is None
    change(case.engines[HERE[-1]])
    assert first_difference(case.standard, case.engines[HERE[-1]])[:2] == (field, 2)
    assert f"{field!r}, lane 2" in str(case.check())


@walk("opponent", [None, "external"])
@walk(
    ("game", "claim", "says"),
    [
        (lambda: RingGame("mixed"), "turns", "exactly one must act"),
        (lambda: RingGame("mixed"), "together", "all must act"),
        (lambda: RingGame("turns"), "together", "all must act"),
        (lambda: RingGame("together"), "turns", "exactly one must act"),
        (RaceGame, "together", "all must act"),
    ],
)
def test_a_game_that_says_another_order_than_it_keeps_is_told_so(game, claim, says, opponent):
    case = Case(with_spec(game(), order=claim), 3, 3, TWO, {}, opponent)
    found = case.check()
    for _ in range(40):
        found = found or case.advance()
    text = str(found)
    assert f"order={claim!r} and {HERE[0]} differ in 'state.needs_action', lane " in text
    assert f"order={claim!r}: {says}" in text
    assert "seed of the case: 3" in text


def test_any_number_means_one_at_least():
    game = RingGame("mixed")
    case = Case(game, 3, 3, TWO)
    rows = case.standard.get_states()
    rows["needs_action"][1] = 0
    for engine in case.engines.values():
        engine.set_states(rows)
    assert "order='mixed': one or more must act" in str(case.check())
    rows["done"][1] = 1  # over: nobody has to
    for engine in case.engines.values():
        engine.set_states(rows)
    assert case.check() is None


def test_games_say_their_order():
    assert dataclasses.asdict(RingGame("turns").seats)["order"] == "turns"
    assert RaceGame().seats.order == "mixed"
    assert WalkGame().seats is None
