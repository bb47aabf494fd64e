"""Games whose reference has an attribute for each field of the row; and what is theirs for free."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import fastenv
from fastenv import registry
from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError, StateError
from fastenv.game import GameSpec
from fastenv.plain import PlainGame
from fastenv.rng import Rng
from fastenv.verify import draw_options, first_difference
from tests.race import with_spec
from tests.toy import RaceGame

STATE = np.dtype(
    [
        ("rng", "u8", (4,)),
        ("ep_return", "f8"),
        ("ep_length", "i4"),
        ("done", "i1"),
        ("board", "i1", (2, 3)),
        ("cube", "u2", (2, 1, 2)),
        ("heat", "f4", (2,)),
        ("flag", "?"),
    ],
    align=True,
)


class Boards(PlainGame):
    """A game of fields of every kind."""

    def __init__(self, size=3):
        spec = GameSpec(num_actions=3, obs_shape=(6,), state_dtype=STATE)
        super().__init__(spec, {"board": (-1, 1), "heat": (0.0, 9.5)}, bots=("calm", "wild"))

    def create(self):
        start = {"ep_return": 0.0, "ep_length": 0, "done": 0, "board": [[0, 1, -1], [1, 0, 0]]}
        return SimpleNamespace(
            rng=Rng(3), cube=[[[1, 2]], [[3, 4]]], heat=[0.5, 1.5], flag=True, **start
        )

    def encode_obs(self, game, out):
        out[:] = np.ravel(game.board)

    def reward(self, game):
        return 0.0, ()


def test_rows_and_games_become_each_other() -> None:
    boards = Boards()
    game = boards.create()
    row = boards.pack(game)
    record = np.frombuffer(row, STATE)[0]
    assert record["board"].tolist() == game.board
    assert record["cube"].tolist() == game.cube
    assert record["rng"].tolist() == game.rng.state
    again = boards.unpack(row)
    assert again.rng.state == game.rng.state
    own = {name: value for name, value in vars(game).items() if name != "rng"}
    assert {name: value for name, value in vars(again).items() if name != "rng"} == own
    assert boards.pack(pickle.loads(pickle.dumps(boards)).unpack(row)) == row


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("board", 2, r"lane 1: board=\[\[2, 2, 2\], \[2, 2, 2\]\] must be -1..1"),
        ("heat", -0.5, r"lane 1: heat=\[-0.5, -0.5\] must be 0.0..9.5"),
        ("heat", np.nan, r"lane 1: heat=\[nan, nan\] must be 0.0..9.5"),
    ],
)
def test_rows_outside_the_limits_are_refused(field, value, said) -> None:
    boards = Boards()
    rows = np.frombuffer(boards.pack(boards.create()) * 2, STATE).copy()
    boards.validate(rows)
    rows[field][1] = value
    with pytest.raises(StateError, match=said):
        boards.validate(rows)


def test_bots_have_numbers() -> None:
    assert Boards().bot("wild")["kind"].tolist() == [1]
    with pytest.raises(ConfigError, match="bot 'tame': must be one of calm, wild"):
        Boards().bot("tame")


@pytest.fixture
def registered(monkeypatch):
    """An id of a game that says nothing of options for `verify`."""
    package = SimpleNamespace(make_game=Boards)
    monkeypatch.setitem(registry.ENVS, "Boards-v0", registry.Entry(lambda: package, {}))


@pytest.mark.usefixtures("registered")
def test_a_game_without_random_options_is_compared_with_what_is_given() -> None:
    assert draw_options("Boards-v0", 5) == {}
    assert draw_options("Boards-v0", 5, size=2) == {"size": 2}


@pytest.mark.usefixtures("registered")
def test_an_option_that_the_game_does_not_take_is_named() -> None:
    assert isinstance(fastenv.make_game("Boards-v0", size=2), Boards)
    with pytest.raises(ConfigError, match="'sise' is not an option of 'Boards-v0'; options: size"):
        fastenv.make_game("Boards-v0", sise=2)


def test_the_opponent_of_a_game_plays_unless_another_is_named() -> None:
    game = with_spec(RaceGame(), opponent="slow")
    own = fastenv.FastVectorEnv(game, 2)
    named = fastenv.FastVectorEnv(RaceGame(), 2, opponent="slow")
    for vec in (own, named):
        vec.reset(seed=3)
    for action in (1, 0, 3, 2, 1):
        for vec in (own, named):
            vec.step(np.full(2, action))
        assert first_difference(own.engine, named.engine) is None
    other = fastenv.FastVectorEnv(game, 2, opponent="fast")
    assert other.engine.opponent == "fast"
    assert BatchEngine(game, 2, "reference").num_agents == 2, "the engine shows all"


class SlottedBoard:
    """A game that can have the fields alone."""

    __slots__ = STATE.names

    def __init__(self) -> None:
        start = Boards().create()
        for name in STATE.names or ():
            setattr(self, name, getattr(start, name))


class Slotted(Boards):
    """Boards whose games have ``__slots__``."""

    def create(self):
        return SlottedBoard()


@pytest.mark.parametrize(("kind", "reused"), [(Boards, False), (Slotted, True)])
def test_an_object_that_was_looked_at_shows_the_next_row_alone(kind: type, reused: bool) -> None:
    boards = kind()
    first, second = boards.create(), boards.create()
    second.board, second.heat, second.flag, second.done = [[0] * 3, [-1] * 3], [2.0, 3.0], False, 1
    second.rng = Rng(7)
    shown = boards.unpack_seen(boards.pack(first))
    again = boards.unpack_seen(boards.pack(second), shown)
    assert (again is shown) is reused
    assert boards.pack(again) == boards.pack(second)
    assert boards.pack(boards.unpack_seen(boards.pack(first), again)) == boards.pack(first)
