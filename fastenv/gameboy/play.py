"""Play a ROM at the speed of the console, in a window or in the terminal.

``python -m fastenv.gameboy.play`` plays Lantern Walk, ``python -m fastenv.gameboy.play FILE`` a ROM
of yours. The picture stands in the terminal as half blocks, 160 columns and 72 lines where there is
room, else 80 and 36 or less; with ``--window`` it has a window of its own (``pip install
"fastenv-rl[video]"``).
"""

from __future__ import annotations

import argparse
import os
import select
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fastenv.errors import BackendUnavailableError, ConfigError, FastEnvError, FileError
from fastenv.files import prepare
from fastenv.gameboy.battery import check_battery, save_sav
from fastenv.gameboy.cartridge import Cartridge, load_cartridge
from fastenv.gameboy.render import text_of
from fastenv.gameboy.savestate import save_state
from fastenv.gameboy.shipped import shipped
from fastenv.gameboy.starts import BATTERY, POWER_UP, load_starts
from fastenv.gameboy.tables import CLOCK, FRAME, HEIGHT, WIDTH, Key
from fastenv.startup import take_interrupts

if TYPE_CHECKING:
    from fastenv.gameboy.console import Console

STATES = "where it begins: a save state, or a .sav file; default: power-up"
SAVE = "write a save state at the end, or what the battery keeps if the name ends in .sav"
Picture = np.ndarray[Any, np.dtype[np.uint8]]

FRAME_TIME = FRAME / CLOCK  # seconds
HELP = "arrows: walk   X: A   Z: B   Enter: Start   Backspace: Select   Q: leave"
QUIT = "q"
# What a terminal sends; the longest first, for Escape alone begins the others.
SEQUENCES = {
    **{"\x1b[A": Key.UP, "\x1b[B": Key.DOWN, "\x1b[C": Key.RIGHT, "\x1b[D": Key.LEFT},
    **{"\x1bOA": Key.UP, "\x1bOB": Key.DOWN, "\x1bOC": Key.RIGHT, "\x1bOD": Key.LEFT},
    **{"x": Key.A, "z": Key.B, "\r": Key.START, "\n": Key.START},
    **{"\x7f": Key.SELECT, "\b": Key.SELECT},
}
HOLD = 8  # frames for which a key of the terminal is held: it does not say when it is released
GRAYS = (255, 170, 85, 0)  # of the four shades


class Machine(Protocol):
    """What is played: :class:`fastenv.gameboy.console.Console`, or the reference."""

    @property
    def picture(self) -> Any:
        """Shades of the last frame drawn."""

    def press(self, keys: int) -> None:
        """Set which keys are pressed."""

    def run_frame(self, draw: bool = True) -> None:
        """Run to the end of the frame."""


class Screen(Protocol):
    """What shows the picture and reads the keys: a terminal or a window."""

    def keys(self) -> int | None:
        """Return the pressed keys, bits of :class:`Key`; ``None`` to leave."""

    def show(self, picture: Picture) -> None:
        """Show a picture: (144, 160), shades."""

    def close(self) -> None:
        """Leave everything as it was found."""


def run(machine: Machine, screen: Screen, frame_time: float = FRAME_TIME) -> int:
    """Play until the player leaves; return the number of frames.

    Parameters
    ----------
    machine
        What is played.
    screen
        Closed at the end.
    frame_time : float
        Seconds a frame lasts; 0 is as fast as it goes.
    """
    frames, due = 0, time.perf_counter()
    try:
        while (pressed := screen.keys()) is not None:
            machine.press(pressed)
            machine.run_frame()
            frames += 1
            screen.show(np.asarray(machine.picture, np.uint8).reshape(HEIGHT, WIDTH))
            due = max(due + frame_time, time.perf_counter())
            time.sleep(max(0.0, due - time.perf_counter()))
    finally:
        screen.close()
    return frames


# -- the terminal ----------------------------------------------------------------------------------


def pressed_keys(text: str) -> tuple[list[Key], bool]:
    """Return the keys that a terminal has sent, and whether one of them leaves."""
    found: list[Key] = []
    i = 0
    while i < len(text):
        if text[i].lower() == QUIT or text[i] == "\x03":
            return found, True
        for sequence, key in SEQUENCES.items():
            if text.lower().startswith(sequence.lower(), i):
                found.append(key)
                i += len(sequence)
                break
        else:
            i += 1
    return found, False


class Terminal:
    """The terminal that the program runs in."""

    def __init__(self) -> None:
        try:
            import termios
            import tty
        except ImportError:
            raise BackendUnavailableError("this terminal has no termios; use --window") from None
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise ConfigError("play: input and output must be a terminal; or use --window")
        self._file = sys.stdin.fileno()
        self._termios, self._before = termios, termios.tcgetattr(self._file)
        tty.setraw(self._file)
        self._left: dict[Key, int] = {}
        self._shown = ""
        columns, lines = shutil.get_terminal_size()
        self._room = columns, lines - 1
        sys.stdout.write("\x1b[?1049h\x1b[?25l\x1b[2J")

    def keys(self) -> int | None:
        """Return the keys pressed within the last frames, as bits; None to leave."""
        text = b""
        if select.select([self._file], [], [], 0)[0]:
            text = os.read(self._file, 1024)
        pressed, leave = pressed_keys(text.decode("utf-8", "replace"))
        self._left = {key: left - 1 for key, left in self._left.items() if left > 1}
        self._left |= dict.fromkeys(pressed, HOLD)
        return None if leave else sum(1 << key for key in self._left)

    def show(self, picture: Picture) -> None:
        """Write the picture, if it is not there already."""
        text = "\x1b[K\r\n".join([*text_of(picture, *self._room), HELP])
        if text != self._shown:
            sys.stdout.write(f"\x1b[H{text}\x1b[K")
            sys.stdout.flush()
            self._shown = text

    def close(self) -> None:
        """Put the terminal back."""
        self._termios.tcsetattr(self._file, self._termios.TCSADRAIN, self._before)
        sys.stdout.write("\x1b[?25h\x1b[?1049l")
        sys.stdout.flush()


