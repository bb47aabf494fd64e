"""Observation and mask of hand-made states; expected numbers are those of docs/skullking.md, 10."""

import numpy as np
import pytest

from fastenv.skullking.encoding import action_mask, encode_obs
from fastenv.skullking.layout import layout
from fastenv.skullking.tables import NUM_CARDS, Phase
from tests.skullking.states import (
    BENDT,
    ESCAPE,
    HARRY,
    JADE,
    KING,
    KRAKEN,
    LOOT,
    MERMAID,
    OTHER_MERMAID,
    RASCAL,
    ROSIE,
    TIGRESS,
    WHALE,
    chest,
    drawn,
    flat_game,
    make,
    parrot,
    pirate_map,
    trump,
    worker_game,
)
from tests.tables import walk


def blocks(game):
    """Return the observation as lists by block name."""
    rules = game.rules
    parts = layout(rules.tier, rules.num_players, bool(rules.memory))
    obs = np.full(parts[-1].stop, np.nan, np.float32)
    encode_obs(game, obs)
    assert np.abs(obs).max() <= 1
    return {block.name: obs[block.offset : block.stop].tolist() for block in parts}


def mask(game):
    out = np.full(11, 7, np.uint8)
    action_mask(game, out)
    return np.flatnonzero(out).tolist() if set(out) <= {0, 1} else None


def close(values):
    return pytest.approx(list(values), abs=1e-6)


def hot(index, length):
    return [1.0 if i == index else 0.0 for i in range(length)]


def check(game, expected):
    got = blocks(game)
    for name, values in expected.items():
        assert got[name] == close(values), name


# -- features (docs/skullking.md, 10.1) -----------------------------------------------------------


@walk(
    ("card", "features"),
    [
        (parrot(7), [1, 0, 0, 0, 0.5, 0, 0, 0, 0]),
        (pirate_map(14), [0, 1, 0, 0, 1, 0, 0, 0, 0]),
        (chest(1), [0, 0, 1, 0, 1 / 14, 0, 0, 0, 0]),
        (trump(10), [0, 0, 0, 1, 10 / 14, 0, 0, 0, 0]),
        (HARRY, [0, 0, 0, 0, 0, 1, 0, 0, 0]),
        (TIGRESS, [0, 0, 0, 0, 0, 0.5, 0, 0.5, 0]),
        (KING, [0, 0, 0, 0, 0, 0, 1, 0, 0]),
        (OTHER_MERMAID, [0, 0, 0, 0, 0, 0, -1, 0, 0]),
        (ESCAPE, [0, 0, 0, 0, 0, 0, 0, 1, 0]),
        (LOOT, [0, 0, 0, 0, 0, 0, 0, 0.75, 0]),
        (KRAKEN, [0, 0, 0, 0, 0, 0, 0, 0, 1]),
        (WHALE, [0, 0, 0, 0, 0, 0, 0, 0, -1]),
    ],
)
def test_card_features_in_hand(card, features):
    game = make("worker", hand=[parrot(1), card], phase=Phase.PLAY)
    check(game, {"hand": [1, 0, 0, 0, 1 / 14, 0, 0, 0, 0, *features, *[0] * 72]})


def test_tigress_on_the_table_is_what_she_is_played_as():
    escape, pirate = [0] * 7 + [1, 0], [0] * 5 + [1, 0, 0, 0]
    game = make("worker", table=[(1, TIGRESS, 0)], phase=Phase.PLAY)
    check(game, {"table": [*escape, *[0] * 27]})
    game = make("worker", table=[(1, LOOT, 0), (2, TIGRESS, 1)], phase=Phase.PLAY)
    check(game, {"table": [*[0] * 7, 0.75, 0, *pirate, *[0] * 18]})


def test_an_eleventh_card_is_not_among_the_ten_slots():
    hand = [parrot(k) for k in range(1, 10)] + [KING, ROSIE]
    game = make("ability", hand=hand, cards=10, tricks=1, phase=Phase.BENDT_1, **drawn(KING, ROSIE))
    got = blocks(game)
    assert got["hand"][81:] == [0, 0, 0, 0, 0, 0, 1, 0, 0]
    assert got["bendt_cards"] == [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]
    assert got["progress"] == close([1, 1, 0.1])  # eleven cards are clipped to 1
    assert got["pirates"] == close([0, 1, 0, 0, 0, 0.2])  # counts know all eleven


