"""What a player in the agent's seat may know of a game, in words: the source of every picture.

Other hands, the stock and secret bids never get into a :class:`TableView`, so no drawing code can
give them away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastenv.skullking import tables as t
from fastenv.skullking.rules import (
    ALLIANCE_POINTS,
    FREE,
    OPEN,
    Play,
    TrickRules,
    lead_suit,
    legal_cards,
    winning_play,
)

SUIT_NAMES = ("Parrot", "Pirate Map", "Treasure Chest", "Jolly Roger")
SPECIAL_NAMES = {
    t.KING: "Skull King",
    t.WHALE: "White Whale",
    t.KRAKEN: "Kraken",
    t.ROSIE: "Rosie D'Laney",
    t.BENDT: "Bendt the Bandit",
    t.RASCAL: "Rascal of Roatan",
    t.JADE: "Juanita Jade",
    t.HARRY: "Harry the Giant",
    t.TIGRESS: "Tigress",
    **dict.fromkeys(t.MERMAIDS, "Mermaid"),
    **dict.fromkeys(t.ESCAPES, "Escape"),
    **dict.fromkeys(t.LOOTS, "Loot"),
}
SLOT_PHASES = (t.Phase.PLAY, t.Phase.BENDT_1, t.Phase.BENDT_2)  # actions are slots of the hand
PROMPTS = {
    t.Phase.BID: "How many tricks will you win? The action is the bid.",
    t.Phase.PLAY: "Play a card. The action is its number.",
    t.Phase.TIGRESS: "The Tigress comes as",
    t.Phase.ROSIE: "Rosie D'Laney: who leads the next trick?",
    t.Phase.BENDT_1: "Bendt the Bandit: discard a card. The action is its number.",
    t.Phase.BENDT_2: "Bendt the Bandit: discard another card. The action is its number.",
    t.Phase.RASCAL: "Rascal of Roatan: bet on your own bid.",
    t.Phase.HARRY: "Harry the Giant: change your bid?",
    t.Phase.CANNON: "Load your cannon.",
    t.Phase.END: "The episode is over.",
}


class Seat(NamedTuple):
    """One line of the score table; None stands for what is hidden or does not exist."""

    number: int
    name: str
    bid: int | None
    won: int
    cards: int  # in hand; how many is public
    total: int | None
    leads: bool  # the current trick; in BID the first of the round
    notes: tuple[str, ...]


@dataclass(frozen=True)
class TableView:
    """What the agent may know about a game, ready to be drawn."""

    title: tuple[str, ...]  # where the game stands, from the round down to the trick
    phase: t.Phase
    agent: int
    seats: tuple[Seat, ...]  # players in seat order, Graybeard last
    plays: tuple[Play, ...]  # the trick on the table, in play order
    winning: int | None  # index in `plays` of the card that wins so far
    follow: str  # what the trick demands, "" before its first card
    last: tuple[Play, ...]  # the complete trick before it, of this round or one that just ended
    last_winner: int | None  # index in `last` of the card that won
    hand: tuple[int, ...]
    drawn: tuple[int, ...]  # cards of the hand that were drawn with Bendt
    discarded: int  # slot of Bendt's first discard while the second is to be chosen, else -1
    legal_slots: frozenset[int]  # empty where actions are not slots
    choices: tuple[tuple[int, str], ...]  # action and meaning where actions are not slots
    prompt: str
    news: tuple[str, ...]  # what the last step brought

    @property
    def legal_actions(self) -> frozenset[int]:
        """Actions that may be taken now; empty at the end."""
        return self.legal_slots | {action for action, _ in self.choices}


def card_name(card: int, mode: int | None = None) -> str:
    """Return the name of a card as printed, such as ``"Parrot 7"`` or ``"Skull King"``.

    Parameters
    ----------
    card : int
        Card id, 0 to 73.
    mode : {None, 0, 1}
        For the Tigress on the table: 0 as escape, 1 as pirate. Other cards ignore it.
    """
    if t.NUMBER[card]:
        return f"{SUIT_NAMES[t.SUIT[card]]} {t.NUMBER[card]}"
    if card == t.TIGRESS and mode is not None:
        return f"Tigress ({'pirate' if mode else 'escape'})"
    return SPECIAL_NAMES[card]


def action_name(action: int, row: Any, rules: Any) -> str:
    """Name an action in the game in ``row``, such as ``"Parrot 7"`` or ``"a pirate"``.

    Parameters
    ----------
    action : int
        A number if it means nothing there.
    row : record of STATE_DTYPE
        A game, not changed.
    rules : record of RULES_DTYPE
        The rules it is played by.
    """
    view = table_view(row, rules)
    meanings = dict(view.choices)
    if view.phase == t.Phase.BID:
        meanings = {bid: f"bid {bid}" for bid in meanings}
    if view.phase in SLOT_PHASES:
        meanings = {slot: card_name(card) for slot, card in enumerate(view.hand)}
    return meanings.get(action, str(action))


def table_view(row: Any, rules: Any, names: Sequence[str] | None = None) -> TableView:
    """Return the agent's view of the game in ``row``.

    Parameters
    ----------
    row : record of STATE_DTYPE
        A game, not changed.
    rules : record of RULES_DTYPE
        The rules it is played by.
    names : sequence of str, optional
        Of the players in seat order; default those of the bots.
    """
    row, rules = np.asarray(row).reshape(-1)[0], np.asarray(rules).reshape(-1)[0]
    phase, agent = t.Phase(int(row["phase"])), int(row["actor"])
    plays = tuple(
        Play(int(row["table_seat"][i]), int(row["table_card"][i]), int(row["table_mode"][i]))
        for i in range(int(row["table_len"]))
    )
    hand = tuple(int(c) for c in row["hand"][agent, : int(row["hand_len"][agent])])
    last = _last_trick(row)
    return TableView(
        title=_title(row, rules, phase),
        phase=phase,
        agent=agent,
        seats=tuple(
            _seat(row, rules, phase, seat, names) for seat in range(int(rules["num_hands"]))
        ),
        plays=plays,
        winning=_winner(plays),
        follow=_follow(plays, bool(rules["late_suit"])),
        last=last,
        last_winner=_winner(last),
        hand=hand,
        drawn=tuple(int(c) for c in _drawn(row) if c in hand),
        discarded=int(row["first_discard"]),
        legal_slots=_legal_slots(row, rules, phase, hand, plays),
        choices=tuple(_choices(row, rules, phase)),
        prompt=PROMPTS[phase],
        news=tuple(_news(row, rules)),
    )


def _drawn(row: Any) -> Any:
    """Return the cards that the actor drew with Bendt."""
    return row["stock"][: int(row["stock_pos"]) if row["bendt_seat"] == row["actor"] else 0]


def _last_trick(row: Any) -> tuple[Play, ...]:
    """Return the last complete trick: none at the start of a round that was looked at already."""
    if not row["tricks"] and not row["ev_round"]:
        return ()
    plays = []
    for seat, card in zip(row["last_seat"].tolist(), row["last_card"].tolist(), strict=True):
        pirate = card == t.TIGRESS_AS_PIRATE
        if card >= 0:
            plays.append(Play(seat, t.TIGRESS if pirate else card, int(pirate)))
    return tuple(plays)


def _winner(plays: tuple[Play, ...]) -> int | None:
    """Return the index of the card that wins, so far or at all."""
    best = winning_play(plays) if plays else None
    return None if best is None else plays.index(best)


def _title(row: Any, rules: Any, phase: t.Phase) -> tuple[str, ...]:
    cards, tricks = int(row["cards"]), int(row["tricks"])
    rounds = f" of {rules['num_rounds']}" if rules["full_game"] else ""
    title = [f"round {row['round_idx'] + 1}{rounds}", f"{cards} card{'s' * (cards != 1)}"]
    if phase not in (t.Phase.BID, t.Phase.CANNON) and tricks < cards:
        title.append(f"trick {tricks + 1} of {cards}")
    if row["destroyed"]:
        title.append(f"{row['destroyed']} destroyed")
    return tuple(title)


def _seat(
    row: Any, rules: Any, phase: t.Phase, seat: int, names: Sequence[str] | None = None
) -> Seat:
    agent, ghost = int(row["actor"]), seat >= rules["num_players"]
    bot = t.Bot(int(row["bots"][seat])).name.lower() if names is None or ghost else names[seat]
    name = "Graybeard" if ghost else bot
    # All bids are revealed together, after the cannons are loaded (docs/skullking.md, 3.3, 7.1).
    secret = phase == t.Phase.BID or (phase == t.Phase.CANNON and seat != agent)
    return Seat(
        number=seat,
        name="you" if seat == agent else name,
        bid=None if ghost or secret else int(row["bid"][seat]),
        won=int(row["won"][seat]),
        cards=int(row["hand_len"][seat]),
        total=None if ghost else int(row["total"][seat]),
        leads=seat == row["leader"] and phase != t.Phase.END,
        notes=tuple(_notes(row, phase, seat)),
    )


def _notes(row: Any, phase: t.Phase, seat: int) -> list[str]:
    """List other public facts about a seat this round; the cannonball of the agent's alone."""
    notes = [
        f"allied with seat {b if a == seat else a}"
        for a, b in row["alliances"][: int(row["num_alliances"])]
        if seat in (a, b)
    ]
    suits = [name for suit, name in enumerate(SUIT_NAMES) if int(row["voids"][seat]) >> suit & 1]
    if suits:
        notes.append(f"no {', '.join(suits)}")
    if row["rascal_seat"] == seat:
        notes.append(f"bet {row['rascal_bet']}")
    if row["harry_seat"] == seat:
        notes.append("has Harry")
    if seat == row["actor"] and row["cannon"][seat] and phase != t.Phase.CANNON:
        notes.append("cannonball")
    return notes