# -- a window --------------------------------------------------------------------------------------


class Window:
    """A window of pygame.

    Parameters
    ----------
    title : str
        Its title; the keys stand behind it.
    scale : int
        Screen pixels a pixel, across and down.
    """

    def __init__(self, title: str, scale: int) -> None:
        try:
            import pygame
        except ImportError:
            raise BackendUnavailableError(
                'a window needs pygame: pip install "fastenv-rl[video]"'
            ) from None
        self._pygame: Any = pygame
        pygame.display.init()
        self._window: Any = pygame.display.set_mode((scale * WIDTH, scale * HEIGHT))
        pygame.display.set_caption(f"{title}   {HELP}")
        self._bindings = {
            **{pygame.K_UP: Key.UP, pygame.K_DOWN: Key.DOWN, pygame.K_LEFT: Key.LEFT},
            **{pygame.K_RIGHT: Key.RIGHT, pygame.K_x: Key.A, pygame.K_z: Key.B},
            **{pygame.K_RETURN: Key.START, pygame.K_BACKSPACE: Key.SELECT},
        }
        self._held = 0

    def keys(self) -> int | None:
        """Return the keys held down, as bits; None to leave."""
        pygame = self._pygame
        for event in pygame.event.get():
            if event.type == pygame.QUIT:
                return None
            if event.type not in (pygame.KEYDOWN, pygame.KEYUP):
                continue
            if event.key == pygame.K_q:
                return None
            key = self._bindings.get(event.key)
            if key is not None:
                self._held &= ~(1 << key)
                self._held |= (event.type == pygame.KEYDOWN) << key
        return self._held

    def show(self, picture: Picture) -> None:
        """Draw the picture."""
        pygame = self._pygame
        gray = np.array(GRAYS, np.uint8)[picture]
        surface = pygame.image.frombuffer(gray.repeat(3), (WIDTH, HEIGHT), "RGB")
        self._window.blit(pygame.transform.scale(surface, self._window.get_size()), (0, 0))
        pygame.display.flip()

    def close(self) -> None:
        """Close it."""
        self._pygame.display.quit()


# -- the command -----------------------------------------------------------------------------------


def start(rom: Path | None, states: str | Path = POWER_UP) -> Console:
    """Return a machine with a ROM, by default Lantern Walk, in a state.

    Parameters
    ----------
    rom : Path or None
    states : str or Path
        Of the ROM, as the option of environments; of several states the first.
    """
    ours = shipped("roms", "lantern_walk.gb")
    try:
        cartridge = load_cartridge(rom or Path(str(ours)))
    except FileError as error:
        raise ConfigError(f"rom: {error}") from None
    try:
        from fastenv.gameboy.console import Console
    except ImportError:
        raise BackendUnavailableError(
            "playing a ROM needs the compiled core, which is not built: install fastenv with a C "
            "compiler present: `pip install --no-build-isolation -e .`"
        ) from None
    return Console(cartridge, load_starts(states, cartridge).rows[:1])


def play_rom(
    rom: Path | None,
    *,
    window: bool,
    scale: int,
    states: str | Path = POWER_UP,
    save: Path | None = None,
) -> int:
    """Play a ROM until the player leaves; return 0.

    Parameters
    ----------
    rom : Path or None
        By default Lantern Walk.
    window : bool
        Whether in a window or in the terminal.
    scale : int
        Screen pixels a pixel of the window, 1 to 10.
    states : str or Path
        Where it begins: a save state, a ``.sav`` file, or what else environments take.
    save : Path, optional
        Where the machine is written at the end: as a save state, or what its battery keeps if the
        name ends in ``.sav``.

    Raises
    ------
    ConfigError
        If the scale is out of range, the file is no ROM, what is to be saved cannot be written, or
        there is no terminal.
    BackendUnavailableError
        If the window or the terminal cannot be opened.
    """
    if not 1 <= scale <= 10:
        raise ConfigError(f"--scale {scale}: must be 1 to 10")
    machine = start(rom, states)
    if save is not None:
        prepare("--save", save)
        check_battery_of(save, machine.cartridge)
    run(machine, Window(machine.cartridge.title, scale) if window else Terminal())
    if save is not None:
        write = save_sav if save.suffix.lower() in BATTERY else save_state
        write(save, machine.row, machine.cartridge)
    return 0


def check_battery_of(save: Path, cartridge: Cartridge) -> None:
    """Refuse a battery's file of a cartridge that keeps nothing, before an hour of play is lost."""
    if save.suffix.lower() in BATTERY:
        check_battery(save, cartridge)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m fastenv.gameboy.play",
        description=__doc__,
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("rom", type=Path, nargs="?", help="a ROM; default: Lantern Walk")
    parser.add_argument("--window", action="store_true", help="play in a window")
    parser.add_argument("--scale", type=int, default=4, help="of the window, 1 to 10; default 4")
    parser.add_argument("--states", default=POWER_UP, help=STATES)
    parser.add_argument("--save", type=Path, help=SAVE)
    options = parser.parse_args(argv)
    try:
        take_interrupts()
        given = {name: getattr(options, name) for name in ("window", "scale", "states", "save")}
        return play_rom(options.rom, **given)
    except FastEnvError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
