"""The layout of an observation as plain numbers, for networks.

A plain observation is an array of numbers. A structured one is a record of arrays, which Gymnasium
shows as a ``Dict``; here it travels as the bytes of the record, one tensor like any other, and only
the network takes it apart (:mod:`training.nets.encoders`).

What shapes and bounds do not tell, a game may describe: the capability ``observation`` is a
function of an engine that returns :class:`ObservationParts`. A game without it has none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from training.nets.options import ActorCriticConfig
from training.run import games
from training.run.engine import Engine
from training.run.options import require

Array = npt.NDArray[Any]
MOST_VALUES = 32  # that a cell of a board may have, to be shown as a one-hot
SMALLEST_BOARD = 4  # sides; what is smaller is flattened


@dataclass(frozen=True)
class Field:
    """One array of an observation.

    Parameters
    ----------
    name : str
        Empty for a plain observation.
    shape : tuple of int
        Empty for a single number.
    dtype : str
        NumPy's name of the type of its numbers.
    offset : int
        Where it begins in a record, in bytes.
    unit : float
        What its numbers are divided by: the largest that an integer can be, 1 for others.
    low : int
        Least value of its cells.
    values : int
        How many values they can have; 0 if they are no integers, or can have too many to tell.
    kind : {"", "planes", "packed", "numbers"}
        ``planes``: channels in the first axis, however many; ``packed``: likewise, with four pixels
        a byte; ``numbers``: no image, whatever its shape; empty: the shape tells.
    bins : int
        Each of its numbers, from 0 to 1, is shown by so many, see
        :func:`training.nets.encoders.to_bins`; 0: by itself.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    offset: int = 0
    unit: float = 1.0
    low: int = 0
    values: int = 0
    kind: str = ""
    bins: int = 0

    @property
    def size(self) -> int:
        """Numbers of the array."""
        return prod(self.shape)

    @property
    def width(self) -> int:
        """Numbers by which hidden layers see it, where it is flattened."""
        return self.size * max(1, self.bins)

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return self.size * np.dtype(self.dtype).itemsize

    @property
    def sides(self) -> tuple[int, ...]:
        """Height and width of an image."""
        if len(self.shape) == 3:
            return self.shape[:2] if self.channels_last else self.shape[1:]
        return self.shape

    @property
    def channels_last(self) -> bool:
        """Whether channels are the last axis; unless told, the shorter end of three axes is."""
        channels_first = self.kind in ("planes", "packed")
        return len(self.shape) == 3 and not channels_first and self.shape[2] < self.shape[0]

    @property
    def is_image(self) -> bool:
        """Whether convolutions make sense of it."""
        possible = len(self.shape) in (2, 3) and self.kind != "numbers"
        return possible and min(self.sides) >= SMALLEST_BOARD


@dataclass(frozen=True)
class Placements:
    """Actions that each fill two cells of a board.

    Parameters
    ----------
    board : str
        Field of the observation whose planes show the board.
    cells : tuple of (int, int)
        Of each action, the cells of the first half and of the second, row by row from the top; -1
        for one outside the board.
    costs : str or None
        Field with a number for each action, such as how long it takes; None if it is not shown.
    """

    board: str
    cells: tuple[tuple[int, int], ...]
    costs: str | None = None


@dataclass(frozen=True)
class Colours:
    """Colours whose names do not matter: a network sees which are equal, not which they are.

    Parameters
    ----------
    board : str
        Field of the observation that shows a board in planes.
    planes : tuple of int
        Its planes that show where each colour is.
    given : str
        Field of shape (k, number of colours): what is to be placed there, each colour one-hot.
    """

    board: str
    planes: tuple[int, ...]
    given: str


