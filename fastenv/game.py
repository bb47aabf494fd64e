"""What a game must provide to live in the house.

A game is a row of bytes (``docs/design.md``). It comes as a plain Python reference and, optionally,
as Numba kernels and a Cython core that give the same bits. This file says what each of the three is
called with; the house (engine, env, vector, adapters) uses nothing else of a game.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]


class ReferenceGame(Protocol):
    """One running game in plain Python; what the house reads of it."""

    done: int  # 0 running, 1 terminated, 2 truncated
    ep_return: float  # sums of the running episode, kept by `Game.reward`
    ep_length: int


class Kernels(Protocol):
    """Numba kernels over state rows; rows with ``select[i] == 0`` are not touched."""

    def observe_many(self, rows: Array, select: Bytes, obs: Array, mask: Bytes) -> None:
        """Write observation and mask of each selected row."""

    def reward_many(self, rows: Array, select: Bytes, reward: Array, columns: Array) -> None:
        """Write reward and float columns of the last step; add to the rows' episode sums."""

    def info_many(self, rows: Array, select: Bytes, info: Array) -> None:
        """Write the info columns of each selected row."""

    def addresses(self) -> tuple[int, ...]:
        """Return addresses of C functions over one row, as the game's own core binds them."""


class SeeingKernels(Kernels, Protocol):
    """The kernels of a game whose scripted players see what the agent sees."""

    def bot_many(
        self, kind: int, obs: Array, mask: Bytes, select: Bytes, rng_states: Array, out: Array
    ) -> None:
        """Write the action of the scripted player ``kind``."""


class Core(Protocol):
    """A batch of rows stepped in Cython; rows with ``select[i] == 0`` are not touched."""

    def reset(self, select: Bytes, seeds: npt.NDArray[np.uint64] | None) -> None:
        """Start an episode in each selected row: from its seed, or going on with its stream."""

    def step(self, actions: npt.NDArray[np.int32], select: Bytes) -> None:
        """Take one decision in each selected row; rows that ended stay ended."""

    def first_illegal(self, actions: npt.NDArray[np.int32], select: Bytes) -> int:
        """Return the first selected row in which its action is illegal now, or -1."""

    def bind(
        self,
        addresses: tuple[int, ...],
        reward: Array,
        columns: Array,
        terminated: Bytes,
        truncated: Bytes,
        info: Array,
        final_info: Array,
        final_obs: Array,
        ep_return: Array,
        ep_length: Array,
        info_wanted: npt.NDArray[np.int32],
        columns_wanted: npt.NDArray[np.int32],
    ) -> None:
        """Remember kernels and destinations of the fused step.

        ``info``, ``final_info`` and ``columns`` hold the wanted columns only, in that order.
        """

    def materialise(self, select: Bytes) -> None:
        """Fill what the selected rows leave open; for games with ``lazy``."""

    def step_fused(
        self, actions: Array, select: Bytes, autoreset: bool, obs: Array, mask: Bytes
    ) -> None:
        """Step, reward, flags, final values, reset and encode in one pass over the rows.

        In rows that are not selected, reward, float columns and flags become 0.
        """

    def observe(self, select: Bytes, obs: Array, mask: Bytes) -> None:
        """Write observation, mask and (bound) info of each selected row."""

    def bot_actions(self, kind: int, rng_states: Array, out: Array) -> None:
        """Write the scripted player's action in each running row; unless ``bots_see_obs``."""


