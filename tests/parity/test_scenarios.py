"""Scenarios A1 .. A46 through the engine of every backend: row in, steps, row and outputs out."""

from __future__ import annotations

import numpy as np
import pytest

from fastenv.engine import BatchEngine
from fastenv.skullking.reference import GRAYBEARD, SkullKing
from fastenv.skullking.tables import HARRY, KRAKEN, PIRATES, Phase
from fastenv.verify import BACKENDS, first_difference
from tests.skullking import scenarios as sc
from tests.skullking.states import rows_of
from tests.slow import diagonal
from tests.tables import walk

pytestmark = pytest.mark.parity


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


def on_each(scenarios):
    """Give each scenario one backend after the other; on all of them they are slow."""
    named = [pytest.param(s, id=s.id) for s in scenarios]
    return walk(("backend", "s"), diagonal(BACKENDS, named))


class Lane:
    """An engine of one lane that steps a scenario's row: a stepper for ``sc.play`` and others.

    The reference goes the same way beside it, and all that the world can see is compared.
    """

    def __init__(self, backend, rules, knobs):
        game = sc.game_of(rules, knobs)
        self.engines = [BatchEngine(game, 1, name) for name in ("reference", backend)]

    def load(self, rows):
        self._each(lambda engine: engine.set_states(rows))

    def __call__(self, rows, actions):
        if rows.tobytes() != self.engines[1].get_states().tobytes():
            self.load(rows)
        self._each(lambda engine: engine.step_many(actions, autoreset=False))
        rows[:] = self.engines[1].get_states()

    def _each(self, do):
        for engine in self.engines:
            do(engine)
        assert first_difference(*self.engines) is None


@on_each(sc.TRICKS)
def test_trick_goes_to(backend, s):
    rules, knobs, rows, action = sc.trick_row(s)
    sc.check_trick(s, sc.play(rows, [action], Lane(backend, rules, knobs)))


@on_each(sc.LEGALITY)
def test_hand_may_play(backend, s):
    rules, knobs, rows, legal = sc.legality_row(s)
    lane = Lane(backend, rules, knobs)
    lane.load(rows)
    assert np.flatnonzero(lane.engines[1].mask[0]).tolist() == legal
    for action in set(range(11)) - set(legal):  # in the core too, not only in the mask
        before = rows.copy()
        row = sc.play(before, [action], lane)
        assert (row["ev_invalid"], row["table_len"]) == (1, rows[0]["table_len"])


@on_each(sc.SCORES)
def test_round_scores(backend, s):
    rules, knobs, rows, actions = sc.score_row(s)
    row = sc.play(rows, actions, Lane(backend, rules, knobs))
    assert (row["done"], row["ev_round"]) == (1, s.num_cards)
    assert (row["ev_points"], row["total"][2]) == (s.points, s.points)
    assert (row["ev_bid"], row["ev_won"]) == (s.bid + s.change, s.won)
    assert row["ev_bet"] == s.bet
    assert row["ev_alliances"] == s.alliances


def test_a32_eight_players_get_nine_cards_in_round_10(backend):
    rules, knobs = sc.setup(tier="flat", num_players=8)
    rows = rows_of(SkullKing(rules, knobs, seed=3))
    seen = {}
    for row in sc.play_out(rows, rules, knobs, Lane(backend, rules, knobs)):
        if row["phase"] == Phase.BID:
            left = row["stock_len"] - row["stock_pos"]
            seen[int(row["round_idx"]) + 1] = (row["hand_len"].tolist(), int(left))
    assert seen[10] == ([9] * 8, 2)
    assert seen[8] == ([8] * 8, 10)


@walk("s", sc.ROUNDS, ids=lambda s: s.id)
def test_round_follows_its_script(backend, s):
    rules, knobs, rows = sc.round_row(s)
    history = sc.follow(s, rows, Lane(backend, rules, knobs))
    row = history[-1][0]
    assert row["total"][:3].tolist() == list(s.totals)
    assert row["abilities_used"] == 1


def test_a40_has_an_alliance_and_rosies_lead(backend):
    scenario = sc.ROUNDS[0]
    rules, knobs, rows = sc.round_row(scenario)
    history = sc.follow(scenario, rows, Lane(backend, rules, knobs))
    after_rosie, last = history[1][0], history[-1][0]
    assert (after_rosie["leader"], after_rosie["rosie_lead"]) == (2, 1)
    assert last["alliances"][0].tolist() == [0, 2]


def test_a42_rosie_may_choose_herself(backend):
    rules, knobs, rows = sc.round_row(sc.ROUNDS[0])
    slot = rows[0]["hand"][1].tolist().index(sc.CARDS["Rosie"])
    row = sc.play(rows, [slot, 0], Lane(backend, rules, knobs))
    assert (row["leader"], row["turn"], row["table_len"], row["phase"]) == (1, 1, 0, Phase.PLAY)


