"""Bids of any player: on hands whose right bid is known, and in rounds that four of it play.

``hands.json`` lists hands, each with the bids that are right for it. The others at the table hold
what is dealt from the rest of the deck, all totals are equal, and nobody has bid yet. So a hand
asks for nothing but how many tricks it is worth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import model_validator

from fastenv import BatchEngine
from fastenv.errors import ConfigError
from fastenv.skullking.state import TABLES
from fastenv.skullking.tables import MAX_CARDS, MAX_HAND, NUM_CARDS, Phase
from fastenv.skullking.view import card_name
from training.apps.skullking.columns import ROUNDS
from training.evaluation.intervals import share
from training.evaluation.loop import Loop
from training.players.contest_table import ContestTable
from training.players.names import AnyPlayer, make_player
from training.players.player import begin_all, every_lane
from training.run import files
from training.run.options import Options, Text, Whole, option, require

HANDS = Path(__file__).with_name("hands.json")
TABLE = ContestTable("SkullKingFlat-v0", {"deals": "duplicate", "invalid_action": "raise"})
PLAYERS = 4  # at a table
LANES = 512  # games that are played at once
HIGH = 4  # bids from here on are high


# -- hands whose right bid is known ----------------------------------------------------------------


class Hand(Options):
    """A hand, where it is bid for, and the bids that are right; see ``hands.json``."""

    SECTION: ClassVar[str] = "hand."

    name: Text = option(..., "what it is called")
    kind: Literal["monster", "trumps", "middling", "nothing"] = option(..., "how strong it is")
    round: Whole = option(..., "the round, which has as many cards", ge=1, le=ROUNDS)
    place: Whole = option(..., "in the first trick: 1 leads, 4 plays last", ge=1, le=PLAYERS)
    cards: tuple[Text, ...] = option(..., "its cards, as they are printed")
    least: Whole = option(..., "the lowest bid that is right", ge=0)
    most: Whole = option(..., "the highest bid that is right", ge=0)
    why: Text = option(..., "the reason in a sentence")

    @model_validator(mode="after")
    def _check(self) -> Hand:
        find_cards(self.cards)
        count = len(self.cards)
        require(count == self.round, "hand.cards", count, f"{self.round}, as the round deals")
        require(self.most <= self.round, "hand.most", self.most, f"at most {self.round}")
        require(self.least <= self.most, "hand.least", self.least, f"at most {self.most}")
        return self

    def allows(self, bid: int) -> bool:
        """Tell whether a bid is right."""
        return self.least <= bid <= self.most


def find_cards(names: Sequence[str]) -> list[int]:
    """Find cards by their names, such as ``Parrot 7`` or ``Skull King``; return ids, ascending.

    Raises
    ------
    ConfigError
        If there is no card of a name, or not as often.
    """
    deck: dict[str, list[int]] = {}
    for card in range(NUM_CARDS):
        deck.setdefault(card_name(card), []).append(card)
    found: list[int] = []
    for name, count in Counter(names).items():
        there = deck.get(name, [])
        allowed = "cards by their names, such as 'Parrot 7', 'Jolly Roger 14' or 'Skull King'"
        require(bool(there), "hand.cards", name, allowed)
        allowed = f"at most {len(there)} of {name!r}"
        require(count <= len(there), "hand.cards", count, allowed)
        found += there[:count]
    return sorted(found)


def load_hands(path: Path = HANDS) -> list[Hand]:
    """Load a list of hands.

    Parameters
    ----------
    path : Path
        A JSON list of objects, with the fields of :class:`Hand`.

    Raises
    ------
    FileError
        If there is no such file, or it is no JSON.
    ConfigError
        If it is no list of hands, or one of them is not possible.
    """
    listed = files.read_json(path)
    allowed = "a list of hands, of which there is one at least"
    require(isinstance(listed, list) and bool(listed), path.name, listed, allowed)
    hands = [_make_hand(values, f"{path.name}, hand {k}") for k, values in enumerate(listed, 1)]
    for name, count in Counter(hand.name for hand in hands).items():
        require(count == 1, f"{path.name}, hand.name", name, "the name of one hand alone")
    return hands


def _make_hand(values: Any, where: str) -> Hand:
    """Make a hand of plain values; an error says which of the list it is."""
    try:
        return Hand.from_mapping(values)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def deal_hands(hands: Sequence[Hand], engine: BatchEngine) -> np.ndarray:
    """Return rows of tables at which a hand is bid for, one a hand.

    Parameters
    ----------
    hands : sequence of Hand
    engine : BatchEngine
        Of :data:`TABLE`, with a lane for each hand; its lanes are reset.
    """
    engine.reset_many(seeds=0)
    rows = engine.get_states()
    packed = [_deal(engine, row, hand) for row, hand in zip(rows, hands, strict=True)]
    return np.frombuffer(bytearray().join(packed), rows.dtype)


def _deal(engine: BatchEngine, row: np.void, hand: Hand) -> bytes:
    """Return the row of a game that begins the round of a hand, whose first bidder holds it."""
    game: Any = engine.game.unpack(row)
    game.round_idx = game.rounds_done = hand.round - 1
    game.first_leader = (game.agent - (hand.place - 1)) % PLAYERS
    game.start_round()
    cards = find_cards(hand.cards)
    spare = [card for card in game.hand[game.agent] if card not in cards]
    game.hand[game.agent] = cards
    for place in (*(game.hand[seat] for seat in range(PLAYERS) if seat != game.agent), game.stock):
        for k, card in enumerate(place):
            if card in cards:
                place[k] = spare.pop()
    game.hand = [sorted(held) for held in game.hand]
    game.look_again()
    packed: bytes = engine.game.pack(game)
    return packed


def decide(who: AnyPlayer, engine: BatchEngine, rows: np.ndarray) -> np.ndarray:
    """Choose the actions of a player in rows, int32 (n,).

    Parameters
    ----------
    who : Policy, SearchingAgent, str or callable
        See :func:`training.players.names.make_player`.
    engine : BatchEngine
        With a lane for each row; its states are replaced.
    rows : ndarray, shape (n,)
    """
    engine.set_states(rows)
    player = make_player(who, engine)
    begin_all(player, engine, 1)
    return player.act(engine, every_lane(engine))


def bid_hands(who: AnyPlayer, hands: Sequence[Hand]) -> list[int]:
    """Return the bid of a player on each hand."""
    engine = TABLE.make(len(hands))
    bids: list[int] = decide(who, engine, deal_hands(hands, engine)).tolist()
    return bids


# -- bids of games ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bids:
    """Bids of whole games, in the order of games, rounds and seats.

    Parameters
    ----------
    rows : ndarray, shape (n,)
        In which they were due.
    bids : ndarray of int, shape (n,)
    won : ndarray of int, shape (n,)
        Tricks that the seat then won.
    """

    rows: np.ndarray
    bids: np.ndarray
    won: np.ndarray

    @property
    def made(self) -> np.ndarray:
        """Whether the seat won as many tricks as it had bid, bool (n,)."""
        made: np.ndarray = self.bids == self.won
        return made


def play_rounds(who: AnyPlayer, rounds: int, first_seed: int) -> Bids:
    """Let four of a player play whole games.

    Parameters
    ----------
    who : Policy, SearchingAgent, str or callable
        See :func:`training.players.names.make_player`; each seat has a player of its own.
    rounds : int
        A multiple of the ten rounds of a game.
    first_seed : int
        Of the deals.

    Raises
    ------
    ConfigError
        For a number of rounds that is not possible.
    """
    allowed = f"a multiple of {ROUNDS}, the rounds of a game, from {ROUNDS} on"
    require(rounds >= ROUNDS and rounds % ROUNDS == 0, "rounds", rounds, allowed)
    games = rounds // ROUNDS
    engine = TABLE.make(min(games, LANES))
    players = [make_player(who, engine) for _ in range(PLAYERS)]
    notes = _Notes(engine)
    seeds, seating = first_seed + np.arange(games), np.tile(np.arange(PLAYERS), (games, 1))
    for step in Loop(engine, players, seeds, seating, begun=notes.begin):
        notes.note(step.lanes, step.actions[step.lanes], step.episode[step.lanes])
    return notes.join()


class _Notes:
    """Bids as they are made, and what became of them as rounds end."""

    def __init__(self, engine: BatchEngine) -> None:
        self._engine, self._now = engine, np.zeros(engine.num_envs, engine.spec.state_dtype)
        self._games: list[np.ndarray] = []
        self._rows: list[np.ndarray] = []
        self._bids: list[np.ndarray] = []
        self._ends: list[np.ndarray] = []  # game, round and tricks beyond the bid of each seat

    def begin(self, engine: Any, lanes: np.ndarray, numbers: np.ndarray) -> None:
        """See :data:`training.evaluation.loop.Prepare`."""
        self._now[lanes] = engine.get_states(lanes)

    def note(self, lanes: np.ndarray, actions: np.ndarray, games: np.ndarray) -> None:
        """Note what was decided in lanes (k,), behind which the engine is."""
        before, after = self._now[lanes], self._engine.get_states(lanes)
        bidding = before["phase"] == Phase.BID
        self._games.append(games[bidding])
        self._rows.append(before[bidding])
        self._bids.append(actions[bidding])
        over = before["rounds_done"] != after["rounds_done"]
        beyond = (after["error"] - before["error"])[over, :PLAYERS]
        self._ends.append(np.c_[games[over], before["round_idx"][over], beyond])
        self._now[lanes] = after

    def join(self) -> Bids:
        """Return the bids in order, with the tricks that were won."""
        games, rows = np.concatenate(self._games), np.concatenate(self._rows)
        order = np.lexsort((rows["actor"], rows["round_idx"], games))
        bids = np.concatenate(self._bids)[order].astype(np.int64)
        ends = np.concatenate(self._ends)
        ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
        return Bids(rows[order], bids, bids + ends[:, 2:].ravel())


def hand_strength(rows: np.ndarray) -> np.ndarray:
    """Return the tricks that the rule bots expect of the hands that are bid for, float64 (n,).

    ``docs/skullking.md``, 9.2, without the noise of the bots.
    """
    every, actor = np.arange(len(rows)), rows["actor"].astype(np.int64)
    there = np.arange(MAX_HAND) < rows["hand_len"][every, actor][:, None]
    values = TABLES["bid_value"][0][rows["hand"][every, actor].astype(np.int64)]
    strength: np.ndarray = np.where(there, values, 0).sum(1) / 100
    return strength


def count_high(bids: np.ndarray) -> list[float | None]:
    """Return the share of high bids, with its 95 % interval."""
    return share(bids >= HIGH).to_list()


def summarise(found: Bids) -> dict[str, Any]:
    """Summarise bids as JSON values: all of them, and by hand strength in whole tricks.

    The intervals take bids as independent, although no two seats win the same trick.
    """
    strength = np.rint(hand_strength(found.rows)).astype(np.int64)
    made, counts = found.made, np.bincount(found.bids, minlength=MAX_CARDS + 1)
    by_strength = []
    for level in np.unique(strength):
        own = strength == level
        by_strength.append(
            {
                "strength": int(level),
                "bids": int(own.sum()),
                "mean_bid": float(found.bids[own].mean()),
                "mean_won": float(found.won[own].mean()),
                "made": share(made[own]).to_list(),
                "high": count_high(found.bids[own]),
            }
        )
    return {
        "bids": len(found.bids),
        "mean_bid": float(found.bids.mean()),
        "made": share(made).to_list(),
        "high": count_high(found.bids),
        "counts": counts.tolist(),
        "by_strength": by_strength,
    }
