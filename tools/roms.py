"""Build the Game Boy ROMs of fastenv from their sources.

``python -m tools.roms`` assembles every program in ``fastenv/gameboy/roms/`` and its folder
``micro/``, writes the ``.gb`` files, ``manifest.json`` with their SHA-256, and
``lantern_walk.json``, which says where the game keeps what and what its world is. With ``--check``
nothing is written; the exit status is 1 where a file differs. With ``--logo-file`` the 48 bytes of
that file stand at $0104, where a console looks for them, and the ROMs go to another folder.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tools.command import new_parser
from tools.sm83 import AssemblyError, Program, assemble

COMMAND = "python -m tools.roms"
ROMS = Path(__file__).parents[1] / "fastenv" / "gameboy" / "roms"
GAME = "lantern_walk"

# What docs/lantern_walk.md lists, and programs may read.
MEMORY = (
    *("map", "x", "y", "facing", "move", "dialogue", "items", "steps", "held", "new", "frame"),
    *("px", "py", "done", "rng", "flags", "quest", "mode", "cells"),
)
PEOPLE = {"bram": "TALK_BRAM", "wick": "TALK_WICK", "nell": "TALK_NELL"}
QUEST_BITS = {"flame": "QUEST_FLAME", "song": "QUEST_SONG", "lit": "QUEST_LIT"}
SIZE = 16


def sources() -> list[Path]:
    """Return the sources of programs: those that say where a machine starts."""
    files = sorted([*ROMS.glob("*.asm"), *ROMS.glob("micro/*.asm")])
    return [file for file in files if notes(file)]


def notes(file: Path) -> dict[str, str]:
    """Read the notes in a source's first comment: ``; Program: ...`` and further such lines."""
    found: dict[str, str] = {}
    for line in file.read_text(encoding="ascii").splitlines():
        match = re.fullmatch(r"; (Program|Keys|PyBoy): (.+)", line)
        if match is None:
            break
        found[match[1].lower()] = match[2]
    return found


def table(program: Program, name: str, width: int) -> Iterator[bytes]:
    """Yield the rows of a table between two labels, ``NAME`` and ``NAME_end``."""
    start, end = program.symbols[name], program.symbols[f"{name}_end"]
    for i in range(start, end, width):
        yield program.rom[i : i + width]


def world(program: Program) -> dict[str, Any]:
    """Return addresses and world of Lantern Walk, as its data file has them."""
    symbols = program.symbols
    kinds = {
        chr(kind[0]): {
            "solid": bool(kind[1] & symbols["SOLID"]),
            "door": bool(kind[1] & symbols["DOORWAY"]),
            "item": bool(kind[1] & symbols["ITEM"]),
        }
        for kind in table(program, "kinds", symbols["KIND_SIZE"])
    }
    cells = bytes(program.rom[symbols["maps"] :][: symbols["MAPS"] * SIZE * SIZE]).decode("ascii")
    rows = [cells[i : i + SIZE] for i in range(0, len(cells), SIZE)]
    talkers = {talker[2]: talker for talker in table(program, "talkers", 3)}
    return {
        "version": 1,
        "memory": {name: symbols[name] for name in MEMORY},
        "events": {"address": symbols["quest"], "bits": len(QUEST_BITS)},
        "quest_bits": {name: symbols[symbol] for name, symbol in QUEST_BITS.items()},
        "candles_needed": symbols["CANDLES_NEEDED"],
        "people": {name: place(*talkers[symbols[s]][:2]) for name, s in PEOPLE.items()},
        "doors": [
            {"from": place(*door[:2]), "to": place(*door[2:4]), "facing": door[4]}
            for door in table(program, "doors", 5)
        ],
        "kinds": kinds,
        "size": [symbols["MAPS"], SIZE, SIZE],
        "maps": [rows[i : i + SIZE] for i in range(0, len(rows), SIZE)],
    }


def place(number: int, cell: int) -> list[int]:
    """Return map, x and y of a cell as the ROM writes it."""
    return [number, cell % SIZE, cell // SIZE]


def build(logo: bytes = b"") -> dict[str, bytes]:
    """Return every file that is made from the sources: path below ``ROMS`` -> content."""
    files: dict[str, bytes] = {}
    manifest = {}
    for source in sources():
        program = assemble(source, logo)
        name = source.relative_to(ROMS).with_suffix(".gb").as_posix()
        files[name] = program.rom
        manifest[name] = notes(source) | {"sha256": hashlib.sha256(program.rom).hexdigest()}
        if source.stem == GAME:
            files[f"{GAME}.json"] = as_json(world(program))
    files["manifest.json"] = as_json(manifest)
    return files


def as_json(value: dict[str, Any]) -> bytes:
    """Return a value as the files have it."""
    return (json.dumps(value, indent=1) + "\n").encode("ascii")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = new_parser("roms", __doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 on differences")
    parser.add_argument("--logo-file", type=Path, help="48 bytes for $0104; needs --out")
    parser.add_argument("--out", type=Path, default=ROMS, help="folder to write to")
    options = parser.parse_args(arguments)
    if options.logo_file and options.out == ROMS:
        parser.error("--logo-file needs --out: the ROMs of the package have no logo")
    try:
        files = build(options.logo_file.read_bytes() if options.logo_file else b"")
    except (AssemblyError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    differing = [name for name, content in files.items() if not same(options.out / name, content)]
    for name in differing:
        path = options.out / name
        if options.check:
            print(f"{path} differs; run {COMMAND}")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(files[name])
            print(f"{path} written")
    return int(options.check and bool(differing))


def same(path: Path, content: bytes) -> bool:
    """Say whether a file has this content."""
    return path.is_file() and path.read_bytes() == content


if __name__ == "__main__":
    sys.exit(main())
