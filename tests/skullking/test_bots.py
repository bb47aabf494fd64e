"""The bots of the reference (docs/skullking.md, 9), decision by decision."""

from __future__ import annotations

import pytest

from fastenv.skullking import bots
from fastenv.skullking.tables import BOT_NAMES, Bot
from tests.skullking.scenarios import cards, plays
from tests.tables import walk

EASY, MEDIUM, HARD = Bot.RULE_EASY, Bot.RULE_MEDIUM, Bot.RULE_HARD
PI_MEDIUM = Bot.RULE_PI_MEDIUM


class Draws:
    """A generator that gives prepared numbers and remembers what was asked."""

    def __init__(self, *values):
        self.values, self.asked = list(values), []

    def bounded(self, n):
        self.asked.append(n)
        return self.values.pop(0)

    def uniform(self):
        self.asked.append("u")
        return self.values.pop(0)


def view(hand="", bid=-1, won=0, table="", legal=None, num_cards=None, num_hands=4):
    own = tuple(cards(hand))
    return bots.View(
        seat=len(table.split()),
        hand=own,
        legal=tuple(cards(legal)) if legal is not None else own,
        table=tuple(plays(table)),
        bid=bid,
        won=won,
        cards=len(own) if num_cards is None else num_cards,
        num_players=4,
        num_hands=num_hands,
    )


# -- bids ---------------------------------------------------------------------------------------


@walk(
    ("kind", "u", "bid"),
    [
        (HARD, 0.5, 2),  # 0.90 + 0.60 + 0.70 = 2.2
        (HARD, 0.0, 2),  # - 0.2
        (MEDIUM, 0.0, 2),  # - 0.5 = 1.7
        (EASY, 0.0, 1),  # - 1.0 = 1.2
        (EASY, 0.95, 3),  # + 0.9 = 3.1
        (Bot.RULE_PI_EASY, 0.0, 1),
        (Bot.HEURISTIC, 0.5, 2),  # est: 0.95 + 0.8 + 0.75 + 0.05 - 0.4 + 0.2 = 2.35
    ],
)
def test_bid_is_the_value_of_the_hand_with_noise(kind, u, bid):
    draws = Draws(u)
    assert bots.choose_bid(kind, view("SK Rosie R10 ES1"), draws) == bid
    assert draws.asked == ["u"]


def test_heuristic_averages_its_bid_with_the_estimate():
    own = view("Rosie Bendt Jade R1")  # HARD 2.0; estimate 2.4 + 0.525: 3; 2.5 goes to even
    assert bots.choose_bid(Bot.HEURISTIC, own, Draws(0.5)) == 2


def test_random_bids_anything():
    draws = Draws(4)
    assert bots.choose_bid(Bot.RANDOM, view("P1 P2 P3 P4"), draws) == 4
    assert draws.asked == [5]


@walk("kind", list(BOT_NAMES.values()))
def test_only_random_fires_cannonballs(kind):
    draws = Draws(1)
    assert bots.choose_cannon(kind, draws) == (kind == Bot.RANDOM)
    assert draws.asked == ([2] if kind == Bot.RANDOM else [])


# -- cards --------------------------------------------------------------------------------------


@walk(
    ("needed", "k", "plan"),
    [
        (2, 1, "lose"),
        (1, 0, "lose"),
        (0, 3, "lose"),
        (0, 0, "lose"),
        (3, 3, "win"),
        (2, 3, "win"),
        (1, 3, "medium"),
        (2, 4, "medium"),
        (-1, 3, "lose"),
    ],
)
def test_plan(needed, k, plan):
    assert bots.plan(needed, k) == plan


@walk(
    ("kind", "bid", "card"),
    [
        (HARD, 0, "ES1"),
        (HARD, 4, "SK"),
        (HARD, 1, "Rosie"),  # medium: third of ES1 < C3 < Rosie < SK
        (PI_MEDIUM, 3, "SK"),
        (PI_MEDIUM, 4, "ES1"),  # gives up one trick early
        (PI_MEDIUM, 2, "SK"),  # 2 > 3 // 2
        (HARD, 2, "Rosie"),  # 2 > 4 // 2 is false
    ],
)
def test_rule_bot_plays_by_strength(kind, bid, card):
    draws = Draws()
    assert bots.choose_card(kind, view("SK Rosie C3 ES1", bid), draws) == cards(card)[0]
    assert draws.asked == []


def test_equal_strengths_keep_the_order_of_the_hand():
    same = view("P3 M3 C3", bid=0)
    assert bots.choose_card(HARD, same, Draws()) == cards("P3")[0]
    assert bots.choose_card(HARD, same._replace(bid=3), Draws()) == cards("P3")[0]
    assert bots.choose_card(HARD, same._replace(bid=1), Draws()) == cards("M3")[0]


@pytest.mark.parametrize(
    ("values", "asked", "card"),
    [
        ((0.3,), ["u"], "ES1"),
        ((0.2, 0), ["u", 3], "SK"),
        ((0.2, 1), ["u", 3], "ES1"),
        ((0.2, 2), ["u", 3], "Rosie"),
    ],
)
def test_easy_bots_sometimes_change_the_plan(values, asked, card):
    draws = Draws(*values)
    assert bots.choose_card(EASY, view("SK Rosie ES1", 0), draws) == cards(card)[0]
    assert draws.asked == asked


