"""What observations, infos and rewards consist of, and where each part stands.

Parts are explained in docs/drmario.md, 13 and 14.1.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from fastenv.drmario import tables as t

# -- planes ----------------------------------------------------------------------------------------

STABLE = ("stable red", "stable yellow", "stable blue")
VIRUS = ("virus",)
LINKED = ("linked up", "linked down", "linked left", "linked right")
FEASIBLE = ("feasible right", "feasible below", "feasible left", "feasible above")
BOTTLE = STABLE + VIRUS
CONN = BOTTLE + LINKED
REDUCED = ("shown red", "shown yellow", "shown blue", "virus", "falling", "preview")
SHOWN = ("any red", "any yellow", "any blue", "virus", "half", "falling", "preview", "clearing")
SCALARS = ("speed_counter / 255", "placed_step / 255", "level / 20")

PLANES: dict[str, tuple[str, ...]] = {
    "bitplane_bottle": BOTTLE,
    "bitplane_bottle_mask": BOTTLE + FEASIBLE,
    "bitplane_bottle_conn": CONN,
    "bitplane_bottle_conn_mask": CONN + FEASIBLE,
    "bitplane_bottle_conn_mask_vs": (
        CONN + tuple(f"opponent's {name}" for name in CONN) + FEASIBLE
    ),
    "bitplane_reduced": REDUCED,
    "bitplane_reduced_mask": REDUCED + FEASIBLE,
    "bitplane": (*SHOWN, "empty", *SCALARS),
    "extended": (
        *(f"virus {color}" for color in t.COLOR_NAMES),
        *(f"half {color}" for color in t.COLOR_NAMES),
        *(f"falling {color}" for color in t.COLOR_NAMES),
        "lies",
        *SCALARS,
        "preview first / 2",
        "preview second / 2",
        "preview rotation / 3",
    ),
    "none": (),
}  # fmt: skip
OBSERVATIONS = tuple(PLANES)
OBS_DTYPES = ("float32", "uint8")
HIGHEST_SCALAR = t.HIGHEST_LEVEL / 20


class Planes(IntEnum):
    """The observations by number, as the rules record has them."""

    BITPLANE_BOTTLE = 0
    BITPLANE_BOTTLE_MASK = 1
    BITPLANE_BOTTLE_CONN = 2
    BITPLANE_BOTTLE_CONN_MASK = 3
    BITPLANE_BOTTLE_CONN_MASK_VS = 4
    BITPLANE_REDUCED = 5
    BITPLANE_REDUCED_MASK = 6
    BITPLANE = 7
    EXTENDED = 8
    NONE = 9


# -- what a Dict has beside the planes -------------------------------------------------------------

EXTRAS = ("pill", "aux", "aux_vs", "costs", "candidates")
PLACEMENT_EXTRAS = ("costs", "candidates")  # where decisions are placements
AUX = (
    ("speed", 3, "one-hot: low, medium, high"),
    ("viruses", 1, "viruses left / 84"),
    ("virus colors", 3, "viruses left of each colour / 84"),
    ("level", 36, "one-hot: -15 to 20, higher ones as 20"),
    ("time", 1, "frames / budget, or tanh(frames / 8000) without one"),
    ("tallest", 1, "height of the highest column / 16"),
    ("columns", 8, "heights of the columns / 16"),
    ("progress", 1, "match events / goal, or viruses removed / viruses at first"),
    ("feasible", 1, "feasible placements / 512"),
    ("occupied", 1, "cells that are not free / 128"),
    ("highest virus", 1, "height of the highest virus / 16"),
)
AUX_VERSUS = (
    ("opponent's viruses", 1, "viruses the opponent has left / 84"),
    ("garbage coming", 1, "attack of the opponent / 4"),
    ("garbage sent", 1, "own attack / 4"),
    ("opponent's pill", 6, "colours of its halves, one-hot each"),
    ("opponent's preview", 6, "the same of the pill behind it"),
)
AUX_SIZE = sum(length for _, length, _ in AUX)
AUX_VERSUS_SIZE = AUX_SIZE + sum(length for _, length, _ in AUX_VERSUS)
PILL_HALVES = 4  # first and second of the falling pill, first and second of the preview
TIME_SCALE = 8000.0  # frames, where an episode has no budget


def planes_shape(obs: str, stack: int) -> tuple[int, ...]:
    """Return the shape of the planes, (C, 16, 8), or (4, C, 16, 8) of a stack."""
    shape = (len(PLANES[obs]), t.ROWS, t.COLUMNS)
    return (stack, *shape) if stack > 1 else shape


def obs_record(
    obs: str, obs_dtype: str, extras: tuple[str, ...], stack: int, candidates: int
) -> np.dtype[Any]:
    """Return the record of an observation: its planes, and the extras behind them.

    A plain observation is the same record without extras.
    """
    parts: list[tuple[Any, ...]] = [("planes", obs_dtype, planes_shape(obs, stack))]
    sizes = {"aux": AUX_SIZE, "aux_vs": AUX_VERSUS_SIZE}
    parts += [("aux", "f4", (sizes[name],)) for name in ("aux", "aux_vs") if name in extras]
    if "costs" in extras:
        parts += [("costs", "i2", (t.ORIENTATIONS, t.ROWS, t.COLUMNS))]
    if "candidates" in extras:
        parts += [("candidates", "i2", (candidates,)), ("candidate_costs", "i2", (candidates,))]
    if "pill" in extras:
        parts += [("pill", "u1", (PILL_HALVES, t.NUM_COLORS))]
    return np.dtype(parts, align=True)


def obs_bounds(record: np.dtype[Any], obs: str) -> dict[str, tuple[float, float]]:
    """Return the lowest and the highest number of each field of an observation."""
    highest = 1.0
    if obs in ("bitplane", "extended"):
        highest = HIGHEST_SCALAR if record["planes"].base == np.float32 else 255.0
    bounds = {
        "planes": (0.0, highest),
        "aux": (0.0, float(t.MOST)),
        "costs": (-1.0, 2.0**15 - 1),
        "candidates": (-1.0, t.NUM_PLACEMENTS - 1.0),
        "candidate_costs": (0.0, 2.0**15 - 1),
        "pill": (0.0, 1.0),
    }
    return {name: bounds[name] for name in record.names or ()}


# -- info ------------------------------------------------------------------------------------------

# Columns of a player; with two players each has an axis of 2 in front.
PLAYER_INFO: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("level", "i1", ()),
    ("viruses", "u1", ()),
    ("pill", "u1", (2,)),  # canonical colours, first half first
    ("preview", "u1", (2,)),
    ("spawn_id", "u1", ()),
    ("feasible_count", "i4", ()),
    ("invalid_action", "?", ()),
    ("cost_to_lock", "u2", ()),  # of the placement that was taken
    ("lock_pose", "i1", (3,)),  # x, y from the bottom, rotation; -1 without a lock
    ("tiles_total", "u2", ()),
    ("tiles_virus", "u2", ()),
    ("tiles_nonvirus", "u2", ()),
    ("match_events", "u2", ()),
    ("adj_pair", "u1", (t.NUM_COLORS,)),
    ("adj_triplet", "u1", (t.NUM_COLORS,)),
    ("virus_adj_pair", "u1", (t.NUM_COLORS,)),
    ("virus_adj_triplet", "u1", (t.NUM_COLORS,)),
    ("spawns", "i4", ()),  # pills that locked in the episode
    ("score", "i4", ()),
    ("success", "?", ()),  # goal met within the budgets
    ("garbage_pending", "u1", ()),  # halves that will fall on the opponent
    ("garbage_sent", "u1", ()),
    ("volleys", "u1", ()),  # that fell on this player; size, column, colours, frame of the last
    ("volley_size", "u1", ()),
    ("volley_column", "u1", ()),
    ("volley_colors", "u1", (t.MAX_ATTACK,)),
    ("volley_frame", "u4", ()),
    ("feasible_mask", "u1", (t.ORIENTATIONS, t.ROWS, t.COLUMNS)),
    ("costs", "u2", (t.ORIENTATIONS, t.ROWS, t.COLUMNS)),
    ("board", "u1", (t.CELLS,)),
)
SHARED_INFO: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("reason", "u1", ()),
    ("frame", "u4", ()),
    ("game_seed", "i4", ()),
)
INFO_LABELS = {"reason": t.REASONS}
LARGE = ("feasible_mask", "costs", "board")
VERSUS_ONLY = (
    "garbage_pending", "garbage_sent", "volleys", "volley_size", "volley_column", "volley_colors",
    "volley_frame",
)  # fmt: skip


def info_dtype(agents: int) -> np.dtype[Any]:
    """Return the record of the columns of a state."""
    axis = () if agents == 1 else (agents,)
    return np.dtype(
        [
            *((name, kind, (*axis, *shape)) for name, kind, shape in PLAYER_INFO),
            *SHARED_INFO,
        ],
        align=True,
    )


def default_info(agents: int) -> tuple[str, ...]:
    """Return the columns that are written unless others are asked for."""
    left_out = LARGE if agents == 2 else (*LARGE, *VERSUS_ONLY)
    columns = tuple(name for name in info_dtype(agents).names or () if name not in left_out)
    return (*columns, *(MATCH_TERMS if agents == 2 else REWARD_TERMS))


# -- reward ----------------------------------------------------------------------------------------

REWARD_TERMS = (
    "reward_virus_clear",
    "reward_non_virus_clear",
    "reward_adjacency_pair",
    "reward_adjacency_triplet",
    "reward_virus_adjacency_pair",
    "reward_virus_adjacency_triplet",
    "reward_terminal_clear",
    "reward_topout",
    "reward_time_clear",
    "reward_time_topout",
    "reward_time",
    "reward_pill_place",
    "reward_column_height",
    "reward_action",
    "reward_win",
    "reward_garbage",
    "reward_clear_win",
)
MATCH_TERMS = REWARD_TERMS[-3:]  # the others are 0 in a match
TERMS_DTYPE = np.dtype([(name, "f8") for name in REWARD_TERMS], align=True)

assert tuple(kind.name.lower() for kind in Planes) == OBSERVATIONS
assert (AUX_SIZE, AUX_VERSUS_SIZE) == (57, 72)
