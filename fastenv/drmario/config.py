"""Options of a Dr. Mario environment, validated on construction (``docs/drmario.md``)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np

from fastenv.drmario import tables as t
from fastenv.drmario.layout import EXTRAS, OBS_DTYPES, OBSERVATIONS, PLACEMENT_EXTRAS, obs_record
from fastenv.drmario.state import COEFFICIENTS, DEMO_DTYPE, KNOBS_DTYPE, RULES_DTYPE, Actions
from fastenv.errors import ConfigError, FileError, show
from fastenv.files import read_npz, show_path
from fastenv.options import (
    GameConfig,
    check_boolean,
    check_choice,
    check_integer,
    check_known,
    check_number,
    refusal,
)

MODES = ("warp", "replay")
ACTIONS = tuple(kind.name.lower() for kind in Actions)
KNOBS = ("level", "speed", "game_seed", "task_max_frames", "task_max_spawns")
MAX_BUDGET = 2**31 - 1
MAX_COEFFICIENT = 1_000_000  # no sum of terms comes near the end of a float of single precision
FIXED = ("agents", "placement")  # by the ids


def _either(name: str, value: object, allowed: tuple[int, int]) -> None:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value not in allowed:
        raise refusal(name, value, f"{allowed[0]} or {allowed[1]}")


@dataclass(frozen=True)
class DrMarioConfig(GameConfig):
    """Options of a Dr. Mario environment.

    Parameters
    ----------
    agents : {1, 2}
        Players; fixed by the id.
    placement : bool
        Whether a decision is a placement; otherwise it is a frame. Fixed by the id.
    level : int or (int, int)
        0 to 24; with one player also -15 to -1, which are tasks (docs/drmario.md, 14.3). With two
        players a pair gives each its own.
    speed : {"low", "medium", "high"} or a pair of them
        How fast capsules fall; a pair gives each of two players its own.
    game_seed : int, optional
        Seed of the game's own generator, first byte * 256 + second, 2 to 65535 (0 and 1 give no
        level). By default every episode draws one of the 32,767 states of its cycle.
    seed_registry : bool
        Whether episodes draw their seeds from the 120 of their level in the registry instead; two
        players from those of the first one's level (docs/drmario.md, 15.4).
    task_max_frames, task_max_spawns : int, optional
        Budgets of an episode, which goes on when they are exceeded (docs/drmario.md, 14.3).
    mode : {"warp", "replay"}
        Whether a placement is carried out at once, or played by its script (docs/drmario.md, 12.2).
        Both lead to the same states. Two players warp.
    extended_inputs : bool
        Whether the planner may press A and B in one frame, and left and right (docs/drmario.md,
        11.6).
    max_wait_frames : int
        Frames behind a placement after which an episode is truncated.
    actions : {"buttons", "latched", "unlatched"}
        Of a frame environment: a byte of buttons, or ten inputs, whose directions stay held or not
        (docs/drmario.md, 12.5).
    stack : {1, 4}
        Frames that an observation of a frame environment shows.
    demo : str or PathLike, optional
        File of the demo's tables, which a frame environment of one player then plays by itself
        (docs/drmario.md, 10).
    obs : str
        Planes of an observation (docs/drmario.md, 13), in games of frames one without those of
        placements. By id, the default of frames is ``bitplane`` with a stack of 4, in a match with
        the extra ``aux_vs``, that of a match of placements ``bitplane_bottle_conn_mask_vs`` with
        the extra ``pill``.
    obs_dtype : {"float32", "uint8"}
        Of the planes.
    extras : sequence of str
        What an observation has beside its planes, which makes it a Dict: ``pill``, ``aux`` or
        ``aux_vs``, and where decisions are placements ``costs``, ``candidates``.
    candidates : int
        Placements that are listed as candidates, the cheapest ones first.
    first_frame, intro_frames : int
        Frame counter after a reset, and frames before play starts (docs/drmario.md, 3).
    rewards : mapping of str to float
        Coefficients, at most 1,000,000 either way, that differ from
        :data:`~fastenv.drmario.state.COEFFICIENTS` (docs/drmario.md, 14.1); as options, each goes
        by its own name.
    """

    agents: int = 1
    placement: bool = True
    level: int | tuple[int, int] = 0
    speed: str | tuple[str, str] = "medium"
    game_seed: int | None = None
    seed_registry: bool = False
    task_max_frames: int | None = None
    task_max_spawns: int | None = None
    mode: str = "warp"
    extended_inputs: bool = False
    max_wait_frames: int = t.MAX_WAIT
    actions: str = "buttons"
    stack: int = 1
    demo: str | os.PathLike[str] | None = None
    obs: str = "bitplane_reduced"
    obs_dtype: str = "float32"
    extras: tuple[str, ...] = ()
    candidates: int = 128
    first_frame: int = t.FIRST_FRAME
    intro_frames: int = t.INTRO_FRAMES
    rewards: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Validate."""
        _either("agents", self.agents, (1, 2))
        check_boolean("placement", self.placement)
        check_boolean("seed_registry", self.seed_registry)
        write_knobs(np.zeros(1, KNOBS_DTYPE), self.agents, {n: getattr(self, n) for n in KNOBS})
        check_choice("mode", self.mode, MODES)
        check_boolean("extended_inputs", self.extended_inputs)
        check_integer("max_wait_frames", self.max_wait_frames, 1, MAX_BUDGET)
        check_choice("actions", self.actions, ACTIONS)
        _either("stack", self.stack, (1, t.STACK))
        self._check_observation()
        check_integer("first_frame", self.first_frame, 0, 2**32 - 1)
        check_integer("intro_frames", self.intro_frames, 1, 255)
        bounds = -MAX_COEFFICIENT, MAX_COEFFICIENT
        rewards = {name: check_number(name, x, *bounds) for name, x in self.rewards.items()}
        object.__setattr__(self, "rewards", rewards)  # doubles: all implementations count in them
        self._check_kind()

    def _check_observation(self) -> None:
        allowed = [n for n in OBSERVATIONS if self.placement or "mask" not in n]
        check_choice("obs", self.obs, allowed)
        check_choice("obs_dtype", self.obs_dtype, OBS_DTYPES)
        extras = [n for n in EXTRAS if self.placement or n not in PLACEMENT_EXTRAS]
        given = self.extras
        listed = isinstance(given, (tuple, list)) and all(isinstance(n, str) for n in given)
        if not listed or len({*given}) < len(given) or not {*given} <= {*extras}:
            raise refusal("extras", given, f"some of {', '.join(extras)}, each at most once")
        if "aux" in given and "aux_vs" in given:
            raise refusal("extras", given, "with one of aux and aux_vs, which begins with aux")
        object.__setattr__(self, "extras", tuple(n for n in EXTRAS if n in given))
        check_integer("candidates", self.candidates, 1, t.NUM_PLACEMENTS)

    def _check_kind(self) -> None:
        """Refuse what an environment of this kind does not have."""
        for name, used, default in (
            ("mode", self.placement and self.agents == 1, "warp"),
            ("extended_inputs", self.placement, False),
            ("max_wait_frames", self.placement, t.MAX_WAIT),
            ("actions", not self.placement, "buttons"),
            ("stack", not self.placement, 1),
            ("demo", not self.placement and self.agents == 1, None),
        ):
            value = getattr(self, name)
            other = value is not None if default is None else value != default
            if not used and other:
                kind = "placements" if self.placement else "frames"
                raise refusal(name, value, f"{default!r} where {self._who(kind)}")

    def _who(self, kind: str) -> str:
        return f"decisions are {kind}" + (" of two players" if self.agents == 2 else "")

    @classmethod
    def from_options(cls, **options: Any) -> Self:
        """Build a config from keyword options; coefficients of the reward go by their names.

        Raises
        ------
        ConfigError
            For an unknown option or a value that is not allowed.
        """
        known = [f.name for f in fields(cls) if f.name != "rewards"]
        if not options.get("placement", True):
            options = {"obs": "bitplane", "stack": t.STACK, **options}
            if options.get("agents", 1) == 2:
                options = {"extras": ("aux_vs",), **options}
        elif options.get("agents", 1) == 2:
            options = {"obs": "bitplane_bottle_conn_mask_vs", "extras": ("pill",), **options}
        rewards = {name: options.pop(name) for name in COEFFICIENTS if name in options}
        check_known(options, "Dr. Mario", [*known, *COEFFICIENTS], FIXED)
        return cls(**options, rewards=rewards)

    def rules_record(self) -> np.ndarray:
        """Return the rules as a record array, shape (1,), dtype ``RULES_DTYPE``."""
        row = np.zeros(1, RULES_DTYPE)
        for name, default in COEFFICIENTS.items():
            row[name] = self.rewards.get(name, default)
        row["agents"], row["placement"] = self.agents, self.placement
        row["replay"], row["extended_inputs"] = MODES.index(self.mode), self.extended_inputs
        row["max_wait_frames"], row["actions"] = self.max_wait_frames, ACTIONS.index(self.actions)
        row["stack"], row["demo"] = self.stack, self.demo is not None
        row["first_frame"], row["intro_frames"] = self.first_frame, self.intro_frames
        row["obs"], row["bytes"] = OBSERVATIONS.index(self.obs), self.obs_dtype == "uint8"
        row["aux"] = 2 if "aux_vs" in self.extras else "aux" in self.extras
        row["costs"], row["pill"] = "costs" in self.extras, "pill" in self.extras
        row["registry"] = self.seed_registry
        row["candidates"] = self.candidates if "candidates" in self.extras else 0
        row["obs_bytes"], row["num_actions"] = self.obs_record().itemsize, self.num_actions
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
        changed = [name for name in RULES_DTYPE.names or () if rules[name] != mine[name]]
        if "replay" in changed:
            changes["mode"] = MODES[check_integer("replay", rules["replay"], 0, 1)]
        for name, rule in (("extended_inputs", "extended_inputs"), ("seed_registry", "registry")):
            if rule in changed:
                changes[name] = bool(check_integer(rule, rules[rule], 0, 1))
        for name in ("max_wait_frames", "first_frame", "intro_frames"):
            if name in changed:
                changes[name] = int(rules[name])
        paid = {name: float(rules[name]) for name in COEFFICIENTS if name in changed}
        return self.replace(**changes, rewards=self.rewards | paid)

    @property
    def num_actions(self) -> int:
        """Return the number of actions of an agent."""
        if self.placement:
            return t.NUM_PLACEMENTS
        return t.NUM_BUTTONS if self.actions == ACTIONS[Actions.BUTTONS] else t.NUM_LATCHED

    def obs_record(self) -> np.dtype[Any]:
        """Return the record of an observation, whose only field are the planes without extras."""
        return obs_record(self.obs, self.obs_dtype, self.extras, self.stack, self.candidates)

    def demo_record(self) -> np.ndarray:
        """Return the demo's tables as a record array, shape (1,), dtype ``DEMO_DTYPE``."""
        return np.zeros(1, DEMO_DTYPE) if self.demo is None else read_demo(self.demo)

    def knobs_record(self) -> np.ndarray:
        """Return the knobs as a record array, shape (1,), dtype ``KNOBS_DTYPE``."""
        row = np.zeros(1, KNOBS_DTYPE)
        write_knobs(row, self.agents, {name: getattr(self, name) for name in KNOBS})
        return row


