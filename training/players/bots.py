"""Scripted players, one that takes random legal actions, and one that repeats given ones."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastenv.engine import rng_streams
from training.players.draws import LaneDraws, gumbel, streams
from training.players.player import KeptThoughts, Thought


class Bot(KeptThoughts):
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
        super().__init__()
        self.name, self._streams = name, rng_streams(0, engine.num_envs)

    def begin(self, engine: Any, lanes: np.ndarray, seeds: np.ndarray | None = None) -> None:
        """Seed the generators of lanes; bots have no memory of games."""
        self._forget(lanes)
        if seeds is not None:
            self._streams[lanes] = streams(seeds)

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return its actions; only generators of these lanes advance."""
        begun, advanced = time.process_time(), self._streams.copy()
        actions: np.ndarray = engine.bot_actions(self.name, advanced)[lanes]
        self._streams[lanes] = advanced[lanes]
        if self.explains:
            self._keep_thoughts(engine, lanes, 1000 * (time.process_time() - begun) / len(lanes))
        return actions

    def _keep_thoughts(self, engine: Any, lanes: np.ndarray, milliseconds: float) -> None:
        self._forget(lanes)
        game, rows = engine.game, engine.get_states(lanes)
        seats = engine.get_actors(lanes) if game.num_seats > 1 else np.zeros(len(lanes), int)
        for lane, row, seat in zip(lanes.tolist(), rows, seats.tolist(), strict=True):
            considered = game.considered(row, seat, self.name)
            if considered is not None and len(considered):
                unknown = np.full(len(considered), np.nan)
                action, value, count = (considered[name] for name in ("action", "value", "count"))
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
        """Seed the draws of lanes."""
        self._draws.begin(lanes, seeds)

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return a legal action in each lane."""
        engine.refresh()
        legal = engine.mask[lanes] != 0
        noise = gumbel(self._draws.next(lanes), legal.shape[1])
        actions: np.ndarray = np.where(legal, noise, -np.inf).argmax(1).astype(np.int32)
        return actions


class Recorded:
    """Plays the actions of a recording in the only lane.

    See :class:`training.players.player.Player`.

    Parameters
    ----------
    actions : sequence of int
    behind : int, optional
        What it plays behind the last one; by default it must not be asked again (StopIteration).
    """

    def __init__(self, actions: Sequence[int], behind: int | None = None) -> None:
        self._actions, self._left, self._behind = actions, iter(actions), behind

    def begin(self, engine: Any, lanes: np.ndarray, seeds: np.ndarray | None = None) -> None:
        """Go back to the first action."""
        self._left = iter(self._actions)

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return the next action; each is asked for once."""
        rest = () if self._behind is None else (self._behind,)
        return np.full(len(lanes), next(self._left, *rest), np.int32)
