"""What is heard of the sound (docs/gameboy.md, 10.2)."""

from __future__ import annotations

from typing import Protocol

from fastenv.gameboy.tables import (
    DUTIES,
    DUTY_STEPS,
    IO,
    M_CYCLE,
    NOISE_BITS,
    SAMPLE,
    SAMPLES,
    SEQUENCER_BIT,
    WAVE_BYTES,
)

SQUARES, WAVE, NOISE = (0, 1), 2, 3  # channels
ENVELOPES = (0, 1, 3)  # channels that have one, in the order of rows
REGISTERS = 5  # of a channel
TRIGGER = 0x80  # of the last register of a channel
RISES, NARROW = 0x08, 0x08  # of a volume; of NR43
ENVELOPE_STEP = 7  # of the sequencer
SHIFTS = (4, 0, 1, 2)  # of a sample of the wave, by NR32
LAST_NOISE_SHIFT = 13  # of NR43; with those above it the noise stands still
FIRST_STEP, NEXT_TRIGGER = 8, 4  # T by which the first step of a square comes later
NOISE_DELAY = 8  # T by which a trigger delays the noise
DUTY_AT_POWER_UP, DUTY_LEFT_AT_POWER_UP = 3, 276
BOTH = range(2)  # left and right


class Channels(Protocol):
    """What is mixed: :class:`fastenv.gameboy.reference.apu.Apu`."""

    registers: bytearray
    step: int
    wave_left: int
    wave_at: int

    def plays(self, channel: int) -> bool:
        """Whether a channel plays."""

    def heard(self, channel: int) -> bool:
        """Whether the converter of a channel is on."""

    def period(self, channel: int) -> int:
        """Return the eleven bits of a channel's period."""