class Game(ABC):
    """A configured game.

    Attributes
    ----------
    num_actions : int
        Actions are ``0 .. num_actions - 1``.
    obs_shape, obs_dtype, obs_low, obs_high
        The observation: a Box.
    float_dtype : dtype
        Of reward and float columns.
    state_dtype : dtype
        Of one row: aligned, with the fields ``done`` (0 running, 1 terminated, 2 truncated),
        ``ep_return`` (float64) and ``ep_length`` (int32).
    knobs_dtype : dtype
        Of one lane's knobs: what a curriculum may change, read at each reset.
    info_columns, float_columns : tuple of str
        Names of the columns of a state and of the float columns of a step (0 after a reset).
    info_dtype : dtype
        Of the block that holds the columns of a state.
    info_kinds : mapping of str to type or tuple of str
        How dicts show a column of a state: as int, bool or float, or as the label of that number;
        default as a scalar of ``info_dtype``.
    default_columns : tuple of str or None
        Columns written unless others are asked for; None is all.
    lazy : bool
        The core leaves parts of a row open until they are needed or ``materialise`` is called.
    bots_see_obs : bool
        Scripted players decide from observation and mask (``bot_action_seen``, ``bot_many``), not
        from the state.
    raise_illegal : bool
        The engine refuses actions that are illegal now; else the rules deal with them.
    any_integer : bool
        Actions out of range are moves like any other: the engine passes them on as -1 or
        ``num_actions``. Booleans and whole floats count as integers.
    kernel_module, core_module : str or None
        Modules that must be importable for ``use_numba`` and ``use_cython``.
    render_modes : tuple of str
        Modes of :meth:`render`.
    """

    num_actions: int
    obs_shape: tuple[int, ...]
    obs_dtype: np.dtype[Any] = np.dtype(np.float32)
    obs_low: float = -1.0
    obs_high: float = 1.0
    float_dtype: np.dtype[Any] = np.dtype(np.float32)
    state_dtype: np.dtype[Any]
    knobs_dtype: np.dtype[Any] = np.dtype([("none", "u1")])
    info_columns: tuple[str, ...] = ()
    info_dtype: np.dtype[Any] = np.dtype(np.int32)
    info_kinds: Mapping[str, type | tuple[str, ...]] = MappingProxyType({})
    float_columns: tuple[str, ...] = ()
    default_columns: tuple[str, ...] | None = None
    lazy: bool = False
    bots_see_obs: bool = False
    raise_illegal: bool = False
    any_integer: bool = False
    kernel_module: str | None = None
    core_module: str | None = None
    render_modes: tuple[str, ...] = ()

    # -- the reference ---------------------------------------------------------------------------

    @abstractmethod
    def create(self) -> Any:
        """Return a reference game (:class:`ReferenceGame`) that has not been reset yet."""

    @abstractmethod
    def reset(self, game: Any, knobs: np.void, seed: int | None) -> None:
        """Start an episode with these knobs: from a seed, or going on with the game's stream."""

    @abstractmethod
    def step(self, game: Any, action: int) -> None:
        """Take one decision; the episode sums are not touched."""

    @abstractmethod
    def pack(self, game: Any, row: np.void) -> None:
        """Write a reference game into a state row."""

    @abstractmethod
    def unpack(self, row: np.void) -> Any:
        """Return the reference game that a state row stands for; it gets knobs when it is reset."""

    @abstractmethod
    def encode_obs(self, game: Any, out: Array) -> None:
        """Write the observation, shape ``obs_shape``."""

    @abstractmethod
    def action_mask(self, game: Any, out: Bytes) -> None:
        """Write the legal actions as 0 and 1, shape (num_actions,)."""

    @abstractmethod
    def reward(self, game: Any, columns: Array) -> float:
        """Return the reward of the last step, write the float columns, add to the episode sums."""

    @abstractmethod
    def info(self, game: Any, out: Array) -> None:
        """Write the info columns of the state."""

    # -- the compiled twins ----------------------------------------------------------------------

    def kernels(self) -> Kernels:
        """Return the Numba kernels; called only if ``kernel_module`` can be imported."""
        raise NotImplementedError

    def core(self, states: Bytes, knobs: Bytes, num_threads: int) -> Core:
        """Return a Cython core over state and knob rows given as bytes, shapes (n, itemsize)."""
        raise NotImplementedError

    # -- the rest --------------------------------------------------------------------------------

    def default_knobs(self, n: int) -> Array:
        """Return the configured knobs of ``n`` lanes."""
        return np.zeros(n, self.knobs_dtype)

    def set_knob(self, knobs: Array, name: str, value: Any) -> None:
        """Write a knob into rows of ``knobs_dtype``, or raise :class:`ConfigError`."""
        from fastenv.errors import ConfigError

        raise ConfigError(f"{name!r} is not a knob: this game has none")

    def get_knob(self, knobs: np.void, name: str) -> Any:
        """Return the value of a knob, or raise AttributeError."""
        raise AttributeError(f"this game has no knob {name!r}")

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

    def shown(self, name: str, value: Any) -> Any:
        """Return a value of an info column as dicts show it (``info_kinds``)."""
        kind = self.info_kinds.get(name)
        if kind is None:
            return value
        return kind[int(value)] if isinstance(kind, tuple) else kind(value)

    def bot_kind(self, name: str) -> int:
        """Return the number of a scripted player, or raise :class:`ConfigError`."""
        from fastenv.errors import ConfigError

        raise ConfigError(f"bot {name!r}: this game has no scripted players")

    def bot_action(self, game: Any, kind: int, rng_state: npt.NDArray[np.uint64]) -> int:
        """Return a scripted player's action; advance its generator state, shape (4,)."""
        raise NotImplementedError

    def bot_action_seen(
        self, obs: Array, mask: Bytes, kind: int, rng_state: npt.NDArray[np.uint64]
    ) -> int:
        """Return the action of a player that sees observation and mask; as :meth:`bot_action`."""
        raise NotImplementedError