# -- flat tier (docs/skullking.md, 10.3) ----------------------------------------------------------


def test_flat_observation_in_a_trick():
    check(
        flat_game(),
        {
            "phase": [0, 0, 1, 0],
            "table": [1, 0, 0, 0, 10 / 14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, *[0] * 18],
            # est: 0.8 + (0.5 + 0.35*11/14) + 0.55 = 2.125, one pirate only, no long suit
            "status": [0.5, 0.3, 0.2, 0.1, 0.1, 0.3, 1, 0.2],
            # seats 2, 3, 0
            "opponents": [0, -0.06, 0, 0.3, -1, 0.1, 0.1, 1, 0],
            "hand_counts": [0.2, 0, 0, 0.1],
            "position": [0, 0, 1, 0],
            "opponent_history": [0.2, 0.2, 0.3, 1, 4 / 30, 0],
            "played_counts": [0.1, 0.05, 0, 0.15, 0.2],
            "progress": [0.4],
            "pressure": [1 / 3],
            "played_last": [0.5],
            # ten cards seen: mean 0.4
            "strength": [0.8 - 0.4, 2.125 / 3 - 0.4],
            "round": hot(4, 10),
            "goal": [0.2],
            "loot": [0, 0],
            "allied": [0, 0, 1, 0],
            "allies": [-0.4, 0.2],
        },
    )


def test_flat_bids_are_secret_until_all_have_bid():
    shown = {"bid": [1, -1, 0, 3], "won": [0] * 4, "tricks": 0, "table": [], "alliances": []}
    bidding = flat_game(phase=Phase.BID, **shown)
    check(
        bidding,
        {
            "phase": [0, 1, 0, 0],
            "status": [0.5, 0.3, 0, 0, 0, 0.5, 1, 0.2],
            "opponents": [0, -0.06, 0, 0, -1, 0, 0, 1, 0],
            "position": [0] * 4,
            "pressure": [0],
            "played_last": [0],
            "goal": [0],
        },
    )
    before = blocks(bidding)
    bidding.bid = [0, -1, 5, 2, 0, 0, 0, 0]
    assert blocks(bidding) == before
    cannon = flat_game(phase=Phase.CANNON, **(shown | {"bid": [1, 2, 0, 3]}))
    check(
        cannon,
        {
            "phase": [1, 0, 0, 0],
            "opponents": [0, -0.06, 0, 0, -1, 0, 0, 1, 0],
            "goal": [0.2],
            "pressure": [0.4],
        },
    )


def test_flat_strength_without_seen_cards():
    game = flat_game(tricks=0, table=[], seen_strength=0.0)
    check(game, {"strength": [0.8, 2.125 / 3], "position": [1, 0, 0, 0], "played_last": [0]})


@pytest.mark.parametrize(
    ("won", "pressure", "on_track"), [(2, -0.5, 1), (3, -0.5, 0), (0, 2 / 3, 1)]
)
def test_flat_pressure(won, pressure, on_track):
    game = flat_game(won=[0, won, 0, 1])
    check(game, {"pressure": [pressure]})
    assert blocks(game)["status"][6] == on_track
    assert blocks(game)["allies"][1] == pytest.approx(0.2 * on_track)


def test_flat_end():
    game = flat_game(phase=Phase.END, hand=[], table=[], tricks=5, done=1, won=[1, 1, 2, 1])
    check(
        game,
        {
            "phase": [0, 0, 0, 1],
            "hand": [0] * 90,
            "table": [0] * 36,
            "status": [0.5, 0, 0.2, 0.1, 0.1, 0, 0, 0],
            "opponents": [0, -0.06, 0.2, 0.3, -1, 0.1, 0.1, 1, 0.1],
            "position": [0] * 4,
            "progress": [1],
            "pressure": [0],  # a trick is missing, but left = 0
            "strength": [0, 0],
        },
    )