@walk("pirate", PIRATES)
def test_a43_after_the_last_trick_only_harry_decides(backend, pirate):
    rules, knobs, rows = sc.last_trick_row(pirate)
    row = sc.play(rows, [0], Lane(backend, rules, knobs))
    assert row["won"][2] == 1
    assert (row["phase"], row["done"]) == ((Phase.HARRY, 0) if pirate == HARRY else (Phase.END, 1))
    assert (row["rascal_seat"], row["stock_pos"], row["jade_seat"]) == (-1, 0, -1)
    assert row["abilities_used"] == 0


@walk("tier", ["flat", "ability"])
def test_a44_bendt_holds_eleven_cards_for_a_moment(backend, tier):
    rules, knobs, rows = sc.bendt_row(tier=tier)
    stepper = Lane(backend, rules, knobs)
    row = sc.play(rows, [0], stepper)
    assert np.abs(stepper.engines[1].obs).max() <= 1
    drawn = row["stock"][:2].tolist()
    assert (row["phase"], row["hand_len"][3]) == (Phase.BENDT_1, 11)
    assert row["hand"][3, 9:].tolist() == drawn
    assert (row["bendt_seat"], row["stock_pos"]) == (3, 2)
    first = int(row["hand"][3, 10])
    row = sc.play(rows, [10], stepper)
    assert (row["phase"], row["hand_len"][3]) == (Phase.BENDT_2, 11)
    assert sc.legal_actions(rows, rules, knobs) == list(range(10))
    second = int(row["hand"][3, 4])
    row = sc.play(rows, [4], stepper)
    hand = row["hand"][3, : row["hand_len"][3]].tolist()
    assert len(hand) == 9
    assert hand == sorted(hand)
    assert row["discard"].tolist() == [first, second]
    assert row["stock_pos"] == 2
    for row in sc.play_out(rows, rules, knobs, stepper):
        played = int(row["played"][0]) | int(row["played"][1]) << 64
        assert not played >> first & 1
        assert not played >> second & 1


def test_a45_first_leaders_go_round(backend):
    rules, knobs = sc.setup(tier="flat", num_players=4)
    game = next(g for g in (SkullKing(rules, knobs, seed) for seed in range(99)) if g.leader == 2)
    rows = rows_of(game)
    leaders = {}
    for row in sc.play_out(rows, rules, knobs, Lane(backend, rules, knobs)):
        if row["phase"] == Phase.BID:
            leaders[int(row["round_idx"])] = int(row["leader"])
    assert list(leaders.values()) == [2, 3, 0, 1, 2, 3, 0, 1, 2, 3]


def test_a46_kraken_in_the_last_trick(backend):
    rules, knobs, rows = sc.last_trick_row(KRAKEN)
    row = sc.play(rows, [0], Lane(backend, rules, knobs))
    assert (row["cards"], row["won"].sum(), row["destroyed"]) == (4, 3, 1)
    assert row["total"][:3].tolist() == [40, 20, -10]


# -- Graybeard (docs/skullking.md, 7.2) ---------------------------------------------------------


@walk(
    ("ghost", "leader", "table_seats"),
    [
        ("P9", GRAYBEARD, [GRAYBEARD, 0]),  # he won; then the player who led plays second
        ("P3", 0, [0, GRAYBEARD]),
        ("TGe", 0, [0, GRAYBEARD]),
        ("KR", 0, [0, GRAYBEARD]),
    ],
)
def test_graybeard_is_second_unless_he_won(backend, ghost, leader, table_seats):
    rules, knobs, rows = sc.graybeard_row(ghost, "M9 C4")
    slot = rows[0]["hand"][1].tolist().index(sc.CARDS["P2"])
    row = sc.play(rows, [slot], Lane(backend, rules, knobs))
    assert row["leader"] == leader
    assert row["table_seat"][:2].tolist() == table_seats
    top = row["table_card"][table_seats.index(GRAYBEARD)]
    assert top == sc.CARDS["M9"]
    assert row["won"][GRAYBEARD] == (leader == GRAYBEARD)
    assert row["bonus"].tolist() == [0] * 8


def test_graybeard_captures_and_allies_with_nobody(backend):
    rules, knobs, rows = sc.graybeard_row("LO1", "LO2 C4")
    slot = rows[0]["hand"][1].tolist().index(sc.CARDS["P2"])
    row = sc.play(rows, [slot], Lane(backend, rules, knobs))
    assert (row["won"][0], row["num_alliances"]) == (1, 0)
