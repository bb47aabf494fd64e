"""The fastest clears of Dr. Mario that are known, in an SQLite file (docs/howto/train_drmario.md).

A record is a game, by level, speed and seed, and the placements that clear it. It is played again
before it is accepted, so that every time in the file can be reached.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import fastenv
from fastenv import BatchEngine
from fastenv.drmario import tables as t
from fastenv.drmario.config import DrMarioConfig
from fastenv.errors import FastEnvError, show, show_reason
from fastenv.files import show_path
from training.run import files, machine
from training.run.options import require

if TYPE_CHECKING:
    from training.evaluation.results import Results

ENV = "DrMarioPlacement-v0"
SAME = ("extended_inputs", "first_frame", "intro_frames")  # options that records do without
LANES = 256  # records that are played again at once
KEEP = 50  # of a game
MOST = 2**31 - 1  # clears that may be asked for
SEEDS = 2**16
PATIENCE = 30.0  # seconds to wait for another process that writes
APPLICATION, VERSION = 0x44724D54, 1
Game = tuple[int, str, int]  # level, speed and the option ``game_seed``

KEY = "(level, speed, seed, sequence_sig, trace)"
SCHEMA = f"""
CREATE TABLE clears (
    level INTEGER NOT NULL, speed TEXT NOT NULL, seed INTEGER NOT NULL,
    sequence_sig TEXT NOT NULL,  -- of bottle and pills: first 8 bytes of their SHA-1
    frames INTEGER NOT NULL, spawns INTEGER NOT NULL,
    updated_at TEXT NOT NULL, run_id TEXT NOT NULL,
    trace BLOB NOT NULL,  -- placements, little-endian uint16
    PRIMARY KEY {KEY}
) STRICT
"""
INDEX = "CREATE INDEX by_time ON clears (level, speed, seed, sequence_sig, frames, spawns)"
ADD = """
INSERT INTO clears VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET updated_at = excluded.updated_at, run_id = excluded.run_id
"""
TRIM = """
DELETE FROM clears WHERE (level, speed, seed, sequence_sig) = (?1, ?2, ?3, ?4) AND trace NOT IN (
    SELECT trace FROM clears WHERE (level, speed, seed, sequence_sig) = (?1, ?2, ?3, ?4)
    ORDER BY frames, spawns, trace LIMIT ?5
)
"""
HAS = f"SELECT 1 FROM clears WHERE {KEY} = (?, ?, ?, ?, ?)"
BEST = "SELECT seed, min({}) FROM clears WHERE level = ? AND speed = ? GROUP BY seed"
MEASURES = ("frames", "spawns")
TOP = """
SELECT level, speed, seed, frames, spawns, trace, sequence_sig, run_id FROM clears
WHERE level = ? AND speed = ? AND (?3 IS NULL OR seed = ?3)
ORDER BY frames, spawns, seed, trace LIMIT ?4
"""


class RecordError(FastEnvError, ValueError):
    """A record that does not replay, or a file that is no store; the message says which."""


@dataclass(frozen=True)
class Clear:
    """A cleared game.

    Parameters
    ----------
    level, speed, seed
        As the options ``level``, ``speed`` and ``game_seed`` of the environment.
    frames : int
        From the first decision to the end.
    spawns : int
        Pills that locked.
    trace : tuple of int
        The placements.
    sequence_sig, run_id : str
        What the store says of it: of bottle and pills, and of who played.
    """

    level: int
    speed: str
    seed: int
    frames: int
    spawns: int
    trace: tuple[int, ...]
    sequence_sig: str = field(default="", compare=False)
    run_id: str = field(default="", compare=False)


def list_clears(played: Results) -> list[Clear]:
    """Return the cleared episodes of an evaluation.

    Parameters
    ----------
    played : Results
        With actions, and with the column ``speed``.
    """
    assert played.actions is not None
    names = ("level", "game_seed", "ticks", "spawns")
    clears = []
    for k in np.flatnonzero(played["reason"] == t.Reason.CLEAR).tolist():
        level, seed, frames, spawns = (int(played[name][k]) for name in names)
        trace = tuple(played.actions[k].tolist())
        clears.append(Clear(level, str(played["speed"][k]), seed, frames, spawns, trace))
    return clears


class BestTimes:
    """A file of clears; several processes may use it at once.

    Parameters
    ----------
    path : Path
        Made if it is not there.

    Raises
    ------
    RecordError
        If the file is something else or damaged, now or later, or was closed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._name_file_in_errors():
            self._check_kind()
            self._file = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
            self._prepare()

    def _check_kind(self) -> None:
        """Refuse what SQLite would take for a new store: a file of one byte.

        The file is not opened for that. When it is closed again, the system takes all locks of
        this process off it, those of its other connections too.
        """
        if not self.path.exists():
            return
        reason = "" if self.path.is_file() else "it is no regular file"
        if not reason and self.path.stat().st_size == 1:
            reason = "it must be empty or a database of SQLite"
        if reason:
            raise RecordError(
                f"{show_path(self.path)} cannot be used as a store of times: {reason}."
            )

    def _prepare(self) -> None:
        with self._begin_transaction():
            versions = [
                self._query_one(f"PRAGMA {name}") for name in ("application_id", "user_version")
            ]
            tables = self._query_one("SELECT count(*) FROM sqlite_schema")
            if tables == 0:
                self._file.execute(SCHEMA)
                self._file.execute(INDEX)
                self._file.execute(f"PRAGMA application_id = {APPLICATION}")
                self._file.execute(f"PRAGMA user_version = {VERSION}")
            elif versions != [APPLICATION, VERSION]:
                raise RecordError(f"{self.path} is a database, but no store of times.")

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @contextmanager
    def _name_file_in_errors(self) -> Iterator[None]:
        """Name the file in errors of SQLite and of the system."""
        try:
            yield
        except FastEnvError:
            raise
        # Texts and messages about a schema are of any bytes; a path may be too long, or hold a 0.
        except (sqlite3.Error, OSError, ValueError) as error:
            message = (
                f"{show_path(self.path)} cannot be used as a store of times: {show_reason(error)}."
            )
            raise RecordError(message) from error

    @contextmanager
    def _begin_transaction(self) -> Iterator[None]:
        """Write all of a block in one transaction, or nothing."""
        with self._name_file_in_errors():
            self._file.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._file.execute("COMMIT")
            except BaseException:
                if self._file.in_transaction:  # SQLite ends some itself when a file fails
                    self._file.execute("ROLLBACK")
                raise

    def _query_one(self, query: str) -> Any:
        return self._file.execute(query).fetchone()[0]

    # -- writing ---------------------------------------------------------------------------------

    def add(self, clears: Sequence[Clear], run_id: str = "") -> int:
        """Play clears again and store them; return how many are new and among the fastest.

        Parameters
        ----------
        clears : sequence of Clear
        run_id : str
            Who played.

        Raises
        ------
        RecordError
            One does not replay; nothing is written.
        """
        require(isinstance(run_id, str), "run_id", run_id, "a text")
        signatures, now, keys = replay(clears), machine.now(), []
        with self._begin_transaction():
            for clear, signature in zip(clears, signatures, strict=True):
                game = clear.level, clear.speed, clear.seed, signature
                trace = np.array(clear.trace, "<u2").tobytes()
                if not self._has(*game, trace):
                    keys.append((*game, trace))
                self._file.execute(ADD, (*game, clear.frames, clear.spawns, now, run_id, trace))
                self._file.execute(TRIM, (*game, KEEP))
            return sum(self._has(*key) for key in dict.fromkeys(keys))

    def _has(self, *key: Any) -> bool:
        return self._file.execute(HAS, key).fetchone() is not None

    # -- reading ---------------------------------------------------------------------------------

    def floor(self, level: int, speed: str) -> int | None:
        """Return the fewest frames in which a game of a level was cleared, None without one."""
        return min(self.list_best(level, speed).values(), default=None)

    def quantiles(
        self,
        level: int,
        speed: str,
        fractions: Sequence[float] = (0.1, 0.25, 0.5, 0.75, 0.9),
        *,
        of: str = "frames",
    ) -> list[float]:
        """Return quantiles of the best of a level's games, frames or spawns; nothing without."""
        listed = isinstance(fractions, Sequence | np.ndarray)
        possible = listed and all(isinstance(f, Real) and 0 <= f <= 1 for f in fractions)
        require(possible, "fractions", fractions, "numbers from 0 to 1")
        best = [*self.list_best(level, speed, of).values()]
        quantiles: list[float] = np.quantile(best, fractions).tolist() if best else []
        return quantiles

    def list_best(self, level: int, speed: str, of: str = "frames") -> dict[int, int]:
        """Return the fewest frames, or spawns, of each game of a level, by seed."""
        _check_game(level, speed)
        require(of in MEASURES, "of", of, f"one of {', '.join(MEASURES)}")
        with self._name_file_in_errors():
            best = dict(self._file.execute(BEST.format(of), (level, speed)))
        if not all(map(_is_whole, best.values())):  # damage may be what the schema forbids
            game = f"level {level}, {speed}"
            problem = f"a clear of {game} has no whole number of {of}"
            raise RecordError(f"{show_path(self.path)} is damaged: {problem}.")
        return best

    def top(
        self, level: int, speed: str, count: int = KEEP, *, seed: int | None = None
    ) -> list[Clear]:
        """Return the fastest clears of a level, or of one of its seeds, the fastest first."""
        _check_game(level, speed, 0 if seed is None else seed)
        require(_is_whole(count) and 1 <= count <= MOST, "count", count, f"from 1 to {MOST}")
        with self._name_file_in_errors():
            rows = self._file.execute(TOP, (level, speed, seed, count)).fetchall()
        return [*map(self._make_clear, rows)]

    def best(self, level: int, speed: str, seed: int) -> Clear | None:
        """Return the fastest clear of a seed, None without one."""
        _check_game(level, speed, seed)
        return next(iter(self.top(level, speed, 1, seed=seed)), None)

    def _make_clear(self, row: Sequence[Any]) -> Clear:
        """Return the clear of a row of ``TOP``."""
        level, speed, seed, frames, spawns, trace, signature, run_id = row
        if not isinstance(trace, bytes) or len(trace) % 2:
            game = f"level {level}, {speed}, seed {seed}"
            raise RecordError(f"{self.path} is damaged: a clear of {game} has no whole trace.")
        actions = tuple(np.frombuffer(trace, "<u2").tolist())
        return Clear(level, speed, seed, frames, spawns, actions, signature, run_id)


