"""Free games of others: a fixed choice, how fast they run here and in PyBoy, and what they show.

The choice is the manifest (``free_games.json`` beside this file): games of ``gbdev/database`` for
this machine whose ``game.json`` names a licence, the tag "Open Source" or a repository of their
source, with a cartridge that is emulated and a header that a console starts, in the order of the
SHA-256 of their slugs. It was written before anything was measured. ``extract REPOSITORY FOLDER``
writes their ROMs from a copy of the database into a folder outside this repository, which has none
of them. These commands measure, and write a record with ``--out FILE``:

* ``speed FOLDER``: steps of the environment with the first 20 games, and the same steps in PyBoy,
  in turns.
* ``pictures FOLDER --gambatte PROGRAM``: in how many frames of 1,000 the picture of each game is
  that of Gambatte. ``gambatte_pictures.cpp`` beside this file is the source of the program.
* ``memory FOLDER``: how many games show video memory that nobody wrote, with
  ``ram_fill="seeded"`` (``free_memory.py`` beside this file).

All games are played with the same buttons, those of the manifest: each is held for 8 frames of 24,
and after the last one the first comes again. To measure the speed, every turn plays the same piece
of a game: it returns to where it was after the same warm-up. Lanes of the environment press the
same buttons at different times, so that they do not do the same; PyBoy plays another lane in each
turn.
"""

from __future__ import annotations

import gc
import io
import json
import statistics
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import fastenv
from fastenv.errors import ConfigError
from fastenv.gameboy.cartridge import Cartridge, load_cartridge
from fastenv.gameboy.config import BY_LINE, BY_PIXEL
from fastenv.gameboy.tables import FRAME, Key
from tools.command import new_parser, refusing
from tools.gameboy import bench
from tools.gameboy.bench import STEP, WARM_UP
from training.bench.timing import Work, interleaved
from training.run import files, machine

MANIFEST = Path(__file__).with_suffix(".json")
DATABASE = "gbdev/database"
ENV = "GameBoyPixels-v0"
TIMED, LANES, STEPS, TURNS = 20, 64, 32, 5
WARM_STEPS = WARM_UP // STEP
ONE_PIECE = 1e-9  # seconds of a turn: it is over when the piece has been played
COMMAND = "python -m tools.gameboy.free_games speed FOLDER"
ASKED = {"geometric_mean": 8.0, "worst": 4.0}  # times PyBoy


@dataclass(frozen=True)
class Game:
    """A game of the manifest.

    Parameters
    ----------
    name : str
        Its slug, which is also the name of its ROM file.
    path : str
        Of the ROM in the database.
    sha256 : str
    licence : str
        What ``game.json`` says.
    """

    name: str
    path: str
    sha256: str
    licence: str


def manifest() -> tuple[list[Game], tuple[str, ...]]:
    """Return the games in their order, and the buttons they are played with."""
    read = json.loads(MANIFEST.read_text(encoding="utf-8"))
    return [Game(**game) for game in read["games"]], tuple(read["keys"])


def cartridge_of(folder: Path, game: Game) -> Cartridge:
    """Return a game's cartridge.

    Raises
    ------
    ConfigError
        If the file is not the one of the manifest.
    """
    path = folder / f"{game.name}.gb"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about files that are shorter than their header says
        cartridge = load_cartridge(path)
    if cartridge.sha256 != game.sha256:
        raise ConfigError(f"{path}: SHA-256 is {cartridge.sha256}, must be {game.sha256}")
    return cartridge


def _git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(
        ["git", "-C", str(repository), *arguments], capture_output=True, check=True
    ).stdout


