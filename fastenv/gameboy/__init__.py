"""The Game Boy: its machine, and environments around it.

``GameBoyGame`` is the three implementations of this folder as one game; ``docs/gameboy.md`` is the
rule book.
"""

# The methods of GameBoyGame are documented in Game.
# ruff: noqa: D102

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.configured import ConfiguredGame
from fastenv.errors import ConfigError, StateError, show, with_nearest
from fastenv.game import Compiled, GameSpec, Steering, StepTimes, first_difference
from fastenv.gameboy import encoding, lane_position
from fastenv.gameboy.common import Common, load_common
from fastenv.gameboy.config import KNOBS, PRESETS, GameBoyConfig, write_start
from fastenv.gameboy.environment import Environment
from fastenv.gameboy.layout import highest_pixel, obs_record, pixels_shape
from fastenv.gameboy.ram_program import LOST
from fastenv.gameboy.render import render
from fastenv.gameboy.state import KNOBS_DTYPE, SHARED_DTYPE, tail_of
from fastenv.gameboy.steering import ButtonSteering
from fastenv.gameboy.validate import validate_lanes
from fastenv.gameboy.validate_machine import validate_rows
from fastenv.rng import Rng

__all__ = ["GameBoyConfig", "GameBoyGame", "make_game", "random_options"]

Array = npt.NDArray[Any]


def make_game(**options: Any) -> GameBoyGame:
    """Return a game with the options of :class:`GameBoyConfig`."""
    return GameBoyGame(GameBoyConfig.from_options(**options))


class GameBoyGame(ConfiguredGame):
    """A Game Boy with a cartridge, configured.

    Parameters
    ----------
    config : GameBoyConfig
    common : Common, optional
        Files of the configuration that were already read.
    """

    goal = "Whatever the program is about; with Lantern Walk, four candles and the old song."

    presets: Mapping[str, Mapping[str, Any]] = PRESETS

    config: GameBoyConfig
    position: ModuleType = lane_position
    encoding: ModuleType = encoding

    def __init__(self, config: GameBoyConfig, common: Common | None = None) -> None:
        super().__init__(config)
        common = load_common(config) if common is None else common
        self.common: Common = common
        self.shared: Array = common.shared()
        pixels = (0.0, float(highest_pixel(config)))
        shown: dict[str, Any] = {"obs_dtype": np.dtype(np.uint8), "obs_bounds": pixels}
        shown["obs_shape"] = pixels_shape(config)
        if common.observed is not None:
            record = common.observed.record(config)
            bounds = {name: (0.0, 1.0) for name in record.names or ()}
            shown = {"obs_dtype": record, "obs_bounds": bounds | {"pixels": pixels}}
            shown["obs_bounds"] = {name: shown["obs_bounds"][name] for name in bounds}
        elif common.ram_map is not None:
            shown = {"obs_dtype": obs_record(config, common.ram_map.num_events)}
            shown["obs_bounds"] = {"pixels": pixels, "senses": (0.0, 1.0), "events": (0.0, 1.0)}
        self.spec: GameSpec = GameSpec(
            **shown,
            num_actions=len(config.chords),
            action_codec=config.encoder,
            state_dtype=common.dtype,
            tail=tail_of(common.dtype),
            terms_dtype=common.terms_dtype,
            info_dtype=common.info_dtype,
            warned_of=(LOST,) if LOST in (common.info_dtype.names or ()) else (),
            knobs_dtype=KNOBS_DTYPE,
            kernel_module="fastenv.gameboy.kernels",
            core_module="fastenv.gameboy._core",
            render_modes=("ansi", "rgb_array"),
        )

    def with_shared(self, shared: Array, trusted: bool = False) -> GameBoyGame:
        """Return the game with other start states, or numbers of `GameBoyConfig.with_shared`."""
        config = self.config.with_shared(shared["head"][0], self.shared["head"][0])
        made = GameBoyGame(config, replace(self.common, config=config))
        starts = shared["starts"]
        if first_difference(made.shared["starts"], starts) is not None:
            if not trusted:
                self._check_starts(starts[0])
            record = made.shared.copy()
            record["starts"] = starts
            made.keep_shared(record)
        return self.accept_shared(made, shared, trusted)

    def _check_starts(self, starts: Array) -> None:
        """Refuse start states that no machine can be in; of their frames every byte is possible."""
        dtype = self.common.starts.rows.dtype
        rows = np.ascontiguousarray(starts[:, : dtype.itemsize]).view(dtype).reshape(-1)
        try:
            validate_rows(rows, self.common.cartridge)
        except StateError as error:
            raise StateError(f"shared: starts: {error}") from None

    # -- the reference ---------------------------------------------------------------------------

    def create(self) -> Environment:
        return Environment(self.common)

    def reset(self, game: Environment, knobs: np.void, seed: int | None) -> None:
        game.reset(int(knobs["start_state"]), seed, self.shared["starts"][0])

    def unpack(self, row: Any) -> Environment:
        return lane_position.unpack(row, self.common)

    def resample(self, game: Environment, agent: int, rng: Rng) -> None:
        """Draw the generator anew: nothing else is hidden."""
        game.rng.state = [rng.next() for _ in range(4)]

    # -- the compiled twins ----------------------------------------------------------------------

    def kernels(self) -> Compiled:
        from fastenv.gameboy import kernels

        functions = kernels.functions(self.config.kind, self.spec)
        with suppress(ImportError, AttributeError):  # without a core of today nothing is timed
            from fastenv.gameboy import _core

            functions = replace(functions, observe=_core.with_times(functions.observe))
        return functions

    def core(self) -> Any:
        """Return the table, unless the core was built for other rules.

        The sizes in the table do not say so: that of what lanes share depends on the ROM.
        """
        from fastenv.gameboy import _core

        if SHARED_DTYPE.itemsize != _core.SHARED_SIZE:
            raise ConfigError(
                f"core: it was built for shared records of {_core.SHARED_SIZE} bytes in front of "
                f"the ROM, this package has {SHARED_DTYPE.itemsize}: build it again"
            )
        return _core.TABLE

    # -- the rest --------------------------------------------------------------------------------

    def default_knobs(self, n: int) -> Array:
        knobs = np.zeros(n, KNOBS_DTYPE)
        write_start(knobs, self.config.start_state, len(self.common.starts.rows))
        return knobs

    def set_knob(self, knobs: Array, name: str, value: Any) -> None:
        if name not in KNOBS:
            message = f"{show(name)} is not a knob; there is {', '.join(KNOBS)}"
            raise ConfigError(with_nearest(message, name, KNOBS))
        write_start(knobs, value, len(self.common.starts.rows))

    def get_knob(self, knobs: np.void, name: str) -> Any:
        if name not in KNOBS:
            raise AttributeError(f"{show(name)} is not a knob; there is {', '.join(KNOBS)}")
        number = int(knobs["start_state"])
        return None if number < 0 else number

    def step_times(self) -> StepTimes | None:
        try:
            from fastenv.gameboy.times import StepTimes as Counter

            return Counter()
        except (ImportError, AttributeError):  # without a core of today nothing is timed
            return None

    def validate(self, rows: Array) -> None:
        validate_lanes(rows, self.common)

    def describe(self, row: np.void) -> str:
        return "LOCKED" if row["locked"] else "FRAME"

    def warning(self, column: str, row: np.void) -> str:
        memory = self.unpack(np.array([row])).remembered
        full = [each.of for each in memory.tables.values() if each.lost]
        named = " and ".join(f"sets.{of.name} ({of.capacity:,} keys)" for of in full) or "a set"
        return (
            f"ram_map={show(str(self.config.ram_map))}: {named} of the RAM map is full: new keys "
            f"are left out, and {LOST} of the info counts them. A larger capacity has room."
        )

    def action_name(self, action: int, row: np.void | None = None) -> str:
        return self.config.action_names[action]

    def render(self, row: np.void, mode: str) -> Any:
        return render(row, self.common, mode)

    def steering(self, row: np.void) -> Steering | None:
        return ButtonSteering(row, self.common)


