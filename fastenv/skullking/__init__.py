"""Skull King: a trick-taking card game with bidding, hidden hands and odd cards.

``SkullKingGame`` is the three implementations of this folder as one game; see
``docs/skullking.md`` for the rules, the tiers and the layout of the observation.
"""

# The methods of SkullKingGame are documented in Game.
# ruff: noqa: D102

from __future__ import annotations

from functools import cached_property
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.configured import ConfiguredGame
from fastenv.errors import ConfigError, show, with_nearest
from fastenv.game import Compiled, GameSpec
from fastenv.rng import Rng
from fastenv.seats import SeatFields, Seats
from fastenv.skullking import (
    bots,
    encoding,
    position,
    reference,
    render,
    rollouts,
    view,
    worlds,
)
from fastenv.skullking import tables as t
from fastenv.skullking.config import (
    ABILITY_PIRATES,
    PHASE_ROUNDS,
    SkullKingConfig,
    phase_names,
    weight_names,
)
from fastenv.skullking.layout import INFO_DTYPE, SEATS_DTYPE, TERMS_DTYPE
from fastenv.skullking.state import BOT_DTYPE, KNOBS_DTYPE, SHARED_DTYPE, STATE_DTYPE, TABLES
from fastenv.skullking.validate import validate_rows

__all__ = ["SkullKingConfig", "SkullKingGame", "make_game", "random_options"]

Array = npt.NDArray[Any]
FIELDS = SeatFields("actor", "agent", "bots", int(t.Bot.EXTERNAL), unit=0.1)
_KNOB_ALIASES = {"opponent": "opponents", "phases": "allowed_phases", "pirate": "pirates"}


def make_game(**options: Any) -> SkullKingGame:
    """Return a game with the options of :class:`SkullKingConfig`."""
    return SkullKingGame(SkullKingConfig.from_options(**options))


