"""How a person plays an environment: a key a step, at the speed of the console."""

from __future__ import annotations

import shutil

import numpy as np

from fastenv.gameboy.buttons import NOTHING
from fastenv.gameboy.common import Common
from fastenv.gameboy.render import display, text_of, title
from fastenv.gameboy.tables import CLOCK, FRAME
from fastenv.keys import ENTER

# The keys of a terminal by the button that they press, and what they are called.
_PAD = ("up", "down", "left", "right")
_KEYS = {
    **{name: (name,) for name in _PAD},
    **{"a": ("x",), "b": ("z",), "start": (ENTER,), "select": ("\x7f", "\b"), NOTHING: (".",)},
}
_CALLED = {"a": "x: A", "b": "z: B", "start": "Enter: Start", "select": "Backspace: Select"}
_AROUND = 4  # lines: title, blank, keys, and the one that the cursor stands on


class ButtonSteering:
    """A key is pressed for one step; a step without a key has no button.

    Parameters
    ----------
    row : record of a lane
    common : Common
        Says which buttons there are; those that are not allowed have no key.
    """

    def __init__(self, row: np.void, common: Common) -> None:
        self.row: np.void = row
        self.common: Common = common
        config = common.config
        self.frame_time: float = config.frames_per_step * FRAME / CLOCK
        names = config.action_names
        there_are = {name: k for k, name in enumerate(names) if config.is_allowed(k)}
        self.idle: int | None = there_are.get(NOTHING)
        self._actions = {key: k for name, k in there_are.items() for key in _KEYS.get(name, ())}
        called = ["arrows: move"] if any(name in there_are for name in _PAD) else []
        called += [text for name, text in _CALLED.items() if name in there_are]
        called += [".: wait"] if self.idle is not None else []
        self.keys: str = "   ".join([*called, "q: leave"])

    def press(self, key: str) -> int | None:
        """Return the action of a key, None of one that has none."""
        return self._actions.get(key)

    def text(self) -> str:
        """Return the display, as large as the terminal has room for."""
        columns, lines = shutil.get_terminal_size()
        picture = text_of(display(self.row, self.common), columns, lines - _AROUND)
        return "\n".join([title(self.row), *picture])
