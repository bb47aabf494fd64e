"""A session, as the terminal and the studio have it: who is asked, and what can be gone back to."""

import numpy as np
import pytest

import fastenv
from tests.training.playing.test_table import make_table
from training.players.names import make_player
from training.players.person import Person
from training.playing import history
from training.playing.game_table import GameTable
from training.playing.session import GameSession

VERSUS = "DrMarioVersusFrame-v0"


def make_match(who):
    """Make a session of two who decide at the same time."""
    engine = fastenv.make_engine(VERSUS, 1, seats="all", level=1)
    engine.reset_many(seeds=3)
    players = [make_player(each, engine) for each in who]
    table = GameTable(VERSUS, {}, engine, players, ["a", "b"])
    table.begin(seeds=[0, 0])
    return GameSession(table, branches=False)


def play(session, decisions):
    """Play on, the person by its first legal action."""
    for _ in range(decisions):
        if session.waits:
            session.decide(int(np.flatnonzero(session.engine.mask[0])[0]))
        else:
            session.step()


@pytest.mark.parametrize("who", [("random", Person), (Person, "random")])
def test_those_who_decide_together_make_one_moment(who):
    session = make_match(who)
    person = who.index(Person)
    play(session, 2)
    assert session.history.index == 1
    assert [seat for seat, _ in session.moment.decisions] == [0, 1]
    play(session, 4)
    assert session.history.index == 3
    for index in (2, 1, 0):
        session.back()
        assert session.history.index == index
        assert session.waits
        assert int(session.seats[0]) == person
    legal = np.flatnonzero(session.moment.mask[0])
    session.decide(int(legal[-1]))
    play(session, 1 - person)  # who decides behind the person
    assert session.history.index == session.history.last == 1
    assert dict(session.moment.decisions)[person] == legal[-1]


def test_players_are_asked_once_and_only_where_somebody_looks_or_plays():
    class Counted:
        asked = 0

        def begin(self, engine, lanes, seeds=None):
            pass

        def act(self, engine, lanes):
            self.asked += len(lanes)
            return engine.mask[lanes].argmax(1).astype(np.int32)

    table = make_table()
    table.players[:] = [Counted() for _ in range(4)]
    session = GameSession(table, branches=False)
    assert [player.asked for player in table.players] == [0] * 4
    action = session.action()
    assert session.action() == action
    session.step()
    assert session.moment.decisions == ((0, action),)
    assert [player.asked for player in table.players] == [1, 0, 0, 0]


@pytest.mark.parametrize("branches", [False, True])
def test_who_plays_on_from_the_past_leaves_or_forgets_what_followed(branches):
    session = GameSession(make_table(["heuristic", Person, "random", "random"]), branches=branches)
    play(session, 8)
    rows, lines = session.rows.copy(), session.history.lines(99)
    session.history.go(0, 1)
    assert session.waits
    assert not session.is_newest
    session.resume()
    assert session.is_newest
    session.decide(2)
    assert session.history.index == 2
    assert len(session.history.branches) == (2 if branches else 1)
    play(session, 6)
    assert "You 2" in session.history.lines(99)[0]
    if branches:
        session.history.go(0, 8)
        assert session.rows.tobytes() == rows.tobytes()
        assert session.history.lines(99) == lines
    else:
        assert session.history.last == 8


def test_known_moments_are_walked_through_and_nobody_is_asked_again():
    session = GameSession(make_table(["random"] * 4), branches=False)
    play(session, 6)
    newest = session.rows.tobytes()
    while session.history.index:
        session.back()
    assert session.decision is session.moment.decision
    for _ in range(6):
        session.step()
    assert session.is_newest
    assert session.rows.tobytes() == newest


def test_lanes_begin_anew_where_there_is_no_end():
    engine = fastenv.make_engine("DrMarioPlacement-v0", 3, level=20)
    engine.reset_many(seeds=5)
    table = GameTable("DrMarioPlacement-v0", {}, engine, [make_player("first", engine)], ["first"])
    session = GameSession(table, branches=False)
    session.endless = True
    while not session.moment.ended.any():
        session.step()
    ended = session.moment.ended
    session.step()
    assert not session.moment.ended[ended].any()
    assert (session.rows["ep_length"][ended] == 0).all()
    assert (session.rows["ep_length"][~ended] > 1).all()


class Fails:
    """A player that raises an error when it is asked for the first time."""

    def __init__(self):
        self.asked = 0

    def begin(self, engine, lanes, seeds=None):
        pass

    def act(self, engine, lanes):
        self.asked += 1
        if self.asked == 1:
            raise RuntimeError("once")
        return engine.mask[lanes].argmax(1).astype(np.int32)


def make_alone(player, *, branches):
    """Make a session of one player who plays alone."""
    engine = fastenv.make_engine("Prospector-v0", 1)
    engine.reset_many(seeds=3)
    table = GameTable("Prospector-v0", {}, engine, [player], ["a"])
    table.begin(seeds=[0])
    return GameSession(table, branches=branches)


def test_a_player_that_raises_an_error_is_asked_again():
    session = make_alone(Fails(), branches=True)
    with pytest.raises(RuntimeError, match="once"):
        session.step()
    assert session.step() > 0
    assert session.history.index == 1


def test_where_there_is_no_room_the_engine_does_not_step(monkeypatch):
    monkeypatch.setattr(history, "MAX_DECISIONS", 2)
    session = make_alone(
        make_player("random_legal", fastenv.make_engine("Prospector-v0", 1)), branches=True
    )
    for _ in range(2):
        session.step()
    before = session.engine.get_states()
    with pytest.raises(history.HistoryError, match="2 decisions"):
        session.step()
    assert session.engine.get_states().tobytes() == before.tobytes() == session.rows.tobytes()
    assert session.is_newest


def test_with_branches_what_was_decided_is_not_kept():
    player = Fails()
    player.asked = 1
    session = make_alone(player, branches=True)
    session.weighs = False
    for _ in range(3):
        session.step()
    moments = session.history.branches[0].moments
    assert [each.actions for each in moments] == [None] * 4
    assert [each.decision for each in moments[:-1]] == [None] * 3
