"""Reward and info of hand-made states; expected numbers are those of docs/skullking.md, 10."""

from types import SimpleNamespace

import numpy as np
import pytest

from fastenv.skullking import encoding
from fastenv.skullking.encoding import rewards
from fastenv.skullking.layout import INFO_COLUMNS
from fastenv.skullking.tables import Phase
from tests.skullking.states import (
    ESCAPE,
    HARRY,
    KING,
    KRAKEN,
    LOOT,
    MERMAID,
    TIGRESS,
    WHALE,
    chest,
    flat_game,
    make,
    parrot,
    pirate_map,
    trump,
    worker_game,
)
from tests.tables import walk

# -- rewards --------------------------------------------------------------------------------------


def reward(tier, rules=None, **events):
    """Return shaped, points, points and rank of a step with these events."""
    return rewards(make(tier, rules, ev_cards=5, **events))


def card(strength, needed, trick=0, left=3, **events):
    """Return the events of a card play; nothing is captured."""
    cards = {0.95: KING, 0.55: TIGRESS, 0.35: MERMAID, 0.25: KRAKEN}
    return {
        "ev_phase": Phase.PLAY,
        "ev_card": cards[strength],
        "ev_needed": needed,
        "ev_left": left,
        "ev_trick": trick,
    } | events


@pytest.mark.parametrize(
    ("bid", "estimate", "expected"), [(2, 2, 2.1), (0, 2, 1.3), (5, 2, 0.9), (5, 0, 0.1)]
)
def test_flat_reward_of_a_bid(bid, estimate, expected):
    shaped, points, ranked = reward(
        "flat", ev_phase=Phase.BID, ev_action=bid, ev_estimate=estimate, ev_left=5
    )
    assert shaped == pytest.approx(expected)
    assert (points, ranked) == (0, 0)


@walk(
    ("strength", "needed", "quality"),
    [
        (0.95, 1, 1.0),
        (0.55, 1, 0.0),
        (0.25, 1, -0.5),
        (0.35, 0, 0.5),
        (0.55, 0, 0.0),
        (0.95, 0, -0.3),
        (0.95, -1, 0.0),
        (0.25, -1, 0.0),
    ],
)
def test_flat_reward_of_card_quality(strength, needed, quality):
    assert reward("flat", **card(strength, needed))[0] == pytest.approx(0.1 + quality)


@walk(
    ("needed", "trick", "left", "expected"),
    [
        (1, 1, 3, 3.0),
        (0, 2, 3, 1.5),
        (0, 1, 3, -2.0),
        (2, 2, 3, -1.0),  # two needed, two tricks after this one
        (3, 2, 3, 0.0),  # hopeless anyway
        (-1, 1, 3, 0.0),
        (-1, 2, 3, 0.0),
    ],
)
def test_flat_reward_of_a_trick(needed, trick, left, expected):
    quality = reward("flat", **card(0.55, needed))[0]
    got = reward("flat", **card(0.55, needed, trick, left))[0]
    assert got - quality == pytest.approx(expected)


def test_flat_reward_of_captures():
    base = reward("flat", **card(0.55, 1, 1))[0]
    got = reward("flat", **card(0.55, 1, 1), ev_captures=[2, 1, 2, 3, 1])[0]
    assert got - base == pytest.approx(2 * 0.3 + 0.5 + 2 * 0.5 + 3 * 0.7 + 1.0)


@pytest.mark.parametrize(
    ("bid", "won", "expected"), [(2, 2, 5), (2, 1, 2), (1, 3, -1), (0, 3, -5), (5, 0, -5)]
)
def test_flat_reward_of_a_round(bid, won, expected):
    end = {"ev_round": 5, "ev_bid": bid, "ev_won": won, "ev_points": -30}
    shaped, points, ranked = reward("flat", **card(0.55, -1, 2), **end)
    assert shaped == pytest.approx(0.1 + expected)
    assert (points, ranked) == (-3, -3)
    assert reward("flat", **card(0.55, -1, 2), **end, ev_alliances=2)[0] == pytest.approx(
        0.1 + expected + 4.0
    )


@walk(("rank", "expected"), [(1, 10), (2, 3), (3, -2), (4, -5), (5, -5), (8, -5)])
def test_reward_of_the_rank(rank, expected):
    end = {"ev_round": 10, "ev_bid": 1, "ev_won": 1, "ev_points": 20, "ev_rank": rank}
    shaped, points, ranked = reward("flat", **card(0.55, -1, 2), **end)
    assert shaped == pytest.approx(0.1 + 5 + expected)
    assert (points, ranked) == (2, 2 + expected)
    shaped, points, ranked = reward("manager", ev_phase=Phase.BID, **end)
    assert (shaped, points, ranked) == (5, 2, 2 + expected)  # the shaped one has no rank