@walk(
    ("hand", "cards", "tenths"),
    [
        ([KING], 1, 1),  # 0.95 + 0.2 = 1.15
        # 3 Parrots of 3: 0.2*3 + 0.35*(5 + 10 + 13)/14 = 1.3, + 0.5 = 1.8
        ([parrot(5), parrot(10), parrot(13)], 3, 2),
        # mermaid 0.35, two above 0.7: 0.8 + 0.8 + 0.35 - 0.5 = 1.45; no +0.3 below five cards
        ([ROSIE, HARRY, MERMAID], 3, 1),
        # the same with N = 5 and two Escapes: 1.45 + 0.1 + 0.3 - 0.8 = 1.05
        ([ROSIE, HARRY, MERMAID, ESCAPE, ESCAPE + 1], 5, 1),
        ([ESCAPE, ESCAPE + 1, ESCAPE + 2, ESCAPE + 3], 4, 0),  # 0.2 - 1.6, clamped
        # 0.2*6 + 0.35*(3+9+10+11+12+13)/14 = 2.65, four Escapes 0.2 - 1.6, six of ten + 0.5
        ([*map(chest, (3, 9, 10, 11, 12, 13)), *range(66, 70)], 10, 2),
    ],
)
def test_flat_estimate(hand, cards, tenths):
    game = make("flat", hand=hand, cards=cards, phase=Phase.BID, bid=[-1, 0, 0, 0])
    assert blocks(game)["status"][7] == pytest.approx(tenths / 10)


def test_flat_has_more_slots_at_a_larger_table():
    game = make(
        "flat",
        {"num_players": 6},
        agent=2,
        phase=Phase.PLAY,
        hand=[LOOT],
        table=[(seat, ESCAPE + seat, 0) for seat in (3, 4, 5, 0, 1)],
        cards=1,
        bid=[0, 0, 0, 0, 0, 1],
        won=[0] * 6,
        alliances=[(2, 1), (2, 1)],
    )
    check(
        game,
        {
            "position": hot(5, 6),
            "opponents": [0, 0, 0, 0, 0, 0, 0.1, 0, 0, 0, 0, 0, 0, 0, 0],
            "allied": hot(5, 6),  # seat 1 is the fifth from seat 2 on
            "allies": [0, 0.2],  # an ally counts once
            "loot": [1, 0.5],
        },
    )


# -- Manager tier (docs/skullking.md, 10.4) -------------------------------------------------------


def manager_game(**changes):
    fields = {
        "agent": 2,
        "phase": Phase.BID,
        "hand": [WHALE, BENDT, HARRY, trump(7), trump(14), parrot(12), chest(2), LOOT],
        "cards": 8,
        "round_idx": 7,
        "rounds_done": 4,
        "first_leader": 3,
        "bid": [4, 4, -1, 4],
        "total": [100, 250, 100, -20],
        # shares of 1/2520: four rounds, all bids together 6.0 hands
        "bid_share": [1260, 2520, 3780, 7560],
        "error": [0, -4, 6, 8],
        "hits": [4, 2, 1, 0],
        "zero_bids": [4, 1, 0, 0],
        "last_bid": [0, 3, 2, 5],
        "bid_sum": [0, 4, 6, 12],
    } | changes
    return make("manager", **fields)


def test_manager_observation():
    # 0.4 + 0.8 + 0.8 + 0.675 + 0.85 + 0.5 + 0.25 + 0.08
    mean = 4.355 / 8
    third = 1 / 3
    check(
        manager_game(),
        {
            "deal": [0.8, 0.8],
            "hand_classes": [0.4, 0, 0, 0, 0.1, 0.5, 2 / 9],
            "hand_strength": [mean, 0, 0.5],
            "trumps": [0.2, 0.25, 1, (7 + 14 + 12 + 2) / 4 / 14],
            "suits": [0.1, 0, 0.1, 0.2],
            # sum of bids/N per round 15120/2520/4 = 1.5, halved
            "history": [0.75, 0.25, 0.15, 0],
            "deal_context": [1, 0, 1, 0.2],
            "abilities": [
                1,
                0.5 + 0.5 * (1 - 2 * abs(mean - 0.5)),
                0,
                1,
                0,
                0,
                0.4,
                0.4,
                1.3 / 1.5,
                0,
            ],
            "opponents": [
                *(-0.04, 0.5, 0, 0.2, 0.75, 0, 0, 1),  # seat 3: last of four
                *(0.2, 0, 1, 0, 0.125, third, 1, third),  # seat 0
                *(0.5, 0.3, 0.5, -0.1, 0.25, 2 * third, 0.25, 0),  # seat 1 leads
            ],
            "round": hot(7, 10),
            "stage": [0, 0, 1],
            "loot": [1, 0.5],
            "opponents_hit_rate": [0.5],  # 6 of 12
            "cannon": [0, 0, 0],
        },
    )


