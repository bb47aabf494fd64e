"""Moments that are kept: a row, its environment and options, and its players, by hash."""

from __future__ import annotations

import base64
import binascii
import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastenv.errors import FastEnvError, FileError, show
from training.playing.game_table import GameTable
from training.run import files
from training.run.options import canonical_json, check_plain
from training.studio.messages import Refusal
from training.studio.places import PERSON, Places
from training.studio.seating import make_game_table

FORMAT, VERSION = "fastenv-moment", 1
KEYS = {"format", "version", "env", "options", "players", "row", "hash"}
MAX_ROW = 1 << 20  # bytes


@dataclass(frozen=True)
class KeptMoment:
    """A row, with its environment, options and players.

    Parameters
    ----------
    env : str
    options : dict
    players : list of str
    row : bytes
    """

    env: str
    options: dict[str, Any]
    players: list[str]
    row: bytes

    @property
    def hash(self) -> str:
        """SHA-256 of environment, options and row, in hexadecimal."""
        head = canonical_json({"env": self.env, "options": self.options}).encode()
        return hashlib.sha256(head + b"\0" + self.row).hexdigest()

    def record(self) -> dict[str, Any]:
        """Make the record of a file."""
        row = base64.b64encode(zlib.compress(self.row)).decode()
        return {
            "format": FORMAT,
            "version": VERSION,
            "env": self.env,
            "options": self.options,
            "players": self.players,
            "row": row,
            "hash": self.hash,
        }


def read(record: Mapping[str, Any]) -> KeptMoment:
    """Return the moment that a file holds, whoever wrote it; the row itself is not looked at yet.

    Raises
    ------
    Refusal
        If it is none.
    """
    if set(record) != KEYS or record["format"] != FORMAT or record["version"] != VERSION:
        raise Refusal(f"this is no moment: it must have {', '.join(sorted(KEYS))} of version 1.")
    env, options, players = record["env"], record["options"], record["players"]
    fits = isinstance(env, str) and isinstance(options, dict) and isinstance(players, list)
    if not fits or not all(isinstance(name, str) and len(name) <= 300 for name in players):
        raise Refusal("this is no moment: env, options or players are of another type.")
    check_plain(options)
    moment = KeptMoment(env, options, players[:16], _unpack_row(record["row"]))
    if record["hash"] != moment.hash:
        raise Refusal("this moment was changed: its hash is that of another row.")
    return moment


def _unpack_row(text: Any) -> bytes:
    try:
        unpack = zlib.decompressobj()
        data = unpack.decompress(base64.b64decode(text, validate=True), MAX_ROW)
    except (TypeError, ValueError, binascii.Error, zlib.error):
        raise Refusal("this is no moment: its row cannot be unpacked.") from None
    if not unpack.eof:
        raise Refusal(f"this is no moment: its row is cut, or has more than {MAX_ROW} bytes.")
    return data


def seat(moment: KeptMoment, places: Places, seed: int) -> GameTable:
    """Return a table that stands at a moment, whose row is checked.

    Where who sat there is not here, persons sit.

    Raises
    ------
    Refusal, FastEnvError
        If no game can be in that row.
    """
    try:
        table = make_game_table(moment.env, moment.options, moment.players, seed, places)
    except (FastEnvError, OSError):
        table = make_game_table(moment.env, moment.options, [PERSON], seed, places)
    dtype = table.engine.spec.state_dtype
    if len(moment.row) != dtype.itemsize:
        length, size = len(moment.row), dtype.itemsize
        raise Refusal(f"row of {length} bytes: a row of {moment.env} has {size} with its options.")
    row = np.frombuffer(bytearray(moment.row), dtype)
    table.engine.reset_many(seeds=[seed])
    table.go(row, trusted=False)
    return table


def store(moment: KeptMoment, places: Places) -> str:
    """Keep a moment; return its hash."""
    name = moment.hash
    places.kept.mkdir(parents=True, exist_ok=True)
    files.write_json(places.kept / f"{name}.json", moment.record())
    return name


def find(name: str, places: Places) -> KeptMoment:
    """Return the moment of a hash.

    Raises
    ------
    Refusal
        If it is not kept here.
    """
    path = places.kept / f"{name}.json"
    try:
        return read(files.read_json(path))
    except (OSError, ValueError, FileError):
        raise Refusal(f"moment {show(name)}: it is not kept here.") from None
