"""The interface of an engine to a trainer: a batch engine, or an engine around engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fastenv import Game, GameSpec

Array = npt.NDArray[Any]


class Engine(Protocol):
    """Lanes that are stepped together, as :class:`fastenv.BatchEngine` does.

    That class, the engines of self-play and the Manager's environment are engines; to a trainer all
    are lanes. Shapes and meanings are those of ``BatchEngine``.
    """

    obs: Array
    mask: npt.NDArray[np.uint8]
    reward: Array
    terminated: npt.NDArray[np.uint8]
    truncated: npt.NDArray[np.uint8]
    final_obs: Array
    ep_return: Array
    ep_length: Array
    ep_frames: Array
    tau: Array

    @property
    def game(self) -> Game:
        """The game of the lanes, with its options."""

    @property
    def spec(self) -> GameSpec:
        """Data of the game."""

    @property
    def num_envs(self) -> int:
        """Number of lanes."""

    @property
    def num_actions(self) -> int:
        """Number of actions, the entries of a mask."""

    @property
    def obs_shape(self) -> tuple[int, ...]:
        """Shape of an observation."""

    @property
    def obs_dtype(self) -> np.dtype[Any]:
        """Type of the numbers of an observation."""

    @property
    def backend(self) -> str:
        """Name of the backend."""

    @property
    def info(self) -> Mapping[str, Array]:
        """Columns of the step just taken."""

    @property
    def final_info(self) -> Mapping[str, Array]:
        """Columns of the last state of episodes that have ended."""

    def reset_many(
        self,
        mask: Any = None,
        seeds: Any = None,
        obs_out: Array | None = None,
        mask_out: Array | None = None,
    ) -> None:
        """Start a new episode in the selected lanes."""

    def step_many(
        self, actions: Any, obs_out: Array | None = None, mask_out: Array | None = None
    ) -> None:
        """Take one decision in every lane and begin the next episode of those that end."""

    def refresh(self) -> None:
        """Bring ``obs`` and ``mask`` up to date after calls that wrote them elsewhere."""

    def get_state(self, idx: Any = None) -> npt.NDArray[np.uint8]:
        """Return copies of the rows as bytes."""

    def get_states(self, idx: Any = None) -> Array:
        """Return copies of the rows as records."""

    def set_state(self, idx: Any, blob: npt.NDArray[np.uint8]) -> None:
        """Put rows back."""

    def configure(self, name: str, value: Any, idx: Any = None) -> None:
        """Set a knob, for each lane from its next reset."""


def first_column(column: Array) -> Array:
    """Return a column; of one with an entry an agent, that of the first."""
    return column if column.ndim == 1 else column[:, 0]


def step_columns(engine: Engine, names: Sequence[str]) -> dict[str, Array]:
    """Read info columns of the step just made, of the ended episode in lanes where one ended."""
    ended = (engine.terminated | engine.truncated) != 0
    if not ended.any():
        return {name: engine.info[name] for name in names}
    return {name: np.where(ended, engine.final_info[name], engine.info[name]) for name in names}


# -- rows ------------------------------------------------------------------------------------------


def take_rows(rows: Array, some: Array) -> Array:
    """Copy some rows, by a mask or numbers: as bytes, for NumPy copies records field by field."""
    return as_bytes(rows)[some].view(rows.dtype)


def join_rows(parts: Sequence[Array]) -> Array:
    """Concatenate rows, as bytes."""
    return np.concatenate([as_bytes(part) for part in parts]).view(parts[0].dtype)


def as_bytes(rows: Array) -> Array:
    """View rows as items of as many bytes, which are copied whole; it may be written to."""
    return rows.view(np.dtype((np.void, rows.dtype.itemsize)))


# -- saving ----------------------------------------------------------------------------------------


def rows_of(engines: Sequence[Engine]) -> Array:
    """Copy the rows of all lanes as bytes, uint8 (N, S)."""
    return np.concatenate([engine.get_state() for engine in engines])


def seating_of(engines: Sequence[Engine]) -> dict[str, Array]:
    """Copy the seating of engines with an ``opponent``, which rows lack, shape (N, ...).

    The names are those of the arrays in a checkpoint.
    """
    every = [e.get_seating() for e in engines if hasattr(e, "get_seating")]
    return {
        _name_array(name): np.concatenate([seating[name] for seating in every])
        for name in (every[0] if every else ())
    }


def _name_array(name: str) -> str:
    return name if name == "decisions" else f"seating_{name}"  # the former is older


def restore_lanes(engines: Sequence[Engine], rows: Array, arrays: Mapping[str, Array]) -> None:
    """Put back what :func:`rows_of` and, among ``arrays``, :func:`seating_of` returned.

    Nothing is put back where rows cannot continue an episode: a run begins others there.
    """
    if not engines[0].game.resumable:
        return
    first = 0
    for engine in engines:
        here = slice(first, first := first + engine.num_envs)
        engine.set_state(None, rows[here])
        restore_seating(engine, {name: array[here] for name, array in arrays.items()})


def restore_seating(engine: Any, arrays: Mapping[str, Array]) -> None:
    """Put back what :func:`seating_of` returned for one engine."""
    if hasattr(engine, "get_seating"):
        now = engine.get_seating()
        names = dict.fromkeys([*now, "agent", "players", "opponents", "given", "answered"])
        kept = {name: arrays[key] for name in names if (key := _name_array(name)) in arrays}
        if "opponents" in now and "decisions" in kept and "agent" not in kept:
            kept |= _seat_learner_first(now["opponents"])
        engine.set_seating(kept)


def _seat_learner_first(opponents: Array) -> dict[str, Array]:
    """Make the seating of older checkpoints: the learner has the first seat in all episodes."""
    first = np.zeros(len(opponents), np.int32)
    return {"agent": first, "players": np.column_stack([first - 1, opponents])}


def discounts(engine: Engine, gamma: float, out: Array | None = None) -> Array:
    """Return ``gamma**tau`` of the step just made in each lane, float32 (n,).

    Parameters
    ----------
    engine : Engine
    gamma : float
        Discount of a primitive step.
    out : ndarray of float32, shape (n,), optional
        Where to write it.
    """
    power: Array = np.power(np.float32(gamma), engine.tau, out=out, dtype=np.float32)
    return power


# Called after every step of an engine, before its reward is stored, with the actions taken, and
# after a reset with None; may write reward, observations and mask.
OnStep = Callable[[Engine, np.ndarray | None, np.ndarray, np.ndarray], None]
