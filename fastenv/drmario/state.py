"""One game of Dr. Mario as one row of bytes, and the records beside it.

A row is a head, shared by all players, then one record a player, then what the engine keeps an
agent, then, where a configuration shows several frames, the frames before this one. The compiled
core finds a player at the same place in games of one and of two (``python -m tools.structs`` after
a change); reference games convert with ``pack`` and ``unpack`` in ``position.py``. Sections are
those of ``docs/drmario.md``.

Equal states are equal bytes: what is not used has the value named below. Fields named ``ev_`` are
the events of the last step, from which reward and info are computed; a reset sets them to what a
step in which nothing happened would leave.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from fastenv.drmario import tables as t
from fastenv.drmario.seeds import registry_seeds

Fields = list[tuple[Any, ...]]

# -- the head: what all players share --------------------------------------------------------------

HEAD: Fields = [
    ("rng", "u8", (4,)),  # the engine's generator: seeds of games, viruses that stay
    ("reserve", "u1", (t.RESERVE,)),  # pills of the game, 0 to 8
    ("frame", "u4"),
    ("ep_length", "i4"),
    ("ep_frames", "i4"),
    ("task_max_frames", "i4"),  # budget of the episode, 0 for none (docs/drmario.md, 14.3)
    ("task_max_spawns", "i4"),
    ("seed", "u1", (2,)),  # of the game; 0 in a demo
    ("demo_at", "u1"),  # next pair of a demo's inputs (docs/drmario.md, 10)
    ("demo_left", "u1"),  # frames that the last one goes on
    ("done", "i1"),  # 0 running, 1 terminated, 2 truncated
    ("reason", "u1"),  # a Reason
    ("unused_head", "u1", (6,)),
]

# -- a player --------------------------------------------------------------------------------------

# What a frame shows of a player. A stack holds these of earlier frames, in as many bytes.
VIEW: Fields = [
    ("board", "u1", (t.CELLS,)),  # from the top left, row by row (docs/drmario.md, 1)
    ("mode", "u1"),  # a Mode
    ("next_action", "u1"),  # a Next
    ("placed_step", "u1"),
    ("row", "u1"),  # of the falling pill's box, from the bottom; keeps its value after a lock
    ("col", "u1"),
    ("rot", "u1"),
    ("color_first", "u1"),  # raw colours
    ("color_second", "u1"),
    ("preview_first", "u1"),
    ("preview_second", "u1"),
    ("preview_rot", "u1"),
    ("speed_counter", "u1"),
    ("hor_velocity", "u1"),
    ("status_row", "u1"),
    ("throw_frame", "u1"),
    ("virus_bcd", "u1"),
]

PLAYER: Fields = [
    *VIEW,
    # -- the other registers (docs/drmario.md, 3) ----------------------------------------------
    ("reserve_index", "u1"),
    ("pill_count_lo", "u1"),
    ("pill_count_hi", "u1"),
    ("speed_setting", "u1"),
    ("speed_ups", "u1"),
    ("match_flag", "u1"),
    ("combo_counter", "u1"),
    ("chain_length", "u1"),
    ("buttons_prev", "u1"),
    ("buttons_held", "u1"),
    ("buttons_pressed", "u1"),
    ("intro_wait", "u1"),
    ("stage_clear", "u1"),
    ("level_fail", "u1"),
    ("scored", "u1"),  # viruses of this placement, MAX_SCORED at most (docs/drmario.md, 8)
    # -- attacks (docs/drmario.md, 9): 0 in games of one ---------------------------------------
    ("attack_size", "u1"),
    ("attack_colors", "u1", (t.MAX_ATTACK,)),
    # -- the environment -----------------------------------------------------------------------
    ("level", "i1"),
    ("initial_viruses", "u1"),
    ("latches", "u1"),  # directions that stay held (docs/drmario.md, 12.5)
    ("clearing", "u1"),  # whether cells are being cleared (docs/drmario.md, 12.3)
    ("height", "u1"),  # of the stack, where it is paid for (docs/drmario.md, 14.1)
    ("decided", "u1"),  # reserve_index of the last pill decided on, NO_SPAWN for none
    # -- events of the last step ---------------------------------------------------------------
    ("ev_invalid", "u1"),
    ("ev_lock_row", "u1"),  # pose of the pill that locked last, 0 without ev_locks
    ("ev_lock_col", "u1"),
    ("ev_lock_rot", "u1"),
    ("ev_height", "u1"),  # height before the step
    (
        "ev_adjacency",
        "u1",
        (t.NUM_COLORS,),
    ),  # canonical; 0 none, 1 pair, 2 triplet (docs/drmario.md, 12.4)
    ("ev_virus_adjacency", "u1", (t.NUM_COLORS,)),
    ("ev_garbage_sent", "u1"),  # halves that fell on the opponent
    ("ev_volleys", "u1"),  # that fell on this player; what follows is of the last one
    ("ev_volley_size", "u1"),
    ("ev_volley_column", "u1"),  # the first
    ("ev_volley_colors", "u1", (t.MAX_ATTACK,)),
    ("unused", "u1", (3,)),
    ("plan_left", "u2"),  # frames until the chosen placement locks, 0 without a plan
    ("plan_action", "i2"),  # the placement, NO_ACTION without a plan (docs/drmario.md, 12.2)
    ("ev_action", "i2"),  # placement taken, NO_ACTION for none
    ("ev_cost", "u2"),  # frames from the decision to its lock, 0 for none
    ("ev_locks", "u2"),  # pills that locked
    ("ev_tiles_virus", "u2"),
    ("ev_tiles_nonvirus", "u2"),
    ("ev_matches", "u2"),  # match events
    ("decided_frame", "u4"),  # frame of the last decision, 0 before the first
    ("ev_volley_frame", "u4"),
    ("locks", "i4"),  # of the episode, as what follows
    ("matches", "i4"),
    ("score", "i4"),
    ("decisions", "i4"),  # of the episode, in games of two whose decisions are placements
]

HEAD_DTYPE = np.dtype(HEAD, align=True)
VIEW_DTYPE = np.dtype(VIEW, align=True)
PLAYER_DTYPE = np.dtype(PLAYER, align=True)
FORMER_PLAYER_DTYPE = np.dtype([*PLAYER[:-1], ("unused_end", "u1", (4,))], align=True)

# -- rows ------------------------------------------------------------------------------------------

ONE: Fields = [
    *HEAD,
    ("players", PLAYER_DTYPE, (1,)),
    ("ep_return", "f8"),
    ("tau", "i4"),
    ("unused_agents", "u1", (4,)),
]
TWO: Fields = [
    *HEAD,
    ("players", PLAYER_DTYPE, (2,)),
    ("ep_return", "f8", (2,)),
    ("bot_rng", "u8", (4,)),
    ("tau", "i4", (2,)),
    ("needs_action", "u1", (2,)),
    ("unused_agents", "u1", (6,)),
]
# Frames before the current one, as VIEW_DTYPE, the oldest first, by player.
STACKED = t.STACK - 1


def state_dtype(agents: int, stack: int, player: np.dtype[Any] = PLAYER_DTYPE) -> np.dtype[Any]:
    """Return the dtype of a row.

    Parameters
    ----------
    agents : {1, 2}
    stack : {1, 4}
        Frames that an observation shows.
    player : dtype
        Of a player; ``FORMER_PLAYER_DTYPE`` before decisions were counted.
    """
    tail = [("stack", "u1", (agents, STACKED, VIEW_DTYPE.itemsize))] if stack > 1 else []
    fields = [
        ("players", player, (agents,)) if field[0] == "players" else field
        for field in (ONE if agents == 1 else TWO)
    ]
    return np.dtype([*fields, *tail], align=True)


# -- beside the row --------------------------------------------------------------------------------

# What a lane reads at its next reset; the second of a pair is that of the second player.
KNOBS_DTYPE = np.dtype(
    [
        ("game_seed", "i4"),  # first byte * 256 + second, -1: drawn
        ("task_max_frames", "i4"),
        ("task_max_spawns", "i4"),
        ("level", "i1", (2,)),
        ("speed", "i1", (2,)),
    ],
    align=True,
)

# What follows from a player's board: the cost of every placement (docs/drmario.md, 11), and of
# what it was computed. ``known`` is 0 where there was no decision to compute it for.
COSTS_DTYPE = np.dtype(
    [
        ("occupied", "u1", (t.ROWS,)),  # a bit a column, bit 0 the left one
        ("known", "u1"),
        ("parity", "u1"),
        ("gravity", "u1"),
        ("unused", "u1"),
        ("feasible", "i4"),
        ("costs", "u2", (t.NUM_PLACEMENTS,)),
    ],
    align=True,
)


def derived_dtype(agents: int) -> np.dtype[Any]:
    """Return the dtype of the derived record of a lane: one ``COSTS_DTYPE`` a player."""
    return np.dtype([("players", COSTS_DTYPE, (agents,))], align=True)


# What is behind a placement (docs/drmario.md, 12.8).
SUCCESSOR_DTYPE = np.dtype(
    [
        ("action", "i2"),
        ("cost", "u2"),  # frames until the pill locks
        ("frames", "u2"),  # until the next decision, or the end
        ("viruses", "u1"),  # that it removes
        ("runs", "u1"),  # of four or more cells that it removes
        ("reason", "u1"),  # why the episode ends with it, a Reason
        ("board", "u1", (t.CELLS,)),  # as it has settled, before the next pill is there
    ],
    align=True,
)

# A Bot, how it looks ahead, and what it weighs.
BOT_DTYPE = np.dtype(
    [
        ("kind", "i4"),
        *((name, "i4") for name in t.Looking._fields),
        *((name, "i4") for name in t.GREEDY),
    ],
    align=True,
)

# Coefficients of the reward (docs/drmario.md, 14.1), by the names of the options.
COEFFICIENTS = {
    "virus_clear_bonus": 0.5,
    "non_virus_clear_bonus": 0.0,
    "adjacency_pair_bonus": 0.0,
    "adjacency_triplet_bonus": 0.0,
    "virus_adjacency_pair_bonus": 0.0,
    "virus_adjacency_triplet_bonus": 0.0,
    "terminal_clear_bonus": 0.5,
    "topout_penalty": -1.0,
    "time_penalty_clear_per_60_frames": 0.0,
    "time_bonus_topout_per_60_frames": 0.0,
    "pill_place_base": 0.0,
    "pill_place_growth": 0.0,
    "column_height_penalty": 0.0,
    "action_penalty_scale": 0.0,
    "time_penalty_per_60_frames": 0.0,
    "garbage_coef": 0.05,
    "clear_win_bonus": 0.0,
}

RULES_DTYPE = np.dtype(
    [
        *((name, "f8") for name in COEFFICIENTS),
        ("max_wait_frames", "i4"),
        ("first_frame", "u4"),
        ("obs_bytes", "i4"),  # of a player's observation
        ("num_actions", "u2"),
        ("candidates", "u2"),  # placements that an observation lists, 0 for no list
        ("agents", "u1"),
        ("placement", "u1"),  # 1: a decision is a placement, 0: a frame
        ("replay", "u1"),  # 1: placements are played by their scripts, 0: warped to
        ("extended_inputs", "u1"),
        ("actions", "u1"),  # an Actions
        ("intro_frames", "u1"),
        ("stack", "u1"),  # frames an observation shows
        ("demo", "u1"),
        ("obs", "u1"),  # a layout.Planes
        ("bytes", "u1"),  # 1: planes of uint8, 0: of float32
        ("aux", "u1"),  # 1: the auxiliary vector, 2: with the opponent
        ("costs", "u1"),  # 1: costs of all placements
        ("pill", "u1"),  # 1: colours of the pills
        ("registry", "u1"),  # 1: seeds are those of the registry
    ],
    align=True,
)


class Bot(IntEnum):
    """Who plays (docs/drmario.md, 17)."""

    RANDOM = 0
    FIRST = 1
    GREEDY = 2
    LOOKAHEAD2 = 3
    LOOKAHEAD3 = 4
    ROLLOUTS = 5
    ATTACK2 = 6


class Actions(IntEnum):
    """What the actions of a frame environment are."""

    BUTTONS = 0
    LATCHED = 1
    UNLATCHED = 2


# The tables of a demo (docs/drmario.md, 10), 0 without one.
DEMO_DTYPE = np.dtype(
    [
        ("board", "u1", (t.CELLS,)),
        ("pills", "u1", (t.RESERVE,)),
        ("inputs", "u1", (t.DEMO_INPUTS, 2)),
    ],
    align=True,
)
TABLES_DTYPE = np.dtype(
    [
        ("gravity", "u1", (len(t.GRAVITY),)),
        ("speed_bases", "u1", (len(t.SPEED_BASES),)),
        ("virus_colors", "u1", (len(t.VIRUS_COLORS),)),
        ("virus_heights", "u1", (len(t.VIRUS_HEIGHTS),)),
        ("canonical", "u1", (t.NUM_COLORS,)),
        ("scores", "i4", (len(t.SCORES),)),
        ("score_factors", "i4", (len(t.SCORE_FACTORS),)),
    ],
    align=True,
)
SHARED_DTYPE = np.dtype(
    [
        ("rules", RULES_DTYPE),
        ("tables", TABLES_DTYPE),
        ("demo", DEMO_DTYPE),
        # Seeds of the registry by level, 0 unless they are used (docs/drmario.md, 15.4).
        ("seeds", "u2", (t.LAST_VIRUS_LEVEL + 1, t.REGISTRY_SEEDS)),
    ],
    align=True,
)


def shared_record(rules: np.ndarray, demo: np.ndarray) -> np.ndarray:
    """Build the record that all lanes of an engine share, shape (1,)."""
    row = np.zeros(1, SHARED_DTYPE)
    row["rules"], row["demo"] = rules, demo
    if rules["registry"][0]:
        row["seeds"] = registry_seeds()
    for name in TABLES_DTYPE.names or ():
        row["tables"][name] = getattr(t, name.upper())
    return row


# What the compiled code is given; see tools/structs.py.
STRUCTS = {
    "Head": HEAD_DTYPE,
    "View": VIEW_DTYPE,
    "Player": PLAYER_DTYPE,
    "One": np.dtype(ONE, align=True),
    "Two": np.dtype(TWO, align=True),
    "Knobs": KNOBS_DTYPE,
    "BotParams": BOT_DTYPE,
    "Successor": SUCCESSOR_DTYPE,
    "Costs": COSTS_DTYPE,
    "Rules": RULES_DTYPE,
    "Demo": DEMO_DTYPE,
    "Tables": TABLES_DTYPE,
    "Shared": SHARED_DTYPE,
}
CONSTANTS = {
    name: getattr(t, name)
    for name in (
        "ROWS", "COLUMNS", "CELLS", "SPAWN_ROW", "SPAWN_COLUMN", "NUM_COLORS", "NUM_PILLS", "FREE",
        "EMPTY", "DPAD", "RESERVE", "ORBIT", "LAST_VIRUS_LEVEL", "FEWEST_VIRUSES_LEVEL",
        "LOWEST_LEVEL", "IDLE", "MAX_SPEED_UPS", "FIRST_REPEAT", "NEXT_REPEAT", "BLOCKED_REPEAT",
        "MATCH", "LAST_THROW", "MAX_SCORED", "MAX_HEIGHT", "MIN_ATTACK", "MAX_ATTACK",
        "DEMO_LEVEL", "DEMO_SPEED", "DEMO_INTRO", "DEMO_FRAME", "DEMO_PREROLL", "DEMO_INPUTS",
        "NUM_PLACEMENTS", "INFEASIBLE", "NO_ACTION", "NO_SPAWN", "REGISTRY_SEEDS", "NECK_LEFT",
        "NECK_RIGHT", "NECK_HEIGHT", "DECIDED",
    )
} | {"STACKED": STACKED}  # fmt: skip
ENUMS: dict[type[IntEnum], str] = {
    t.Tile: "TILE_",
    t.Button: "BUTTON_",
    t.Mode: "MODE_",
    t.Next: "NEXT_",
    t.Reason: "REASON_",
    Actions: "ACTIONS_",
    Bot: "BOT_",
}
