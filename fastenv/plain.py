"""What most games have in common: a reference whose attributes are the fields of the row.

A game that says more of itself, or converts rows faster, overrides what it needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.errors import ConfigError, StateError
from fastenv.game import Game, GameSpec
from fastenv.rng import Rng
from fastenv.rowformat import RowFormat

Array = npt.NDArray[Any]


class PlainGame(Game):
    """A game whose reference is an object with one attribute for each field of the row.

    A field of a number is a number, an array a list (of lists, for each axis), and ``rng`` an
    :class:`fastenv.rng.Rng`. The object has the methods ``reset(seed)``, ``step(action)`` and
    ``legal_actions()``, with several agents ``legal_actions(agent)``: ``[0]`` for one who need not
    act. What remains to be written is ``create``, ``encode_obs`` and ``reward``, ``info`` where
    there are columns, and ``bot_action`` where there are bots.

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
        self.spec, self.limits, self.bot_names = spec, limits, tuple(bots)
        self._format = RowFormat(spec.state_dtype)

    def reset(self, game: Any, knobs: np.void, seed: int | None) -> None:
        """Start an episode; the knobs are for games that have some."""
        game.reset(seed)

    def step(self, game: Any, action: Any) -> None:
        """Take one decision, an int, or a list of one for each agent."""
        game.step(action)

    def pack(self, game: Any) -> bytes:
        """Return the row of a game."""
        return self._format.pack(*_flat(getattr(game, name) for name in self._format.fields))

    def unpack(self, row: Any) -> Any:
        """Return the game of a row."""
        game, values, dtype = self.create(), self._format.unpack(row), self.spec.state_dtype
        for name, where in self._format.fields.items():
            value = _nested(values[where], dtype[name].shape)
            if name == "rng":
                game.rng.state = value
            else:
                setattr(game, name, value)
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
        for name, (low, high) in self.limits.items():
            wrong = ~((rows[name] >= low) & (rows[name] <= high))
            if wrong.any():
                lane = int(np.argwhere(wrong)[0][0])
                value = rows[name][lane].tolist()
                raise StateError(f"lane {lane}: {name}={value} must be {low}..{high}")

    def bot(self, name: str) -> Array:
        """Return the number of a scripted player, shape (1,), or raise :class:`ConfigError`."""
        if name not in self.bot_names:
            raise ConfigError(
                f"bot {name!r}: must be one of {', '.join(self.bot_names) or '(none)'}"
            )
        return np.array([(self.bot_names.index(name),)], self.spec.bot_dtype)

    def describe(self, row: np.void) -> str:
        """Name the decision that is due, for error messages."""
        return "the end" if row["done"] else "a decision"


def _flat(values: Iterable[Any]) -> list[Any]:
    """Return values without nesting, in C order."""
    flat: list[Any] = []
    for value in values:
        if isinstance(value, Rng):
            flat += value.state
        elif isinstance(value, list):
            flat += _flat(value)
        else:
            flat.append(value)
    return flat


def _nested(values: Any, shape: tuple[int, ...]) -> Any:
    """Return the values of a field as lists of lists, one level an axis; of none, the number."""
    if len(shape) < 2:
        return list(values) if shape else values
    size = len(values) // shape[0]
    return [_nested(values[k * size : (k + 1) * size], shape[1:]) for k in range(shape[0])]
