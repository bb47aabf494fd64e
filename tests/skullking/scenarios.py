"""Scenarios A1 .. A46 (docs/skullking.md, 17) as data, for any implementation.

Card names are the shorthand of the specification: ``P7`` Parrot, ``M`` Map, ``C`` Chest, ``R``
Jolly Roger; ``SK``, ``MM1``, ``WH``, ``KR``, ``ES1``, ``LO1``, pirates by name, and the Tigress on
the table as ``TGp`` (pirate) or ``TGe`` (escape), in a hand as ``TG``.

The row builders (``trick_row`` and so on) put a scenario into a row of ``STATE_DTYPE`` such that
the agent's action brings about what is to be seen; a *stepper* ``(rows, actions) -> None`` moves
it. `play`, `follow` and `play_out` take any stepper, so that every implementation can be tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from fastenv.rng import Rng
from fastenv.skullking import SkullKingGame
from fastenv.skullking.config import SkullKingConfig
from fastenv.skullking.position import load
from fastenv.skullking.reference import GRAYBEARD, Play, SkullKing, to_namespace, unpack
from fastenv.skullking.tables import SUIT, Abilities, Bot, Phase
from tests.skullking.states import rows_of

Stepper = Callable[[np.ndarray, np.ndarray], None]

CARDS = {
    "SK": 0,
    "WH": 1,
    "KR": 2,
    **{name: 5 + i for i, name in enumerate(("Rosie", "Bendt", "Rascal", "Jade", "Harry"))},
    **{f"MM{i}": 2 + i for i in (1, 2)},
    **{f"ES{i}": 65 + i for i in range(1, 6)},
    **{f"LO{i}": 71 + i for i in (1, 2)},
    **{f"{s}{n}": first + n for s, first in zip("RPMC", (9, 23, 37, 51), strict=True)
       for n in range(1, 15)},
    "TG": 71,
    "TGe": 71,
    "TGp": 71,
}  # fmt: skip


def cards(names: str) -> list[int]:
    """Convert ``"P2 R9 ES1"`` to card ids."""
    return [CARDS[name] for name in names.split()]


def plays(names: str, seats: Iterable[int] = range(8)) -> list[Play]:
    """Convert card names to plays, by seats from 0 if no others are given."""
    return [
        Play(seat, CARDS[name], int(name == "TGp"))
        for seat, name in zip(seats, names.split(), strict=False)
    ]


# -- the scenarios ------------------------------------------------------------------------------

PI = {
    "late_suit": True,
    "trump_any_time": True,
    "tigress_bonus": False,
    "two_player": "plain",
    "abilities": "off",
}


@dataclass(frozen=True)
class Trick:
    """A complete trick and what comes of it; ``options`` are those of ``SkullKingConfig``."""

    id: str
    names: str
    winner: int  # -1: destroyed
    leader: int
    bonus: int = 0
    alliances: tuple[tuple[int, int], ...] = ()
    options: dict[str, Any] = field(default_factory=dict)


TRICKS = [
    Trick("A1", "P7 P12 P8", 1, 1),
    Trick("A2", "C12 C5 M14", 0, 0, 10),
    Trick("A3", "C12 C5 R2", 2, 2),
    Trick("A4", "ES1 M6 P14 M11", 3, 3, 10),
    Trick("A5", "ES2 TGe LO1 ES3", 0, 0, 0, ((2, 0),)),
    Trick("A6", "R14 Rosie Harry P3", 1, 1, 20),
    Trick("A7", "MM1 Bendt M2", 1, 1, 20),
    Trick("A8", "Jade SK MM2", 2, 2, 40),
    Trick("A9", "C14 Rascal SK MM1", 3, 3, 50),
    Trick("A10", "Rosie TGp SK Harry R1", 2, 2, 90),
    Trick("A10-pi", "Rosie TGp SK Harry R1", 2, 2, 60, options=PI),
    Trick("A11", "MM2 TGp P14", 1, 1, 30),
    Trick("A11-pi", "MM2 TGp P14", 1, 1, 10, options=PI),
    Trick("A12", "P10 KR Rosie P12", -1, 2),
    Trick("A12-left", "P10 KR Rosie P12", -1, 2, options={"kraken_leader": "left_of_kraken"}),
    Trick("A13", "R2 Rosie C14 SK WH", 2, 2, 10),
    Trick("A14", "P9 WH R9 M3", 0, 0),
    Trick("A15", "ES1 Jade MM1 WH", -1, 3),
    Trick("A15-would", "ES1 Jade MM1 WH", -1, 1, options={"whale_void_leader": "would_win"}),
    Trick("A16", "C12 R3 WH KR", -1, 1),
    Trick("A16-left", "C12 R3 WH KR", -1, 0, options={"kraken_leader": "left_of_kraken"}),
    Trick("A17", "KR P4 WH R3", 1, 1),
    Trick("A18", "MM1 SK MM2", 0, 0, 40),
    Trick("A19", "LO1 P5 P9 M14", 2, 2, 10, ((0, 2),)),
    Trick("A20", "TGe SK Bendt", 1, 1, 30),
    # further cases of docs/skullking.md, 4
    Trick("beasts-only-kraken", "WH KR", -1, 1),
    Trick("beasts-only-whale", "KR WH", -1, 1),
    Trick("beasts-only-whale-would", "KR WH", -1, 1, options={"whale_void_leader": "would_win"}),
    Trick("escapes-and-whale", "ES1 WH ES2", -1, 1),
    Trick("whale-equal-numbers", "M3 P9 WH R9", 1, 1),
    Trick("whale-trump-14", "ES1 R14 WH C14", 1, 1, 30),
    Trick("whale-loot", "LO2 M4 WH", 1, 1, 0, ((0, 1),)),
    Trick("kraken-loot", "LO2 M4 KR", -1, 1),
    Trick("kraken-mermaid-king", "SK KR MM1 Jade", -1, 2),
    Trick("own-loot", "LO1 ES1 LO2", 0, 0, 0, ((2, 0),)),
    Trick("pirate-before-tigress", "Jade TGp MM1", 0, 0, 20),
    Trick("tigress-pirate-last", "P3 MM1 P14 TGp", 3, 3, 30),
    Trick("eight-escapes", "ES1 ES2 LO1 ES3 LO2 TGe ES4 ES5", 0, 0, 0, ((2, 0), (4, 0))),
    Trick("king-takes-all", "Rosie Bendt Rascal Jade Harry TGp R14 SK", 7, 7, 200),
    Trick("tigress-captive-of-mermaid", "TGp SK MM1 MM2", 2, 2, 40),
]


@dataclass(frozen=True)
class Legality:
    """What a hand may play to the cards on the table."""

    id: str
    table: str
    hand: str
    legal: str
    options: dict[str, Any] = field(default_factory=dict)


LEGALITY = [
    Legality("A21", "P10", "P2 R9 M3 ES1", "P2 ES1"),
    Legality("A21-pi", "P10", "P2 R9 M3 ES1", "P2 R9 ES1", PI),
    Legality("A22", "Rosie P5", "P2 M3", "P2 M3"),
    Legality("A22-pi", "Rosie P5", "P2 M3", "P2", PI),
    Legality("A23", "ES1 LO2 R4", "R1 C9 MM1", "R1 MM1"),
    Legality("A23-pi", "ES1 LO2 R4", "R1 C9 MM1", "R1 MM1", PI),
    Legality("A24", "M3 WH", "M9 C4", "M9"),
    Legality("A24-pi", "M3 WH", "M9 C4", "M9", PI),
    Legality("A25", "TGe C5", "C2 P8", "C2"),
    Legality("A25-pi", "TGe C5", "C2 P8", "C2", PI),
    Legality("A26", "TGp C5", "C2 P8", "C2 P8"),
    Legality("A26-pi", "TGp C5", "C2 P8", "C2", PI),
    Legality("A27", "KR M6", "M1 P8 R2", "M1 P8 R2"),
    Legality("A27-pi", "KR M6", "M1 P8 R2", "M1 R2", PI),
    # further cases of docs/skullking.md, 3.5
    Legality("escape-then-pirate", "ES1 Rosie M6", "M1 P8", "M1 P8"),
    Legality("character-after-suit", "P10 SK", "P2 R9 TG", "P2 TG"),
    Legality("void", "P10", "M2 R9 C3", "M2 R9 C3"),
    Legality("void-with-special", "P10", "M2 SK", "M2 SK"),
    Legality("only-specials", "P10", "LO1 TG WH", "LO1 TG WH"),
    Legality("trump-led-pi", "R4", "R1 C9", "R1", PI),
    Legality("open", "ES1 LO1", "M2 R9 C3", "M2 R9 C3"),
]


@dataclass(frozen=True)
class Score:
    """The points of a round for one player."""

    id: str
    num_cards: int
    bid: int
    won: int
    points: int
    bonus: int = 0  # captured
    alliances: int = 0  # paid
    unpaid: int = 0  # alliances that are not, because a member missed its bid
    bet: int = 0
    change: int = 0  # with Harry
    scoring: str = "skull_king"
    cannonball: bool = False


SCORES = [
    Score("A28", 6, 3, 3, 90, bonus=30),
    Score("A29", 6, 2, 4, -20, bonus=40),
    Score("A30", 7, 0, 0, 70),
    Score("A31", 9, 0, 2, -90),
    Score("A33", 2, 0, 0, 60, alliances=2),
    Score("A34", 5, 2, 3, 60, change=1),
    Score("A35", 4, 1, 1, 40, bet=20),
    Score("A36", 4, 2, 1, -30, bet=20),
    Score("A37", 4, 0, 1, 20, scoring="rascal"),
    Score("A38", 6, 2, 2, 90, scoring="rascal_cannon", cannonball=True),
    Score("A39", 6, 2, 3, 0, bonus=30, scoring="rascal_cannon", cannonball=True),
    Score("example-8", 7, 3, 2, 45, bonus=20, scoring="rascal"),
    Score("harry-spoils", 5, 3, 3, -10, change=-1, bonus=20),
    Score("harry-with-bet", 5, 2, 3, 80, change=1, bet=20),
    Score("rascal-exact", 7, 3, 3, 90, bonus=20, scoring="rascal"),
    Score("rascal-off-by-two", 7, 3, 5, 0, bonus=20, scoring="rascal"),
    Score("rascal-bet-off-by-one", 7, 3, 2, 15, bet=20, scoring="rascal"),
    Score("loot-off-by-one", 7, 3, 2, -10, unpaid=2),
    Score("rascal-loot-off-by-one", 7, 3, 2, 35, unpaid=1, scoring="rascal"),
    Score("grapeshot", 6, 2, 3, 45, bonus=30, scoring="rascal_cannon"),
    Score("cannon-bonus-bet", 6, 2, 2, 130, 30, bet=10, scoring="rascal_cannon", cannonball=True),
    Score("cannon-off-bet", 6, 2, 3, -10, bet=10, scoring="rascal_cannon", cannonball=True),
]


@dataclass(frozen=True)
class Round:
    """A whole round, played from a decision of the agent as the script says."""

    id: str
    agent: int
    leader: int
    bids: tuple[int, ...]
    tricks: tuple[tuple[str, tuple[int, ...]], ...]  # cards in play order, and who played them
    decisions: dict[Phase, int]
    totals: tuple[int, ...]
    already: int  # cards on the table at the agent's first decision


ROUNDS = [
    Round(
        "A40",
        agent=1,
        leader=0,
        bids=(1, 1, 1),
        tricks=(
            ("P14 Rosie P9", (0, 1, 2)),
            ("ES1 SK R5", (2, 0, 1)),
            ("LO1 P2 MM1", (0, 1, 2)),
        ),
        decisions={Phase.ROSIE: 1},  # the seat after the agent's: 2
        totals=(40, 30, 40),
        already=1,
    ),
    Round(
        "A41",
        agent=0,
        leader=1,
        bids=(1, 0, 1),
        tricks=(("C8 KR C10", (1, 2, 0)), ("Harry MM2 R2", (0, 1, 2))),
        decisions={Phase.HARRY: 1},
        totals=(40, 20, -10),
        already=2,
    ),
]


# -- rows ---------------------------------------------------------------------------------------


_CONFIGS: dict[bytes, SkullKingConfig] = {}


def setup(**options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the records of rules and knobs for options of ``SkullKingConfig``."""
    config = SkullKingConfig(**options)
    rules, knobs = config.rules_record(), config.default_knobs(1)
    _CONFIGS[rules.tobytes() + knobs.tobytes()] = config
    return rules, knobs


