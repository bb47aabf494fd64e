"""Hand-made states of Skull King games, in plain Python, and the cards in them by name."""

import numpy as np

from fastenv.skullking.config import SkullKingConfig
from fastenv.skullking.reference import SkullKing, pack
from fastenv.skullking.state import STATE_DTYPE
from fastenv.skullking.tables import Phase

KING, WHALE, KRAKEN, MERMAID, OTHER_MERMAID = 0, 1, 2, 3, 4
ROSIE, BENDT, RASCAL, JADE, HARRY = 5, 6, 7, 8, 9
ESCAPE, TIGRESS, LOOT, OTHER_LOOT = 66, 71, 72, 73


def trump(number):
    return 9 + number


def parrot(number):
    return 23 + number


def pirate_map(number):
    return 37 + number


def chest(number):
    return 51 + number


def rows_of(*games):
    """Return the games as rows."""
    return np.frombuffer(bytearray().join(map(pack, games)), STATE_DTYPE)


def make(tier, rules=None, hand=(), table=(), **fields):
    """Return a game in which seat ``agent`` holds ``hand``; lists are padded to eight seats."""
    config = SkullKingConfig(tier=tier, **(rules or {}))
    game = SkullKing(config.rules_record(), config.default_knobs(1))
    game.cards = 5
    for name, value in fields.items():
        seats = isinstance(getattr(game, name), list) and name not in ("alliances", "stock")
        setattr(game, name, [*value, *[0] * (8 - len(value))] if seats else value)
    if "counts" in fields:
        game.counts = list(fields["counts"])
    if "ev_captures" in fields:
        game.ev_captures = list(fields["ev_captures"])
    game.actor = game.agent
    game.hand[game.agent] = list(hand)
    game.table_seat = [seat for seat, _, _ in table]
    game.table_card = [card for _, card, _ in table]
    game.table_mode = [mode for _, _, mode in table]
    return game


def flat_game(**changes):
    """Seat 1 of four is third to play in the third of five tricks; Parrot was led."""
    fields = {
        "agent": 1,
        "phase": Phase.PLAY,
        "hand": [ROSIE, trump(11), parrot(14)],
        "table": [(3, parrot(10), 0), (0, TIGRESS, 1)],
        "cards": 5,
        "tricks": 2,
        "round_idx": 4,
        "rounds_done": 3,
        "bid": [1, 2, 0, 3],
        "won": [0, 1, 0, 1],
        "total": [600, 40, -30, -700],
        "bid_sum": [4, 5, 6, 9],
        "abs_error": [0, 1, 3, 21],
        "counts": [2, 1, 0, 3, 4],
        "played_last": [0, 1, 1],
        "seen_strength": 4.0,
        "alliances": [(1, 3)],
    } | changes
    return make("flat", **fields)


def drawn(*cards, seat=0):
    """Return the fields of a game in which a seat has drawn cards with Bendt."""
    return {"stock": list(cards), "stock_pos": len(cards), "bendt_seat": seat}


def worker_game(tier="worker", rules=None, **changes):
    """Seat 0 of four leads the fourth of eight tricks, with Harry armed."""
    fields = {
        "phase": Phase.PLAY,
        "hand": [BENDT, RASCAL, parrot(3), ESCAPE, OTHER_LOOT],
        "cards": 8,
        "tricks": 3,
        "round_idx": 7,
        "bid": [3, 2, 0, 8],
        "won": [1, 1, 1, 0],
        "harry_seat": 0,
        "abilities_used": 2,
        "specials_known": 9,
        "alliances": [(2, 0), (0, 1)],
    } | changes
    return make(tier, rules, **fields)
