"""Dr. Mario: falling pills against viruses, frame by frame, by the rules of the console.

``DrMarioGame`` is the three implementations of this folder as one game; ``docs/drmario.md`` is the
rule book.
"""

# The methods of DrMarioGame are documented in Game.
# ruff: noqa: D102

from __future__ import annotations

import dataclasses
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.backend import Backend
from fastenv.configured import ConfiguredGame
from fastenv.drmario import (
    bots,
    considering,
    encoding,
    position,
    render,
    rewards,
    successors,
    worlds,
)
from fastenv.drmario import tables as t
from fastenv.drmario.config import ACTIONS, KNOBS, MODES, DrMarioConfig, write_knobs
from fastenv.drmario.deriving import derive_function
from fastenv.drmario.layout import (
    INFO_LABELS,
    OBSERVATIONS,
    TERMS_DTYPE,
    default_info,
    info_dtype,
    obs_bounds,
)
from fastenv.drmario.placement import new_game
from fastenv.drmario.reference import DrMario
from fastenv.drmario.state import (
    BOT_DTYPE,
    FORMER_PLAYER_DTYPE,
    KNOBS_DTYPE,
    derived_dtype,
    shared_record,
    state_dtype,
)
from fastenv.drmario.steering import FrameSteering, PlacementSteering
from fastenv.drmario.validate import validate_rows
from fastenv.errors import ConfigError, show, with_nearest
from fastenv.game import Compiled, GameSpec, Steering
from fastenv.rng import Rng

__all__ = ["DrMarioConfig", "DrMarioGame", "make_game", "random_options"]

Array = npt.NDArray[Any]


def make_game(**options: Any) -> DrMarioGame:
    """Return a game with the options of :class:`DrMarioConfig`."""
    return DrMarioGame(DrMarioConfig.from_options(**options))


