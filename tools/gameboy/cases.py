"""Numbered cases: machines that run in the reference and in the core, compared after every frame.

The kind and the number of a case decide everything in it: program, options, keys, which frames are
drawn, and when the machine is packed and loaded again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.config import BY_LINE, BY_PIXEL
from fastenv.gameboy.console import Console, LinkedConsoles
from fastenv.gameboy.position import pack, unpack
from fastenv.gameboy.reference import Link, Machine
from fastenv.gameboy.savestate import load_state, save_state
from fastenv.gameboy.tables import FRAME
from fastenv.gameboy.validate_machine import validate_rows
from tools.gameboy.generators import banks, display, programs, serial, sound
from tools.gameboy.machines import Array, differences, machine_with_memory, options_of, reloaded

LENGTHS = (3, 6, 12, 24)  # frames of a case
_PRESSED, _DRAWN = 0.5, 0.5  # share of frames

Fields = dict[str, Any]  # field of a row, "picture" or "samples" to where it differs and how


@dataclass(frozen=True)
class Difference:
    """Where a case differs first.

    Parameters
    ----------
    frame : int
        From 0 on.
    fields : dict
        By name; of the second machine on a cable as ``2.name``. Each has up to four lists of an
        index, the reference's value and the core's. ``error`` is what an implementation raised.
    """

    frame: int
    fields: Fields


def _console(
    row: Array, cartridge: Cartridge, skip_idle: bool, options: dict[str, bool]
) -> Console:
    """Return the core's machine with the options of the reference's."""
    by_pixel = options["by_pixel"]
    kept = {name: value for name, value in options.items() if name != "by_pixel"}
    accuracy = BY_PIXEL if by_pixel else BY_LINE
    return Console(cartridge, row, skip_idle, accuracy=accuracy, **kept)


class Twins:
    """A machine in the reference and the same one in the core; two of each on a cable.

    Parameters
    ----------
    machines : sequence of Machine
        One or two.
    skip_idle : bool
        Whether the core leaves iterations of idle loops out.
    loads : float
        After which share of the frames the reference is loaded from its row.
    files : bool
        Whether both are then loaded from files, each from that of the other.
    """

    def __init__(
        self,
        machines: Sequence[Machine],
        skip_idle: bool,
        loads: float = 0.2,
        files: bool = False,
    ) -> None:
        self._skip_idle, self.loads, self._files = skip_idle, loads, files
        self.machines = [*machines]
        self.consoles = [self._core_of(machine, pack(machine)) for machine in machines]
        self._connect()

    def _core_of(self, machine: Machine, row: Array) -> Console:
        return _console(row, machine.cartridge, self._skip_idle, options_of(machine))

    def _connect(self) -> None:
        self._pair: tuple[Link, LinkedConsoles] | None = None
        if len(self.machines) == 2:
            one, two = self.machines
            first, second = self.consoles
            self._pair = Link((one, two)), LinkedConsoles((first, second))

    def press(self, rng: Random) -> None:
        """Press any keys, the same in both implementations."""
        for machine, console in zip(self.machines, self.consoles, strict=True):
            keys = rng.randrange(256)
            machine.press(keys)
            console.press(keys)

    def run_frame(self, draw: bool) -> None:
        """Run both implementations to the end of the frame."""
        for each in self._pair or (self.machines[0], self.consoles[0]):
            each.run_frame(draw)

    def load(self) -> None:
        """Load machines from their rows, or from files."""
        if self._files:
            self._load_files()
        else:
            self.machines = [reloaded(machine) for machine in self.machines]
        self._connect()

    def _load_files(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = Path(folder, "reference"), Path(folder, "core")
            for k, machine in enumerate(self.machines):
                cartridge = machine.cartridge
                save_state(ours, pack(machine), cartridge)
                save_state(theirs, self.consoles[k].row, cartridge)
                row = load_state(theirs, cartridge)
                self.machines[k] = unpack(row, cartridge, **options_of(machine))
                self.consoles[k] = self._core_of(machine, load_state(ours, cartridge))

    def compare(self, drawn: bool) -> Fields:
        """Return where they differ; empty if nowhere."""
        found: Fields = {}
        for k, (machine, console) in enumerate(zip(self.machines, self.consoles, strict=True)):
            begin = "2." if k else ""
            found |= {f"{begin}{name}": where for name, where in _compare(machine, console, drawn)}
        return found


def _compare(machine: Machine, console: Console, drawn: bool) -> list[tuple[str, Any]]:
    """Return the fields in which two machines differ, the picture's and the samples' too."""
    row = pack(machine)
    if row.tobytes() != console.row.tobytes():
        return [*differences(row, console.row).items()] or [("bytes between the fields", [])]
    validate_rows(console.row, console.cartridge)
    pairs: list[tuple[str, Sequence[int], Array]] = []
    if drawn:
        pairs.append(("picture", machine.ppu.picture, console.picture))
    if console.audio:
        pairs.append(("samples", machine.samples, console.samples))
    found: list[tuple[str, Any]] = []
    for name, expected, got in pairs:
        ours, theirs = np.array(expected).astype(np.int64), got.reshape(-1).astype(np.int64)
        where = np.flatnonzero(ours != theirs)[:4].tolist()
        if where:
            found.append((name, [(at, int(ours[at]), int(theirs[at])) for at in where]))
    return found


# -- kinds -----------------------------------------------------------------------------------------


def _alone(
    number: int,
    rng: Random,
    cartridge: Cartridge,
    fixed_frames: bool | None = None,
    by_pixel: bool = False,
    audio: bool = False,
) -> Machine:
    """Return a machine whose memory is full of bytes; its other options are drawn."""
    strict = rng.random() < 0.8
    fixed = rng.random() < 0.4 if fixed_frames is None else fixed_frames
    return machine_with_memory(cartridge, number, strict, fixed, by_pixel, audio)


def _programs(number: int, rng: Random) -> Twins:
    cartridge = programs.program_cartridge(rng, rng.choice((20, 60, 200)))
    return Twins([_alone(number, rng, cartridge)], rng.random() < 0.5)


def _bytes(number: int, rng: Random) -> Twins:
    return Twins([_alone(number, rng, programs.byte_cartridge(rng))], rng.random() < 0.5)


def _loops(number: int, rng: Random) -> Twins:
    return Twins([_alone(number, rng, programs.waiting_cartridge(rng))], skip_idle=True)


def _cartridges(number: int, rng: Random) -> Twins:
    cartridge = banks.numbered_cartridge(rng, number)
    return Twins([_alone(number, rng, cartridge)], rng.random() < 0.5, loads=0.5)


def _states(number: int, rng: Random) -> Twins:
    fixed, by_pixel = rng.random() < 0.6, rng.random() < 0.5
    cartridge = programs.program_cartridge(rng, rng.choice((20, 60, 200)))
    audio = fixed and rng.random() < 0.5
    machine = _alone(number, rng, cartridge, fixed, by_pixel, audio)
    return Twins([machine], rng.random() < 0.5, loads=1.0, files=True)


def _link(number: int, rng: Random) -> Twins:
    machines = [
        machine_with_memory(
            serial.hammering_cartridge(rng, rng.choice((15, 60))), seed, fixed_frames=True
        )
        for seed in (number, number + 1)
    ]
    return Twins(machines, rng.random() < 0.5, loads=0.3)


def _sound(number: int, rng: Random) -> Twins:
    if rng.random() < 0.5:
        cartridge = sound.sounding(sound.heard_parts(rng))
    else:
        cartridge = sound.touching_cartridge(rng, rng.choice((80, 200)))
    audio = rng.random() < 0.75
    fixed = True if audio else None
    return Twins([_alone(number, rng, cartridge, fixed, audio=audio)], rng.random() < 0.5)


def _pixel(number: int, rng: Random) -> Twins:
    cartridge = display.writing_cartridge(rng)
    machine = _alone(number, rng, cartridge, rng.random() < 0.7, by_pixel=True)
    machine.bus.cyc = 4 * rng.randrange(FRAME // 4)  # a fixed frame ends anywhere
    return Twins([reloaded(machine)], skip_idle=True, loads=0.4)


def _oam(number: int, rng: Random) -> Twins:
    cartridge = display.spoiling_cartridge(rng, rng.choice((60, 150)))
    machine = _alone(number, rng, cartridge)
    machine.ppu.lcdc = rng.choice((0x93, 0x97))
    return Twins([machine], rng.random() < 0.5)


KINDS: dict[str, Callable[[int, Random], Twins]] = {
    "programs": _programs,
    "bytes": _bytes,
    "loops": _loops,
    "cartridges": _cartridges,
    "states": _states,
    "link": _link,
    "sound": _sound,
    "pixel": _pixel,
    "oam": _oam,
}


def play(kind: str, number: int, most: int = max(LENGTHS)) -> tuple[int, Difference | None]:
    """Play a case to its end or to its first difference.

    Parameters
    ----------
    kind : str
        One of ``KINDS``.
    number : int
        From 0 on.
    most : int
        Frames that are played at most.

    Returns
    -------
    int
        Frames that were compared, the one that differs too. Two machines on a cable have one.
    Difference or None
    """
    rng = Random(f"{kind} {number}")
    frames, frame = min(rng.choice(LENGTHS), most), 0
    try:
        twins = KINDS[kind](number, rng)
        for frame in range(frames):
            if rng.random() < _PRESSED:
                twins.press(rng)
            drawn = rng.random() < _DRAWN
            twins.run_frame(drawn)
            if found := twins.compare(drawn):
                return frame + 1, Difference(frame, found)
            if rng.random() < twins.loads:
                twins.load()
    except Exception as error:  # whatever one of them raises, the other does not
        return frame, Difference(frame, {"error": f"{type(error).__name__}: {error}"})
    return frames, None
