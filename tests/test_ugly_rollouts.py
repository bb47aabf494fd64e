"""Worlds and rollouts that are refused, each in one sentence that says what is allowed."""

import numpy as np
import pytest

from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError, InvalidActionError, StateError
from tests.needs import FASTEST
from tests.nim import NimGame
from tests.race import HERE, engine_of, everything
from tests.tables import walk
from tests.test_ugly_actions import endless
from tests.toy import RaceGame, WalkGame

N = 5
MASKED = np.ma.masked_array(np.zeros(N, int), [True] * N)
each_backend = pytest.mark.parametrize("backend", ["reference", FASTEST])


def refuse(backend, call, kind, message, game=None):
    """Check that a call raises one sentence, and changes neither the engine nor the rows."""
    engine = engine_of(backend, game=game)
    rows, before = engine.get_states(), everything(engine)
    given = rows.tobytes()
    with pytest.raises(kind, match=message) as error:
        call(engine, rows)
    assert "\n" not in str(error.value)
    assert everything(engine) == before
    assert rows.tobytes() == given


SEEDS = {
    "bool": True,
    "float": 1.5,
    "nan": float("nan"),
    "none": None,
    "text": "12345",
    "bytes": b"12345",
    "short": [1, 2],
    "long": range(10**30),
    "floats": [1.0] * N,
    "bools": [True] * N,
    "nones": [None] * N,
    "lists": [[1]] * N,
    "array of bools": np.ones(N, bool),
    "array of floats": np.full(N, np.nan),
    "array with none": np.array([1, 2, None, 4, 5], object),
    "column": np.ones((N, 1), int),
    "masked": MASKED,
    "endless": endless(),
    "set": set(range(N)),
    "dict": dict.fromkeys(range(N)),
}


@walk("kind", SEEDS)
@each_backend
def test_seeds_that_are_none(backend, kind):
    seeds, message = SEEDS[kind], r"^seeds must be (an integer or 5 of them, got|a plain array)"
    refuse(backend, lambda e, rows: e.rollout(rows, seeds=seeds), ValueError, message)
    refuse(backend, lambda e, rows: e.resample(rows, 0, seeds), ValueError, message)


AGENTS = {
    "beyond": 2,
    "negative": -1,
    "huge": 2**80,
    "float": 0.0,
    "bool": True,
    "short": [0, 1],
    "one beyond": [0, 1, 1, 0, 2],
    "text": "0",
    "none": None,
    "column": np.zeros((N, 1), int),
    "masked": MASKED,
    "endless": endless(),
    "ragged": [0, [1], 0, 0, 0],
}


@walk("kind", AGENTS)
@each_backend
def test_agents_that_are_not_there(backend, kind):
    message = r"^agents=.*: must be 0..1, or 5 such numbers$|^agents must be an? (plain )?array"
    refuse(backend, lambda e, rows: e.resample(rows, AGENTS[kind], 0), ValueError, message)


COUNTS = [0, -1, 1.0, True, None, "3", float("nan"), [1]]


@walk("count", COUNTS)
@each_backend
def test_counts_of_nothing(backend, count):
    message = r"=.*: must be an integer of at least 1$"
    refuse(
        backend, lambda e, r: e.resample(r, 0, 0, worlds=count), ConfigError, f"^worlds{message}"
    )
    if count is not None:
        refuse(backend, lambda e, r: e.rollout(r, limit=count), ConfigError, f"^limit{message}")


@walk("count", [10**15, 2**63, 10**30])
@each_backend
def test_counts_beyond_all_memory(backend, count):
    message = "^worlds=.*: must be fewer: there is not as much memory here$"
    refuse(backend, lambda e, rows: e.resample(rows, 0, 0, worlds=count), ConfigError, message)
    message = "^limit=.*: must be at most 2147483647$"
    refuse(backend, lambda e, rows: e.rollout(rows, limit=count), ConfigError, message)


