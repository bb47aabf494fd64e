"""The golden files of Dr. Mario: layouts, frames, placements (docs/drmario.md, 16).

What was recorded from the original console is not in the repository: those files are looked for in
the folder that ``FASTENV_DRMARIO_DATA`` names, or else where this project's machines have them.
"""

import os
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from fastenv.drmario.tables import SPEEDS

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "data" / "drmario"
DEFAULT = ROOT.parent / "shared" / "data" / "drmario"
CONSOLE = Path(os.environ.get("FASTENV_DRMARIO_DATA", DEFAULT))

# kind of file -> the arrays it has
SCHEMAS = {
    "layouts": ("level", "seed", "board", "reserve", "rng_after", "virus_count"),
    "frame_traces": (
        "fields", "meta", "meta_cols", "buttons", "state", "delta_frame", "delta_cell",
        "delta_value", "board0", "reserve", "state0",
    ),
    "placement_episodes": (
        "episode_level", "episode_speed", "episode_seed", "episode_board0", "rows", "row_cols",
        "board_after", "mask_before_packed",
    ),
    "reachability": ("board", "root", "root_cols", "kind", "cost", "cost_with_ab"),
    "demo_trace": (
        "initial_board", "input_table", "pill_table", "pill_row", "pill_col", "pill_rot",
        "delta_frame", "delta_cell", "delta_value", "engine_fields", "engine_state",
        "engine_state0",
    ),
    "recorded_two_player": (
        "level", "speed", "rng_after_init", "init_frame", "field1", "field2", "events",
        "event_cols", "spawn_field",
    ),
}  # fmt: skip


# Registers that have another name here.
RENAMED = {"pill_count_bcd_lo": "pill_count_lo", "pill_count_bcd_hi": "pill_count_hi"}
# The registers beside a recorded demo are those of an engine that counted another chain_length.
DEMO_FIELDS_BUT = "chain_length"


class GoldenError(ValueError):
    """A golden file cannot be used; the message names it."""


def files(kind):
    """Return the files of a kind, those of the repository before others of a name."""
    found = {
        path.name: path for folder in (CONSOLE, FOLDER) for path in folder.glob(f"{kind}*.npz")
    }
    return sorted(found.values())


def console_file(kind):
    """Return a file that was recorded from the console, or skip the test."""
    found = files(kind)
    if not found:
        pytest.skip(f"{kind}*.npz, recorded from the original console, is not in {CONSOLE}")
    return found[0]


def load(path, kind):
    """Return the arrays of a golden file.

    Raises
    ------
    GoldenError
        It is truncated, or of another schema.
    """
    try:
        with open(path, "rb") as binary, np.load(binary, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise GoldenError(f"{Path(path).name} cannot be read: {error}.") from error
    for name in SCHEMAS[kind]:
        if name not in arrays:
            raise GoldenError(f"{Path(path).name}: no array {name!r}, which {kind} files have.")
    return arrays


# Columns of the events of a recorded match. Of a lock, the column called speedups_or_x is x.
EVENT = (
    "type", "player", "frame", "first", "second", "preview_first", "preview_second",
    "speed_or_-1", "speedups_or_x", "y", "rot",
)  # fmt: skip


def demo_registers(file):
    """Return the registers of a recorded demo: their names, before it, and after each frame."""
    fields = file["engine_fields"].tolist()
    known = [number for number, name in enumerate(fields) if name != DEMO_FIELDS_BUT]
    before, after = file["engine_state0"][known], file["engine_state"][:, known]
    return [fields[number] for number in known], before.tolist(), after.tolist()


def recorded_match(path):
    """Return the arrays of a recorded match; raises :class:`GoldenError` as :func:`load` does."""
    file, name = load(path, "recorded_two_player"), Path(path).name
    if file["event_cols"].tolist() != [*EVENT]:
        raise GoldenError(f"{name}: event_cols is {file['event_cols'].tolist()}, must be {EVENT}.")
    shapes = {"events": (np.int32, len(EVENT)), "spawn_field": (np.uint8, 128)}
    for part, (dtype, width) in shapes.items():
        array, wanted = file[part], (len(file["events"]), width)
        if array.dtype != dtype or array.shape != wanted:
            raise GoldenError(
                f"{name}: {part} is {array.dtype} of shape {array.shape}, "
                f"must be {np.dtype(dtype)} of shape {wanted}."
            )
    return file


class Trace:
    """One recorded game: what it began with, buttons, and every frame's registers and board."""

    def __init__(self, number, meta, buttons, states, boards, reserve, state0, fields):
        self.number, self.meta, self.buttons = number, meta, buttons
        self.states, self.boards = states, boards
        self.reserve, self.state0, self.fields = reserve, state0, fields

    def __str__(self):
        return f"game {self.number}: {self.meta}"


def options_of(meta):
    """Return the options that a recorded game begins with."""
    return {
        "level": meta["level"],
        "speed": SPEEDS[meta["speed"]],
        "game_seed": meta["seed0"] * 256 + meta["seed1"],
        "first_frame": meta["frame_lo_at_reset"],
        "intro_frames": meta["intro_wait_at_reset"],
    }


def boards_of(board0, frames, deltas):
    """Return the board after every frame, shape (frames, 128), from its changes."""
    boards, board = np.zeros((frames, 128), np.uint8), board0.copy()
    at, cells, values = deltas
    next_change = 0
    for i in range(frames):
        while next_change < len(at) and at[next_change] == i:
            board[cells[next_change]] = values[next_change]
            next_change += 1
        boards[i] = board
    return boards


def traces(path):
    """Yield the games of a file of frame traces."""
    file = load(path, "frame_traces")
    fields, columns = file["fields"].tolist(), file["meta_cols"].tolist()
    frames = changes = 0
    for number, row in enumerate(file["meta"]):
        meta = dict(zip(columns, row.tolist(), strict=True))
        here = slice(frames, frames + meta["frames"])
        there = slice(changes, changes + meta["deltas"])
        frames, changes = here.stop, there.stop
        deltas = [file[f"delta_{name}"][there] for name in ("frame", "cell", "value")]
        boards = boards_of(file["board0"][number], meta["frames"], deltas)
        yield Trace(
            number, meta, file["buttons"][here], file["state"][here],
            np.concatenate([file["board0"][number][None], boards]),
            file["reserve"][number], file["state0"][number], fields,
        )  # fmt: skip


class Episode:
    """One recorded episode of placements: rows by name, masks before and boards around them."""

    def __init__(self, number, level, speed, seed, rows, boards, masks):
        self.number, self.level, self.speed, self.seed = number, level, speed, seed
        self.rows, self.boards, self.masks = rows, boards, masks

    def __str__(self):
        return f"episode {self.number}: level {self.level}, speed {self.speed}, seed {self.seed}"


def episodes(path):
    """Yield the episodes of a file of placements."""
    file = load(path, "placement_episodes")
    columns = file["row_cols"].tolist()
    masks = np.unpackbits(file["mask_before_packed"], axis=1).astype(bool)
    for number in range(len(file["episode_level"])):
        here = file["rows"][:, columns.index("episode")] == number
        yield Episode(
            number,
            int(file["episode_level"][number]),
            int(file["episode_speed"][number]),
            int(file["episode_seed"][number].astype(int) @ [256, 1]),
            [dict(zip(columns, row, strict=True)) for row in file["rows"][here].tolist()],
            np.concatenate([file["episode_board0"][number][None], file["board_after"][here]]),
            masks[here],
        )
