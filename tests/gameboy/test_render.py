"""Pictures of rows are the display, whole; text of them fits and is played by keys."""

import re
import shutil
import sys
from importlib import resources

import numpy as np
import pytest

import fastenv
from fastenv.gameboy import make_game
from fastenv.gameboy.render import text_of
from fastenv.gameboy.steering import ButtonSteering
from fastenv.play import play_episode, steer, written_over
from tests.needs import FASTEST, needs_core
from tests.slow import every
from tests.tables import walk

ROMS = resources.files("fastenv.gameboy") / "roms"
NAMES = ("busy", "heavy", "poll", "halt", "split", "delay")
PROGRAMS = {name: {"rom": str(ROMS / f"{name}.gb")} for name in NAMES}
PROGRAMS["walk"] = {"states": "lantern_walk", "start_state": None}
GRAYS = np.array([255, 170, 85, 0], np.uint8)


def play(pixels, **options):
    """Return an environment of single frames in which a key is held as long as it is given."""
    options = {"frames_per_step": 1, "release_after_frames": 1, "stack_k": 1, **options}
    return fastenv.make(
        "GameBoyPixels-v0", backend=FASTEST, render_mode="rgb_array", pixels=pixels, **options
    )


def lcd(env):
    """Return the display of an environment whose frames are whole, as colours."""
    packed = env.get_state()["stack"][-1]
    shades = packed[:, None] >> np.array([0, 2, 4, 6], np.uint8) & 3
    return GRAYS[shades].reshape(144, 160, 1).repeat(3, axis=2)


@needs_core
@walk(("policy", "pixels"), [("lcd", "72x80"), ("fixed", "84x84")])
@walk("program", every(2, PROGRAMS))
def test_a_picture_is_the_display_of_the_next_frame(program, pixels, policy):
    options = {**PROGRAMS[program], "frame_policy": policy}
    part, whole = play(pixels, **options), play("160x144", **options)
    part.reset(seed=3), whole.reset(seed=3)
    rng, moved, dark = np.random.default_rng(3), 0, 0
    for _ in range(20):
        action = int(rng.integers(8))
        part.step(action), whole.step(action)
        picture, seen = part.render(), lcd(whole)
        part.step(action), whole.step(action)
        assert picture.dtype == np.uint8
        assert np.array_equal(picture, lcd(whole))
        moved += not np.array_equal(picture, seen)
        dark += picture.min() == 0
    assert dark
    assert moved or program in ("busy", "heavy")


def test_a_reset_shows_the_display_and_drawing_moves_nothing():
    part, whole = (play(pixels, states="lantern_walk") for pixels in ("72x80", "160x144"))
    part.reset(seed=0), whole.reset(seed=0)
    before = part.get_state()
    assert np.array_equal(whole.render(), lcd(whole))
    assert np.array_equal(part.render(), lcd(whole))
    assert part.get_state().tobytes() == before.tobytes()


@needs_core
def test_without_the_core_pictures_are_the_same(monkeypatch):
    env = fastenv.make("LanternWalk-v0", render_mode="rgb_array")
    env.reset(seed=1)
    for action in (6, 6, 4):
        env.step(action)
    shown = env.render()
    monkeypatch.setitem(sys.modules, "fastenv.gameboy.console", None)
    assert np.array_equal(env.render(), shown)


@pytest.mark.parametrize("has_core", [True, False])
def test_a_row_of_no_machine_is_refused(has_core, monkeypatch):
    if not has_core:
        monkeypatch.setitem(sys.modules, "fastenv.gameboy.console", None)
    env = fastenv.make("LanternWalk-v0", backend=FASTEST, render_mode="rgb_array")
    env.reset(seed=1)
    row = env.get_state()
    row["rom_bank"] = 9999
    with pytest.raises(fastenv.StateError, match="rom_bank"):
        env.game.render(row, "rgb_array")


# -- text ------------------------------------------------------------------------------------------


def plain(text):
    return re.sub("\x1b\\[[0-9;]*m", "", text)


