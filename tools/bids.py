"""What the committed agent of Skull King bids: ``python -m tools.bids``.

Four of it play games, and it bids on the hands of ``tools/skullking_hands.json``, each with the
bids that are right for it. The others at the table hold what is dealt from the rest of the deck,
all totals are equal, and nobody has bid yet. So a hand asks for nothing but how many tricks it is
worth. Search then takes some of the same decisions, drawn at random, and the hands. Its options do
not depend on the agent: the network plays its rollouts, all worlds are equally likely, and the best
mean is bid.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.skullking.state import TABLES
from fastenv.skullking.tables import MAX_CARDS, MAX_HAND, NUM_CARDS, Phase
from fastenv.skullking.view import card_name
from tools.command import new_parser, refusing
from training.apps.skullking.columns import ROUNDS
from training.evaluation.intervals import share
from training.evaluation.loop import Loop
from training.players.contest_table import ContestTable
from training.players.names import AnyPlayer, Who, load_who, make_player
from training.players.player import begin_all, every_lane
from training.players.policy import Policy
from training.run import files, machine
from training.run.options import require
from training.run.seeds import MATCH_SEEDS

RECORD = Path("benchmarks/skullking-bids.json")
HANDS = Path(__file__).with_name("skullking_hands.json")
TABLE = ContestTable("SkullKingFlat-v0", {"deals": "duplicate", "invalid_action": "raise"})
PLAYERS = 4  # at a table
LANES = 512  # games that are played at once
HIGH = 4  # bids from here on are high
AGENT = "pretrained/skullking"
SEARCH = {
    "worlds": 256,
    "decisions": "bids",
    "rollouts": "policy",
    "belief": "uniform",
    "outcome": "margin",
    "horizon": "round",
    "lead": 0.0,
    "halving": True,
    "blocks": 4,
}
SEED = MATCH_SEEDS + 7_000_000  # of the deals; those of other evaluations have others
AT_ONCE = 50  # decisions that are searched together


# -- hands whose right bid is known ----------------------------------------------------------------


@dataclass(frozen=True)
class Hand:
    """A hand, where it is bid for, and the bids that are right.

    Parameters
    ----------
    name : str
    kind : {"monster", "trumps", "middling", "nothing"}
        How strong it is.
    round : int
        The round, which deals as many cards.
    place : int
        In the first trick: 1 leads, 4 plays last.
    cards : sequence of str
        Its cards, as they are printed.
    least, most : int
        The bids that are right.
    why : str
        The reason in a sentence.
    """

    name: str
    kind: str
    round: int
    place: int
    cards: Sequence[str]
    least: int
    most: int
    why: str

    def allows(self, bid: int) -> bool:
        """Tell whether a bid is right."""
        return self.least <= bid <= self.most


def find_cards(names: Sequence[str]) -> list[int]:
    """Find cards by their names, such as ``Parrot 7`` or ``Skull King``; return ids, ascending."""
    deck: dict[str, list[int]] = {}
    for card in range(NUM_CARDS):
        deck.setdefault(card_name(card), []).append(card)
    return sorted(deck[name].pop(0) for name in names)


def load_hands() -> list[Hand]:
    """Load the list of hands."""
    return [Hand(**values) for values in json.loads(HANDS.read_text(encoding="utf-8"))]


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


# -- what search bids instead ----------------------------------------------------------------------


def draw(found: Bids, count: int) -> np.ndarray:
    """Draw some of the bids, int (count,)."""
    allowed = f"from 1 to {len(found.bids):,}, the bids of --rounds"
    require(1 <= count <= len(found.bids), "--decisions", count, allowed)
    return np.random.default_rng(0).permutation(len(found.bids))[:count]


def search_bids(who: Who, rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the bids of an agent that searches, for some rows after the others."""
    for first in range(0, len(rows), AT_ONCE):
        some = rows[first : first + AT_ONCE]
        yield decide(who, TABLE.make(len(some)), some)


def compare(who: Who, found: Bids) -> dict[str, Any]:
    """Summarise what search bids where an agent has bid, beside the agent itself."""
    begun, made = time.process_time(), list[np.ndarray]()
    for bids in search_bids(who, found.rows):
        made.append(bids.astype(np.int64))
        done = sum(map(len, made))
        print(f"{done:,} of {len(found.bids):,} decisions searched", flush=True)
    bids = np.concatenate(made)
    theirs = replace(found, bids=bids)
    return {
        "changed": float((bids != found.bids).mean()),
        "agent": without_tricks(found),
        "search": without_tricks(theirs),
        "cpu_ms_per_decision": round(1000 * (time.process_time() - begun) / len(bids), 2),
    }


def without_tricks(found: Bids) -> dict[str, Any]:
    """Summarise bids that were not played, so that nobody knows what they would have won."""
    summary = summarise(found)
    for part in (summary, *summary["by_strength"]):
        part.pop("made")
        part.pop("mean_won", None)
    return summary


def list_hands(hands: Sequence[Hand], who: Who, searching: Who) -> list[dict[str, Any]]:
    """Return a row for each hand: what is right, and what the agent and search bid."""
    bids = zip(bid_hands(who, hands), bid_hands(searching, hands), strict=True)
    rows = []
    for hand, (bid, searched) in zip(hands, bids, strict=True):
        about = {name: getattr(hand, name) for name in ("name", "kind", "round", "least", "most")}
        rows.append({**about, "bid": bid, "right": hand.allows(bid), "search": searched})
    return rows


@refusing
def main(argv: list[str] | None = None) -> int:
    """Write the record; return the exit status."""
    parse = new_parser("bids", __doc__)
    about = "folder of the agent or name of the run, default %(default)s"
    parse.add_argument("--agent", default=AGENT, help=about)
    about = "rounds that four of it play, default %(default)s"
    parse.add_argument("--rounds", type=int, default=5000, help=about)
    about = "bids that search takes too, default %(default)s"
    parse.add_argument("--decisions", type=int, default=1000, help=about)
    parse.add_argument("--out", type=Path, default=RECORD, help="record to write")
    args = parse.parse_args(argv)
    files.prepare("--out", args.out)
    who = load_who(args.agent)
    trained = isinstance(who, Policy)
    require(trained, "--agent", args.agent, "a trained agent, alone: its search is fixed here")
    assert isinstance(who, Policy)
    searching = who.search(**SEARCH)
    begun = time.process_time()
    found = play_rounds(who, args.rounds, SEED)
    chosen = draw(found, args.decisions)
    print(f"{args.rounds:,} rounds played", flush=True)
    some = Bids(found.rows[chosen], found.bids[chosen], found.won[chosen])
    record = {
        "who": args.agent,
        "checkpoint": {"name": who.path.name, "sha256": files.sha256(who.path / "MANIFEST.json")},
        "table": {"env": TABLE.env, **TABLE.options},
        "rounds": args.rounds,
        "first_seed": SEED,
        "high": HIGH,
        "played": summarise(found),
        "hands": list_hands(load_hands(), who, searching),
        "searched": {"options": searching.options.to_dict(), **compare(searching, some)},
    }
    record["cpu_s"] = round(time.process_time() - begun, 1)
    files.write_json(args.out, {**machine.taken_on(), **record})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
