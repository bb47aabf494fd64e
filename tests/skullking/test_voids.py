"""What players have shown not to hold, against what was played."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastenv
from fastenv.engine import BatchEngine
from fastenv.errors import StateError
from fastenv.skullking import tables as t
from fastenv.skullking.view import table_view
from tests.needs import FASTEST
from tests.skullking.moments import game_of

few = settings(max_examples=10)
seeds = st.integers(0, 2**32 - 1)
LEAVES_OPEN = (t.CardClass.ESCAPE, t.CardClass.LOOT)


def shown_in(plays, rules, voids):
    """Add what a trick shows to `voids`; `plays` are pairs of seat and card, in order."""
    suit = None
    for seat, card in plays:
        kind = t.CLASS[card] if card < t.NUM_CARDS else None
        if kind == t.CardClass.NUMBER and suit is not None and suit >= 0 and suit != t.SUIT[card]:
            may = rules["trump_any_time"] and t.SUIT[card] == t.TRUMP
            if not may and seat < rules["num_players"]:
                voids[seat] |= 1 << suit
        if suit is None and kind == t.CardClass.NUMBER:
            suit = t.SUIT[card]
        elif suit is None and not rules["late_suit"] and decides(card, kind):
            suit = -1


def decides(card, kind):
    """Return whether a first card frees the trick of suits; the Tigress as an escape does not."""
    return card == t.TIGRESS_AS_PIRATE or (card != t.TIGRESS and kind not in LEAVES_OPEN)


class History:
    """The tricks of a round, as somebody sees them who looks at every decision."""

    def __init__(self, rules):
        self.rules = rules

    def see(self, row):
        """Return what everybody has shown by now, from all cards that were laid."""
        if row["tricks"] == 0:
            self.voids, self.tricks, self.drawn = [0] * t.MAX_PLAYERS, 0, 0
        if row["tricks"] > self.tricks:
            assert row["tricks"] == self.tricks + 1
            last = zip(row["last_seat"].tolist(), row["last_card"].tolist(), strict=True)
            shown_in([(seat, card) for seat, card in last if seat >= 0], self.rules, self.voids)
            self.tricks += 1
        if row["stock_pos"] > self.drawn:
            self.drawn = row["stock_pos"]
            self.voids[row["bendt_seat"]] = 0
        voids, n = [*self.voids], int(row["table_len"])
        laid = np.where(row["table_mode"] == 1, t.TIGRESS_AS_PIRATE, row["table_card"])
        plays = list(zip(row["table_seat"].tolist(), laid.tolist(), strict=True))
        shown_in(plays[:n], self.rules, voids)
        return voids


@pytest.mark.parametrize("tier", ["flat", "worker", "ability"])
@few
@given(seed=seeds)
def test_rows_hold_what_was_shown(tier, seed):
    game, rng = game_of(tier, seed), np.random.default_rng(seed)
    engine = BatchEngine(game, 3, FASTEST)
    engine.reset_many(seeds=seed)
    histories = [History(game.rules[0]) for _ in range(3)]
    for _ in range(60):
        for row, history in zip(engine.get_states(), histories, strict=True):
            assert row["voids"].tolist() == history.see(row)
        engine.step_many(fastenv.sample_legal(engine.mask, rng))


def row_with_voids():
    """Return a game and a row in which somebody has shown something, with a card in hand."""
    game = fastenv.make_game("SkullKingFlat-v0", schedule=(9,), opponents="random")
    engine, rng = BatchEngine(game, 16, FASTEST), np.random.default_rng(0)
    engine.reset_many(seeds=0)
    for _ in range(5):
        engine.step_many(fastenv.sample_legal(engine.mask, rng))
    rows = engine.get_states()
    return game, rows[rows["voids"].any(axis=1)][:1]


def test_impossible_voids_are_refused():
    game, rows = row_with_voids()
    seat = int(rows["voids"][0].argmax())
    suit = next(t.SUIT[card] for card in rows["hand"][0, seat].tolist() if t.SUIT[card] >= 0)
    for where, value in ((seat, 1 << suit), (seat, 16), (4, 1)):
        wrong = rows.copy()
        wrong["voids"][0, where] |= value
        with pytest.raises(StateError, match="voids="):
            game.validate(wrong)
    engine = BatchEngine(game, 64, FASTEST)
    engine.reset_many(seeds=0)
    rows = engine.get_states()
    for row in rows:  # before the first card nothing is shown, even what is true
        held = {t.SUIT[card] for card in row["hand"][1, : row["hand_len"][1]].tolist()}
        row["voids"][1] = sum(1 << suit for suit in range(4) if suit not in held)
    assert rows["voids"].any()
    with pytest.raises(StateError, match="voids="):
        game.validate(rows)


def test_a_table_shows_them():
    game, rows = row_with_voids()
    seat = int(rows["voids"][0].argmax())
    notes = table_view(rows[0], game.rules[0]).seats[seat].notes
    assert any(note.startswith("no ") for note in notes)
