"""Every opcode against what the manuals say of it, in both implementations.

Expectations are written down here as tables and sums, from neither implementation's code.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastenv.gameboy.position import pack, unpack
from fastenv.gameboy.ram_hooks import OPERANDS
from fastenv.gameboy.reference import Machine
from tests.needs import HAS_CORE
from tests.tables import walk
from tools import opcodes
from tools.gameboy.machines import build

# Machine cycles, not taken and taken; docs/gameboy.md, docs/gameboy.md, 5.2.
TABLE = """
1    3    2    2    1    1    2    1    5    2    2    2    1    1    2    1
1    3    2    2    1    1    2    1    3    2    2    2    1    1    2    1
2/3  3    2    2    1    1    2    1    2/3  2    2    2    1    1    2    1
2/3  3    2    2    3    3    3    1    2/3  2    2    2    1    1    2    1
1    1    1    1    1    1    2    1    1    1    1    1    1    1    2    1
1    1    1    1    1    1    2    1    1    1    1    1    1    1    2    1
1    1    1    1    1    1    2    1    1    1    1    1    1    1    2    1
2    2    2    2    2    2    1    2    1    1    1    1    1    1    2    1
1    1    1    1    1    1    2    1    1    1    1    1    1    1    2    1
1    1    1    1    1    1    2    1    1    1    1    1    1    1    2    1
1    1    1    1    1    1    2    1    1    1    1    1    1    1    2    1
1    1    1    1    1    1    2    1    1    1    1    1    1    1    2    1
2/5  3    3/4  4    3/6  4    2    4    2/5  4    3/4  0    3/6  6    2    4
2/5  3    3/4  -    3/6  4    2    4    2/5  4    3/4  -    3/6  -    2    4
3    3    2    -    -    4    2    4    4    1    4    -    -    -    2    4
3    3    2    1    -    4    2    4    3    2    4    1    -    -    2    4
"""
DURATIONS = TABLE.split()
# What each cycle does: F fetches, R reads, W writes, i nothing; docs/gameboy.md, 5.3.
ORDER = {
    0x00: "F", 0x03: "Fi", 0x09: "Fi", 0xF9: "Fi", 0x0A: "FR", 0x02: "FW", 0x34: "FRW", 0x35: "FRW",
    0x06: "FF", 0x36: "FFW", 0xE0: "FFW", 0xF0: "FFR", 0xFA: "FFFR", 0xEA: "FFFW", 0x08: "FFFWW",
    0x18: "FFi", 0x20: "FFi", 0x28: "FF", 0xC3: "FFFi", 0xC2: "FFFi", 0xCA: "FFF", 0xE9: "F",
    0xCD: "FFFiWW", 0xC4: "FFFiWW", 0xCC: "FFF", 0xC7: "FiWW", 0xC5: "FiWW", 0xC1: "FRR",
    0xC9: "FRRi", 0xD9: "FRRi", 0xC0: "FiRRi", 0xC8: "Fi", 0xE8: "FFii", 0xF8: "FFi", 0x86: "FR",
    0x46: "FR", 0x70: "FW", 0x01: "FFF", 0xE2: "FW", 0xF2: "FR",
}  # fmt: skip
LEGAL = [opcode for opcode in range(256) if DURATIONS[opcode] not in ("-", "0")]
Z, N, H, C = 0x80, 0x40, 0x20, 0x10

IMPLEMENTATIONS = ["reference", *(["core"] if HAS_CORE else [])]
BYTES, FLAGS = st.integers(0, 255), st.integers(0, 15).map(lambda flags: flags << 4)


def execute(code, implementation, data=b"", **registers):
    """Execute one instruction in WRAM, with ``data`` at HL = $D000; return machine and cycles.

    The instruction is followed by an opcode that locks the processor, which takes a cycle.
    """
    machine = Machine(build(b""))
    machine.ppu.lcdc = 0
    machine.ppu.dot = 0
    cpu = machine.cpu
    cpu.pc, cpu.sp, cpu.hl = 0xC000, 0xDF00, 0xD000
    for name, value in registers.items():
        setattr(cpu, name, value)
    # Wherever a jump may lead, an illegal opcode locks the processor.
    machine.bus.wram[:] = b"\xfd" * 0x2000
    machine.bus.wram[: len(code)] = code
    machine.bus.wram[0x1000 : 0x1000 + len(data)] = data
    row = pack(machine)
    if implementation == "reference":
        machine = unpack(row, machine.cartridge)
        machine.cpu.step()
        return machine, machine.bus.cyc // 4
    from fastenv.gameboy.console import Console

    console = Console(machine.cartridge, row)
    console.run_frame(draw=False)
    return unpack(console.row, machine.cartridge), None


@walk("opcode", LEGAL)
@walk("zero", [0, 1])
def test_duration(opcode, zero):
    """With all flags cleared or set, of which the conditions are opposite."""
    duration = DURATIONS[opcode].split("/")
    taken = len(duration) > 1 and (opcode >> 3 & 1) == zero
    _, cycles = execute(bytes((opcode, 0, 0xC1)), "reference", f=0xF0 * zero)
    assert cycles == int(duration[taken])


@walk("opcode", range(256))
def test_duration_behind_the_prefix(opcode):
    at_hl, bit = opcode & 7 == 6, opcode >> 6 == 1
    _, cycles = execute(bytes((0xCB, opcode)), "reference")
    assert cycles == (2 if not at_hl else 3 if bit else 4)


class RecordingBus:
    """Records what each machine cycle does."""

    def __init__(self, machine):
        self.machine, self.cycles, bus = machine, "", machine.bus
        read, write, count, tick = bus.read, bus.write, bus.count, bus.tick
        depth = []

        def recorded(sign, access):
            def call(*args, **options):
                fetches = sign == "R" and args[0] == machine.cpu.pc
                if not depth:
                    self.cycles += "F" if fetches else sign
                depth.append(1)
                result = access(*args, **options)
                depth.pop()
                return result

            return call

        def ticked():
            if not depth:
                self.cycles += "i"
            tick()

        bus.read, bus.write, bus.tick = recorded("R", read), recorded("W", write), ticked
        bus.count = recorded("i", count)


@walk(("opcode", "order"), ORDER.items())
def test_order_of_accesses(opcode, order):
    machine = Machine(build(b""))
    machine.cpu.pc, machine.cpu.sp, machine.cpu.hl, machine.cpu.f = 0xC000, 0xDF00, 0xD000, 0
    machine.cpu.bc = machine.cpu.de = 0xD100
    machine.bus.wram[:3] = bytes((opcode, 0x80, 0xD2))
    bus = RecordingBus(machine)
    machine.cpu.step()
    assert bus.cycles == order


# -- flags and results -----------------------------------------------------------------------------


def flags(z, n, h, c):
    return Z * bool(z) | N * bool(n) | H * bool(h) | C * bool(c)


def added(a, b, carry):
    total = a + b + carry
    return total & 0xFF, flags(not total & 0xFF, 0, (a & 15) + (b & 15) + carry > 15, total > 255)


def subtracted(a, b, carry):
    total = a - b - carry
    return total & 0xFF, flags(not total & 0xFF, 1, (a & 15) < (b & 15) + carry, total < 0)


def arithmetic(y, a, b, carry):
    """Return A and F after ADD, ADC, SUB, SBC, AND, XOR, OR, CP."""
    if y < 2:
        return added(a, b, carry if y == 1 else 0)
    if y < 4 or y == 7:
        result, after = subtracted(a, b, carry if y == 3 else 0)
        return (a if y == 7 else result), after
    result = (a & b, a ^ b, a | b)[y - 4]
    return result, flags(not result, 0, y == 4, 0)


def rotated(y, value, carry):
    """Return a byte and its last bit out, after RLC, RRC, RL, RR, SLA, SRA, SWAP, SRL."""
    left, right = value >> 7, value & 1
    return (
        (value << 1 & 0xFF | left, left),
        (value >> 1 | right << 7, right),
        (value << 1 & 0xFF | carry, left),
        (value >> 1 | carry << 7, right),
        (value << 1 & 0xFF, left),
        (value & 0x80 | value >> 1, right),
        ((value & 15) << 4 | value >> 4, 0),
        (value >> 1, right),
    )[y]


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@given(y=st.integers(0, 7), a=BYTES, value=BYTES, f=FLAGS, how=st.sampled_from(["r8", "hl", "d8"]))
def test_arithmetic(implementation, y, a, value, f, how):
    code = {"r8": [0x80 | y << 3 | 2], "hl": [0x86 | y << 3], "d8": [0xC6 | y << 3, value]}[how]
    machine, _ = execute(bytes(code), implementation, bytes((value,)), a=a, d=value, f=f)
    assert (machine.cpu.a, machine.cpu.f) == arithmetic(y, a, value, f >> 4 & 1)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@given(y=st.integers(0, 7), value=BYTES, f=FLAGS, at_hl=st.booleans())
def test_rotations(implementation, y, value, f, at_hl):
    code = bytes((0xCB, y << 3 | (6 if at_hl else 1)))
    machine, _ = execute(code, implementation, bytes((value,)), c=value, f=f)
    got = machine.bus.wram[0x1000] if at_hl else machine.cpu.c
    result, carry = rotated(y, value, f >> 4 & 1)
    assert (got, machine.cpu.f) == (result, flags(not result, 0, 0, carry))


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@given(x=st.integers(1, 3), bit=st.integers(0, 7), value=BYTES, f=FLAGS, at_hl=st.booleans())
def test_single_bits(implementation, x, bit, value, f, at_hl):
    code = bytes((0xCB, x << 6 | bit << 3 | (6 if at_hl else 3)))
    machine, _ = execute(code, implementation, bytes((value,)), e=value, f=f)
    got = machine.bus.wram[0x1000] if at_hl else machine.cpu.e
    wanted = {1: value, 2: value & ~(1 << bit), 3: value | 1 << bit}[x]
    after = flags(not value >> bit & 1, 0, 1, f & C) if x == 1 else f
    assert (got, machine.cpu.f) == (wanted, after)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@given(down=st.booleans(), value=BYTES, f=FLAGS, at_hl=st.booleans())
def test_counting_a_byte(implementation, down, value, f, at_hl):
    code = bytes(((0x34 if at_hl else 0x04) + down,))
    machine, _ = execute(code, implementation, bytes((value,)), b=value, f=f)
    got = machine.bus.wram[0x1000] if at_hl else machine.cpu.b
    result = (value - 1 if down else value + 1) & 0xFF
    half = value & 15 == (0 if down else 15)
    assert (got, machine.cpu.f) == (result, flags(not result, down, half, f & C))


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@given(y=st.integers(0, 7), a=BYTES, f=FLAGS)
def test_accumulator(implementation, y, a, f):
    """RLCA, RRCA, RLA, RRA, DAA, CPL, SCF, CCF."""
    machine, _ = execute(bytes((y << 3 | 7,)), implementation, a=a, f=f)
    if y < 4:
        result, carry = rotated(y, a, f >> 4 & 1)
        wanted = result, flags(0, 0, 0, carry)
    elif y == 4:
        wanted = decimal(a, f)
    else:
        wanted = ((a ^ 0xFF, f | N | H), (a, f & Z | C), (a, f & Z | ~f & C))[y - 5]
    assert (machine.cpu.a, machine.cpu.f) == wanted


def decimal(a, f):
    """Return A and F after DAA."""
    high = bool(f & C) or (not f & N and a > 0x99)
    low = bool(f & H) or (not f & N and a & 15 > 9)
    adjust = 0x60 * high + 0x06 * low
    result = (a - adjust if f & N else a + adjust) & 0xFF
    return result, flags(not result, f & N, 0, high)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@given(tens=st.tuples(*[st.integers(0, 99)] * 2), subtract=st.booleans())
def test_decimal_sums(implementation, tens, subtract):
    """ADD or SUB and DAA of decimal numbers are decimal again."""
    first, second = (int(f"{number:02d}", 16) for number in tens)
    code = bytes((0x92 if subtract else 0x82, 0x27))
    machine, _ = execute(code, implementation, a=first, d=second, f=0)
    if implementation == "reference":
        machine.cpu.step()
    result = tens[0] - tens[1] if subtract else sum(tens)
    assert machine.cpu.a == int(f"{result % 100:02d}", 16)
    assert bool(machine.cpu.f & C) == (not 0 <= result < 100)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@given(hl=st.integers(0, 0xFFFF), bc=st.integers(0, 0xFFFF), f=FLAGS)
def test_sum_of_pairs(implementation, hl, bc, f):
    machine, _ = execute(bytes((0x09,)), implementation, hl=hl, bc=bc, f=f)
    half = (hl & 0xFFF) + (bc & 0xFFF) > 0xFFF
    assert machine.cpu.hl == (hl + bc) & 0xFFFF
    assert machine.cpu.f == (f & Z) | flags(0, 0, half, hl + bc > 0xFFFF)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@given(opcode=st.sampled_from([0xE8, 0xF8]), sp=st.integers(0, 0xFFFF), offset=BYTES, f=FLAGS)
def test_sum_with_sp(implementation, opcode, sp, offset, f):
    machine, _ = execute(bytes((opcode, offset)), implementation, sp=sp, f=f)
    result = (sp + offset - 256 * (offset > 127)) & 0xFFFF
    assert (machine.cpu.sp if opcode == 0xE8 else machine.cpu.hl) == result
    half, carry = (sp & 15) + (offset & 15) > 15, (sp & 255) + offset > 255
    assert machine.cpu.f == flags(0, 0, half, carry)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@given(p=st.integers(0, 3), value=st.integers(0, 0xFFFF))
@settings(max_examples=15)
def test_stack(implementation, p, value):
    """POP of what was pushed; the lower half of F does not exist."""
    names = ("bc", "de", "hl", "af")
    code = bytes((0xC5 | p << 4, 0xC1 | (p ^ 1) << 4))
    machine, _ = execute(code, implementation, **{names[p]: value, "sp": 0xDF00})
    if implementation == "reference":
        machine.cpu.step()
    # PUSH AF has cleared the lower half, POP AF does
    wanted = value & 0xFFF0 if 3 in (p, p ^ 1) else value
    assert getattr(machine.cpu, names[p ^ 1]) == wanted
    assert machine.cpu.sp == 0xDF00


@walk("implementation", IMPLEMENTATIONS)
@walk("opcode", [0xD3, 0xDB, 0xDD, 0xE3, 0xE4, 0xEB, 0xEC, 0xED, 0xF4, 0xFC])
def test_illegal_opcodes_lock(implementation, opcode):
    machine, _ = execute(bytes((opcode,)), implementation)
    assert machine.cpu.locked
    assert machine.cpu.pc == 0xC001
    assert machine.cpu.instr == 1


# -- the generated processor -----------------------------------------------------------------------


def test_committed_processor_is_what_the_tool_writes():
    assert opcodes.TARGET.read_text(encoding="utf-8") == opcodes.generate(), (
        f"run {opcodes.COMMAND}"
    )


def test_check_says_that_it_differs(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(opcodes, "TARGET", tmp_path / "_opcodes.pxd")
    assert opcodes.main(["--check"]) == 1
    assert "differs; run python -m tools.opcodes" in capsys.readouterr().out
    assert opcodes.main([]) == 0
    assert opcodes.main(["--check"]) == 0


def test_operands_are_those_that_the_core_reads():
    read = {opcode: opcodes.instruction(opcode).operands for opcode in range(256)}
    read[opcodes.PREFIX] = 1
    assert {opcode: count for opcode, count in read.items() if count} == OPERANDS