def test_manager_history_is_neutral_before_the_first_round():
    nothing = [0, 0, 0, 0]
    names = ("total", "bid_share", "error", "hits", "zero_bids", "last_bid", "bid_sum")
    game = manager_game(rounds_done=0, round_idx=0, **dict.fromkeys(names, nothing))
    check(
        game,
        {
            "history": [0, 0.5, 0, 0],
            "opponents": [
                *(0, 0, 0.5, 0, 0, 0, 0, 0),
                *(0, 0, 0.5, 0, 0, 1 / 3, 0, 0),
                *(0, 0, 0.5, 0, 0, 2 / 3, 0, 0),
            ],
            "opponents_hit_rate": [0.5],
            "round": hot(0, 10),
            "stage": [1, 0, 0],
        },
    )


def test_manager_other_hands():
    hand = [KING, KRAKEN, MERMAID, OTHER_MERMAID, ROSIE, RASCAL, JADE, ESCAPE, ESCAPE + 1, TIGRESS]
    game = manager_game(hand=hand, cards=10, first_leader=2)
    check(
        game,
        {
            "hand_classes": [0.6, 1, 1, 0.4, 0, 0, 7 / 9],
            # 0.95 + 0.25 + 0.7 + 2.4 + 0.1 + 0.55
            "hand_strength": [0.495, 1, 0],
            "trumps": [0, 0, 0, 0],
            "abilities": [0, 0, 1, 0, 1, 1, 0.6, 0.6, 0, 0.15 + 0.05 + 0.10],
        },
    )
    assert blocks(game)["history"][3] == 1
    assert blocks(game)["deal_context"] == close([0, 1, 0, 0.2])


def test_manager_never_shows_bids_of_this_round():
    game = manager_game()
    before = blocks(game)
    game.bid = [0, 8, -1, 1, 0, 0, 0, 0]
    assert blocks(game) == before


def test_manager_sees_its_bid_only_for_the_cannonball():
    game = manager_game(phase=Phase.CANNON, bid=[4, 4, 3, 4])
    check(game, {"cannon": [1, 0.3, 0]})


# -- Worker tier (docs/skullking.md, 10.5) --------------------------------------------------------


WORKER = {
    "status": [0.3, 0.1, 0.2, 0.5],
    "needed_flags": [1, 0, 0],
    "urgency": [0.4],
    "goal": hot(3, 11),
    "must_win_all": [0],
    "pirates": [0, 0, 1, 1, 0, 0.4],
    "ability_state": [1, 0, 0, 0, 0, 0.4],
    "ability_value": [0.5, 0.6, 0, 0.2],
    "specials_unseen": [0.5],
    "pirate_chance": [0.8],
    "progress": [0.8, 0.5, 0.3],
    "position": [1, 0, 0, 0],
    # needed 1, -1, 8 with five tricks left
    "opponents": [0.2, 0.1, 0.1, 1, 0, 0.1, -0.1, 0, 0.8, 0, 0.8, 0],
    "lead_suit": [0],
    "round": hot(7, 10),
    "stage": [0, 0, 1],
    "loot": [1, 0.5],
    "alliances": [0.5],
    # seats 1 and 2: (-1/8 + 1/8)/2; seat 1 is on track
    "allies": [0, 0.2],
    "tigress_pending": [0],
}