class DrMarioGame(ConfiguredGame):
    """Dr. Mario, configured.

    Parameters
    ----------
    config : DrMarioConfig
    """

    goal = "Clear all viruses: four cells of one colour in a line vanish."

    config: DrMarioConfig
    position: ModuleType = position

    def __init__(self, config: DrMarioConfig) -> None:
        super().__init__(config)
        self.bot_names: tuple[str, ...] = bots.names_of(config)
        slow = tuple(t.LOOKING_AHEAD) if config.placement else self.bot_names[1:]
        self.slow_bots: tuple[str, ...] = slow
        self.shared: Array = shared_record(config.rules_record(), config.demo_record())
        self.shared.flags.writeable = False
        self.demo: Array | None = None if config.demo is None else self.shared["demo"]
        record, agents = config.obs_record(), config.agents
        bounds: Any = obs_bounds(record, config.obs)
        planes = record["planes"]
        shown: dict[str, Any] = {"obs_dtype": record, "obs_bounds": bounds}
        if record.names == ("planes",):
            shown = {"obs_dtype": planes.base, "obs_shape": planes.shape}
            shown["obs_bounds"] = bounds["planes"]
        self.spec: GameSpec = GameSpec(
            **shown,
            num_actions=config.num_actions,
            num_agents=agents,
            opponent="random" if agents == 2 else None,
            order="mixed" if config.placement else "together",
            state_dtype=state_dtype(agents, config.stack),
            former_dtype=state_dtype(agents, config.stack, FORMER_PLAYER_DTYPE),
            tail=("stack",) if config.stack > 1 else (),
            terms_dtype=TERMS_DTYPE,
            info_dtype=info_dtype(agents),
            info_labels=INFO_LABELS,
            default_info=default_info(agents),
            knobs_dtype=KNOBS_DTYPE,
            derived_dtype=derived_dtype(agents) if config.placement else None,
            bot_dtype=BOT_DTYPE,
            kernel_module="fastenv.drmario.kernels",
            core_module="fastenv.drmario._core",
            render_modes=("ansi", "rgb_array"),
            hidden=True,
            stops=worlds.STOPS,
        )

    def with_shared(self, shared: Array, trusted: bool = False) -> DrMarioGame:
        """Return the game with other rules, as far as `DrMarioConfig.with_rules` takes them."""
        config = self.config.with_rules(shared["rules"][0])
        return self.accept_shared(DrMarioGame(config), shared, trusted)

    # -- the reference ---------------------------------------------------------------------------

    def create(self) -> DrMario:
        return new_game(self.config, self.demo)

    def reset(self, game: DrMario, knobs: np.void, seed: int | None) -> None:
        game.reset(knobs, seed)

    def step(self, game: DrMario, action: Any) -> None:
        game.step(action if game.versus else [action])

    def unpack(self, row: Any) -> DrMario:
        return position.unpack(row, self.config, self.demo)

    def unpack_seen(self, row: Any, game: DrMario | None = None) -> DrMario:
        return self.unpack(row) if game is None else position.fill(game, row)

    def encode_obs(self, game: DrMario, out: Array) -> None:
        encoding.encode_obs(game, game.costs(), out)

    def action_mask(self, game: DrMario, out: npt.NDArray[np.uint8]) -> None:
        encoding.action_mask(game, game.costs(), out)

    def reward(self, game: DrMario) -> tuple[Any, Any]:
        paid, terms = rewards.reward(game)
        return (paid, terms) if game.versus else (paid[0], terms[0])

    def info(self, game: DrMario) -> tuple[Any, ...]:
        return encoding.info(game, game.costs())

    def bot_action(
        self,
        game: DrMario,
        params: np.void,
        agent: int,
        obs: Array,
        mask: npt.NDArray[np.uint8],
        rng: Rng,
    ) -> int:
        return bots.bot_action(params, game, agent, mask, rng)

    def resample(self, game: DrMario, agent: int, rng: Rng) -> None:
        worlds.resample(game, agent, rng)

    def stopped(self, game: DrMario, start: DrMario, until: str, number: int) -> bool:
        return worlds.stopped(game, start, number)

    # -- the compiled twins ----------------------------------------------------------------------

    @cached_property
    def _derive(self) -> Any:
        return derive_function(self)

    def kernels(self) -> Compiled:
        """Return the kernels; costs are planned in plain Python unless there is a core."""
        from fastenv.drmario import kernels

        functions = kernels.functions(self.config.agents)
        if not self.config.placement:
            return functions
        return dataclasses.replace(functions, derive=self._derive.address)

    def core(self) -> Any:
        from fastenv.drmario import _core

        tables = _core.PLACEMENTS if self.config.placement else _core.FRAMES
        return tables[self.config.agents]

    # -- players ---------------------------------------------------------------------------------

    def outcomes(self, rows: Array) -> npt.NDArray[np.float64]:
        """Return 1 for a match won, -1 for one lost, 0 for both, none or one that goes on."""
        if self.config.agents == 1:
            return super().outcomes(rows)
        players: Any = rows["players"]
        clear, fail = (players[name].astype(np.float64) for name in ("stage_clear", "level_fail"))
        by_clear = (rows["reason"] == t.Reason.CLEAR)[:, None]
        ahead = np.where(by_clear, clear - clear[:, ::-1], fail[:, ::-1] - fail)
        found: npt.NDArray[np.float64] = np.where((rows["done"] == 1)[:, None], ahead, 0.0)
        return found

    def decisions(self, rows: Array) -> npt.NDArray[np.int32]:
        counted: npt.NDArray[np.int32] = rows["players"]["decisions"]
        return counted if self.spec.order == "mixed" else super().decisions(rows)

    def successors(
        self,
        rows: Array,
        agent: int = 0,
        backend: str | Backend = "auto",
        trusted: bool = False,
    ) -> tuple[npt.NDArray[np.int32], Array]:
        """Return the result of every reachable placement, with its frames counted.

        Many times as fast as steps: nothing is planned, observed or kept for the next decision.

        Parameters
        ----------
        rows : ndarray of the spec's ``state_dtype``, shape (n,)
            Those where the agent has no decision to make have none.
        agent : int
            Whose decisions; in a match no attack comes meanwhile.
        backend : str or Backend
            As for an engine.
        trusted : bool
            Whether they are known to be states of this game, and need no check.

        Returns
        -------
        parents : ndarray of int32, shape (k,)
            The row that each belongs to, rising.
        found : ndarray of ``fastenv.drmario.state.SUCCESSOR_DTYPE``, shape (k,)
            By row, then by action. ``max_wait_frames`` is not looked at.

        Raises
        ------
        ConfigError
            Where decisions are frames, or there is no such agent.
        StateError
            For rows that are none of this game.
        """
        return successors.of_rows(self, rows, agent, backend, trusted)

    # -- the rest --------------------------------------------------------------------------------

    def default_knobs(self, n: int) -> Array:
        return np.repeat(self.config.knobs_record(), n)

    def set_knob(self, knobs: Array, name: str, value: Any) -> None:
        if name not in KNOBS:
            message = f"{show(name)} is not a knob; there are {', '.join(KNOBS)}"
            raise ConfigError(with_nearest(message, name, KNOBS))
        write_knobs(knobs, self.config.agents, {name: value})

    def get_knob(self, knobs: np.void, name: str) -> Any:
        if name not in KNOBS:
            raise AttributeError(f"{show(name)} is not a knob; there are {', '.join(KNOBS)}")
        if name in ("level", "speed"):
            pair = knobs[name].tolist()
            values = [t.SPEEDS[value] for value in pair] if name == "speed" else pair
            return tuple(values) if self.config.agents == 2 else values[0]
        value = int(knobs[name])
        nothing = -1 if name == "game_seed" else 0
        return None if value == nothing else value

    def validate(self, rows: Array) -> None:
        validate_rows(rows, self.config)

    def describe(self, row: np.void) -> str:
        return "PLACEMENT" if self.config.placement else "FRAME"

    def action_name(self, action: int, row: np.void | None = None) -> str:
        """Return the cells of a placement (docs/drmario.md, 11.3); buttons keep their number."""
        if not self.config.placement:
            return str(action)
        orientation, cell = divmod(action, t.CELLS)
        r, c = divmod(cell, t.COLUMNS)
        side = ("right", "below", "left", "above")[orientation]
        return f"row {r}, column {c}, second half {side}"

    def render(self, row: np.void, mode: str) -> Any:
        return render.render_ansi(row) if mode == "ansi" else render.render_rgb(row)

    def render_seat(self, row: np.void, seat: int, mode: str) -> Any:
        """Draw a match without what the opponent has chosen (docs/drmario.md, 12.7)."""
        if self.config.agents == 2:
            row = row.copy()
            row["players"]["plan_left"][1 - seat] = 0
        return self.render(row, mode)

    def render_choice(self, row: np.void, action: int, mode: str) -> Any:
        """Draw where a placement puts the pill; buttons, and seats of a match, have no mark."""
        one = self.config.placement and self.config.agents == 1
        ghosts = {0: int(action)} if one else None
        if mode == "ansi":
            return render.render_ansi(row, ghosts=ghosts)
        return render.render_rgb(row, ghosts)

    def steering(self, row: np.void) -> Steering | None:
        if not self.config.placement:
            return FrameSteering(row, self.config.actions == "buttons")
        costs = self.unpack(row).costs()[0]
        if costs is None or min(costs) == t.INFEASIBLE:
            return None
        return PlacementSteering(row, costs)

    @property
    def bots_that_look_ahead(self) -> tuple[str, ...]:
        placed = self.config.placement
        return tuple(name for name in self.bot_names if name in t.LOOKING_AHEAD and placed)

    def considered(
        self, row: np.void, agent: int, bot: str, backend: str | Backend = "auto"
    ) -> Array | None:
        return considering.considered(self, row, agent, bot, backend)

    def bot(self, name: str) -> Array:
        kind = bots.bot_kind(name, self.config)
        looking, weights = t.LOOKING_AHEAD.get(name), t.GREEDY
        if looking is not None:
            weights = t.LOOKAHEAD_FAR if looking.second else t.LOOKAHEAD
        return np.array([(kind, *(looking or t.Looking(0)), *weights.values())], BOT_DTYPE)


