"""The sound, as far as programs can tell (docs/gameboy.md, 10.1); the rest is in mixer.py."""

from __future__ import annotations

from fastenv.gameboy.reference.mixer import Mixer
from fastenv.gameboy.tables import (
    IO,
    LENGTHS,
    M_CYCLE,
    SEQUENCER_BIT,
    SOUND_AT_POWER_UP,
    WAVE_BYTES,
    WAVE_DELAY,
    WAVE_NEXT,
    WAVE_OPEN,
)

POWER = 0x80  # of NR52
TRIGGER, COUNTS = 0x80, 0x40  # of the last register of a channel
NEGATES = 0x08  # of NR10
FIRST, WAVE = 0, 2  # channels
REGISTERS = 5  # of a channel
LAST_PERIOD = 0x7FF
VOLUME = 0xF8  # bits of which a channel needs one to be heard, but for that of the wave


class Apu:
    """Four channels, of which a program sees whether they play.

    Attributes
    ----------
    registers : bytearray
        $FF10 to $FF3F as they were written; NR52 with its power and, below, the channels that play.
    step : int
        Of eight, the next one of the sequencer.
    lengths : list of int
        What is left of each channel's time.
    sweep_left : int
        Ticks of 128 Hz until the first channel's period is swept, 0 if it will not be.
    sweep_period : int
        The period that is swept.
    sweep_due : bool
        Whether such a tick is due in the next machine cycle.
    sweep_negated : int
        Whether it was computed by subtraction since it was triggered.
    wave_left : int
        T until the next sample of the wave is fetched, 0 while its channel is off.
    wave_at : int
        The sample that was fetched last.
    mixer : Mixer or None
        What makes samples of it; None: nobody listens.
    """

    sweep_left: int
    sweep_period: int
    sweep_negated: int
    wave_left: int
    wave_at: int

    def __init__(self) -> None:
        self.registers: bytearray = bytearray(IO.LCDC - IO.NR10)
        self.high: bool = False  # the bit of the timer's counter that clocks the sequencer
        self.step: int = SOUND_AT_POWER_UP
        self.lengths: list[int] = [0, 0, 0, 0]
        self.sweep_due: bool = False
        self.sweep_left = self.sweep_period = self.sweep_negated = 0
        self.wave_left = self.wave_at = 0
        self.mixer: Mixer | None = None

    def _get(self, register: int) -> int:
        return self.registers[register - IO.NR10]

    def _set(self, register: int, value: int) -> None:
        self.registers[register - IO.NR10] = value

    @property
    def on(self) -> bool:
        """Whether the sound has power."""
        return bool(self._get(IO.NR52) & POWER)

    def plays(self, channel: int) -> bool:
        """Whether a channel plays."""
        return bool(self._get(IO.NR52) >> channel & 1)

    def _stop(self, channel: int) -> None:
        self._set(IO.NR52, self._get(IO.NR52) & ~(1 << channel))
        if channel == WAVE:
            self.wave_left = self.wave_at = 0
        if self.mixer is not None:
            self.mixer.stop(channel)

    # -- time --

    def tick(self, counter: int) -> None:
        """Let a machine cycle pass, at whose end the timer's counter has this value."""
        if self.sweep_due:
            self.sweep_due = False
            self._count_sweep()
        self.watch(counter)
        if self.wave_left:
            self.wave_left -= M_CYCLE
            while self.wave_left <= 0:
                self.wave_left += self._between_samples()
                self.wave_at = (self.wave_at + 1) % (2 * WAVE_BYTES)
                self._keep_byte(IO.WAVE - IO.NR10 + self.wave_at // 2)

    def _keep_byte(self, place: int) -> None:
        """Let what is heard be a byte of the wave."""
        if self.mixer is not None:
            self.mixer.wave_byte = self.registers[place]

    def watch(self, counter: int) -> None:
        """Look at the timer's counter: the sequencer goes on where its bit falls."""
        before, self.high = self.high, bool(counter & SEQUENCER_BIT)
        if before and not self.high and self.on:
            if self.step % 2 == 0:
                self._count_lengths()
            self.sweep_due = self.step % 4 == 2
            if self.mixer is not None:
                self.mixer.count_step()
            self.step = (self.step + 1) % 8

    def _count_lengths(self) -> None:
        for channel in range(4):
            if self.lengths[channel] and self._last(channel) & COUNTS:
                self._count_length(channel)

    def _count_length(self, channel: int) -> None:
        self.lengths[channel] -= 1
        if not self.lengths[channel]:
            self._stop(channel)

    # -- the sweep of the first channel --

    def _count_sweep(self) -> None:
        if not self.sweep_left:
            return
        self.sweep_left -= 1
        if not self.sweep_left:
            self.sweep_left = self._pace() or 8
            if self._pace():
                self._sweep()

    def _pace(self) -> int:
        return self._get(IO.NR10) >> 4 & 7

    def _sweep(self) -> None:
        """Compute the next period, take it, and see whether there could be another."""
        period = self._next_period()
        if period <= LAST_PERIOD and self._get(IO.NR10) & 7:
            self.sweep_period = period
            self._set(IO.NR13, period & 0xFF)
            self._set(IO.NR14, self._get(IO.NR14) & ~7 | period >> 8)
            self._next_period()

    def _next_period(self) -> int:
        """Return the next period; the channel stops where it is too large."""
        change = self.sweep_period >> (self._get(IO.NR10) & 7)
        if self._get(IO.NR10) & NEGATES:
            self.sweep_negated = 1
            return self.sweep_period - change
        if self.sweep_period + change > LAST_PERIOD:
            self._stop(FIRST)
        return self.sweep_period + change

    # -- what the processor does --

    def read(self, register: int) -> int:
        """Return a register; while the wave plays only the byte that it fetches is seen."""
        if register >= IO.WAVE:
            place = self._place_in_wave(register)
            return 0xFF if place is None else self.registers[place]
        return self._get(register)

    def write(self, register: int, value: int, counter: int) -> None:
        """Set a register; without power most of them cannot be.

        Parameters
        ----------
        register, value : int
        counter : int
            That of the timer.
        """
        channel, which = divmod(register - IO.NR10, REGISTERS)
        if register >= IO.WAVE:
            place = self._place_in_wave(register)
            if place is not None:
                self.registers[place] = value
        elif register == IO.NR52:
            self._write_power(value, counter)
        elif register >= IO.NR50:
            if self.on:
                self._set(register, value)
        else:
            if which == 1:
                self.lengths[channel] = LENGTHS[channel] - value % LENGTHS[channel]
            if self.on:
                before, played = self._get(register), self.plays(channel)
                self._write_channel(channel, which, register, value)
                if self.mixer is not None:
                    self.mixer.written(register, before, played, counter)

    def _write_power(self, value: int, counter: int) -> None:
        """Turn all on or off: off, everything is cleared but what is left of the lengths."""
        if value & POWER and not self.on:
            # The bit is looked at when the machine cycle ends; a step is lost where it is high.
            self.step = 7 if counter + M_CYCLE & SEQUENCER_BIT else 0
            self._set(IO.NR52, POWER)
            if self.mixer is not None:
                self.mixer.power_on()
        elif not value & POWER:
            self.registers[: IO.WAVE - IO.NR10] = bytes(IO.WAVE - IO.NR10)
            self.step = 0
            self.sweep_due = False
            self.sweep_left = self.sweep_period = self.sweep_negated = 0
            self.wave_left = self.wave_at = 0
            if self.mixer is not None:
                self.mixer.clear()

    def _write_channel(self, channel: int, which: int, register: int, value: int) -> None:
        before = self._get(register)
        if which == 4:
            self._enable_length(channel, before, value)
        self._set(register, value)
        if not self.heard(channel):
            self._stop(channel)
        if which == 4 and value & TRIGGER:
            self._trigger(channel)
        if register == IO.NR10 and before & NEGATES & ~value and self.sweep_negated:
            self._stop(FIRST)

    def heard(self, channel: int) -> bool:
        """Whether the converter of a channel is on."""
        if channel == WAVE:
            return bool(self._get(IO.NR30) & 0x80)
        return bool(self._get(IO.NR10 + REGISTERS * channel + 2) & VOLUME)

    def _last(self, channel: int) -> int:
        return self._get(IO.NR10 + REGISTERS * channel + 4)

    def period(self, channel: int) -> int:
        """Return the eleven bits of a channel's period."""
        return (self._last(channel) & 7) << 8 | self._get(IO.NR10 + REGISTERS * channel + 3)

    def _enable_length(self, channel: int, before: int, value: int) -> None:
        """Count once more where counting begins between two steps that do, the next not being one.

        A channel that is triggered at the same time does not stop.
        """
        between = self.step % 2 == 1 and value & COUNTS
        if between and not before & COUNTS and self.lengths[channel]:
            self.lengths[channel] -= 1
            if not self.lengths[channel] and not value & TRIGGER:
                self._stop(channel)
        if value & TRIGGER and not self.lengths[channel]:
            self.lengths[channel] = LENGTHS[channel] - bool(between)

    def _trigger(self, channel: int) -> None:
        if channel == WAVE and self.plays(WAVE):
            self._spoil_wave()
        if self.heard(channel):
            self._set(IO.NR52, self._get(IO.NR52) | 1 << channel)
        if channel == FIRST:
            self._trigger_sweep()
        elif channel == WAVE and self.plays(WAVE):
            self.wave_left = self._between_samples() + WAVE_DELAY
            self.wave_at = 0

    def _trigger_sweep(self) -> None:
        """Copy the period; if there is a shift, see at once whether there could be a next one."""
        sweeps = self._get(IO.NR10) & 0x77
        self.sweep_left = (self._pace() or 8) if sweeps else 0
        self.sweep_period = self.period(FIRST) if sweeps else 0
        self.sweep_negated = 0
        if self._get(IO.NR10) & 7:
            self._next_period()

    # -- the samples of the wave --

    def _between_samples(self) -> int:
        """T from one to the next."""
        return 2 * (LAST_PERIOD + 1 - self.period(WAVE))

    def _place_in_wave(self, register: int) -> int | None:
        """Where a byte of the wave is seen, or None if none is."""
        return self._fetched_in(WAVE_OPEN) if self.plays(WAVE) else register - IO.NR10

    def _fetched_in(self, time: int) -> int | None:
        """Where the byte is that is fetched in so many T, or None if none is then."""
        left, at = self.wave_left, self.wave_at + 1
        while left < time:
            left += self._between_samples()
            at += 1
        return IO.WAVE - IO.NR10 + at // 2 % WAVE_BYTES if left == time else None

    def _spoil_wave(self) -> None:
        """Trigger: a byte that is fetched now is copied to the first, or four around it to four."""
        place, begin = self._fetched_in(WAVE_NEXT), IO.WAVE - IO.NR10
        if place is None:
            return
        self._keep_byte(begin)
        if place < begin + 4:
            self.registers[begin] = self.registers[place]
        else:
            place -= place % 4
            self.registers[begin : begin + 4] = self.registers[place : place + 4]
