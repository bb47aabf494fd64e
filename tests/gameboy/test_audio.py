"""Samples of the sound: rules by hand, reference against core, environments, rows."""

import re
import wave
from functools import cache

import numpy as np
import pytest

import fastenv
from fastenv.errors import ConfigError, StateError
from fastenv.gameboy import make_game
from fastenv.gameboy.position import pack, power_up_row, unpack
from fastenv.gameboy.reference import Machine
from fastenv.gameboy.savestate import load_state, save_state
from fastenv.gameboy.starts import load_bank, save_bank, single
from fastenv.gameboy.state import SOUND_DTYPE, fitted, machine_of, state_dtype
from fastenv.gameboy.tables import FRAME, IO, M_CYCLE, SAMPLE, SAMPLES
from fastenv.gameboy.validate_machine import validate_rows
from fastenv.gameboy.wav import save_wav
from tests.gameboy.lanes import BACKENDS, engine_of
from tests.gameboy.machines import assert_same
from tests.gameboy.test_validate import CARTRIDGE, random_row
from tests.needs import needs_core
from tests.slow import diagonal, every, late, together
from tests.tables import walk
from tools.gameboy.generators.sound import sounding
from tools.gameboy.machines import build

NR43, NR50, NR51, NR52 = 0xFF22, 0xFF24, 0xFF25, 0xFF26
DIV, WAVE = 0xFF04, 0xFF30
STEP = 8192  # T between steps of the sequencer
DUTIES = np.array([[*map(int, f"{row:08b}")] for row in (0x01, 0x81, 0x87, 0x7E)])


@cache
def silent_machine():
    """Return the row of a machine shortly before its second frame, and its cartridge."""
    machine = Machine(build(b"\x18\xfe"), fixed_frames=True, audio=True)
    while machine.bus.cyc < FRAME - 2_000:
        machine.bus.tick()
    return pack(machine), machine.cartridge


