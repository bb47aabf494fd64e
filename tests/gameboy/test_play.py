"""Playing a ROM: keys, half blocks, a terminal and a window."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fastenv import __main__
from fastenv.gameboy import make_game, play
from fastenv.gameboy.render import half_blocks
from fastenv.gameboy.savestate import load_state
from fastenv.gameboy.tables import HEIGHT, WIDTH, Key
from tests.needs import needs_core
from tests.tables import walk
from tools.gameboy.machines import build

ROOT = Path(__file__).resolve().parents[2]


class Fake:
    """A machine and its screen in one, that notes what happens."""

    def __init__(self, keys):
        self.script, self.pressed, self.shown, self.closed = list(keys), [], [], False
        self.picture = np.zeros(HEIGHT * WIDTH, np.uint8)

    def press(self, keys):
        self.pressed.append(keys)

    def run_frame(self, draw=True):
        self.picture = self.picture + 1

    def keys(self):
        return self.script.pop(0)

    def show(self, picture):
        self.shown.append(int(picture[0, 0]))

    def close(self):
        self.closed = True


@pytest.mark.parametrize("frame_time", [0, 1e-9])  # the second is over before it is shown
def test_each_frame_takes_keys_runs_and_shows(frame_time):
    fake = Fake([0, 5, 1, None])
    assert play.run(fake, fake, frame_time) == 3
    assert (fake.pressed, fake.shown, fake.closed) == ([0, 5, 1], [1, 2, 3], True)


def test_a_screen_is_closed_whatever_happens():
    fake = Fake([0])
    with pytest.raises(IndexError):
        play.run(fake, fake, frame_time=0)
    assert fake.closed


@walk(
    ("text", "keys", "leave"),
    [
        ("", [], False),
        ("\x1b[A\x1b[D", [Key.UP, Key.LEFT], False),
        ("\x1bOBXz", [Key.DOWN, Key.A, Key.B], False),
        ("\r\x7f", [Key.START, Key.SELECT], False),
        ("5\x1b[C\x1b", [Key.RIGHT], False),
        ("xqz", [Key.A], True),
        ("\x03", [], True),
    ],
)
def test_keys_of_a_terminal(text, keys, leave):
    assert play.pressed_keys(text) == (keys, leave)


def test_half_blocks_show_two_rows_a_line():
    picture = np.array([[0, 0, 3], [3, 3, 1], [2, 2, 2], [2, 2, 2]], np.uint8)
    first, second = half_blocks(picture)
    assert first == "\x1b[38;5;232;48;5;255m▄▄\x1b[38;5;232;48;5;248m▀\x1b[0m"
    assert second == "\x1b[38;5;240;48;5;240m▒▒▒\x1b[0m"


def test_what_cannot_be_played_is_refused(capsys):
    assert play.main(["--scale", "11"]) == 2
    assert "--scale 11: must be 1 to 10" in capsys.readouterr().err
    for main in (play.main, lambda rest: __main__.main(["play", "--rom", *rest])):
        assert main(["nowhere.gb"]) == 2
        assert "error: rom: nowhere.gb cannot be read: No such file" in capsys.readouterr().err


@pytest.fixture
def cartridge(tmp_path, monkeypatch):
    """Write a ROM with a battery, and let a screen be shown for three frames."""
    made = build(b"\x21\x00\xc0\x34\x18\xfd", kind=0x03, ram=2)  # counts at $C000
    (tmp_path / "game.gb").write_bytes(made.rom)
    monkeypatch.setattr(play, "Terminal", lambda: Fake([0, 0, 0, None]))
    monkeypatch.chdir(tmp_path)
    return made


@needs_core
@pytest.mark.parametrize("main", [play.main, lambda rest: __main__.main(["play", "--rom", *rest])])
def test_a_game_goes_on_where_it_was_left(cartridge, main):
    assert main(["game.gb", "--save", "a.state"]) == 0
    first = load_state("a.state", cartridge)
    assert main(["game.gb", "--states", "a.state", "--save", "b.state"]) == 0
    assert load_state("b.state", cartridge)["cyc"] > first["cyc"] > 0


@needs_core
def test_a_battery_is_read_and_written(cartridge, tmp_path):
    kept = bytes(range(256)) * 32
    (tmp_path / "a.sav").write_bytes(kept)
    assert play.main(["game.gb", "--states", "a.sav", "--save", "b.SAV"]) == 0
    assert (tmp_path / "b.SAV").read_bytes() == kept
    assert make_game(rom="game.gb", states="a.sav").common.starts.rows["cart"][0].tobytes() == kept
    for name in ("b.srm", "b.gb.ram"):
        assert play.main(["game.gb", "--states", "a.sav", "--save", name]) == 0
        assert (tmp_path / name).read_bytes() == kept
        rows = make_game(rom="game.gb", states=name).common.starts.rows
        assert rows["cart"][0].tobytes() == kept


@needs_core
def test_a_save_that_is_not_possible_is_refused_before_the_game(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert play.main(["--save", "a.sav"]) == 2
    assert "the cartridge keeps nothing" in capsys.readouterr().err
    assert play.main(["--states", "none.sav"]) == 2
    assert "the cartridge keeps nothing" in capsys.readouterr().err
    (tmp_path / "file").touch()
    for place, why in ((".", "it is a folder, must be a file"), ("file/a.state", "is no folder")):
        assert play.main(["--save", place]) == 2
        assert f"--save {place}: cannot be written: " in (said := capsys.readouterr().err)
        assert why in said


@needs_core
def test_without_a_terminal_it_says_so(capsys, monkeypatch):
    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        assert play.main([]) == 2
    assert "must be a terminal; or use --window" in capsys.readouterr().err


@needs_core
@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_a_terminal_shows_the_game_and_is_left_as_it_was():
    import pty
    import termios

    outer, inner = pty.openpty()
    termios.tcsetwinsize(inner, (40, 90))
    before = termios.tcgetattr(inner)
    sized = {"LINES": "40", "COLUMNS": "90"}  # what is imported here may have set others
    process = subprocess.Popen(
        [sys.executable, "-m", "fastenv.gameboy.play"],
        **{"stdin": inner, "stdout": inner, "cwd": ROOT, "env": os.environ | sized},
    )
    text = b""
    while text.count(play.HELP.encode()) < 3:
        text += os.read(outer, 65536)
    os.write(outer, b"q")
    while b"\x1b[?1049l" not in text:
        text += os.read(outer, 65536)
    assert process.wait(30) == 0
    assert termios.tcgetattr(inner) == before
    picture = text.split(b"\x1b[H")[-1].decode()
    lines = re.sub(r"\x1b\[[\d;]*[mK]", "", picture).split("\r\n")[:36]
    assert [len(line) for line in lines] == [80] * 36
    assert {*"".join(lines)} > {"█", "▄"}
    os.close(outer)
    os.close(inner)


def test_a_window_shows_the_picture_and_reads_keys(monkeypatch):
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    window = play.Window("title", 2)
    picture = np.zeros((HEIGHT, WIDTH), np.uint8)
    picture[3, 5] = 2
    window.show(picture)
    surface = pygame.display.get_surface()
    assert surface.get_size() == (2 * WIDTH, 2 * HEIGHT)
    assert [surface.get_at(at)[:3] for at in ((10, 6), (11, 7), (12, 6))] == [
        (85, 85, 85),
        (85, 85, 85),
        (255, 255, 255),
    ]

    def send(kind, key):
        pygame.event.post(pygame.event.Event(kind, key=key))
        return window.keys()

    assert window.keys() == 0
    assert send(pygame.KEYDOWN, pygame.K_UP) == 1 << Key.UP
    assert send(pygame.KEYDOWN, pygame.K_x) == 1 << Key.UP | 1 << Key.A
    assert send(pygame.KEYUP, pygame.K_UP) == 1 << Key.A
    assert send(pygame.KEYDOWN, pygame.K_F1) == 1 << Key.A
    assert send(pygame.KEYDOWN, pygame.K_q) is None
    window.close()