def game_of(rules: Any, knobs: Any) -> SkullKingGame:
    """Return the game of records that `setup` made."""
    return SkullKingGame(_CONFIGS[rules.tobytes() + knobs.tobytes()])


def make_row(
    rules: Any,
    knobs: Any,
    *,
    agent: int,
    hands: Sequence[Sequence[int]],
    bids: Sequence[int],
    table: Sequence[Play] = (),
    tricks: int = 0,
    gone: Sequence[int] = (),
    seed: int = 0,
    **fields: Any,
) -> np.ndarray:
    """Return rows of shape (1,) with a consistent position in which the agent is to play a card.

    Parameters
    ----------
    rules, knobs : ndarray
        Records of ``SkullKingConfig``.
    agent : int
        His seat; the knobs say who plays the others.
    hands : sequence of hands
        What every seat still holds, Graybeard's (top card first) included.
    bids : sequence of int
        Of every player.
    table : sequence of Play
        The current trick so far.
    tricks : int
        Completed tricks of the round.
    gone : sequence of int
        Some of the cards of those tricks; the others are low cards that nobody holds.
    seed : int
        Of the row's generator.
    **fields
        Any attribute of the game, lists given by their first entries. Without ``won`` the player
        after the agent won the completed tricks.
    """
    game = SkullKing(rules, knobs)
    players, num_hands = game.rules.num_players, game.rules.num_hands
    game.rng, game.agent, game.actor = Rng(seed), agent, agent
    for j in range(players):
        game.bots[(agent + j) % players] = game.knobs.opponents[j] if j else Bot.RULE_HARD
    game.abilities = game.rules.abilities if game.knobs.abilities else Abilities.OFF
    game.pirates = game.knobs.pirates
    game.tricks, game.cards = tricks, tricks + len(hands[agent])
    game.round_idx = game.rules.schedule.index(game.cards)
    for seat, hand in enumerate(hands):
        game.hand[seat] = list(hand) if game.is_graybeard(seat) else sorted(hand)
    for card in game.hand[agent]:
        game.learn(card)
    held = {card for hand in hands for card in hand} | {play.card for play in table}
    rest = sorted(
        set(game.rules.deck) - held,
        key=lambda card: (card not in gone, card < 10 or card > 65, card),
    )
    gone, game.stock = rest[: tricks * num_hands], rest[tricks * num_hands :]
    lay_all(game, [Play(0, card, 0) for card in gone])
    game.table_card, game.table_seat, game.table_mode = [], [], []
    lay_all(game, table)
    game.leader = table[0].seat if table else agent
    game.human_leader = game.first_leader = 0 if game.leader == players else game.leader
    game.won[(agent + 1) % players] = game.played_last[(agent + 1) % players] = tricks
    game.turn, game.phase = agent, Phase.PLAY
    game.bid[:players] = bids
    for name, value in fields.items():
        old = getattr(game, name)
        padded = isinstance(value, tuple) and isinstance(old, list) and len(old) > len(value)
        setattr(game, name, [*value, *old[len(value) :]] if padded else value)
    return rows_of(game)