def test_worker_observation_when_leading():
    check(worker_game(), WORKER)


def test_ability_observation_begins_as_the_workers():
    game = worker_game("ability")
    check(game, WORKER | {"decision": [1, 0, 0, 0, 0, 0], "rosie": [0] * 6, "tigress": [0]})
    check(game, {"bendt_cards": [0] * 18, "bendt": [0, 0], "rascal": [0, 0], "harry": [0] * 4})
    check(game, {"hidden_specials": [0]})


@pytest.mark.parametrize(
    ("bid", "won", "urgency", "flags", "must"),
    [
        (6, 1, 1, [1, 0, 0], 1),
        (8, 1, 1, [0, 0, 0], 0),  # clipped
        (1, 1, 0, [1, 1, 0], 0),
        (0, 3, -0.6, [1, 0, 1], 0),
    ],
)
def test_worker_goal(bid, won, urgency, flags, must):
    game = worker_game(bid=[bid, 2, 0, 8], won=[won, 0, 0, 0])
    check(game, {"urgency": [urgency], "needed_flags": flags, "must_win_all": [must]})


@walk(
    ("hand", "needed", "value"),
    [
        ([HARRY], 0, [0.25, 0.8, 0.3, 0]),
        ([HARRY], 1, [0.25, 0.8, 0.9, 0]),
        ([HARRY], -1, [0.25, 0.8, 0.9, 0]),
        ([HARRY], 2, [0.25, 0.8, 0.5, 0]),
        ([HARRY], 3, [0.25, 0, 0.5, 0]),
        ([HARRY, RASCAL], 3, [0.5, 0.6, 0.5, 0.2]),
        ([HARRY, RASCAL], -3, [0.5, 0, 0.5, 0.8]),
        ([RASCAL], 0, [0.25, 0.6, 0, 0.8]),
        ([RASCAL], 1, [0.25, 0.6, 0, 0.5]),
        ([RASCAL, ROSIE], -1, [0.5, 0.4, 0, 0.8]),
        ([BENDT], 5, [0.25, 0.4, 0, 0]),
        ([JADE], 1, [0.25, 0, 0, 0]),
        ([ROSIE, BENDT, RASCAL, JADE, HARRY], 0, [1, 0.8, 0.3, 0.8]),
        ([TIGRESS, KING], 1, [0, 0, 0, 0]),
    ],
)
def test_worker_ability_value(hand, needed, value):
    bid, won = max(needed, 0), max(-needed, 0)
    game = worker_game(hand=hand, bid=[bid, 0, 0, 0], won=[won, 0, 0, 0])
    check(game, {"ability_value": value})


@walk(
    ("table", "late_suit", "lead"),
    [
        ([], False, 0),
        ([(1, ESCAPE, 0), (2, LOOT, 0), (3, TIGRESS, 0)], False, 0),
        ([(1, ESCAPE, 0), (2, parrot(2), 0)], False, 0.25),
        ([(1, pirate_map(2), 0), (2, KING, 0)], False, 0.5),
        ([(1, chest(2), 0), (2, trump(1), 0)], False, 0.75),
        ([(1, trump(2), 0)], False, 1),
        ([(1, TIGRESS, 1), (2, parrot(2), 0)], False, -1),
        ([(1, ESCAPE, 0), (2, ROSIE, 0), (3, chest(1), 0)], False, -1),
        ([(1, KRAKEN, 0)], False, -1),
        ([(1, KRAKEN, 0)], True, 0),
        ([(1, ROSIE, 0), (2, chest(1), 0)], True, 0.75),
    ],
)
def test_worker_lead_suit(table, late_suit, lead):
    game = worker_game(rules={"late_suit": late_suit}, table=table)
    check(game, {"lead_suit": [lead], "position": hot(len(table), 4)})


@pytest.mark.parametrize(
    ("card", "mode", "chance"),
    [(HARRY, 0, 0.3), (TIGRESS, 1, 0.3), (TIGRESS, 0, 0.8), (KING, 0, 0.8)],
)
def test_worker_pirate_chance(card, mode, chance):
    game = worker_game(table=[(3, card, mode)])
    check(game, {"pirate_chance": [chance]})
    game.hand[0] = [TIGRESS, KING]
    check(game, {"pirate_chance": [0]})


