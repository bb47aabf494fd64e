"""Players who share a game by decisions: one bids, another plays the cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from training.players.player import Player, Weighs
from training.run.games import PartOfGame


@dataclass(frozen=True)
class Part:
    """A player and its decisions.

    Parameters
    ----------
    player : Player
    values : sequence of int
        Of the column that says which decision is due: the player's own.
    begins : sequence of int
        Where an episode of the player begins within a game: it forgets what was before.
    """

    player: Player
    values: Sequence[int]
    begins: Sequence[int] = ()


def learnt_part(player: Player, part: PartOfGame, options: Mapping[str, Any]) -> Part:
    """Make the part of a player that takes the decisions of its training, and resets as there.

    Parameters
    ----------
    player : Player
    part : PartOfGame
        Of the environment of its training.
    options : mapping
        Of that environment.
    """
    whole = part.whole
    remembers = bool(whole) and all(options.get(name) == whole[name] for name in whole)
    return Part(player, part.values, () if remembers else part.begins)


class Parts:
    """Players by decision, and one for the rest; see :class:`training.players.player.Player`.

    Parameters
    ----------
    column : str
        Info column that says which decision is due.
    parts : sequence of Part
    rest : Player
        Takes all other decisions.
    """

    def __init__(self, column: str, parts: Sequence[Part], rest: Player) -> None:
        self._column, self.parts, self.rest = column, tuple(parts), rest

    def begin(self, engine: Any, lanes: np.ndarray, seeds: np.ndarray | None = None) -> None:
        """Let all of them begin."""
        for player in (*(part.player for part in self.parts), self.rest):
            player.begin(engine, lanes, seeds)

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Ask, in each lane, the player whose decision is due."""
        engine.refresh()
        due = engine.info[self._column][lanes]
        actions, left = np.zeros(len(lanes), np.int32), np.ones(len(lanes), np.bool_)
        for part in self.parts:
            new = np.isin(due, part.begins)
            if new.any():
                part.player.begin(engine, lanes[new])
            own = np.isin(due, part.values)
            left &= ~own
            if own.any():
                actions[own] = part.player.act(engine, lanes[own])
        if left.any():
            actions[left] = self.rest.act(engine, lanes[left])
        return actions

    def probabilities(self, engine: Any, lanes: np.ndarray) -> npt.NDArray[np.float64]:
        """Return the probability of each action, (k, A); NaN where a player cannot tell."""
        engine.refresh()
        due = engine.info[self._column][lanes]
        probabilities = np.full((len(lanes), engine.num_actions), np.nan)
        for part in self.parts:
            own = np.isin(due, part.values)
            if own.any() and isinstance(part.player, Weighs):
                probabilities[own] = part.player.probabilities(engine, lanes[own])
        return probabilities