def lay_all(game: SkullKing, table: Sequence[Play]) -> None:
    """Put cards on the table as if they had just been played from the hands."""
    for seat, card, mode in table:
        game.hand[seat].append(card)
        game.lay(seat, card, mode)


def spare(held: Iterable[int], numbered: bool = True) -> list[int]:
    """Return cards that nobody holds: numbered ones from the lowest, or Escapes and pirates."""
    held = set(held)
    pool = sorted(range(10, 66), key=lambda card: ((card - 10) % 14, card))
    return [card for card in (pool if numbered else [*range(66, 71), 5, 6]) if card not in held]


def trick_row(scenario: Trick) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Put a trick into a row: the agent, last, completes it with the returned action.

    Everybody holds one more card, so that the round goes on.

    Returns
    -------
    rules, knobs, rows : ndarray
    action : int
    """
    trick = plays(scenario.names)
    agent = len(trick) - 1
    options = {"num_players": len(trick), "two_player": "plain", **scenario.options}
    rules, knobs = setup(tier="flat", **options)
    held = [play.card for play in trick]
    own = [trick[-1].card, spare(held, numbered=False)[0]]
    # who did not follow holds no card of the suit that was led
    suits = {SUIT[card] for card in held}
    free = [card for card in spare(held) if SUIT[card] not in suits]
    hands = [[card] for card in free[:agent]] + [own]
    bids = [0] * agent + [trick[-1].mode]  # the Tigress is a pirate if tricks are needed
    rows = make_row(rules, knobs, agent=agent, hands=hands, bids=bids, table=trick[:-1])
    return rules, knobs, rows, sorted(own).index(trick[-1].card)


def check_trick(scenario: Trick, row: Any) -> None:
    """Assert that the row shows the outcome of the trick."""
    agent = len(scenario.names.split()) - 1
    expected = [0] * 8
    if scenario.winner >= 0:
        expected[scenario.winner] = 1
    pairs = row["alliances"][: row["num_alliances"]].tolist()
    assert row["won"].tolist() == expected
    assert row["destroyed"] == (scenario.winner < 0)
    assert row["leader"] == scenario.leader
    assert row["bonus"].tolist() == [scenario.bonus * won for won in expected]
    assert [tuple(pair) for pair in pairs] == list(scenario.alliances)
    assert row["ev_trick"] == (1 if scenario.winner == agent else 2)
    paid = int(np.dot(row["ev_captures"], (10, 20, 20, 30, 40)))
    assert paid == (scenario.bonus if scenario.winner == agent else 0)
    assert row["tricks"] == 1
    assert row["played_last"].tolist() == [int(seat == agent) for seat in range(8)]


def legality_row(scenario: Legality) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
    """Put a hand and a table into a row.

    Returns
    -------
    rules, knobs, rows : ndarray
    legal : list of int
        Legal actions of the agent.
    """
    table, hand = plays(scenario.table), cards(scenario.hand)
    agent = len(table)
    players = max(3, agent + 1)
    rules, knobs = setup(**{"tier": "flat", "num_players": players, **scenario.options})
    pool = iter(spare([*hand, *(play.card for play in table)]))
    hands = [[next(pool) for _ in range(len(hand) - (s < agent))] for s in range(players)]
    hands[agent] = hand
    rows = make_row(rules, knobs, agent=agent, hands=hands, bids=[0] * players, table=table)
    legal = [slot for slot, card in enumerate(sorted(hand)) if card in cards(scenario.legal)]
    return rules, knobs, rows, legal


def score_row(scenario: Score) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
    """Put a score into a row: the agent (seat 2) loses the last trick to seat 0.

    Seats 0 and 1 are exact, and are the partners of the agent's alliances.

    Returns
    -------
    rules, knobs, rows : ndarray
    actions : list of int
        The last card, and Harry's change if the agent won a trick with him.
    """
    s = scenario
    rules, knobs = setup(tier="ability", num_players=3, scoring=s.scoring)
    others = s.num_cards - 1 - s.won
    loots = cards("LO1 LO2")[: s.alliances + s.unpaid]
    rows = make_row(
        rules,
        knobs,
        agent=2,
        hands=[[], [], cards("ES5")],
        bids=[1, others, s.bid],
        table=plays("M12 M11"),
        tricks=s.num_cards - 1,
        gone=[*loots, *cards("Rascal") * (s.bet > 0), *cards("Harry") * (s.change != 0)],
        won=(0, others, s.won),
        bonus=(0, 0, s.bonus),
        cannon=(0, 0, int(s.cannonball)),
        alliances=[(2, 0), (2, 1)][: len(loots)],
        rascal_seat=2 if s.bet else -1,
        rascal_bet=s.bet,
        harry_seat=2 if s.change else -1,
    )
    return rules, knobs, rows, [0, s.change + 1] if s.change else [0]


# -- moving rows --------------------------------------------------------------------------------


def reference_stepper(rules: Any, knobs: Any) -> Stepper:
    """Return a stepper that moves rows with the reference."""
    game = SkullKing(rules, knobs)
    lanes = [to_namespace(knob) for knob in np.asarray(knobs)]

    def step(rows: np.ndarray, actions: np.ndarray) -> None:
        for i, (action, game.knobs) in enumerate(zip(actions.tolist(), lanes, strict=True)):
            load(game, rows[i])
            game.step(action)
            rows[i] = rows_of(game)[0]

    return step


def play(rows: np.ndarray, actions: Iterable[int], stepper: Stepper) -> Any:
    """Take the actions one after another in a batch of one; return the row."""
    for action in actions:
        stepper(rows, np.array([action], np.int32))
    return rows[0]


def legal_actions(rows: np.ndarray, rules: Any, knobs: Any) -> list[int]:
    """Return the legal actions in a batch of one, by the reference."""
    return unpack(rows[0], rules, knobs).legal_actions()


def play_out(rows: np.ndarray, rules: Any, knobs: Any, stepper: Stepper, seed: int = 0) -> Any:
    """Yield the row, then take random legal actions, until the episode is over."""
    rng = Rng(seed)
    while True:
        yield rows[0]
        if rows[0]["done"]:
            return
        legal = legal_actions(rows, rules, knobs)
        play(rows, [legal[rng.bounded(len(legal))]], stepper)


def follow(scenario: Round, rows: np.ndarray, stepper: Stepper) -> list[np.ndarray] | None:
    """Play a round by its script; return the row after every step.

    None if a bot played another card.
    """
    history = []
    while not rows[0]["done"]:
        row = rows[0]
        if row["phase"] == Phase.PLAY:
            names, seats = scenario.tricks[row["tricks"]]
            ids, n = cards(names), int(row["table_len"])
            table = row["table_card"][:n].tolist()
            order = [*row["table_seat"][:n].tolist(), scenario.agent]
            if table != ids[:n] or order != list(seats[: n + 1]):
                return None
            hand = row["hand"][scenario.agent, : row["hand_len"][scenario.agent]].tolist()
            action = hand.index(ids[n])
        else:
            action = scenario.decisions[Phase(int(row["phase"]))]
        play(rows, [action], stepper)
        history.append(rows.copy())
    return history


@cache
def _round_start(index: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    s = ROUNDS[index]
    rules, knobs = setup(tier="ability", num_players=3, opponents="random")
    table = plays(*s.tricks[0])[: s.already]
    laid = {card for _, card, _ in table}
    hands: list[list[int]] = [[], [], []]
    for trick in s.tricks:
        for seat, card, _ in plays(*trick):
            if card not in laid:
                hands[seat].append(card)
    for seed in range(10_000):
        rows = make_row(
            rules, knobs, agent=s.agent, hands=hands, bids=s.bids, table=table, seed=seed
        )
        if follow(s, rows.copy(), reference_stepper(rules, knobs)) is not None:
            return rules, knobs, rows
    raise AssertionError(f"{s.id}: no seed makes the bots follow the script")


def round_row(scenario: Round) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rules, knobs, rows from which random bots play the round as scripted."""
    rules, knobs, rows = _round_start(ROUNDS.index(scenario))
    return rules, knobs, rows.copy()