def random_options(
    rng: np.random.Generator, agents: int = 1, placement: bool = True
) -> dict[str, Any]:
    """Draw options for ``python -m fastenv verify``: levels, speeds, budgets, observations.

    Parameters
    ----------
    rng : numpy Generator
    agents, placement
        What the id fixes.
    """

    def pick(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    levels = rng.integers(0 if agents == 2 else t.LOWEST_LEVEL, t.HIGHEST_LEVEL + 1, 2).tolist()
    names = [name for name in OBSERVATIONS if placement or "mask" not in name]
    extras = ["pill", pick("aux", "aux_vs"), *(["costs", "candidates"] if placement else [])]
    speeds = [pick(*t.SPEEDS, "high") for _ in range(2)]
    options: dict[str, Any] = {
        "level": pick(tuple(levels), levels[0]) if agents == 2 else levels[0],
        "speed": pick(tuple(speeds), speeds[0]) if agents == 2 else speeds[0],
        "game_seed": pick(None, None, int(rng.integers(t.FIRST_SEED, t.LAST_SEED + 1))),
        "seed_registry": pick(False, False, True),
        "task_max_frames": pick(None, 600),
        "task_max_spawns": pick(None, 5),
        "obs": pick(*names),
        "obs_dtype": pick("float32", "uint8"),
        "extras": tuple(name for name in extras if rng.random() < 0.3),
        "first_frame": int(rng.integers(2**32)),
        "intro_frames": int(rng.integers(1, 200)),
        "time_penalty_per_60_frames": pick(0.0, -0.1),
    }
    if placement:
        options["extended_inputs"] = pick(False, False, True)
        options["max_wait_frames"] = pick(t.MAX_WAIT, t.MAX_WAIT, 70)
        options["candidates"] = pick(4, 128)
        options["mode"] = pick(*MODES) if agents == 1 else MODES[0]  # replay compares scripts
    else:
        options["actions"], options["stack"] = pick(*ACTIONS), pick(1, t.STACK)
        options["column_height_penalty"] = pick(0.0, -0.02)
    return options
