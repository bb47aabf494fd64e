"""Games as rows: what `pack` and `unpack` take and give; the core writes the same rows."""

import random

import numpy as np
import pytest

from fastenv.skullking.config import SkullKingConfig
from fastenv.skullking.position import Position, load
from fastenv.skullking.reference import SkullKing, pack, unpack
from fastenv.skullking.state import STATE_DTYPE
from tests.skullking.states import rows_of
from tests.tables import walk

GAMES = {
    "worker": {"tier": "worker", "obs_ext": "memory"},
    "worker of 2": {"tier": "worker", "num_players": 2, "tigress": "agent"},
    "ability of 8": {"tier": "ability", "num_players": 8, "abilities": "agent", "schedule": (9,)},
    "ability": {"tier": "ability", "num_players": 3, "abilities": "agent", "schedule": (5, 10)},
    "cannons": {"tier": "flat", "scoring": "rascal_cannon", "opponents": "random"},
    "duplicate deals": {"tier": "flat", "num_players": 5, "deals": "duplicate"},
    "plain table of 2": {"tier": "flat", "num_players": 2, "two_player": "plain"},
    "rotating seat": {"tier": "flat", "num_players": 6, "agent_seat": "rotate"},
    "manager": {"tier": "manager", "num_players": 8, "abilities": "auto", "mode": "game"},
    "played from outside": {
        "tier": "flat",
        "num_players": 4,
        "opponents": "external",
        "invalid_action": "raise",
    },
}
LENGTHS = {
    "hand": "hand_len",
    "stock": "stock_len",
    "table_card": "table_len",
    "table_seat": "table_len",
    "table_mode": "table_len",
    "alliances": "num_alliances",
}


def plain(value):
    """Return a value with the types that the state has: no enumerations, no booleans."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, list | tuple | set):
        return type(value)(map(plain, value))
    return value


def stored(game):
    """Return what a game stores but rules and knobs, as text too: 1, 1.0 and True are equal."""
    values = {**vars(game), "rng": game.rng.state}
    values = {k: plain(v) for k, v in sorted(values.items()) if k not in ("rules", "knobs")}
    return values, repr([sorted(v) if isinstance(v, set) else v for v in values.values()])


def start(name, seed):
    config = SkullKingConfig.from_options(**GAMES[name])
    return SkullKing(config.rules_record(), config.default_knobs(1), seed)


@walk("name", GAMES)
def test_unpacked_games_go_on_like_the_original(name):
    game, choice = start(name, 5), random.Random(5)
    while not game.done:
        copy = unpack(pack(game), game.rules, game.knobs)
        action = choice.choice(game.legal_actions())
        game.step(action)
        copy.step(action)
        assert pack(copy) == pack(game)


def test_no_attribute_is_left_out_of_a_row():
    game = start("worker", 1)
    assert {*vars(game)} - {"rules", "knobs"} == {*STATE_DTYPE.names} - {*LENGTHS.values()}


def test_a_row_is_anything_that_shows_its_bytes_and_is_not_changed():
    rows = rows_of(*(start("ability", seed) for seed in range(3)))
    before, game = rows.tobytes(), start("ability", 1)
    raw = rows.view(np.uint8).reshape(3, -1)
    expected = stored(game)
    for row in (rows[1], rows[1:2], np.asarray(rows[1]), raw[1], memoryview(raw)[1:2], pack(game)):
        copy = unpack(row, game.rules, game.knobs)
        assert stored(copy) == expected
        while not copy.done:
            copy.step(copy.legal_actions()[0])
    assert rows.tobytes() == before


def test_load_overwrites_a_game():
    first, second = start("ability", 1), start("ability", 2)
    while not second.done:
        second.step(second.legal_actions()[0])
    load(second, pack(first))
    assert stored(second) == stored(first)
    bare = Position.__new__(Position)
    load(bare, pack(first))
    assert stored(bare) == stored(first)


@pytest.mark.parametrize(
    ("name", "value"), [("hand", [list(range(12)), *[[]] * 7]), ("discard", [1, 2, 3])]
)
def test_lists_that_are_too_long_are_refused(name, value):
    game = start("worker", 1)
    setattr(game, name, value)
    with pytest.raises(ValueError, match=f"'{name}' takes"):
        pack(game)
