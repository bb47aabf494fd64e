"""The plain searches against the recorded answers, each other and the rules of one frame."""

import numpy as np
import pytest

from fastenv.drmario.reachability import (
    INFEASIBLE,
    SPAWN,
    Bottle,
    action_of,
    exhaustive,
    frame,
    plan,
    script,
)
from fastenv.errors import ConfigError, InvalidActionError
from tests.drmario.boards import charged_board, random_boards, recorded_questions
from tests.slow import late
from tests.tables import walk

QUESTIONS, COSTS = recorded_questions()
EMPTY_BOARD = np.full(128, 0xFF, np.uint8)


def replay(buttons, board, parity, gravity, root=SPAWN):
    """Return the pose in which the buttons lock the pill, at the last of them and not before."""
    bottle, state = Bottle(board), root
    for number, byte in enumerate(buttons):
        state, locked = frame(bottle, gravity, state, (parity + number) % 2, byte)
        assert locked == (number == len(buttons) - 1)
    return state[:3]


@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize("cases", [range(0, 400, 30), *late(range(len(QUESTIONS)))])
def test_recorded_costs(cases, extended):
    for case in cases:
        costs = plan(*QUESTIONS[case], extended)
        np.testing.assert_array_equal(costs, COSTS[extended][case], err_msg=f"case {case}")


@pytest.mark.slow
@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize("case", range(123, 400, 160))
def test_exhaustive_search_finds_the_recorded_costs(case, extended):
    costs = exhaustive(*QUESTIONS[case], extended)
    np.testing.assert_array_equal(costs, COSTS[extended][case])


@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize("gravity", [0, 1])
def test_searches_agree_on_steep_falls(gravity, extended):
    board = random_boards(np.random.default_rng(gravity), 1)[0]
    for parity in (0, 1):
        expected = exhaustive(board, parity, gravity, extended=extended)
        costs = plan(board, parity, gravity, extended=extended)
        np.testing.assert_array_equal(costs, expected)


def test_left_with_right_reaches_what_left_alone_does_not():
    board, action, buttons = charged_board()
    for search in (plan, exhaustive):
        assert search(board, 0, 0)[action] == INFEASIBLE
        assert search(board, 0, 0, extended=True)[action] == 3
    found = script(board, 0, 0, action, extended=True)
    assert len(found) == 3
    for way in (found, buttons + b"\0"):
        assert action_of(*replay(way, board, 0, 0)) == action


def test_roots_hold_one_direction_at_most():
    with pytest.raises(ConfigError, match=r"root\.hold_dir must be 0 to 2, got 3"):
        plan(EMPTY_BOARD, 0, 13, SPAWN._replace(hold_dir=3), extended=True)


@pytest.mark.slow
@walk("seed", range(8))
def test_searches_agree_on_random_boards(seed):
    rng = np.random.default_rng(seed)
    board, parity, gravity = random_boards(rng, 1)[0], seed % 2, int(rng.integers(2, 20))
    np.testing.assert_array_equal(plan(board, parity, gravity), exhaustive(board, parity, gravity))


@pytest.mark.parametrize("step", [39, *late(13)])
@pytest.mark.parametrize("extended", [False, True])
def test_scripts_lock_the_pill_where_and_when_promised(extended, step):
    rng = np.random.default_rng(5)
    for case in range(0, 400, step):
        feasible = np.flatnonzero(COSTS[extended][case] != INFEASIBLE)
        for action in rng.choice(feasible, min(3, len(feasible)), replace=False).tolist():
            buttons = script(*QUESTIONS[case][:3], action, QUESTIONS[case][3], extended)
            assert len(buttons) == COSTS[extended][case][action]
            assert action_of(*replay(buttons, *QUESTIONS[case])) == action


def test_orders_of_the_halves():
    """From the spawn both vertical orders cost the same, and rot 0 no more than rot 2."""
    for board in random_boards(np.random.default_rng(6), 40):
        right, below, left, above = plan(board, 1, 9).reshape(4, 16, 8)
        np.testing.assert_array_equal(below[:-1], above[1:])
        assert (right[:, :-1] <= left[:, 1:]).all()


def test_soft_drop_of_the_untouched_pill():
    """Down acts every second frame, the first one at even parity; no height costs more or less."""
    bottom = 15 * 8 + 3
    assert plan(EMPTY_BOARD, 0, 13)[bottom] == 31
    assert plan(EMPTY_BOARD, 1, 13)[bottom] == 32
    assert plan(EMPTY_BOARD, 0, 0)[bottom] == 16
    assert np.count_nonzero(plan(EMPTY_BOARD, 0, 13) != INFEASIBLE) == 14 + 16


def test_blocked_spawn_has_no_placement():
    board = EMPTY_BOARD.copy()
    board[4] = 0x80
    assert (plan(board, 0, 13) == INFEASIBLE).all()
    assert (exhaustive(board, 0, 13) == INFEASIBLE).all()


@walk(
    ("changed", "message"),
    [
        ({"board": np.zeros(127, np.uint8)}, r"board must be uint8 \(128,\), got uint8 \(127,\)"),
        ({"board": np.zeros(128)}, r"board must be uint8 \(128,\), got float64"),
        ({"parity": 2}, "parity must be 0 or 1, got 2"),
        ({"gravity": 70}, "gravity must be 0 to 69, got 70"),
        ({"gravity": -1}, "gravity must be 0 to 69, got -1"),
        ({"root": SPAWN._replace(rot=4)}, "root.rot must be 0 to 3, got 4"),
        ({"root": SPAWN._replace(speed_counter=14)}, "root.speed_counter must be 0 to 13, got 14"),
    ],
)
def test_bad_arguments_are_named(changed, message):
    with pytest.raises(ConfigError, match=message):
        plan(**{"board": EMPTY_BOARD, "parity": 0, "gravity": 13} | changed)


def test_script_of_an_infeasible_action_is_refused():
    with pytest.raises(InvalidActionError, match="action 0 is infeasible"):
        script(EMPTY_BOARD, 0, 13, 0)
