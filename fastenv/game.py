"""What a game provides: what it says of itself, a reference, and compiled functions.

A game is a row of bytes (``docs/design.md``). :class:`GameSpec` says what a row, an observation and
an info look like; :class:`Reference` plays in plain Python, one game an object; :class:`Compiled`
holds C functions of one row, from Cython, Numba or elsewhere. Engine, loop and views use nothing
else of a game, and a game writes no loop over lanes.
"""

from __future__ import annotations

import copy
import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from fastenv.errors import ConfigError, show
from fastenv.rng import Rng

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]
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
    """How a game that takes other actions than ``0 .. num_actions - 1`` sees those it is given."""

    def encode(self, action: Any) -> int:
        """Return the number that the game's ``step`` gets, or raise InvalidActionError."""

    def encode_many(self, actions: Array, out: npt.NDArray[np.int32]) -> None:
        """Write the number for each action, or raise InvalidActionError, naming the lane."""


@dataclass(frozen=True, kw_only=True)
class GameSpec:
    """What a configured game says of itself.

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
          agents: who must act, and the generator of those that are played by bots.
    tail : tuple of str
        Last fields of the row, of uint8, whose length depends on the configuration: the compiled
        struct ends before them, and finds them by offsets that the game writes into ``shared``.
    num_agents : int
        Agents of a row, K. With more than one, everything an agent sees or does has an axis of K
        behind that of the lanes.
    opponent : str, optional
        Scripted player of the other agents where views show one, unless another is named.
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
    """

    num_actions: int
    state_dtype: np.dtype[Any]
    tail: tuple[str, ...] = ()
    num_agents: int = 1
    opponent: str | None = None
    obs_dtype: np.dtype[Any] = FLOAT
    obs_shape: tuple[int, ...] = ()
    obs_bounds: Bounds | Mapping[str, Bounds] = (-1.0, 1.0)
    reward_dtype: np.dtype[Any] = FLOAT
    terms_dtype: np.dtype[Any] = NOTHING
    info_dtype: np.dtype[Any] = NOTHING
    info_labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    default_info: tuple[str, ...] | None = None
    knobs_dtype: np.dtype[Any] = NO_KNOBS
    derived_dtype: np.dtype[Any] | None = None
    bot_dtype: np.dtype[Any] = KIND
    illegal_actions: Literal["play", "raise"] = "play"
    action_codec: ActionCodec | None = None
    kernel_module: str | None = None
    core_module: str | None = None
    render_modes: tuple[str, ...] = ()

    @property
    def info_columns(self) -> tuple[str, ...]:
        """Names of the columns of a state."""
        return self.info_dtype.names or ()

    @property
    def term_columns(self) -> tuple[str, ...]:
        """Names of the columns of a step."""
        return self.terms_dtype.names or ()

    @property
    def has_tau(self) -> bool:
        """Whether decisions last: rows have the field ``tau``."""
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
        names = (*self.info_columns, *self.term_columns)
        for part, used in (("default_info", self.default_info), ("info_labels", self.info_labels)):
            for name in used or ():
                if name not in names:
                    known = ", ".join(names)
                    raise ConfigError(f"{part}: {show(name)} is not a column: there are {known}")
        for name in names:
            if name in RESERVED:
                raise ConfigError(f"info_dtype, terms_dtype: {show(name)} is a name of the views")
        if self.reward_dtype not in (np.float32, np.float64):
            raise ConfigError(f"reward_dtype={self.reward_dtype}: must be float32 or float64")
        if self.illegal_actions not in ("play", "raise"):
            raise ConfigError(
                f"illegal_actions={show(self.illegal_actions)}: must be play or raise"
            )


def _check_state(spec: GameSpec) -> None:
    fields, agents = spec.state_dtype.fields, spec.agents()
    if fields is None or not spec.state_dtype.isalignedstruct:
        raise ConfigError(f"state_dtype={spec.state_dtype}: must be an aligned structured dtype")
    wanted = {"done": ("i1", ()), "ep_return": ("f8", agents), "ep_length": ("i4", ())}
    if spec.has_tau or "ep_frames" in fields:
        wanted |= {"tau": ("i4", agents), "ep_frames": ("i4", ())}
    if spec.num_agents > 1:
        wanted |= {"needs_action": ("u1", agents), "bot_rng": ("u8", (4,))}
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
        Start an episode: from a seed, or (NULL) going on with the row's stream.
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
    state_size, knobs_size, shared_size, derived_size, bot_size, obs_size, info_size, terms_size
        Bytes of the records that the functions were compiled for; 0 where they do not say.
    fetch : int
        Bytes at the beginning of a row that every step reads.
    chunk : int
        Lanes a thread takes at a time, where steps differ much in length; 0: an even share.
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
                    "they were built from other sources; build them again (`make build`, or "
                    "`pip install -e .`)"
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


