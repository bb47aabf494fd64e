"""Scripted players, and one that plays by chance."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from fastenv.engine import rng_streams
from training.players.draws import LaneDraws, gumbel, streams
from training.players.thought import Thought


class Bot:
    """A scripted player of a game; see :class:`training.players.player.Player`.

    Parameters
    ----------
    name : str
        As the game calls it.
    engine : BatchEngine

    Attributes
    ----------
    explains : bool
        See :class:`training.players.player.Explains`; for bots that look ahead.

    Raises
    ------
    ConfigError
        If there is no such bot.
    """

    def __init__(self, name: str, engine: Any) -> None:
        engine.game.bot(name)  # or it is refused
        self.name, self.explains = name, False
        self._streams = rng_streams(0, engine.num_envs)
        self._thoughts: dict[int, Thought] = {}

    def begin(self, engine: Any, lanes: np.ndarray, seeds: np.ndarray | None = None) -> None:
        """Take the seeds; bots remember nothing."""
        for lane in lanes.tolist() if self._thoughts else ():
            self._thoughts.pop(lane, None)
        if seeds is not None:
            self._streams[lanes] = streams(seeds)

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return its choices; only lanes that are asked for draw."""
        begun, advanced = time.process_time(), self._streams.copy()
        actions: np.ndarray = engine.bot_actions(self.name, advanced)[lanes]
        self._streams[lanes] = advanced[lanes]
        if self.explains:
            self._note(engine, lanes, 1000 * (time.process_time() - begun) / len(lanes))
        return actions

    def thought(self, lane: int) -> Thought | None:
        """Return what it found of the actions that it followed; None if it does not look ahead."""
        return self._thoughts.get(lane)

    def _note(self, engine: Any, lanes: np.ndarray, milliseconds: float) -> None:
        game, rows = engine.game, engine.get_states(lanes)
        seats = engine.get_actors(lanes) if game.num_seats > 1 else np.zeros(len(lanes), int)
        for lane, row, seat in zip(lanes.tolist(), rows, seats.tolist(), strict=True):
            found = game.considered(row, seat, self.name)
            self._thoughts.pop(lane, None)
            if found is not None and len(found):
                unknown = np.full(len(found), np.nan)
                action, value, count = found["action"], found["value"], found["count"]
                self._thoughts[lane] = Thought(
                    action, value, unknown, count, unknown, int(action[0]), milliseconds
                )


class RandomLegal:
    """Takes any legal action, all equally likely; see :class:`training.players.player.Player`.

    Parameters
    ----------
    engine : BatchEngine
    """

    def __init__(self, engine: Any) -> None:
        self._draws = LaneDraws(engine.num_envs)

    def begin(self, engine: Any, lanes: np.ndarray, seeds: np.ndarray | None = None) -> None:
        """Take the seeds."""
        self._draws.begin(lanes, seeds)

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return a legal action in each lane."""
        engine.refresh()
        legal = engine.mask[lanes] != 0
        noise = gumbel(self._draws.next(lanes), legal.shape[1])
        actions: np.ndarray = np.where(legal, noise, -np.inf).argmax(1).astype(np.int32)
        return actions
