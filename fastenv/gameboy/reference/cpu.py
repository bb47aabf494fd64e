"""The SM83 processor (docs/gameboy.md, 5 and 6)."""

from __future__ import annotations

from collections.abc import Callable

from fastenv.gameboy.reference.bus import Bus
from fastenv.gameboy.reference.interrupts import Interrupts

Z, N, H, C = 0x80, 0x40, 0x20, 0x10
R8 = ("b", "c", "d", "e", "h", "l", "(hl)", "a")
ILLEGAL = (0xD3, 0xDB, 0xDD, 0xE3, 0xE4, 0xEB, 0xEC, 0xED, 0xF4, 0xFC, 0xFD)


def _signed(byte: int) -> int:
    return byte - 0x100 if byte & 0x80 else byte


class Cpu:
    """Registers, and one method for each family of instructions.

    Opcodes are read as three groups of bits, ``xx yyy zzz`` (docs/gameboy.md, 5.1). Every call of
    the bus takes a machine cycle, in the order of docs/gameboy.md, 5.3.
    """

    a: int
    f: int
    b: int
    c: int
    d: int
    e: int
    h: int
    l: int  # noqa: E741 -- the name of the register
    sp: int
    pc: int
    halted: bool
    halt_bug: bool
    locked: bool

    def __init__(self, bus: Bus) -> None:
        self.bus: Bus = bus
        self.interrupts: Interrupts = bus.interrupts
        self.a = self.f = self.b = self.c = self.d = self.e = self.h = self.l = 0
        self.sp = self.pc = 0
        self.ime: bool = False
        self.ime_delay: int = 0  # instructions until EI takes effect
        self.halted = self.halt_bug = self.locked = False
        self.instr: int = 0
        self.watch: Callable[[int], None] | None = None  # told of each instruction before it runs

    # -- registers --

    @property
    def bc(self) -> int:
        """The pair B, C."""
        return self.b << 8 | self.c

    @bc.setter
    def bc(self, value: int) -> None:
        self.b, self.c = value >> 8 & 0xFF, value & 0xFF

    @property
    def de(self) -> int:
        """The pair D, E."""
        return self.d << 8 | self.e

    @de.setter
    def de(self, value: int) -> None:
        self.d, self.e = value >> 8 & 0xFF, value & 0xFF

    @property
    def hl(self) -> int:
        """The pair H, L."""
        return self.h << 8 | self.l

    @hl.setter
    def hl(self, value: int) -> None:
        self.h, self.l = value >> 8 & 0xFF, value & 0xFF

    @property
    def af(self) -> int:
        """The pair A, F; the low half of F does not exist."""
        return self.a << 8 | self.f

    @af.setter
    def af(self, value: int) -> None:
        self.a, self.f = value >> 8 & 0xFF, value & 0xF0

    def _flags(self, *, z: object, n: object, h: object, c: object) -> None:
        self.f = (Z if z else 0) | (N if n else 0) | (H if h else 0) | (C if c else 0)

    def _carry(self) -> int:
        return self.f >> 4 & 1

    def _get8(self, which: int) -> int:
        if which == 6:
            return self.bus.read(self.hl)
        value: int = getattr(self, R8[which])
        return value

    def _set8(self, which: int, value: int) -> None:
        if which == 6:
            self.bus.write(self.hl, value)
        else:
            setattr(self, R8[which], value)

    def _get16(self, which: int) -> int:
        return (self.bc, self.de, self.hl, self.sp)[which]

    def _set16(self, which: int, value: int) -> None:
        setattr(self, ("bc", "de", "hl", "sp")[which], value & 0xFFFF)

    def _condition(self, which: int) -> bool:
        return bool(self.f & (Z if which < 2 else C)) == bool(which & 1)

    # -- the bus --

    def _fetch(self) -> int:
        value = self.bus.read(self.pc, counted=True)
        self.pc = (self.pc + 1) & 0xFFFF
        return value

    def _fetch16(self) -> int:
        low = self._fetch()
        return self._fetch() << 8 | low

    def _push(self, value: int) -> None:
        self.bus.count(self.sp)
        for byte in (value >> 8, value & 0xFF):
            self.sp = (self.sp - 1) & 0xFFFF
            self.bus.write(self.sp, byte)

    def _pop(self) -> int:
        low = self.bus.read(self.sp, counted=True)
        high = self.bus.read((self.sp + 1) & 0xFFFF)
        self.sp = (self.sp + 2) & 0xFFFF
        return high << 8 | low

    # -- one step --

    def step(self) -> None:
        """Execute an instruction, serve an interrupt, or wait for a machine cycle."""
        waits = self.halted and not self.interrupts.wakes
        if self.locked or self.bus.joypad.stopped or waits:
            self.bus.tick()
            return
        self.halted = False
        if self.interrupts.pending and self.ime and not self.ime_delay:
            self._serve()
            return
        self._execute()
        if self.ime_delay:
            self.ime_delay -= 1
            self.ime |= self.ime_delay == 0

    def _serve(self) -> None:
        """Jump to the handler of the lowest interrupt that is pending once PC is half saved."""
        self.ime = False
        self.bus.tick()
        self.bus.count(self.sp)
        self.sp = (self.sp - 1) & 0xFFFF
        returns = self.pc
        self.bus.write(self.sp, returns >> 8)
        pending = self.interrupts.pending  # the write may have changed IE
        self.sp = (self.sp - 1) & 0xFFFF
        self.bus.write(self.sp, returns & 0xFF)
        self.bus.tick()
        self.pc = 0
        if pending:
            bit = (pending & -pending).bit_length() - 1
            self.interrupts.requested &= ~(1 << bit)
            self.pc = 0x40 + 8 * bit

    def _execute(self) -> None:
        if self.watch is not None:
            self.watch(self.pc)
        opcode = self.bus.read(self.pc, counted=not self.halt_bug)
        if not self.halt_bug:
            self.pc = (self.pc + 1) & 0xFFFF
        self.halt_bug = False
        self.instr += 1
        x, y, z = opcode >> 6, opcode >> 3 & 7, opcode & 7
        if opcode in ILLEGAL:
            self.locked = True
        elif opcode == 0x76:
            self._halt()
        elif x == 0:
            self._group0(y, z)
        elif x == 1:
            self._set8(y, self._get8(z))
        elif x == 2:
            self._alu(y, self._get8(z))
        else:
            self._group3(y, z)

    # -- opcodes $00 to $3F --

    def _group0(self, y: int, z: int) -> None:
        p, q = y >> 1, y & 1
        if z == 0:
            self._control(y)
        elif z == 1 and q == 0:
            self._set16(p, self._fetch16())
        elif z == 1:
            self._add_hl(self._get16(p))
        elif z == 2:
            self._indirect(p, q)
        elif z == 3:
            self.bus.count(self._get16(p))
            self._set16(p, self._get16(p) + (-1 if q else 1))
        elif z == 4:
            self._set8(y, self._increment(self._get8(y)))
        elif z == 5:
            self._set8(y, self._decrement(self._get8(y)))
        elif z == 6:
            self._set8(y, self._fetch())
        else:
            self._accumulator(y)

    def _control(self, y: int) -> None:
        """NOP, LD (a16),SP, STOP and relative jumps."""
        if y == 1:
            address = self._fetch16()
            self.bus.write(address, self.sp & 0xFF)
            self.bus.write((address + 1) & 0xFFFF, self.sp >> 8)
        elif y == 2:
            self.pc = (self.pc + 1) & 0xFFFF
            self.bus.clear_div()
            self.bus.joypad.stopped = True
        elif y >= 3:
            offset = _signed(self._fetch())
            if y == 3 or self._condition(y - 4):
                self.bus.tick()
                self.pc = (self.pc + offset) & 0xFFFF

    def _indirect(self, p: int, q: int) -> None:
        """Load or store A through BC, DE, HL counting up or HL counting down."""
        address = (self.bc, self.de, self.hl, self.hl)[p]
        if q:
            self.a = self.bus.read(address, counted=p >= 2)
        else:
            self.bus.write(address, self.a)
        if p >= 2:
            self.hl = (address + (1 if p == 2 else -1)) & 0xFFFF

    def _add_hl(self, value: int) -> None:
        self.bus.tick()
        total = self.hl + value
        half = (self.hl & 0xFFF) + (value & 0xFFF) > 0xFFF
        self._flags(z=self.f & Z, n=0, h=half, c=total > 0xFFFF)
        self.hl = total & 0xFFFF

    def _increment(self, value: int) -> int:
        result = (value + 1) & 0xFF
        self._flags(z=result == 0, n=0, h=result & 0xF == 0, c=self.f & C)
        return result

    def _decrement(self, value: int) -> int:
        result = (value - 1) & 0xFF
        self._flags(z=result == 0, n=1, h=result & 0xF == 0xF, c=self.f & C)
        return result

    def _accumulator(self, y: int) -> None:
        """RLCA, RRCA, RLA, RRA, DAA, CPL, SCF, CCF."""
        if y < 4:
            self.a = self._rotate(y, self.a)
            self.f &= ~Z
        elif y == 4:
            self._daa()
        elif y == 5:
            self.a ^= 0xFF
            self.f |= N | H
        else:
            self._flags(z=self.f & Z, n=0, h=0, c=y == 6 or not self.f & C)

    def _daa(self) -> None:
        """Make the sum or difference of two decimal numbers decimal again."""
        adjust, carry, subtracted = 0, self.f & C, self.f & N
        if self.f & H or (not subtracted and self.a & 0x0F > 9):
            adjust |= 0x06
        if carry or (not subtracted and self.a > 0x99):
            adjust |= 0x60
            carry = C
        self.a = (self.a - adjust if subtracted else self.a + adjust) & 0xFF
        self._flags(z=self.a == 0, n=subtracted, h=0, c=carry)

    # -- arithmetic, opcodes $80 to $BF and with a byte of the program --

    def _alu(self, y: int, value: int) -> None:
        if y in (0, 1):
            self._add(value, self._carry() if y == 1 else 0)
        elif y in (2, 3):
            self.a = self._subtract(value, self._carry() if y == 3 else 0)
        elif y == 7:
            self._subtract(value, 0)
        else:
            if y == 4:
                self.a &= value
            elif y == 5:
                self.a ^= value
            else:
                self.a |= value
            self._flags(z=self.a == 0, n=0, h=y == 4, c=0)

    def _add(self, value: int, carry: int) -> None:
        total = self.a + value + carry
        half = (self.a & 0xF) + (value & 0xF) + carry > 0xF
        self.a = total & 0xFF
        self._flags(z=self.a == 0, n=0, h=half, c=total > 0xFF)

    def _subtract(self, value: int, carry: int) -> int:
        total = self.a - value - carry
        half = (self.a & 0xF) - (value & 0xF) - carry < 0
        self._flags(z=total & 0xFF == 0, n=1, h=half, c=total < 0)
        return total & 0xFF

    # -- opcodes $C0 to $FF --

    def _group3(self, y: int, z: int) -> None:
        p, q = y >> 1, y & 1
        if z == 0:
            self._return_if(y) if y < 4 else self._high_and_sp(y)
        elif z == 1:
            self._pop_and_jumps(p, q)
        elif z == 2:
            self._jump_if(y) if y < 4 else self._absolute(y)
        elif z == 3:
            self._jump_and_interrupts(y)
        elif z == 4:
            self._call_if(self._condition(y))
        elif z == 5 and q:
            self._call_if(True)
        elif z == 5:
            self._push((self.bc, self.de, self.hl, self.af)[p])
        elif z == 6:
            self._alu(y, self._fetch())
        else:
            self._push(self.pc)
            self.pc = 8 * y

    def _return_if(self, y: int) -> None:
        self.bus.tick()
        if self._condition(y):
            self.pc = self._pop()
            self.bus.tick()

    def _high_and_sp(self, y: int) -> None:
        """LDH (a8),A; ADD SP,e8; LDH A,(a8); LD HL,SP+e8."""
        operand = self._fetch()
        if y == 4:
            self.bus.write(0xFF00 | operand, self.a)
        elif y == 6:
            self.a = self.bus.read(0xFF00 | operand)
        else:
            half = (self.sp & 0xF) + (operand & 0xF) > 0xF
            carry = (self.sp & 0xFF) + operand > 0xFF
            total = (self.sp + _signed(operand)) & 0xFFFF
            self._flags(z=0, n=0, h=half, c=carry)
            self.bus.tick()
            if y == 5:
                self.bus.tick()
                self.sp = total
            else:
                self.hl = total

    def _pop_and_jumps(self, p: int, q: int) -> None:
        """POP; RET, RETI, JP HL, LD SP,HL."""
        if q == 0:
            setattr(self, ("bc", "de", "hl", "af")[p], self._pop())
        elif p < 2:
            self.pc = self._pop()
            self.bus.tick()
            if p == 1:
                self.ime = True
        elif p == 2:
            self.pc = self.hl
        else:
            self.bus.tick()
            self.sp = self.hl

    def _jump_if(self, y: int) -> None:
        address = self._fetch16()
        if self._condition(y):
            self.bus.tick()
            self.pc = address

    def _absolute(self, y: int) -> None:
        """Load or store A at $FF00 + C or at an address of the program."""
        address = self._fetch16() if y & 1 else 0xFF00 | self.c
        if y < 6:
            self.bus.write(address, self.a)
        else:
            self.a = self.bus.read(address)

    def _jump_and_interrupts(self, y: int) -> None:
        """JP a16, the second page of opcodes, DI, EI."""
        if y == 0:
            self.pc = self._fetch16()
            self.bus.tick()
        elif y == 1:
            self._prefixed(self._fetch())
        elif y == 6:
            self.ime, self.ime_delay = False, 0
        elif self.ime_delay == 0:
            self.ime_delay = 2  # EI itself and one more

    def _call_if(self, condition: bool) -> None:
        address = self._fetch16()
        if condition:
            self._push(self.pc)
            self.pc = address

    def _halt(self) -> None:
        """Wait for an interrupt; if one is pending that may not be served, trip over it."""
        if self.ime or not self.interrupts.pending:
            self.halted = True
        elif self.ime_delay:
            self.pc = (self.pc - 1) & 0xFFFF  # EI; HALT: the handler returns to the HALT
        else:
            self.halt_bug = True

    # -- opcodes behind $CB --

    def _prefixed(self, opcode: int) -> None:
        x, y, z = opcode >> 6, opcode >> 3 & 7, opcode & 7
        value = self._get8(z)
        if x == 0:
            self._set8(z, self._rotate(y, value))
        elif x == 1:
            self._flags(z=not value >> y & 1, n=0, h=1, c=self.f & C)
        elif x == 2:
            self._set8(z, value & ~(1 << y))
        else:
            self._set8(z, value | 1 << y)

    def _rotate(self, y: int, value: int) -> int:
        """RLC, RRC, RL, RR, SLA, SRA, SWAP, SRL."""
        carry = value & 1 if y & 1 else value >> 7
        if y == 0:
            result = value << 1 | value >> 7
        elif y == 1:
            result = value >> 1 | value << 7
        elif y == 2:
            result = value << 1 | self._carry()
        elif y == 3:
            result = value >> 1 | self._carry() << 7
        elif y == 4:
            result = value << 1
        elif y == 5:
            result = value >> 1 | value & 0x80
        elif y == 6:
            result, carry = value << 4 | value >> 4, 0
        else:
            result = value >> 1
        self._flags(z=result & 0xFF == 0, n=0, h=0, c=carry)
        return result & 0xFF
