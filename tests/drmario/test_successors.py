"""Successors: those that are counted are those that are played, frame by frame and by the engine.

The compiled planner gives the costs throughout; that it is right is tested elsewhere.
"""

import numpy as np
import pytest

import fastenv
from fastenv.drmario import make_game
from fastenv.drmario import tables as t
from fastenv.drmario.greedy import count_bottle
from fastenv.drmario.state import SUCCESSOR_DTYPE
from fastenv.drmario.successors import COUNTED, count_bottles
from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError, StateError
from tests.drmario.boards import GAMES, hand_made, positions
from tests.needs import needs_core
from tests.slow import every
from tests.tables import walk


def first(found):
    """Return what belongs to the first row."""
    return tuple(part[found[0] == 0] for part in found)


def check_alike(one, other, where):
    assert np.array_equal(one[0], other[0]), where
    for name in SUCCESSOR_DTYPE.names:
        assert np.array_equal(one[1][name], other[1][name]), (where, name)


@needs_core
@pytest.mark.parametrize("name", every(6, GAMES))
@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))])
def test_counted_is_played(name, seed, planned):
    game, rows = positions(GAMES[name], 3, seed)
    for agent in range(game.spec.num_agents):
        wanted = game.successors(rows, agent, "reference")
        where = f"{name}, seed {seed}, agent {agent}"
        check_alike(game.successors(rows, agent, "cython"), wanted, where)
        check_alike(game.successors(rows, agent, "fast", trusted=True), wanted, where)
        check_alike(game.successors(rows[:1], agent, "numba"), first(wanted), where)
        assert len(wanted[0]) > 20 or name == "match", where


@needs_core
@walk("name", [name for name in GAMES if name not in ("match", "replay")])
def test_they_are_what_the_engine_makes_of_placements(name):
    """In many positions: the compiled ones against compiled steps."""
    ended = matched = 0
    for seed in range(8):
        game, rows = positions(GAMES[name], 12, 50 + seed)
        parents, found = game.successors(rows, backend="cython")
        played = BatchEngine(game, len(parents), "fast")
        played.reset_many(seeds=0)
        played.set_states(rows[parents])
        played.step_many(found["action"].astype(np.int32), autoreset=False)
        after, where = played.get_states(), f"{name}, seed {seed}"
        player = after["players"][:, 0]
        assert np.array_equal(found["frames"], after["tau"]), where
        assert np.array_equal(found["cost"], player["ev_cost"]), where
        assert np.array_equal(found["viruses"], player["ev_tiles_virus"]), where
        assert np.array_equal(found["reason"], after["reason"]), where
        alive = found["reason"] != t.Reason.TOPOUT
        assert np.array_equal(found["board"][alive], player["board"][alive]), where
        ended += (~alive).sum()
        matched += (found["runs"] > 0).sum()
    assert ended > 10 or name in ("few viruses", "matches")
    assert matched > 100


@needs_core
def test_what_is_counted_in_bottles():
    rng = np.random.default_rng(4)
    boards = np.full((400, t.CELLS), t.EMPTY, np.uint8)
    hand_made(rng, boards)
    boards[0] = t.EMPTY
    boards[200:] = np.where(rng.random((200, t.CELLS)) < 0.5, t.EMPTY, boards[200:])
    boards[300:, : 8 * 7] = t.EMPTY
    found = count_bottles(boards, "cython")
    np.testing.assert_array_equal(found, count_bottles(boards, "reference"))
    assert (found.any(0)).all()
    for board, counts in zip(boards, found, strict=True):
        wanted = count_bottle(board.tolist())
        assert dict(zip(COUNTED, counts.tolist(), strict=True)) == {n: wanted[n] for n in COUNTED}


@pytest.mark.parametrize(
    "boards", [np.zeros((2, 127), np.uint8), np.zeros(128, np.uint8), [[0] * 128]]
)
def test_boards_of_another_shape_are_refused(boards):
    with pytest.raises(StateError, match=r"must be uint8 \(n, 128\)"):
        count_bottles(boards)


@needs_core
def test_no_decision_no_successors(planned):
    game = make_game(agents=2, level=(0, 0), speed=("low", "high"))
    engine = BatchEngine(game, 3, "fast")
    engine.reset_many(seeds=2)
    start = engine.get_states()
    legal = np.random.default_rng(5).random(engine.mask.shape) * engine.mask
    engine.step_many(legal.argmax(-1).astype(np.int32))
    rows = np.concatenate([engine.get_states(), start])
    due = rows["needs_action"] != 0
    assert 0 < due[:3].sum() < due[3:].sum() == 6
    for agent in range(2):
        for backend in ("reference", "cython"):
            parents, _ = game.successors(rows, agent, backend)
            assert np.array_equal(np.unique(parents), np.flatnonzero(due[:, agent]))
            parents, found = game.successors(rows[:0], agent, backend)
            assert len(parents) == len(found) == 0
            assert found.dtype == SUCCESSOR_DTYPE


def test_bad_input_is_refused():
    game = fastenv.make_game("DrMarioPlacement-v0")
    rows = np.zeros(1, game.spec.state_dtype)
    for agent in (-1, 1, True, "0", None):
        with pytest.raises(ConfigError, match=r"agent=.*: must be 0"):
            game.successors(rows, agent)
    with pytest.raises(StateError, match="rows"):
        game.successors(rows["players"])
    with pytest.raises(StateError):
        game.successors(rows)
    frames = fastenv.make_game("DrMarioFrame-v0")
    with pytest.raises(ConfigError, match="DrMarioFrame-v0 has no successors"):
        frames.successors(np.zeros(1, frames.spec.state_dtype))