def write_knobs(rows: np.ndarray, agents: int, values: dict[str, Any]) -> None:
    """Write values of :data:`KNOBS` into rows of ``KNOBS_DTYPE``, all or none.

    Raises
    ------
    ConfigError
        A value that is not allowed.
    """
    lowest = t.LOWEST_LEVEL if agents == 1 else 0
    written: dict[str, Any] = {}
    for name, value in values.items():
        if name == "game_seed":
            more = "; 0 and 1 give no level"
            written[name] = (
                -1 if value is None else check_integer(name, value, t.FIRST_SEED, t.LAST_SEED, more)
            )
        elif name.startswith("task_"):
            written[name] = 0 if value is None else check_integer(name, value, 1, MAX_BUDGET)
        elif name == "level":
            pair = _by_player(agents, value)
            written[name] = [check_integer(name, part, lowest, t.HIGHEST_LEVEL) for part in pair]
        else:
            written[name] = [
                check_choice(name, part, t.SPEEDS) for part in _by_player(agents, value)
            ]
    for name, value in written.items():
        rows[name] = value


def _by_player(agents: int, value: Any) -> tuple[Any, Any]:
    """Return a value for each player; the second of a game of one is that of the first."""
    if agents == 2 and isinstance(value, (tuple, list)) and len(value) == 2:
        return value[0], value[1]
    return value, value