@dataclass(frozen=True)
class ObservationParts:
    """The structure of an observation beyond shapes and bounds.

    Parameters
    ----------
    phase : tuple of int or None
        Offset and length of the one-hot of the decision phase.
    slots : tuple of (int, int, int)
        Offset, number and width of each row of card slots; an empty slot is all zero.
    hand : tuple of int or None
        The row of slots whose cards are played by as many first actions, one each.
    fields : mapping of str to mapping
        Attributes of :class:`Field` that shape and bounds of a field do not
        tell, by its name.
    placements : Placements or None
        What the actions do to a board.
    colours : Colours or None
        Fields that show colours.
    goals : tuple of str
        Fields that say what is to be reached.
    """

    phase: tuple[int, int] | None = None
    slots: tuple[tuple[int, int, int], ...] = ()
    hand: tuple[int, int, int] | None = None
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    placements: Placements | None = None
    colours: Colours | None = None
    goals: tuple[str, ...] = ()


@dataclass(frozen=True)
class CriticView:
    """Inputs of the value network in training that the player cannot see, such as all hands.

    The capability ``critic_view`` is a function of an engine that returns it. It is for games whose
    episodes are never cut off: the rows behind them are not kept.

    Parameters
    ----------
    size : int
        Numbers of a row.
    write : callable
        Takes rows (n,) in which a decision is due, and an array (n, size) of uint8 to fill.
    """

    size: int
    write: Callable[[Array, Array], None]


@dataclass(frozen=True)
class ObsLayout:
    """Sizes of an environment, and parts of its observations that a network may use.

    Parameters
    ----------
    obs_size : int
        Numbers of an observation.
    num_actions : int
    fields : tuple of Field
        Its arrays; empty for a plain observation of float32 in one axis.
    record_size : int
        Bytes of a structured observation; 0 for a plain one.
    parts : ObservationParts
    critic_view : int
        Numbers that a value network may see beside an observation; 0 for none.
    """

    obs_size: int
    num_actions: int
    fields: tuple[Field, ...] = ()
    record_size: int = 0
    parts: ObservationParts = ObservationParts()
    critic_view: int = 0

    def check(self, native: ActorCriticConfig) -> None:
        """Refuse a network that this environment cannot feed."""
        fits = native.heads != "phase" or self.parts.phase is not None
        require(fits, "native.heads", native.heads, "'single': this game does not show its phase")
        fits = native.heads != "cards" or self.parts.hand is not None
        require(fits, "native.heads", native.heads, "'single': actions here do not play card slots")
        fits = native.heads in ("single", "phase", "cards") or self._shows_board(native.encoder)
        allowed = "'single': this game shows no board to place on, or not to convolutions"
        require(fits, "native.heads", native.heads, allowed)
        fits = native.attention == 0 or bool(self.parts.slots)
        allowed = "0: this game does not show card slots"
        require(fits, "native.attention", native.attention, allowed)
        fits = not native.critic_view or self.critic_view > 0
        require(fits, "native.critic_view", True, "false: this game hides nothing that it shows it")
        scaled = native.normalize_observations
        numbers = native.encoder == "flat" or not (
            self.fields and all(f.is_image for f in self.fields)
        )
        fits = not scaled or (native.encoder != "pixels" and numbers)
        allowed = "false: this game shows no numbers beside images, or its encoder takes none"
        require(fits, "native.normalize_observations", scaled, allowed)
        self.check_encoder(native.encoder, "native.encoder")

    def check_encoder(self, encoder: str, name: str) -> None:
        """Refuse an encoder, by the name of its option, that there is nothing for."""
        needed = encoder in ("conv", "pixels")
        fits = not needed or any(field.is_image for field in self.fields)
        require(fits, name, encoder, "'auto': this game shows no image")

    def _shows_board(self, encoder: str) -> bool:
        placements = self.parts.placements
        if placements is None or encoder in ("flat", "pixels"):
            return False
        return any(f.name == placements.board and f.is_image for f in self.fields)


