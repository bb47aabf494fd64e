"""Options of two Game Boys on a cable, validated on construction (docs/gameboy.md, 22.1)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from fastenv.gameboy.buttons import MULTI_BINARY, Chord
from fastenv.gameboy.config import (
    DUEL,
    FIXED,
    POWER_UP,
    GameBoyConfig,
    expanded,
)
from fastenv.options import GameConfig, refusal

MAP = "duel"  # of Lantern Duel
SIDES = 2
_OF_ONE = ("frames_per_step", "release_after_frames", "stack_k", "pixels", "pixel_mode",
           "action_codec", "actions", "allowed_buttons", "strict_video_access", "max_steps",
           "start_state")  # fmt: skip


@dataclass(frozen=True)
class LinkConfig(GameConfig):
    """Options of two Game Boys on a cable.

    Parameters
    ----------
    roms : str or Path, or two of them
        ROM files, or ``"duel"`` or ``"lantern_walk"``; one is for both sides.
    states : str or Path, or two of them
        Where episodes start, as in :class:`fastenv.gameboy.config.GameBoyConfig`. With
        ``"power_up"`` the first console has been on for a frame longer (docs/gameboy.md, 22.1).
    start_state : int, optional
        Number of the start state, on both sides; None draws one for each.
    ram_map : str or Path, optional
        File of a RAM map that is looked at on each side: fields, rewards and ends (docs/gameboy.md,
        20.1). By default that of Lantern Duel where both sides play it.
    frames_per_step : int
        Frames of a step, on both sides, as all that follows.
    release_after_frames : int
        After which buttons are released, at most ``frames_per_step``.
    stack_k : int
        Frames that an observation shows.
    pixels, pixel_mode, action_codec : str
        As in :class:`fastenv.gameboy.config.GameBoyConfig`.
    actions : tuple of chords, optional
        Chords of buttons, one an action; no bits.
    allowed_buttons : tuple of str, optional
        Buttons that may be pressed.
    strict_video_access : bool
        Whether the display closes video memory to the processor.
    max_steps : int, optional
        Steps after which an episode is truncated; None for never.
    """

    roms: Any = DUEL
    states: Any = POWER_UP
    start_state: int | None = 0
    ram_map: str | Path | None = None
    frames_per_step: int = 4
    release_after_frames: int = 4
    stack_k: int = 4
    pixels: str = "72x80"
    pixel_mode: str = "shade"
    action_codec: str = "all8"
    actions: tuple[Chord, ...] | None = None
    allowed_buttons: tuple[str, ...] | None = None
    strict_video_access: bool = True
    max_steps: int | None = 2048

    def __post_init__(self) -> None:
        """Validate."""
        for name in ("roms", "states"):
            object.__setattr__(self, name, _pair(name, getattr(self, name)))
        if isinstance(self.actions, str) and self.actions == MULTI_BINARY:
            raise refusal("actions", self.actions, "a list of chords with two agents")
        if self.ram_map is None and self.roms == (DUEL,) * SIDES:
            object.__setattr__(self, "ram_map", MAP)
        sides = tuple(self._side(k) for k in range(SIDES))
        object.__setattr__(self, "actions", sides[0].actions)
        object.__setattr__(self, "allowed_buttons", sides[0].allowed_buttons)

    def _side(self, side: int) -> GameBoyConfig:
        """Return the options of one console."""
        return GameBoyConfig(
            kind="pixels",
            rom=self.roms[side],
            states=self.states[side],
            ram_map=self.ram_map,
            frame_policy=FIXED,
            **{name: getattr(self, name) for name in _OF_ONE},
        )

    @property
    def sides(self) -> tuple[GameBoyConfig, GameBoyConfig]:
        """The options of each console."""
        return self._side(0), self._side(1)

    @classmethod
    def from_options(cls, **options: Any) -> Self:
        """Build a config from keyword options, with ``preset`` and ``frame_skip`` as for one.

        Raises
        ------
        ConfigError
            For an unknown option or a value that is not allowed.
        """
        return cls(**expanded(options, "two Game Boys", [f.name for f in fields(cls)]))


def _pair(name: str, value: Any) -> tuple[Any, Any]:
    """Return the value of each side: a pair as it is, or one value for both."""
    if isinstance(value, (tuple, list)):
        if len(value) != SIDES:
            raise refusal(name, value, "one for both sides, or two")
        first, second = value
        return first, second
    return value, value
