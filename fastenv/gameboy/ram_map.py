"""RAM maps: where in a program's memory an overworld environment finds what it looks at.

A map is data, a JSON file (docs/gameboy.md, 20); that of Lantern Walk is the data file of the ROM.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastenv.errors import ConfigError, show
from fastenv.gameboy.ram_fields import PLACES, read_address
from fastenv.gameboy.ram_program import read_map
from fastenv.gameboy.state import MAX_EVENT_BYTES, Place, state_dtype
from fastenv.gameboy.tables import CART_RAM, ECHO, HIGH, HRAM, OAM, UNUSABLE, VRAM, WRAM

NOWHERE = -1
_NEEDED = ("map", "x", "y")


@dataclass(frozen=True)
class RamMap:
    """Where a program keeps what an overworld environment looks at.

    Parameters
    ----------
    places : dict of str to int
        Address by name; ``map``, ``x`` and ``y`` at least.
    events : int
        Address of the first of the events, a bit each from the lowest of a byte on.
    num_events : int
    rewarded : tuple of int
        Events that are rewarded.
    size : (int, int, int)
        Maps, and rows and columns of the largest one.
    """

    places: dict[str, int]
    events: int
    num_events: int
    rewarded: tuple[int, ...]
    size: tuple[int, int, int]

    @property
    def event_bytes(self) -> int:
        """Bytes that hold the events."""
        return (self.num_events + 7) // 8

    def offsets(self) -> list[int]:
        """Return where in a row each :class:`Place` is, -1 for those that are nowhere."""
        found = [NOWHERE] * len(Place)
        for name, address in self.places.items():
            for k, place in enumerate(PLACES[name]):
                found[place] = row_offset(address + k)
        return found


def row_offset(address: int) -> int:
    """Return where in a row the byte at an address of VRAM, WRAM, OAM or page $FF is."""
    fields: Any = state_dtype(0).fields
    for name, begin in (("high", HIGH), ("oam", OAM), ("wram", WRAM)):
        if address >= begin:
            return int(fields[name][1]) + address - begin
    return int(fields["vram"][1]) + address - VRAM


def load_ram_map(path: str | Path) -> RamMap:
    """Return a RAM map.

    Parameters
    ----------
    path : str or Path
        A file, ``"lantern_walk"``, or ``"lantern_walk_flags"``: the same and all flags of the game.

    Raises
    ------
    ConfigError
        If there is no such file, or no RAM map in it; names the field and what is allowed.
    """
    return _read(*read_map(path))


def _read(data: Any, where: str) -> RamMap:
    if not isinstance(data, dict) or not isinstance(data.get("memory"), dict):
        raise ConfigError(f"{where}: memory must be an object of names and addresses.")
    memory, events = data["memory"], data.get("events", {"address": WRAM, "bits": 0})
    for name in _NEEDED:
        if name not in memory:
            raise ConfigError(f"{where}: memory must have {', '.join(_NEEDED)}.")
    places = {}
    for name in PLACES:
        if name in memory:
            places[name] = _address(where, f"memory.{name}", memory[name], len(PLACES[name]))
    if not isinstance(events, dict) or not {"address", "bits"} <= {*events}:
        raise ConfigError(f"{where}: events must have address and bits.")
    bits = _number(where, "events.bits", events["bits"], 0, 8 * MAX_EVENT_BYTES)
    address = _address(where, "events.address", events["address"], max(1, (bits + 7) // 8))
    rewarded = _numbers(where, "events.rewarded", events.get("rewarded", [*range(bits)]))
    size = _numbers(where, "size", data.get("size"))
    if not all(0 <= bit < bits for bit in rewarded):
        raise ConfigError(f"{where}: events.rewarded must be numbers below {bits}.")
    if len(size) != 3 or not all(1 <= number <= 256 for number in size):
        raise ConfigError(
            f"{where}: size must be three numbers from 1 to 256: maps, rows, columns."
        )
    return RamMap(places, address, bits, rewarded, (size[0], size[1], size[2]))


def _number(where: str, name: str, value: Any, low: int, high: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return value
    raise ConfigError(f"{where}: {name}={show(value)} must be an integer, {low} to {high}.")


def _numbers(where: str, name: str, values: Any) -> tuple[int, ...]:
    if not isinstance(values, list):
        raise ConfigError(f"{where}: {name}={show(values)} must be a list of integers.")
    return tuple(_number(where, name, value, 0, 8 * MAX_EVENT_BYTES) for value in values)


def _address(where: str, name: str, value: Any, size: int) -> int:
    """Return an address given as a number or as "$C100"."""
    number = read_address(value)
    if number is not None:
        last = number + size - 1
        for begin, end in ((VRAM, CART_RAM), (WRAM, ECHO), (OAM, UNUSABLE), (HRAM, 0xFFFF)):
            if begin <= number <= last < end:
                return number
    raise ConfigError(
        f"{where}: {name}={show(value)} must be an address of VRAM, $8000 to $9FFF, of WRAM, $C000 "
        "to $DFFF, of OAM, $FE00 to $FE9F, or of HRAM, $FF80 to $FFFE."
    )
