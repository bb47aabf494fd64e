"""One Game Boy as an object, on the compiled core: for tools and tests (``docs/gameboy.md``)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.errors import StateError
from fastenv.gameboy import _core
from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.config import BY_LINE, BY_PIXEL
from fastenv.gameboy.state import fitted, shared_record
from fastenv.gameboy.tables import FRAME, HEIGHT, SAMPLES, WIDTH
from fastenv.gameboy.validate_machine import validate_rows
from fastenv.options import check_choice, refusal


class Console:
    """A Game Boy on the compiled core.

    Parameters
    ----------
    cartridge : Cartridge
    row : ndarray of ``state_dtype``, shape (1,)
        Where it begins, such as ``position.power_up_row``; copied.
    skip_idle : bool
        Whether iterations of idle loops are left out, which changes no output.
    bus_phase : int
        0, or -4 to access registers of timer and display a machine cycle early, like PyBoy.
    strict_video_access : bool
        Whether the display closes video memory to the processor (docs/gameboy.md, 5.5).
    fixed_frames : bool
        Whether frames end every 70,224 T, whatever the display does (docs/gameboy.md, 13).
    accuracy : {"line", "pixel"}
        Whether a line is drawn from the registers at its end, or writes in mode 3 change it from
        their pixel on (docs/gameboy.md, 8.4). ``row`` may be of either.
    audio : bool
        Whether there are samples of the sound (docs/gameboy.md, 10.2); with frames of fixed length
        alone. ``row`` may be of either.

    Raises
    ------
    ConfigError
        For another accuracy, ``"pixel"`` or ``audio`` with a ``bus_phase``, or ``audio`` without
        ``fixed_frames``.
    StateError
        If no machine can be in that row.

    Attributes
    ----------
    row : ndarray, shape (1,)
        The machine between two frames.
    picture : ndarray of uint8, shape (144, 160)
        Shades of the last frame that was drawn, from 0 (white) to 3.
    samples : ndarray of int16, shape (frames, 532, 2)
        With ``audio`` left and right of each sample of the frames that were run last.
    """

    def __init__(
        self,
        cartridge: Cartridge,
        row: np.ndarray[Any, Any],
        skip_idle: bool = True,
        bus_phase: int = 0,
        strict_video_access: bool = True,
        fixed_frames: bool = False,
        accuracy: str = BY_LINE,
        audio: bool = False,
    ) -> None:
        check_choice("accuracy", accuracy, (BY_LINE, BY_PIXEL))
        if bus_phase and accuracy == BY_PIXEL:
            raise refusal("bus_phase", bus_phase, "0 with accuracy='pixel'")
        if bus_phase and audio:
            raise refusal("bus_phase", bus_phase, "0 with audio=True")
        if audio and not fixed_frames:
            raise refusal("fixed_frames", fixed_frames, "True with audio=True")
        validate_rows(row, cartridge)
        self.cartridge: Cartridge = cartridge
        self.row: np.ndarray[Any, Any] = fitted(row, accuracy == BY_PIXEL, audio).copy()
        self.skip_idle: bool = skip_idle
        self.bus_phase: int = bus_phase
        self.picture: npt.NDArray[np.uint8] = np.zeros((HEIGHT, WIDTH), np.uint8)
        self.audio: bool = audio
        self.samples: npt.NDArray[np.int16] = np.zeros((0, SAMPLES, 2), np.int16)
        shared = shared_record(
            cartridge,
            strict_video_access=strict_video_access,
            fixed_frames=fixed_frames,
            by_pixel=accuracy == BY_PIXEL,
            audio=audio,
        )
        self._shared = shared.view(np.uint8)
        self._bytes = self.row.view(np.uint8)

    def run_frame(self, draw: bool = True) -> None:
        """Run to the end of the frame; see :meth:`fastenv.gameboy.reference.Machine.run_frame`."""
        self.run_frames(1, draw)

    def run_frames(self, frames: int, draw: bool = True) -> None:
        """Run frames, of which only the last is drawn."""
        target = self.picture.reshape(-1) if draw else None
        options = self.skip_idle, self.bus_phase
        heard = None
        if self.audio:
            self.samples = np.zeros((frames, SAMPLES, 2), np.int16)
            heard = self.samples.reshape(-1)
        _core.advance(self._bytes, self._shared, frames, target, *options, heard)

    def press(self, keys: int) -> None:
        """Set which keys are pressed: bits of :class:`fastenv.gameboy.tables.Key`."""
        _core.press_keys(self._bytes, keys)


class LinkedConsoles:
    """Two consoles on a cable (docs/gameboy.md, 22).

    Parameters
    ----------
    consoles : (Console, Console)
        Both with frames of fixed length, and their clocks in the same frame.

    Raises
    ------
    StateError
        If they are not.
    """

    def __init__(self, consoles: tuple[Console, Console]) -> None:
        check_clocks(*(console.row for console in consoles))
        self.consoles = consoles

    def run_frame(self, draw: bool = True) -> None:
        """Run both to the end of the frame; see :class:`fastenv.gameboy.reference.Link`."""
        self.run_frames(1, draw)

    def run_frames(self, frames: int, draw: bool = True) -> None:
        """Run frames, of which only the last is drawn."""
        one, two = self.consoles
        pictures = [console.picture.reshape(-1) if draw else None for console in self.consoles]
        _core.advance_linked(
            one._bytes,
            one._shared,
            two._bytes,
            two._shared,
            frames,
            pictures[0],
            pictures[1],
            one.skip_idle,
        )


def check_clocks(one: np.ndarray[Any, Any], two: np.ndarray[Any, Any]) -> None:
    """Refuse two machines whose clocks are not in the same frame.

    Raises
    ------
    StateError
        Naming the times of both.
    """
    times = [int(row["cyc"][0]) for row in (one, two)]
    if times[0] // FRAME != times[1] // FRAME:
        raise StateError(
            f"cyc is {times[0]} and {times[1]}: two machines on a cable must be in the same frame "
            f"of {FRAME} T"
        )
