"""The specification of a game: :class:`GameSpec`, and its :class:`Compiled` functions of a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from gymnasium import Space

from fastenv.errors import ConfigError, show
from fastenv.seats import ORDERS, Order

Array = npt.NDArray[Any]
Bounds = tuple[float, float]

NOTHING = np.dtype([])
# What views add to the columns of a game.
RESERVED = (
    "tau", "action_mask", "needs_action", "episode_return", "episode_length", "episode_frames",
    "final_obs", "final_info",
)  # fmt: skip
NO_KNOBS = np.dtype([("none", "u1")])
FLOAT = np.dtype(np.float32)
KIND = np.dtype([("kind", "i4")])


class ActionCodec(Protocol):
    """Translates actions for a game whose actions are not ``0 .. num_actions - 1``.

    One whose actions are arrays has an attribute ``space``, the Gymnasium space of one action; its
    ``encode_many`` is given arrays of shape (n, *space.shape) and, as numbers, of shape (n,).
    """

    def encode(self, action: Any) -> int:
        """Return the number that the game's ``step`` gets, or raise InvalidActionError."""

    def encode_many(self, actions: Array, out: npt.NDArray[np.int32]) -> None:
        """Write the number for each action, or raise InvalidActionError, naming the lane."""


@dataclass(frozen=True, kw_only=True)
class GameSpec:
    """The specification of a configured game: sizes, dtypes and names.

    Parameters
    ----------
    num_actions : int
        Actions of an agent are ``0 .. num_actions - 1``.
    state_dtype : dtype
        Of one row: aligned, with the fields

        * ``done`` (int8): 0 running, 1 terminated, 2 truncated,
        * ``ep_return`` (float64, one an agent) and ``ep_length`` (int32): sums of the episode, kept
          by the engine from what ``reward`` says,
        * ``tau`` (int32, one an agent) and ``ep_frames`` (int32), in games whose decisions last:
          frames since the agent's last decision, and those of the episode,
        * ``needs_action`` (uint8, one an agent) and ``bot_rng`` (uint64, 4), in games of several
          agents: who must act, and the generator of those that are played by bots,
        * ``ends`` (int8, one an agent), where agents end before others: as ``done``. An engine that
          shows one seat then says how that one ended.
    former_dtype : dtype, optional
        ``state_dtype`` of versions before, of the same bytes, where some of them have another name
        now: such rows are loaded, and trainings continue.
    tail : tuple of str
        Last fields of the row, of uint8, whose length depends on the configuration: the compiled
        struct ends before them, and finds them by offsets that the game writes into ``shared``.
    num_agents : int
        Agents of a row, K. With more than one, everything an agent sees or does has an axis of K
        behind that of the lanes.
    order : {"together", "turns", "mixed"}
        Whether all agents act in every step, exactly one does, or any number of them.
    opponent : str, optional
        Scripted player of the other agents where views show one, unless another is named.
    judged_by : {"win", "points"}
        What ranks the players of many games: whether they win, which is to reach most
        (:meth:`fastenv.Game.outcomes`), or how much they reach in the mean, as in poker.
    obs_dtype, obs_shape : dtype, tuple of int
        An observation: numbers of any type in this shape, or a structured dtype, aligned, whose
        fields a view shows as a Dict of arrays.
    obs_bounds : (float, float) or mapping of str to (float, float)
        Lowest and highest number, of each field of a structured observation.
    reward_dtype : dtype
        float32 or float64.
    terms_dtype : dtype
        Parts of the reward, one field each: columns of a step, 0 after a reset.
    info_dtype : dtype
        Fields of their own type and shape: columns of a state. With several agents, one whose
        first axis has length K has an entry an agent.
    warned_of : tuple of str
        Columns of the info, of numbers, that an engine warns of once where they are not 0; the
        game's ``warning`` says what.
    info_labels : mapping of str to tuple of str
        What dicts show for the numbers of a column.
    default_info : tuple of str, optional
        Columns that are written unless others are asked for; default all.
    knobs_dtype : dtype
        Of one lane's knobs: what a curriculum may change, read at each reset.
    derived_dtype : dtype, optional
        A record a lane, outside the row: what is expensive and follows from the row alone.
    bot_dtype : dtype
        What a scripted player is told about how to play.
    illegal_actions : {"play", "raise"}
        Whether the rules deal with actions that are illegal now, or the engine refuses them.
    action_codec : ActionCodec, optional
        For games whose contract knows other actions.
    kernel_module, core_module : str, optional
        Modules that must be importable for ``use_numba`` and ``use_cython``.
    render_modes : tuple of str
        ``ansi``, ``rgb_array`` or both. With ``ansi`` alone the game has ``rgb_array`` too: a
        picture of its text.
    hidden : bool
        Whether a player cannot see all of a row, beside the generators.
    mixed : bool
        Whether good play must be drawn: who can be foreseen is exploited, as in poker. Trained
        agents of such a game draw their actions, and self-play learns to mix.
    enumerable : bool
        Whether chance can be listed: :meth:`fastenv.game.Reference.every_start` and ``every_step``
        give all outcomes with their probabilities. ``training exploit --exact`` needs it.
    stops : tuple of str
        Conditions at which a rollout may end before its episode does. One that ends in ``=`` takes
        a number: ``tricks=`` is named ``tricks=2``.
    draws_text : bool
        Whether ``rgb_array`` is that; follows from ``render_modes``.

    Examples
    --------
    >>> import numpy as np
    >>> import fastenv
    >>> row = np.dtype(
    ...     [("ep_return", "f8"), ("ep_length", "i4"), ("score", "i4"), ("done", "i1")], align=True
    ... )
    >>> spec = fastenv.GameSpec(num_actions=2, state_dtype=row, obs_shape=(3,))
    >>> spec.obs_dtype, spec.obs_bounds
    (dtype('float32'), (-1.0, 1.0))
    """

    num_actions: int
    state_dtype: np.dtype[Any]
    former_dtype: np.dtype[Any] | None = None
    tail: tuple[str, ...] = ()
    num_agents: int = 1
    order: Order = "mixed"
    opponent: str | None = None
    judged_by: Literal["win", "points"] = "win"
    obs_dtype: np.dtype[Any] = FLOAT
    obs_shape: tuple[int, ...] = ()
    obs_bounds: Bounds | Mapping[str, Bounds] = (-1.0, 1.0)
    reward_dtype: np.dtype[Any] = FLOAT
    terms_dtype: np.dtype[Any] = NOTHING
    info_dtype: np.dtype[Any] = NOTHING
    info_labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    default_info: tuple[str, ...] | None = None
    warned_of: tuple[str, ...] = ()
    knobs_dtype: np.dtype[Any] = NO_KNOBS
    derived_dtype: np.dtype[Any] | None = None
    bot_dtype: np.dtype[Any] = KIND
    illegal_actions: Literal["play", "raise"] = "play"
    action_codec: ActionCodec | None = None
    kernel_module: str | None = None
    core_module: str | None = None
    render_modes: tuple[str, ...] = ()
    hidden: bool = False
    mixed: bool = False
    enumerable: bool = False
    stops: tuple[str, ...] = ()
    draws_text: bool = False

    def __post_init__(self) -> None:
        """Add pictures of the text where there are no others."""
        if "ansi" in self.render_modes and "rgb_array" not in self.render_modes:
            object.__setattr__(self, "render_modes", (*self.render_modes, "rgb_array"))
            object.__setattr__(self, "draws_text", True)

    @property
    def info_columns(self) -> tuple[str, ...]:
        """Names of the columns of a state."""
        return self.info_dtype.names or ()

    @property
    def term_columns(self) -> tuple[str, ...]:
        """Names of the columns of a step."""
        return self.terms_dtype.names or ()

    @property
    def action_space(self) -> Space[Any] | None:
        """The space of an action that is an array; None if actions are numbers."""
        space: Space[Any] | None = getattr(self.action_codec, "space", None)
        return space

    @property
    def has_tau(self) -> bool:
        """Whether decisions have a duration: rows have the field ``tau``."""
        return "tau" in (self.state_dtype.names or ())

    @property
    def struct_size(self) -> int:
        """Bytes of a row that the compiled struct covers: all but the tail."""
        if not self.tail or self.state_dtype.fields is None:
            return self.state_dtype.itemsize
        return int(self.state_dtype.fields[self.tail[0]][1])

    def agents(self, *shape: int) -> tuple[int, ...]:
        """Return a shape with the axis of the agents behind it, where there are several."""
        return (*shape, self.num_agents) if self.num_agents > 1 else shape

    def check(self) -> None:
        """Raise :class:`ConfigError`, naming the field, unless all parts fit together."""
        for name in ("num_agents", "num_actions"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise ConfigError(f"{name}={show(number)}: must be an integer of at least 1")
        for name in ("obs_dtype", "reward_dtype"):
            if not isinstance(getattr(self, name), np.dtype):
                raise ConfigError(f"{name}={show(getattr(self, name))}: must be a NumPy dtype")
        _check_state(self)
        _check_records(self)
        _check_observation(self)
        _check_columns(self)
        if self.reward_dtype not in (np.float32, np.float64):
            raise ConfigError(f"reward_dtype={self.reward_dtype}: must be float32 or float64")
        for name in ("hidden", "mixed", "enumerable"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name}={show(getattr(self, name))}: must be True or False")
        names = self.stops if isinstance(self.stops, tuple) else (None,)
        if not all(isinstance(name, str) and name.rstrip("=") for name in names):
            raise ConfigError(f"stops={show(self.stops)}: must be a tuple of names")
        for name, words in (
            ("order", ORDERS),
            ("illegal_actions", ("play", "raise")),
            ("judged_by", ("win", "points")),
        ):
            if getattr(self, name) not in words:
                value, allowed = show(getattr(self, name)), " or ".join(words)
                raise ConfigError(f"{name}={value}: must be {allowed}")


def _check_state(spec: GameSpec) -> None:
    fields, agents = spec.state_dtype.fields, spec.agents()
    if fields is None or not spec.state_dtype.isalignedstruct:
        raise ConfigError(f"state_dtype={spec.state_dtype}: must be an aligned structured dtype")
    wanted = {"done": ("i1", ()), "ep_return": ("f8", agents), "ep_length": ("i4", ())}
    if spec.has_tau or "ep_frames" in fields:
        wanted |= {"tau": ("i4", agents), "ep_frames": ("i4", ())}
    if spec.num_agents > 1:
        wanted |= {"needs_action": ("u1", agents), "bot_rng": ("u8", (4,))}
        wanted |= {"ends": ("i1", agents)} if "ends" in fields else {}
    for name, (kind, shape) in wanted.items():
        if name not in fields:
            raise ConfigError(f"state_dtype has no field {show(name)}")
        if fields[name][0] != np.dtype((kind, shape)):
            need = np.dtype((kind, shape))
            raise ConfigError(f"state_dtype: {show(name)} is {fields[name][0]}, must be {need}")
    if spec.tail != (spec.state_dtype.names or ())[len(fields) - len(spec.tail) :]:
        raise ConfigError(f"tail={spec.tail}: must name the last fields of the row")
    for name in spec.tail:
        if fields[name][0].base != np.uint8:
            raise ConfigError(f"tail: {show(name)} is {fields[name][0]}, must be of uint8")


def _check_columns(spec: GameSpec) -> None:
    names = (*spec.info_columns, *spec.term_columns)
    for part, used in (
        ("default_info", spec.default_info),
        ("info_labels", spec.info_labels),
        ("warned_of", spec.warned_of),
    ):
        for name in used or ():
            if name not in names:
                known = ", ".join(names)
                raise ConfigError(f"{part}: {show(name)} is not a column: there are {known}")
    for name in names:
        if name in RESERVED:
            raise ConfigError(f"info_dtype, terms_dtype: {show(name)} is a name of the views")


def _check_records(spec: GameSpec) -> None:
    for name in ("terms_dtype", "info_dtype", "knobs_dtype", "derived_dtype", "bot_dtype"):
        dtype = getattr(spec, name)
        if dtype is not None and dtype != NOTHING:
            _check_layout(name, dtype, nested=name == "derived_dtype")


def _check_layout(name: str, dtype: np.dtype[Any], nested: bool = False) -> None:
    """Refuse a record that C and torch cannot read field by field.

    No view shows a derived record: it may hold records of its own (``nested``).
    """
    if dtype.fields is None:
        raise ConfigError(f"{name}={dtype}: must be a structured dtype")
    largest = 1
    for part, (kind, offset, *_) in dtype.fields.items():
        if nested and kind.base.isalignedstruct:
            _check_layout(f"{name}.{part}", kind.base, nested)
            largest = max(largest, kind.base.alignment)
            continue
        if kind.base.kind not in "biuf":
            raise ConfigError(f"{name}: {show(part)} is {kind}, must be of numbers")
        if offset % kind.base.itemsize:
            raise ConfigError(
                f"{name}: {show(part)} is not aligned to its {kind.base.itemsize} bytes"
            )
        largest = max(largest, kind.base.itemsize)
    if dtype.itemsize % largest:
        raise ConfigError(
            f"{name} has {dtype.itemsize} bytes, must have a multiple of {largest}, those of its "
            "largest number: make it with align=True"
        )


def _check_observation(spec: GameSpec) -> None:
    dtype = spec.obs_dtype
    if dtype.names is None:
        if dtype.kind not in "biuf":
            raise ConfigError(f"obs_dtype={dtype}: must be of numbers, or structured")
        if isinstance(spec.obs_bounds, Mapping):
            raise ConfigError("obs_bounds: a plain observation has one pair")
        return
    if spec.obs_shape:
        raise ConfigError(f"obs_shape={spec.obs_shape}: a structured observation has shape ()")
    if not isinstance(spec.obs_bounds, Mapping) or set(spec.obs_bounds) != set(dtype.names):
        raise ConfigError(f"obs_bounds: must have one pair for each of {', '.join(dtype.names)}")
    _check_layout("obs_dtype", dtype)


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """C functions of one row, by address; 0 where there is none.

    A Cython core exports the same as a ``RowTable`` (``fastenv/_batch.pxd``), whose types say what
    each function takes; here they are addresses, such as those of a ``numba.cfunc``. Pointers are
    ``row``, ``derived`` (NULL without ``derived_dtype``), ``shared``, ``knobs`` of the lane.

    Parameters
    ----------
    reset : void (row, shared, knobs, const uint64_t *seed)
        Start an episode: from a seed, or (NULL) continuing the row's stream.
    step : int (row, derived, shared, knobs, const int32_t *actions)
        Take one decision, K actions. Return whether the derived record must be computed anew.
    is_legal : int (row, derived, shared, int32_t agent, int32_t action)
    derive : void (row, derived, shared)
        Compute the derived record.
    complete : void (row, shared)
        Fill in what the other functions leave open until it is needed.
    look_ahead : int (row, shared)
        Fetch from memory what the next step reads; return whether it may end the episode.
    bot : int32_t (row, derived, shared, params, int32_t agent, obs, mask, uint64_t *rng)
        Return the action of a scripted player.
    observe : void (row, derived, shared, obs, uint8_t *mask)
        Write K observations and K masks.
    reward : int (row, derived, shared, reward, terms)
        Write K rewards of the last step and their K records of terms; return whether they belong
        to a decision, which is then counted.
    info : void (row, derived, shared, info)
        Write the columns of the state.
    resample : void (row, shared, int32_t agent, uint64_t *rng)
        Draw anew what an agent cannot know of a complete row; parts may be left open again.
    stop : int (row, start, shared, int32_t until, int32_t number)
        Return whether a rollout that began in the row ``start`` ends here, by condition ``until``
        of the spec's ``stops``.
    rollout : int32_t (row, shared, knobs, players, int32_t action, int32_t until, int32_t number,
        int32_t limit, uint64_t *rng)
        Play a rollout, faster than ``step`` and ``bot`` in turn do, and return its decisions. Only
        for games of one agent whose rollouts count no rewards. ``action`` is -1 where the player
        decides, ``until`` -1 without a condition.
    state_size, knobs_size, shared_size, derived_size, bot_size, obs_size, info_size, terms_size
        Bytes of the records that the functions were compiled for; 0 where they do not say.
    fetch : int
        Bytes at the beginning of a row that every step reads.
    chunk : int
        Lanes a thread takes at a time, where steps differ much in length; 0: an even share.

    Examples
    --------
    >>> import fastenv
    >>> spec = fastenv.make_game("SkullKingWorker-v0").spec
    >>> fastenv.Compiled(state_size=8).check(spec, shared_size=0)
    Traceback (most recent call last):
    ...
    fastenv.errors.ConfigError: state_size: the compiled functions have 8 bytes, ...
    """

    reset: int = 0
    step: int = 0
    is_legal: int = 0
    derive: int = 0
    complete: int = 0
    look_ahead: int = 0
    bot: int = 0
    observe: int = 0
    reward: int = 0
    info: int = 0
    resample: int = 0
    stop: int = 0
    rollout: int = 0
    state_size: int = 0
    knobs_size: int = 0
    shared_size: int = 0
    derived_size: int = 0
    bot_size: int = 0
    obs_size: int = 0
    info_size: int = 0
    terms_size: int = 0
    fetch: int = 0
    chunk: int = 0

    def check(self, spec: GameSpec, shared_size: int) -> None:
        """Raise :class:`ConfigError`, naming the field, unless the sizes are those of the spec."""
        for name in ("fetch", "chunk"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name}={getattr(self, name)}: must be at least 0")
        for name, size in sizes(spec, shared_size).items():
            given = getattr(self, name)
            if given not in (0, size):
                raise ConfigError(
                    f"{name}: the compiled functions have {given} bytes, the game's dtype {size}: "
                    "they were built from other sources; build them again with `make build`"
                )


def sizes(spec: GameSpec, shared_size: int) -> dict[str, int]:
    """Return the bytes that compiled functions must have been made for."""
    derived = spec.derived_dtype
    return {
        "state_size": spec.struct_size,
        "knobs_size": spec.knobs_dtype.itemsize,
        "shared_size": shared_size,
        "derived_size": 0 if derived is None else derived.itemsize,
        "bot_size": spec.bot_dtype.itemsize,
        "obs_size": spec.obs_dtype.itemsize * int(np.prod(spec.obs_shape)),
        "info_size": spec.info_dtype.itemsize,
        "terms_size": spec.terms_dtype.itemsize,
    }