def _follow(plays: tuple[Play, ...], late_suit: bool) -> str:
    if not plays:
        return ""
    suit = lead_suit(plays, late_suit)
    return {OPEN: "suit still open", FREE: "no suit to follow"}.get(
        suit, f"follow {SUIT_NAMES[suit]}"
    )


def _legal_slots(
    row: Any, rules: Any, phase: t.Phase, hand: tuple[int, ...], plays: tuple[Play, ...]
) -> frozenset[int]:
    if phase not in SLOT_PHASES:
        return frozenset()
    if phase == t.Phase.PLAY:
        switches = TrickRules(
            late_suit=bool(rules["late_suit"]), trump_any_time=bool(rules["trump_any_time"])
        )
        legal = legal_cards(hand, plays, switches)
        return frozenset(slot for slot, card in enumerate(hand) if card in legal)
    return frozenset(slot for slot in range(len(hand)) if slot != row["first_discard"])


def _choices(row: Any, rules: Any, phase: t.Phase) -> list[tuple[int, str]]:
    agent, cards = int(row["actor"]), int(row["cards"])
    if phase == t.Phase.BID:
        return [(bid, str(bid)) for bid in range(cards + 1)]
    if phase == t.Phase.HARRY:
        bid = int(row["bid"][agent])
        changes = [(a, bid + a - 1) for a in range(3) if 0 <= bid + a - 1 <= cards]
        return [(a, f"bid {new}" if new != bid else f"keep {bid}") for a, new in changes]
    if phase == t.Phase.ROSIE:
        players = int(rules["num_players"])
        others = [(a, f"seat {(agent + a) % players}") for a in range(1, players)]
        return [(0, "yourself"), *others]
    texts: dict[t.Phase, tuple[str, ...]] = {
        t.Phase.TIGRESS: ("an escape", "a pirate"),
        t.Phase.RASCAL: ("bet 0", "bet 10", "bet 20"),
        t.Phase.CANNON: ("grapeshot", "cannonball"),
    }
    return list(enumerate(texts.get(phase, ())))


