"""One Game Boy as one row of bytes, and what an environment adds to it.

``state_dtype`` is the contract between the implementations: the C struct of the compiled core is
generated from it (``python -m tools.structs`` after a change), and the reference converts with
``pack`` and ``unpack`` in ``position.py``. A row stands between two frames (docs/gameboy.md, 4), so
what follows from the time within a frame, such as LY or the mode of the display, is not in it; two
machines are equal if and only if their rows are equal bytes.

``lane_dtype`` is the row of an environment: the machine, its episode, and behind them what has a
configured length, RAM of the cartridge, frames and visits (docs/gameboy.md, 16).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from fastenv.errors import StateError
from fastenv.gameboy import tables as t
from fastenv.gameboy.cartridge import Cartridge

_HEAD = [
    ("cyc", "i8"),  # T since power-up
    ("instr", "i8"),  # instructions executed since
    ("dot", "i4"),  # T since the frame began; below 0 before the first one
    ("serial_count", "i4"),  # bytes sent
    # -- processor (docs/gameboy.md, 5 and 6) --
    ("pc", "u2"),
    ("sp", "u2"),
    ("a", "u1"),
    ("f", "u1"),
    ("b", "u1"),
    ("c", "u1"),
    ("d", "u1"),
    ("e", "u1"),
    ("h", "u1"),
    ("l", "u1"),
    ("ime", "u1"),
    ("ime_delay", "u1"),  # instructions until EI takes effect: 0, 1
    ("halted", "u1"),
    ("halt_bug", "u1"),  # the next opcode is fetched without counting PC on
    ("stopped", "u1"),
    ("locked", "u1"),  # by an illegal opcode
    # -- timer, serial, DMA, joypad (docs/gameboy.md, 7, 9, 10) --
    ("div", "u2"),  # the counter, of which DIV is the upper half
    ("serial_left", "u2"),  # T until a transfer with our clock is over; 0: none
    ("dma_left", "u2"),  # T until the end of a transfer; 0: none
    ("dma_blocks", "u1"),  # a byte of one is on the bus
    ("reload", "u1"),  # of TIMA: a Reload
    ("keys", "u1"),  # pressed: bits of Key
    # -- display (docs/gameboy.md, 8) --
    ("first_frame", "u1"),  # since the display was turned on
    ("lyc_match", "u1"),  # LY was LYC when they were last compared
    ("wy_seen", "u1"),  # WY was LY at the beginning of a line of this frame
    # -- cartridge (docs/gameboy.md, 11) --
    ("rom_bank", "u2"),
    ("ram_bank", "u1"),
    ("bank_mode", "u1"),
    ("ram_enable", "u1"),
    # -- display, within a frame, where frames are of fixed length (docs/gameboy.md, 13) --
    ("window_line", "u1"),  # lines of this frame on which the window was drawn
    ("delay", "u2"),  # of the end of mode 3 on this line, in T; 0 in other modes
    # -- the clock of an MBC3 (docs/gameboy.md, 11) --
    ("clock", "u1", (5,)),
    ("clock_latched", "u1", (5,)),  # the copy that is read
    ("clock_part", "i4"),  # T of the second that has begun
    ("clock_armed", "u1"),  # means nothing: 0, or 1 in rows of before any write made the copy
    ("dma_byte", "u1"),  # which one; 0 if none is
    ("window_at", "u2"),  # T of this line at which the window begins, in mode 3; 0: not
    ("late", "u1"),  # bits of IF that HALT does not see yet (docs/gameboy.md, 6)
    # -- sound (docs/gameboy.md, 10.1); which channels play is in NR52 --
    ("sound_step", "u1"),  # of eight, the next one
    ("lengths", "u2", (4,)),  # what is left of each channel's time
    ("wave_left", "u2"),  # T until the next sample of the wave; 0: its channel is off
    ("sweep_period", "u2"),
    ("sweep_left", "u1"),  # ticks of 128 Hz until the period is swept; 0: it is not
    ("sweep_due", "u1"),  # such a tick, in the next machine cycle
    ("sweep_negated", "u1"),  # the period was computed by subtraction
    ("wave_at", "u1"),  # the sample fetched last
    # -- serial port (docs/gameboy.md, 22) --
    ("serial_bits", "u1"),  # bits that have come with the other side's clock
]
_HEAD_BYTES = 256


def _end(fields: list[Any]) -> int:
    """Return where the last of these fields ends."""
    dtype = np.dtype(fields, align=True)
    assert dtype.fields is not None
    kind, offset = dtype.fields[fields[-1][0]][:2]
    return int(offset + kind.itemsize)


_FIXED = [
    *_HEAD,
    ("unused", "u1", (_HEAD_BYTES - _end(_HEAD),)),
    ("oam", "u1", (160,)),
    ("serial", "u1", (t.SERIAL_KEPT,)),  # the first bytes sent
    ("pad", "u1", (32,)),  # rows are whole cache lines
    # $FF00 to $FFFF: HRAM, and registers as they were written; 0 where `read` computes them.
    ("high", "u1", (256,)),
    ("vram", "u1", (0x2000,)),
    ("wram", "u1", (0x2000,)),
]


# Writes in mode 3 of the line that a row stands in; in rows of machines that are exact within a
# line (docs/gameboy.md, 8.4).
_LINE: list[Any] = [("line", "u1", (t.LINE_BYTES,))]
# What is heard, in rows of machines with samples of the sound (docs/gameboy.md, 10.2); `sound` of
# a row is a record of these bytes. It may be all 0 in any machine: what plays is silent then until
# it is triggered.
SOUND_DTYPE = np.dtype(
    [
        ("sums", "i4", (2,)),  # left and right of the sample that has begun
        ("noise_left", "u4"),  # T until the noise is shifted; 0: it is not
        ("duty_left", "u2", (2,)),  # T until the next step of each square; 0: never triggered
        ("lfsr", "u2"),  # of the noise, 15 bits
        ("duty_at", "u1", (2,)),  # that step, of eight
        ("duty_high", "u1", (2,)),
        ("volumes", "u1", (3,)),  # of both squares and the noise; 0 where they do not play
        ("envelopes", "u1", (3,)),  # ticks of 64 Hz until a volume changes; 0: it no longer does
        ("wave_byte", "u1"),  # of the sample of the wave that was fetched last
        ("unused_sound", "u1", (3,)),
    ],
    align=True,
)
_SOUND: list[Any] = [("sound", "u1", (SOUND_DTYPE.itemsize,))]


@lru_cache
def state_dtype(cart_ram: int, by_pixel: bool = False, audio: bool = False) -> np.dtype[Any]:
    """Return the dtype of a row of a machine.

    Parameters
    ----------
    cart_ram : int
        Bytes of RAM of the cartridge.
    by_pixel : bool
        Whether its pictures are exact within a line.
    audio : bool
        Whether there are samples of its sound.
    """
    tail = [("cart", "u1", (cart_ram,)), *_LINE * by_pixel, *_SOUND * audio]
    return np.dtype([*_FIXED, *tail], align=True)


def sizes_of_rows(cart_ram: int) -> dict[int, np.dtype[Any]]:
    """Return the dtypes of rows of machines by their bytes; the first has nothing in addition.

    Parameters
    ----------
    cart_ram : int
        Bytes of RAM of the cartridge.
    """
    kinds = [(False, False), (True, False), (False, True), (True, True)]
    dtypes = [state_dtype(cart_ram, *kind) for kind in kinds]
    return {dtype.itemsize: dtype for dtype in dtypes}


# -- environments ----------------------------------------------------------------------------------

_EPISODE: list[Any] = [
    ("rng", "u8", (4,)),  # xoshiro256**
    ("ep_return", "f8"),  # kept by the engine
    ("ep_length", "i4"),
    ("start", "i4"),  # number of the start state
    # -- goal (docs/gameboy.md, 19) --
    ("distance", "i4"),  # sum of differences in shade
    ("ev_distance", "i4"),  # before the last step
    ("near", "i4"),  # steps in a row at the goal
    # -- world (docs/gameboy.md, 20); of the last step what begins with ev --
    ("cells", "i4"),  # new cells of the episode
    ("ev_cells", "i4"),
    ("ev_items", "i4"),
    ("ev_dialogue", "i4"),
    ("ev_events", "i4"),
    ("waited", "i4"),  # how often the last step was as long again
    ("visit_id", "u2"),  # of this episode in a hash table
    ("last_action", "u1"),
    ("done", "i1"),  # 0 running, 1 terminated, 2 truncated
]
_EPISODE_BYTES = 128
_EPISODE = [*_EPISODE, ("unused_episode", "u1", (_EPISODE_BYTES - _end(_EPISODE),))]
EPISODE_DTYPE = np.dtype(_EPISODE, align=True)
TAIL_OF_LANE = (
    *("cart", "stack", "visits", "recent", "values", "memory"),
    *("hooks", "line", "sound", "samples"),
)


def tail_of(dtype: np.dtype[Any]) -> tuple[str, ...]:
    """Return the last fields of a row, whose lengths depend on the configuration."""
    return tuple(name for name in TAIL_OF_LANE if name in (dtype.names or ()))


@lru_cache
def lane_dtype(
    cart_ram: int,
    stack: tuple[int, int],
    visits: int,
    values: int = 0,
    by_pixel: bool = False,
    samples: int = 0,
    memory: int = 0,
    hooks: int = 0,
    recent: int = 0,
) -> np.dtype[Any]:
    """Return the dtype of a row of an environment.

    Parameters
    ----------
    cart_ram : int
        Bytes of RAM of the cartridge.
    stack : (int, int)
        Frames, and bytes of each.
    visits : int
        Bytes of what is remembered of visited cells.
    values : int
        Bytes of the rewards and numbers of a RAM map; with none there is no such field.
    by_pixel : bool
        Whether pictures are exact within a line.
    samples : int
        Bytes of the samples of the sound of a step; with none there is no such field.
    memory : int
        Bytes of what expressions remember; with none there is no such field.
    hooks : int
        Bytes of what hooks have counted; with none there is no such field.
    recent : int
        Actions that are remembered, in two bytes each; with none there is no such field.
    """
    tail: list[Any] = [
        ("cart", "u1", (cart_ram,)),
        ("stack", "u1", stack),
        ("visits", "u1", (visits,)),
    ]
    if recent:
        tail.append(("recent", "u1", (2 * recent,)))
    if values:
        tail.append(("values", "u1", (values,)))
    if memory:
        tail.append(("memory", "u1", (memory,)))
    if hooks:
        tail.append(("hooks", "u1", (hooks,)))
    tail += _LINE * by_pixel
    if samples:
        tail += [*_SOUND, ("samples", "u1", (samples,))]
    return np.dtype([*_FIXED, *_EPISODE, *tail], align=True)


def machine_of(row: Any, cart_ram: int) -> np.ndarray[Any, Any]:
    """Return the machine of a row of an environment, or of a machine, as a copy, shape (1,).

    Parameters
    ----------
    row : record or ndarray of one
    cart_ram : int
        Bytes of RAM of the cartridge. The machine is exact within a line, or has samples of its
        sound, if the row's is or has.

    Raises
    ------
    StateError
        If the row is neither, or of another cartridge.
    """
    record = np.asarray(row).reshape(-1)
    names = record.dtype.names or ()
    machine = np.zeros(1, state_dtype(cart_ram, "line" in names, "sound" in names))
    for name in machine.dtype.names or ():
        fields: Any = record.dtype.fields or {}
        if len(record) != 1 or name not in fields or fields[name][0] != machine.dtype[name]:
            raise StateError(
                f"row: must be one row of state_dtype({cart_ram}), the RAM of the cartridge, or of "
                "an environment with it"
            )
        machine[name] = record[name]
    return machine


def fitted(rows: np.ndarray[Any, Any], by_pixel: bool, audio: bool = False) -> np.ndarray[Any, Any]:
    """Return rows of machines as those of machines that are exact within a line, or are not.

    In the first case the line that a row stands in has no writes so far, in the second one it goes
    on as one without. The same with samples of the sound: in rows that had none, channels that play
    are silent until they are triggered.
    """
    dtype = state_dtype(rows.dtype["cart"].itemsize, by_pixel, audio)
    if rows.dtype == dtype:
        return rows
    made = np.zeros(rows.shape, dtype)
    for name in dtype.names or ():
        if name in (rows.dtype.names or ()):
            made[name] = rows[name]
    return made


# What a lane reads at its next reset.
KNOBS_DTYPE = np.dtype([("start_state", "i4")], align=True)  # -1: drawn


class Kind(IntEnum):
    """What an environment is about."""

    PIXELS = 0
    GOAL = 1
    OVERWORLD = 2


class Place(IntEnum):
    """Bytes of a machine that a RAM map names (docs/gameboy.md, 20)."""

    MAP = 0
    X = 1
    Y = 2
    FACING = 3
    DIALOGUE = 4
    ITEMS = 5
    STEPS_LOW = 6
    STEPS_HIGH = 7
    STAGE = 8
    DONE = 9


class Op(IntEnum):
    """Steps of an expression: what pushes a number, what changes one, what joins two."""

    NUMBER = 0
    NOW = 1  # of memory
    BEFORE = 2  # of memory before the step of the environment
    EACH = 3  # element of a table, where all are taken
    RANDOM = 4  # drawn from the lane's stream, below a number
    NEG = 5
    NOT = 6
    ABS = 7
    ADD = 8
    SUB = 9
    MUL = 10
    DIV = 11
    MOD = 12
    EQ = 13
    NE = 14
    LT = 15
    LE = 16
    GT = 17
    GE = 18
    AND = 19
    OR = 20
    MIN = 21
    MAX = 22


class Cells(IntEnum):
    """What is remembered from step to step, as one number."""

    MOST = 0  # of an expression
    SUM = 1
    VISITS = 2  # of the key that a set has in this step
    SIZE = 3  # of a set


class Form(IntEnum):
    """What the bytes of a number mean."""

    UNSIGNED = 0
    SIGNED = 1
    BCD = 2  # two digits a byte
    DIGITS = 3  # one digit a byte, in its low half
    BIT = 4


class Source(IntEnum):
    """Where the bytes of a field are."""

    ROW = 0
    ROM = 1  # of the shared record
    REGISTERS = 2  # page $FF as a program reads it: not all of it is in the row


MAX_ACTIONS, MAX_EVENT_BYTES = 256, 8192
MAX_LOADS, MAX_EXPRESSION_STACK = 1024, 64
MAX_VISITS = 2**16 - 1  # that are counted of a key
# A field of a RAM map (docs/gameboy.md, 20.1).
FIELD_DTYPE = np.dtype(
    [
        ("mask", "i8"),  # of what was read; -1: all of it
        ("at", "i4"),  # in the row, or in the shared record, or in page $FF
        ("count", "i4"),  # elements
        ("stride", "i4"),  # from one to the next, in bytes, or in bits where they are bits
        ("bit", "i4"),  # of the first, where they are bits
        ("size", "i4"),  # bytes of one
        ("form", "i4"),  # a Form
        ("big", "i4"),  # the high byte comes first
        ("info_at", "i4"),  # in the columns of a state; -1: not there
        ("info_size", "i4"),  # bytes of one
        ("source", "i4"),  # a Source
    ],
    align=True,
)
# What expressions read: an element; or of all of them the sum (-1), how many are not 0 (-2), the
# least (-3) or the most (-4), `each` being the term that is taken of each element, or -1: itself;
# within such a term each element (-5); or (-6) a number that is remembered, `field` says which.
# A sum of products (-7) of flags has in `each` the field that they are multiplied by.
LOAD_DTYPE = np.dtype([("field", "i4"), ("element", "i4"), ("each", "i4")], align=True)
# A step of an expression, with the number or which of the loads it pushes.
STEP_DTYPE = np.dtype([("number", "i8"), ("op", "i4"), ("load", "i4")], align=True)
# An expression, what it is multiplied by where it is a reward, and where its number is in the
# columns of a state; -1: not there.
TERM_DTYPE = np.dtype(
    [("weight", "f8"), ("begin", "i4"), ("end", "i4"), ("info_at", "i4")], align=True
)
# A number that is remembered: a Cells, its term or its set, and which load reads it; -1: none.
CELL_DTYPE = np.dtype([("kind", "i4"), ("of", "i4"), ("load", "i4")], align=True)
# A set of keys (docs/gameboy.md, 20.2): in the row size and what was lost, four bytes each, then
# the keys, eight bytes a slot, then how often each came, two bytes a slot.
SET_DTYPE = np.dtype(
    [
        ("at", "i4"),  # in the row
        ("slots", "i4"),
        ("capacity", "i4"),
        ("key", "i4"),  # the term of its first number; the others follow
        ("numbers", "i4"),  # of a key
        ("when", "i4"),  # the term that is not 0 where there is a key; -1: always
    ],
    align=True,
)
# Numbers that stand behind one another in an observation: those of a field, or (-1) what a step
# notes for a RAM map. What is shown as 0, and how much more as 1.
OBSERVED_DTYPE = np.dtype(
    [
        ("low", "f8"),
        ("span", "f8"),
        ("field", "i4"),
        ("first", "i4"),
        ("count", "i4"),
        ("at", "i4"),  # in the observation
        ("flag", "i4"),  # bits, a byte each
    ],
    align=True,
)
# A hook: a byte of the ROM, or an address that is written, the other being -1; 1 if it counts no
# further than 1.
HOOK_DTYPE = np.dtype([("place", "i4"), ("address", "i4"), ("latch", "i4")], align=True)
# A trap in the copy of the ROM: where it is (-1: nowhere), which hook is there (-1: none), and how
# many bytes follow before the next trap or the end of the bank.
TRAP_DTYPE = np.dtype([("place", "i4"), ("hook", "i4"), ("follow", "i4")], align=True)
# A field that is set: one of its elements, or (-1) all of them, to a term, where another one is not
# 0 (-1: always); at a reset (-1), before a step (-2), or where a hook counts.
WRITE_DTYPE = np.dtype(
    [("field", "i4"), ("element", "i4"), ("to", "i4"), ("when", "i4"), ("on", "i4")], align=True
)
# Rules of an environment; all 0 where a machine runs without one. Places are offsets in the row.
RULES_DTYPE = np.dtype(
    [
        ("sticky", "f8"),
        ("repeat_action_probability", "f8"),  # of each frame
        ("step_cost", "f8"),
        ("alpha", "f8"),
        ("goal_bonus", "f8"),
        ("threshold", "f8"),  # tau of the goal
        ("distance_unit", "f8"),  # 3 * the pixels that are compared
        ("cell_bonus", "f8"),
        ("item_bonus", "f8"),
        ("dialogue_bonus", "f8"),
        ("event_bonus", "f8"),
        ("finish_bonus", "f8"),
        ("max_steps", "i4"),  # 0: an episode does not end by itself
        ("frames_per_step", "i4"),
        ("release_after", "i4"),
        ("num_actions", "i4"),
        ("stack_k", "i4"),
        ("plane", "i4"),  # bytes of a frame
        ("rows", "i4"),
        ("columns", "i4"),
        ("k_consecutive", "i4"),
        ("cart_bytes", "i4"),
        ("stack_at", "i4"),  # in the row
        ("visits_at", "i4"),
        ("visits_bytes", "i4"),
        ("slots", "i4"),  # of the hash table; 0: one bit a cell
        ("num_starts", "i4"),
        ("start_bytes", "i4"),
        ("goal_bytes", "i4"),  # a part of the stack, its end
        ("line_at", "i4"),  # writes in mode 3, where pictures are exact within a line
        ("line_bytes", "i4"),  # 0 where they are not
        ("sound_at", "i4"),  # what is heard, where there are samples
        ("sound_bytes", "i4"),  # 0 where there are none
        ("samples_at", "i4"),
        ("samples_bytes", "i4"),
        ("samples_info_at", "i4"),  # in the columns of a state
        ("values_at", "i4"),  # of rewards and numbers of the last step, eight bytes each
        ("num_fields", "i4"),
        ("num_loads", "i4"),
        ("num_terms", "i4"),  # that are looked at after a step: rewards, numbers, ends
        ("num_rewards", "i4"),
        ("num_numbers", "i4"),
        ("num_cells", "i4"),
        ("num_sets", "i4"),
        ("memory_at", "i4"),  # what is remembered, in the row: cells, then sets
        ("memory_bytes", "i4"),
        ("num_hooks", "i4"),
        ("num_writes", "i4"),
        ("counted_at", "i4"),  # of hooks, in the row, four bytes each; then how often was written
        ("counted_bytes", "i4"),
        ("watched_pages", "i4"),  # of 4 KiB, a bit each, with an address that a hook watches
        ("lost_info_at", "i4"),  # keys for which there was no room, in the columns; -1: not there
        ("terminates", "i4"),  # which of them says that the episode ends so; -1: none
        ("truncates", "i4"),
        ("num_events", "i4"),
        ("events_at", "i4"),
        ("max_pool", "i4"),  # 1: frames are the darker of two pictures
        ("waits", "i4"),  # which expression is 0 while a step lasts on; -1: none
        ("wait_steps", "i4"),  # how often at most
        ("wait_keys", "i4"),
        ("waited_info_at", "i4"),  # in the columns of a state; 0: not there
        ("plays_on", "i4"),  # 1: what was truncated goes on with the next episode
        ("observes", "i4"),  # 1: an observation has what follows, and not that of the kind
        ("hides_pixels", "i4"),
        ("num_observed", "i4"),
        ("num_recent", "i4"),  # of the last actions
        ("recent_at", "i4"),  # in the row
        ("actions_at", "i4"),  # in the observation
        ("visited_at", "i4"),
        ("visited", "i4", (2,)),  # rows and columns around the player
        ("fills_ram", "i4"),  # 1: a reset fills memory with bytes of the lane's stream
        ("size", "i4", (3,)),  # of the world: maps, rows, columns
        ("places", "i4", (len(Place),)),  # -1: nowhere
        ("goal_at", "i8"),  # in the shared record
        ("starts_at", "i8"),
        ("fields_at", "i8"),
        ("loads_at", "i8"),
        ("steps_at", "i8"),
        ("terms_at", "i8"),
        ("cells_at", "i8"),
        ("sets_at", "i8"),
        ("hooks_at", "i8"),
        ("writes_at", "i8"),
        ("watched_at", "i8"),  # addresses that hooks watch, a bit each
        ("program_at", "i8"),  # the ROM with a trap at each hook; 0: there is none
        ("traps_at", "i8"),  # by the low byte of their place, where no other one has it
        ("observed_at", "i8"),
        ("kind", "u1"),  # a Kind
        ("packed", "u1"),  # observations show four pixels a byte
        ("keys", "u1", (MAX_ACTIONS,)),  # by action; 0 where a button is not allowed
        ("allowed", "u1", (MAX_ACTIONS,)),
        ("rewarded", "u1", (MAX_EVENT_BYTES,)),  # events, a bit each
        ("renewing", "u1", (MAX_EVENT_BYTES,)),
        ("ys", "u1", (t.HEIGHT,)),  # lines of the picture that a frame has
        ("xs", "u1", (t.WIDTH,)),
        ("lines", "u1", (t.HEIGHT,)),  # 1 for each of ys: the others need not be drawn
        ("unpack", "u4", (256,)),  # the four pixels of a byte as four bytes in memory order
        ("differences", "u1", (256,)),  # of two pixels and two others, one pair in each half
    ],
    align=True,
)

# What all machines of an engine read and none writes; the bytes of the ROM follow, then, in
# environments, goal and start states.
SHARED_DTYPE = np.dtype(
    [
        ("rom_banks", "i4"),  # a power of two, of 16 KiB
        ("ram_bytes", "i4"),  # a power of two; 0: no RAM
        ("mbc", "i2"),  # a Mbc
        ("has_clock", "i2"),
        ("video_is_open", "i2"),  # to the processor at any time (docs/gameboy.md, 5.5)
        ("fixed_frames", "i2"),  # they end every 70,224 T (docs/gameboy.md, 13)
        ("by_pixel", "i2"),  # writes in mode 3 change the line (docs/gameboy.md, 8.4)
        ("audio", "i2"),  # there are samples of the sound (docs/gameboy.md, 10.2)
        ("read_ones", "u1", (0x80,)),  # bits of registers that read as 1
        # The bits of a byte as eight bytes in memory order, the highest bit first.
        ("spread", "u8", (256,)),
        ("rules", RULES_DTYPE),
    ],
    align=True,
)


def shared_record(
    cartridge: Cartridge,
    rules: Any = None,
    goal: bytes = b"",
    starts: Any = None,
    strict_video_access: bool = True,
    fixed_frames: bool = False,
    by_pixel: bool = False,
    audio: bool = False,
    tables: Mapping[str, Any] = MappingProxyType({}),
    behind: bytes = b"",
) -> np.ndarray[Any, Any]:
    """Build the record that a cartridge's machines share, (1,): ``SHARED_DTYPE`` and the ROM.

    Parameters
    ----------
    cartridge : Cartridge
    rules : ndarray of ``RULES_DTYPE``, shape (1,), optional
        Of an environment; where goal and start states are is filled in.
    goal : bytes
        Packed frames.
    starts : ndarray of uint8, shape (S, bytes), optional
        Start states: row of the machine and packed frame.
    strict_video_access : bool
        Whether the display closes video memory to the processor while it reads it.
    fixed_frames : bool
        Whether frames end every 70,224 T, whatever the display does.
    by_pixel : bool
        Whether writes in mode 3 change the line from their pixel on.
    audio : bool
        Whether there are samples of the sound.
    tables : mapping of str to ndarray
        Fields, loads, steps and what else a RAM map has.
    behind : bytes
        What follows the ROM at once.
    """
    rom = np.frombuffer(cartridge.rom, np.uint8)
    parts: list[tuple[Any, ...]] = [("head", SHARED_DTYPE), ("rom", "u1", rom.shape)]
    parts += [("behind", "u1", (len(behind),))] if behind else []
    if rules is not None:
        parts += [("goal", "u1", (len(goal),)), ("starts", "u1", starts.shape)]
        parts += [(name, table.dtype, table.shape) for name, table in tables.items()]
    dtype = np.dtype(parts, align=True)
    record = np.zeros(1, dtype)
    head = record["head"]
    head["rom_banks"], head["ram_bytes"] = cartridge.rom_banks, cartridge.ram_size
    head["has_clock"] = cartridge.has_clock
    head["mbc"], head["read_ones"] = cartridge.mbc, t.READ_ONES
    head["video_is_open"], head["fixed_frames"] = not strict_video_access, fixed_frames
    head["by_pixel"], head["audio"] = by_pixel, audio
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    head["spread"] = bits.view(np.uint64)[:, 0]
    record["rom"] = rom
    if behind:
        record["behind"] = np.frombuffer(behind, np.uint8)
    if rules is not None:
        assert dtype.fields is not None
        head["rules"] = rules
        arrays = {"goal": np.frombuffer(goal, np.uint8), "starts": starts, **tables}
        for name, array in arrays.items():
            record[name], head["rules"][f"{name}_at"] = array, dtype.fields[name][1]
    record.flags.writeable = False
    return record


# -- two machines on a cable (docs/gameboy.md, 22.1) -----------------------------------------------

# What both share of a row; the row of the environment of each machine follows.
LINK_HEAD: list[Any] = [
    ("rng", "u8", (4,)),  # seeds of the streams of both
    ("bot_rng", "u8", (4,)),
    ("ep_return", "f8", (2,)),  # kept by the engine
    ("ep_length", "i4"),
    ("done", "i1"),  # 0 running, 1 terminated, 2 truncated
    ("needs_action", "u1", (2,)),
]
LINK_HEAD = [*LINK_HEAD, ("unused_link", "u1", (128 - _end(LINK_HEAD),))]
LINK_HEAD_DTYPE = np.dtype(LINK_HEAD, align=True)
# Where rows and shared records of both are; the shared records follow.
LINK_SHARED_DTYPE = np.dtype([("row_at", "i8", (2,)), ("shared_at", "i8", (2,))], align=True)

# What the compiled code is given; see tools/structs.py.
STRUCTS = {
    "Knobs": KNOBS_DTYPE,
    "Sound": SOUND_DTYPE,
    "Field": FIELD_DTYPE,
    "Load": LOAD_DTYPE,
    "Step": STEP_DTYPE,
    "Term": TERM_DTYPE,
    "Cell": CELL_DTYPE,
    "KeySet": SET_DTYPE,
    "Hook": HOOK_DTYPE,
    "Trap": TRAP_DTYPE,
    "Write": WRITE_DTYPE,
    "Observed": OBSERVED_DTYPE,
    "Rules": RULES_DTYPE,
    "Shared": SHARED_DTYPE,
    "Episode": EPISODE_DTYPE,
    "LinkHead": LINK_HEAD_DTYPE,
    "LinkShared": LINK_SHARED_DTYPE,
    "State": state_dtype(t.RAM_BANK),
}
TAIL = ("cart",)
CONSTANTS = {
    name: getattr(t, name)
    for name in (
        "M_CYCLE", "LINE", "LINES", "VISIBLE", "FRAME", "WIDTH", "HEIGHT", "SCAN_END", "DRAW_END",
        "PIPELINE_BEGIN", "LAST_DRAW", "MOST_WRITES", "LINE_BEGAN", "LINE_SEEN", "LINE_COUNT",
        "LINE_WRITES", "LINE_BYTES",
        "WINDOW_TIME", "WINDOW_BEGIN", "LAST_WX", "FIRST_LINE_LATE", "NEXT_LY", "OBJECTS_A_LINE",
        "SERIAL_BIT", "SERIAL_BITS", "SERIAL_TIME", "SERIAL_PHASE", "SERIAL_KEPT", "DMA_TIME",
        "DMA_BLOCKS", "DMA_BYTES", "CLOCK", "FIRST_CLOCK_BANK", "SEQUENCER_BIT", "WAVE_BYTES",
        "WAVE_DELAY", "WAVE_OPEN", "WAVE_NEXT", "SAMPLE", "SAMPLES", "DUTY_STEPS",
        "DUTIES", "NOISE_BITS", "OAM_ROW", "OAM_ROWS",
    )
} | {f"R_{register.name}": register.value for register in t.IO} | {
    "MAX_EVENT_BYTES": MAX_EVENT_BYTES,
    "MAX_LOADS": MAX_LOADS,
    "MAX_EXPRESSION_STACK": MAX_EXPRESSION_STACK,
    "MAX_VISITS": MAX_VISITS,
}  # fmt: skip
ENUMS: dict[type[IntEnum], str] = {
    t.Interrupt: "INT_",
    t.Mbc: "",
    t.Reload: "RELOAD_",
    Kind: "KIND_",
    Place: "PLACE_",
    Op: "OP_",
    Cells: "CELL_",
    Form: "FORM_",
    Source: "SOURCE_",
}
RENAMED = {"NO_MBC": t.Mbc.NONE}
