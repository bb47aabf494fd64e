"""The observation of each tier as a list of blocks (docs/skullking.md, 10), and the output columns.

This is the only place with offsets and lengths. ``encoding.py`` walks the blocks, the tables in the
docs are generated from them, and the tests hold ``kernels.py`` to them.

Tables of more than four players have more slots: ``num_players - 1`` opponents, ``num_players``
cards on the table. Seats are counted from the agent: opponent slot 1 is the next seat clockwise.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fastenv.skullking.tables import MAX_PLAYERS, NUM_CARDS, Tier

HAND_SLOTS = 10

INFO_COLUMNS = (
    "round",
    "cards",
    "bid",
    "won",
    "points",
    "total",
    "rank",
    "phase",
    "decision_phase",
    "ended_round",
    "ended_cards",
    "ended_bid",
    "ended_won",
    "ended_bonus",
    "ended_alliances",
    "game_rank",
    "illegal_action",
    "allies_on_track",
)
REWARD_COLUMNS = ("reward_shaped", "reward_points", "reward_points_rank")
INFO_DTYPE = np.dtype([(name, "i4") for name in INFO_COLUMNS], align=True)
# At a table of seats from outside, two more: who decides, and ten times what each has been paid.
SEATS_DTYPE = np.dtype(
    [*INFO_DTYPE.descr, ("actor", "i4"), ("scores", "i4", (MAX_PLAYERS,))], align=True
)
TERMS_DTYPE = np.dtype([(name, "f4") for name in REWARD_COLUMNS], align=True)


class Block(NamedTuple):
    """Consecutive elements of an observation."""

    name: str
    offset: int
    length: int
    meaning: str

    @property
    def stop(self) -> int:
        """Index behind the last element."""
        return self.offset + self.length


def opponent_slots(num_players: int) -> int:
    """Return how many opponents an observation has room for."""
    return max(3, num_players - 1)


def table_slots(num_players: int) -> int:
    """Return how many cards on the table an observation has room for."""
    return max(4, num_players)


_Spec = tuple[str, int, str]

_CARD = "nine features each: Parrot, Map, Chest, Jolly Roger, number/14, pirate, King or mermaid, "
_HAND = (
    "hand",
    HAND_SLOTS * 9,
    f"cards in hand, {_CARD}escape, Kraken or Whale",
)
_ABILITY_STATE = (
    "ability_state",
    6,
    "Harry armed for the agent; the agent's Rascal bet/20; an ability decision of the "
    "agent is pending; the current lead was set by Rosie; cards the agent drew with "
    "Bendt/2; abilities used this round by all players/5",
)
_ROUND = ("round", 10, "one-hot of the round: index in the schedule, capped at 10")
_STAGE = ("stage", 3, "one-hot of the game's phase: rounds 1..3, 4..6, from 7")
_LOOT = ("loot", 2, "has Loot; Loot cards in hand/2")
_ALLIES = (
    "allies",
    2,
    "mean of (won-bid)/N over allies; 0.2 x allies on track, if the agent is on track",
)


def _table(slots: int) -> _Spec:
    return ("table", slots * 9, "cards on the table in play order, nine features each")


def _position(slots: int) -> _Spec:
    return (
        "position",
        slots,
        "one-hot of the number of cards on the table when the agent plays; else all 0",
    )


def _flat(players: int) -> list[_Spec]:
    opponents, slots = opponent_slots(players), table_slots(players)
    return [
        (
            "phase",
            4,
            "one-hot: TIGRESS, CANNON or a pirate's ability (variants only), BID, PLAY, END",
        ),
        _HAND,
        _table(slots),
        (
            "status",
            8,
            "N/10; min(cards in hand/10, 1); bid/10 (0 before bidding); won/10; needed/10; "
            "left/10; 1 if 0 <= needed <= left; est(hand)/10",
        ),
        (
            "opponents",
            3 * opponents,
            "each: bid/10 once revealed, else 0; clip(total/500); won/10",
        ),
        ("hand_counts", 4, "in hand: pirates/5; Kings; mermaids/2; standard cards from 10 on/10"),
        _position(slots),
        (
            "opponent_history",
            2 * opponents,
            "each, over completed rounds: mean bid/10; min(mean abs(bid-won)/5, 1)",
        ),
        (
            "played_counts",
            5,
            "played this round/(N*P), clipped: pirates, Kings, mermaids, Escapes, standard "
            "cards from 10 on",
        ),
        ("progress", 1, "completed tricks/N"),
        ("pressure", 1, "0 in BID; -0.5 if needed <= 0; else min(needed/left, 1), 0 if left is 0"),
        ("played_last", 1, "share of this round's completed tricks in which the agent played last"),
        (
            "strength",
            2,
            "best strength in hand, and mean strength in hand, each minus the mean strength of the "
            "cards played this round; 0 with an empty hand",
        ),
        _ROUND,
        ("goal", 1, "bid/10 again"),
        _LOOT,
        (
            "allied",
            slots,
            "1 for each seat allied with the agent this round; the first, the agent's own, is 0",
        ),
        _ALLIES,
    ]


def _manager(players: int) -> list[_Spec]:
    return [
        _HAND,
        ("deal", 2, "N/10; cards in hand/10"),
        (
            "hand_classes",
            7,
            "in hand: pirates/5; King; mermaids/2; Escapes/5; standard cards from 10 on/10; "
            "Loot/2; (pirates+King+mermaids+Tigress)/9",
        ),
        ("hand_strength", 3, "mean strength in hand; Tigress; min(Jolly Rogers/4, 1)"),
        (
            "trumps",
            4,
            "Jolly Rogers/10; their share of the hand; best Jolly Roger/14; mean number of the "
            "numbered cards/14",
        ),
        ("suits", 4, "Parrot, Map, Chest, Jolly Roger cards in hand/10"),
        (
            "history",
            4,
            "over completed rounds: min(mean(sum of all bids/N)/2, 1); the agent's hit rate (0.5 "
            "before the first); his mean of won-bid, /10; then: 1 if he leads first",
        ),
        (
            "deal_context",
            4,
            "seats from the first leader to the agent/(P-1); Kraken in hand; White Whale in hand; "
            "clip(own total/500)",
        ),
        (
            "abilities",
            10,
            "in hand: Harry; Harry's value 0.5+0.5*(1-2*abs(m-0.5)), m the mean strength; Rosie; "
            "Bendt; Rascal; Jade; pirates/5; min(0.2*pirates, 1); flexibility "
            "(1.0 Harry + 0.3 Bendt)/1.5; expected bonus 0.15 Rascal + 0.05 Jade + 0.10 Rosie",
        ),
        (
            "opponents",
            8 * opponent_slots(players),
            "each: clip(total/500); last bid/10; hit rate (0.5 before the first round); mean of "
            "won-bid, /10; mean of bid/N; seats from the first leader/(P-1); share of zero bids; "
            "players with a higher total/(P-1)",
        ),
        _ROUND,
        _STAGE,
        _LOOT,
        ("opponents_hit_rate", 1, "mean hit rate of the opponents (0.5 before the first round)"),
        (
            "cannon",
            3,
            "1 and own bid/10 while CANNON is decided (scoring='rascal_cannon' only); 0",
        ),
    ]


def _worker(players: int) -> list[_Spec]:
    opponents, slots = opponent_slots(players), table_slots(players)
    return [
        _HAND,
        _table(slots),
        ("status", 4, "goal/10; won/10; needed/10; left/10"),
        ("needed_flags", 3, "needed <= left; needed == 0; needed < 0"),
        ("urgency", 1, "clip(needed/max(left, 1)); 0 at the end"),
        ("goal", 11, "one-hot of the goal, 0..10"),
        ("must_win_all", 1, "1 if needed == left > 0"),
        ("pirates", 6, "in hand: Harry, Rosie, Bendt, Rascal, Jade; pirates/5"),
        _ABILITY_STATE,
        (
            "ability_value",
            4,
            "min(0.25*pirates in hand, 1); opportunity: 0.8 if Harry is in hand and "
            "abs(needed) <= 2, else 0.6 if Rascal is and needed >= 0, else 0.4 if Rosie or Bendt "
            "is, else 0; Harry's urgency: 0 without him, 0.9 if abs(needed) == 1, 0.3 if "
            "needed == 0, else 0.5; Rascal: 0 without him, 0.8 if needed <= 0, 0.5 if "
            "needed == 1, else 0.2",
        ),
        ("specials_unseen", 1, "share of the deck's specials not yet seen by the agent"),
        (
            "pirate_chance",
            1,
            "0 without a pirate in hand; 0.8 if nothing pirate-like is on the table, else 0.3",
        ),
        ("progress", 3, "N/10; min(cards in hand/10, 1); completed tricks/10"),
        _position(slots),
        (
            "opponents",
            4 * opponents,
            "each: bid/10; won/10; needed/10; 1 if 0 <= needed <= left",
        ),
        ("lead_suit", 1, "(suit+1)/4; 0 if not decided yet; -1 if the trick is free of suit"),
        _ROUND,
        _STAGE,
        _LOOT,
        ("alliances", 1, "alliances of the agent/4"),
        _ALLIES,
        ("tigress_pending", 1, "1 while the Tigress's mode is decided (tigress='agent' only)"),
    ]


def _ability(players: int) -> list[_Spec]:
    return [*_worker(players), *_decisions(players)]


def _decisions(players: int) -> list[_Spec]:
    """Return the blocks that show decisions about abilities."""
    return [
        ("decision", 6, "one-hot: PLAYING, ROSIE, BENDT_1, BENDT_2, RASCAL, HARRY; 0 at the end"),
        (
            "rosie",
            max(6, players),
            "ROSIE only, each seat from the agent's on: clip(0.5 + needed/(2*max(left, 1)))",
        ),
        ("bendt_cards", 18, "BENDT only: the two drawn cards, nine features each"),
        ("bendt", 2, "1 in BENDT_2; 1 if the first discard is chosen"),
        ("rascal", 2, "RASCAL only: clip(needed/max(left, 1)); 1 if needed <= 0"),
        ("harry", 4, "HARRY only: bid/10; won/10; (won-bid)/10; 1 if equal"),
        ("tigress", 1, "1 if this PLAYING decision is the Tigress's mode (tigress='agent' only)"),
        (
            "hidden_specials",
            1,
            "after Jade: share of specials among the unseen cards, which are not in the stock; "
            "else 0",
        ),
    ]


_MEMORY: list[_Spec] = [
    ("memory_hand", NUM_CARDS, "1 for each card in hand"),
    ("memory_played", NUM_CARDS, "1 for each card played this round"),
    ("memory_out", NUM_CARDS, "1 for each card known to be out of play: by Jade, own discards"),
]
_BLOCKS = {
    Tier.FLAT: _flat,
    Tier.MANAGER: _manager,
    Tier.WORKER: _worker,
    Tier.ABILITY: _ability,
}


@lru_cache
def layout(
    tier: int, num_players: int = 4, memory: bool = False, decisions: bool = False
) -> tuple[Block, ...]:
    """Return the blocks of an observation in order, without gaps.

    Parameters
    ----------
    tier : Tier
    num_players : int
        2 to 8; up to 4 have the same layout.
    memory : bool
        With the card memory of docs/skullking.md, 10.7.
    decisions : bool
        The agent decides about abilities, which the flat tier then shows, as the Ability tier does.
    """
    specs = _BLOCKS[Tier(tier)](num_players)
    if decisions and tier == Tier.FLAT:
        specs = [*specs, _ABILITY_STATE, *_decisions(num_players)]
    specs = specs + (_MEMORY if memory else [])
    blocks, offset = [], 0
    for name, length, meaning in specs:
        blocks.append(Block(name, offset, length, meaning))
        offset += length
    return tuple(blocks)


def obs_dim(tier: int, num_players: int = 4, memory: bool = False, decisions: bool = False) -> int:
    """Return the length of an observation."""
    return layout(tier, num_players, memory, decisions)[-1].stop


def layout_table(tier: int) -> str:
    """Return the layout for up to four players as a Markdown table, for the docs."""
    lines = ["| index | block | content |", "|---|---|---|"]
    for block in layout(tier):
        last = block.stop - 1
        index = f"{block.offset}" if block.length == 1 else f"{block.offset}..{last}"
        lines.append(f"| {index} | `{block.name}` | {block.meaning} |")
    return "\n".join(lines)
