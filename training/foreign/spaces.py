"""Spaces of Gymnasium as arrays of numbers, and actions as numbers from 0 on."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from fastenv.errors import ConfigError, show
from fastenv.testing.values import parts_of
from training.run.games import ForeignError

__all__ = ["Actions", "ForeignError", "Observation"]

Array = npt.NDArray[Any]
Space = spaces.Space[Any]
CHECKED = 1000  # first observations whose bounds are checked
MOST_VALUES = 4096  # of a Discrete observation, which is shown as a one-hot
# Range of whole numbers that a network divides by the largest one. In a wider range those that come
# up would all be next to 0; they are shown as they are.
WIDEST = 2**16 - 1
UNSIGNED = {np.dtype(f"{kind}{k}"): np.dtype(f"u{k}") for kind in "iu" for k in (1, 2, 4, 8)}
ARRAYS = (spaces.Box, spaces.MultiBinary)  # the others are shown as a one-hot
MOST_ACTIONS = 4096  # of a MultiDiscrete space, whose combinations are numbered


@dataclass(frozen=True)
class Leaf:
    """One array of an observation.

    Parameters
    ----------
    name : str
        Keys and places that lead to it, joined by dots; empty for a plain observation.
    path : tuple of (str or int)
        The same.
    space : Space
    dtype : dtype
        Of its numbers as they are shown.
    shape : tuple of int
    low, high : float
        Bounds of its numbers.
    """

    name: str
    path: tuple[str | int, ...]
    space: Space
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    low: float
    high: float

    def write(self, who: str, value: Any, out: Array) -> None:
        """Write a value of the space.

        Raises
        ------
        ForeignError
            It is not of the space: another shape, a number that is out of range, not whole or not
            finite, or nothing of the kind.
        """
        try:
            self._write(who, value, out)
        except (TypeError, ValueError, OverflowError) as error:  # None, text, ragged lists
            self._refuse(who, f"is {show(value)}, which is not of {self.space}", error)

    def _write(self, who: str, value: Any, out: Array) -> None:
        space = self.space
        if not isinstance(space, ARRAYS):
            self._write_one_hot(who, value, out)
            return
        if np.shape(value) != space.shape:
            self._refuse(who, f"has shape {np.shape(value)}, its space says {space.shape}")
        if self._limits is not None and not self._fits_all(value):
            value = self._check_whole(who, np.asarray(value), *self._limits)
        out[...] = value if space.shape else np.reshape(value, 1)
        if self.dtype.kind == "f" and not np.isfinite(out).all():
            self._refuse(who, f"is {show(np.asarray(value).ravel().tolist())}: not finite")
        if self._bounds:
            self._check_bounds(who, out)

    @cached_property
    def _bounds(self) -> list[tuple[Array, Array]]:
        """Least and largest of floating-point numbers, for each observation still to be checked.

        Empty without bounds, and once one was outside. A training has a warning of its first
        observations, and no check at every step: ``fastenv check`` looks at all of them.
        """
        if self._limits is not None:
            return []
        assert isinstance(self.space, spaces.Box)
        with np.errstate(over="ignore"):  # as they are shown: rounding leads nobody out
            low, high = (
                bound.astype(self.dtype).reshape(self.shape)
                for bound in (self.space.low, self.space.high)
            )
        return [(low, high)] * CHECKED if np.isfinite([low, high]).any() else []

    def _check_bounds(self, who: str, out: Array) -> None:
        """Warn once of a number outside its space: networks take it, and known games have some."""
        low, high = self._bounds.pop()
        outside = (out < low) | (out > high)
        if outside.any():
            self._bounds.clear()
            place = np.unravel_index(int(np.argmax(outside)), out.shape)
            warnings.warn(
                f"{who}: the observation{self._part} is {out[place]} at {[*map(int, place)]}, its "
                f"space says {low[place]} to {high[place]}; such numbers are taken as they are",
                RuntimeWarning,
                stacklevel=2,
            )

    @property
    def _part(self) -> str:
        return f" {self.name!r}" if self.name else ""

    @cached_property
    def _limits(self) -> tuple[Array, Array] | None:
        """Least and largest of whole numbers; None of others."""
        if isinstance(self.space, spaces.Box):
            whole = np.dtype(self.space.dtype).kind in "biu"
            return (self.space.low, self.space.high) if whole else None
        return np.zeros(self.shape, np.int8), np.ones(self.shape, np.int8)

    @cached_property
    def _full_dtype(self) -> np.dtype[Any] | None:
        """Type whose numbers are all possible, as in most images."""
        if not isinstance(self.space, spaces.Box):
            return None
        dtype = np.dtype(self.space.dtype)
        bounds = (False, True) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        whole = (self.space.low == bounds[0]).all() and (self.space.high == bounds[1]).all()
        return dtype if whole else None

    def _fits_all(self, value: Any) -> bool:
        full = self._full_dtype
        return full is not None and getattr(value, "dtype", None) == full

    @cached_property
    def _most(self) -> int | None:
        """Largest of whole numbers that are at least 0 everywhere, and have one largest number."""
        low, high = self._limits or (np.ones(1), np.ones(1))
        same = not low.any() and (high == high.flat[0]).all()
        return int(high.flat[0]) if same else None

    def _check_whole(self, who: str, array: Array, low: Array, high: Array) -> Array:
        """Return whole numbers, which assignment would cut off or wrap around."""
        unsigned, most = UNSIGNED.get(array.dtype), self._most
        if unsigned is not None and most is not None:  # most are so, and known by one look
            largest: int = np.maximum.reduce(array.view(unsigned), axis=None)
            if largest <= most:
                return array
        wrong = (array < low) | (array > high)
        if array.dtype.kind not in "biu":
            wrong |= np.floor(array) != array  # also NaN
        if np.any(wrong):
            place = np.unravel_index(int(np.argmax(wrong)), array.shape) if array.shape else ()
            where = f" at {[*map(int, place)]}" if place else ""
            least, most = int(low[place]), int(high[place])
            number = array[place].item()
            self._refuse(who, f"is {number}{where}, must be a whole number from {least} to {most}")
        return array

    @cached_property
    def _one_hots(self) -> list[tuple[int, int, int]]:
        """First value, number of values and place of the one-hot of each number."""
        parts = parts_of(self.space)
        ends = accumulate(size for size, _ in parts)
        return [(start, size, end - size) for (size, start), end in zip(parts, ends, strict=True)]

    def _write_one_hot(self, who: str, value: Any, out: Array) -> None:
        parts, numbers = self._one_hots, np.asarray(value).reshape(-1)
        if len(numbers) != len(parts):
            self._refuse(who, f"has {len(numbers)} numbers, its space says {len(parts)}")
        out[...] = 0
        for number, (start, size, offset) in zip(numbers.tolist(), parts, strict=True):
            place = number - start
            if not 0 <= place < size or place != int(place):
                self._refuse(who, f"is {show(value)}, outside {self.space}")
            out[offset + int(place)] = 1

    def _refuse(self, who: str, what: str, error: Exception | None = None) -> NoReturn:
        raise ForeignError(f"{who}: the observation{self._part} {what}") from error


def _leaves(who: str, space: Space, path: tuple[str | int, ...] = ()) -> Iterator[Leaf]:
    if isinstance(space, spaces.Dict):
        for key, each in space.spaces.items():
            yield from _leaves(who, each, (*path, key))
        return
    if isinstance(space, spaces.Tuple):
        for k, each in enumerate(space.spaces):
            yield from _leaves(who, each, (*path, k))
        return
    name = ".".join(map(str, path))
    if isinstance(space, spaces.Box):
        yield _box_leaf(who, name, path, space)
    elif isinstance(space, spaces.MultiBinary):
        shape = space.shape or (1,)
        yield Leaf(name, path, space, np.dtype(np.uint8), shape, 0.0, 1.0)
    elif isinstance(space, spaces.Discrete | spaces.MultiDiscrete):
        width = sum(size for size, _ in parts_of(space))
        if width > MOST_VALUES:
            raise ConfigError(
                f"{who}: observation {name or 'space'} {space} has {width:,} values, of which at "
                f"most {MOST_VALUES:,} can be shown as a one-hot; wrap it so that it shows numbers"
            )
        yield Leaf(name, path, space, np.dtype(np.float32), (width,), 0.0, 1.0)
    else:
        raise ConfigError(
            f"{who}: observation {name or 'space'} {type(space).__name__} is not possible; Box, "
            "Discrete, MultiDiscrete, MultiBinary, and Dict and Tuple of them are: wrap it so "
            "that it shows one of these"
        )


def _box_leaf(who: str, name: str, path: tuple[str | int, ...], space: spaces.Box) -> Leaf:
    if not space.low.size:
        raise ConfigError(f"{who}: observation {name or 'space'} {space} has no numbers")
    low, high = float(space.low.min()), float(space.high.max())
    kind = space.dtype.kind if space.dtype is not None else "f"
    dtype: np.dtype[Any] = np.dtype(np.float32)
    if kind == "b":
        dtype, low, high = np.dtype(np.uint8), 0.0, 1.0
    elif kind in "iu" and high - low <= WIDEST:
        limits = np.iinfo(np.int32)
        whole = np.dtype(space.dtype)
        if whole.itemsize < 4:
            dtype = whole
        elif limits.min <= low and high <= limits.max:
            dtype = np.dtype(np.int32)
    return Leaf(name, path, space, dtype, space.shape or (1,), low, high)


@dataclass(frozen=True)
class Observation:
    """The observations of a space as arrays.

    Parameters
    ----------
    who : str
        Name of the environment, for messages.
    space : Space

    Raises
    ------
    ConfigError
        A space that cannot be shown; names the part.
    """

    who: str
    space: Space

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """Its arrays, in order."""
        leaves = tuple(_leaves(self.who, self.space))
        if self.is_plain:
            return leaves
        names = [each.name for each in leaves]
        twice = next((name for name in names if not name or names.count(name) > 1), None)
        if twice is not None:
            raise ConfigError(
                f"{self.who}: several parts of its observation space are called {twice!r}, where "
                "keys are joined by dots; give them other keys"
                if twice
                else f"{self.who}: a part of its observation space has an empty key"
            )
        if not names:
            raise ConfigError(f"{self.who}: observation space {self.space} has no numbers")
        return leaves

    @property
    def is_plain(self) -> bool:
        """Whether it is one array."""
        return not isinstance(self.space, spaces.Dict | spaces.Tuple)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """Of the plain array, or of the record."""
        if self.is_plain:
            return self.leaves[0].dtype
        return np.dtype([(each.name, each.dtype, each.shape) for each in self.leaves], align=True)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Of the plain array; empty for a record."""
        return self.leaves[0].shape if self.is_plain else ()

    @cached_property
    def bounds(self) -> Any:
        """Lowest and highest number, of each field of a record."""
        pairs = {each.name: (each.low, each.high) for each in self.leaves}
        return pairs[self.leaves[0].name] if self.is_plain else pairs

    def write(self, value: Any, out: Any) -> None:
        """Write an observation.

        Raises
        ------
        ForeignError
            It is not of the space.
        """
        if self.is_plain:
            self.leaves[0].write(self.who, value, out)
            return
        for leaf in self.leaves:
            part = value
            try:
                for key in leaf.path:
                    part = part[key]
            except (KeyError, IndexError, TypeError) as error:
                raise ForeignError(
                    f"{self.who}: the observation has no part {leaf.name!r}, as its space says"
                ) from error
            leaf.write(self.who, part, out[leaf.name])