# -- what is possible ------------------------------------------------------------------------------


def prepare(path: Path, options: Mapping[str, Any]) -> None:
    """Make the store of the option ``--best-times``, or refuse it before anything is played.

    Parameters
    ----------
    path : Path
    options : mapping
        Of the environment.
    """
    check_options(options, "--best-times")
    files.prepare("--best-times", path)
    BestTimes(path).close()


def check_options(options: Mapping[str, Any], flag: str) -> None:
    """Refuse options of the environment with which no clear could be played again.

    Parameters
    ----------
    options : mapping
    flag : str
        What asks for the store.
    """
    config = DrMarioConfig.from_options(**options)
    for name in SAME:
        value, usual = getattr(config, name), getattr(DrMarioConfig, name)
        require(value == usual, name, value, f"{usual} with {flag}")


def _check_game(level: object, speed: object, seed: object = 0) -> None:
    for name, value, low, high in (
        ("level", level, t.LOWEST_LEVEL, t.HIGHEST_LEVEL),
        ("seed", seed, 0, SEEDS - 1),
    ):
        possible = _is_whole(value) and value in range(low, high + 1)
        require(possible, name, value, f"a whole number from {low} to {high}")
    possible = isinstance(speed, str) and speed in t.SPEEDS
    require(possible, "speed", speed, f"one of {', '.join(t.SPEEDS)}")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# -- playing again ---------------------------------------------------------------------------------


