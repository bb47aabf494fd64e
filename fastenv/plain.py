"""A base class for most games: the reference's attributes are the fields of the row.

A game that says more of itself, or converts rows faster, overrides what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.checks import check_generators
from fastenv.errors import ConfigError, StateError, show, with_nearest
from fastenv.game import Game, GameSpec
from fastenv.rng import Rng, every_draw
from fastenv.rowformat import RowFormat

Array = npt.NDArray[Any]


class PlainGame(Game):
    """A game whose reference is an object with one attribute for each field of the row.

    A field of a number is a number, an array a list (of lists, for each axis), and ``rng`` an
    :class:`fastenv.rng.Rng`. The object has the methods ``reset(seed)``, ``step(action)`` and
    ``legal_actions()``; with several agents it is ``legal_actions(agent)``, which returns ``[0]``
    for an agent that does not act now. What remains to be written is ``create``, ``encode_obs`` and
    ``reward``, ``info`` where there are columns, and ``bot_action`` where there are bots.

    A game whose spec is ``enumerable`` lists its chance by itself: ``reset`` and ``step`` must draw
    all that matters by ``rng.bounded``.

    With ``__slots__``, ``use_cython`` alone fills one object with row after row, which is faster
    than to make one a step. Slots beyond those of the fields must then hold what never changes.

    Parameters
    ----------
    spec : GameSpec
    limits : mapping of str to (number, number)
        Lowest and highest value of fields of the row, by which rows from outside are checked. Every
        field by which compiled code counts or looks up must be among them.
    bots : sequence of str
        Names of scripted players; ``bot_action`` gets the number of one as ``params["kind"]``.
    """

    def __init__(
        self,
        spec: GameSpec,
        limits: Mapping[str, tuple[float, float]],
        bots: Sequence[str] = (),
    ) -> None:
        self.spec: GameSpec = spec
        self.limits: Mapping[str, tuple[float, float]] = limits
        self.bot_names: tuple[str, ...] = tuple(bots)
        self._format = RowFormat(spec.state_dtype)
        places = [(n, at, spec.state_dtype[n].shape) for n, at in self._format.fields.items()]
        self._numbers = [(name, at) for name, at, shape in places if not shape]
        self._arrays = [place for place in places if place[2]]
        self._parts = [*_parts(spec.state_dtype)]

    def reset(self, game: Any, knobs: np.void, seed: int | None) -> None:
        """Start an episode; the knobs are for games that have some."""
        game.reset(seed)

    def step(self, game: Any, action: Any) -> None:
        """Take one decision, an int, or a list of one for each agent."""
        game.step(action)

    def every_start(self) -> Iterator[tuple[float, Any]]:
        """List the games in which an episode can start, by every draw of ``reset``."""

        def start(rng: Rng) -> Any:
            game = self.create()
            game.rng = rng
            self.reset(game, self.default_knobs(1)[0], None)
            return game

        return every_draw(start)

    def every_step(self, game: Any, action: Any) -> Iterator[tuple[float, Any]]:
        """List the games to which a decision can lead, by every draw of ``step``."""
        row = self.pack(game)

        def step(rng: Rng) -> Any:
            after = self.unpack(row)
            after.rng = rng
            self.step(after, action)
            return after

        return every_draw(step)

    def pack(self, game: Any) -> bytes:
        """Return the row of a game."""
        values: list[Any] = []
        for get, axes in self._parts:
            if axes > 1:
                values += _flat(get(game))
            elif axes:
                values += get(game)
            else:
                values.append(get(game))
        return self._format.pack_as_is(*values)

    def unpack(self, row: Any) -> Any:
        """Return the game of a row."""
        return self._fill(self.create(), row)

    def unpack_seen(self, row: Any, game: Any = None) -> Any:
        """Return the game of a row, in the object that is given if it has ``__slots__``."""
        if game is None or hasattr(game, "__dict__"):
            return self.unpack(row)  # what else an object keeps may be of the row before
        return self._fill(game, row)

    def _fill(self, game: Any, row: Any) -> Any:
        """Write the fields of a row into the attributes of a game, and return it."""
        values = self._format.unpack(row)
        for name, at in self._numbers:
            setattr(game, name, values[at])
        for name, at, shape in self._arrays:
            if name == "rng":
                game.rng.state = [*values[at]]
            else:
                setattr(game, name, _nested(values[at], shape))
        return game

    def action_mask(self, game: Any, out: Array) -> None:
        """Write the legal actions as 0 and 1, shape (num_actions,), or one such row an agent."""
        out[...] = 0
        if self.spec.num_agents == 1:
            out[game.legal_actions()] = 1
            return
        for agent in range(self.spec.num_agents):
            out[agent, game.legal_actions(agent)] = 1

    def validate(self, rows: Array) -> None:
        """Raise :class:`StateError`, naming lane and field, unless all values are within limits."""
        if "rng" in (rows.dtype.names or ()):
            check_generators("rng", rows["rng"])
        for name, (low, high) in self.limits.items():
            wrong = ~((rows[name] >= low) & (rows[name] <= high))
            if wrong.any():
                lane = int(np.argwhere(wrong)[0][0])
                value = rows[name][lane].tolist()
                raise StateError(f"lane {lane}: {name}={value} must be {low}..{high}")

    def bot(self, name: str) -> Array:
        """Return the number of a scripted player, shape (1,), or raise :class:`ConfigError`."""
        if not isinstance(name, str) or name not in self.bot_names:
            message = f"bot {show(name)}: must be one of {', '.join(self.bot_names) or '(none)'}"
            raise ConfigError(with_nearest(message, name, self.bot_names))
        return np.array([(self.bot_names.index(name),)], self.spec.bot_dtype)

    def describe(self, row: np.void) -> str:
        """Name the decision that is due, for error messages."""
        return "the end" if row["done"] else "a decision"


def _parts(dtype: np.dtype[Any]) -> Iterator[tuple[Callable[[Any], Any], int]]:
    """Yield the getters of a row's attributes, each with the number of axes of its result.

    Numbers that follow one another are got together: one call takes as long as five do.
    """
    axes = {name: len(dtype[name].shape) for name in dtype.names or ()}
    for array, together in groupby(axes, key=lambda name: name if axes[name] else ""):
        names = [*together]
        if array == "rng":
            yield attrgetter("rng.state"), 1
        elif array or len(names) == 1:
            yield attrgetter(names[0]), axes[names[0]]
        else:
            yield attrgetter(*names), 1


def _flat(values: list[Any]) -> list[Any]:
    """Return the numbers of lists of lists, in C order."""
    return [n for each in values for n in (_flat(each) if isinstance(each, list) else [each])]


def _nested(values: Any, shape: tuple[int, ...]) -> Any:
    """Return the values of a field as lists of lists, one level an axis."""
    if len(shape) == 1:
        return [*values]
    size = len(values) // shape[0]
    return [_nested(values[k * size : (k + 1) * size], shape[1:]) for k in range(shape[0])]
