"""Free games of others: a fixed choice, how fast they run, and what they show.

The choice is the manifest (``free_games.json`` beside this file): games of ``gbdev/database`` for
this machine whose ``game.json`` names a licence, the tag "Open Source" or a repository of their
source, with a cartridge that is emulated and a header that a console starts, in the order of the
SHA-256 of their slugs. The first 72 are compared picture by picture, and the first 20 of these
timed. It was written before anything was measured. ``extract REPOSITORY FOLDER`` writes their ROMs
from a copy of the database into a folder outside this repository, which has none of them.
``speed FOLDER`` measures steps of the environment beside PyBoy's in turns, and with ``--out FILE``
writes a record. ``pictures FOLDER --gambatte PROGRAM`` says in how many frames of 1,000 the picture
is that of Gambatte, with the program that ``gambatte_pictures.cpp`` beside this file is the source
of. All games are played with the same buttons, those of the manifest: each is held for 8 frames of
24, and after the last one the first comes again.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastenv.errors import ConfigError
from fastenv.gameboy.cartridge import Cartridge, load_cartridge
from fastenv.gameboy.config import BY_LINE, BY_PIXEL
from tools.command import new_parser, refusing
from training.run import files, machine

MANIFEST = Path(__file__).with_suffix(".json")
DATABASE = "gbdev/database"
TIMED = 20  # games


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


def measure_games(
    command: str,
    games: Iterable[Game],
    measure: Callable[[Game], dict[str, Any]],
    conclude: Callable[[list[dict[str, Any]]], dict[str, Any]],
    out: Path | None,
) -> None:
    """Measure games, print a line for each and one of all, and write a record.

    Parameters
    ----------
    command : str
        That measures them, for the record.
    games : iterable of Game
    measure : callable
        Returns what is found of a game.
    conclude : callable
        Returns what they come to together.
    out : Path, optional
        Where the record goes.
    """
    about = {**machine.taken_on(), "command": command, "load": machine.load()}
    found = []
    for game in games:
        found.append(measure(game))
        print(json.dumps(found[-1]), flush=True)
    concluded = conclude(found)
    print(json.dumps(concluded))
    if out is not None:
        about |= {"load_after": machine.load(), **concluded}
        files.write_json(out, {**about, "games": found})


def named(games: Iterable[Game], names: Sequence[str]) -> list[Game]:
    """Return the games with these names; without names, all of them."""
    return [game for game in games if not names or game.name in names]


@refusing
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = new_parser("gameboy.free_games", __doc__)
    commands = parse.add_subparsers(dest="command", required=True)
    copy = commands.add_parser("extract", help="write the ROMs of the manifest")
    copy.add_argument("repository", type=Path, help=f"a copy of {DATABASE}")
    copy.add_argument("folder", type=Path, help="folder to write to")
    timed = commands.add_parser("speed", help="compare the speed with PyBoy")
    timed.add_argument("folder", type=Path, help="of the ROMs")
    timed.add_argument(
        "--games", nargs="+", default=(), help="names of games; default: those to time"
    )
    timed.add_argument("--turns", type=int, default=5, help="timed turns; default 5")
    timed.add_argument("--out", type=Path, help="write a record")
    seen = commands.add_parser("pictures", help="compare with Gambatte's pictures")
    seen.add_argument("folder", type=Path, help="of the ROMs")
    seen.add_argument("--gambatte", type=Path, required=True, help="the program described above")
    seen.add_argument("--games", nargs="+", default=(), help="names; default: all")
    seen.add_argument("--accuracy", choices=(BY_LINE, BY_PIXEL), default=BY_PIXEL)
    seen.add_argument("--out", type=Path, help="write a record")
    args = parse.parse_args(argv)
    if args.command == "extract":
        extract(args.repository, args.folder)
    elif args.command == "speed":
        from tools.gameboy import free_speed

        free_speed.run(args.folder, args.games, args.turns, args.out)
    else:
        from tools.gameboy import free_pictures

        free_pictures.run(args.folder, args.games, args.gambatte, args.accuracy, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