@dataclass(frozen=True)
class Actions:
    """The actions of a space, numbered from 0 on.

    Parameters
    ----------
    who : str
        Name of the environment, for messages.
    space : Space
        Discrete, or MultiDiscrete or MultiBinary, whose combinations are numbered.

    Raises
    ------
    ConfigError
        Another space, or too many combinations.
    """

    who: str
    space: Space

    def __post_init__(self) -> None:
        """Refuse other spaces."""
        several = spaces.MultiDiscrete | spaces.MultiBinary
        if isinstance(self.space, spaces.Box):
            raise ConfigError(
                f"{self.who}: action space {self.space} is continuous; Discrete and MultiDiscrete "
                "ones can be trained here, others by Stable-Baselines3"
            )
        if not isinstance(self.space, spaces.Discrete | several):
            raise ConfigError(
                f"{self.who}: action space {type(self.space).__name__} is not possible; Discrete "
                "and MultiDiscrete are"
            )
        if self.count > MOST_ACTIONS:
            raise ConfigError(
                f"{self.who}: action space {self.space} has {self.count:,} combinations, at most "
                f"{MOST_ACTIONS:,} are possible"
            )

    @cached_property
    def sizes(self) -> list[int]:
        """Values of each number of an action."""
        if isinstance(self.space, spaces.MultiBinary):
            return [2] * int(np.prod(self.space.shape))
        return [size for size, _ in parts_of(self.space)]

    @cached_property
    def count(self) -> int:
        """How many there are."""
        return prod(self.sizes)

    def decode(self, number: int) -> Any:
        """Return the action of a number, as the environment takes it."""
        space = self.space
        if isinstance(space, spaces.Discrete):
            return number + int(space.start)
        parts = np.array(np.unravel_index(number, self.sizes), np.int64)
        assert space.shape is not None
        if isinstance(space, spaces.MultiDiscrete):
            return (parts.reshape(space.shape) + space.start).astype(space.dtype)
        return parts.reshape(space.shape).astype(np.int8)

    def read_mask(self, mask: Any) -> npt.NDArray[np.uint8]:
        """Return a mask of the numbered actions, uint8 (count,).

        Parameters
        ----------
        mask : array_like
            An entry for each action. Of a MultiDiscrete space it may have one for each value of
            each number, joined, as sb3-contrib's are. Where that is as many, as with two numbers of
            two values, one of the shape of the combinations, ``tuple(sizes)``, has one for each of
            them, and any other one for each value.

        Raises
        ------
        ForeignError
            A mask of another shape, of other numbers, or one without a legal action.
        """
        try:
            entries = np.asarray(mask)
        except ValueError as error:  # a ragged list
            raise ForeignError(f"{self.who}: the action mask is {show(mask)}: ragged") from error
        flat = entries.reshape(-1)
        legal = flat == 1
        if entries.dtype != np.bool_ and not (legal | (flat == 0)).all():
            raise ForeignError(
                f"{self.who}: the action mask is {show(flat.tolist())}: must hold 0 and 1 alone"
            )
        joined = len(self.sizes) > 1 and len(legal) == sum(self.sizes)
        if joined and entries.shape != tuple(self.sizes):
            parts = np.split(legal, np.cumsum(self.sizes)[:-1])
            legal = parts[0]
            for part in parts[1:]:
                legal = (legal[:, None] & part).reshape(-1)
        if len(legal) != self.count:
            raise ForeignError(
                f"{self.who}: the action mask has shape {np.shape(mask)}, must have ({self.count},)"
            )
        if not legal.any():
            raise ForeignError(f"{self.who}: the action mask allows no action")
        return legal.astype(np.uint8)
