"""Elo by hand, and its history in a file."""

import sqlite3

import pytest

from training.players.ratings import (
    ANCHOR,
    LEARNER,
    Ratings,
    RatingsFile,
    compare_totals,
    expect_score,
)
from training.run.checkpoint import CheckpointError


def with_snapshots(*ratings):
    found = Ratings()
    for number, rating in enumerate(ratings):
        found.enter(number)
        found.rating[number] = rating
    return found


def test_expected_score_is_elos():
    assert expect_score(1000, 1000) == 0.5
    assert expect_score(1400, 1000) == pytest.approx(10 / 11)
    assert expect_score(1400, 1000) + expect_score(1000, 1400) == pytest.approx(1)


def test_more_points_win_and_equal_points_are_half():
    assert (compare_totals(30, -10), compare_totals(-10, 30), compare_totals(5, 5)) == (1, 0, 0.5)


def test_a_match_of_equals_moves_every_pair_by_half_of_k():
    ratings = with_snapshots(1000, 1000, 1000)
    ratings.add([LEARNER, 0, 1, 2], [40, 30, 30, -20])
    # first beats three: 3 * 2; the two in the middle lose, draw and win; the last loses three
    assert ratings.rating == {LEARNER: 1006, 0: 1000, 1: 1000, 2: 994}
    assert [ratings.score[i] for i in range(3)] == [1, 1, 1]
    assert [ratings.games[i] for i in range(3)] == [1, 1, 1]


def test_changes_come_from_the_ratings_before_the_match():
    ratings = with_snapshots(1400)
    ratings.add([0, LEARNER], [10, 20])
    assert ratings.rating[LEARNER] == pytest.approx(1000 + 4 * 10 / 11)
    assert ratings.rating[0] == pytest.approx(1400 - 4 * 10 / 11)


def test_pairs_of_one_player_say_nothing():
    ratings = with_snapshots(1000)
    ratings.add([0, 0, LEARNER], [50, -50, 0])
    assert ratings.rating == {LEARNER: 1000, 0: 1000}
    assert (ratings.games[0], ratings.score[0]) == (2, 1)


def test_a_snapshot_is_as_strong_as_the_learner_was():
    ratings = with_snapshots(1000)
    assert ratings.rating[LEARNER] == ANCHOR == 1000
    ratings.add([0, LEARNER], [0, 20])
    ratings.enter(1)
    assert ratings.rating[1] == ratings.rating[LEARNER] == 1002
    assert (ratings.games[1], ratings.score[1]) == (0, 0)
    assert (ratings.games[0], ratings.score[0]) == (1, 1)


def test_a_saved_state_goes_on():
    ratings = with_snapshots(1010, 990)
    ratings.add([0, LEARNER, 1], [7, 7, 3])
    other = Ratings()
    other.load_state_dict(ratings.state_dict())
    for each in (ratings, other):
        each.add([1, 0, LEARNER], [1, 2, 3])
    assert vars(other) == vars(ratings)


def test_history_is_kept_and_dropped_by_steps(tmp_path):
    file, ratings = RatingsFile(tmp_path / "ratings.sqlite"), with_snapshots(1000)
    file.drop_after(5)  # nothing is there yet
    for steps in (100, 200, 300):
        ratings.add([0, LEARNER], [0, 20])
        file.write(steps, ratings)
    file.write(300, ratings)  # the same iteration, after a resume
    file.drop_after(200)
    database = sqlite3.connect(file.path)
    rows = database.execute("SELECT step, player, games, score FROM ratings ORDER BY 1, 2")
    assert rows.fetchall() == [(100, -1, 0, 0), (100, 0, 1, 1), (200, -1, 0, 0), (200, 0, 2, 2)]
    database.close()


def test_a_file_that_is_no_database_is_refused_in_one_sentence(tmp_path):
    file = RatingsFile(tmp_path / "ratings.sqlite")
    file.path.write_text("no database at all, but long enough to look like one " * 50)
    with pytest.raises(CheckpointError, match=r"ratings\.sqlite cannot be written"):
        file.write(1, Ratings())


def test_where_there_is_no_room_nobody_is_told_to_remove_the_history(tmp_path):
    ratings = with_snapshots(1000)
    with pytest.raises(CheckpointError, match=r"free disk space and use --resume\.$"):
        RatingsFile(tmp_path / "gone" / "ratings.sqlite").write(3, ratings)
    (tmp_path / "ratings.sqlite").write_text("no database " * 100)
    with pytest.raises(CheckpointError, match="remove it to go on"):
        RatingsFile(tmp_path / "ratings.sqlite").write(3, ratings)