class Mixer:
    """What the four channels say and what both sides hear of it, summed up to samples.

    Parameters
    ----------
    channels : Channels

    Attributes
    ----------
    samples : list of int
        Left and right of each sample of this frame; 0 for those that are still to come.
    sums : list of int
        Left and right of the sample that has begun.
    duty_left : list of int
        T until the next step of each square; 0 before its first trigger.
    duty_at, duty_high : list of int
        That step of eight, and whether it is high.
    volumes : list of int
        Of both squares and the noise; 0 where they do not play.
    envelopes : list of int
        Ticks of 64 Hz until a volume changes; 0 where it no longer does.
    noise_left : int
        T until the noise is shifted; 0 without power.
    lfsr : int
        The 15 bits of the noise.
    wave_byte : int
        The byte of the sample of the wave that was fetched last.
    """

    def __init__(self, channels: Channels) -> None:
        self.channels = channels
        self.samples: list[int] = [0] * (2 * SAMPLES)
        self.sums: list[int] = [0, 0]
        self.clear()

    def clear(self) -> None:
        """Lose all but the sample that has begun, as power off does."""
        self.duty_left: list[int] = [0, 0]
        self.duty_at: list[int] = [0, 0]
        self.duty_high: list[int] = [0, 0]
        self.volumes: list[int] = [0, 0, 0]
        self.envelopes: list[int] = [0, 0, 0]
        self.noise_left: int = 0
        self.lfsr: int = 0
        self.wave_byte: int = 0

    def power_up(self) -> None:
        """Stand as the boot program leaves it, whose sound has faded."""
        self.duty_at[0], self.duty_left[0] = DUTY_AT_POWER_UP, DUTY_LEFT_AT_POWER_UP
        self.noise_left = self._noise_period()

    def begin_frame(self) -> None:
        """Forget the samples of the frame before."""
        self.samples = [0] * (2 * SAMPLES)

    # -- time --

    def tick(self, cyc: int) -> None:
        """Hear a machine cycle, which ends then; the sequencer's step at its end is not taken yet.

        Parameters
        ----------
        cyc : int
            T since power-up.
        """
        wave, then = self._wave(0), self._wave(M_CYCLE // 2)
        for side in BOTH:
            self.sums[side] += self._mix(side, wave) + self._mix(side, then)
        for channel in SQUARES:
            self._tick_square(channel)
        self._tick_noise()
        if cyc % SAMPLE == 0:
            at = 2 * ((cyc // SAMPLE - 1) % SAMPLES)
            self.samples[at : at + 2] = self.sums
            self.sums = [0, 0]

    def _tick_square(self, channel: int) -> None:
        if self.duty_left[channel]:
            self.duty_left[channel] -= M_CYCLE
            if self.duty_left[channel] == 0:
                self.duty_left[channel] = self._duty_period(channel)
                at = self.duty_at[channel] = (self.duty_at[channel] + 1) % DUTY_STEPS
                duty = self._register(channel, 1) >> 6
                self.duty_high[channel] = DUTIES >> DUTY_STEPS * duty + at & 1

    def _tick_noise(self) -> None:
        if self.noise_left:
            self.noise_left -= M_CYCLE
            if self.noise_left == 0:
                self._shift_noise()

    def _shift_noise(self) -> None:
        """Shift the noise, and wait for the next time."""
        clock = self._register(NOISE, 3)
        self.noise_left = self._noise_period()
        if self.channels.plays(NOISE) and clock >> 4 <= LAST_NOISE_SHIFT:
            bit = ~(self.lfsr ^ self.lfsr >> 1) & 1
            self.lfsr = self.lfsr >> 1 | bit << NOISE_BITS - 1
            if clock & NARROW:
                self.lfsr = self.lfsr & ~0x40 | bit << 6

    def count_step(self) -> None:
        """Count what a step of the sequencer counts."""
        if self.channels.step == ENVELOPE_STEP:
            for which, channel in enumerate(ENVELOPES):
                if self.envelopes[which]:
                    self.envelopes[which] -= 1
                    if self.envelopes[which] == 0:
                        self._change_volume(which, self._register(channel, 2))

    def _change_volume(self, which: int, register: int) -> None:
        pace = register & 7
        volume = self.volumes[which] + (1 if register & RISES else -1)
        if pace == 0:
            self.envelopes[which] = 8
        elif 0 <= volume <= 15:
            self.volumes[which], self.envelopes[which] = volume, pace

    # -- what is heard --

    def _mix(self, side: int, wave: int) -> int:
        """Mix the four channels into the level of the left or right side, from -480 to 480."""
        panning = self.channels.registers[IO.NR51 - IO.NR10] >> (0 if side else 4)
        volume = self.channels.registers[IO.NR50 - IO.NR10] >> (0 if side else 4) & 7
        total = 0
        for channel in range(4):
            if panning >> channel & 1 and self.channels.heard(channel):
                total += 15 - 2 * (wave if channel == WAVE else self._digital(channel))
        return total * (volume + 1)

    def _digital(self, channel: int) -> int:
        """Return the digital output of a square or the noise, 0 to 15; 0 while it does not play."""
        high = self.lfsr & 1 if channel == NOISE else self.duty_high[channel]
        return self.volumes[ENVELOPES.index(channel)] if high else 0

    def _wave(self, time: int) -> int:
        """Return the wave channel's digital output in ``time`` T, within this machine cycle."""
        if not self.channels.plays(WAVE):
            return 0
        at, byte = self.channels.wave_at, self.wave_byte
        if self.channels.wave_left <= time:
            at = (at + 1) % (2 * WAVE_BYTES)
            byte = self.channels.registers[IO.WAVE - IO.NR10 + at // 2]
        nibble = byte & 0x0F if at % 2 else byte >> 4
        return nibble >> SHIFTS[self._register(WAVE, 2) >> 5 & 3]

    # -- what the processor does --

    def stop(self, channel: int) -> None:
        """See that a channel no longer plays."""
        if channel in ENVELOPES:
            which = ENVELOPES.index(channel)
            self.volumes[which] = self.envelopes[which] = 0
        if channel == NOISE:
            self.lfsr = 0

    def power_on(self) -> None:
        """See that power came."""
        self.noise_left = self._noise_period()

    def written(self, register: int, before: int, played: bool, counter: int) -> None:
        """See that a register of a channel was written, while there is power.

        Parameters
        ----------
        register, before : int
            What it was.
        played : bool
            Whether the channel did, before.
        counter : int
            That of the timer.
        """
        channel, which = divmod(register - IO.NR10, REGISTERS)
        value = self._register(channel, which)
        if which == 4 and value & TRIGGER:
            self._trigger(channel, played, counter)
        elif channel == NOISE and which == 3:
            self._shift_noise()
        elif channel in ENVELOPES and which == 2 and self.channels.plays(channel):
            self._nudge(ENVELOPES.index(channel), before, value)

    def _trigger(self, channel: int, played: bool, counter: int) -> None:
        if channel in SQUARES:
            delay = NEXT_TRIGGER if played else FIRST_STEP
            self.duty_left[channel] = self._duty_period(channel) + delay
        if channel == WAVE or not self.channels.plays(channel):
            return
        which, register = ENVELOPES.index(channel), self._register(channel, 2)
        step = self.channels.step
        if (counter + M_CYCLE) % (2 * SEQUENCER_BIT) == 0:
            step = (step + 1) % 8  # the one at the end of this machine cycle is as good as over
        self.volumes[which] = register >> 4
        self.envelopes[which] = (register & 7 or 8) + (step == ENVELOPE_STEP)
        if channel == NOISE:
            self.lfsr = 0
            self.noise_left = (self.noise_left or self._noise_period()) + NOISE_DELAY

    def _nudge(self, which: int, before: int, value: int) -> None:
        """Change the volume of a channel that plays, as writing its register does."""
        counts, volume = self.envelopes[which] > 0, self.volumes[which]
        turned = (before ^ value) & RISES
        once = counts and value & 7 and not before & 7
        if counts and value & 0x0F == before & 0x0F == RISES:
            once = True
        if turned and value & RISES:
            volume, once = (15 if counts and not before & 7 else 14) - volume, False
        elif turned:
            volume = 16 - volume
        if once:
            volume += 1 if value & RISES else -1
        self.volumes[which] = volume & 15

    # -- registers --

    def _register(self, channel: int, which: int) -> int:
        return self.channels.registers[REGISTERS * channel + which]

    def _duty_period(self, channel: int) -> int:
        """Return T from a step of a square to the next."""
        return 4 * (2048 - self.channels.period(channel))

    def _noise_period(self) -> int:
        """Return T from one time that the noise is shifted to the next."""
        clock = self._register(NOISE, 3)
        return (16 * (clock & 7) or 8) << (clock >> 4)
