"""Buttons of the actions: one each, chords of a list, or eight bits (docs/gameboy.md, 16)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from fastenv.checks import as_array, lane_label
from fastenv.errors import ConfigError, InvalidActionError, show
from fastenv.gameboy.tables import Key

Array = npt.NDArray[Any]
Chord = tuple[str, ...]

BUTTONS = tuple(key.name.lower() for key in Key)  # by bit
MULTI_BINARY = "multi_binary"
NOTHING = "noop"
MAX_CHORDS = 1 << len(BUTTONS)
_OPPOSITES = (("left", "right"), ("up", "down"))  # the pad of the console tilts one way


def codec(names: Sequence[str]) -> tuple[Chord, ...]:
    """Return the chords of a codec: of each name its button, of ``noop`` none."""
    return tuple(() if name == NOTHING else (name,) for name in names)


def all_chords() -> tuple[Chord, ...]:
    """Return the chords of all bits: chord k has the buttons whose bits are in k."""
    return tuple(
        tuple(name for bit, name in enumerate(BUTTONS) if number >> bit & 1)
        for number in range(MAX_CHORDS)
    )


def check_chords(given: Any) -> tuple[Chord, ...]:
    """Return the chords of a list, each in the order of the buttons.

    Raises
    ------
    ConfigError
        Naming the chord that has no such button, both of two opposite ones, or stands there twice.
    """
    if not isinstance(given, (list, tuple)) or not 1 <= len(given) <= MAX_CHORDS:
        raise ConfigError(
            f"actions={show(given)} is not possible: actions must be {MULTI_BINARY!r}, or a list "
            f"of 1 to {MAX_CHORDS} chords such as [[], ['a'], ['right', 'b']]."
        )
    found: list[Chord] = []
    for number, chord in enumerate(given):
        if not isinstance(chord, (list, tuple)) or any(
            not isinstance(name, str) or name not in BUTTONS for name in chord
        ):
            raise _refusal(number, chord, f"a list of some of {', '.join(BUTTONS)}")
        for pair in _OPPOSITES:
            if {*pair} <= {*chord}:
                raise _refusal(number, chord, f"without one of {' and '.join(pair)}")
        ordered = tuple(name for name in BUTTONS if name in chord)
        if ordered in found or len(ordered) < len(chord):
            raise _refusal(number, chord, "another one than those before it, each button once")
        found.append(ordered)
    return tuple(found)


def _refusal(number: int, chord: Any, allowed: str) -> ConfigError:
    return ConfigError(
        f"actions[{number}]={show(chord)} is not possible: actions[{number}] must be {allowed}."
    )


def pressed(chord: Chord, allowed: Sequence[str] | None) -> Chord:
    """Return the buttons of a chord that take effect: allowed, without opposite pairs."""
    without = {name for pair in _OPPOSITES if {*pair} <= {*chord} for name in pair}
    return tuple(
        name for name in chord if name not in without and (allowed is None or name in allowed)
    )


def keys_of(chord: Chord) -> int:
    """Return the buttons as bits of :class:`Key`."""
    return sum(1 << BUTTONS.index(name) for name in chord)


def chord_name(chord: Chord) -> str:
    """Return the name of a chord, such as ``right+b``."""
    return "+".join(chord) or NOTHING


class ButtonBits:
    """Eight bits, a button each, as the number of a chord; such numbers are taken as well."""

    space: spaces.MultiBinary = spaces.MultiBinary(len(BUTTONS))

    def encode(self, action: Any) -> int:
        """Return the number of a chord.

        Raises
        ------
        InvalidActionError
            Neither eight bits nor a number from 0 to 255.
        """
        value = as_array("action", action, InvalidActionError)
        if value.shape not in ((), self.space.shape):
            raise InvalidActionError(
                f"action must be {len(BUTTONS)} bits or their number, got shape {value.shape}"
            )
        out = np.zeros(1, np.int32)
        self.encode_many(value[None], out)
        return int(out[0])

    def encode_many(self, actions: Array, out: npt.NDArray[np.int32]) -> None:
        """Write the number of each chord, from bits of shape (n, 8) or numbers of shape (n,)."""
        bits = actions.ndim > 1
        kinds = "biuf" if bits else "iu"
        if actions.dtype.kind not in kinds:
            raise InvalidActionError(
                f"actions must be bits, or integers, got dtype {actions.dtype}"
            )
        wrong = (actions != 0) & (actions != 1) if bits else (actions < 0) | (actions >= MAX_CHORDS)
        if wrong.any():
            lane = int(wrong.reshape(len(actions), -1).any(axis=1).argmax())
            allowed = "0 or 1 a button" if bits else f"0..{MAX_CHORDS - 1}"
            raise InvalidActionError(
                f"{lane_label(lane)}: action {show(actions[lane].tolist())} is out of range, "
                f"allowed are {allowed}"
            )
        if bits:
            actions = (actions != 0) @ (1 << np.arange(len(BUTTONS)))
        np.copyto(out, actions, casting="unsafe")