def obs_layout(engine: Engine) -> ObsLayout:
    """Find the layout of an engine's observations, with the parts that its game describes."""
    observe, view = games.find(engine, "observation"), find_critic_view(engine)
    parts = ObservationParts() if observe is None else observe(engine)
    dtype = np.dtype(engine.obs_dtype)
    fields = tuple(
        replace(field, **parts.fields.get(field.name, {}))
        for field in fields_of(dtype, engine.obs_shape, getattr(engine.spec, "obs_bounds", None))
    )
    return ObsLayout(
        obs_size=sum(field.size for field in fields),
        num_actions=engine.num_actions,
        fields=fields,
        record_size=0 if dtype.names is None else dtype.itemsize,
        parts=parts,
        critic_view=0 if view is None else view.size,
    )


def find_critic_view(engine: Engine) -> CriticView | None:
    """Find what the game shows to the value network alone; None if it hides nothing."""
    make = games.find(engine, "critic_view")
    return None if make is None else make(engine)


def fields_of(dtype: np.dtype[Any], shape: tuple[int, ...], bounds: Any) -> tuple[Field, ...]:
    """Return the arrays of an observation.

    Parameters
    ----------
    dtype : dtype
        Of numbers, or structured.
    shape : tuple of int
        Of a plain observation.
    bounds : (float, float), mapping of str to (float, float), or None
        Lowest and highest number, of each field of a structure; None if nobody says.
    """
    if dtype.fields is None:
        return (_make_field("", shape, dtype, 0, bounds),)
    every = bounds or {}
    return tuple(
        _make_field(name, part[0].shape, part[0].base, part[1], every.get(name))
        for name, part in dtype.fields.items()
    )


def _make_field(
    name: str, shape: tuple[int, ...], dtype: np.dtype[Any], offset: int, bounds: Any
) -> Field:
    if dtype.kind not in "iu":
        return Field(name, tuple(shape), dtype.name, offset)
    limits = np.iinfo(dtype)
    low, high = (limits.min, limits.max) if bounds is None else (int(b) for b in bounds)
    values = high - low + 1 if high - low < MOST_VALUES else 0
    unit = float(max(abs(low), abs(high), 1))
    return Field(name, tuple(shape), dtype.name, offset, unit, low, values)


# -- observations as tensors -----------------------------------------------------------------------


def torch_dtype(dtype: npt.DTypeLike) -> torch.dtype:
    """Return torch's dtype of a NumPy dtype."""
    return torch.from_numpy(np.empty(0, dtype)).dtype


def storage(engine: Any) -> tuple[tuple[int, ...], torch.dtype]:
    """Return shape and type of the tensor that holds one observation of an engine."""
    dtype = np.dtype(engine.obs_dtype)
    if dtype.names is None:
        return tuple(engine.obs_shape), torch_dtype(dtype)
    return (dtype.itemsize,), torch.uint8


def as_tensor(obs: Array) -> Tensor:
    """Convert an engine's observations for networks, over the same memory if possible.

    Parameters
    ----------
    obs : ndarray, shape (n, ...)
        Plain, or structured.

    Returns
    -------
    Tensor, shape (n, ...)
        The numbers, or of structured ones the bytes, uint8, shape (n, itemsize).
    """
    if obs.dtype.names is None:
        return torch.from_numpy(obs)
    whole = np.ascontiguousarray(obs)
    return torch.from_numpy(whole.view(np.uint8).reshape(*whole.shape, whole.dtype.itemsize))


def as_array(stored: Tensor, engine: Any) -> Array:
    """View a tensor of :func:`storage` as the array that the engine writes, shape (n, ...)."""
    dtype = np.dtype(engine.obs_dtype)
    array: Array = stored.numpy()
    return array if dtype.names is None else array.view(dtype)[..., 0]


def without_padding(stored: Tensor, engine: Any) -> Array:
    """Copy the observations in a tensor of :func:`storage` to host memory, to be saved.

    Bytes between the fields of a record mean nothing and become 0.
    """
    copy: Array = stored.cpu().numpy().copy()
    dtype = np.dtype(engine.obs_dtype)
    if dtype.fields is None:
        return copy
    used = np.zeros(dtype.itemsize, np.bool_)
    for part in dtype.fields.values():
        used[part[1] : part[1] + part[0].itemsize] = True
    copy[..., ~used] = 0
    return copy
