"""The display of the Game Boy as pixels, and where the player of an overworld is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fastenv.gameboy.frames import WHOLE
from fastenv.gameboy.linked.render import displays
from fastenv.gameboy.render import display
from fastenv.keys import ENTER
from training.run.game_view import GameView, PadKey

# As a person plays: every frame a step, and all pixels in the row.
PERSON = {"frames_per_step": 1, "release_after_frames": 1, "pixels": "160x144", "stack_k": 1}
KEYS = (
    *(("up", "▲", "up"), ("left", "◀", "left"), ("down", "▼", "down"), ("right", "▶", "right")),
    *(("z", "B", "b"), ("x", "A", "a"), (ENTER, "Start", "start"), ("\x7f", "Select", "select")),
)


class GameBoyView(GameView):
    """How the Game Boy is shown; see :class:`training.run.game_view.GameView`."""

    page: ClassVar = Path(__file__).parent / "scene.js"
    rules: ClassVar = Path(__file__).parent / "rules.html"
    counted: ClassVar[Sequence[str]] = ("items", "events", "cells", "map", "x", "y", "dist")

    def person_options(self, env: str) -> Mapping[str, Any]:
        """Return options for the console's speed; a goal keeps the frames of its template."""
        return {} if env == "GameBoyGoal-v0" else {**PERSON, "max_steps": None}

    def console(self, engine: Any) -> Any:
        """Return the options of the console whose buttons are pressed."""
        return engine.game.config

    def pad(self, engine: Any) -> Sequence[PadKey]:
        """Return the buttons that the environment allows."""
        config = self.console(engine)
        allowed = {name for k, name in enumerate(config.action_names) if config.is_allowed(k)}
        named = {"\x7f": "backspace"}
        return [PadKey(named.get(k, k), label) for k, label, name in KEYS if name in allowed]

    def scene(
        self,
        engine: Any,
        row: np.void,
        seat: int,
        names: Sequence[str],
        *,
        opened: bool = False,
        choice: int | None = None,
    ) -> dict[str, Any]:
        """Return the step, and what the game counts, for the seat where each has its own."""
        scene: dict[str, Any] = {"step": int(row["ep_length"])}
        info = engine.info
        for name in self.counted:
            if name in info and engine.num_envs == 1:
                scene[name] = round(float(info[name][0].flat[seat]), 4)
        return scene

    def picture(self, engine: Any, row: np.void) -> tuple[int, int, bytes]:
        """Return the newest frame as it lies in the row.

        Only where it leaves pixels out, and the lane is alone, the whole display is drawn.
        """
        common = engine.game.common
        form = common.config.format
        if form == WHOLE or engine.num_envs > 1:
            return len(form.xs), len(form.ys), row["stack"][-1].tobytes()
        return len(WHOLE.xs), len(WHOLE.ys), packed(display(row, common))

    def mark(self, engine: Any, before: np.void, after: np.void) -> str:
        """Describe the events and items that the program has counted since."""
        terms = engine.info
        names = {"reward_events": "event", "reward_items": "item", "reward_finish": "finish"}
        return ", ".join(w for n, w in names.items() if n in terms and float(terms[n][0]) != 0)

    def place(self, engine: Any, lane: int) -> tuple[int, int, int] | None:
        """Return map, column and row of an overworld."""
        info = engine.info
        if "map" not in info:
            return None
        return int(info["map"][lane]), int(info["x"][lane]), int(info["y"][lane])


def packed(shades: np.ndarray) -> bytes:
    """Return a picture with four pixels a byte, the first in the low two bits."""
    four = shades.reshape(-1, 4)
    bits = four[:, 0] | four[:, 1] << 2 | four[:, 2] << 4 | four[:, 3] << 6
    return bits.astype(np.uint8).tobytes()


class LinkView(GameBoyView):
    """How two Game Boys on a cable are shown: both displays, side by side."""

    counted: ClassVar[Sequence[str]] = ("mine", "theirs")  # the points

    def console(self, engine: Any) -> Any:
        """Return the options of a console; both have the same buttons."""
        return engine.game.common.sides[0].config

    def picture(self, engine: Any, row: np.void) -> tuple[int, int, bytes]:
        """Return both displays."""
        shown = np.hstack(displays(row, engine.game.common))
        return shown.shape[1], shown.shape[0], packed(shown)
