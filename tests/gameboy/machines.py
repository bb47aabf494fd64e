"""ROMs, positions and comparisons for the tests of the Game Boy."""

import numpy as np
from hypothesis import strategies as st

from fastenv.gameboy.cartridge import read_cartridge
from fastenv.gameboy.position import pack, unpack
from fastenv.gameboy.reference import Machine
from fastenv.gameboy.tables import IO

START = 0x150
EDGES = (0, 1, 7, 8, 9, 159, 160, 167, 168, 169, 255)  # columns of objects at the margins
VECTORS = (0x40, 0x48, 0x50, 0x58, 0x60)

LOGO = bytes(range(1, 0x31))  # what stands where a console looks for the logo; not that one
# Patches that make a cartridge of several games of an MBC1 with 64 banks.
SEVERAL = tuple((game * 0x40000 + 0x104, LOGO) for game in range(4))


def build(program, *, kind=0x00, ram=0, banks=2, color=0, fill=b"\0", patches=()):
    """Return the cartridge of a program at $0150; ``patches`` are (address, bytes)."""
    rom = bytearray((fill * (banks * 0x4000 // len(fill) + 1))[: banks * 0x4000])
    for address, code in ((0x100, b"\x00\xc3\x50\x01"), (START, bytes(program)), *patches):
        rom[address : address + len(code)] = code
    rom[0x143] = color
    rom[0x147], rom[0x148], rom[0x149] = kind, banks.bit_length() - 2, ram
    rom[0x14D] = sum(0xFF - byte for byte in rom[0x134:0x14D]) & 0xFF
    return read_cartridge(bytes(rom))


def machine_with_memory(cartridge, seed, strict_video_access=True, fixed_frames=False):
    """Return a reference machine at power-up whose memory is full of bytes."""
    rng = np.random.default_rng(seed)
    machine = Machine(cartridge, strict_video_access, fixed_frames)
    for memory in (machine.ppu.vram, machine.ppu.oam, machine.bus.wram, machine.bus.cart.ram):
        memory[:] = rng.integers(0, 256, len(memory), np.uint8).tobytes()
    ram = machine.bus.cart.ram
    ram[:] = bytes(byte & cartridge.ram_bits for byte in ram)
    machine.ppu.oam[::4] = rng.integers(0, 176, 40, np.uint8).tobytes()  # most of them are seen
    machine.ppu.oam[1:80:4] = rng.choice(EDGES, 20).astype(np.uint8).tobytes()
    return machine


def differences(expected, got):
    """Return the fields in which two rows differ, for the message of a test."""
    found = {}
    for name in expected.dtype.names:
        ours, theirs = np.atleast_1d(expected[name][0]), np.atleast_1d(got[name][0])
        where = np.flatnonzero(ours != theirs)[:4]
        if where.size:
            found[name] = [(int(i), int(ours[i]), int(theirs[i])) for i in where]
    return found


def assert_same(machine, console, drawn):
    """Compare the whole row, and the picture if there is one, of both implementations."""
    row = pack(machine)
    assert row.tobytes() == console.row.tobytes(), differences(row, console.row)
    if drawn:
        picture = np.frombuffer(bytes(machine.ppu.picture), np.uint8).reshape(144, 160)
        np.testing.assert_array_equal(picture, console.picture)


def reloaded(machine):
    """Return the machine that its row stands for."""
    options = {"strict_video_access": machine.ppu.strict, "fixed_frames": machine.fixed_frames}
    options["by_pixel"] = machine.ppu.by_pixel
    return unpack(pack(machine), machine.cartridge, **options)


# -- random programs -------------------------------------------------------------------------------

BYTES = st.integers(0, 0xFF)
JUMPING = {0x10, 0x76, 0xC9, 0xD9, 0xE9, 0xC3, 0xCD, 0x18, 0xF9, 0x31}
JUMPING |= {0x20, 0x28, 0x30, 0x38, 0xC0, 0xC8, 0xD0, 0xD8, 0xC2, 0xCA, 0xD2, 0xDA}
JUMPING |= {0xC4, 0xCC, 0xD4, 0xDC, *range(0xC7, 0x100, 8)}
ILLEGAL = {0xD3, 0xDB, 0xDD, 0xE3, 0xE4, 0xEB, 0xEC, 0xED, 0xF4, 0xFC, 0xFD}
PLAIN = sorted(set(range(256)) - JUMPING - ILLEGAL)
WORDS = {0x01, 0x11, 0x21, 0x08, 0xEA, 0xFA}
OPERANDS = WORDS | {0xCB, 0xE0, 0xF0, 0xE8, 0xF8, *range(0x06, 0x40, 8), *range(0xC6, 0x100, 8)}
REGISTERS = [*range(IO.P1, IO.NR10), *range(IO.LCDC, IO.WX + 1), IO.LCDC, IO.STAT, IO.TAC]
REGISTERS += [IO.NR10, 0x11, 0x12, IO.NR14, IO.NR30, 0x1E, IO.NR52, IO.NR52, IO.WAVE]


@st.composite
def plain(draw):
    """Any instruction that does not jump, with pointers mostly into memory."""
    opcode = draw(st.sampled_from(PLAIN))
    if opcode in WORDS:
        address = draw(st.one_of(st.integers(0xC000, 0xDFFF), st.integers(0x8000, 0xFFFF)))
        return bytes((opcode, address & 0xFF, address >> 8))
    return bytes((opcode, draw(BYTES))) if opcode in OPERANDS else bytes((opcode,))


@st.composite
def write_register(draw):
    """Write any register: display, timer, interrupts, transfers."""
    return bytes((0x3E, draw(BYTES), 0xE0, draw(st.sampled_from([*REGISTERS, IO.IE]))))


@st.composite
def look_at_register(draw):
    """Keep what a register shows."""
    return bytes((0xF0, draw(st.sampled_from(REGISTERS)), 0x12, 0x1C))


@st.composite
def wait(draw):
    """Wait for a while, a line, an interrupt or a byte that a handler writes."""
    kind = draw(st.sampled_from(["count", "line", "halt", "poll", "vblank"]))
    if kind == "count":
        return bytes((0x06, draw(BYTES), 0x05, 0x20, 0xFD))
    if kind == "line":
        return bytes((0xF0, IO.LY, 0xFE, draw(st.integers(0, 153)), 0x20, 0xFA))
    if kind == "halt":
        return bytes(
            (draw(st.sampled_from([0x00, 0xFB, 0xF3])), 0x76, draw(st.sampled_from(PLAIN)))
        )
    if kind == "vblank":
        return bytes((0x3E, 0x01, 0xE0, 0xFF, 0xFB, 0x00, 0x76, 0x00))
    mask = draw(st.sampled_from([0x01, 0x03, 0x80]))  # of the counter that handlers keep
    return bytes((0x3E, 0x05, 0xE0, 0xFF, 0xFB, 0xF0, 0xFE, 0xE6, mask, 0x28, 0xFA))


@st.composite
def set_bank(draw):
    """Write a register of the bank controller."""
    address = draw(st.integers(0, 0x7FFF))
    return bytes((0x3E, draw(BYTES), 0xEA, address & 0xFF, address >> 8))


@st.composite
def set_pointers(draw):
    """Point HL and DE somewhere."""
    hl = draw(st.one_of(st.integers(0x8000, 0xFFFF), st.integers(0xFE00, 0xFEFF)))
    de = draw(st.integers(0xC000, 0xDFFF))
    return bytes((0x21, hl & 0xFF, hl >> 8, 0x11, de & 0xFF, de >> 8))


PARTS = st.one_of(
    plain(), plain(), write_register(), look_at_register(), wait(), set_bank(), set_pointers()
)
HANDLER = bytes((0xF5, 0xF0, 0xFE, 0x3C, 0xE0, 0xFE, 0xF1, 0xD9))  # count in $FFFE


@st.composite
def cartridges(draw, max_parts=60):
    """A program that goes round for ever, with handlers for all interrupts."""
    body = b"".join(draw(st.lists(PARTS, min_size=1, max_size=max_parts)))
    # The stack is set anew each time around, so that nothing wanders off.
    program = b"\x31\x00\xd0" + body + b"\xc3\x50\x01"
    kind = draw(st.sampled_from([0x00, 0x03, 0x06, 0x09, 0x10, 0x13, 0x1B]))
    patches = [(vector, HANDLER) for vector in VECTORS]
    return build(
        program, kind=kind, ram=draw(st.sampled_from([0, 1, 2, 3])), banks=8, patches=patches
    )