@pytest.mark.parametrize(
    ("names", "whale"), [("WH P12 R14", 0.6), ("WH P12 R11", 0.35), ("WH", 0.35)]
)
def test_whale_is_strong_with_two_high_cards(names, whale):
    assert bots.play_strengths(cards(names))[0] == whale


def test_random_draws_for_a_single_card_too():
    draws = Draws(0, 2)
    own = view("SK Rosie C3", 0, legal="C3")
    assert bots.choose_card(Bot.RANDOM, own, draws) == cards("C3")[0]
    assert bots.choose_card(Bot.RANDOM, view("SK Rosie C3"), draws) == cards("C3")[0]
    assert draws.asked == [1, 3]


@walk(
    ("hand", "bid", "table", "card"),
    [
        ("P9 P14", 1, "P3 P5 P8", "P9"),  # last and winning with both: the first of equal values
        ("P2 P4", 1, "P3 P5 P8", "P2"),  # losing: the weaker
        ("P2 P4", 0, "P3 P5 P8", "P4"),  # avoiding, both lose: the stronger
        ("P2 P14", 0, "P3 P5 P8", "P2"),
        ("SK TG", 1, "P3", "SK"),
        ("ES1 TG", 1, "P3 P5 P8", "TG"),  # as a pirate
        ("Rosie TG", 0, "P3 P5 P8", "TG"),  # as an escape
        ("SK KR", 1, "P3 P5 P8", "SK"),
        ("SK KR", 0, "P3 P5 P8", "KR"),
    ],
)
def test_heuristic_looks_at_the_table(hand, bid, table, card):
    draws = Draws()
    assert bots.choose_card(Bot.HEURISTIC, view(hand, bid, 0, table), draws) == cards(card)[0]
    assert draws.asked == []


def test_win_chance_grows_with_the_cards_on_the_table():
    assert bots.win_chance(view("SK", 1), 0) == 0.95 + 0.1 * 0 - 0.1
    assert bots.win_chance(view("SK", 1, 0, "P3 P5"), 0) == min(1.0, 0.95 + 0.1 * 2 - 0.1)
    assert bots.win_chance(view("SK", 1, 0, "P3 MM1"), 0) == 0.0
    assert bots.win_chance(view("ES1", 1), 66) == 0.0


# -- abilities ----------------------------------------------------------------------------------


def test_rosie_goes_to_oneself():
    draws = Draws(3)
    assert bots.choose_leader(HARD, view(table="P2"), draws) == 1
    assert bots.choose_leader(Bot.RANDOM, view(table="P2"), draws) == 3
    assert draws.asked == [4]


@walk(
    ("kind", "bid", "slots"),
    [
        (EASY, 1, (0, 1)),
        (Bot.RULE_PI_EASY, 0, (0, 1)),
        (HARD, 1, (3, 2)),  # the weakest: ES1, then P3
        (HARD, 0, (0, 1)),  # the strongest: SK, then Rosie
        (Bot.HEURISTIC, 0, (0, 1)),
        (PI_MEDIUM, 1, (3, 2)),
    ],
)
def test_bendt_discards_what_is_not_needed(kind, bid, slots):
    own = view("SK Rosie P3 ES1 M3", bid)
    first = bots.choose_discard(kind, own, Draws())
    assert (first, bots.choose_discard(kind, own, Draws(), first)) == slots


def test_random_discards_among_the_slots_that_are_left():
    draws = Draws(2, 2)
    own = view("SK Rosie P3 ES1 M3", 1)
    assert bots.choose_discard(Bot.RANDOM, own, draws) == 2
    assert bots.choose_discard(Bot.RANDOM, own, draws, 2) == 3
    assert draws.asked == [5, 4]


@walk(
    ("kind", "hand", "needed", "index"),
    [
        (MEDIUM, "P3", 0, 1),
        (Bot.RULE_PI_EASY, "P3", 5, 1),
        (HARD, "P3 ES1 KR", 0, 2),
        (HARD, "P3 R1", 0, 1),  # 0.4 + is not weak
        (HARD, "P3", 1, 1),
        (HARD, "P3", 2, 0),
        (HARD, "P3", -1, 0),
        (Bot.RULE_PI_HARD, "P3", 2, 0),
        (Bot.HEURISTIC, "P3", 0, 2),
    ],
)
def test_rascal_bets_on_the_bid(kind, hand, needed, index):
    own = view(hand, bid=2, won=2 - needed, num_cards=5)
    assert bots.choose_bet(kind, own, Draws()) == index


@walk(("bid", "won", "change"), [(1, 1, 0), (1, 2, 1), (2, 1, -1), (0, 2, 0), (4, 1, 0), (0, 1, 1)])
def test_harry_makes_the_bid_exact_if_he_can(bid, won, change):
    assert bots.choose_change(HARD, view(bid=bid, won=won, num_cards=4), Draws()) == change


@pytest.mark.parametrize(("bid", "asked", "change"), [(0, 2, 0), (2, 3, -1), (4, 2, -1)])
def test_random_changes_within_the_possible_bids(bid, asked, change):
    draws = Draws(0)
    assert bots.choose_change(Bot.RANDOM, view(bid=bid, num_cards=4), draws) == change
    assert draws.asked == [asked]
