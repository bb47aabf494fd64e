"""Games as rows: `pack` and `unpack` against the same conversion written out field by field."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastenv.skullking.config import SkullKingConfig
from fastenv.skullking.position import Position, load
from fastenv.skullking.reference import SkullKing, pack, unpack
from fastenv.skullking.state import STATE_DTYPE
from fastenv.skullking.tables import NUM_ACTIONS, Phase
from tests.skullking.states import rows_of
from tests.slow import every
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
MINUS_PADDED = ("stock", "discard", "table_card", "table_seat", "last_card", "last_seat")
LENGTHS = {
    "hand": "hand_len",
    "stock": "stock_len",
    "table_card": "table_len",
    "table_seat": "table_len",
    "table_mode": "table_len",
    "alliances": "num_alliances",
}


def pack_naively(game):
    """Return the row of a game, written field by field into a NumPy record."""
    rows = np.zeros(1, STATE_DTYPE)
    for name in STATE_DTYPE.names:
        value, field = getattr(game, name), rows[name][0] if STATE_DTYPE[name].shape else None
        if name == "rng":
            field[:] = np.array(value.state, np.uint64)
        elif name in ("played", "known", "out"):
            for card in value:
                field[card // 64] |= np.uint64(1 << card % 64)
        elif name == "hand":
            for seat, hand in enumerate(value):
                field[seat, : len(hand)] = hand
        elif name == "alliances":
            field[:] = -1
            for i, pair in enumerate(value):
                field[i] = pair
        elif field is None:
            rows[name] = value
        else:
            field[:] = -1 if name in MINUS_PADDED else 0
            field[: len(value)] = value
    return rows.tobytes()


def attributes_of(row):
    """Return what a game of this row has, read field by field from the NumPy record."""
    found = {}
    for name in STATE_DTYPE.names:
        value = row[name].tolist()
        if name in LENGTHS.values():
            continue
        if name in ("played", "known", "out"):
            value = {card for card in range(128) if value[card // 64] >> card % 64 & 1}
        elif name == "hand":
            value = [hand[:n] for hand, n in zip(value, row["hand_len"].tolist(), strict=True)]
        elif name in LENGTHS:
            value = value[: int(row[LENGTHS[name]])]
        elif name in MINUS_PADDED:
            value = [card for card in value if card >= 0]
        found[name] = [tuple(pair) for pair in value] if name == "alliances" else value
    return found


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


def played(name, seed, steps):
    """Yield a game after each of some random actions, a few of them illegal."""
    game, choice = start(name, seed), random.Random(seed)
    for _ in range(steps):
        yield game
        if game.done:
            game.reset()
        elif choice.random() < 0.05:
            game.step(choice.randrange(NUM_ACTIONS))
        else:
            game.step(choice.choice(game.legal_actions()))
        game.ep_return += choice.uniform(-1, 1)
        game.ep_length += 1


@pytest.mark.parametrize("name", every(5, GAMES))
@given(seed=st.integers(0, 2**64 - 1))
def test_rows_are_those_of_the_naive_conversion_both_ways(name, seed):
    for game in played(name, seed, 20):
        row = pack(game)
        assert row == pack_naively(game)
        copy = unpack(row, game.rules, game.knobs)
        assert (copy.rules, copy.knobs) == (game.rules, game.knobs)
        assert type(copy) is SkullKing
        assert vars(copy).keys() == vars(game).keys()
        assert stored(copy) == stored(game)
        expected = attributes_of(np.frombuffer(row, STATE_DTYPE)[0])
        assert stored(copy)[0] == dict(sorted(expected.items()))
        assert pack(copy) == row


@walk("name", GAMES)
def test_unpacked_games_go_on_like_the_original(name):
    game, choice = start(name, 5), random.Random(5)
    while not game.done:
        copy = unpack(pack(game), game.rules, game.knobs)
        action = choice.choice(game.legal_actions())
        game.step(action)
        copy.step(action)
        assert pack(copy) == pack(game)


def test_played_games_reach_what_rows_can_hold():
    games = [unpack(pack(g), g.rules, g.knobs) for name in GAMES for g in played(name, 1, 300)]
    for name in ("alliances", "discard", "out", "table_card", "deal_seed", "rascal_bet"):
        assert any(getattr(game, name) for game in games), name
    assert {game.phase for game in games} >= {*Phase}
    assert any(min(game.total) < 0 for game in games)
    assert any(game.first_discard >= 0 for game in games)
    assert any(game.ev_points < 0 for game in games)


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