@pytest.mark.parametrize("pixels", ["72x80", "84x84", "160x144", "packed72x20"])
def test_text_has_eighty_columns_and_thirty_six_lines(pixels):
    env = fastenv.make("LanternWalk-v0", backend=FASTEST, render_mode="ansi", pixels=pixels)
    env.reset(seed=0)
    title, *lines = plain(env.render()).splitlines()
    assert (title, len(lines), {*map(len, lines)}) == ("step 0", 36, {80})


@walk(
    ("columns", "lines", "size"),
    [
        (160, 72, (160, 72)),
        (159, 72, (80, 36)),
        (160, 71, (80, 36)),
        (80, 36, (80, 36)),
        (79, 36, (54, 24)),
        (80, 20, (40, 18)),
        (30, 30, (27, 12)),
        (20, 9, (20, 9)),
        (5, -1, (20, 9)),
    ],
)
def test_text_is_as_large_as_fits(columns, lines, size):
    shades = np.arange(144 * 160, dtype=np.uint8).reshape(144, 160) & 3
    found = [plain(line) for line in text_of(shades, columns, lines)]
    assert ({*map(len, found)}, len(found)) == ({size[0]}, size[1])


# -- played by keys --------------------------------------------------------------------------------


class Scripted:
    """Keys in a row."""

    single = False

    def __init__(self, *keys):
        self.script = list(keys)

    def read(self, timeout=None):
        return self.script.pop(0) if self.script else "q"


def steering(**options):
    env = fastenv.make("LanternWalk-v0", backend=FASTEST, **options)
    env.reset(seed=0)
    return env.game.steering(env.get_state())


def test_keys_are_buttons():
    keys = ("up", "down", "left", "right", "x", "z", "enter", ".", "\x7f", "?")
    found = steering(action_codec="all9")
    assert [found.press(key) for key in keys] == [4, 5, 6, 7, 1, 2, 3, 0, 8, None]
    assert "Backspace: Select" in found.keys
    found = steering(allowed_buttons=["left", "b"])
    assert [found.press(key) for key in keys] == [
        *[None] * 2,
        6,
        *[None] * 2,
        2,
        None,
        0,
        None,
        None,
    ]
    assert found.keys == "arrows: move   z: B   .: wait   q: leave"


def test_a_step_lasts_as_long_as_on_the_console():
    found = steering(frames_per_step=24)
    assert found.frame_time == pytest.approx(24 / 59.7275, rel=1e-5)
    assert found.idle == 0
    assert steer(found, Scripted("")) == 0
    assert steer(found, Scripted("?", "left")) == 6
    assert steer(found, Scripted()) is None


def test_a_person_walks(capsys):
    env = fastenv.make("LanternWalk-v0", backend=FASTEST, render_mode="ansi", max_steps=3)
    env.reset(seed=1)
    args = type("Args", (), {"bot": None, "seed": 1})
    assert play_episode(env, args, Scripted("left", "", "down")) == 0
    assert env.get_state()["ep_length"] == 3
    shown = capsys.readouterr().out
    assert [f"\nstep {k}\n" in shown for k in range(5)] == [True] * 4 + [False]
    assert "Enter: Start" in shown


@pytest.mark.parametrize("size", [(80, 24), (80, 40), (140, 50), (170, 80)])
def test_what_is_played_fits_the_terminal_and_is_drawn_in_place(size, monkeypatch):
    monkeypatch.setattr(shutil, "get_terminal_size", lambda *_, **__: size)
    found = steering()
    keys = type("Terminal", (), {"single": True})
    shown = written_over(f"{found.text()}\n\n{found.keys}", keys) + "\n"  # as it is printed
    assert shown.startswith("\x1b[Hstep 0\x1b[K\n")
    lines = re.sub("\x1b\\[[0-9;]*[A-Za-z]", "", shown).split("\n")
    assert len(lines) <= size[1]
    assert max(map(len, lines)) <= size[0]


def test_every_id_of_the_game_boy_is_steered():
    ids = [name for name in fastenv.list_envs() if "GameBoy" in name or "Lantern" in name]
    ids.remove("fastenv/GameBoyLink-v0")  # two displays: test_linked.py
    assert len(ids) == 4
    for name in ids:
        env = fastenv.make(name, backend=FASTEST)
        env.reset(seed=0)
        assert isinstance(env.game.steering(env.get_state()), ButtonSteering)
    assert make_game().spec.render_modes == ("ansi", "rgb_array")
