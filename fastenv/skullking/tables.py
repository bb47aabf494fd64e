"""Constants of all three implementations (docs/skullking.md, 2, 9.2, 10.1 and 10.2).

Plain tuples, so that the reference needs no NumPy; `state.TABLES` packs them into
one record that the compiled code receives by pointer, so that no number is typed twice.
"""

from __future__ import annotations

from enum import IntEnum

NUM_CARDS = 74
MAX_PLAYERS = 8
MAX_HAND = 11  # ten cards, or nine plus two drawn with Bendt
MAX_CARDS = 10  # cards dealt to a hand
MAX_ROUNDS = 20
NUM_ACTIONS = 11
NUM_FEATURES = 9
INVALID_LIMIT = 50  # the 50th invalid action of an episode truncates it
GRAYBEARD = 2  # seat and hand of the ghost in a game of two (docs/skullking.md, 7.2)
BID_SHARE_UNIT = 2520  # lcm(1..10): bid/N is a whole number of 1/2520

# fmt: off
KING, WHALE, KRAKEN = 0, 1, 2
MERMAIDS = (3, 4)
ROSIE, BENDT, RASCAL, JADE, HARRY = 5, 6, 7, 8, 9
PIRATES = (ROSIE, BENDT, RASCAL, JADE, HARRY)
ESCAPES = (66, 67, 68, 69, 70)
TIGRESS = 71
LOOTS = (72, 73)
EXPANSION = (WHALE, KRAKEN, *LOOTS)
SPECIALS = (*range(10), *range(66, 74))
TRUMP = 3
# fmt: on


class CardClass(IntEnum):
    """Class of a card; the Tigress takes the class ESCAPE or PIRATE when she is played."""

    NUMBER = 0
    ESCAPE = 1
    LOOT = 2
    TIGRESS = 3
    PIRATE = 4
    MERMAID = 5
    KING = 6
    KRAKEN = 7
    WHALE = 8


class Phase(IntEnum):
    """What the agent has to decide next. ``CANNON`` follows BID in `rascal_cannon`.

    See docs/skullking.md, 8.1.
    """

    BID = 0
    PLAY = 1
    TIGRESS = 2
    ROSIE = 3
    BENDT_1 = 4
    BENDT_2 = 5
    RASCAL = 6
    HARRY = 7
    CANNON = 8
    END = 9


class Tier(IntEnum):
    """Views of the game for an agent (docs/skullking.md, 10)."""

    FLAT = 0
    MANAGER = 1
    WORKER = 2
    ABILITY = 3


class Bot(IntEnum):
    """Opponents (docs/skullking.md, 9); EASY, MEDIUM, HARD are consecutive.

    ``EXTERNAL`` is no bot: the caller of ``step`` decides for that seat.
    """

    RANDOM = 0
    RULE_EASY = 1
    RULE_MEDIUM = 2
    RULE_HARD = 3
    RULE_PI_EASY = 4
    RULE_PI_MEDIUM = 5
    RULE_PI_HARD = 6
    HEURISTIC = 7
    EXTERNAL = 8


BOT_NAMES = {bot.name.lower(): bot for bot in Bot if bot != Bot.EXTERNAL}


class Scoring(IntEnum):
    """docs/skullking.md, 5 and 7.1."""

    SKULL_KING = 0
    RASCAL = 1
    RASCAL_CANNON = 2


class Abilities(IntEnum):
    """Who decides on pirate abilities (docs/skullking.md, 6)."""

    OFF = 0
    AUTO = 1
    AGENT = 2


class Reward(IntEnum):
    """Which reward `step` returns; all three are in info (docs/skullking.md, 10.3)."""

    SHAPED = 0
    POINTS = 1
    POINTS_RANK = 2


class GoalMode(IntEnum):
    """How a Worker episode gets its goal (docs/skullking.md, 10.5)."""

    UNIFORM = 0
    FIXED = 1
    ESTIMATE = 2
    MANAGER = 3


def _card_class(card: int) -> CardClass:
    if card == KING:
        return CardClass.KING
    if card == WHALE:
        return CardClass.WHALE
    if card == KRAKEN:
        return CardClass.KRAKEN
    if card in MERMAIDS:
        return CardClass.MERMAID
    if card in PIRATES:
        return CardClass.PIRATE
    if card in ESCAPES:
        return CardClass.ESCAPE
    if card == TIGRESS:
        return CardClass.TIGRESS
    if card in LOOTS:
        return CardClass.LOOT
    return CardClass.NUMBER


