"""Asteroid Prospector: mine, haul and sell in an asteroid belt, with pirates about.

``ProspectorGame`` hands the three implementations of this folder to the house; see
``docs/prospector.md`` for the rules, the frozen interface and the layout of the observation.
"""

# The methods of ProspectorGame are documented in Game.
# ruff: noqa: D102

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.game import Core, Game, Kernels
from fastenv.prospector import bots, encoding, position, reference, render, view
from fastenv.prospector import tables as t
from fastenv.prospector.config import ProspectorConfig
from fastenv.prospector.layout import INFO_COLUMNS, INFO_KINDS, REWARD_TERMS
from fastenv.prospector.state import STATE_DTYPE
from fastenv.prospector.validate import validate_rows
from fastenv.rng import Rng

__all__ = ["ProspectorConfig", "ProspectorGame", "make_game", "random_options"]

Array = npt.NDArray[Any]


def make_game(**options: Any) -> ProspectorGame:
    """Return a game with the options of :class:`ProspectorConfig`."""
    return ProspectorGame(ProspectorConfig.from_options(**options))


class ProspectorGame(Game):
    """Asteroid Prospector, configured.

    Parameters
    ----------
    config : ProspectorConfig
    """

    num_actions = t.NUM_ACTIONS
    obs_shape = (t.OBS_DIM,)
    float_dtype = np.dtype(np.float64)
    state_dtype = STATE_DTYPE
    info_columns = INFO_COLUMNS
    info_dtype = np.dtype(np.float64)
    info_kinds = INFO_KINDS
    float_columns = REWARD_TERMS
    default_columns = INFO_COLUMNS
    lazy = True
    bots_see_obs = True
    any_integer = True
    kernel_module = "fastenv.prospector.kernels"
    core_module = "fastenv.prospector._core"
    render_modes = ("ansi", "rgb_array")

    def __init__(self, config: ProspectorConfig) -> None:
        self.config = config
        self.rules = config.rules_record()

    def __reduce__(self) -> tuple[type[ProspectorGame], tuple[ProspectorConfig]]:
        """Rebuild from the config."""
        return ProspectorGame, (self.config,)

    # -- the reference ---------------------------------------------------------------------------

    def create(self) -> reference.Prospector:
        return reference.Prospector(self.config.time_max)

    def reset(self, game: reference.Prospector, knobs: np.void, seed: int | None) -> None:
        game.reset(seed)

    def step(self, game: reference.Prospector, action: int) -> None:
        game.step(action)

    def pack(self, game: reference.Prospector, row: np.void) -> None:
        position.pack(game, row)

    def unpack(self, row: np.void) -> reference.Prospector:
        return position.unpack(row, self.config.time_max)

    def encode_obs(self, game: reference.Prospector, out: Array) -> None:
        encoding.encode_obs(game, out)

    def action_mask(self, game: reference.Prospector, out: npt.NDArray[np.uint8]) -> None:
        encoding.action_mask(game, out)

    def reward(self, game: reference.Prospector, columns: Array) -> float:
        reward, columns[:] = encoding.apply_reward(game)
        return reward

    def info(self, game: reference.Prospector, out: Array) -> None:
        encoding.info(game, out)

    # -- the compiled twins ----------------------------------------------------------------------

    def kernels(self) -> Kernels:
        return _Kernels(self.rules)

    def core(self, states: Array, knobs: Array, num_threads: int) -> Core:
        module = importlib.import_module(self.core_module)
        rules, tables = (record.view(np.uint8) for record in (self.rules, t.TABLES))
        core: Core = module.BatchCore(states, knobs, rules, tables, num_threads)
        return core

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

    def bot_kind(self, name: str) -> int:
        """Return a ``Bot``; ``market_timer_<commodity>`` is one that deals in another."""
        commodity = name.removeprefix("market_timer_")
        if commodity != name and commodity in t.COMMODITIES:
            return _TIMER_OF + t.COMMODITIES.index(commodity)
        return bots.bot_kind(name)

    def bot_action_seen(
        self, obs: Array, mask: Array, kind: int, rng_state: npt.NDArray[np.uint64]
    ) -> int:
        rng = Rng()
        rng.state = rng_state.tolist()
        bot, target = _player(kind)
        action = bots.bot_action(bot, obs, mask, rng, target)
        rng_state[:] = rng.state
        return action


class _Kernels:
    """The Numba kernels with rules and tables filled in."""

    def __init__(self, rules: Array) -> None:
        self._module: Any = importlib.import_module(ProspectorGame.kernel_module)
        self._rules = rules
        self.reward_many = self._module.reward_many
        self.info_many = self._module.info_many
        self.addresses = self._module.addresses

    def bot_many(
        self, kind: int, obs: Array, mask: Array, select: Array, rng_states: Array, out: Array
    ) -> None:
        bot, target = _player(kind)
        self._module.bot_many(bot, obs, mask, select, rng_states, out, target)

    def observe_many(self, rows: Array, select: Array, obs: Array, mask: Array) -> None:
        self._module.observe_many(rows, self._rules, t.TABLES, select, obs, mask)


_TIMER_OF = 16  # + commodity: numbers of market timers


def _player(kind: int) -> tuple[int, int]:
    """Return the bot of a number, and the commodity it deals in."""
    if kind >= _TIMER_OF:
        return bots.Bot.MARKET_TIMER, kind - _TIMER_OF
    return kind, bots.TARGET


def random_options(rng: np.random.Generator) -> dict[str, Any]:
    """Draw options for ``python -m fastenv verify``: short and long games."""
    return {"time_max": float(rng.choice([50.0, 300.0, 2000.0, t.TIME_MAX]))}
