"""The clock of an MBC3, which runs on emulated time alone (docs/gameboy.md, 11)."""

from fastenv.gameboy.tables import CLOCK, CLOCK_MASKS, M_CYCLE

SECONDS, MINUTES, HOURS, DAYS_LOW, DAYS_HIGH = range(5)
DAY_9, HALT, CARRY = 0x01, 0x40, 0x80  # of the last register


class Clock:
    """Seconds, minutes, hours and days in five registers, and a copy of them to be read."""

    registers: bytearray
    latched: bytearray

    def __init__(self) -> None:
        self.registers, self.latched = bytearray(5), bytearray(5)
        self.part: int = 0  # T of the second that has begun

    def tick(self) -> None:
        """Let a machine cycle pass."""
        if self.registers[DAYS_HIGH] & HALT:
            return
        self.part += M_CYCLE
        if self.part == CLOCK:
            self.part = 0
            self._count_second()

    def _count_second(self) -> None:
        """Count on: a register that holds too much goes on to its end, and carries nothing."""
        for which, most in ((SECONDS, 60), (MINUTES, 60), (HOURS, 24)):
            value = (self.registers[which] + 1) & CLOCK_MASKS[which]
            self.registers[which] = 0 if value == most else value
            if value != most:
                return
        self.registers[DAYS_LOW] = (self.registers[DAYS_LOW] + 1) & 0xFF
        if self.registers[DAYS_LOW] == 0:
            if self.registers[DAYS_HIGH] & DAY_9:
                self.registers[DAYS_HIGH] |= CARRY
            self.registers[DAYS_HIGH] ^= DAY_9

    def write(self, which: int, value: int) -> None:
        """Set a register; a second begins where that is the seconds."""
        self.registers[which] = value & CLOCK_MASKS[which]
        if which == SECONDS:
            self.part = 0

    def latch(self) -> None:
        """Copy the registers."""
        self.latched[:] = self.registers
