"""What programs see of the sound, in reference and core (docs/gameboy.md, 10.1)."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastenv.gameboy.position import pack, unpack
from fastenv.gameboy.reference import Machine
from fastenv.gameboy.tables import IO, M_CYCLE
from fastenv.gameboy.validate_machine import validate_rows
from tests.gameboy.machines import RANDOMS, assert_same, run_alike
from tests.gameboy.test_validate import random_sound
from tests.needs import needs_core
from tests.slow import every
from tests.tables import walk
from tools.gameboy.generators.sound import touching_cartridge
from tools.gameboy.machines import build, reloaded

DIV, POWER = 0xFF04, 0xFF26
STEP = 8192  # T between steps of the sequencer
# By channel: its first register, which one lets it be heard, and by what; its longest time.
CHANNELS = [
    (0xFF10, 2, 0x08, 64),
    (0xFF15, 2, 0x08, 64),
    (0xFF1A, 0, 0x80, 256),
    (0xFF1F, 2, 0x08, 64),
]


class Sound:
    """A reference machine whose sound was turned on so many T after DIV was cleared."""

    def __init__(self, late=0):
        self.machine = Machine(build(b"\x18\xfe"))
        self.bus = self.machine.bus
        self.bus.write(POWER, 0)
        self.bus.write(DIV, 0)
        self.wait_until(late)
        self.bus.write(POWER, 0x80)

    def wait_until(self, counter):
        """Wait until the timer's counter has a value."""
        while self.bus.timer.counter != counter:
            self.bus.tick()

    def wait(self, time):
        for _ in range(time // M_CYCLE):
            self.bus.tick()

    def set(self, address, *values):
        """Write registers that follow each other."""
        for offset, value in enumerate(values):
            self.bus.write(address + offset, value)

    @property
    def playing(self):
        return self.bus._read(POWER) & 0x0F

    def begin(self, channel, left, last=0xC0):
        """Trigger a channel that has so much time left."""
        first, which, loud, longest = CHANNELS[channel]
        self.bus.write(first + which, loud)
        self.bus.write(first + 1, longest - left)
        self.bus.write(first + 4, last)


# -- lengths ---------------------------------------------------------------------------------------


@walk("channel", range(4))
@walk(("left", "steps"), [(1, 1), (2, 3), (3, 5)])
def test_time_runs_with_every_second_step(channel, left, steps):
    sound = Sound()
    sound.begin(channel, left)
    sound.wait_until(STEP * steps - M_CYCLE)
    assert sound.playing == 1 << channel
    sound.bus.tick()
    assert sound.playing == 0


def test_writing_div_is_a_step_where_its_bit_is_high():
    sound = Sound()
    sound.begin(1, 1)
    sound.wait_until(4092)
    sound.bus.write(DIV, 0)
    assert sound.playing == 2
    sound.wait_until(4096)
    sound.bus.write(DIV, 0)
    assert sound.playing == 0


@pytest.mark.parametrize(("late", "left"), [(4088, 3), (4092, 2), (4096, 2)])
def test_power_that_comes_while_the_bit_is_high(late, left):
    """The sequencer begins before its first step, so that counting begins with an extra count."""
    sound = Sound(late)
    sound.begin(1, 3)
    assert sound.bus.apu.lengths[1] == left


@walk(
    ("left", "lasts", "then", "playing"),
    [(2, [0x40], 1, 1), (2, [0x40, 0x40, 0x00, 0x00], 1, 1),  # counting has to begin
     (1, [0x40], 0, 0), (1, [0xC0], 63, 1), (0, [0x80], 64, 1), (0, [0xC0], 63, 1),
     (1, [0x40, 0x00, 0x40], 0, 0)],
)  # fmt: skip
def test_an_extra_count(left, lasts, then, playing):
    """Between two steps of which the first counts; see also blargg's dmg_sound, 03."""
    sound = Sound()
    sound.begin(0, 1, last=0x80)
    sound.wait_until(STEP)
    sound.bus.apu.lengths[0] = left
    for last in lasts:
        sound.bus.write(0xFF14, last)
    assert (sound.bus.apu.lengths[0], sound.playing) == (then, playing)


def test_without_power_lengths_alone_are_kept():
    sound = Sound()
    sound.begin(0, 7)
    sound.begin(2, 200)
    sound.bus.write(POWER, 0)
    sound.set(0xFF30, 0x12)
    assert sound.bus._read(POWER) == 0x70
    sound.wait(4 * STEP)
    sound.set(0xFF20, 0x3F, 0xF0)
    sound.set(0xFF31, 0x34)
    assert sound.bus.apu.lengths == [7, 0, 200, 1]
    assert [sound.bus._read(0xFF00 | low) for low in (0x12, 0x21, 0x30, 0x31)] == [0, 0, 0x12, 0x34]


def test_a_channel_that_is_not_heard_does_not_play():
    sound = Sound()
    sound.begin(1, 5)
    sound.bus.write(0xFF17, 0x07)
    assert sound.playing == 0
    sound.bus.write(0xFF19, 0x80)
    assert sound.playing == 0
    sound.bus.write(0xFF17, 0x08)
    assert sound.playing == 0
    sound.bus.write(0xFF19, 0x80)
    assert sound.playing == 2


# -- the sweep -------------------------------------------------------------------------------------

# The highest period with which a trigger leaves the channel on, by steps (blargg's dmg_sound, 06).
HIGHEST = {1: 0x555, 2: 0x666, 3: 0x71C, 4: 0x787, 5: 0x7C1, 6: 0x7E0, 7: 0x7F0}


@walk(("shift", "highest"), HIGHEST.items())
def test_a_trigger_looks_at_the_next_period(shift, highest):
    sound = Sound()
    for period, playing in ((highest, 1), (highest + 1, 0)):
        sound.set(0xFF10, shift, 0, 8, period & 0xFF, 0x80 | period >> 8)
        assert sound.playing == playing


def test_the_period_is_swept_a_machine_cycle_after_the_step():
    sound = Sound()
    sound.set(0xFF10, 0x11, 0, 8, 0x00, 0x84)
    sound.wait_until(3 * STEP)
    assert sound.playing == 1
    sound.bus.tick()
    assert sound.playing == 0  # $600 was taken, and $900 would be next
    assert sound.bus.apu.registers[3:5] == b"\x00\x86"


def test_no_pace_sweeps_nothing_but_counts_eight():
    sound = Sound()
    sound.set(0xFF10, 0x01, 0, 8, 0x00, 0x84)
    sound.wait(4 * 8 * STEP)
    assert sound.playing == 1
    assert sound.bus.apu.sweep_left == 8
    sound.bus.write(0xFF10, 0x71)
    sound.wait(4 * 8 * STEP)
    assert sound.playing == 0


@pytest.mark.parametrize(
    ("first", "then", "playing"), [(0x09, 0x01, 0), (0x09, 0x0A, 1), (0x18, 0x10, 1)]
)
def test_to_leave_subtraction_stops_the_channel(first, then, playing):
    """If anything was subtracted since the trigger: without steps nothing is."""
    sound = Sound()
    sound.set(0xFF10, first, 0, 8, 0x00, 0x84)
    sound.bus.write(0xFF10, then)
    assert sound.playing == playing


# -- the wave --------------------------------------------------------------------------------------

WAVE = bytes(range(0x10, 0x100, 0x22)).ljust(16, b"\x77")


def begin_wave(period):
    sound = Sound()
    sound.set(0xFF30, *WAVE)
    sound.set(0xFF1A, 0x80, 0, 0, period & 0xFF, 0x80 | period >> 8)
    return sound


# What is read so many T after the trigger: Gambatte's ch3_reset_nr4init.
READ = {
    0x7FD: {12: 0x10, 16: 0xFF, 20: 0xFF, 24: 0x32},
    0x7FE: {12: 0xFF, 16: 0xFF, 20: 0xFF, 24: 0xFF},
    0x7FF: {12: 0x32, 16: 0x54},
}


@walk(
    ("period", "time", "seen"),
    [(p, t, seen) for p, times in READ.items() for t, seen in times.items()],
)
def test_the_wave_is_seen_when_it_is_fetched(period, time, seen):
    sound = begin_wave(period)
    sound.wait(time - M_CYCLE)
    assert sound.bus._read(0xFF3F) == seen
    sound.bus.write(0xFF3F, 0xEE)
    sound.bus.write(0xFF1A, 0)
    changed = bytes(sound.bus._read(0xFF30 + i) for i in range(16))
    assert changed == (WAVE if seen == 0xFF else WAVE.replace(bytes((seen,)), b"\xee"))


@walk(
    ("at", "first"),
    [(0, 0x10), (3, 0x54), (6, 0x76), (7, None), (13, None), (31, 0x10)],
)
def test_a_trigger_that_meets_a_fetch_spoils_the_wave(at, first):
    """One of the first four bytes is copied to the first, another one's four to four."""
    sound = begin_wave(0x700)
    sound.bus.apu.wave_at, sound.bus.apu.wave_left = at, 4
    sound.bus.write(0xFF1E, 0x87)
    sound.bus.write(0xFF1A, 0)
    changed = bytes(sound.bus._read(0xFF30 + i) for i in range(16))
    four = (at + 1) // 2 & ~3
    wanted = bytes((first,)) + WAVE[1:] if first is not None else WAVE[four : four + 4] + WAVE[4:]
    assert changed == wanted


# -- both implementations --------------------------------------------------------------------------


def with_sound(machine, seed):
    """Return the machine with any sound that it may have."""
    row = pack(machine)
    random_sound(row[0], np.random.default_rng(seed))
    row["high"][0, IO.NR10 : IO.NR52] = np.random.default_rng(seed).integers(0, 256, 22)
    validate_rows(row, machine.cartridge)
    return unpack(row, machine.cartridge)


@needs_core
@pytest.mark.parity
@given(programs=RANDOMS, seed=st.integers(0, 2**32 - 1))
@settings(max_examples=3)
def test_programs_that_touch_the_sound(programs, seed):
    from fastenv.gameboy.console import Console

    rng = random.Random(seed)
    cartridge = touching_cartridge(programs, 80)
    machine = Machine(cartridge)
    if rng.random() < 0.5:
        machine = with_sound(machine, seed)
    console = Console(cartridge, pack(machine), skip_idle=rng.random() < 0.5)
    for _ in range(3):
        run_alike(machine, console)
        if rng.random() < 0.5:
            machine = reloaded(machine)
        if rng.random() < 0.3:  # several at once, in which the sound is left alone for long
            console.run_frames(3, draw=False)
            for _ in range(3):
                machine.run_frame(draw=False)
            assert_same(machine, console, drawn=False)
    validate_rows(console.row, cartridge)


@needs_core
@pytest.mark.parity
@walk("seed", every(10, range(20)))
def test_a_sound_that_is_left_alone(seed):
    """Closed forms of many frames at once, on a machine that does nothing but halt."""
    from fastenv.gameboy.console import Console

    cartridge = build(bytes.fromhex("f37618fd"))
    machine = with_sound(Machine(cartridge), seed)
    console = Console(cartridge, pack(machine))
    rng = random.Random(seed)
    for _ in range(3):
        frames = rng.randrange(1, 12)
        for _ in range(frames):
            machine.run_frame(draw=False)
        console.run_frames(frames, draw=False)
        assert_same(machine, console, drawn=False)
