"""The rules, called as plain functions: scenarios A1 .. A39 and the worked examples."""

from __future__ import annotations

import itertools

import pytest

from fastenv.skullking.reference import (
    FREE,
    OPEN,
    Play,
    effective_class,
    estimate,
    hand_sizes,
    lead_suit,
    legal_cards,
    resolve_trick,
    tigress_mode,
)
from fastenv.skullking.tables import NUM_CARDS, NUMBER, SUIT, TRUMP, CardClass
from tests.skullking.scenarios import TRICKS, cards, plays
from tests.tables import walk


@walk("s", [s for s in TRICKS if not s.options], ids=lambda s: s.id)
def test_trick_needs_no_rules(s):
    assert resolve_trick(plays(s.names)).winner == s.winner


@walk("hands", range(2, 9))
def test_hand_sizes_are_those_of_the_table(hands):
    full, base = ([9, 9], [8, 8]) if hands == 8 else ([9, 10], [9, 10])
    assert hand_sizes(range(1, 11), 74, hands) == [*range(1, 9), *full]
    assert hand_sizes(range(1, 11), 70, hands) == [*range(1, 9), *base]


# -- the pairwise table, over all pairs of cards (docs/skullking.md, 4.1) ------------------------

COLUMNS = ("escape", "suit", "trump", "mermaid", "pirate", "king")
PAIRS = {  # row played first; entries: which card wins
    "escape": (1, 2, 2, 2, 2, 2),
    "suit": (1, None, 2, 2, 2, 2),
    "trump": (1, 1, None, 2, 2, 2),
    "mermaid": (1, 1, 1, 1, 2, 1),
    "pirate": (1, 1, 1, 1, 1, 2),
    "king": (1, 1, 1, 2, 1, None),
}


def group(play: Play) -> str:
    if SUIT[play.card] >= 0:
        return "trump" if SUIT[play.card] == TRUMP else "suit"
    kind = effective_class(play)
    return {CardClass.LOOT: "escape"}.get(kind, kind.name.lower())


def test_two_cards_compare_as_in_the_table():
    single = [Play(0, card, mode) for card in range(NUM_CARDS) for mode in range(1 + (card == 71))]
    for first, second in itertools.permutations([p for p in single if p.card not in (1, 2)], 2):
        if first.card == second.card:
            continue
        expected = PAIRS[group(first)][COLUMNS.index(group(second))]
        if expected is None:
            same = SUIT[first.card] == SUIT[second.card]
            expected = 2 if same and NUMBER[second.card] > NUMBER[first.card] else 1
        assert resolve_trick([first, second._replace(seat=1)]).winner + 1 == expected


# -- lead suit, Tigress, estimate (docs/skullking.md, 3.5, 8.3, 10.2) ----------------------------


@walk(
    ("table", "suit", "late"),
    [
        ("", OPEN, OPEN),
        ("ES1 LO1 TGe", OPEN, OPEN),
        ("P7", 0, 0),
        ("M7 SK", 1, 1),
        ("ES1 C7", 2, 2),
        ("LO1 R2 P3", TRUMP, TRUMP),
        ("Rosie", FREE, OPEN),
        ("ES1 MM1 P3", FREE, 0),
        ("TGp P3", FREE, 0),
        ("WH C3", FREE, 2),
    ],
)
def test_lead_suit(table, suit, late):
    assert lead_suit(plays(table)) == suit
    assert lead_suit(plays(table), late_suit=True) == late


def test_example_5_follow_or_play_a_special():
    assert legal_cards(cards("P2 R9 M3 ES1"), plays("P10")) == cards("P2 ES1")


def test_leading_everything_is_legal():
    assert legal_cards(cards("P2 R9 M3 ES1")) == cards("P2 R9 M3 ES1")


@pytest.mark.parametrize(("bid", "won", "mode"), [(1, 0, 1), (1, 1, 0), (0, 0, 0), (0, 2, 0)])
def test_tigress_is_a_pirate_if_tricks_are_needed(bid, won, mode):
    assert tigress_mode(bid, won) == mode


@walk(
    ("hand", "expected"),
    [
        ("", 0),
        ("SK", 1),  # 0.95 + 0.2
        ("ES1", 0),
        ("SK Rosie MM1", 2),  # 0.95 + 0.80 + 0.35 - 0.5 + 0.2 = 1.8
        ("P2 P3 P4", 1),  # 0.825 + 0.5 = 1.325
        ("SK Rosie Bendt Jade R14", 5),  # 4.2 + 0.3 + 0.2 = 4.7
        ("ES1 ES2 ES3", 0),  # 0.15 - 1.2, clamped
    ],
)
def test_estimate(hand, expected):
    ids = cards(hand)
    assert estimate(ids, max(len(ids), 1)) == expected