def replay(clears: Sequence[Clear]) -> list[str]:
    """Play clears again from the reset; return the signatures of their games.

    Parameters
    ----------
    clears : sequence of Clear

    Returns
    -------
    list of str
        First 8 bytes of the SHA-1 of the bottle and the 128 pills of each game, in hexadecimal.

    Raises
    ------
    RecordError
        One does not lead to what it says; names it.
    """
    sequence = isinstance(clears, Sequence) and all(isinstance(each, Clear) for each in clears)
    require(sequence, "clears", clears, "a sequence of Clear")
    signatures: list[str] = []
    for start in range(0, len(clears), LANES):
        signatures += _replay(clears[start : start + LANES])
    return signatures


def _replay(clears: Sequence[Clear]) -> list[str]:
    engine = fastenv.make_engine(ENV, len(clears))
    for lane, clear in enumerate(clears):
        _begin(engine, lane, clear)
    engine.reset_many(seeds=0)
    rows = engine.get_states()
    games = (row["players"][0]["board"].tobytes() + row["reserve"].tobytes() for row in rows)
    signatures = [hashlib.sha1(game, usedforsecurity=False).hexdigest()[:16] for game in games]
    lengths = np.array([len(clear.trace) for clear in clears])
    for step in range(lengths.max()):
        actions = np.zeros(len(clears), np.int32)
        for lane in np.flatnonzero(lengths > step).tolist():
            action = clears[lane].trace[step]
            named = f"placement {step + 1} of {lengths[lane]}"
            if engine.ended[lane]:
                raise _refuse(clears[lane], f"the game is over before {named}")
            possible = _is_whole(action) and 0 <= action < t.NUM_PLACEMENTS
            if not (possible and engine.mask[lane, action]):
                raise _refuse(clears[lane], f"{named}, {action!r}, cannot be reached")
            actions[lane] = action
        engine.step_many(actions, select=lengths > step, autoreset=False)
    for clear, row in zip(clears, engine.get_states(), strict=True):
        if row["reason"] != t.Reason.CLEAR:
            raise _refuse(clear, "its bottle is not cleared at the end")
        led = int(row["ep_frames"]), int(row["players"][0]["locks"])
        if led != (clear.frames, clear.spawns):
            wanted = f"{clear.frames!r} frames and {clear.spawns!r} pills"
            raise _refuse(clear, f"it takes {led[0]} frames and {led[1]} pills, not {wanted}")
    return signatures