@walk(
    ("bid", "won", "expected"),
    [(0, 0, 7.5), (3, 3, 5), (3, 2, 1), (3, 5, -1), (4, 1, -3.5), (5, 0, -4.5)],
)
def test_manager_reward(bid, won, expected):
    end = {"ev_phase": Phase.BID, "ev_round": 5, "ev_bid": bid, "ev_won": won, "ev_points": 50}
    assert reward("manager", **end)[:2] == (expected, 5)


def test_manager_gets_nothing_before_the_round_is_over():
    assert reward("manager", {"scoring": "rascal_cannon"}, ev_phase=Phase.BID) == (0, 0, 0)


WORKER_TRICKS = [
    (1, 1, 3, 3.0),
    (0, 1, 3, -1.5),
    (-1, 1, 3, -2.0),
    (2, 2, 3, 0.5),
    (-1, 2, 3, 0.5),
    (3, 2, 3, 0.0),
    (4, 2, 3, -1.0),
    (1, 2, 1, 0.0),
]


@walk("tier", ["worker", "ability"])
@walk(("needed", "trick", "left", "expected"), WORKER_TRICKS)
def test_worker_reward_of_a_trick(tier, needed, trick, left, expected):
    assert reward(tier, **card(0.95, needed, trick, left))[0] == expected


@pytest.mark.parametrize(
    ("needed", "trick", "expected"), [(2, 1, 3.0), (1, 1, -1.5), (0, 1, -2.0), (1, 2, 0.5)]
)
def test_worker_reward_counting_the_trick_just_won(needed, trick, expected):
    assert reward("worker", {"needed_after": True}, **card(0.95, needed, trick))[0] == expected


@pytest.mark.parametrize(("won", "bonus"), [(2, 5.0), (1, 0.0)])
def test_worker_goal_bonus(won, bonus):
    end = {"ev_round": 5, "ev_bid": 2, "ev_won": won, "ev_points": 40}
    assert reward("worker", **card(0.95, 1, 1, 1), **end) == (3 + bonus, 4, 4)
    shaped = reward("worker", {"goal_bonus": 0.25}, **card(0.95, 1, 1, 1), **end)[0]
    assert shaped == 3 + bonus / 20


@pytest.mark.parametrize(("action", "shaping"), [(0, 0.1), (1, -0.05), (3, -0.05)])
def test_rosie_reward_is_selectable(action, shaping):
    events = {"ev_phase": Phase.ROSIE, "ev_action": action, "ev_needed": 1, "ev_left": 2}
    assert reward("ability", **events)[0] == 0
    assert reward("ability", {"rosie_shaping": True}, **events)[0] == shaping


@walk(
    ("discard", "needed", "expected"),
    [
        (ESCAPE, 1, 0.1),
        (ESCAPE, 0, -0.05),
        (HARRY, 1, -0.15),
        (KING, 1, -0.15),
        (MERMAID, 0, 0.05),
        (chest(10), 1, -0.1),
        (parrot(14), -1, 0.05),
        (pirate_map(5), 1, 0.1),
        (pirate_map(1), 0, 0.1),
        (pirate_map(6), 1, 0.0),
        (pirate_map(9), 0, 0.0),
        (trump(3), 1, 0.0),
        (trump(12), 1, 0.0),
        (TIGRESS, 1, 0.0),
        (LOOT, 1, 0.0),
        (KRAKEN, 0, 0.0),
        (WHALE, 0, 0.0),
    ],
)
@walk("phase", [Phase.BENDT_1, Phase.BENDT_2])
def test_bendt_reward(phase, discard, needed, expected):
    got = reward("ability", ev_phase=phase, ev_card=discard, ev_needed=needed, ev_left=3)
    assert got == (expected, 0, 0)


@walk(
    ("action", "needed", "left", "expected"),
    [
        (1, 0, 2, 0.05),
        (2, -1, 2, 0.1),
        (2, 3, 2, -0.1),
        (1, 3, 2, -0.05),
        (2, 2, 2, 0.0),
        (0, 0, 2, 0.0),
    ],
)
def test_rascal_reward(action, needed, left, expected):
    events = {"ev_phase": Phase.RASCAL, "ev_action": action, "ev_needed": needed, "ev_left": left}
    assert reward("ability", **events)[0] == pytest.approx(expected)