def extract(repository: Path, folder: Path) -> None:
    """Write the ROMs of the manifest into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    commit = json.loads(MANIFEST.read_text(encoding="utf-8"))["commit"]
    for game in manifest()[0]:
        rom = _git(repository, "show", f"{commit}:{game.path}")
        (folder / f"{game.name}.gb").write_bytes(rom)
        cartridge_of(folder, game)


class Ours:
    """Lanes of the environment with a game; lane k is k buttons ahead after the warm-up."""

    def __init__(self, rom: Path, keys: Sequence[str], lanes: int = LANES) -> None:
        names = sorted(set(keys))
        options: dict[str, Any] = {"actions": [[name] for name in names], "stack_k": 1}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about files that are shorter than their header says
            self.engine = fastenv.make_engine(ENV, lanes, rom=str(rom), num_threads=1, **options)
        self._actions = np.array([names.index(key) for key in keys], np.int32)
        self._lanes = np.arange(lanes)
        self.engine.reset_many(seeds=0)
        for step in range(WARM_STEPS):
            self.engine.step_many(np.full(lanes, self._action(step), np.int32))
        self._begin = self.engine.get_states()

    def _action(self, step: Any) -> Any:
        return self._actions[step % len(self._actions)]

    def work(self, steps: int) -> Work:
        """Make the work of so many steps of all lanes from the beginning; its steps are frames."""

        def play() -> None:
            for step in range(steps):
                self.engine.step_many(self._action(WARM_STEPS + step + self._lanes))

        rewind = partial(self.engine.set_states, self._begin, trusted=True)
        return Work(play, steps * STEP * len(self._lanes), rewind)

    def instructions(self) -> int:
        """Return the instructions of a frame in the last turn."""
        rows = self.engine.get_states()
        executed, cycles = (
            float(rows[name].sum() - self._begin[name].sum()) for name in ("instr", "cyc")
        )
        return round(executed / cycles * FRAME)


class Theirs(bench.Theirs):
    """PyBoy with a game."""

    def __init__(self, cartridge: Cartridge, keys: Sequence[str]) -> None:
        super().__init__(cartridge)
        self._keys = [Key[key.upper()] for key in keys]
        self._play(range(WARM_STEPS))
        self._begin = io.BytesIO()
        self.twin.boy.save_state(self._begin)

    def _play(self, steps: range) -> None:
        for step in steps:
            self.take_step(self._keys[step % len(self._keys)])

    def work(self, steps: int, lanes: Iterable[int]) -> Work:
        """Make the work of so many steps, of the next one of some lanes in each turn."""
        ahead = iter(lanes)

        def rewind() -> None:
            self._begin.seek(0)
            self.twin.boy.load_state(self._begin)
            self._first = WARM_STEPS + next(ahead)

        def play() -> None:
            self._play(range(self._first, self._first + steps))

        return Work(play, steps * STEP, rewind)


def measure(
    folder: Path, game: Game, keys: Sequence[str], turns: int = TURNS, steps: int = STEPS
) -> dict[str, Any]:
    """Return the figures of a game.

    Parameters
    ----------
    folder : Path
        Of the ROMs.
    game : Game
    keys : sequence of str
    turns, steps : int
        How many turns, and steps in each.

    Returns
    -------
    dict
        ``us`` and ``pyboy_us``, CPU microseconds of a frame, and ``times_pyboy``: medians over the
        turns, and all of them under the same names with ``_all``; ``instructions_per_frame``.
    """
    cartridge = cartridge_of(folder, game)
    ours, theirs = Ours(folder / f"{game.name}.gb", keys), Theirs(cartridge, keys)
    gc.collect()
    lanes = [turn * LANES // turns for turn in range(-1, turns)]  # the first is not counted
    works = {"us": ours.work(steps), "pyboy_us": theirs.work(steps, lanes)}
    every = {
        name: [round(1e6 / each.per_cpu_s, 3) for each in samples]
        for name, samples in interleaved(works, turns, ONE_PIECE).items()
    }
    theirs.twin.close()
    every["times_pyboy"] = [
        round(pyboy / us, 3) for us, pyboy in zip(every["us"], every["pyboy_us"], strict=True)
    ]
    found: dict[str, Any] = {"game": game.name, "sha256": game.sha256}
    found["instructions_per_frame"] = ours.instructions()
    found |= {name: statistics.median(values) for name, values in every.items()}
    return found | {f"{name}_all": values for name, values in every.items()}


def summary(games: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the geometric mean over games of times PyBoy, and the worst of them."""
    times = {game["game"]: game["times_pyboy"] for game in games}
    return {
        "games": len(times),
        "geometric_mean": round(statistics.geometric_mean(times.values()), 3),
        "worst": min(times.values()),
        "worst_game": min(times, key=lambda name: times[name]),
    }