UNTIL = ["", "end", "apart=3", "frames", "frames=", "frames=0", "frames=-1", "frames=1.5", "="]
UNTIL += ["frames=2147483648", "frames=100000000005", "frames=²", "frames= 3", "frames=3=4", 3]
UNTIL += [b"apart", True, ["apart"], float("nan")]


@walk("until", UNTIL)
@each_backend
def test_conditions_that_a_game_does_not_have(backend, until):
    message = r"^until=.*: must be None or 'apart' or 'frames=K', K from 1 to 2147483647$"
    refuse(backend, lambda e, rows: e.rollout(rows, until=until), ConfigError, message)


def test_a_game_without_conditions():
    message = "^until='round': must be None$"
    refuse("reference", lambda e, r: e.rollout(r, until="round"), ConfigError, message, NimGame())


PLAYERS = {
    "unknown": ("best", "players: bot 'best': must be one of random, slow, fast"),
    "one unknown": (["fast", "best"], "players: bot 'best': must be one of"),
    "outside": ("external", "players: bot 'external': must be one of"),
    "too few": (["fast"], "must be the name of a bot, or 2, one a seat"),
    "too many": (["fast"] * 3, "must be the name of a bot, or 2, one a seat"),
    "none": (None, "players=None: must be the name of a bot"),
    "number": (1, "players=1: must be the name of a bot"),
    "numbers": ([1, 2], "players must be a name, got int"),
    "set": ({"fast", "slow"}, "must be the name of a bot, or 2"),
    "array": (np.array(["fast", "slow"]), "must be the name of a bot, or 2"),
    "bytes": (b"fast", "must be the name of a bot"),
}


@walk("kind", PLAYERS)
@each_backend
def test_players_that_a_game_does_not_have(backend, kind):
    players, message = PLAYERS[kind]
    refuse(backend, lambda e, rows: e.rollout(rows, players=players), ConfigError, message)


ACTIONS = {
    "beyond": (np.full((N, 2), 4), r"rollout 0, agent .: action 4 is out of range, allowed are"),
    "below": (np.full((N, 2), -2), r"action -2 is out of range, allowed are 0..3, or -1 for"),
    "huge": (np.full((N, 2), 2**63, np.uint64), "action 9223372036854775808 is out of range"),
    "one an engine": (0, r"actions must be integers of shape \(5, 2\), got int64 of shape \(\)"),
    "one a row": ([0] * N, r"actions must be integers of shape \(5, 2\)"),
    "a row less": (np.zeros((4, 2), int), r"got int64 of shape \(4, 2\)"),
    "floats": (np.zeros((N, 2)), "got float64"),
    "bools": (np.zeros((N, 2), bool), "got bool"),
    "objects": ([[0, 2**80]] * N, "got object"),
    "nothing": ([], r"actions must be integers of shape \(5, 2\)"),
    "text": ("00000", "actions must be integers"),
    "ragged": ([[0], [0, 1]], "actions must be an array"),
    "masked": (np.ma.zeros((N, 2), int), "actions must be a plain array"),
    "endless": (endless(), "actions must be an array"),
}


@walk("kind", ACTIONS)
@each_backend
def test_actions_that_are_none(backend, kind):
    actions, message = ACTIONS[kind]
    refuse(backend, lambda e, rows: e.rollout(rows, actions), InvalidActionError, message)


@walk("backend", HERE)
def test_actions_that_are_illegal_now(backend):
    game = WalkGame(raise_illegal=True)
    engine = engine_of(backend, game=game)
    rows = engine.get_states()
    rows["position"] = [0, 1, 0, 1, 0]
    rows["goal"] = 6
    engine.rollout(rows, [2, 1, -1, -1, 0])
    for of, actions, place in ((None, [2, 0, 2, 2, 0], 3), ([0, 1, 1], [2, -1, 2], 2)):
        with pytest.raises(InvalidActionError) as error:
            engine.rollout(rows, actions, of=of)
        said = f"rollout {place}: action 2 is illegal in phase ODD, legal are [0, 1]"
        assert str(error.value) == said
    engine.rollout(rows, [2] * N, trusted=True)
    race = RaceGame(raise_illegal=True)
    engine = engine_of(backend, game=race)
    rows = engine.get_states()
    rows["needs_action"], rows["board"] = [[1, 0]], 9
    engine.rollout(rows, [[0, 3]] * N)  # the second does not act
    with pytest.raises(InvalidActionError, match=r"^rollout 0, agent 0: action 1 is illegal"):
        engine.rollout(rows, [[1, 0]] * N)


