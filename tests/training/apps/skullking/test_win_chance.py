"""The chance to win a game of Skull King: the table and its record, and the outcome of search."""

import json
from pathlib import Path

import numpy as np

import fastenv
from fastenv.skullking.tables import Phase
from tests.tables import walk
from training.apps.skullking.win_chance import SCALES, chances, make_win, scales

ROOT = Path(__file__).resolve().parents[4]
RECORD = ROOT / "benchmarks" / "skullking-win-chance.json"


def test_the_table_is_that_of_its_record():
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    assert {row["cards_left"]: row["scale"] for row in record["table"]} == dict(SCALES)


def test_what_the_record_says_comes_true():
    for row in json.loads(RECORD.read_text(encoding="utf-8"))["all"]:
        assert abs(row["won"] - row["said"]) < 0.02, row


@walk("cards", [0, 1, 10, 22, 54, 90])
def test_chances_are_shared_and_rise_with_points(cards):
    totals = np.array([[0, 0, 0, 0], [90, 80, 80, -200], [10, 0, 0, 0]], np.float64)
    found = chances(totals, np.full(3, cards))
    np.testing.assert_allclose(found.sum(1), 1)
    np.testing.assert_allclose(found[0], 0.25)
    assert found[1, 0] > found[1, 1] == found[1, 2] > (0 if cards else -1)
    if not cards:
        np.testing.assert_array_equal(found[1], [1, 0, 0, 0])


def test_equal_winners_share():
    np.testing.assert_array_equal(chances(np.array([[5, 5, 0]]), np.zeros(1)), [[0.5, 0.5, 0]])


def test_scales_between_the_table_and_beyond():
    np.testing.assert_allclose(scales(np.array([10, 27, 54])), [SCALES[10], SCALES[27], SCALES[54]])
    assert SCALES[10] < scales(np.array([15]))[0] < SCALES[19]
    np.testing.assert_allclose(scales(np.array([216])), 2 * SCALES[54])
    np.testing.assert_allclose(scales(np.array([5])), SCALES[10] * np.sqrt(0.5))


def rows_at(game, **fields):
    rows = np.zeros(1, game.spec.state_dtype)
    for name, value in fields.items():
        rows[name] = value
    return rows


def test_win_counts_the_rounds_to_come():
    game = fastenv.make_game("SkullKingFlat-v0", schedule=(3, 10, 9))
    win, totals = make_win(game), np.array([[40, 0, 0, 0]])
    cases = [
        ({"round_idx": 1, "phase": Phase.BID}, 19),
        ({"round_idx": 0, "phase": Phase.END, "done": 1}, 19),  # a rollout until the round's end
        ({"round_idx": 1, "phase": Phase.PLAY}, 9),
        ({"round_idx": 2, "phase": Phase.END, "done": 1}, 0),
    ]
    for fields, left in cases:
        found = win(totals, rows_at(game, **fields), np.zeros(1, int))
        np.testing.assert_array_equal(found, chances(totals, np.array([left]))[:, 0])


def test_a_round_of_its_own_is_won_by_its_points():
    game = fastenv.make_game("SkullKingWorker-v0")
    over = rows_at(game, round_idx=4, phase=Phase.END, done=1)
    assert make_win(game)(np.array([[10, 20, 0, 0]]), over, np.array([1]))[0] == 1