@dataclass(frozen=True, kw_only=True)
class Seats:
    """How a game says whose turn it is and what each seat is paid, if all are played from outside.

    Parameters
    ----------
    outside : tuple of int
        The seats that are ever asked.
    actor : str
        The info column with the seat whose decision is due.
    scores : str
        The info column with a number for each seat: the sum of its rewards in this episode.
    unit : float
        What one of them is worth as a reward.
    """

    outside: tuple[int, ...]
    actor: str = "actor"
    scores: str = "scores"
    unit: float = 1.0


class Reference(ABC):
    """A game in plain Python: calls on an object that stands for one running game.

    The object has the attributes ``done``, ``ep_return``, ``ep_length`` and, where the spec has
    them, ``tau``, ``ep_frames``, ``needs_action`` and ``bot_rng``, as the row. With several agents
    what belongs to an agent is a list.
    """

    @abstractmethod
    def create(self) -> Any:
        """Return a game that has not been reset yet."""

    @abstractmethod
    def reset(self, game: Any, knobs: np.void, seed: int | None) -> None:
        """Start an episode with these knobs: from a seed, or going on with the game's stream."""

    @abstractmethod
    def step(self, game: Any, action: Any) -> None:
        """Take one decision, an int, or a list of one for each agent."""

    @abstractmethod
    def pack(self, game: Any) -> bytes:
        """Return the row of a game."""

    def pack_seen(self, game: Any) -> bytes:
        """Return a row in which only what the kernels read need be filled in; default all is."""
        return self.pack(game)

    @abstractmethod
    def unpack(self, row: Any) -> Any:
        """Return the game of a row, given as an object with the buffer protocol.

        What the compiled core leaves open until it is needed may be missing in it.
        """

    def unpack_seen(self, row: Any, game: Any = None) -> Any:
        """Return a game of which only what encoding reads need be filled in; default all is.

        Read are observation, mask, reward, info and what the engine keeps.

        Parameters
        ----------
        row : object with the buffer protocol
        game : object, optional
            One that this method has returned and nobody looks at any more: it may be filled again.
        """
        return self.unpack(row)

    @abstractmethod
    def encode_obs(self, game: Any, out: Array) -> None:
        """Write the observation."""

    @abstractmethod
    def action_mask(self, game: Any, out: Bytes) -> None:
        """Write the legal actions as 0 and 1, shape (num_actions,)."""

    @abstractmethod
    def reward(self, game: Any) -> tuple[Any, Any] | None:
        """Return the reward of the last step and its terms, or None if it was no decision.

        The terms are a tuple in the order of ``terms_dtype``; with several agents both are lists.
        """

    def info(self, game: Any) -> tuple[Any, ...]:
        """Return the columns of the state, in the order of ``info_dtype``."""
        return ()

    def bot_action(
        self,
        game: Any,
        params: np.void,
        agent: int,
        obs: Array,
        mask: Bytes,
        rng: Rng,
    ) -> int:
        """Return a scripted player's action; it draws from ``rng``.

        It may look at the game, or at what its agent sees.
        """
        raise NotImplementedError


class Steering(Protocol):
    """How a person comes to an action by keys."""

    @property
    def keys(self) -> str:
        """What can be pressed."""

    @property
    def idle(self) -> int | None:
        """The action of a frame in which no key is pressed; None if the game waits."""

    @property
    def frame_time(self) -> float:
        """Seconds that a frame lasts, where the game does not wait."""

    def press(self, key: str) -> int | None:
        """Take a key, as :mod:`fastenv.keys` names it; return the action once it is chosen."""

    def text(self) -> str:
        """Return what there is to see."""


class StepTimes(Protocol):
    """Counts where the time of steps goes, in all engines of a process."""

    def read(self, wall_s: float, steps: int = 1, num_threads: int = 1) -> dict[str, float]:
        """Return milliseconds a step since the last reading, by part; they are its wall time."""


def first_difference(one: Array, other: Array, path: str = "") -> str | None:
    """Return the dotted name of the first field in which two records of a dtype differ, or None."""
    if one.dtype.names is None:
        return None if one.tobytes() == other.tobytes() else path
    for name in one.dtype.names:
        found = first_difference(one[name], other[name], f"{path}.{name}" if path else name)
        if found is not None:
            return found
    return None


AnyGame = TypeVar("AnyGame", bound="Game")


