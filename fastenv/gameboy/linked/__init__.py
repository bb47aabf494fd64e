"""Two Game Boys on a cable: an environment of two agents (docs/gameboy.md, 22)."""

# The methods of LinkGame are documented in Game.
# ruff: noqa: D102

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.configured import ConfiguredGame
from fastenv.errors import ConfigError, show, with_nearest
from fastenv.game import Compiled, GameSpec
from fastenv.gameboy.config import KNOBS, PRESETS, write_start
from fastenv.gameboy.layout import highest_pixel, pixels_shape
from fastenv.gameboy.linked import bots, encoding, position
from fastenv.gameboy.linked.common import TAIL, LinkCommon, load_link
from fastenv.gameboy.linked.config import SIDES, LinkConfig
from fastenv.gameboy.linked.environment import LinkEnvironment
from fastenv.gameboy.linked.render import render
from fastenv.gameboy.linked.validate import validate_links
from fastenv.gameboy.state import KNOBS_DTYPE, SHARED_DTYPE
from fastenv.rng import Rng

__all__ = ["LinkConfig", "LinkGame", "make_game", "random_options"]

Array = npt.NDArray[Any]


def make_game(**options: Any) -> LinkGame:
    """Return a game with the options of :class:`LinkConfig`."""
    return LinkGame(LinkConfig.from_options(**options))


class LinkGame(ConfiguredGame):
    """Two Game Boys on a cable, configured.

    Parameters
    ----------
    config : LinkConfig
    common : LinkCommon, optional
        Files of the configuration that were already read.
    """

    goal = "Whatever the programs are about; in Lantern Duel, five points before the other side."

    presets: Mapping[str, Mapping[str, Any]] = PRESETS
    bot_names: tuple[str, ...] = (bots.RANDOM,)

    config: LinkConfig
    position: ModuleType = position
    encoding: ModuleType = encoding

    def __init__(self, config: LinkConfig, common: LinkCommon | None = None) -> None:
        super().__init__(config)
        common = load_link(config) if common is None else common
        self.common: LinkCommon = common
        self.shared: Array = common.shared()
        one = common.sides[0].config
        self.spec: GameSpec = GameSpec(
            obs_dtype=np.dtype(np.uint8),
            obs_shape=pixels_shape(one),
            obs_bounds=(0.0, float(highest_pixel(one))),
            num_actions=len(one.chords),
            num_agents=SIDES,
            opponent=bots.RANDOM,
            order="together",
            state_dtype=common.dtype,
            tail=TAIL,
            terms_dtype=common.terms_dtype,
            info_dtype=common.info_dtype,
            knobs_dtype=KNOBS_DTYPE,
            bot_dtype=bots.BOT_DTYPE,
            kernel_module="fastenv.gameboy.kernels",
            core_module="fastenv.gameboy._core",
            render_modes=("ansi", "rgb_array"),
        )

    # -- the reference ---------------------------------------------------------------------------

    def create(self) -> LinkEnvironment:
        return LinkEnvironment(self.common)

    def reset(self, game: LinkEnvironment, knobs: np.void, seed: int | None) -> None:
        game.reset(int(knobs["start_state"]), seed, self._starts)

    @property
    def _starts(self) -> list[Array]:
        sides = self.common.sides
        return [side.starts.records(side.config.format) for side in sides]

    def unpack(self, row: Any) -> LinkEnvironment:
        return position.unpack(row, self.common)

    def resample(self, game: LinkEnvironment, agent: int, rng: Rng) -> None:
        """Draw the generators anew: nothing else is hidden."""
        for side in game.sides:
            side.rng.state = [rng.next() for _ in range(4)]
        game.rng.state = [rng.next() for _ in range(4)]
        game.bot_rng = [rng.next() for _ in range(4)]

    def bot_action(
        self,
        game: LinkEnvironment,
        params: np.void,
        agent: int,
        obs: Array,
        mask: npt.NDArray[np.uint8],
        rng: Rng,
    ) -> int:
        return bots.bot_action(mask, rng)

    # -- the compiled twins ----------------------------------------------------------------------

    def kernels(self) -> Compiled:
        from fastenv.gameboy import kernels

        return kernels.link_functions(self.spec)

    def core(self) -> Any:
        from fastenv.gameboy import _core

        if SHARED_DTYPE.itemsize != _core.SHARED_SIZE:
            raise ConfigError(
                f"core: it was built for shared records of {_core.SHARED_SIZE} bytes in front of "
                f"the ROM, this package has {SHARED_DTYPE.itemsize}: build it again"
            )
        return _core.LINK_TABLE

    # -- the rest --------------------------------------------------------------------------------

    @property
    def _num_starts(self) -> int:
        return min(len(side.starts.rows) for side in self.common.sides)

    def default_knobs(self, n: int) -> Array:
        knobs = np.zeros(n, KNOBS_DTYPE)
        write_start(knobs, self.config.start_state, self._num_starts)
        return knobs

    def set_knob(self, knobs: Array, name: str, value: Any) -> None:
        if name not in KNOBS:
            message = f"{show(name)} is not a knob; there is {', '.join(KNOBS)}"
            raise ConfigError(with_nearest(message, name, KNOBS))
        write_start(knobs, value, self._num_starts)

    def get_knob(self, knobs: np.void, name: str) -> Any:
        if name not in KNOBS:
            raise AttributeError(f"{show(name)} is not a knob; there is {', '.join(KNOBS)}")
        number = int(knobs["start_state"])
        return None if number < 0 else number

    def bot(self, name: str) -> Array:
        return bots.bot(name)

    def validate(self, rows: Array) -> None:
        validate_links(rows, self.common)

    def describe(self, row: np.void) -> str:
        lanes = [self.common.lanes(np.array([row]), side) for side in range(SIDES)]
        return "LOCKED" if any(lane["locked"][0] for lane in lanes) else "FRAME"

    def action_name(self, action: int, row: np.void | None = None) -> str:
        return self.common.sides[0].config.action_names[action]

    def render(self, row: np.void, mode: str) -> Any:
        return render(row, self.common, mode)

    def render_seat(self, row: np.void, seat: int, mode: str) -> Any:
        return render(row, self.common, mode, seat)


def random_options(rng: np.random.Generator) -> dict[str, Any]:
    """Draw options for ``python -m fastenv verify``: formats, stacks, buttons, single frames.

    Parameters
    ----------
    rng : numpy Generator
    """

    def pick(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    frames = pick(1, 1, 2)  # the reference runs some ten a second
    options: dict[str, Any] = {
        "roms": pick("duel", "duel", ("duel", "lantern_walk")),
        "frames_per_step": frames,
        "release_after_frames": 1 + int(rng.integers(frames)),
        "stack_k": pick(1, 2, 4),
        "pixels": pick("72x80", "84x84", "160x144", "packed72x20"),
        "actions": pick(None, (("b",), ("a", "left"), (), ("down", "start"))),
        "allowed_buttons": pick(None, ("a", "left", "down")),
        "strict_video_access": pick(True, True, False),
        "max_steps": pick(None, 3, 7),
        "ram_map": pick(None, "duel"),
    }
    if options["pixels"] != "packed72x20":
        options["pixel_mode"] = pick("shade", "gray")
    return options
