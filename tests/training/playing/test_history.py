"""The history alone: what is kept of it, and what it refuses."""

import numpy as np
import pytest

import fastenv
from training.playing import history as module
from training.playing.history import History, HistoryError, Moment, take_again


@pytest.fixture
def engine():
    engine = fastenv.make_engine("Prospector-v0", 1)
    engine.reset_many(seeds=[1])
    return engine


def moment(decisions=((0, 6),), **given):
    nothing = np.zeros(1, np.int64)
    return Moment(nothing, nothing != 0, nothing, decisions, **given)


def begin(engine, branches=True):
    return History(engine, engine.get_states(), moment(()), branches)


@pytest.mark.parametrize("spacing", [1, 5])
def test_every_row_comes_back_in_every_branch(engine, monkeypatch, spacing):
    monkeypatch.setattr(module, "SMALL_ROW", 0)
    monkeypatch.setattr(module, "SPACING", spacing)
    history = begin(engine)
    seen = {(0, 0): engine.get_states()}
    rng = np.random.default_rng(4)

    def on(count):
        for _ in range(count):
            action = int(rng.choice(np.flatnonzero(engine.mask[0][:60])))
            take_again(engine, ((0, action),))
            history.add(engine.get_states(), moment(((0, action),)))
            seen[history.branch, history.index] = engine.get_states()

    on(13)
    for index in (4, 7):
        history.go(0, index)
        engine.set_states(history.rows(), trusted=True)
        on(9)
    assert [branch.first for branch in history.branches] == [0, 4, 7]
    for (branch, index), rows in seen.items():
        history.go(branch, index)
        assert history.rows().tobytes() == rows.tobytes(), (branch, index)
    kept = [moment.rows is not None for moment in history.branches[0].moments]
    assert kept == [k % spacing == 0 for k in range(14)]


def test_it_is_bounded(engine, monkeypatch):
    monkeypatch.setattr(module, "MAX_DECISIONS", 2)
    monkeypatch.setattr(module, "MAX_BRANCHES", 2)
    history, rows = begin(engine), engine.get_states()
    history.add(rows, moment(mark="mark"))
    history.go(0, 0)
    history.add(rows, moment())
    history.go(0, 0)
    with pytest.raises(HistoryError, match="2 decisions"):
        history.check_room()
    with pytest.raises(HistoryError, match="2 decisions"):
        history.add(rows, moment())
    monkeypatch.setattr(module, "MAX_DECISIONS", 9)
    with pytest.raises(HistoryError, match="2 branches"):
        history.add(rows, moment())
    with pytest.raises(HistoryError, match="moment 7 of branch 0: there is none"):
        history.go(0, 7)


def test_without_branches_the_oldest_moments_and_what_followed_are_forgotten(engine, monkeypatch):
    rows = engine.get_states()
    monkeypatch.setattr(module, "SPACING", 1)
    history = begin(engine, branches=False)
    monkeypatch.setattr(module, "KEPT", 4 * history.moment.count_bytes())
    for k in range(9):
        history.add(rows, moment(lines=[str(k)], mark="mark"))
    assert history.branches[0].marked == [6, 7, 8, 9]
    assert (history.index, history.last) == (9, 9)
    assert [index for index, _ in history.way()] == [9, 8, 7, 6]
    assert history.lines(9) == [*"5678"]
    assert history.lines(9, since=7) == [*"78"]
    history.go(0, 7)
    history.add(rows, moment(lines=["new"]))
    assert history.lines(2) == ["6", "new"]
    assert history.last == 8
    assert len(history.branches[0].rewards) == len(history.branches[0].moments)


def test_the_bytes_of_a_moment_are_all_of_its_arrays(engine):
    history = begin(engine, branches=False)
    bare = history.moment.count_bytes()
    history.moment.mask = np.zeros((1, 5000), np.uint8)
    history.moment.info = {"seen": np.zeros((1, 1000))}
    assert history.moment.count_bytes() >= bare + 5000 + 8000


def test_the_way_goes_through_the_branches_that_were_left(engine):
    history, rows = begin(engine), engine.get_states()
    for k in range(3):
        history.add(rows, moment(lines=[f"old {k}"], mark=f"mark {k}"))
    history.go(0, 1)
    history.add(rows, moment(lines=["new"], mark="mark"))
    assert history.lines(9) == ["old 0", "new"]
    assert [moment.mark for moment in history.marked()] == ["mark", "mark 0"]
    assert [index for index, _ in history.way()] == [2, 1, 0]