def last_trick_row(card: int, tier: str = "ability") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a row in which the agent, seat 2, lays ``card`` to M2, M3 as the last of 4 tricks."""
    rules, knobs = setup(tier=tier, num_players=3)
    rows = make_row(
        rules, knobs, agent=2, hands=[[], [], [card]], bids=[2, 1, 1], table=plays("M2 M3"),
        tricks=3, won=(2, 1, 0),
    )  # fmt: skip
    return rules, knobs, rows


def bendt_row(players: int = 4, tier: str = "ability") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a row of round 10 in which the agent, last in trick 1, wins it with slot 0: Bendt."""
    rules, knobs = setup(tier=tier, num_players=players, abilities="agent")
    agent = players - 1
    table = plays(" ".join(["M2", "M3", "M5", "M6", "M7", "M8", "M9"][:agent]))
    own = cards("Bendt P1 P2 P3 C1 C2 C3 R1 R2 ES1")
    pool = iter(spare([*own, *(play.card for play in table)]))
    hands = [[next(pool) for _ in range(9)] for _ in range(agent)] + [own]
    rows = make_row(rules, knobs, agent=agent, hands=hands, bids=[2] * players, table=table)
    return rules, knobs, rows


def graybeard_row(ghost: str, pile: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a row of 2 players: seat 0 led P5, Graybeard laid ``ghost``, the agent (1) has P2."""
    rules, knobs = setup(tier="worker", num_players=2)
    rows = make_row(
        rules, knobs, agent=1, hands=[cards("P6 M3"), cards("P2 P4 ES1"), cards(pile)],
        bids=[1, 1], table=plays(f"P5 {ghost}", (0, GRAYBEARD)),
    )  # fmt: skip
    return rules, knobs, rows