@walk(("bet", "won", "paid"), [(20, 2, 0.2), (10, 2, 0.1), (20, 3, -0.2)])
@walk("tier", ["ability", "worker"])
def test_rascal_bet_is_paid_when_the_round_ends(tier, bet, won, paid):
    end = {"ev_round": 5, "ev_bid": 2, "ev_won": won, "ev_bet": bet}
    shaped = reward(tier, **card(0.95, 1, 1, 1), **end)[0]
    assert shaped == pytest.approx(3 + 5 * (won == 2) + paid)


@walk(
    ("action", "needed", "expected"),
    [
        (1, 0, 0.1),  # exact already
        (1, 1, 0.0),
        (0, 1, 0.3),  # bid one too high, -1
        (2, -1, 0.3),
        (2, 1, -0.2),
        (0, -1, -0.2),
        (0, 0, 0.0),
        (2, 0, 0.0),
        (0, 2, 0.0),
        (2, 2, 0.0),
    ],
)
def test_harry_reward(action, needed, expected):
    events = {"ev_phase": Phase.HARRY, "ev_action": action, "ev_needed": needed}
    assert reward("ability", **events)[0] == expected
    end = {"ev_round": 5, "ev_bid": 2, "ev_won": 2, "ev_points": 40}
    assert reward("ability", **events, **end) == (pytest.approx(5 + expected), 4, 4)


@pytest.mark.parametrize("tier", ["flat", "manager", "worker", "ability"])
def test_invalid_actions_cost(tier):
    events = {"ev_phase": Phase.BID, "ev_left": 5}
    assert reward(tier, **events, ev_invalid=1) == (-0.5, -0.5, -0.5)
    assert reward(tier, **events, ev_invalid=2) == (-5.5, -5.5, -5.5)


@pytest.mark.parametrize(("name", "column"), [("shaped", 0), ("points", 1), ("points_rank", 2)])
def test_the_selected_reward_is_paid_and_the_sums_are_left_to_the_engine(name, column):
    end = {"ev_round": 10, "ev_bid": 1, "ev_won": 1, "ev_points": 21, "ev_rank": 2}
    game = make("flat", {"reward": name}, **card(0.55, -1, 2), **end, ep_return=1.0, ep_length=7)
    got, terms = encoding.reward(game)
    assert terms == tuple(float(np.float32(x)) for x in (0.1 + 5.0 + 3.0, 2.1, 5.1))
    assert got == terms[column]
    assert (game.ep_return, game.ep_length) == (1.0, 7)


def test_nothing_is_paid_while_another_seat_is_asked_unless_the_episode_is_over():
    events = card(0.55, 1, 1)
    game = make("flat", **events)
    assert encoding.reward(game) is not None
    game.actor = (game.agent + 1) % 4
    assert encoding.reward(game) is None
    game.done = 1
    assert encoding.reward(game) is not None
    before_any_decision = make("flat", **events | {"ev_phase": -1})
    assert encoding.reward(before_any_decision) is None


# -- info -----------------------------------------------------------------------------------------


def columns(game):
    return SimpleNamespace(**dict(zip(INFO_COLUMNS, encoding.info(game), strict=True)))


def test_info_of_a_running_round():
    got = columns(flat_game(ev_cards=5, ev_phase=Phase.PLAY, total=[600, 40, 40, 41]))
    assert (got.round, got.cards, got.bid, got.won, got.points, got.total) == (5, 5, 2, 1, 0, 40)
    assert (got.rank, got.phase, got.decision_phase) == (3, 1, Phase.PLAY)
    ended = (got.ended_round, got.ended_cards, got.ended_bid, got.ended_won)
    assert (*ended, got.ended_bonus, got.ended_alliances, got.game_rank) == (0,) * 7
    assert (got.illegal_action, got.allies_on_track) == (0, 1)
    assert columns(worker_game()).allies_on_track == 1  # of two allies, one has won too many


def test_info_of_an_ended_round():
    game = flat_game(
        phase=Phase.BID,
        bid=[0, -1, 0, 0],
        round_idx=5,
        cards=6,
        ev_phase=Phase.PLAY,
        ev_cards=5,
        ev_round=5,
        ev_bid=2,
        ev_won=2,
        ev_points=90,
        ev_bonus=30,
        ev_alliances=1,
    )
    got = columns(game)
    assert (got.round, got.cards, got.bid) == (6, 6, -1)
    assert (got.ended_round, got.ended_cards, got.ended_bid, got.ended_won) == (5, 5, 2, 2)
    assert (got.ended_bonus, got.ended_alliances, got.points) == (30, 1, 90)


def test_info_of_the_end_and_of_an_illegal_action():
    assert columns(flat_game(phase=Phase.END, ev_rank=2)).game_rank == 2
    got = columns(flat_game(ev_phase=Phase.PLAY, ev_invalid=2))
    assert (got.illegal_action, got.decision_phase) == (1, Phase.PLAY)