def random_options(rng: np.random.Generator, kind: str = "pixels", **fixed: Any) -> dict[str, Any]:
    """Draw options for ``python -m fastenv verify``: formats, stacks, buttons, single frames.

    Parameters
    ----------
    rng : numpy Generator
    kind, **fixed
        What the id fixes.
    """

    def pick(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    if kind == "goal":  # whose template has frames of one format and steps of one length
        goal = {"start_state": pick(0, None), "stack_k": pick(1, 4), "sticky": pick(0.0, 0.25)}
        return goal | {"pixel_mode": pick("shade", "gray"), "tau": pick(None, 0.4, 0.7)}
    frames = pick(1, 1, 2)  # the reference runs some twenty a second
    options: dict[str, Any] = {
        "states": pick("power_up", "lantern_walk", "lantern_walk"),
        "start_state": pick(0, None),
        "frames_per_step": frames,
        "release_after_frames": 1 + int(rng.integers(frames)),
        "stack_k": pick(1, 2, 4),
        "pixels": pick("72x80", "84x84", "160x144", "packed72x20"),
        "actions": pick(None, None, "multi_binary", (("b",), ("a", "left"), (), ("down", "start"))),
        "allowed_buttons": pick(None, ("a", "left", "down")),
        "frame_policy": pick("lcd", "lcd", "fixed"),
        "strict_video_access": pick(True, True, False),
        "accuracy": pick("line", "pixel"),
        "max_steps": pick(None, 3, 7),
        "max_pool": frames > 1 and pick(True, False),
        pick("sticky", "repeat_action_probability"): pick(0.0, 0.25),
    }
    if options["actions"] is None:
        options["action_codec"] = pick("all8", "all9")
    if options["states"] == "power_up":
        options["ram_fill"] = pick("zero", "seeded")
    if pick(False, False, True):
        options |= {"audio": True, "frame_policy": "fixed"}
    options["ram_map"] = pick(None, None, "lantern_walk_quest")
    if options["pixels"] != "packed72x20":
        options["pixel_mode"] = pick("shade", "gray")
    if kind == "overworld":
        options["renewing_events"] = pick((), (0, 2))
        if "visits" not in fixed:
            options["visits"] = pick("cells", 64, 65_536)
    return options