class SkullKingGame(ConfiguredGame):
    """Skull King, configured.

    Parameters
    ----------
    config : SkullKingConfig
    """

    bot_names: tuple[str, ...] = tuple(t.BOT_NAMES)
    goal = (
        "Say before each round how many tricks you will win, then win exactly as many: that is "
        "what pays."
    )

    pays_rollouts = False  # the official points are the outcome
    bots_read_obs = False

    config: SkullKingConfig
    position: ModuleType = position
    encoding: ModuleType = encoding

    def __init__(self, config: SkullKingConfig) -> None:
        super().__init__(config)
        self.rules: Array = config.rules_record()
        self.shared: Array = np.zeros(1, SHARED_DTYPE)
        self.shared["rules"], self.shared["tables"] = self.rules, TABLES
        self.shared.flags.writeable = False
        self.spec: GameSpec = GameSpec(
            num_actions=t.NUM_ACTIONS,
            state_dtype=STATE_DTYPE,
            obs_shape=(int(self.rules["obs_dim"][0]),),
            terms_dtype=TERMS_DTYPE,
            info_dtype=SEATS_DTYPE if config.seats == "all" else INFO_DTYPE,
            knobs_dtype=KNOBS_DTYPE,
            bot_dtype=BOT_DTYPE,
            illegal_actions="raise" if config.invalid_action == "raise" else "play",
            kernel_module="fastenv.skullking.kernels",
            core_module="fastenv.skullking._core",
            render_modes=("ansi", "rgb_array"),
            hidden=True,
            stops=rollouts.STOPS,
        )

    def with_shared(self, shared: Array, trusted: bool = False) -> SkullKingGame:
        """Return the game with other rules, as far as `SkullKingConfig.with_rules` takes them."""
        config = self.config.with_rules(shared["rules"][0])
        return self.accept_shared(SkullKingGame(config), shared, trusted)

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

    def pack_seen(self, game: reference.SkullKing) -> bytes:
        return position.pack_seen(game)

    def unpack(self, row: Any) -> reference.SkullKing:
        return reference.unpack(row, self._plain_rules, self._some_knobs)

    def bot_action(
        self,
        game: reference.SkullKing,
        params: np.void,
        agent: int,
        obs: Array,
        mask: npt.NDArray[np.uint8],
        rng: Rng,
    ) -> int:
        return bots.bot_action(game, t.Bot(params["kind"]), rng)

    # -- search ----------------------------------------------------------------------------------

    @property
    def num_seats(self) -> int:
        return self.config.num_players

    def resample(self, game: reference.SkullKing, agent: int, rng: Rng) -> None:
        worlds.resample(game, agent, rng)

    def begin_rollout(
        self, game: reference.SkullKing, players: Array | None, until: str | None, rng: Rng
    ) -> None:
        kinds = None if players is None else players["kind"].tolist()
        rollouts.begin(game, kinds, until, rng)

    def stopped(
        self, game: reference.SkullKing, start: reference.SkullKing, until: str, number: int
    ) -> bool:
        return rollouts.stopped(game, start, until, number)

    def seat_of(self, game: reference.SkullKing, agent: int) -> int:
        return game.actor

    # -- the compiled twins ----------------------------------------------------------------------

    def kernels(self) -> Compiled:
        from fastenv.skullking import kernels

        rules = self.rules[0]
        return kernels.functions(int(rules["tier"]), bool(rules["all_seats"]))

    # -- players ---------------------------------------------------------------------------------

    @property
    def seats(self) -> Seats | None:
        """How the players meet: in turns. In rounds alone they do not, but by ``seats="all"``."""
        config = self.config
        if config.tier != "flat" and config.seats != "all":
            return None
        outside = config.seats_outside() if config.seats == "all" else ()
        return Seats(config.num_players, "turns", "opponents", outside, FIELDS)

    @property
    def external_seats(self) -> Seats | None:
        """Return :attr:`seats`, and those of rounds in which others bid and play beside the agent.

        A Manager's step is a whole round, whose cards are played by rule.
        """
        if self.seats is None and self.config.tier != "manager":
            return Seats(self.config.num_players, "turns", "opponents", fields=FIELDS)
        return self.seats

    def outcomes(self, rows: Array) -> npt.NDArray[np.float64]:
        """Return the official points of all seats."""
        points: npt.NDArray[np.float64] = rows["total"].astype(np.float64)
        return points[:, : self.config.num_players]

    # -- the rest --------------------------------------------------------------------------------

    def default_knobs(self, n: int) -> Array:
        return self.config.default_knobs(n)

    def set_knob(self, knobs: Array, name: str, value: Any) -> None:
        """Write a knob; see :meth:`SkullKingConfig.set_knob` for names and values."""
        self.config.set_knob(knobs, _KNOB_ALIASES.get(name, name), value)

    def get_knob(self, knobs: np.void, name: str) -> Any:
        """Return a knob as :meth:`set_knob` takes it; weights by their name if they have one.

        Raises
        ------
        AttributeError
            For any other name.
        """
        bits, rounds = int(knobs["pirates"]), len(self.config.hand_sizes())
        values: dict[str, Any] = {
            "opponents": [
                t.Bot(kind).name.lower() for kind in knobs["opponents"][1 : self.config.num_players]
            ],
            "agent_seat": "rotate" if knobs["agent_seat"] < 0 else int(knobs["agent_seat"]),
            "goal_mode": t.GoalMode(knobs["goal_mode"]).name.lower(),
            "goal": int(knobs["goal"]),
            "enable_abilities": bool(knobs["abilities"]),
            "pirates": tuple(pirate for k, pirate in enumerate(ABILITY_PIRATES) if bits >> k & 1),
            "round_weights": weight_names(knobs["round_weights"], rounds),
            "allowed_phases": phase_names(int(knobs["allowed_phases"])),
        }
        values["round_sampling"] = values["round_weights"], values["allowed_phases"]
        name = _KNOB_ALIASES.get(name, name)
        if name not in values:
            raise AttributeError(f"Skull King has no knob {show(name)}")
        return values[name]

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

    def render_seat(self, row: np.void, seat: int, mode: str) -> Any:
        """Draw the table as any player sees it; :meth:`render` draws it for who decides."""
        if seat != row["actor"]:
            row = row.copy()
            row["actor"], row["first_discard"] = seat, -1  # the discard is the other's
        return self.render(row, mode)

    def bot(self, name: str) -> Array:
        """Return a ``Bot`` by its name."""
        if not isinstance(name, str) or name not in t.BOT_NAMES:
            message = f"bot {show(name)}: must be one of {', '.join(map(repr, t.BOT_NAMES))}"
            raise ConfigError(with_nearest(message, name, t.BOT_NAMES))
        return np.array([(t.BOT_NAMES[name],)], BOT_DTYPE)


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
        "abilities": pick("off", "auto", *(["agent"] * 4 if tier in ("flat", "ability") else [])),
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
    if rng.integers(2):
        options["invalid_action"] = "raise"
        names += ["external"] * 4
        options["seats"] = pick("agent", "all")
        if options["seats"] == "all" and options["reward"] == "shaped":
            options["reward"] = "points"
    options["opponents"] = tuple(pick(*names) for _ in range(options["num_players"] - 1))
    try:
        SkullKingConfig.from_options(tier=tier, allowed_phases=phases, **options)
    except ConfigError:  # a short schedule may have no round in these phases
        return options
    return options | {"allowed_phases": tuple(phases)}