class Heard:
    """A reference machine whose sound was just turned on, with DIV cleared; both sides hear all."""

    def __init__(self):
        self.machine = unpack(*silent_machine(), fixed_frames=True, audio=True)
        self.bus, self.mixer = self.machine.bus, self.machine.bus.apu.mixer
        self.set(NR52, 0)
        self.began = self.set(DIV, 0)
        self.set(NR52, 0x80)
        self.set(NR50, 0x77)
        self.set(NR51, 0xFF)

    def set(self, address, value):
        """Write a register; return T since power-up at which that is done."""
        now = self.bus.cyc
        self.bus.write(address, value)
        return now

    def wait_until(self, time):
        while self.bus.cyc < time:
            self.bus.tick()

    def wait_for_step(self, number):
        """Wait until the sequencer has taken so many steps."""
        self.wait_until(self.began + STEP * number)

    def frame(self):
        """Return the samples of the next whole frame, (532, 2), and when it begins."""
        begins = -(-self.bus.cyc // FRAME) * FRAME
        self.wait_until(begins)
        self.mixer.begin_frame()
        self.wait_until(begins + FRAME)
        return np.array(self.mixer.samples).reshape(SAMPLES, 2), begins


def expected(begins, digital):
    """Return the samples of a frame by what a channel says at each of many times, 0 to 15."""
    times = begins + np.arange(0, FRAME, 2)  # the mix counts every second T
    return (8 * (15 - 2 * digital(times))).reshape(SAMPLES, -1).sum(1)


def assert_heard(heard, digital):
    samples, begins = heard.frame()
    wanted = expected(begins, digital)
    np.testing.assert_array_equal(samples[:, 0], wanted)
    np.testing.assert_array_equal(samples[:, 1], wanted)
    assert len(np.unique(wanted)) > 1


# -- rules (docs/gameboy.md, 10.2) -----------------------------------------------------------------


def square(began, period, duty, volume):
    """Return what a square says that was triggered for the first time then."""

    def digital(time):
        step = (time - began - period - 8) // period + 1
        return np.where(step > 0, volume(time) * DUTIES[duty][step % 8], 0)

    return digital


@walk(("first", "duty"), diagonal([0xFF10, 0xFF15], every(2, range(4))))
def test_a_square_takes_eight_steps_by_its_period(first, duty):
    heard = Heard()
    heard.set(first + 1, duty << 6)
    heard.set(first + 2, 0xB0)
    heard.set(first + 3, 0x67)
    began = heard.set(first + 4, 0x85)
    assert_heard(heard, square(began, 4 * (2048 - 0x567), duty, lambda time: 11))


def test_before_its_first_step_a_square_says_0():
    """Its duty is high at step 0; 11 samples of a period of 8,192 T are over when it comes."""
    heard = Heard()
    heard.set(0xFF11, 0x40)
    heard.set(0xFF12, 0xF0)
    heard.wait_until(FRAME)
    heard.mixer.begin_frame()
    heard.set(0xFF14, 0x80)
    heard.wait_until(FRAME + 8200)
    quiet = 8200 // SAMPLE
    assert heard.mixer.samples[2 : 2 * quiet] == [15 * 8 * 66] * (2 * quiet - 2)


def test_a_trigger_of_a_square_that_plays_is_4_t_earlier():
    heard = Heard()
    heard.set(0xFF12, 0xF0)
    heard.set(0xFF14, 0x84)
    assert heard.mixer.duty_left[0] == 4 * 1024 + 8 - M_CYCLE
    heard.set(0xFF14, 0x84)
    assert heard.mixer.duty_left[0] == 4 * 1024 + 4 - M_CYCLE
    assert heard.mixer.duty_at[0] == 0


def test_a_period_counts_from_the_next_step_on():
    heard = Heard()
    heard.set(0xFF12, 0xF0)
    heard.set(0xFF14, 0x84)
    left = heard.mixer.duty_left[0]
    heard.set(0xFF14, 0x07)
    assert heard.mixer.duty_left[0] == left - M_CYCLE
    heard.wait_until(heard.bus.cyc + left - M_CYCLE)
    assert (heard.mixer.duty_left[0], heard.mixer.duty_at[0]) == (4 * 256, 1)


@pytest.mark.parametrize(("register", "sign"), together([(0xF1, -1), (0x09, 1), (0x52, -1)], 3))
def test_an_envelope_changes_with_step_7(register, sign):
    heard = Heard()
    heard.set(0xFF16, 0x80)
    heard.set(0xFF17, register)
    heard.set(0xFF18, 0x80)
    began = heard.set(0xFF19, 0x87)

    def volume(time):
        ticks = (time - heard.began) // (8 * STEP) // (register & 7)
        return np.clip((register >> 4) + sign * ticks, 0, 15)

    for _ in range(3):
        assert_heard(heard, square(began, 4 * 128, 2, volume))


def test_a_trigger_before_step_7_lets_the_envelope_wait_longer():
    heard = Heard()
    for steps, wanted in ((6, 3), (7, 4), (8, 3)):
        heard.wait_for_step(steps)
        heard.set(0xFF21, 0xA3)
        heard.set(0xFF23, 0x80)
        assert heard.mixer.envelopes == [0, 0, wanted]
    # In a machine cycle at whose end a step is taken, it is as good as over: step 6, then step 7,
    # which counts at once.
    for steps, wanted in ((15, 4), (16, 2)):
        heard.wait_until(heard.began + STEP * steps - 2 * M_CYCLE)
        heard.set(0xFF21, 0xA3)
        heard.set(0xFF23, 0x80)
        assert heard.mixer.envelopes == [0, 0, wanted]


def test_a_sweep_changes_what_is_heard():
    """The period is halved by steps 2 and 6, a machine cycle later."""
    heard = Heard()
    heard.set(0xFF10, 0x19)
    heard.set(0xFF11, 0x80)
    heard.set(0xFF12, 0xF0)
    heard.set(0xFF13, 0x00)
    began = heard.set(0xFF14, 0x84)
    times, now = [], began + 4 * 1024 + 8
    while now < 2 * FRAME:
        times.append(now)
        ticks = max(0, (now - M_CYCLE - 1 - heard.began - 3 * STEP) // (4 * STEP) + 1)
        now += 4 * (2048 - (0x400 >> ticks))

    def digital(time):
        step = np.searchsorted(times, time, side="right")
        return np.where(step > 0, 15 * DUTIES[2][step % 8], 0)

    assert_heard(heard, digital)


@pytest.mark.parametrize(("code", "shift"), together([(0, 4), (1, 0), (2, 1), (3, 2)], 2))
def test_the_wave_is_heard_from_its_second_sample_on(code, shift):
    heard = Heard()
    wave = (7 * np.arange(32) + 3) % 16
    for k in range(16):
        heard.set(WAVE + k, int(wave[2 * k] << 4 | wave[2 * k + 1]))
    heard.set(0xFF1A, 0x80)
    heard.set(0xFF1C, code << 5)
    heard.set(0xFF1D, 0x0B)
    began = heard.set(0xFF1E, 0x87)
    period = 2 * (2048 - 0x70B)

    def digital(time):
        fetched = (time - began - period - 8) // period + 1
        return np.where(fetched > 0, wave[fetched % 32] >> shift, 0)

    if code:
        assert_heard(heard, digital)
    else:
        assert set(heard.frame()[0].reshape(-1).tolist()) == {15 * 8 * 66}


def test_the_wave_says_its_last_byte_again_when_it_is_triggered():
    heard = Heard()
    for k in range(16):
        heard.set(WAVE + k, 0x5A)
    heard.set(0xFF1A, 0x80)
    heard.set(0xFF1C, 0x20)
    heard.set(0xFF1E, 0x84)
    heard.wait_until(heard.bus.cyc + 5000)
    heard.set(0xFF1A, 0)
    heard.set(0xFF1A, 0x80)
    heard.set(0xFF1E, 0x80)
    assert heard.mixer.wave_byte == 0x5A
    assert heard.mixer._mix(0, heard.mixer._wave(0)) == 8 * (15 - 2 * 5)


@pytest.mark.parametrize("clock", every(2, [0x14, 0x1C, 0x00, 0x33, 0x08]))
def test_the_noise_is_a_shift_register(clock):
    """Of all ones, and the exclusive or of its last two bits, as older documents have it."""
    heard = Heard()
    heard.set(0xFF21, 0x90)
    written = heard.set(NR43, clock)
    heard.set(0xFF23, 0x80)
    period = (16 * (clock & 7) or 8) << (clock >> 4)
    register, says = 0x7FFF, [0]
    for _ in range(2 * FRAME // period):
        bit = (register ^ register >> 1) & 1
        register = register >> 1 | bit << 14
        if clock & 8:
            register = register & ~0x40 | bit << 6
        says.append(9 * (~register & 1))
    after = -(-M_CYCLE // period) * period  # the timer goes on from where NR43 was written
    first = written + after + 8
    if first > written + period + 8:
        first -= period
    heard_at = np.array(says)
    assert_heard(heard, lambda time: heard_at[np.maximum(0, (time - first) // period + 1)])


def test_the_noise_stands_still_with_a_shift_of_14():
    heard = Heard()
    heard.set(0xFF21, 0xF0)
    heard.set(NR43, 0x00)
    heard.set(0xFF23, 0x80)
    heard.wait_until(heard.bus.cyc + 1000)
    heard.set(NR43, 0xE0)
    lfsr = heard.mixer.lfsr
    samples, _ = heard.frame()
    assert heard.mixer.lfsr == lfsr > 0
    assert len(np.unique(samples)) == 1


def test_a_write_to_its_clock_shifts_the_noise_at_once():
    heard = Heard()
    heard.set(0xFF21, 0xF0)
    heard.set(NR43, 0xD7)  # every 917,504 T
    heard.set(0xFF23, 0x80)
    heard.set(NR43, 0x23)
    assert (heard.mixer.lfsr, heard.mixer.noise_left) == (0x4000, (48 << 2) - M_CYCLE)


@pytest.mark.parametrize(
    ("panning", "volume", "left", "right"),
    together(
        [(0xFF, 0x77, 32, 32), (0x10, 0x77, 8, 0), (0x0A, 0x20, 0, 2), (0x73, 0x46, 15, 14)], 2
    ),
)
def test_each_side_hears_what_panning_and_volume_say(panning, volume, left, right):
    """Converters that are on say 0, which is the highest level, whether a channel plays or not."""
    heard = Heard()
    heard.set(NR51, panning)
    heard.set(NR50, volume)
    for register, value in ((0xFF12, 0x08), (0xFF17, 0x10), (0xFF1A, 0x80), (0xFF21, 0xF0)):
        heard.set(register, value)
    samples, _ = heard.frame()
    assert samples.tolist() == [[15 * 66 * left, 15 * 66 * right]] * SAMPLES
    for register in (0xFF12, 0xFF17, 0xFF1A, 0xFF21):
        heard.set(register, 0)
    assert not heard.frame()[0].any()


def test_power_off_is_silence():
    heard = Heard()
    for first in (0xFF10, 0xFF15):
        heard.set(first + 2, 0xF0)
        heard.set(first + 4, 0x87)
    assert heard.frame()[0].any()
    heard.set(NR52, 0)
    assert not heard.frame()[0].any()
    row = pack(heard.machine)
    assert not row["sound"].view(SOUND_DTYPE)["duty_left"].any()
    validate_rows(row, heard.machine.cartridge)


@walk(
    ("volume", "before", "after", "then"),
    [
        (5, 0x08, 0x08, 6),
        (15, 0x08, 0x08, 0),
        (5, 0x00, 0x03, 4),
        (5, 0x08, 0x0B, 6),
        (5, 0x03, 0x01, 5),
        (5, 0x00, 0x08, 10),
        (5, 0x03, 0x0B, 9),
        (5, 0x0B, 0x03, 11),
        (5, 0x08, 0x03, 10),
    ],
)
def test_writing_a_volume_changes_that_of_a_channel_that_plays(volume, before, after, then):
    heard = Heard()
    heard.set(0xFF12, volume << 4 | before)
    heard.set(0xFF14, 0x87)
    heard.set(0xFF12, 0xF0 | after)
    assert heard.mixer.volumes == [then, 0, 0]


def test_a_channel_whose_time_is_over_says_0():
    heard = Heard()
    heard.set(0xFF16, 0x80 | 62)  # two steps that count, 0 and 2
    heard.set(0xFF17, 0xF0)
    heard.set(0xFF18, 0x00)
    began = heard.set(0xFF19, 0xC7)
    ends = heard.began + 3 * STEP
    sounds = square(began, 4 * 256, 2, lambda time: 15 * (time < ends))
    samples, begins = heard.frame()
    np.testing.assert_array_equal(samples[:, 0], expected(begins, sounds))
    assert heard.mixer.volumes == [0, 0, 0]


# -- reference against core ------------------------------------------------------------------------


def samples_of(machine):
    return np.array(machine.samples).reshape(SAMPLES, 2)


# A melody: both squares with envelope and sweep, a wave, a noise, and a wait of 40,000 T.
MELODY = [
    bytes.fromhex("3e 77 e0 24 3e de e0 25"),
    bytes.fromhex("3e 16 e0 10 3e 80 e0 11 3e f2 e0 12 3e 83 e0 13 3e 86 e0 14"),
    bytes.fromhex("3e 40 e0 16 3e a3 e0 17 3e 21 e0 18 3e 87 e0 19"),
    bytes.fromhex("3e 80 e0 1a 3e 20 e0 1c 3e 83 e0 1d 3e 87 e0 1e 3e 5c e0 30 3e 93 e0 35"),
    bytes.fromhex("3e f1 e0 21 3e 34 e0 22 3e 80 e0 23"),
    bytes.fromhex("06 ff 05 20 fd") * 10,
]


@needs_core
@pytest.mark.parametrize("instructions", every(2, [1000, 3171]))
def test_a_machine_goes_on_from_within_a_frame(instructions):
    """Samples that were over before it are 0; the one that had begun is whole."""
    from fastenv.gameboy.console import Console

    cartridge = sounding(MELODY)
    machine = Machine(cartridge, fixed_frames=True, audio=True)
    for _ in range(instructions):
        machine.cpu.step()
    row = pack(machine)
    past = int(row["cyc"][0]) % FRAME // SAMPLE
    assert past > 10
    assert row["sound"].view(SOUND_DTYPE)["sums"].any()
    again = unpack(row, cartridge, fixed_frames=True, audio=True)
    console = Console(cartridge, row, fixed_frames=True, audio=True)
    while machine.bus.cyc < FRAME:
        machine.cpu.step()
    again.run_frame()
    console.run_frame()
    wanted = samples_of(machine)
    assert not samples_of(again)[:past].any()
    np.testing.assert_array_equal(samples_of(again)[past:], wanted[past:])
    np.testing.assert_array_equal(console.samples[0], samples_of(again))
    assert pack(again).tobytes() == pack(machine).tobytes() == console.row.tobytes()


@needs_core
def test_frames_at_once_are_those_one_by_one():
    from fastenv.gameboy.console import Console

    cartridge = sounding(MELODY)
    first, second = (
        Console(cartridge, power_up_row(cartridge, audio=True), fixed_frames=True, audio=True)
        for _ in range(2)
    )
    first.run_frames(5, draw=False)
    assert first.samples.shape == (5, SAMPLES, 2)
    for frame in first.samples:
        second.run_frame()
        np.testing.assert_array_equal(second.samples[0], frame)
    assert np.unique(first.samples).size > 100
    assert first.row.tobytes() == second.row.tobytes()


@needs_core
def test_a_console_without_samples_runs_as_before():
    from fastenv.gameboy.console import Console

    cartridge = sounding(MELODY)
    row = power_up_row(cartridge)
    plain = Console(cartridge, row, fixed_frames=True)
    heard = Console(cartridge, row, fixed_frames=True, audio=True)
    for _ in range(5):
        plain.run_frame()
        heard.run_frame()
        assert fitted(heard.row, by_pixel=False).tobytes() == plain.row.tobytes()
    assert plain.samples.size == 0


# -- environments ----------------------------------------------------------------------------------


@pytest.fixture
def options(tmp_path):
    path = tmp_path / "melody.gb"
    path.write_bytes(sounding(MELODY).rom)
    return {"rom": path, "frames_per_step": 2, "release_after_frames": 1, "stack_k": 1}


@pytest.mark.parametrize(  # Numba's is the machine of the reference, which takes seconds
    "backends", [[each for each in BACKENDS if each != "numba"], *late(BACKENDS)], ids=len
)
def test_environments(options, backends):
    reference, *others = (engine_of(2, each, audio=True, **options) for each in backends)
    assert reference.info["audio"].shape == (2, 2, SAMPLES, 2)
    assert reference.info["audio"].dtype == np.int16
    assert not reference.info["audio"].any()
    for step in range(2):
        reference.step_many(np.full(2, step))
        assert np.unique(reference.info["audio"]).size > 50
        for heard in others:
            heard.step_many(np.full(2, step))
            assert heard.get_states().tobytes() == reference.get_states().tobytes()
            np.testing.assert_array_equal(heard.info["audio"], reference.info["audio"])
    for heard in (reference, *others):
        heard.set_states(heard.get_states())
        heard.reset_many(np.array([True, False]))
        assert not heard.info["audio"][0].any()
        assert heard.info["audio"][1].any()


@pytest.mark.parametrize("backend", [*late(*BACKENDS[:2]), *BACKENDS[2:]])
def test_nothing_else_changes(backend, options):
    heard = engine_of(1, backend, audio=True, **options)
    plain = engine_of(1, backend, frame_policy="fixed", **options)
    assert [*heard.info] == [*plain.info, "audio"]
    for action in (1, 2):
        for each in (heard, plain):
            each.step_many(np.array([action]))
        rows, wanted = heard.get_states(), plain.get_states()
        assert rows.dtype.names == (*wanted.dtype.names, "sound", "samples")
        for name in wanted.dtype.names:
            np.testing.assert_array_equal(rows[name], wanted[name])
        np.testing.assert_array_equal(heard.obs, plain.obs)


def test_rows_without_samples_are_as_long_as_ever():
    assert state_dtype(0).itemsize == 17_152
    assert state_dtype(0, audio=True).itemsize == 17_152 + SOUND_DTYPE.itemsize
    game = make_game()
    assert not {"sound", "samples"} & {*game.spec.state_dtype.names}


@needs_core
@pytest.mark.parametrize("kind", ["goal", "overworld"])
def test_other_kinds_have_the_column_as_well(kind):
    steps = {"frames_per_step": 2, "release_after_frames": 2} if kind == "overworld" else {}
    engine = engine_of(1, kind=kind, audio=True, **steps)
    engine.step_many(np.zeros(1, np.int64))
    row = engine.get_states()[0]
    wanted = row["samples"].view("<i2").reshape(engine.info["audio"][0].shape)
    np.testing.assert_array_equal(engine.info["audio"][0], wanted)


@needs_core
def test_vector_environments_return_the_samples(options):
    vec = fastenv.make_vec("GameBoyPixels-v0", 3, audio=True, **options)
    vec.reset(seed=0)
    infos = vec.step(np.zeros(3, np.int64))[-1]
    assert infos["audio"].shape == (3, 2, SAMPLES, 2)
    assert infos["audio"].any()


def test_samples_become_a_file(tmp_path):
    samples = np.arange(12, dtype=np.int16).reshape(3, 2, 2) - 6
    save_wav(tmp_path / "heard.wav", samples)
    with wave.open(str(tmp_path / "heard.wav")) as file:
        assert file.getparams()[:4] == (2, 2, 31_775, 6)
        assert file.readframes(6) == samples.astype("<i2").tobytes()
    for wrong in (samples.astype(float), samples[..., :1]):
        with pytest.raises(ConfigError, match=r"samples=.*int16 of shape"):
            save_wav(tmp_path / "wrong.wav", wrong)
    assert not (tmp_path / "wrong.wav").exists()


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"audio": 1}, "audio=1 is not possible: audio must be True or False"),
        ({"frame_policy": "lcd"}, "frame_policy='lcd' is not possible: frame_policy must be"),
        ({"frames_per_step": 601}, "frames_per_step=601 is not possible: .* 1 to 600 with audio"),
    ],
)
def test_options_that_are_refused(given, message):
    with pytest.raises(ConfigError, match=message):
        make_game(**{"audio": True, **given})


def test_two_machines_on_a_cable_have_no_samples():
    with pytest.raises(ConfigError, match="audio"):
        fastenv.make("GameBoyLink-v0", audio=True)


def test_a_field_of_a_ram_map_is_not_called_audio(tmp_path, options):
    path = tmp_path / "map.json"
    path.write_text('{"fields": {"audio": {"address": "$C000", "type": "u1"}}}')
    make_game(ram_map=path, **options)
    with pytest.raises(ConfigError, match=re.escape("fields.audio has the name of the column")):
        make_game(ram_map=path, audio=True, **options)


def test_frames_of_other_lengths_are_refused_while_games_run(options):
    game = make_game(audio=True, **options)
    shared = game.shared.copy()
    shared["head"]["fixed_frames"] = 0
    with pytest.raises(ConfigError, match="frame_policy='lcd' is not possible"):
        game.with_shared(shared)


@needs_core
def test_consoles_need_frames_of_fixed_length():
    from fastenv.gameboy.console import Console

    cartridge = sounding([])
    with pytest.raises(ConfigError, match="fixed_frames=False is not possible"):
        Console(cartridge, power_up_row(cartridge), audio=True)
    with pytest.raises(ConfigError, match="bus_phase=-4 is not possible"):
        Console(cartridge, power_up_row(cartridge), bus_phase=-4, fixed_frames=True, audio=True)


# -- rows ------------------------------------------------------------------------------------------


@cache
def machine_with_sound():
    """Return the row of a machine in which all channels play, and its cartridge."""
    cartridge = sounding(MELODY)
    machine = Machine(cartridge, fixed_frames=True, audio=True)
    for _ in range(2000):
        machine.cpu.step()
    row = pack(machine)
    assert row["high"][0, IO.NR52] == 0x8F
    validate_rows(row, cartridge)
    return row, cartridge


def row_with_sound():
    """Return a row in which all channels play, which may be written to, and its cartridge."""
    row, cartridge = machine_with_sound()
    return row.copy(), cartridge


@walk(
    ("field", "value", "message"),
    [
        ("sums", 32_000, "within 240 for each T"),
        ("duty_left", 8204, "0 to 8200"),
        ("duty_left", 2, "multiples of 4"),
        ("duty_at", 8, "0 to 7"),
        ("duty_high", 2, "0 to 1"),
        ("volumes", 16, "0 to 15"),
        ("envelopes", 10, "0 to 9"),
        ("noise_left", 2**22, "must be at most what \\$FF22 says and 8"),
        ("noise_left", 6, "multiples of 4"),
        ("lfsr", 0x8000, "must have 15 bits"),
        ("unused_sound", 1, "must be 0"),
    ],
)
def test_sounds_that_no_machine_can_have(field, value, message):
    row, cartridge = row_with_sound()
    row["sound"].view(SOUND_DTYPE)[field] = value
    with pytest.raises(StateError, match=f"sound.*is not possible.*{message}"):
        validate_rows(row, cartridge)


def test_nothing_is_heard_of_channels_that_do_not_play():
    row, cartridge = row_with_sound()
    row["high"][0, IO.NR52] = 0x84
    with pytest.raises(StateError, match=r"sound\.volumes is not possible"):
        validate_rows(row, cartridge)
    sound = row["sound"].view(SOUND_DTYPE)
    sound["volumes"] = sound["envelopes"] = 0
    with pytest.raises(StateError, match=r"sound\.lfsr is not possible"):
        validate_rows(row, cartridge)
    sound["lfsr"] = 0
    validate_rows(row, cartridge)


def random_heard(row, rng):
    """Return a row with samples whose sound is any that passes."""
    row = fitted(row, by_pixel=False, audio=True)
    sound, high = row["sound"].view(SOUND_DTYPE), row["high"][0]
    on, plays = high[IO.NR52] >> 7, high[IO.NR52] >> np.array([0, 1, 3]) & 1
    sound["sums"] = rng.integers(-240, 241, 2) * (row["cyc"] % SAMPLE)
    sound["duty_left"] = 4 * rng.integers(0, 2051, 2) * on
    for field, most in (("duty_at", 8), ("duty_high", 2)):
        sound[field] = rng.integers(0, most, 2) * (sound["duty_left"] > 0)
    for field, most in (("volumes", 16), ("envelopes", 10)):
        sound[field] = rng.integers(0, most, 3) * plays
    period = (16 * int(high[IO.NR43] & 7) or 8) << int(high[IO.NR43] >> 4)
    sound["noise_left"] = 4 * rng.integers(0, period // 4 + 3) * on
    sound["lfsr"], sound["wave_byte"] = rng.integers(2**15) * plays[2], rng.integers(256) * on
    return row


@needs_core
@pytest.mark.parametrize("seed", range(2))
def test_random_sounds_as_rows(seed):
    from fastenv.gameboy.console import Console

    rng = np.random.default_rng(seed)
    for number in range(20):
        row = random_heard(random_row(rng), rng)
        console = Console(CARTRIDGE, row, fixed_frames=True, audio=True)
        if number < 2:
            machine = unpack(console.row, CARTRIDGE, fixed_frames=True, audio=True)
            machine.run_frame(draw=False)
            console.run_frame(draw=False)
            np.testing.assert_array_equal(samples_of(machine), console.samples[0])
            assert_same(machine, console, drawn=False)
        console.run_frames(5)
        validate_rows(console.row, CARTRIDGE)


def test_save_states_and_banks_of_both_kinds(tmp_path, options):
    row, cartridge = row_with_sound()
    assert pack(unpack(row, cartridge, audio=True)).tobytes() == row.tobytes()
    for name, saved in (("heard", row), ("plain", fitted(row, by_pixel=False))):
        save_state(tmp_path / name, saved, cartridge)
        assert load_state(tmp_path / name, cartridge).tobytes() == saved.tobytes()
        save_bank(tmp_path / f"{name}.npz", single(saved, cartridge), cartridge)
        assert load_bank(tmp_path / f"{name}.npz", cartridge).rows.tobytes() == saved.tobytes()
        for audio in (False, True):
            engine = engine_of(1, states=tmp_path / name, audio=audio, **options)
            lane = engine.get_states()[0]
            got = machine_of(lane, cartridge.ram_size)
            assert fitted(got, by_pixel=False).tobytes() == fitted(row, by_pixel=False).tobytes()
            if audio:
                assert got["sound"].any() == (name == "heard")
                engine.set_states(engine.get_states())


@needs_core
def test_a_state_without_sound_is_silent_until_something_is_triggered():
    """The wave is heard at once: what it says is in its registers."""
    from fastenv.gameboy.console import Console

    row, cartridge = row_with_sound()
    row["high"][0, IO.NR52] &= 0xFB
    row["wave_left"] = row["wave_at"] = 0
    plain = fitted(row, by_pixel=False)
    plain["locked"] = 1
    console = Console(cartridge, plain, fixed_frames=True, audio=True)
    console.run_frames(3)
    assert len(np.unique(console.samples[1:, :, 0])) == 1
