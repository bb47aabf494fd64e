"""Asteroid Prospector: mine, haul and sell in an asteroid belt, with pirates about.

``ProspectorGame`` is the three implementations of this folder as one game; see
``docs/prospector.md`` for the rules, the frozen interface and the layout of the observation.
"""

# The methods of ProspectorGame are documented in Game.
# ruff: noqa: D102

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.configured import ConfiguredGame
from fastenv.game import GameSpec
from fastenv.prospector import bots, encoding, position, reference, render, resample, view
from fastenv.prospector import tables as t
from fastenv.prospector.actions import AnyWholeNumber
from fastenv.prospector.config import ProspectorConfig
from fastenv.prospector.layout import INFO_COLUMNS, INFO_DTYPE, INFO_LABELS, TERMS_DTYPE
from fastenv.prospector.state import BOT_DTYPE, DERIVED_DTYPE, SHARED_DTYPE, STATE_DTYPE
from fastenv.prospector.validate import validate_rows
from fastenv.rng import Rng

__all__ = ["ProspectorConfig", "ProspectorGame", "make_game", "random_options"]

Array = npt.NDArray[Any]


def make_game(**options: Any) -> ProspectorGame:
    """Return a game with the options of :class:`ProspectorConfig`."""
    return ProspectorGame(ProspectorConfig.from_options(**options))


class ProspectorGame(ConfiguredGame):
    """Asteroid Prospector, configured.

    Parameters
    ----------
    config : ProspectorConfig
    """

    bot_names: tuple[str, ...] = tuple(bot.name.lower() for bot in bots.Bot)
    goal = (
        "Bring home credits: mine asteroids, haul to the station (node 0), dock, sell, cash out. "
        "To begin: go to a near cluster, wide scan, select an asteroid, mine conservative; keep "
        "fuel for the way home and rest when the tool is hot."
    )

    config: ProspectorConfig
    position: ModuleType = position
    encoding: ModuleType = encoding

    def __init__(self, config: ProspectorConfig) -> None:
        super().__init__(config)
        self.rules: Array = config.rules_record()
        self.shared: Array = np.zeros(1, SHARED_DTYPE)
        self.shared["rules"], self.shared["tables"] = self.rules, t.TABLES
        self.shared.flags.writeable = False
        self.spec: GameSpec = GameSpec(
            num_actions=t.NUM_ACTIONS,
            state_dtype=STATE_DTYPE,
            obs_shape=(t.OBS_DIM,),
            reward_dtype=np.dtype(np.float64),
            terms_dtype=TERMS_DTYPE,
            info_dtype=INFO_DTYPE,
            info_labels=INFO_LABELS,
            default_info=INFO_COLUMNS,
            derived_dtype=DERIVED_DTYPE,
            bot_dtype=BOT_DTYPE,
            action_codec=AnyWholeNumber(),
            kernel_module="fastenv.prospector.kernels",
            core_module="fastenv.prospector._core",
            render_modes=("ansi", "rgb_array"),
            hidden=True,
        )

    def with_shared(self, shared: Array, trusted: bool = False) -> ProspectorGame:
        """Return the game with another ``time_max``; constants are constant."""
        config = ProspectorConfig(time_max=float(shared["rules"]["time_max"][0]))
        return self.accept_shared(ProspectorGame(config), shared, trusted)

    # -- the reference ---------------------------------------------------------------------------

    def create(self) -> reference.Prospector:
        return reference.Prospector(self.config.time_max)

    def unpack(self, row: Any) -> reference.Prospector:
        return position.unpack(row, self.config.time_max)

    def bot_action(
        self,
        game: reference.Prospector,
        params: np.void,
        agent: int,
        obs: Array,
        mask: npt.NDArray[np.uint8],
        rng: Rng,
    ) -> int:
        return bots.bot_action(int(params["kind"]), obs, mask, rng, int(params["target"]))

    def resample(self, game: reference.Prospector, agent: int, rng: Rng) -> None:
        resample.resample(game, rng)

    # -- the rest --------------------------------------------------------------------------------

    def validate(self, rows: Array) -> None:
        validate_rows(rows, self.rules)

    def describe(self, row: np.void) -> str:
        return "STATION" if row["current_node"] == 0 else "FIELD"

    def action_name(self, action: int, row: np.void | None = None) -> str:
        return view.ACTION_NAMES[action]

    def render(self, row: np.void, mode: str) -> Any:
        draw = render.render_ansi if mode == "ansi" else render.render_rgb
        return draw(row, self.config.time_max)

    def bot(self, name: str) -> Array:
        """Return a ``Bot``; ``market_timer_<commodity>`` is one that deals in another."""
        commodity = name.removeprefix("market_timer_") if isinstance(name, str) else ""
        if commodity != name and commodity in t.COMMODITIES:
            player = (bots.Bot.MARKET_TIMER, t.COMMODITIES.index(commodity))
        else:
            player = (bots.bot_kind(name), bots.TARGET)
        return np.array([player], BOT_DTYPE)


def random_options(rng: np.random.Generator) -> dict[str, Any]:
    """Draw options for ``python -m fastenv verify``: short and long games."""
    return {"time_max": float(rng.choice([50.0, 300.0, 2000.0, t.TIME_MAX]))}