class Game(Reference):
    """A configured game.

    Attributes
    ----------
    spec : GameSpec
    shared : ndarray, shape (1,)
        One read-only record for the whole engine: rules, tables, whatever all lanes read.
    seats : Seats or None
        Of a game whose seats take turns and are all played from outside: the option ``seats="all"``
        of a game that has it.
    env_id : str or None
        The id it was made by, without the namespace; None if it was made by hand.
    bot_names : tuple of str
        Names that :meth:`bot` knows.
    goal : str
        For people who play it: what it is about, and how to begin.
    presets : mapping of str to mapping
        Options by the name of what they are for; the option ``preset`` takes a name.
    """

    spec: GameSpec
    seats: Seats | None = None
    env_id: str | None = None
    bot_names: tuple[str, ...] = ()
    goal: str = ""
    presets: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    shared: Array = np.zeros(1, NO_KNOBS)
    keeps_shared = False  # whether ``shared`` is another than the game is made with

    # -- the shared record -----------------------------------------------------------------------

    def with_shared(self, shared: Array, trusted: bool = False) -> Game:
        """Return this game with another shared record, by which its reference plays too.

        Rows, knobs and spaces of an engine stay: a record that needs others is refused. A game
        that can tell which records are possible overrides this; of another every change is
        refused, unless it is trusted.

        Parameters
        ----------
        shared : ndarray, shape (1,)
            Of the dtype of ``self.shared``.
        trusted : bool
            Leave the check out: what is not checked can crash the process.

        Raises
        ------
        ConfigError
            Naming the field that cannot be what it is.
        """
        return self.taken(copy.copy(self), shared, trusted)

    def taken(self, made: AnyGame, shared: Array, trusted: bool) -> AnyGame:
        """Return a game like this one, made for a record, if that is its own; see `with_shared`."""
        made.env_id = self.env_id
        changed = first_difference(made.shared, shared)
        if changed is not None and not trusted:
            value, kept = (_part(record, changed) for record in (shared, made.shared))
            raise ConfigError(f"shared: {changed} must stay {show(kept)}, got {show(value)}")
        if changed is not None:
            made.keep_shared(shared)
        return made

    def keep_shared(self, shared: Array) -> None:
        """Take a record over as it is; a pickle of the game has it from now on."""
        self.shared, self.keeps_shared = shared.copy(), True
        self.shared.flags.writeable = False

    def kept(self) -> dict[str, Any]:
        """Return the attributes that a pickle needs beside what the game is made from."""
        kept: dict[str, Any] = {"env_id": self.env_id}
        if self.keeps_shared:
            kept |= {"shared": self.shared, "keeps_shared": True}
        return kept

    # -- the compiled twins ----------------------------------------------------------------------

    def kernels(self) -> Compiled:
        """Return the functions of ``kernel_module``; called only if it can be imported."""
        assert self.spec.kernel_module is not None
        functions: Compiled = importlib.import_module(self.spec.kernel_module).functions()
        return functions

    def core(self) -> Any:
        """Return the ``TABLE`` of ``core_module``, or a :class:`Compiled`."""
        assert self.spec.core_module is not None
        return importlib.import_module(self.spec.core_module).TABLE

    # -- the rest --------------------------------------------------------------------------------

    def default_knobs(self, n: int) -> Array:
        """Return the configured knobs of ``n`` lanes."""
        return np.zeros(n, self.spec.knobs_dtype)

    def set_knob(self, knobs: Array, name: str, value: Any) -> None:
        """Write a knob into rows of ``knobs_dtype``, or raise :class:`ConfigError`."""
        raise ConfigError(f"{show(name)} is not a knob: this game has none")

    def get_knob(self, knobs: np.void, name: str) -> Any:
        """Return the value of a knob, or raise AttributeError."""
        raise AttributeError(f"this game has no knob {show(name)}")

    @abstractmethod
    def validate(self, rows: Array) -> None:
        """Raise :class:`StateError`, naming lane and field, unless all rows are possible states."""

    @abstractmethod
    def describe(self, row: np.void) -> str:
        """Name the decision that is due, for error messages."""

    def action_name(self, action: int, row: np.void | None = None) -> str:
        """Name an action for people, in the state ``row`` if there is one; default is its number.

        A game whose actions mean something else in each state may need the state for more.
        """
        return str(action)

    def render(self, row: np.void, mode: str) -> Any:
        """Draw a state: ``ansi`` returns str, ``rgb_array`` uint8 of shape (H, W, 3)."""
        raise NotImplementedError

    def steering(self, row: np.void) -> Steering | None:
        """Return how a person comes to an action from a state by keys; None: by its number."""
        return None

    def shown(self, name: str, value: Any) -> Any:
        """Return a value of an info column as dicts show it: its label, if it has labels."""
        labels = self.spec.info_labels.get(name)
        return value if labels is None else labels[int(value)]

    def step_times(self) -> StepTimes | None:
        """Begin to count where the time of compiled steps goes; None: it is not known."""
        return None

    def bot(self, name: str) -> Array:
        """Return the parameters of a scripted player, shape (1,), or raise :class:`ConfigError`."""
        raise ConfigError(f"bot {show(name)}: this game has no scripted players")


def _part(record: Array, path: str) -> Any:
    """Return what a dotted name stands for in a record of shape (1,)."""
    for name in path.split("."):
        record = record[name]
    return record[0].tolist()