def _begin(engine: BatchEngine, lane: int, clear: Clear) -> None:
    """Let the game of a clear begin in a lane with the next reset."""
    for name in ("level", "seed", "frames", "spawns"):
        value = getattr(clear, name)
        if not _is_whole(value):
            raise _refuse(clear, f"{name}={show(value)} is no whole number")
    if not isinstance(clear.trace, tuple):
        raise _refuse(clear, f"trace={show(clear.trace)} is no tuple")
    if not clear.trace:
        raise _refuse(clear, "its placements are missing")
    if t.FEWEST_VIRUSES_LEVEL <= clear.level < 0:
        raise _refuse(clear, "at levels -3 to -1 the seed does not say which viruses stay")
    try:
        set_game(engine, lane, clear.level, clear.speed, clear.seed)
    except FastEnvError as error:
        raise _refuse(clear, str(error).removesuffix(".")) from error


def set_game(engine: BatchEngine, lane: int, level: int, speed: str, seed: int) -> None:
    """Set the game that a lane begins with the next reset; a seed is an option ``game_seed``."""
    for name, value in (("level", level), ("speed", speed), ("game_seed", seed)):
        engine.configure(name, value, [lane])


def _refuse(clear: Clear, reason: str) -> RecordError:
    game = f"level {clear.level!r}, {clear.speed}, seed {clear.seed!r}"
    named = f"the clear of {game} in {clear.frames!r} frames"
    return RecordError(f"{named} does not replay: {reason}; nothing is written.")
