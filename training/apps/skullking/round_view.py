"""Inputs of a value network for a round that is not over: all hands, bids and tricks.

Seats count from the one whose turn it is, so that the network need not learn the same four times.
"""

from __future__ import annotations

from itertools import permutations
from math import prod
from typing import Any

import numpy as np

from fastenv.skullking.state import TABLES
from fastenv.skullking.tables import (
    MAX_CARDS,
    NUM_CARDS,
    NUM_FEATURES,
    SUIT,
    TIGRESS,
    TIGRESS_AS_ESCAPE,
    TIGRESS_AS_PIRATE,
    TRUMP,
    Phase,
)
from training.run.options import require

NEEDS = 14  # tricks that a seat still needs: missed by two or more, by one, 0 .. 10, no bid yet
NUMBERS = 4  # of a seat: bid, tricks won, capture bonuses, alliances
OVER = (Phase.BID, Phase.CANNON, Phase.END)


class RoundView:
    """Shows rows to a value network; see :data:`training.search.rules.View`.

    Parameters
    ----------
    game : SkullKingGame

    Raises
    ------
    ConfigError
        With Graybeard, who holds cards and has no seat.
    """

    def __init__(self, game: Any) -> None:
        rules = game.rules[0]
        self._players = int(rules["num_players"])
        hands, allowed = int(rules["num_hands"]), "null: nobody tells what Graybeard gains"
        require(hands == self._players, "search.value", hands, allowed)
        self.inputs = self._players * (NUM_CARDS + NUM_FEATURES + NEEDS + NUMBERS) + MAX_CARDS + 2

    def __call__(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Encode rounds; return which still run, their inputs, and the seats of the outputs."""
        running = ~np.isin(rows["phase"], OVER)
        rows = rows[running]
        turn = rows["turn"].astype(np.int64)[:, None]
        seats = (turn + np.arange(self._players)) % self._players
        parts = [
            self._encode_hands(rows, seats),
            self._encode_table(rows, seats),
            self._encode_needs(rows, seats),
            self._encode_numbers(rows, seats),
            self._encode_progress(rows),
        ]
        flat = [part.reshape(len(rows), prod(part.shape[1:])) for part in parts]
        return running, np.concatenate(flat, axis=1).astype(np.float32), seats

    def variants(self) -> list[np.ndarray]:
        """Return the orders of the inputs in which the standard suits have changed places."""
        orders = []
        for suits in permutations(range(TRUMP)):
            cards, features = np.arange(NUM_CARDS), np.arange(NUM_FEATURES)
            for suit, other in enumerate(suits):
                cards[np.equal(SUIT, suit)] = np.flatnonzero(np.equal(SUIT, other))
                features[suit] = other
            order = np.arange(self.inputs)
            for begin, part in ((0, cards), (self._players * NUM_CARDS, features)):
                for first in range(begin, begin + self._players * len(part), len(part)):
                    order[first : first + len(part)] = first + part
            orders.append(order)
        return orders

    def _encode_hands(self, rows: np.ndarray, seats: np.ndarray) -> np.ndarray:
        held = np.zeros((*seats.shape, NUM_CARDS), np.float32)
        hands = np.take_along_axis(rows["hand"], seats[:, :, None], axis=1)
        sizes = np.take_along_axis(rows["hand_len"], seats, axis=1)
        row, place, slot = np.nonzero(np.arange(hands.shape[2]) < sizes[:, :, None])
        held[row, place, hands[row, place, slot]] = 1.0
        return held

    def _encode_table(self, rows: np.ndarray, seats: np.ndarray) -> np.ndarray:
        table = np.zeros((*seats.shape, NUM_FEATURES), np.float32)
        row, ply = np.nonzero(np.arange(self._players) < rows["table_len"][:, None])
        cards = rows["table_card"][row, ply].astype(np.int64)
        as_pirate = rows["table_mode"][row, ply] != 0
        shown = np.where(as_pirate, TIGRESS_AS_PIRATE, TIGRESS_AS_ESCAPE)
        cards = np.where(cards == TIGRESS, shown, cards)
        place = (rows["table_seat"][row, ply] - seats[row, 0]) % self._players
        table[row, place] = TABLES["features"][0][cards]
        return table

    def _encode_needs(self, rows: np.ndarray, seats: np.ndarray) -> np.ndarray:
        bid, won = (np.take_along_axis(rows[name], seats, axis=1) for name in ("bid", "won"))
        needed = np.where(bid < 0, NEEDS - 3, np.clip(bid - won, -2, 10)).astype(np.int64)
        one_hot: np.ndarray = np.eye(NEEDS, dtype=np.float32)[needed + 2]
        return one_hot

    def _encode_numbers(self, rows: np.ndarray, seats: np.ndarray) -> np.ndarray:
        allied = (rows["alliances"][:, None] == seats[:, :, None, None]).sum((2, 3))
        parts = [
            np.take_along_axis(rows["bid"], seats, axis=1) / 10,
            np.take_along_axis(rows["won"], seats, axis=1) / 10,
            np.take_along_axis(rows["bonus"], seats, axis=1) / 50,
            allied / 2,
        ]
        return np.stack(parts, axis=2)

    def _encode_progress(self, rows: np.ndarray) -> np.ndarray:
        """Return cards dealt and lying, and how many tricks are to come."""
        left = rows["cards"] - rows["tricks"]
        numbers = np.stack([rows["cards"] / MAX_CARDS, rows["table_len"] / self._players], axis=1)
        return np.concatenate([numbers, np.eye(MAX_CARDS)[np.clip(left, 1, MAX_CARDS) - 1]], axis=1)