OF = {
    "beyond": [0, 5],
    "negative": [-1],
    "huge": [2**70],
    "floats": [0.0],
    "bools": [True],
    "scalar": 0,
    "column": [[0], [1]],
    "text": "0",
    "masked": MASKED,
    "endless": endless(),
}


@walk("kind", OF)
@each_backend
def test_rows_by_numbers_that_are_none(backend, kind):
    message = r"^of=.*: must be numbers of rows, in 0\.\.4$|^of must be an? (plain )?array"
    refuse(backend, lambda e, rows: e.rollout(rows, of=OF[kind]), ValueError, message)


def test_numbers_of_no_rows():
    message = r"^of=\[0\]: must be numbers of rows, and there are none$"
    refuse(FASTEST, lambda e, rows: e.rollout(rows[:0], of=[0]), ValueError, message)


def with_(rows, name, value, row=3):
    changed = rows.copy()
    changed[name][row] = value
    return changed


ROWS = {
    "over": (lambda rows: with_(rows, "done", 1), "^rows: the game of row 3 is over$"),
    "impossible": (lambda rows: with_(rows, "place", -1), "^lane 3: place$"),
    "stuck": (lambda rows: with_(rows, "bot_rng", 0), "^lane 3: bot_rng is all zeros"),
    "of another size": (lambda _: engine_of(game=RaceGame(size=80)).get_states(), "^rows: field"),
    "of another game": (lambda _: engine_of(game=WalkGame()).get_states(), "^rows"),
    "numbers": (lambda _: np.zeros(N), "^rows must be a record"),
    "bytes": (lambda rows: rows.tobytes(), "^rows"),
    "column": (lambda rows: rows.reshape(N, 1), r"^rows must have one axis, got shape \(5, 1\)"),
    "masked": (lambda rows: np.ma.masked_array(rows), "^rows must be a plain array"),
    "none": (lambda _: None, "^rows must be"),
    "endless": (lambda _: endless(), "^rows"),
}


@walk("kind", ROWS)
@each_backend
def test_rows_that_are_none(backend, kind):
    change, message = ROWS[kind]
    refuse(backend, lambda e, rows: e.rollout(change(rows)), StateError, message)
    refuse(backend, lambda e, rows: e.resample(change(rows), 0, 0), StateError, message)


@each_backend
def test_rows_that_are_trusted(backend):
    """They are not looked at, but for the end, from which nothing can go on."""
    engine = engine_of(backend)
    rows = with_(engine.get_states(), "place", -1)
    engine.resample(rows, 0, 0, trusted=True)
    engine.rollout(rows, limit=1, trusted=True)
    for trusted in (1, None, np.ones(N, bool)):
        refuse(
            backend,
            lambda e, r, trusted=trusted: e.rollout(r, trusted=trusted),
            ConfigError,
            "^trusted must be True or False",
        )
    with pytest.raises(StateError, match="the game of row 3 is over"):
        engine.rollout(with_(rows, "done", 2), trusted=True)


def test_a_game_without_resample():
    engine = BatchEngine(NimGame(), 1, "reference")
    with pytest.raises(ConfigError, match=r"^NimGame has no resample: add the method `resample`"):
        engine.resample(np.zeros(1), 0, 0)


def test_one_row_without_an_axis_is_one():
    engine = engine_of()
    rows = engine.get_states()
    assert engine.rollout(rows[2]).rows.shape == (1,)
    assert engine.resample(rows[2], 1, 0).shape == (1,)
    backwards = engine.resample(rows[::-1], 1, [4, 3, 2, 1, 0])
    assert backwards.tobytes() == engine.resample(rows, 1, 0)[::-1].tobytes()