def _suit(card: int) -> int:
    return (TRUMP, 0, 1, 2)[(card - 10) // 14] if 10 <= card < 66 else -1


def _number(card: int) -> int:
    return (card - 10) % 14 + 1 if 10 <= card < 66 else 0


CLASS = tuple(_card_class(c) for c in range(NUM_CARDS))
SUIT = tuple(_suit(c) for c in range(NUM_CARDS))  # -1 for specials
NUMBER = tuple(_number(c) for c in range(NUM_CARDS))  # 0 for specials


def _strength(card: int) -> float:
    """Card strength `s` of docs/skullking.md, 10.2."""
    special = {
        CardClass.KING: 0.95,
        CardClass.PIRATE: 0.80,
        CardClass.TIGRESS: 0.55,
        CardClass.WHALE: 0.40,
        CardClass.MERMAID: 0.35,
        CardClass.KRAKEN: 0.25,
        CardClass.LOOT: 0.08,
        CardClass.ESCAPE: 0.05,
    }
    if CLASS[card] != CardClass.NUMBER:
        return special[CLASS[card]]
    return (0.5 if SUIT[card] == TRUMP else 0.2) + 0.35 * NUMBER[card] / 14


def _play_strength(card: int) -> float:
    """Play strength of the rule-based bot; the Whale is 0.60 with two high cards.

    See docs/skullking.md, 9.2.
    """
    special = {
        CardClass.ESCAPE: 0.0,
        CardClass.LOOT: 0.05,
        CardClass.KRAKEN: 0.25,
        CardClass.WHALE: 0.35,
        CardClass.TIGRESS: 0.55,
        CardClass.MERMAID: 0.75,
        CardClass.PIRATE: 0.85,
        CardClass.KING: 1.0,
    }
    if CLASS[card] != CardClass.NUMBER:
        return special[CLASS[card]]
    if SUIT[card] == TRUMP:
        return 0.4 + 0.4 * NUMBER[card] / 14
    return 0.1 + 0.3 * NUMBER[card] / 14


def _bid_value(card: int) -> int:
    """Bid value of the rule-based bot in hundredths (docs/skullking.md, 9.2)."""
    special = {
        CardClass.KING: 90,
        CardClass.PIRATE: 60,
        CardClass.MERMAID: 40,
        CardClass.TIGRESS: 35,
        CardClass.WHALE: 20,
        CardClass.KRAKEN: 15,
        CardClass.LOOT: 5,
        CardClass.ESCAPE: 0,
    }
    number = NUMBER[card]
    if CLASS[card] != CardClass.NUMBER:
        return special[CLASS[card]]
    if SUIT[card] == TRUMP:
        return 70 if number >= 10 else 40 if number >= 6 else 20
    return 30 if number >= 12 else 15 if number >= 8 else 0


STRENGTH = tuple(_strength(c) for c in range(NUM_CARDS))
PLAY_STRENGTH = tuple(_play_strength(c) for c in range(NUM_CARDS))
PLAY_STRENGTH_WHALE_HIGH = 0.60
BID_VALUE = tuple(_bid_value(c) for c in range(NUM_CARDS))
BID_NOISE = (1.0, 0.5, 0.2)  # half width of the bid noise for EASY, MEDIUM, HARD

# Rows 74 and 75 of FEATURES are the Tigress on the table, as escape and as pirate; row 71 is her
# in the hand.
TIGRESS_AS_ESCAPE, TIGRESS_AS_PIRATE = 74, 75


def _features(card: int) -> tuple[float, ...]:
    """Nine card features of docs/skullking.md, 10.1 (encoding `v2`)."""
    f = [0.0] * NUM_FEATURES
    if card == TIGRESS_AS_ESCAPE:
        f[7] = 1.0
    elif card == TIGRESS_AS_PIRATE:
        f[5] = 1.0
    elif CLASS[card] == CardClass.NUMBER:
        f[SUIT[card]] = 1.0
        f[4] = NUMBER[card] / 14
    elif CLASS[card] == CardClass.PIRATE:
        f[5] = 1.0
    elif CLASS[card] == CardClass.TIGRESS:
        f[5] = f[7] = 0.5
    elif CLASS[card] in (CardClass.KING, CardClass.MERMAID):
        f[6] = 1.0 if card == KING else -1.0
    elif CLASS[card] in (CardClass.ESCAPE, CardClass.LOOT):
        f[7] = 1.0 if CLASS[card] == CardClass.ESCAPE else 0.75
    else:
        f[8] = 1.0 if card == KRAKEN else -1.0
    return tuple(f)


FEATURES = tuple(_features(c) for c in range(NUM_CARDS + 2))

ROUND_WEIGHTS = {
    "plan": (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6, 2.0),
    "linear": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0),
    "uniform": (1.0,) * 10,
}
SCHEDULES = {
    "classic": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
    "even_keeled": (2, 2, 4, 4, 6, 6, 8, 8, 10, 10),
    "even_keeled_2024": (2, 4, 6, 8, 10),
    "skip_to_the_brawl": (6, 7, 8, 9, 10),
    "swift_n_salty_skirmish": (5, 5, 5, 5, 5),
    "broadside_barrage": (10,) * 10,
    "whirlpool": (9, 9, 7, 7, 5, 5, 3, 3, 1, 1),
    "whirlpool_2024": (9, 7, 5, 3, 1),
    "past_your_bedtime": (1,),
}
DECKS = {
    "full74": (),
    "base70": EXPANSION,
    "no_kraken": (KRAKEN,),
    "no_whale": (WHALE,),
    "no_loot": LOOTS,
}
