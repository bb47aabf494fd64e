"""Skull King: a trick-taking card game with bidding, hidden hands and odd cards.

``SkullKingGame`` hands the three implementations of this folder to the house; see
``docs/skullking.md`` for the rules, the tiers and the layout of the observation.
"""

# The methods of SkullKingGame are documented in Game.
# ruff: noqa: D102

from __future__ import annotations

import importlib
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.errors import ConfigError
from fastenv.game import Core, Game, Kernels
from fastenv.rng import Rng
from fastenv.skullking import bots, encoding, reference, render, view
from fastenv.skullking import tables as t
from fastenv.skullking.config import ABILITY_PIRATES, PHASE_ROUNDS, SkullKingConfig
from fastenv.skullking.layout import INFO_COLUMNS, REWARD_COLUMNS
from fastenv.skullking.state import KNOBS_DTYPE, STATE_DTYPE, TABLES
from fastenv.skullking.validate import validate_rows

__all__ = ["SkullKingConfig", "SkullKingGame", "make_game", "random_options"]

Array = npt.NDArray[Any]
_KNOB_ALIASES = {"opponent": "opponents", "phases": "allowed_phases", "pirate": "pirates"}


def make_game(**options: Any) -> SkullKingGame:
    """Return a game with the options of :class:`SkullKingConfig`."""
    return SkullKingGame(SkullKingConfig.from_options(**options))


class SkullKingGame(Game):
    """Skull King, configured.

    Parameters
    ----------
    config : SkullKingConfig
    """

    num_actions = t.NUM_ACTIONS
    state_dtype = STATE_DTYPE
    knobs_dtype = KNOBS_DTYPE
    info_columns = INFO_COLUMNS
    float_columns = REWARD_COLUMNS
    kernel_module = "fastenv.skullking.kernels"
    core_module = "fastenv.skullking._core"
    render_modes = ("ansi", "rgb_array")

    def __init__(self, config: SkullKingConfig) -> None:
        self.config = config
        self.rules = config.rules_record()
        self.obs_shape = (int(self.rules["obs_dim"][0]),)
        self.raise_illegal = config.invalid_action == "raise"

    def __reduce__(self) -> tuple[type[SkullKingGame], tuple[SkullKingConfig]]:
        """Rebuild from the config."""
        return SkullKingGame, (self.config,)

    # -- the reference ---------------------------------------------------------------------------

    @cached_property
    def _plain_rules(self) -> SimpleNamespace:
        return reference.to_namespace(self.rules[0])

    @cached_property
    def _some_knobs(self) -> SimpleNamespace:
        return reference.to_namespace(self.config.default_knobs(1))

    def create(self) -> reference.SkullKing:
        return reference.SkullKing(self._plain_rules, self._some_knobs)

    def reset(self, game: reference.SkullKing, knobs: np.void, seed: int | None) -> None:
        game.knobs = reference.to_namespace(knobs)
        game.reset(seed)

    def step(self, game: reference.SkullKing, action: int) -> None:
        game.step(action)

    def pack(self, game: reference.SkullKing, row: np.void) -> None:
        reference.pack(game, row)

    def unpack(self, row: np.void) -> reference.SkullKing:
        return reference.unpack(row, self._plain_rules, self._some_knobs)

    def encode_obs(self, game: reference.SkullKing, out: Array) -> None:
        encoding.encode_obs(game, out)

    def action_mask(self, game: reference.SkullKing, out: npt.NDArray[np.uint8]) -> None:
        encoding.action_mask(game, out)

    def reward(self, game: reference.SkullKing, columns: Array) -> float:
        reward, columns[:] = encoding.apply_reward(game)
        return reward

    def info(self, game: reference.SkullKing, out: npt.NDArray[np.int32]) -> None:
        encoding.info(game, out)

    # -- the compiled twins ----------------------------------------------------------------------

    def kernels(self) -> Kernels:
        return _Kernels(self.rules)

    def core(self, states: Array, knobs: Array, num_threads: int) -> Core:
        module = importlib.import_module(self.core_module)
        rules, tables = (record.view(np.uint8) for record in (self.rules, TABLES))
        core: Core = module.BatchCore(states, knobs, rules, tables, num_threads)
        return core

    # -- the rest --------------------------------------------------------------------------------

    def default_knobs(self, n: int) -> Array:
        return self.config.default_knobs(n)

    def set_knob(self, knobs: Array, name: str, value: Any) -> None:
        """Write a knob; see :meth:`SkullKingConfig.set_knob` for names and values."""
        self.config.set_knob(knobs, _KNOB_ALIASES.get(name, name), value)

    def get_knob(self, knobs: np.void, name: str) -> Any:
        """Return a knob as :meth:`set_knob` takes it; the sampling of rounds cannot be read back.

        Raises
        ------
        AttributeError
            For any other name.
        """
        name = _KNOB_ALIASES.get(name, name)
        if name == "opponents":
            kinds = knobs["opponents"][1 : self.config.num_players]
            return [t.Bot(kind).name.lower() for kind in kinds]
        if name == "agent_seat":
            seat = int(knobs["agent_seat"])
            return "rotate" if seat < 0 else seat
        if name == "goal_mode":
            return t.GoalMode(knobs["goal_mode"]).name.lower()
        if name == "goal":
            return int(knobs["goal"])
        if name == "enable_abilities":
            return bool(knobs["abilities"])
        if name == "pirates":
            bits = int(knobs["pirates"])
            return tuple(pirate for k, pirate in enumerate(ABILITY_PIRATES) if bits >> k & 1)
        raise AttributeError(f"Skull King has no readable knob {name!r}")

    def validate(self, rows: Array) -> None:
        validate_rows(rows, self.rules)

    def describe(self, row: np.void) -> str:
        return t.Phase(row["phase"]).name

    def action_name(self, action: int, row: np.void | None = None) -> str:
        if row is None:
            return str(action)
        return view.action_name(action, row, self.rules[0])

    def render(self, row: np.void, mode: str) -> Any:
        draw = render.render_ansi if mode == "ansi" else render.render_rgb
        return draw(row, self.rules[0])

    def bot_kind(self, name: str) -> int:
        if name not in t.BOT_NAMES:
            raise ConfigError(f"bot {name!r}: must be one of {', '.join(map(repr, t.BOT_NAMES))}")
        return int(t.BOT_NAMES[name])

    def bot_action(
        self, game: reference.SkullKing, kind: int, rng_state: npt.NDArray[np.uint64]
    ) -> int:
        rng = Rng()
        rng.state = rng_state.tolist()
        action = bots.bot_action(game, t.Bot(kind), rng)
        rng_state[:] = rng.state
        return action


