"""Games as rows: what `pack` and `unpack` take and give; the core writes the same rows."""

import numpy as np
import pytest

from fastenv.prospector.position import NOT_IN_A_GAME, pack, unpack
from fastenv.prospector.reference import Prospector
from fastenv.prospector.state import STATE_DTYPE
from fastenv.prospector.tables import TIME_MAX
from tests.prospector.games import away, info_of, mask_of, obs_of, rows_of


def test_a_game_before_its_first_episode_comes_back():
    row = pack(Prospector(50.0))
    assert pack(unpack(row, 50.0)) == row


def test_unpacked_games_go_on_like_the_original():
    game, choice = Prospector(500.0, seed=3), np.random.default_rng(3)
    while not game.done:
        copy, action = unpack(pack(game), 500.0), int(choice.integers(-1, 68))
        game.step(action)
        copy.step(action)
        assert pack(copy) == pack(game)
    game.reset()
    copy.reset()
    assert pack(copy) == pack(game)


def test_a_row_is_anything_that_shows_its_bytes():
    rows = rows_of(Prospector(seed=1), away(), Prospector(seed=2))
    raw, expected = rows.view(np.uint8).reshape(3, -1), rows[1].tobytes()
    shapes = (rows[1], rows[1:2], np.asarray(rows[1]), raw[1], memoryview(raw)[1:2], expected)
    for row in (*shapes, bytearray(expected), memoryview(expected)):
        assert pack(unpack(row, TIME_MAX)) == expected, type(row)


def test_arrays_of_unpacked_games_are_their_own():
    row = bytearray(pack(away()))
    game, other = unpack(row, TIME_MAX), unpack(row, TIME_MAX)
    before = pack(game)
    arrays = {k: v for k, v in vars(game).items() if isinstance(v, np.ndarray)}
    shaped = {name for name in STATE_DTYPE.names if STATE_DTYPE[name].shape}
    assert {*arrays} == shaped - {*NOT_IN_A_GAME}
    for name, array in arrays.items():
        assert array.flags.writeable, name
        assert array.flags.c_contiguous, name
        assert array.flags.aligned, name
        array[:] = 1
    assert row == before == pack(other)
    row[:] = bytes(len(row))
    assert pack(other) == before


def test_a_row_that_is_not_complete_shows_the_node_where_the_ship_is():
    game = away(3)
    rows = rows_of(game)
    elsewhere = np.arange(32) != game.current_node
    rows["pending"] = sum(1 << node for node in np.flatnonzero(elsewhere).tolist())
    rows["asteroid_rng"][0, elsewhere] = 12345
    for name in ("true_comp", "richness", "stability", "noise", "comp_est", "stability_est"):
        rows[name][0, elsewhere] = 0
    copy = unpack(rows[0], TIME_MAX)
    assert not copy.richness[elsewhere].any()
    assert obs_of(copy).tobytes() == obs_of(game).tobytes()
    assert mask_of(copy).tobytes() == mask_of(game).tobytes()
    assert info_of(copy) == info_of(game)


@pytest.mark.parametrize("wrong", [np.zeros(5, np.float32), np.zeros(6), np.float32(1)])
def test_arrays_of_another_size_are_refused(wrong):
    game = away()
    game.price = wrong
    with pytest.raises(ValueError, match=f"'price' takes 24 bytes, not {wrong.nbytes}"):
        pack(game)