def _news(row: Any, rules: Any) -> list[str]:
    """Describe the last step in sentences, from the events of the row."""
    news = []
    if row["ev_invalid"]:
        count = f"{row['invalid_count']} of {t.INVALID_LIMIT}"
        news.append(f"Action {row['ev_action']} was illegal and changed nothing ({count}).")
    elif row["ev_trick"]:
        news.append("You won the trick." if row["ev_trick"] == 1 else "You did not win the trick.")
    if row["ev_round"]:
        extras = [f"bonus {row['ev_bonus']}"] if row["ev_bonus"] else []
        if allied := int(row["ev_alliances"]):
            points = ALLIANCE_POINTS * allied
            extras.append(f"alliance {points}" if allied == 1 else f"{allied} alliances {points}")
        extras += [f"bet {row['ev_bet']}"] if row["ev_bet"] else []
        news.append(
            f"Round {row['ev_round']}: bid {row['ev_bid']}, won {row['ev_won']}, "
            f"{row['ev_points']:+d} points" + (f" ({', '.join(extras)})" if extras else "") + "."
        )
    if row["ev_rank"]:
        news.append(f"You finish {_ordinal(int(row['ev_rank']))} of {rules['num_players']}.")
    return news


def _ordinal(n: int) -> str:
    return f"{n}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(n, 'th') }"
