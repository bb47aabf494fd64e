"""Options of a Game Boy environment, validated on construction (``docs/gameboy.md``)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from fastenv.gameboy.buttons import (
    BUTTONS,
    MULTI_BINARY,
    NOTHING,
    ButtonBits,
    Chord,
    all_chords,
    check_chords,
    chord_name,
    codec,
    keys_of,
    pressed,
)
from fastenv.gameboy.frames import FORMATS, MODES, FrameFormat
from fastenv.gameboy.state import Kind
from fastenv.gameboy.tables import SAMPLES
from fastenv.options import (
    GameConfig,
    check_boolean,
    check_choice,
    check_integer,
    check_known,
    check_number,
    check_path,
    refusal,
)

KINDS = tuple(kind.name.lower() for kind in Kind)
CODECS = {
    "all8": ("noop", "a", "b", "start", "up", "down", "left", "right"),
    "all9": ("noop", "a", "b", "start", "up", "down", "left", "right", "select"),
}
OURS = "lantern_walk"
DUEL = "duel"
PARCEL = "parcel"
ROMS = (OURS, DUEL, PARCEL)  # of ours, that have names
CELLS = "cells"
POWER_UP = "power_up"
ZERO, SEEDED = "zero", "seeded"
LCD, FIXED = "lcd", "fixed"
BY_LINE, BY_PIXEL = "line", "pixel"
KNOBS = ("start_state",)
# Names of the Atari protocol, of options that say more here (docs/gameboy.md, 16.1).
FRAME_SKIP = "frame_skip"
# Options by the name of what they are for (docs/gameboy.md, 21).
PRESETS: dict[str, dict[str, Any]] = {"scale": {"stack_k": 1, "pixels": "packed72x20"}}
MAX_STEPS = {"goal": 512, "overworld": 2048}  # unless others are asked for
MAX_COUNT = 2**31 - 1
MAX_REWARD = 1_000_000  # of a term either way: rewards are float32, and returns their sums
MAX_FRAMES, MAX_STACK, MAX_SLOTS = 3600, 64, 2**24
MAX_WAIT = 4096  # times that a step lasts as long again
MAX_AUDIO_FRAMES = 600  # of a step with samples: their bytes are in the row
# Bonuses of an overworld (docs/gameboy.md, 20), and options of a goal (docs/gameboy.md, 19).
BONUSES = ("cell_bonus", "item_bonus", "dialogue_bonus", "event_bonus", "finish_bonus")
# Options that a shared record may replace: where they stand in its rules.
REPLACEABLE = {
    **{name: name for name in ("sticky", "repeat_action_probability")},
    **{name: name for name in ("step_cost", "alpha", "goal_bonus", *BONUSES)},
    **{"max_steps": "max_steps", "tau": "threshold", "k_consecutive": "k_consecutive"},
    **{"frames_per_step": "frames_per_step", "release_after_frames": "release_after"},
}
GOAL_OPTIONS = ("goal", "step_cost", "alpha", "goal_bonus", "tau", "k_consecutive")
WORLD_OPTIONS = ("visits", "renewing_events", *BONUSES)


@dataclass(frozen=True)
class GameBoyConfig(GameConfig):
    """Options of a Game Boy environment.

    Parameters
    ----------
    kind : {"pixels", "goal", "overworld"}
        What it is about; fixed by the id.
    rom : str or Path
        A ROM file, or one of ours: ``"lantern_walk"``, ``"duel"`` or ``"parcel"``.
    states : str or Path, optional
        Where episodes start: ``"power_up"``, a save state (PyBoy's too), a bank of states, a
        ``.sav`` file of what the battery kept, or the name of a bank of ours (docs/gameboy.md, 18):
        ``"lantern_walk"`` and ``"lantern_walk_dark"``, or the ones of episodes that no training
        sees, ``"lantern_walk_held_out"`` and ``"lantern_walk_dark_held_out"``. By default the first
        with Lantern Walk, power-up with another ROM and with ``GameBoyPixels-v0``.
    start_state : int, optional
        Number of the start state; None draws one for each episode.
    frames_per_step, release_after_frames : int
        Frames of a step, and how many of them the button is held, from 1 on.
    stack_k : int
        Frames that an observation shows, the newest last.
    pixels : {"72x80", "84x84", "160x144", "packed72x20"}
        Which pixels a frame has (docs/gameboy.md, 17).
    pixel_mode : {"shade", "gray"}
        0 (white) to 3, or 255 (white) to 0.
    action_codec : {"all8", "all9"}
        Buttons of the actions; the second has Select.
    actions : sequence of sequences of str, or "multi_binary", optional
        Chords in place of the codec (docs/gameboy.md, 16.1): action k presses all buttons of chord
        k, such as ``[[], ["a"], ["right", "b"]]``. With ``"multi_binary"`` an action is eight bits:
        right, left, up, down, A, B, Select, Start.
    allowed_buttons : sequence of str, optional
        Of these buttons, those that do something; default all. Actions of the others alone are
        masked, and press nothing.
    ram_fill : {"zero", "seeded"}
        What memory holds when the machine is turned on: 0, or bytes from the lane's stream, other
        ones in each episode. VRAM is as the boot program leaves it (docs/gameboy.md, 18).
    frame_policy : {"lcd", "fixed"}
        When a frame ends: with the display's, and where that is turned on or off; or every
        70,224 T (docs/gameboy.md, 13).
    strict_video_access : bool
        Whether the display closes video memory to the processor while it reads it, as on the
        console (docs/gameboy.md, 5.5).
    accuracy : {"line", "pixel"}
        Whether a line is drawn from the registers as they are at its end, or registers that a
        program writes within a line change it from that pixel on, as on the console
        (docs/gameboy.md, 8.4).
    audio : bool
        Whether ``audio`` of the info has the samples of each frame of a step (docs/gameboy.md,
        10.2). Frames are of fixed length then: ``frame_policy`` is ``"fixed"`` unless given.
    sticky : float
        Probability that a step repeats the action of the one before.
    repeat_action_probability : float
        Probability that a frame repeats the action of the one before, as in the Atari protocol
        (docs/gameboy.md, 16.1).
    max_pool : bool
        Whether a frame of an observation is the darker of the last two pictures of its step, pixel
        by pixel: what flickers is seen (docs/gameboy.md, 16.1).
    max_steps : int, optional
        Steps after which an episode is truncated; None: never. As an option of an id it is by
        default 512 with a goal, 2,048 in an overworld.
    goal : str or Path
        Folder of a goal template, or ``"lantern_walk"`` (docs/gameboy.md, 19).
    step_cost, alpha, goal_bonus : float
        Of the reward of a goal.
    tau, k_consecutive : float, int, optional
        Distance below which a step is at the goal, and how many such steps in a row reach it; by
        default those of the template.
    ram_map : str or Path, optional
        File of a RAM map (docs/gameboy.md, 20 and 20.1): places of an overworld, and fields,
        rewards and ends of any game but goals. Of ours there are ``"lantern_walk"``, in overworlds
        the default with Lantern Walk, ``"lantern_walk_flags"`` with all flags of the game,
        ``"lantern_walk_quest"``, which pays for the quest, ``"libbet"`` for a free game,
        ``"pokemon_red"`` and ``"pokemon_yellow"`` for ROMs of your own, and ``"parcel"`` for a game
        of ours that keeps things in the same places.
    writes : sequence of str, or "all"
        Which of the RAM map's writes are on (docs/gameboy.md, 20.4): fields that are set at a
        reset, before a step or at a hook. By default none is.
    observe : sequence of str, optional
        What an observation shows in place of that of the kind (docs/gameboy.md, 17.1):
        ``"pixels"``; fields of the RAM map, by names; ``"actions[4]"``, the last four; and in an
        overworld ``"visited[9x10]"``, which cells around the player were visited.
    play_on : bool
        Whether an episode that was truncated continues with the next one, where it stands
        (docs/gameboy.md, 18).
    wait_until : str, optional
        Expression over the RAM map: while it is 0 a step lasts on, as long again each time, at most
        ``wait_steps`` times, with ``wait_press`` pressed (docs/gameboy.md, 16.2).
    wait_press : str
        A button, or "noop".
    wait_steps : int
        How often a step lasts on so at most.
    visits : {"cells"} or int
        Memory of visited cells: a bit for each of the RAM map's cells, or the number of slots of a
        hash table, of two bytes each.
    renewing_events : sequence of int
        Events after which all cells are new again.
    cell_bonus, item_bonus, dialogue_bonus, event_bonus, finish_bonus : float
        Rewards of an overworld.
    """

    kind: str = "pixels"
    rom: str | Path = OURS
    states: str | Path | None = None
    start_state: int | None = 0
    frames_per_step: int = 24
    release_after_frames: int = 8
    stack_k: int = 4
    pixels: str = "72x80"
    pixel_mode: str = "shade"
    action_codec: str = "all8"
    actions: tuple[Chord, ...] | str | None = None
    allowed_buttons: tuple[str, ...] | None = None
    ram_fill: str = ZERO
    frame_policy: str = LCD
    strict_video_access: bool = True
    accuracy: str = BY_LINE
    audio: bool = False
    sticky: float = 0.0
    repeat_action_probability: float = 0.0
    max_pool: bool = False
    max_steps: int | None = None
    goal: str | Path = OURS
    step_cost: float = -0.01
    alpha: float = 1.0
    goal_bonus: float = 10.0
    tau: float | None = None
    k_consecutive: int | None = None
    ram_map: str | Path | None = None
    writes: tuple[str, ...] | str = ()
    observe: tuple[str, ...] | None = None
    play_on: bool = False
    wait_until: str | None = None
    wait_press: str = "a"
    wait_steps: int = 64
    visits: str | int = 65_536
    renewing_events: tuple[int, ...] = ()
    cell_bonus: float = 0.01
    item_bonus: float = 0.05
    dialogue_bonus: float = 0.01
    event_bonus: float = 1.0
    finish_bonus: float = 10.0

    def __post_init__(self) -> None:
        """Validate."""
        check_choice("kind", self.kind, KINDS)
        check_path("rom", self.rom)
        if self.states is not None:
            check_path("states", self.states)
        if self.start_state is not None:
            check_integer("start_state", self.start_state, 0, MAX_COUNT, ", or None")
        frames = check_integer("frames_per_step", self.frames_per_step, 1, MAX_FRAMES)
        why = ": a button released before the first frame is never seen"
        check_integer("release_after_frames", self.release_after_frames, 1, frames, why)
        check_integer("stack_k", self.stack_k, 1, MAX_STACK)
        check_choice("pixels", self.pixels, FORMATS)
        check_choice("pixel_mode", self.pixel_mode, MODES)
        if self.format.packed and self.pixel_mode != "shade":
            raise refusal("pixel_mode", self.pixel_mode, "'shade' where pixels are packed")
        check_choice("action_codec", self.action_codec, CODECS)
        self._check_buttons()
        self._check_repeats()
        check_choice("ram_fill", self.ram_fill, (ZERO, SEEDED))
        check_choice("frame_policy", self.frame_policy, (LCD, FIXED))
        check_boolean("strict_video_access", self.strict_video_access)
        check_choice("accuracy", self.accuracy, (BY_LINE, BY_PIXEL))
        self._check_audio()
        if self.max_steps is not None:
            check_integer("max_steps", self.max_steps, 1, MAX_COUNT, ", or None")
        check_boolean("play_on", self.play_on)
        self._check_wait()
        self._check_observed()
        self._check_goal()
        self._check_world()
        self._check_kind()

    def _check_buttons(self) -> None:
        if self.actions is not None:
            if self.action_codec != "all8":
                raise refusal("action_codec", self.action_codec, "left out beside actions")
            if not (isinstance(self.actions, str) and self.actions == MULTI_BINARY):
                object.__setattr__(self, "actions", check_chords(self.actions))
        given = self.allowed_buttons
        known = CODECS[self.action_codec][1:] if self.actions is None else BUTTONS
        if given is None:
            return
        if not isinstance(given, (tuple, list)) or any(
            not isinstance(name, str) or name not in known for name in given
        ):
            raise refusal("allowed_buttons", given, f"some of {', '.join(known)}")
        object.__setattr__(self, "allowed_buttons", tuple(given))

    def _check_repeats(self) -> None:
        check_number("sticky", self.sticky, 0.0, 1.0)
        each = check_number("repeat_action_probability", self.repeat_action_probability, 0.0, 1.0)
        if each and self.sticky:
            raise refusal("sticky", self.sticky, "0 beside repeat_action_probability")
        if check_boolean("max_pool", self.max_pool):
            if self.frames_per_step == 1:
                raise refusal("max_pool", True, "False with frames_per_step=1")
            if self.kind == "goal":
                raise refusal("max_pool", True, "False: goals are pictures of single frames")

    def _check_audio(self) -> None:
        if not check_boolean("audio", self.audio):
            return
        if self.frame_policy != FIXED:
            allowed = f"{FIXED!r} with audio=True, whose frames have {SAMPLES} samples each"
            raise refusal("frame_policy", self.frame_policy, allowed)
        if self.frames_per_step > MAX_AUDIO_FRAMES:
            allowed = f"an integer from 1 to {MAX_AUDIO_FRAMES} with audio=True"
            raise refusal("frames_per_step", self.frames_per_step, allowed)

    def _check_wait(self) -> None:
        check_choice("wait_press", self.wait_press, (NOTHING, *BUTTONS))
        check_integer("wait_steps", self.wait_steps, 1, MAX_WAIT)
        if self.wait_until is None:
            return
        if not isinstance(self.wait_until, str):
            raise refusal("wait_until", self.wait_until, "an expression over the RAM map")
        if self.ram_map is None:
            raise refusal("wait_until", self.wait_until, "left out: there is no ram_map")
        if self.audio:
            raise refusal("wait_until", self.wait_until, "left out with audio=True")

    def _check_observed(self) -> None:
        given = self.observe
        if given is None:
            return
        names = isinstance(given, (tuple, list)) and all(isinstance(each, str) for each in given)
        if not names or not given or len({*given}) < len(given):
            raise refusal("observe", given, "a list of names of what is shown, each once")
        if self.kind == "goal":
            raise refusal("observe", given, "left out: a goal is a picture")
        object.__setattr__(self, "observe", tuple(given))

    def _check_goal(self) -> None:
        check_path("goal", self.goal)
        for name in ("step_cost", "alpha", "goal_bonus", *BONUSES):
            check_number(name, getattr(self, name), -MAX_REWARD, MAX_REWARD)
        if self.tau is not None:
            check_number("tau", self.tau, 0.0, 1.0)
        if self.k_consecutive is not None:
            check_integer("k_consecutive", self.k_consecutive, 1, MAX_COUNT)

    def _check_world(self) -> None:
        if self.ram_map is not None:
            check_path("ram_map", self.ram_map)
            if self.kind == "goal":
                raise refusal("ram_map", self.ram_map, "left out: a goal is a picture")
        given = self.writes
        if not (isinstance(given, str) and given == "all"):
            if not isinstance(given, (tuple, list)) or not all(isinstance(x, str) for x in given):
                raise refusal("writes", given, "a list of names of writes of the RAM map, or 'all'")
            object.__setattr__(self, "writes", tuple(given))
        if given and self.ram_map is None:
            raise refusal("writes", given, "left out without a ram_map, which has them")
        if self.kind == "overworld" and self.ram_map is None and self.rom != OURS:
            raise refusal("ram_map", None, "given: only that of 'lantern_walk' is known")
        if not (isinstance(self.visits, str) and self.visits == CELLS):
            check_integer("visits", self.visits, 1, MAX_SLOTS, f", or {CELLS!r}")
        events = self.renewing_events
        if not isinstance(events, (tuple, list)):
            raise refusal("renewing_events", events, "numbers of events")
        for event in events:
            check_integer("renewing_events", event, 0, 65_535)
        object.__setattr__(self, "renewing_events", tuple(events))

    def _check_kind(self) -> None:
        """Refuse what an environment of this kind does not have."""
        for kind, names in (("goal", GOAL_OPTIONS), ("overworld", WORLD_OPTIONS)):
            for each in fields(self):
                if each.name in names and kind != self.kind:
                    value = getattr(self, each.name)
                    if value != each.default:
                        raise refusal(each.name, value, f"left out: it belongs to kind {kind!r}")

    @classmethod
    def from_options(cls, **options: Any) -> Self:
        """Build a config from keyword options.

        ``preset`` names those of :data:`PRESETS`; ``frame_skip`` is ``frames_per_step`` with
        buttons that are held. With ``audio`` frames are of fixed length unless asked for otherwise,
        which is refused.

        Raises
        ------
        ConfigError
            For an unknown option or a value that is not allowed.
        """
        given = expanded(options, "the Game Boy", [f.name for f in fields(cls)])
        audio = given.get("audio", False)
        if isinstance(audio, (bool, np.bool_)) and audio:
            given = {"frame_policy": FIXED, **given}
        return cls(**{"max_steps": MAX_STEPS.get(options.get("kind", "")), **given})

    def with_shared(self, head: np.void, mine: np.void) -> Self:
        """Return a config with what can change while games run of the head of a shared record.

        What makes rows, spaces or knobs, or belongs to a file, is left as it is.

        Parameters
        ----------
        head, mine : np.void
            Of ``SHARED_DTYPE``: what is asked for, and what this config gives.

        Raises
        ------
        ConfigError
            A value that no config gives.
        """
        changes: dict[str, Any] = {}
        for name, field in REPLACEABLE.items():
            if head["rules"][field] != mine["rules"][field]:
                changes[name] = head["rules"][field].item()
        if changes.get("max_steps") == 0:
            changes["max_steps"] = None
        if head["video_is_open"] != mine["video_is_open"]:
            changes["strict_video_access"] = not head["video_is_open"]
        if head["fixed_frames"] != mine["fixed_frames"]:
            changes["frame_policy"] = FIXED if head["fixed_frames"] else LCD
        if self.audio:  # rows have so many samples
            changes.pop("frames_per_step", None)
        if self.kind == "goal":  # its template was captured with steps of one length
            changes.pop("frames_per_step", None)
            changes.pop("release_after_frames", None)
        return self.replace(**changes)

    @property
    def format(self) -> FrameFormat:
        """Which pixels a frame has."""
        return FORMATS[self.pixels]

    @cached_property
    def chords(self) -> tuple[Chord, ...]:
        """Buttons of each action."""
        if self.actions is None:
            return codec(CODECS[self.action_codec])
        return all_chords() if isinstance(self.actions, str) else self.actions

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the actions."""
        return tuple(map(chord_name, self.chords))

    @property
    def encoder(self) -> ButtonBits | None:
        """What makes numbers of actions that are bits; None where they are numbers."""
        return ButtonBits() if self.actions == MULTI_BINARY else None

    @property
    def keys(self) -> tuple[int, ...]:
        """What actions press, as bits of :class:`fastenv.gameboy.tables.Key`."""
        return tuple(keys_of(pressed(chord, self.allowed_buttons)) for chord in self.chords)

    def is_allowed(self, action: int) -> bool:
        """Tell whether all buttons of an action take effect; true of an action without buttons."""
        chord = self.chords[action]
        return pressed(chord, self.allowed_buttons) == chord


def write_start(rows: np.ndarray, value: Any, num_starts: int) -> None:
    """Write the knob ``start_state`` into rows of ``KNOBS_DTYPE``.

    Raises
    ------
    ConfigError
        If there is no such start state.
    """
    drawn = value is None
    number = -1 if drawn else check_integer("start_state", value, 0, num_starts - 1, ", or None")
    rows["start_state"] = number


def expanded(options: dict[str, Any], where: str, known: list[str]) -> dict[str, Any]:
    """Return options of a config, with what ``preset`` and ``frame_skip`` stand for.

    Parameters
    ----------
    options : dict
    where : str
        What has them, for errors.
    known : list of str
        Options of the config.

    Raises
    ------
    ConfigError
        For an unknown option, or a value of these two that is not allowed.
    """
    options = dict(options)
    if FRAME_SKIP in options:
        frames = check_integer(FRAME_SKIP, options.pop(FRAME_SKIP), 1, MAX_FRAMES)
        if "frames_per_step" in options:
            raise refusal("frames_per_step", options["frames_per_step"], "left out: frame_skip")
        options = {"release_after_frames": frames, "frames_per_step": frames, **options}
    preset = options.pop("preset", None)
    if preset is not None:
        check_choice("preset", preset, PRESETS)
    check_known(options, where, [*known, "preset", FRAME_SKIP])
    return {**PRESETS.get(preset, {}), **options}
