"""Read save states of PyBoy that projects publish, without their ROM, and say what became of each.

``python -m tools.gameboy.published_states FOLDER --out benchmarks/gameboy-published-states.json``
reads every ``.state`` file below a folder, for a cartridge with the header of Pokemon Red and
nothing else in it. The record has the layout's version and the SHA-256 of each file, and whether
it became a row, or the sentence that refuses it. Nothing else of a state is written.
"""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastenv.errors import StateError
from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.pyboy_state import load_pyboy_state
from tools.command import new_parser, refusing
from tools.gameboy.machines import build
from training.run import files, machine

COMMAND = "python -m tools.gameboy.published_states"
# MBC3 with RAM and a battery, 64 banks of ROM, four of RAM.
KIND, BANKS, RAM = 0x13, 64, 3


def stand_in() -> Cartridge:
    """Return a cartridge with the header of Pokemon Red, and no program of it."""
    return build(b"\x18\xfe", kind=KIND, banks=BANKS, ram=RAM)


def outcome(path: Path, cartridge: Cartridge) -> dict[str, Any]:
    """Return the record of a file."""
    content = path.read_bytes()
    found = {"version": content[0], "sha256": hashlib.sha256(content).hexdigest()}
    try:
        load_pyboy_state(path, cartridge)
    except StateError as error:
        return {**found, "refused": str(error).replace(str(path), path.name)}
    return {**found, "refused": None}


@refusing
def main(arguments: Sequence[str] | None = None) -> int:
    """Write the record; the status is 1 if a file was refused."""
    given = [*(sys.argv[1:] if arguments is None else arguments)]
    parser = new_parser("gameboy.published_states", __doc__)
    parser.add_argument("folder", type=Path, help="folder of .state files, in folders a project")
    parser.add_argument("--out", type=Path, required=True, help="record to write")
    args = parser.parse_args(arguments)
    cartridge = stand_in()
    paths = sorted(args.folder.rglob("*.state"))
    states = {str(path.relative_to(args.folder)): outcome(path, cartridge) for path in paths}
    shown = shlex.join(["FOLDER" if each == str(args.folder) else each for each in given])
    record = machine.taken_on() | {"command": f"{COMMAND} {shown}", "states": states}
    files.write_json(args.out, record)
    refused = [name for name, each in states.items() if each["refused"]]
    print(f"{len(states) - len(refused)} of {len(states)} states are read")
    return int(bool(refused))


if __name__ == "__main__":
    sys.exit(main())
