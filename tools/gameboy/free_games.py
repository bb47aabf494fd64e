"""Free games of others: a fixed choice, how fast they run, and what they show.

``select REPOSITORY`` writes the manifest (``free_games.json`` beside this file) from a copy of
``gbdev/database``: games for this machine whose ``game.json`` names a licence, the tag "Open
Source" or a repository of their source, with a cartridge that is emulated and a header that a
console starts, in the order of the SHA-256 of their slugs. The first 72 are compared picture by
picture, and the first 20 of these timed. It was written before anything was measured. ``extract
REPOSITORY FOLDER`` writes their ROMs into a folder outside this repository, which has none of
them. ``speed FOLDER`` measures steps of the environment beside PyBoy's in turns, and with ``--out
FILE`` writes a record. ``pictures FOLDER --gambatte PROGRAM`` says in how many frames of 1,000 the
picture is that of Gambatte, with the program that ``gambatte_pictures.cpp`` beside this file is the
source of. ``memory FOLDER`` says how many games show video memory that nobody wrote, with
``ram_fill="seeded"`` (``free_memory.py`` beside this file). All games are played with the same
buttons, those of the manifest: each is held for 8 frames of 24, and after the last one the first
comes again.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from fastenv.errors import ConfigError, FastEnvError
from fastenv.gameboy.cartridge import Cartridge, load_cartridge, read_cartridge
from fastenv.gameboy.config import BY_LINE, BY_PIXEL
from tools.command import new_parser, refusing
from training.run import files, machine

MANIFEST = Path(__file__).with_suffix(".json")
DATABASE = "gbdev/database"
COMPARED, TIMED = 72, 20  # games
KEYS = (
    *("start", "a", "start", "a", "start", "a", "right", "a", "down", "a", "start", "right"),
    *("right", "a", "right", "b", "left", "up", "a", "up", "right", "down", "b", "down"),
    *("left", "a", "left", "right", "a", "up", "start", "start", "right", "a", "down", "left"),
    *("a", "right", "right", "up", "b", "a", "down", "right"),
)
_OPEN, _LICENCES = "open source", ("license", "gameLicense")


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


# -- the choice ------------------------------------------------------------------------------------


def _git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(
        ["git", "-C", str(repository), *arguments], capture_output=True, check=True
    ).stdout


def _licence(entry: dict[str, Any]) -> str:
    """Return on what grounds a game counts as free; empty if there are none."""
    for key in _LICENCES:
        if entry.get(key):
            return str(entry[key])
    if any(tag.lower().replace("-", " ") == _OPEN for tag in entry.get("tags", ())):
        return "tagged Open Source"
    return "source published" if entry.get("repository") else ""


def _rom_name(entry: dict[str, Any]) -> str | None:
    """Return the name of the ROM that stands for an entry: its default, or the first."""
    files = [file for file in entry.get("files", ()) if "filename" in file]
    roms = [file for file in files if file["filename"].lower().endswith((".gb", ".gbc"))]
    chosen = [file for file in roms if file.get("default")] or roms
    return chosen[0]["filename"] if chosen else None


def _starts(rom: bytes, name: str) -> bool:
    """Return whether a ROM is for this machine, and a console would start it."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*checksum")
            warnings.filterwarnings("ignore", message=".*cut short")
            read_cartridge(rom, name)
    except (FastEnvError, UserWarning):
        return False
    return True


def candidates(repository: Path) -> Iterator[Game]:
    """Yield all games of a copy of the database that may be chosen, in their order."""
    listed = _git(repository, "ls-tree", "-r", "--name-only", "-z", "HEAD").decode().split("\0")
    there, entries = set(listed), [path for path in listed if path.endswith("/game.json")]

    def order(path: str) -> str:
        return hashlib.sha256(Path(path).parent.name.encode()).hexdigest()

    seen: set[str] = set()
    for path in sorted(entries, key=order):
        entry, slug = json.loads(_git(repository, "show", f"HEAD:{path}")), Path(path).parent.name
        free, name = _licence(entry), _rom_name(entry)
        rom_path = f"{Path(path).parent}/{name}"
        if entry.get("typetag") != "game" or entry.get("platform", "GB") != "GB":
            continue
        if not free or rom_path not in there:
            continue
        rom = _git(repository, "show", f"HEAD:{rom_path}")
        digest = hashlib.sha256(rom).hexdigest()
        if digest not in seen and _starts(rom, slug):
            seen.add(digest)
            yield Game(slug, rom_path, digest, free)


def select(repository: Path) -> dict[str, Any]:
    """Return the manifest of a copy of the database."""
    games = [game.__dict__ for game in islice(candidates(repository), COMPARED)]
    commit = _git(repository, "rev-parse", "HEAD").decode().strip()
    return {"database": DATABASE, "commit": commit, "keys": KEYS, "timed": TIMED, "games": games}


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
    choose = commands.add_parser("select", help="write the manifest")
    choose.add_argument("repository", type=Path, help=f"a copy of {DATABASE}")
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
    memory = commands.add_parser("memory", help="find games that show uninitialised video memory")
    memory.add_argument("folder", type=Path, help="of the ROMs")
    memory.add_argument("--games", nargs="+", default=(), help="names; default: all")
    memory.add_argument("--out", type=Path, help="write a record")
    args = parse.parse_args(argv)
    if args.command == "select":
        text = json.dumps(select(args.repository), indent=1) + "\n"
        MANIFEST.write_text(text, encoding="utf-8")
    elif args.command == "extract":
        extract(args.repository, args.folder)
    elif args.command == "speed":
        from tools.gameboy import free_speed

        free_speed.run(args.folder, args.games, args.turns, args.out)
    elif args.command == "memory":
        from tools.gameboy import free_memory

        free_memory.run(args.folder, args.games, args.out)
    else:
        from tools.gameboy import free_pictures

        free_pictures.run(args.folder, args.games, args.gambatte, args.accuracy, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
