"""OAM that is spoilt while the display searches it (docs/gameboy.md, 9.1)."""

import pytest

from fastenv.gameboy.reference import Machine
from fastenv.gameboy.tables import LINE
from tests.tables import walk
from tools.gameboy.machines import build


@pytest.fixture
def machine():
    """A machine in line 5, at its beginning, whose OAM holds its addresses."""
    machine = Machine(build(b"\x18\xfe"))
    machine.ppu.oam[:] = bytes(range(160))
    while machine.ppu.dot != 5 * LINE:
        machine.bus.tick()
    return machine


def row(machine, number):
    return bytes(machine.ppu.oam[8 * number : 8 * number + 8])


def untouched(number):
    return bytes(range(8 * number, 8 * number + 8))


@pytest.mark.parametrize("cycle", range(20))
def test_counting_spoils_a_row_a_cycle(machine, cycle):
    """A write: ((a ^ c) & (b ^ c)) ^ c in the first word; the last cycle meets no row."""
    for _ in range(cycle):
        machine.bus.tick()
    machine.bus.count(0xFE00)
    changed = [number for number in range(20) if row(machine, number) != untouched(number)]
    assert changed == ([] if cycle == 19 else [cycle + 1])
    if cycle == 0:
        # a = $0908, b = $0100, c = $0504
        first = ((0x0908 ^ 0x0504) & (0x0100 ^ 0x0504)) ^ 0x0504
        assert row(machine, 1) == first.to_bytes(2, "little") + bytes((2, 3, 4, 5, 6, 7))


def test_reading_spoils_otherwise(machine):
    assert machine.bus.read(0xFEFF) == 0xFF
    first = 0x0100 | 0x0908 & 0x0504
    assert row(machine, 1) == first.to_bytes(2, "little") + bytes((2, 3, 4, 5, 6, 7))


@pytest.mark.parametrize(("cycle", "rows"), [(2, 1), (3, 3), (17, 3), (18, 1)])
def test_reading_and_counting_spoils_three_rows_but_at_the_margins(machine, cycle, rows):
    for _ in range(cycle):
        machine.bus.tick()
    machine.bus.read(0xFE00, counted=True)
    changed = [number for number in range(20) if row(machine, number) != untouched(number)]
    number = cycle + 1
    if rows == 1:
        assert changed == [number]
        return
    assert {number - 2, number} <= set(changed) <= {number - 2, number - 1, number}
    assert row(machine, number)[2:] == row(machine, number - 1)[2:] == row(machine, number - 2)[2:]
    places = (8 * number - 16, 8 * number - 8, 8 * number, 8 * number - 4)
    a, b, c, d = (0x0100 + 0x0202 * (at // 2) for at in places)
    first = b & (a | c | d) | a & c & d
    for before in (number - 1, number - 2):
        assert row(machine, before)[:2] == first.to_bytes(2, "little")


@pytest.mark.parametrize("address", [0xFDFF, 0xFF00, 0xC000])
def test_other_addresses_spoil_nothing(machine, address):
    machine.bus.count(address)
    machine.bus.read(address)
    assert machine.ppu.oam == bytes(range(160))


@pytest.mark.parametrize("why", ["line 0 after the display was turned on", "mode 3", "open memory"])
def test_nothing_is_spoilt_while_nothing_is_searched(machine, why):
    if why == "mode 3":
        for _ in range(20):
            machine.bus.tick()
    elif why == "open memory":
        machine.ppu.strict = False
    else:
        machine.bus.write(0xFF40, 0x11)
        machine.bus.write(0xFF40, 0x91)
    for _ in range(20):
        machine.bus.count(0xFE40)
    assert machine.ppu.oam == bytes(range(160))


# -- instructions ----------------------------------------------------------------------------------

# Machine cycles in which an instruction spoils with its pointer at $FE80, and how.
SPOILS = {
    "INC BC": ("01 80fe 03", [(1, "write")]),
    "DEC DE": ("11 80fe 1b", [(1, "write")]),
    "INC HL": ("21 80fe 23", [(1, "write")]),
    "DEC SP": ("31 80fe 3b", [(1, "write")]),
    "LD A,(HL+)": ("21 80fe 2a", [(1, "counted")]),
    "LD A,(HL)": ("21 80fe 7e", [(1, "read")]),
    "LD (HL-),A": ("21 80fe 32", [(1, "write")]),
    "LD (HL),A": ("21 80fe 77", [(1, "write")]),
    "INC (HL)": ("21 80fe 34", [(1, "read"), (2, "write")]),
    "POP BC": ("31 80fe c1", [(1, "counted"), (2, "read")]),
    "PUSH BC": ("31 80fe c5", [(1, "write"), (2, "write"), (3, "write")]),
    "PUSH BC from the first address": ("31 00fe c5", [(1, "write")]),
    "POP BC from the last one before": ("31 fffd c1", [(2, "read")]),
    "LD HL,SP+1": ("31 80fe f8 01", []),
    "ADD HL,BC": ("21 80fe 01 01 00 09", []),
}


@walk("name", SPOILS)
def test_what_an_instruction_spoils(name, monkeypatch):
    program, wanted = bytes.fromhex(SPOILS[name][0].replace(" ", "")), SPOILS[name][1]
    machine = Machine(build(program))
    machine.cpu.pc = 0x150
    found, start = [], 0
    kinds = {"spoil_by_write": "write", "spoil_by_read": "read", "spoil_by_counted_read": "counted"}
    for function, kind in kinds.items():
        monkeypatch.setattr(
            f"fastenv.gameboy.reference.bus.{function}",
            lambda ppu, kind=kind: found.append(((machine.bus.cyc - start) // 4, kind)),
        )
    while machine.cpu.pc < 0x150 + len(program):
        start = machine.bus.cyc
        machine.cpu.step()
    assert found == wanted