def read_demo(path: str | os.PathLike[str]) -> np.ndarray:
    """Return the tables of a demo from an npz file, shape (1,), dtype ``DEMO_DTYPE``.

    Parameters
    ----------
    path : str or PathLike
        With the arrays ``initial_board`` (128,), ``pill_table`` (128,) and ``input_table``
        (256, 2), all uint8.

    Raises
    ------
    ConfigError
        No such file, or not of this schema; the message names what is wrong.
    """
    row = np.zeros(1, DEMO_DTYPE)
    names = {"board": "initial_board", "pills": "pill_table", "inputs": "input_table"}
    try:
        # Recordings of the whole demo have many columns beside the tables.
        arrays = read_npz(path, 1 << 20, tuple(names.values()))
    except FileError as error:
        raise ConfigError(f"demo: {error}") from error
    for part, name in names.items():
        array, shape = arrays[name], DEMO_DTYPE[part].shape
        if array.dtype != np.uint8 or array.shape != shape:
            raise ConfigError(
                f"demo: {show_path(path)}: {name} is {show(array.dtype)} of shape {array.shape}, "
                f"must be uint8 of shape {shape}."
            )
        row[part] = array
    if not np.isin(row["board"], t.TILES).all():
        raise ConfigError(f"demo: {show_path(path)}: the cells of initial_board must be tiles.")
    if (row["pills"] >= t.NUM_PILLS).any():
        raise ConfigError(
            f"demo: {show_path(path)}: pill_table must have numbers below {t.NUM_PILLS}."
        )
    return row