def test_worker_specials_of_a_smaller_deck():
    game = worker_game(rules={"deck": "base70"}, hand=[BENDT], specials_known=14)
    check(game, {"specials_unseen": [0]})


def test_worker_ability_state():
    game = worker_game(
        rules={"abilities": "auto"},
        harry_seat=2,
        rascal_seat=0,
        rascal_bet=10,
        rosie_lead=1,
        **drawn(5, 6),
    )
    check(game, {"ability_state": [0, 0.5, 0, 1, 1, 0.4]})
    game.rascal_seat = 3
    assert blocks(game)["ability_state"][1] == 0


def test_worker_end():
    game = worker_game(phase=Phase.END, hand=[], tricks=8, won=[1, 3, 2, 2], bid=[3, 2, 0, 8])
    check(
        game,
        {
            "status": [0.3, 0.1, 0.2, 0],
            "needed_flags": [0, 0, 0],
            "urgency": [0],  # ratios with left = 0 are 0
            "must_win_all": [0],
            "position": [0] * 4,
            "progress": [0.8, 0, 0.8],
            "opponents": [0.2, 0.3, -0.1, 0, 0, 0.2, -0.2, 0, 0.8, 0.2, 0.6, 0],
            "specials_unseen": [0.5],
        },
    )


@pytest.mark.parametrize(("round_idx", "stage"), [(2, 0), (3, 1), (5, 1), (6, 2), (19, 2)])
def test_rounds_beyond_the_tenth_share_its_place(round_idx, stage):
    game = worker_game(rules={"schedule": [8] * 20}, round_idx=round_idx)
    check(game, {"round": hot(min(round_idx, 9), 10), "stage": hot(stage, 3)})


# -- Ability tier (docs/skullking.md, 10.6) -------------------------------------------------------


def ability_game(phase, rules=None, **changes):
    fields = {"phase": phase, "cards": 6, "tricks": 4, "hand": [parrot(2), ROSIE]} | changes
    return worker_game("ability", rules, **fields)


def test_rosie_shows_how_much_each_seat_wants_to_lead():
    game = ability_game(Phase.ROSIE, agent=1, bid=[6, 3, 1, 0], won=[0, 2, 1, 3])
    # two tricks left; from the agent on: needed 1, 0, -3, 6
    check(
        game,
        {
            "decision": hot(1, 6),
            "rosie": [0.75, 0.5, -0.25, 1, 0, 0],
            "position": [0] * 4,
        },
    )
    assert blocks(game)["ability_state"][2] == 1