class _Kernels:
    """The Numba kernels with rules and tables filled in."""

    def __init__(self, rules: Array) -> None:
        self._module: Any = importlib.import_module(SkullKingGame.kernel_module)
        self._rules = rules

    def observe_many(self, rows: Array, select: Array, obs: Array, mask: Array) -> None:
        self._module.observe_many(rows, self._rules, TABLES, select, obs, mask)

    def reward_many(self, rows: Array, select: Array, reward: Array, columns: Array) -> None:
        self._module.reward_many(rows, self._rules, TABLES, select, reward, columns)

    def info_many(self, rows: Array, select: Array, info: Array) -> None:
        self._module.info_many(rows, self._rules, select, info)

    def addresses(self) -> tuple[int, ...]:
        addresses: tuple[int, int, int] = self._module.addresses(int(self._rules["tier"][0]))
        return addresses


def random_options(
    rng: np.random.Generator, tier: str, num_players: int | None = None
) -> dict[str, Any]:
    """Draw options for ``python -m fastenv verify``: every rule switch, 2 to 8 players.

    Parameters
    ----------
    rng : numpy Generator
    tier : str
        The tier, which the id fixes.
    num_players : int, optional
        Fixes the number of players.
    """

    def pick(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    schedules = [name for name, sizes in t.SCHEDULES.items() if len(sizes) > 1]
    phases = [phase for phase in PHASE_ROUNDS if rng.integers(2)]
    options: dict[str, Any] = {
        "num_players": num_players or int(rng.integers(2, t.MAX_PLAYERS + 1)),
        "deck": pick("full74", "full74", *t.DECKS, ("no_kraken", "no_loot")),
        "schedule": pick("classic", *schedules, (3, 1, 2), (10,) * 3),
        "scoring": pick(*(s.name.lower() for s in t.Scoring)),
        "abilities": pick("off", "auto", *(["agent"] * 4 if tier == "ability" else [])),
        "kraken_leader": pick("would_win", "left_of_kraken"),
        "whale_void_leader": pick("whale_player", "would_win"),
        "two_player": pick("graybeard", "plain"),
        "tigress": pick("auto", "agent"),
        "agent_seat": pick(0, 1, "rotate"),
        "reward": pick(*(r.name.lower() for r in t.Reward)),
        "obs_ext": pick(None, "memory"),
        "deals": pick("stream", "duplicate"),
        "mode": pick("round", "game"),
        "goal_mode": pick(*(g.name.lower() for g in t.GoalMode)),
        "goal": int(rng.integers(t.MAX_CARDS + 1)),
        "goal_bonus": pick(5.0, 0.0, 1.7),
        "pirates": tuple(pirate for pirate in ABILITY_PIRATES if rng.integers(4)),
        "enable_abilities": bool(rng.integers(8)),
        "round_weights": pick("plan", "linear", "uniform"),
    }
    for switch in ("late_suit", "trump_any_time", "tigress_bonus", "needed_after", "rosie_shaping"):
        options[switch] = bool(rng.integers(2))
    names = [*t.BOT_NAMES]
    if tier != "manager" and options["abilities"] == "off" and rng.integers(2):
        options["invalid_action"] = "raise"
        names += ["external"] * 4
    options["opponents"] = tuple(pick(*names) for _ in range(options["num_players"] - 1))
    try:
        SkullKingConfig.from_options(tier=tier, allowed_phases=phases, **options)
    except ConfigError:  # a short schedule may have no round in these phases
        return options
    return options | {"allowed_phases": tuple(phases)}