def measure_speed(folder: Path, games: Iterable[Game], turns: int, out: Path | None) -> None:
    """Measure how fast games run, and write a record if ``out`` says where."""

    def conclude(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
        about = {"pyboy": metadata.version("pyboy"), "env": ENV, "lanes": LANES}
        about |= {"frames_per_step": STEP, "steps_of_a_turn": STEPS, "asked": ASKED}
        return {**about, "reached": summary(found)}

    measure_games(COMMAND, folder, games, partial(measure, turns=turns, steps=STEPS), conclude, out)


def measure_games(
    command: str,
    folder: Path,
    games: Iterable[Game],
    measure_game: Callable[[Path, Game, Sequence[str]], dict[str, Any]],
    conclude: Callable[[Sequence[dict[str, Any]]], dict[str, Any]],
    out: Path | None,
) -> None:
    """Measure games, print a line for each and one of all, and write a record.

    Parameters
    ----------
    command : str
        That measures them, for the record.
    folder : Path
        Of the ROMs.
    games : iterable of Game
    measure_game : callable
        Returns what is found of a game, with the folder and the buttons.
    conclude : callable
        Returns what they come to together.
    out : Path, optional
        Where the record goes.
    """
    about = {**machine.taken_on(), "command": command, "load": machine.load()}
    keys, found = manifest()[1], []
    for game in games:
        found.append(measure_game(folder, game, keys))
        print(json.dumps(found[-1]), flush=True)
    concluded = conclude(found)
    print(json.dumps(concluded))
    if out is not None:
        about |= {"load_after": machine.load(), **concluded}
        files.write_json(out, {**about, "games": found})


def games_of(names: Sequence[str], first: int | None = None) -> list[Game]:
    """Return the games with these names; without names the first ones, or all of them.

    Raises
    ------
    ConfigError
        If the manifest has no game of a name.
    """
    games, _ = manifest()
    if missing := {*names} - {game.name for game in games}:
        raise ConfigError(f"--games {' '.join(sorted(missing))}: not in the manifest")
    return [game for game in games if game.name in names] if names else games[:first]


@refusing
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = new_parser("gameboy.free_games", __doc__)
    commands = parse.add_subparsers(dest="command", required=True)
    copy = commands.add_parser("extract", help="write the ROMs of the manifest")
    copy.add_argument("repository", type=Path, help=f"a copy of {DATABASE}")
    copy.add_argument("folder", type=Path, help="folder to write to")
    timed = commands.add_parser("speed", help="compare the speed with PyBoy")
    timed.add_argument("--turns", type=int, default=TURNS, help="timed turns; default 5")
    seen = commands.add_parser("pictures", help="compare with Gambatte's pictures")
    seen.add_argument("--gambatte", type=Path, required=True, help="the program described above")
    seen.add_argument("--accuracy", choices=(BY_LINE, BY_PIXEL), default=BY_PIXEL)
    memory = commands.add_parser("memory", help="find games that show uninitialised video memory")
    for measuring, default in ((timed, "those to time"), (seen, "all"), (memory, "all")):
        measuring.add_argument("folder", type=Path, help="of the ROMs")
        measuring.add_argument("--games", nargs="+", default=(), help=f"names; default: {default}")
        measuring.add_argument("--out", type=Path, help="write a record")
    args = parse.parse_args(argv)
    if args.command == "extract":
        extract(args.repository, args.folder)
    elif args.command == "speed":
        if args.turns < 1:
            raise ConfigError(f"--turns {args.turns}: must be at least 1")
        measure_speed(args.folder, games_of(args.games, TIMED), args.turns, args.out)
    elif args.command == "memory":
        from tools.gameboy import free_memory

        free_memory.run(args.folder, games_of(args.games), args.out)
    else:
        from tools.gameboy import free_pictures

        free_pictures.run(args.folder, games_of(args.games), args.gambatte, args.accuracy, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
