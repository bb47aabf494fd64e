"""The compiled planner against recorded answers, the plain searches and the rules of a frame."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from fastenv.drmario import reachability
from fastenv.drmario.reachability import INFEASIBLE, SPAWN
from fastenv.errors import ConfigError, InvalidActionError
from tests.drmario.boards import random_boards, recorded_questions
from tests.drmario.rows import Scripts
from tests.drmario.stepper import replay
from tests.slow import late
from tests.tables import walk

core = pytest.importorskip("fastenv.drmario._reachability")
pytestmark = pytest.mark.parity

QUESTIONS, COSTS = recorded_questions()
EMPTY_BOARD = np.full((1, 128), 0xFF, np.uint8)


def questions(rng, n, low=0, high=70):
    """Draw boards, parities and gravities."""
    return random_boards(rng, n), rng.integers(0, 2, n), rng.integers(low, high, n)


def replayed(boards, parities, gravities, buttons, lengths, root=SPAWN):
    """Return the action that every script locks as, -1 where not in its last frame."""
    return replay(boards, parities, gravities, tuple(root), buttons, lengths)


def every_script(engine, boards, parities, gravities, extended=False):
    """Play the script of every feasible action; return how many there were.

    Costs of the batch are those of single questions, lengths of scripts are costs, and a pill locks
    as its action in the last frame of its script: in the engine, and by the rules once more.
    """
    costs = core.plan(boards, parities, gravities, extended)
    for i, (parity, gravity) in enumerate(zip(parities.tolist(), gravities.tolist(), strict=True)):
        single = core.plan(boards[i : i + 1], parity, gravity, extended)
        assert single.tobytes() == costs[i].tobytes(), f"question {i}"
    rows, actions = np.nonzero(costs != INFEASIBLE)
    asked = boards[rows], parities[rows], gravities[rows]
    buttons, lengths = core.script(*asked, actions, extended)
    np.testing.assert_array_equal(lengths, costs[rows, actions])
    np.testing.assert_array_equal(engine.locked(*asked, buttons, lengths), actions)
    np.testing.assert_array_equal(replayed(*asked, buttons, lengths), actions)
    return len(rows)


@pytest.mark.parametrize("extended", [False, True])
def test_recorded_costs(extended):
    for case, question in enumerate(QUESTIONS):
        np.testing.assert_array_equal(
            core.search(*question, extended), COSTS[extended][case], err_msg=f"case {case}"
        )


@pytest.mark.parametrize("extended", [False, True])
def test_recorded_costs_from_the_spawn(extended):
    cases = [case for case, question in enumerate(QUESTIONS) if question[3] == SPAWN]
    assert cases
    boards, parities, gravities = (
        np.array([QUESTIONS[case][part] for case in cases]) for part in range(3)
    )
    expected = np.array([COSTS[extended][case] for case in cases])
    np.testing.assert_array_equal(core.plan(boards, parities, gravities, extended), expected)


@pytest.mark.parametrize("step", [8, *late(2)])
@pytest.mark.parametrize("extended", [False, True])
def test_scripts_of_recorded_roots(extended, step):
    rng = np.random.default_rng(1)
    for question, costs in list(zip(QUESTIONS, COSTS[extended], strict=True))[::step]:
        board, parity, gravity, root = question
        feasible = np.flatnonzero(costs != INFEASIBLE)
        for action in rng.choice(feasible, min(3, len(feasible)), replace=False).tolist():
            script = np.frombuffer(core.search(*question, extended, action), np.uint8)
            assert len(script) == costs[action]
            asked = (board[None], np.array([parity]), np.array([gravity]))
            assert replayed(*asked, script[None], np.array([len(script)]), root) == action


@pytest.mark.parametrize(("seed", "n"), [(0, 50), pytest.param(1, 1200, marks=pytest.mark.slow)])
def test_plain_columns_agree(seed, n):
    boards, parities, gravities = questions(np.random.default_rng(seed), n)
    for asked, costs in zip(
        zip(boards, parities.tolist(), gravities.tolist(), strict=True),
        core.plan(boards, parities, gravities),
        strict=True,
    ):
        np.testing.assert_array_equal(costs, reachability.plan(*asked), err_msg=f"{asked}")


@pytest.mark.parametrize("n", [30, pytest.param(400, marks=pytest.mark.slow)])
def test_plain_columns_agree_on_extended_inputs(n):
    asked = questions(np.random.default_rng(n), n, 0, 20)
    costs = core.plan(*asked, extended=True)
    for i, (board, parity, gravity) in enumerate(zip(*asked, strict=True)):
        wanted = reachability.plan(board, int(parity), int(gravity), extended=True)
        np.testing.assert_array_equal(costs[i], wanted, err_msg=f"question {i}")
    assert (costs <= core.plan(*asked)).all()


@pytest.mark.parametrize(
    ("low", "high", "n"),
    [(0, 70, 4000), (4, 16, 4000), pytest.param(3, 20, 100_000, marks=pytest.mark.slow)],
)
def test_descent_agrees_with_the_search(low, high, n):
    for seed in range(max(1, n // 50_000)):
        asked = questions(np.random.default_rng(seed), min(n, 50_000), low, high)
        np.testing.assert_array_equal(
            core.plan(*asked), core._searched(*asked), err_msg=f"seed {seed}"
        )


def test_descent_proves_nearly_all_at_the_speeds_of_real_play():
    boards, parities, _ = questions(np.random.default_rng(2), 2000)
    assert [
        core._proved(boards, parities, gravity).mean() > least
        for gravity, least in ((39, 0.999), (19, 0.999), (13, 0.99), (10, 0.9))
    ] == [True] * 4
    assert not core._proved(boards, parities, 2).any()  # both ways of plan are tested


@pytest.mark.parametrize(("seed", "n"), [(0, 400), pytest.param(1, 50_000, marks=pytest.mark.slow)])
def test_every_script_locks_where_and_when_promised(seed, n):
    rng, engine = np.random.default_rng(seed), Scripts()
    for _ in range(max(1, n // 2000)):
        assert every_script(engine, *questions(rng, min(n, 2000), 3, 45)) > n // 100
    assert every_script(engine, *questions(rng, 20, 0, 3)) > 20
    assert every_script(engine, *questions(rng, 20), extended=True) > 20


def test_threads_do_not_share_their_search():
    boards, parities, gravities = questions(np.random.default_rng(4), 1500, 0, 6)
    expected = core.plan(boards, parities, gravities)
    with ThreadPoolExecutor(4) as pool:
        for costs in pool.map(lambda _: core.plan(boards, parities, gravities), range(8)):
            np.testing.assert_array_equal(costs, expected)


def test_swapped_buttons_turn_the_other_way():
    """A for B in a script to an upright pill swaps its halves and changes nothing else."""
    boards, parities, gravities = questions(np.random.default_rng(6), 300)
    rows, cells = np.nonzero(core.plan(boards, parities, gravities)[:, 128:256] != INFEASIBLE)
    asked = boards[rows], parities[rows], gravities[rows]
    buttons, lengths = core.script(*asked, 128 + cells)
    swapped = buttons & 0x0F | (buttons & 0x80) >> 1 | (buttons & 0x40) << 1
    np.testing.assert_array_equal(replayed(*asked, swapped, lengths), 384 + 8 + cells)


def test_no_boards():
    assert core.plan(np.zeros((0, 128), np.uint8), 0, 13).shape == (0, 512)
    buttons, lengths = core.script(np.zeros((0, 128), np.uint8), 0, 13, 0)
    assert buttons.shape == (0, 0)
    assert lengths.shape == (0,)


@walk(
    ("arguments", "message"),
    [
        ((EMPTY_BOARD[0], 0, 13), r"boards must be uint8 \(n, 128\), got uint8 \(128,\)"),
        ((EMPTY_BOARD.astype(int), 0, 13), r"boards must be uint8 \(n, 128\), got int64"),
        ((EMPTY_BOARD, 2, 13), "parities must be 0 to 1, got 2 to 2"),
        ((EMPTY_BOARD, 0, 70), "gravities must be 0 to 69, got 70 to 70"),
        ((EMPTY_BOARD, 0, 1.5), "gravities must be integers, got float64"),
        ((EMPTY_BOARD, 0, [1, 2]), r"gravities must be one number or 1 of them, got shape \(2,\)"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ConfigError, match=message):
        core.plan(*arguments)


def test_scripts_of_bad_actions_are_refused():
    with pytest.raises(ConfigError, match="actions must be 0 to 511, got 512 to 512"):
        core.script(EMPTY_BOARD, 0, 13, 512)
    with pytest.raises(InvalidActionError, match=r"actions\[0\] = 0 is infeasible"):
        core.script(EMPTY_BOARD, 0, 13, 0)
    with pytest.raises(InvalidActionError, match="action 0 is infeasible"):
        core.search(EMPTY_BOARD[0], 0, 13, action=0)
    with pytest.raises(ConfigError, match="action must be 0 to 511, got 512"):
        core.search(EMPTY_BOARD[0], 0, 13, action=512)
    with pytest.raises(ConfigError, match="parity must be 0 or 1, got 2"):
        core.search(EMPTY_BOARD[0], 2, 13)
