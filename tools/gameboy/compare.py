"""Run a ROM here and in PyBoy, and print where they first differ.

``python -m tools.gameboy.compare ROM --frames 1000`` presses random keys and compares registers,
memory, the clock and every pixel after every frame. It needs PyBoy (``pip install pyboy``).
docs/gameboy.md, 14, lists in what PyBoy is known to differ from the console; pixels of objects that
it shows though one that the background hides is in front of them are no difference here.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fastenv.gameboy.cartridge import Cartridge, load_cartridge
from fastenv.gameboy.console import Console
from fastenv.gameboy.position import unpack
from fastenv.gameboy.reference.ppu import Ppu
from fastenv.gameboy.reference.render import line_objects, object_shade
from fastenv.gameboy.state import state_dtype
from fastenv.gameboy.tables import HEIGHT, IO, WIDTH, Key
from tools.command import new_parser, refusing

# PyBoy is started without its own boot program: JP $00FC; LD A,1; LDH ($50),A.
_BOOT = bytes((0xC3, 0xFC, 0x00)).ljust(0xFC, b"\0") + bytes((0x3E, 0x01, 0xE0, 0x50))
_BOOT_TIME = 36  # T
_GRAYS = (0xFF, 0x99, 0x55, 0x00)  # PyBoy's default colours, by shade
_MEMORY = {"vram": 0x8000, "wram": 0xC000, "oam": 0xFE00}
_PHASE = -4
HELD = 0.9  # the chance that keys stay as they are for another frame


def bare_row(cartridge: Cartridge) -> np.ndarray[Any, Any]:
    """Return the row of a machine that has done nothing but start a program, shape (1,).

    That is where :class:`PyBoyTwin` begins: memory and registers are 0, the display is off.
    """
    row = np.zeros(1, state_dtype(cartridge.ram_size))
    row["a"], row["pc"] = 1, 0x100
    row["cyc"] = row["div"] = row["dot"] = _BOOT_TIME
    row["rom_bank"] = int(cartridge.mbc != 0)
    row["lyc_match"] = 1
    return row


def shades_of(boy: Any) -> np.ndarray[Any, Any]:
    """Return the shades of PyBoy's last frame, shape (144, 160)."""
    red = boy.screen.ndarray[:HEIGHT, :WIDTH, 0]
    shades: np.ndarray[Any, Any] = np.select([red == gray for gray in _GRAYS], range(4), 255)
    return shades.astype(np.uint8)


class PyBoyTwin:
    """PyBoy with a cartridge, in the state of :func:`bare_row`.

    Parameters
    ----------
    cartridge : Cartridge
    """

    def __init__(self, cartridge: Cartridge) -> None:
        from pyboy import PyBoy

        self._folder = tempfile.TemporaryDirectory()
        rom, boot = (Path(self._folder.name, name) for name in ("rom.gb", "boot.bin"))
        rom.write_bytes(cartridge.rom)
        boot.write_bytes(_BOOT)
        self.boy: Any = PyBoy(
            str(rom), window="null", bootrom=str(boot), cgb=False, sound_emulated=False,
            log_level="CRITICAL",
        )  # fmt: skip
        self.boy.set_emulation_speed(0)
        self._keys = 0

    def close(self) -> None:
        """Let go of it and its files."""
        self.boy.stop(save=False)
        self._folder.cleanup()

    def press(self, keys: int) -> None:
        """Set which keys are pressed."""
        for key in Key:
            bit, name = 1 << key, key.name.lower()
            if keys & bit and not self._keys & bit:
                self.boy.button_press(name)
            elif self._keys & bit and not keys & bit:
                self.boy.button_release(name)
        self._keys = keys

    def run_frame(self) -> None:
        """Run to the end of the frame."""
        self.boy.tick(1, True)

    def registers(self) -> dict[str, int]:
        """Return the processor's registers and the clock."""
        file = self.boy.register_file
        values = {name.lower(): int(getattr(file, name)) for name in "AFBCDE"}
        values |= {"hl": int(file.HL), "sp": int(file.SP), "pc": int(file.PC)}
        return values | {"cyc": int(self.boy._cycles())}

    def memory(self, start: int, length: int) -> np.ndarray[Any, Any]:
        """Return bytes of memory."""
        return np.array(self.boy.memory[start : start + length], np.uint8)

    def picture(self) -> np.ndarray[Any, Any]:
        """Return the shades of the last frame, shape (144, 160)."""
        return shades_of(self.boy)


def registers(row: np.ndarray[Any, Any]) -> dict[str, int]:
    """Return a row's registers as :meth:`PyBoyTwin.registers` has them; PC less 1 if halted."""
    record = row[0]
    values = {name: int(record[name]) for name in "afbcde"}
    pc = int(record["pc"]) - int(record["halted"])
    values |= {"hl": int(record["h"]) << 8 | int(record["l"]), "sp": int(record["sp"])}
    return values | {"pc": pc & 0xFFFF, "cyc": int(record["cyc"])}


