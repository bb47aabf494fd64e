"""PyBoy, the emulator that ours is compared with; tests that need it are skipped without it."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fastenv.gameboy.lantern_walk import BUTTONS

RELEASE_AFTER, FRAMES = 8, 24  # of a step, as in the environments
# Its default colours, and the shades that they show.
SHADES = {0xFF: 0, 0x99: 1, 0x55: 2, 0x00: 3}


def start(rom: Path) -> Any:
    """Return PyBoy with a ROM, without window and sound."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the SDL that it finds, and that nobody uses here
        pyboy = pytest.importorskip("pyboy")
    machine = pyboy.PyBoy(str(rom), window="null", sound_emulated=False, log_level="ERROR")
    machine.set_emulation_speed(0)
    return machine


def step(machine: Any, button: str | None, draw: bool = False) -> None:
    """Press a button for a step of 24 frames, of which it is held for 8."""
    if button is not None:
        assert button in BUTTONS
        machine.button_press(button.lower())
    machine.tick(RELEASE_AFTER, False)
    if button is not None:
        machine.button_release(button.lower())
    machine.tick(FRAMES - RELEASE_AFTER, draw)


def shades(machine: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the last picture: (144, 160), shades 0 to 3."""
    table = np.zeros(256, np.uint8)
    for colour, shade in SHADES.items():
        table[colour] = shade
    picture: np.ndarray[Any, np.dtype[np.uint8]] = table[machine.screen.ndarray[:, :, 0]]
    return picture
