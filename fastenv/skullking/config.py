"""Options of a Skull King environment (docs/skullking.md, 7, 10 and 11)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any, Self

import numpy as np

from fastenv.checks import as_array
from fastenv.errors import ConfigError, show, with_nearest
from fastenv.options import (
    GameConfig,
    check_boolean,
    check_choice,
    check_integer,
    check_known,
    check_number,
    refusal,
)
from fastenv.skullking import tables as t
from fastenv.skullking.layout import obs_dim
from fastenv.skullking.state import KNOBS_DTYPE, RULES_DTYPE

PHASE_ROUNDS = {"early": (1, 3), "mid": (4, 6), "late": (7, t.MAX_ROUNDS)}
ABILITY_PIRATES = ("rosie", "bendt", "rascal", "jade", "harry")
MIXED_OPPONENTS = ("rule_medium", "rule_hard", "heuristic")
PRESETS: dict[str, dict[str, Any]] = {
    "pi_compat": {
        "late_suit": True,
        "trump_any_time": True,
        "tigress_bonus": False,
        "two_player": "plain",
        "abilities": "off",
    }
}
MAX_BONUS = 1_000_000  # either way: rewards are float32, and returns their sums
_MOST_ITEMS = 100  # of a collection: more than any option has


# Fields of the rules that a shared record may replace: the option, and its values by number.
_OFF_ON = (False, True)
REPLACEABLE: dict[str, tuple[str, tuple[Any, ...]]] = {
    "full_game": ("mode", ("round", "game")),
    "scoring": ("scoring", tuple(x.name.lower() for x in t.Scoring)),
    "left_of_kraken": ("kraken_leader", ("would_win", "left_of_kraken")),
    "whale_void_would_win": ("whale_void_leader", ("whale_player", "would_win")),
    "late_suit": ("late_suit", _OFF_ON),
    "trump_any_time": ("trump_any_time", _OFF_ON),
    "tigress_bonus": ("tigress_bonus", _OFF_ON),
    "tigress_agent": ("tigress", ("auto", "agent")),
    "duplicate_deals": ("deals", ("stream", "duplicate")),
    "reward": ("reward", tuple(x.name.lower() for x in t.Reward)),
    "needed_after": ("needed_after", _OFF_ON),
    "rosie_shaping": ("rosie_shaping", _OFF_ON),
    "abilities": ("abilities", tuple(x.name.lower() for x in t.Abilities)),
}


# What seats="all" asks for: bots, shaped rewards and penalties belong to one agent alone.
TABLE = {"opponents": "external", "invalid_action": "raise", "reward": "points"}


def _listed(field: str, value: object, allowed: str) -> list[Any]:
    """Return the items of a collection, of which no option has hundreds."""
    try:
        each = iter(value)  # type: ignore[call-overload]
    except TypeError:  # it has none
        each = value
    # of an iterator the next to ask would find nothing left
    items = None if each is value else list(islice(each, _MOST_ITEMS + 1))
    if items is None or isinstance(value, str) or len(items) > _MOST_ITEMS:
        raise refusal(field, value, allowed)
    return items


def _names(field: str, value: object, allowed: Sequence[str]) -> tuple[str, ...]:
    chosen = tuple(_listed(field, value, "a collection of " + ", ".join(map(repr, allowed))))
    for name in chosen:
        check_choice(field, name, allowed)
    return chosen


@dataclass(frozen=True)
class SkullKingConfig(GameConfig):
    """Rules and options of a Skull King environment, validated on construction.

    Parameters
    ----------
    tier : {"flat", "manager", "worker", "ability"}
        Which view of the game the agent has; fixed by the environment id.
    num_players : int
        2 to 8.
    preset : {None, "pi_compat"}
        Sets several rule switches at once; explicit options win over it.
    deck : str or sequence of str
        "full74", "base70", "no_kraken", "no_whale", "no_loot", or several of the last three.
    schedule : str or sequence of int
        Cards dealt in each round: a preset name or 1 to 20 hand sizes of 1 to 10 cards.
    scoring : {"skull_king", "rascal", "rascal_cannon"}
        How a round is paid (docs/skullking.md, 5 and 7.1).
    abilities : {None, "off", "auto", "agent"}
        None is "agent" in the Ability tier and "off" elsewhere. "agent" (who is played from
        outside decides) is for that tier and the flat one, which then shows such decisions too.
    kraken_leader : {"would_win", "left_of_kraken"}
        Who leads after a trick that the Kraken destroyed (docs/skullking.md, 4.4).
    whale_void_leader : {"whale_player", "would_win"}
        Who leads after the White Whale over special cards alone (docs/skullking.md, 4.4).
    late_suit : bool
        The first numbered card anywhere in a trick sets the suit (docs/skullking.md, 3.5).
    trump_any_time : bool
        A Jolly Roger may be played although the lead suit is in hand (docs/skullking.md, 3.5).
    tigress_bonus : bool
        A Tigress played as pirate captures and is captured for bonuses (docs/skullking.md, 5).
    two_player : {"graybeard", "plain"}
        Whether two players play with a third hand (docs/skullking.md, 7.2).
    tigress : {"auto", "agent"}
        Who says whether a Tigress is a pirate or an escape: a rule, or the agent
        (docs/skullking.md, 8.3).
    seats : {"agent", "all"}
        "all": every seat is played from outside, and everybody bids, whatever the tier. Sets
        ``opponents="external"``, ``invalid_action="raise"`` and ``reward="points"``, unless they
        are given.
    opponents : str or sequence of str
        One of the bots for all seats, "mixed", or one name a seat in seat order after the agent:
        "random", "rule_easy", "rule_medium", "rule_hard", "rule_pi_easy", "rule_pi_medium",
        "rule_pi_hard", "heuristic", or "external" for a seat that is played from outside through
        ``step`` (with ``invalid_action="raise"``).
        A knob: can be changed with ``configure``.
    agent_seat : int or "rotate"
        Seat of the agent, or the next seat in every new episode. A knob.
    reward : {"shaped", "points", "points_rank"}
        What a step pays; info has all three.
    invalid_action : {"penalty", "raise"}
        What an action that is in range but illegal now does.
    obs_ext : {None, "memory"}
        "memory" appends three blocks of 74: own hand, played, known to be out of play.
    deals : {"stream", "duplicate"}
        "duplicate": the deals of an episode depend on its seed alone, so that the same deals can be
        replayed with the agent in another seat.
    mode : {"round", "game"}
        Manager tier: one bid an episode, or a whole game.
    round_weights : str or sequence of float
        "plan", "linear", "uniform", or one weight a round. A knob.
    allowed_phases : collection of {"early", "mid", "late"}
        Rounds that may be sampled; empty allows all. A knob.
    goal_mode : {"uniform", "fixed", "estimate", "manager"}
        Worker and Ability tiers. With "manager" the goal is an estimate until the trainer writes
        the Manager's bid into the state row (``bid`` of the agent). A knob.
    goal : int
        The goal of ``goal_mode="fixed"``, at most the cards dealt. A knob.
    goal_bonus : float
        Reward for reaching the goal, at most 1,000,000 either way.
    needed_after : bool
        Count the trick just won before judging it, as an earlier implementation did.
    rosie_shaping : bool
        Pay +0.1 for choosing oneself with Rosie and -0.05 otherwise.
    enable_abilities : bool
        False switches abilities off. A knob.
    pirates : collection of str
        Pirates whose abilities the agent decides himself; a rule decides the others. A knob.

    Raises
    ------
    ConfigError
        Naming the field, its value and the allowed values.
    """

    tier: str = "flat"
    num_players: int = 4
    preset: str | None = None
    deck: str | Sequence[str] = "full74"
    schedule: str | Sequence[int] = "classic"
    scoring: str = "skull_king"
    abilities: str | None = None
    kraken_leader: str = "would_win"
    whale_void_leader: str = "whale_player"
    late_suit: bool = False
    trump_any_time: bool = False
    tigress_bonus: bool = True
    two_player: str = "graybeard"
    tigress: str = "auto"
    seats: str = "agent"
    opponents: str | Sequence[str] = "rule_medium"
    agent_seat: int | str = 0
    reward: str = "shaped"
    invalid_action: str = "penalty"
    obs_ext: str | None = None
    deals: str = "stream"
    mode: str = "round"
    round_weights: str | Sequence[float] = "plan"
    allowed_phases: Sequence[str] = ()
    goal_mode: str = "uniform"
    goal: int = 0
    goal_bonus: float = 5.0
    needed_after: bool = False
    rosie_shaping: bool = False
    enable_abilities: bool = True
    pirates: Sequence[str] = ABILITY_PIRATES

    def __post_init__(self) -> None:
        """Validate by resolving everything once."""
        for part in fields(self):
            value = getattr(self, part.name)
            if isinstance(value, np.ndarray):
                value = as_array(part.name, value, ConfigError).tolist()
            if isinstance(value, list):  # whoever gave it may write into it
                object.__setattr__(self, part.name, tuple(value))
        self.rules_record()
        self.default_knobs(1)

    @classmethod
    def from_options(cls, **options: Any) -> Self:
        """Build a config from keyword options, resolving ``preset``.

        Raises
        ------
        ConfigError
            For an unknown option or preset, or a value that is not allowed.
        """
        check_known(options, "Skull King", sorted(f.name for f in fields(cls)), ("tier",))
        preset = options.get("preset")
        if preset is not None:
            check_choice("preset", preset, PRESETS)
            options = {**PRESETS[preset], **options}
        seats = options.get("seats")
        if isinstance(seats, str) and seats == "all":
            options = {**TABLE, **options}
        return cls(**options)

    # -- rules ---------------------------------------------------------------------------------

    @property
    def num_hands(self) -> int:
        """Hands dealt: one a player, three with Graybeard's ghost (docs/skullking.md, 7.2)."""
        return 3 if self.num_players == 2 and self.two_player == "graybeard" else self.num_players

    def deck_cards(self) -> tuple[int, ...]:
        """Return the ids of the cards in use, ascending."""
        names: Sequence[Any] = (self.deck,)
        if not isinstance(self.deck, str):
            names = _listed("deck", self.deck, "the name of a deck or several of them")
        removed: set[int] = set()
        for name in names:
            check_choice("deck", name, t.DECKS)
            removed.update(t.DECKS[name])
        return tuple(c for c in range(t.NUM_CARDS) if c not in removed)

    def seats_outside(self) -> tuple[int, ...]:
        """Return the seats that are ever played from outside."""
        players, first = self.num_players, self.agent_seat
        if isinstance(first, str):  # it moves, and with it the others
            return tuple(range(players))
        bots = self.default_knobs(1)["opponents"][0]
        outside = [j == 0 or bots[j] == t.Bot.EXTERNAL for j in range(players)]
        return tuple(sorted((first + j) % players for j in range(players) if outside[j]))

    def hand_sizes(self) -> tuple[int, ...]:
        """Return the cards dealt to a hand in each round, capped (docs/skullking.md, 3.2)."""
        sizes: Sequence[int]
        if isinstance(self.schedule, str):
            check_choice("schedule", self.schedule, t.SCHEDULES)
            sizes = t.SCHEDULES[self.schedule]
        else:
            items = _listed("schedule", self.schedule, "a name or one hand size a round")
            sizes = tuple(check_integer("schedule", s, 1, t.MAX_CARDS) for s in items)
        if not 1 <= len(sizes) <= t.MAX_ROUNDS:
            raise refusal("schedule", self.schedule, f"1 to {t.MAX_ROUNDS} hand sizes of 1 to 10")
        most = len(self.deck_cards()) // self.num_hands
        return tuple(min(size, most) for size in sizes)

    def rules_record(self) -> np.ndarray:
        """Return the rules as a record array, shape (1,), dtype ``RULES_DTYPE``."""
        row = np.zeros(1, RULES_DTYPE)
        tier = check_choice("tier", self.tier, [x.name.lower() for x in t.Tier])
        if self.preset is not None:
            check_choice("preset", self.preset, PRESETS)
        check_choice("invalid_action", self.invalid_action, ("penalty", "raise"))
        players = check_integer("num_players", self.num_players, 2, t.MAX_PLAYERS)
        memory = self.obs_ext is not None
        if memory:
            check_choice("obs_ext", self.obs_ext, ("memory",))
        two_player = check_choice("two_player", self.two_player, ("graybeard", "plain"))
        whole = check_choice("mode", self.mode, ("round", "game")) == 1
        deck, sizes = self.deck_cards(), self.hand_sizes()
        row["deck"] = -1
        row["deck"][0, : len(deck)] = deck
        row["schedule"][0, : len(sizes)] = sizes
        values = {
            "goal_bonus": self._bonus(),
            "num_players": players,
            "num_hands": 3 if players == 2 and two_player == 0 else players,
            "tier": tier,
            "full_game": tier == t.Tier.FLAT or (whole and tier == t.Tier.MANAGER),
            "num_rounds": len(sizes),
            "deck_len": len(deck),
            "scoring": check_choice("scoring", self.scoring, [x.name.lower() for x in t.Scoring]),
            "left_of_kraken": check_choice(
                "kraken_leader", self.kraken_leader, ("would_win", "left_of_kraken")
            ),
            "whale_void_would_win": check_choice(
                "whale_void_leader", self.whale_void_leader, ("whale_player", "would_win")
            ),
            "late_suit": check_boolean("late_suit", self.late_suit),
            "trump_any_time": check_boolean("trump_any_time", self.trump_any_time),
            "tigress_bonus": check_boolean("tigress_bonus", self.tigress_bonus),
            "tigress_agent": check_choice("tigress", self.tigress, ("auto", "agent")),
            "duplicate_deals": check_choice("deals", self.deals, ("stream", "duplicate")),
            "memory": memory,
            "reward": check_choice("reward", self.reward, [x.name.lower() for x in t.Reward]),
            "needed_after": check_boolean("needed_after", self.needed_after),
            "rosie_shaping": check_boolean("rosie_shaping", self.rosie_shaping),
            "abilities": self._abilities(tier),
            "opponent_slots": max(3, players - 1),
            "table_slots": max(4, players),
            "external": self.invalid_action == "raise",
            "all_seats": self._all_seats(),
        }
        decides = values["abilities"] == t.Abilities.AGENT
        values["obs_dim"] = obs_dim(t.Tier(tier), players, memory, decides)
        for name, value in values.items():
            row[name] = value
        return row

    def with_rules(self, rules: np.void) -> Self:
        """Return a config with the rules of a record that can change while games run.

        Those that make rows, spaces or knobs are left as they are.

        Parameters
        ----------
        rules : np.void
            Of ``RULES_DTYPE``.

        Raises
        ------
        ConfigError
            A value that no config gives.
        """
        mine, changes = self.rules_record()[0], dict[str, Any]()
        for field, (name, values) in REPLACEABLE.items():
            if rules[field] != mine[field]:
                number = check_integer(field, rules[field], 0, len(values) - 1)
                changes[name] = values[number]
        if rules["goal_bonus"] != mine["goal_bonus"]:
            changes["goal_bonus"] = float(rules["goal_bonus"])
        sizes = rules["schedule"][: len(self.hand_sizes())].tolist()
        if tuple(sizes) != self.hand_sizes():
            changes["schedule"] = tuple(sizes)
        return self.replace(**changes)

    def _bonus(self) -> float:
        bonus = check_number("goal_bonus", self.goal_bonus)
        if abs(bonus) > MAX_BONUS:
            raise refusal("goal_bonus", bonus, f"a number from {-MAX_BONUS} to {MAX_BONUS}")
        return bonus

    def _all_seats(self) -> bool:
        chosen = check_choice("seats", self.seats, ("agent", "all")) == 1
        if chosen and self.invalid_action != "raise":
            raise refusal("invalid_action", self.invalid_action, "'raise' with seats='all'")
        if chosen and self.reward == "shaped":
            raise refusal("reward", self.reward, "'points' or 'points_rank' with seats='all'")
        return chosen

    def _abilities(self, tier: int) -> int:
        if self.abilities is None:
            return t.Abilities.AGENT if tier == t.Tier.ABILITY else t.Abilities.OFF
        chosen = check_choice("abilities", self.abilities, [x.name.lower() for x in t.Abilities])
        if chosen == t.Abilities.AGENT and tier not in (t.Tier.ABILITY, t.Tier.FLAT):
            raise refusal(
                "abilities",
                self.abilities,
                "'off' or 'auto' here; the Ability and the flat tier let the agent decide",
            )
        return chosen

    # -- knobs ---------------------------------------------------------------------------------

    def default_knobs(self, n: int) -> np.ndarray:
        """Return the knobs of ``n`` lanes, shape (n,), dtype ``KNOBS_DTYPE``."""
        knobs = np.zeros(1, KNOBS_DTYPE)
        for name in (
            *("opponents", "agent_seat", "goal_mode", "goal", "enable_abilities", "pirates"),
            *("round_weights", "allowed_phases"),
        ):
            self.set_knob(knobs, name, getattr(self, name))
        return np.repeat(knobs, n)

    def set_knob(self, knobs: np.ndarray, name: str, value: Any) -> None:
        """Write one knob into rows of ``KNOBS_DTYPE``; lanes take it at their next reset.

        ``round_sampling`` sets ``(round_weights, allowed_phases)`` at once, where no round would be
        left between the two.

        Raises
        ------
        ConfigError
            For an unknown knob or a value that is not allowed; nothing is written.
        """
        setters: dict[str, Callable[[], tuple[str, Any]]] = {
            "opponents": lambda: ("opponents", self._opponents(value)),
            "agent_seat": lambda: ("agent_seat", self._agent_seat(value)),
            "goal_mode": lambda: (
                "goal_mode",
                check_choice("goal_mode", value, [x.name.lower() for x in t.GoalMode]),
            ),
            "goal": lambda: ("goal", check_integer("goal", value, 0, t.MAX_CARDS)),
            "enable_abilities": lambda: ("abilities", check_boolean("enable_abilities", value)),
            "pirates": lambda: ("pirates", self._pirates(value)),
        }
        sampling = ("round_weights", "allowed_phases", "round_sampling")
        if name in sampling:
            self._sample(knobs, name, value)
            return
        if name not in setters:
            known = (*setters, *sampling)
            message = f"{show(name)} is not a knob of Skull King; knobs: {', '.join(known)}."
            raise ConfigError(with_nearest(message, name, known))
        field, new = setters[name]()
        knobs[field] = new

    def _opponents(self, value: str | Sequence[str]) -> list[int]:
        seats = self.num_players - 1
        bots = {b.name.lower(): int(b) for b in t.Bot}
        if isinstance(value, str):
            mixed = MIXED_OPPONENTS if value == "mixed" else (value,)
            names = [mixed[j % len(mixed)] for j in range(seats)]
        else:
            allowed = "the name of a bot or one name for each opponent"
            names = _listed("opponents", value, allowed)
        for name in names:
            check_choice("opponents", name, [*bots, "mixed"] if isinstance(value, str) else bots)
        if len(names) != seats:
            raise refusal("opponents", value, f"one name or {seats} names, one for each opponent")
        if "external" in names and not self.rules_record()["external"][0]:
            raise refusal("opponents", value, "bots here: 'external' needs invalid_action='raise'")
        return [0, *(bots[name] for name in names), *[0] * (t.MAX_PLAYERS - 1 - seats)]

    def _agent_seat(self, value: int | str) -> int:
        if isinstance(value, str):
            if value != "rotate":
                raise refusal(
                    "agent_seat", value, f"'rotate' or a seat from 0 to {self.num_players - 1}"
                )
            return -1
        return check_integer("agent_seat", value, 0, self.num_players - 1)

    def _pirates(self, value: Sequence[str]) -> int:
        names = _names("pirates", value, ABILITY_PIRATES)
        return sum(1 << ABILITY_PIRATES.index(name) for name in set(names))

    def _sample(self, knobs: np.ndarray, name: str, value: Any) -> None:
        """Write which rounds are sampled, and the distribution that follows, or nothing."""
        weights, phases = knobs["round_weights"].copy(), knobs["allowed_phases"].copy()
        if name == "round_weights":
            weights[:] = self._round_weights(value)
        elif name == "allowed_phases":
            phases[:] = _phases(value)
        elif isinstance(value, (tuple, list)) and len(value) == 2:
            weights[:], phases[:] = self._round_weights(value[0]), _phases(value[1])
        else:
            raise refusal(name, value, "a pair of round_weights and allowed_phases")
        cdfs: dict[tuple[bytes, int], np.ndarray] = {}
        for row, bits in zip(weights, phases.tolist(), strict=True):
            if (row.tobytes(), bits) not in cdfs:
                cdf = cdfs[row.tobytes(), bits] = self._round_cdf(row, bits)
                if cdf[-1] == 0.0:
                    raise refusal(name, value, self._some_round(name, row, bits))
        knobs["round_weights"], knobs["allowed_phases"] = weights, phases
        for k, (row, bits) in enumerate(zip(weights, phases.tolist(), strict=True)):
            knobs["round_cdf"][k] = cdfs[row.tobytes(), bits]

    def _round_weights(self, weights: str | Sequence[float]) -> np.ndarray:
        """Return the weights of the rounds (docs/skullking.md, 11.1), shape (MAX_ROUNDS,)."""
        rounds, row = len(self.hand_sizes()), np.zeros(t.MAX_ROUNDS)
        if isinstance(weights, str):
            check_choice("round_weights", weights, t.ROUND_WEIGHTS)
            table = t.ROUND_WEIGHTS[weights]
            row[:rounds] = [table[min(r, len(table) - 1)] for r in range(rounds)]
            return row
        items = _listed("round_weights", weights, "a name or one weight a round")
        numbers = [check_number("round_weights", x) for x in items]
        if len(numbers) != rounds or min(numbers) < 0:
            raise refusal("round_weights", weights, f"{rounds} weights, none negative")
        if not any(numbers) or not math.isfinite(sum(numbers)):
            allowed = "weights of which one is above 0, and whose sum is finite"
            raise refusal("round_weights", weights, allowed)
        row[:rounds] = numbers
        return row

    def _round_cdf(self, weights: np.ndarray, phases: int) -> np.ndarray:
        """Return the cumulative distribution over rounds, shape (MAX_ROUNDS,).

        All 0 if no round is left. See docs/skullking.md, 11.1, 11.2.
        """
        rounds = len(self.hand_sizes())
        spans = [span for k, span in enumerate(PHASE_ROUNDS.values()) if phases >> k & 1]
        w = [
            x if not spans or any(low <= r + 1 <= high for low, high in spans) else 0.0
            for r, x in enumerate(weights[:rounds].tolist())
        ]
        total = math.fsum(w)
        if total <= 0:
            return np.zeros(t.MAX_ROUNDS)
        cdf, running = np.ones(t.MAX_ROUNDS), 0.0
        for r in range(rounds):
            running += w[r]
            cdf[r] = running / total
        last = max(r for r in range(rounds) if w[r] > 0)
        cdf[last:] = 1.0  # rounding must not let the sample fall behind the last allowed round
        return cdf

    def _some_round(self, name: str, weights: np.ndarray, phases: int) -> str:
        """Describe the allowed values, for an error where no round is left."""
        rounds = len(self.hand_sizes())
        text = f"such that at least one of the {rounds} rounds of the schedule can be sampled"
        if name == "round_weights":
            return f"{text} with allowed_phases={phase_names(phases)!r}"
        if name == "allowed_phases":
            return f"{text} with round_weights={weight_names(weights, rounds)!r}"
        return text


def _phases(names: Sequence[str]) -> int:
    """Return phases of the game as bits."""
    known = tuple(PHASE_ROUNDS)
    return sum(1 << known.index(name) for name in set(_names("allowed_phases", names, known)))


def phase_names(bits: int) -> tuple[str, ...]:
    """Return the names of phases that are kept as bits."""
    return tuple(name for k, name in enumerate(PHASE_ROUNDS) if bits >> k & 1)


def weight_names(weights: np.ndarray, rounds: int) -> str | tuple[float, ...]:
    """Return the name of weights as they are kept, or one number a round if they have none."""
    kept: list[float] = weights[:rounds].tolist()
    for name, table in t.ROUND_WEIGHTS.items():
        if kept == [table[min(r, len(table) - 1)] for r in range(rounds)]:
            return name
    return tuple(kept)
