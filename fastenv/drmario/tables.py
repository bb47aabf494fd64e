"""Constants of Dr. Mario, shared by all implementations; docs/drmario.md explains them."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

ROWS, COLUMNS = 16, 8
CELLS = ROWS * COLUMNS
SPAWN_ROW, SPAWN_COLUMN = 15, 3  # of the pill's left half, the row counted from the bottom
SPAWN_CELLS = (3, 4)


class Color(IntEnum):
    """Colours as the rules number them; observations use :data:`CANONICAL`."""

    YELLOW = 0
    RED = 1
    BLUE = 2


NUM_COLORS = 3
CANONICAL = (1, 0, 2)  # by colour, and by itself the other way: red 0, yellow 1, blue 2
COLOR_NAMES = ("red", "yellow", "blue")  # in canonical order
NUM_PILLS = 9  # first colour * 3 + second colour


class Tile(IntEnum):
    """High nibble of a cell; the low one is the colour."""

    TOP = 0x40
    BOTTOM = 0x50
    LEFT = 0x60
    RIGHT = 0x70
    SINGLE = 0x80
    CLEARING = 0xB0  # marked by a scan
    VIRUS = 0xD0
    EMPTIED = 0xF0  # until the next drop pass


FREE = 0xF0  # a cell of at least this is free
EMPTY = 0xFF
TILES = (*(kind | color for kind in Tile for color in range(NUM_COLORS)), EMPTY)

# The cell of the other half, and its tile, by the tile of a half.
PARTNERS = {
    Tile.TOP: (COLUMNS, Tile.BOTTOM),
    Tile.BOTTOM: (-COLUMNS, Tile.TOP),
    Tile.LEFT: (1, Tile.RIGHT),
    Tile.RIGHT: (-1, Tile.LEFT),
}

# By rotation: (rows up, columns right, tile) of the first half and of the second, from the
# bottom-left cell of the pill's box.
HALVES = (
    ((0, 0, Tile.LEFT), (0, 1, Tile.RIGHT)),
    ((0, 0, Tile.BOTTOM), (1, 0, Tile.TOP)),
    ((0, 1, Tile.RIGHT), (0, 0, Tile.LEFT)),
    ((1, 0, Tile.TOP), (0, 0, Tile.BOTTOM)),
)


class Button(IntEnum):
    """One byte of buttons."""

    RIGHT = 0x01
    LEFT = 0x02
    DOWN = 0x04
    UP = 0x08
    START = 0x10
    SELECT = 0x20
    B = 0x40
    A = 0x80


DPAD = 0x0F


class Mode(IntEnum):
    """Mode of a player."""

    DEMO = 0
    PLAYING = 4
    LOST = 5
    INTRO = 8


class Next(IntEnum):
    """What a player does in a frame."""

    FALLING = 0
    PLACED = 1
    ATTACK = 2
    SENT = 3
    ADVANCE = 5
    SEND = 6


class Reason(IntEnum):
    """How an episode ended."""

    NONE = 0
    CLEAR = 1
    TOPOUT = 2
    TIMEOUT = 3


REASONS = ("none", "clear", "topout", "timeout")

# -- pills and viruses (docs/drmario.md, 2) --------------------------------------------------------

RESERVE = 128
FIRST_SEED = 2  # 0 and 1 give no level
LAST_SEED = 0xFFFF
ORBIT = 32_767  # states of the generator, all in one cycle
VIRUS_COLORS = (0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1, 2, 1)
LAST_VIRUS_LEVEL = 20  # the counts and heights of higher levels are those of this one
MAX_VIRUSES = 84
VIRUS_HEIGHTS = (9,) * 15 + (10, 10, 11, 11, 12, 12)  # the highest row, from the bottom, by level
HIGHEST_LEVEL = 24
LOWEST_LEVEL = -15  # those below 0 are tasks of our own (docs/drmario.md, 14.3)
FEWEST_VIRUSES_LEVEL = -3  # from here to -1: 1, 2, 3 viruses; below, none, and matches are the goal

# -- the frame (docs/drmario.md, 3 to 8) -----------------------------------------------------------

FIRST_FRAME = 134
INTRO_FRAMES = 93
IDLE = 0xFF  # of status_row

SPEEDS = ("low", "medium", "high")
SPEED_BASES = (15, 25, 31)
MAX_SPEED_UPS = 49
# fmt: off
GRAVITY = (
    69, 67, 65, 63, 61, 59, 57, 55, 53, 51,
    49, 47, 45, 43, 41, 39, 37, 35, 33, 31,
    29, 27, 25, 23, 21, 19, 18, 17, 16, 15,
    14, 13, 12, 11, 10, 9, 9, 8, 8, 7,
    7, 6, 6, 5, 5, 5, 5, 5, 5, 5,
    5, 5, 5, 5, 5, 4, 4, 4, 4, 4,
    3, 3, 3, 3, 3, 2, 2, 2, 2, 2,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    0,
)
# fmt: on
MAX_GRAVITY = max(GRAVITY[base] for base in SPEED_BASES)

FIRST_REPEAT = 16  # frames a direction is held until it repeats
NEXT_REPEAT = 10  # hor_velocity after a repeat
BLOCKED_REPEAT = 15  # and where a cell was in the way

MATCH = 4  # cells of one colour in a line
THROW_SKIPPED = (1, 6, 23)  # values of throw_frame that are passed over
LAST_THROW = 24

SCORES = (100, 200, 300)  # of the first virus of a placement, by speed
# By viruses of the placement before. The console's table ends with the 11th; a 0 counts as 256.
SCORE_FACTORS = (1, 2, 4, 8, 16, 32, 32, 32, 32, 32, 32, 10, 3, 256)
MAX_SCORED = len(SCORE_FACTORS) - 1

# -- two players (docs/drmario.md, 9) --------------------------------------------------------------

MIN_ATTACK, MAX_ATTACK = 2, 4
# By size: the mask of the frame that gives the first column, and the columns from there.
GARBAGE = {2: (3, (0, 4)), 3: (3, (0, 2, 4)), 4: (1, (0, 2, 4, 6))}

REGISTRY_SEEDS = 120  # of a level in the seed registry (docs/drmario.md, 15.4)

# -- demo (docs/drmario.md, 10) --------------------------------------------------------------------

DEMO_LEVEL, DEMO_SPEED = 10, 1
DEMO_INTRO = 128
DEMO_FRAME = 1
DEMO_PREROLL = 7
DEMO_INPUTS = 256

# -- placements (docs/drmario.md, 11 and 12) -------------------------------------------------------

ORIENTATIONS = 4  # the second half is right of the first, below, left, above
NUM_PLACEMENTS = ORIENTATIONS * CELLS
INFEASIBLE = 0xFFFF  # cost of a placement that cannot be reached
NO_ACTION = -1
NO_SPAWN = 0xFF  # no pill was decided on yet
MOST = 2**30  # more decisions, frames or pills than an episode can have
MAX_WAIT = 6_000  # frames behind a placement after which an episode is truncated

# How ``greedy`` weighs what a placement leaves (docs/drmario.md, 17.2). Found by the cross-entropy
# method; whole numbers, so that no order of sums counts.
GREEDY = {
    "virus": 1000,
    "half": -12,
    "row_pair": 47,
    "row_triple": 62,
    "column_pair": 83,
    "column_triple": 213,
    "virus_row": 18,
    "virus_column": 136,
    "gap": -11,
    "cover": -338,
    "change": -64,
    "neck": -27,
    "frame": -8,
}
# How the bots that look ahead weigh the same, where frames go on until nothing moves any more
# (docs/drmario.md, 17.3). Found by the same method with ``lookahead2``, at level 20 and high speed.
LOOKAHEAD = {
    "virus": 1000,
    "half": -28,
    "row_pair": 47,
    "row_triple": 23,
    "column_pair": 95,
    "column_triple": 292,
    "virus_row": 20,
    "virus_column": 149,
    "gap": -7,
    "cover": -407,
    "change": -56,
    "neck": -19,
    "frame": -3,
}
# For more than two placements.
LOOKAHEAD_FAR = {
    "virus": 1000,
    "half": -41,
    "row_pair": 47,
    "row_triple": 29,
    "column_pair": 76,
    "column_triple": 292,
    "virus_row": 25,
    "virus_column": 136,
    "gap": -5,
    "cover": -469,
    "change": -79,
    "neck": -13,
    "frame": -5,
}


class Looking(NamedTuple):
    """How a bot looks ahead (docs/drmario.md, 17.3).

    Parameters
    ----------
    first, second : int
        How many first placements are followed, and of each how many second ones; without second
        ones the preview is the last pill that is placed.
    kept, plies, repeats : int
        How many first placements are played on in rollouts, by how many pills behind the third,
        and how often.
    attack : int
        What a run is worth that is sent to the other player.
    """

    first: int
    second: int = 0
    kept: int = 0
    plies: int = 0
    repeats: int = 0
    attack: int = 0


LOOKING_AHEAD = {
    "lookahead2": Looking(8),
    "lookahead3": Looking(4, 2),
    "rollouts": Looking(8, 4, kept=3, plies=6, repeats=2),
    "attack2": Looking(8, attack=3000),
}
ROLLOUT_HASH = 2654435761  # its multiples modulo 2**32 draw the pills of rollouts
NECK_LEFT, NECK_RIGHT = 2, 5  # columns beside the spawn, and in it
NECK_HEIGHT = 9  # which is not too high for them
DECIDED = 10**9  # more than what else can be weighed: a level cleared, or lost

NUM_BUTTONS = 256
NUM_LATCHED = 10
LATCHED_DIRECTIONS = (Button.LEFT, Button.RIGHT, Button.DOWN)
MAX_HEIGHT = 40  # what the height penalty measures at most (docs/drmario.md, 14.1)
STACK = 4  # frames that a frame environment may show


def layout_level(level: int) -> int:
    """Return the level from 0 to 20 that has the bottles of a level (docs/drmario.md, 2, 14.3)."""
    return max(0, min(level, LAST_VIRUS_LEVEL))


def virus_count(level: int) -> int:
    """Return the viruses of a level of at least 0 (docs/drmario.md, 2)."""
    return 4 * (min(level, LAST_VIRUS_LEVEL) + 1)


def virus_height(level: int) -> int:
    """Return the highest row, from the bottom, of viruses of a level (docs/drmario.md, 2)."""
    return VIRUS_HEIGHTS[min(level, LAST_VIRUS_LEVEL)]


def gravity(speed: int, speed_ups: int) -> int:
    """Return the frames that a pill waits in a row, less one (docs/drmario.md, 5.1)."""
    return GRAVITY[min(len(GRAVITY) - 1, SPEED_BASES[speed] + speed_ups)]


def to_bcd(number: int) -> int:
    """Return a number below 100 in packed BCD (docs/drmario.md, 1)."""
    return number // 10 * 16 + number % 10


def from_bcd(byte: int) -> int:
    """Return the number of a packed BCD byte."""
    return (byte >> 4) * 10 + (byte & 15)


def bcd_up(byte: int) -> int:
    """Return a BCD byte plus one, 0xA0 behind 0x99 (docs/drmario.md, 1)."""
    byte += 1
    return byte + 6 if byte & 15 == 10 else byte


def bcd_down(byte: int) -> int:
    """Return a BCD byte minus one (docs/drmario.md, 1)."""
    byte -= 1
    return byte - 6 if byte & 15 == 15 else byte


def match_goal(level: int) -> int:
    """Return the match events that a level without viruses asks for (docs/drmario.md, 14.3)."""
    return 1 + level - LOWEST_LEVEL
