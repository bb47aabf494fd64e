"""Beliefs of Skull King: rounds as they were, rebuilt, and how likely decisions were in them."""

import numpy as np
import pytest

import fastenv
from fastenv.errors import ConfigError
from fastenv.skullking.tables import Phase
from training.apps.skullking.beliefs import DOUBT, HandBelief
from training.apps.skullking.round_record import RoundRecord, is_bidding, round_start
from training.policies.policy import EnvSpec, Policy

FLAT = "SkullKingFlat-v0"
TIERS = (FLAT, "SkullKingManager-v0", "SkullKingWorker-v0", "SkullKingAbility-v0")
TABLES = {
    "four": {},
    "memory": {"obs_ext": "memory"},
    "tigress": {"tigress": "agent", "num_players": 3},
    "seven": {"num_players": 7, "schedule": (3, 10)},
    "graybeard": {"num_players": 2},
    "compat": {"preset": "pi_compat"},
    "cannon": {"scoring": "rascal_cannon"},
    "abilities": {"abilities": "agent"},
}
ME = 1  # the seat that searches


class Game:
    """Games in lanes, all seats at random, and every decision of the round that runs in them."""

    def __init__(self, seed, lanes, **options):
        self.engine = fastenv.make_engine(FLAT, lanes, seats="all", **options)
        self.engine.reset_many(seeds=seed)
        self.rng = np.random.default_rng(seed)
        self.decisions = [[] for _ in range(lanes)]

    def step(self):
        """Take a decision in every lane; return its rows before and where games go on."""
        engine = self.engine
        engine.refresh()
        rows, mask = engine.get_states(), engine.mask
        actions = np.where(mask, self.rng.random(mask.shape), -1).argmax(1)
        for lane, row in enumerate(rows):
            noted = self.decisions[lane]
            if noted and noted[-1][0]["rounds_done"] != row["rounds_done"]:
                noted.clear()
            noted.append((row.copy(), int(actions[lane])))
        engine.step_many(actions, autoreset=False)
        return rows


def watched(game, record, rows):
    """Let a record see what the searching seat sees; return these lanes."""
    lanes = np.flatnonzero((rows["actor"] == ME) & (rows["done"] == 0))
    if lanes.size:
        record.watch(lanes, rows[lanes])
    return lanes


def with_hand(row, hand):
    """Return a row without hands with its actor's."""
    row = row.copy()
    row["hand"][row["actor"]], row["hand_len"][row["actor"]] = 0, len(hand)
    row["hand"][row["actor"], : len(hand)] = hand
    row["specials_known"] += sum(not 10 <= card < 66 for card in hand)
    for card in hand:
        row["known"][card // 64] |= np.uint64(1 << int(card) % 64)
    return row


def hand_of(row, seat):
    return row["hand"][seat, : row["hand_len"][seat]].tolist()


OPEN_FIELDS = (
    *("played", "known", "seen_strength", "total", "bonus", "bid_share", "error", "table_card"),
    *("table_seat", "table_mode", "table_len", "bid", "won", "bid_sum", "abs_error", "hits"),
    *("zero_bids", "last_bid", "agent", "actor", "phase", "done", "round_idx", "rounds_done"),
    *("cards", "tricks", "destroyed", "first_leader", "leader", "human_leader", "turn"),
    *("played_last", "alliances", "num_alliances", "counts", "specials_known", "stock_len", "void"),
)


@pytest.mark.parametrize("table", [name for name in TABLES if name != "abilities"])
def test_rows_before_cards_are_those_of_the_game(table):
    game = Game(7, 3, **TABLES[table])
    record = RoundRecord(game.engine)
    observers = [fastenv.make_engine(tier, 1, **seen(TABLES[table], tier)) for tier in TIERS]
    compared = 0
    while not game.engine.ended.any():
        rows = game.step()
        for lane in watched(game, record, rows):
            if is_bidding(rows[lane : lane + 1])[0]:
                continue
            one, now = np.array([lane]), rows[lane : lane + 1]
            assert record.is_replayed(one, now)[0]
            past = [(r, a) for r, a in game.decisions[lane][:-1] if r["phase"] == Phase.PLAY]
            if not past:
                continue
            truth = np.stack([row for row, _ in past])
            rebuilt = truth.copy()
            for k, (row, action) in enumerate(past):
                ply = int(record.count(row[None])[0])
                hand = hand_of(row, row["actor"])
                assert record.cards[lane, ply] == hand[action]
                assert record.seats[lane, ply] == row["actor"]
                rebuilt[k] = with_hand(record.rows[lane, ply], hand)
            for name in (n for n in OPEN_FIELDS if n in truth.dtype.names):
                np.testing.assert_array_equal(rebuilt[name], truth[name], name)
            for observer in observers:
                shown = [observer.encode_obs_many(r, trusted=True) for r in (rebuilt, truth)]
                np.testing.assert_array_equal(*shown)
            compared += len(past)
    assert compared > 100


def seen(options, tier):
    """Return the options of an observer of a table."""
    return {k: v for k, v in options.items() if (k, tier) != ("obs_ext", "SkullKingManager-v0")}