@pytest.mark.parametrize(
    ("phase", "first", "flags"), [(Phase.BENDT_1, -1, [0, 0]), (Phase.BENDT_2, 2, [1, 1])]
)
def test_bendt_shows_the_drawn_cards(phase, first, flags):
    hand = [parrot(2), ROSIE, chest(7), KRAKEN]
    game = ability_game(phase, hand=hand, **drawn(chest(7), KRAKEN), first_discard=first)
    cards = [0, 0, 1, 0, 0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    check(game, {"decision": hot(phase - 2, 6), "bendt_cards": cards, "bendt": flags})
    assert blocks(game)["ability_state"][4] == 1


def test_drawn_cards_are_shown_only_while_discarding():
    game = ability_game(Phase.PLAY, **drawn(chest(7), KRAKEN))
    check(game, {"bendt_cards": [0] * 18, "decision": hot(0, 6)})


@pytest.mark.parametrize(("won", "shown"), [(1, [1, 0]), (2, [0.5, 0]), (3, [0, 1]), (5, [-1, 1])])
def test_rascal_shows_what_the_bet_depends_on(won, shown):
    game = ability_game(Phase.RASCAL, bid=[3, 0, 0, 0], won=[won, 0, 0, 0])
    check(game, {"decision": hot(4, 6), "rascal": shown})


@pytest.mark.parametrize(("won", "shown"), [(4, [0.3, 0.4, 0.1, 0]), (3, [0.3, 0.3, 0, 1])])
def test_harry_shows_bid_and_tricks(won, shown):
    game = ability_game(Phase.HARRY, tricks=6, hand=[], bid=[3, 0, 0, 0], won=[won, 0, 0, 0])
    check(game, {"decision": hot(5, 6), "harry": shown, "urgency": [(3 - won) / 1]})


def test_tigress_mode_is_flagged():
    game = ability_game(Phase.TIGRESS, {"tigress": "agent"}, hand=[TIGRESS])
    check(game, {"decision": hot(0, 6), "tigress": [1], "tigress_pending": [1]})
    check(game, {"position": [1, 0, 0, 0]})


def test_jade_tells_which_specials_are_in_other_hands():
    known = set(range(30))
    game = ability_game(Phase.PLAY, jade_seat=0, known=known, specials_known=10)
    check(game, {"hidden_specials": [8 / 44]})
    game.known, game.specials_known = set(range(NUM_CARDS)), 18
    check(game, {"hidden_specials": [0]})


def test_terminal_ability_observation_has_no_decision():
    game = ability_game(Phase.END, tricks=6, hand=[], done=1)
    check(game, {"decision": [0] * 6, "harry": [0] * 4, "rosie": [0] * 6})


# -- memory (docs/skullking.md, 10.7) -------------------------------------------------------------


def test_memory_lists_cards():
    game = worker_game(rules={"obs_ext": "memory"}, played={0, 65, 73}, out={1, 64})
    got = blocks(game)
    assert np.flatnonzero(got["memory_hand"]).tolist() == [BENDT, RASCAL, parrot(3), 66, 73]
    assert np.flatnonzero(got["memory_played"]).tolist() == [0, 65, 73]
    assert np.flatnonzero(got["memory_out"]).tolist() == [1, 64]


# -- masks ----------------------------------------------------------------------------------------


def test_mask_of_a_bid():
    assert mask(flat_game(phase=Phase.BID, cards=3)) == [0, 1, 2, 3]
    assert mask(flat_game(phase=Phase.BID, cards=10)) == list(range(11))


def test_mask_of_a_card_follows_suit():
    assert mask(flat_game()) == [0, 2]  # Rosie and Parrot 14, not the trump
    assert mask(flat_game(hand=[ROSIE, trump(11), chest(3)])) == [0, 1, 2]


def test_mask_with_switches():
    table = [(3, ROSIE, 0), (0, parrot(5), 0)]
    hand = [trump(1), parrot(2), chest(3)]
    assert mask(make("worker", hand=hand, table=table, phase=Phase.PLAY)) == [0, 1, 2]
    late = make("worker", {"late_suit": True}, hand=hand, table=table, phase=Phase.PLAY)
    assert mask(late) == [1]
    rules = {"late_suit": True, "trump_any_time": True}
    assert mask(make("worker", rules, hand=hand, table=table, phase=Phase.PLAY)) == [0, 1]


@pytest.mark.parametrize(
    ("phase", "legal"),
    [
        (Phase.TIGRESS, [0, 1]),
        (Phase.CANNON, [0, 1]),
        (Phase.RASCAL, [0, 1, 2]),
        (Phase.ROSIE, [0, 1, 2, 3]),
        (Phase.END, list(range(11))),
    ],
)
def test_mask_of_other_decisions(phase, legal):
    assert mask(ability_game(phase, {"tigress": "agent"}, hand=[TIGRESS])) == legal


def test_mask_of_bendt():
    hand = [*range(10, 20), KING]
    game = ability_game(Phase.BENDT_1, cards=10, tricks=1, hand=hand, **drawn(19, KING))
    assert mask(game) == list(range(11))
    game.phase, game.first_discard = Phase.BENDT_2, 10
    assert mask(game) == list(range(10))


@pytest.mark.parametrize(("bid", "legal"), [(0, [1, 2]), (3, [0, 1, 2]), (6, [0, 1])])
def test_mask_of_harry_stays_within_the_cards(bid, legal):
    game = ability_game(Phase.HARRY, tricks=6, hand=[], bid=[bid, 0, 0, 0])
    assert mask(game) == legal