def differences(
    console: Console, twin: PyBoyTwin, *, drawn: np.ndarray[Any, Any] | None
) -> Iterator[str]:
    """Yield one line for everything that differs.

    Parameters
    ----------
    console : Console
    twin : PyBoyTwin
    drawn : ndarray of ``state_dtype``, shape (1,), or None
        The machine before the frame, if the display was on in all of it: PyBoy shows something else
        than white where nothing is drawn.
    """
    ours, theirs = registers(console.row), twin.registers()
    for name, value in ours.items():
        if value != theirs[name]:
            yield f"{name}: {value:#x} here, {theirs[name]:#x} in PyBoy"
    parts = [(name, start, console.row[name][0]) for name, start in _MEMORY.items()]
    parts.append(("hram", 0xFF80, console.row["high"][0, 0x80:0xFF]))
    for name, start, memory in parts:
        other = twin.memory(start, len(memory))
        found = np.flatnonzero(memory != other)
        if found.size:
            at = int(found[0])
            yield (
                f"{name}: {found.size} bytes, first ${start + at:04X}: ${memory[at]:02X} here, "
                f"${other[at]:02X} in PyBoy"
            )
    if drawn is not None:
        yield from _pixels(console, twin.picture(), drawn)


def _pixels(
    console: Console, theirs: np.ndarray[Any, Any], drawn: np.ndarray[Any, Any]
) -> Iterator[str]:
    ours = console.picture
    wrong = [(int(y), int(x)) for y, x in np.argwhere(ours != theirs)]
    if wrong:
        ppu = unpack(drawn, console.cartridge).ppu
        wrong = [(y, x) for y, x in wrong if _masked_shade(ppu, y, x) != theirs[y, x]]
    if wrong:
        y, x = wrong[0]
        where = f"first at line {y}, column {x}"
        yield (f"picture: {len(wrong)} pixels, {where}: {ours[y, x]} here, {theirs[y, x]} in PyBoy")


def _masked_shade(ppu: Ppu, y: int, x: int) -> int | None:
    """Return the shade of an object that one in front of it masks, itself hidden; else None.

    On the console nobody sees it (docs/gameboy.md, 8.3).
    """
    ppu.ly = y
    objects = sorted(line_objects(ppu, bool(ppu.lcdc & 0x04)), key=lambda i: ppu.oam[i + 1])
    if object_shade(ppu, objects, x, behind=1) is not None:
        return None
    shades = (object_shade(ppu, [i], x, behind=1) for i in objects)
    return next((shade for shade in shades if shade is not None), None)


def _draws(row: np.ndarray[Any, Any]) -> bool:
    """Return whether the display is on, and not just turned on."""
    return bool(row["high"][0, IO.LCDC] & 0x80 and not row["first_frame"][0])


def compare(cartridge: Cartridge, frames: int, seed: int) -> tuple[int, list[str]] | None:
    """Run both; return the number of the first frame that differs and how, or None.

    Parameters
    ----------
    cartridge : Cartridge
    frames : int
    seed : int
        Of the keys.
    """
    console, twin = Console(cartridge, bare_row(cartridge), bus_phase=_PHASE), PyBoyTwin(cartridge)
    rng = random.Random(seed)
    try:
        for frame in range(frames):
            if rng.random() > HELD:
                keys = rng.randrange(256)
                console.press(keys)
                twin.press(keys)
            before = console.row.copy()
            console.run_frame()
            twin.run_frame()
            if before["first_frame"][0] and console.row["cyc"][0] < twin.registers()["cyc"]:
                continue  # PyBoy ends the first frame of the display an instruction late
            drawn = before if _draws(before) and _draws(console.row) else None
            if found := list(differences(console, twin, drawn=drawn)):
                return frame, found
        return None
    finally:
        twin.close()


@refusing
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 if nothing differs, 1 if something does, 2 on an error."""
    parse = new_parser("gameboy.compare", __doc__)
    parse.add_argument("rom", type=Path, help="a ROM file")
    parse.add_argument("--frames", type=int, default=600, help="frames to compare; default 600")
    parse.add_argument("--seed", type=int, default=0, help="seed of the keys; default 0")
    args = parse.parse_args(argv)
    if args.frames < 1:
        parse.error(f"--frames {args.frames}: must be at least 1")
    try:
        found = compare(load_cartridge(args.rom), args.frames, args.seed)
    except ModuleNotFoundError as error:
        print(f"error: {error}; pip install pyboy", file=sys.stderr)
        return 2
    if found is None:
        print(f"{args.frames} frames, seed {args.seed}: no difference")
        return 0
    frame, lines = found
    print(f"frame {frame}, seed {args.seed}:", *lines, sep="\n  ")
    return 1


if __name__ == "__main__":
    sys.exit(main())
