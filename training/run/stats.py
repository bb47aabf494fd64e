"""Sums of step and episode statistics over the lanes of an iteration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from training.run.engine import Engine


class IterationSums:
    """Sums over the steps of one iteration; all of them together are the sums over a run.

    Parameters
    ----------
    engine : Engine
        Read after each of its steps; other groups of lanes have the same columns.
    exclude : ndarray of bool, shape (n,), optional
        Lanes whose episodes are left out when they end, as they began in the middle.
    frames : int or None
        Frames until now, in games whose decisions last (``tau``); None if they are not known.
    """

    def __init__(
        self, engine: Engine, exclude: np.ndarray | None = None, frames: int | None = 0
    ) -> None:
        self._exclude = exclude
        self._lasting = engine.spec.has_tau
        self._frames = frames if self._lasting else None
        self._rewards = [name for name in engine.info if name.startswith("reward_")]
        self._rounds = "ended_round" in engine.info
        self.clear()

    def clear(self) -> None:
        """Begin a new iteration."""
        self._steps = 0
        self._returns: list[np.ndarray] = []
        self._lengths: list[np.ndarray] = []
        self._durations: list[np.ndarray] = []
        self._num_rounds = self._num_hits = self._num_games = self._num_wins = 0
        self._reward_sums = dict.fromkeys(self._rewards, 0.0)

    def on_step(
        self, engine: Engine, actions: np.ndarray | None, obs: np.ndarray, mask: np.ndarray
    ) -> None:
        """Add a step, in a run in which nobody else looks at steps (``OnStep``)."""
        if actions is not None:
            self.add(engine)

    def add(self, engine: Engine) -> None:
        """Add the step that an engine has just made."""
        self._steps += engine.num_envs
        for name in self._rewards:
            self._reward_sums[name] += float(engine.info[name].sum(dtype=np.float64))
        if self._frames is not None:
            self._frames += int(engine.tau.sum(dtype=np.int64))
        done = np.flatnonzero(engine.terminated | engine.truncated)
        whole = done if self._exclude is None else done[~self._exclude[done]]
        if whole.size:
            self._returns.append(engine.ep_return[whole])
            self._lengths.append(engine.ep_length[whole])
            # Of those engines of a trainer that play whole games.
            if (places := engine.final_info.get("game_rank")) is not None:
                ranks = places[whole]
                self._num_games += int((ranks > 0).sum())
                self._num_wins += int((ranks == 1).sum())
            if self._lasting:
                self._durations.append(engine.ep_frames[whole])
        if self._rounds:
            self._add_rounds(engine.info, np.flatnonzero(engine.info["ended_round"]))
            self._add_rounds(engine.final_info, done)

    def _add_rounds(self, columns: Mapping[str, np.ndarray], lanes: np.ndarray) -> None:
        if lanes.size:
            lanes = lanes[columns["ended_round"][lanes] > 0]
            hits = columns["ended_bid"][lanes] == columns["ended_won"][lanes]
            self._num_rounds += lanes.size
            self._num_hits += int(hits.sum())

    def record(self) -> dict[str, Any]:
        """Return the sums and means of the iteration; what did not happen is left out."""
        record: dict[str, Any] = {}
        if self._frames is not None and self._steps:
            record["frames"] = self._frames
        if self._returns:
            returns, lengths = np.concatenate(self._returns), np.concatenate(self._lengths)
            record["episode"] = {
                "n": len(returns),
                "return_mean": float(returns.mean()),
                "return_std": float(returns.std()),
                "return_min": float(returns.min()),
                "return_max": float(returns.max()),
                "length_mean": float(lengths.mean()),
            }
            if self._durations:
                record["episode"]["frames_mean"] = float(np.concatenate(self._durations).mean())
        if self._num_rounds:
            record["rounds"] = {
                "n": self._num_rounds,
                "hits": self._num_hits,
                "hit_rate": self._num_hits / self._num_rounds,
            }
        if self._num_games:
            record["games"] = {
                "n": self._num_games,
                "wins": self._num_wins,
                "win_rate": self._num_wins / self._num_games,
            }
        if self._rewards and self._steps:
            record["reward_per_step"] = {
                name.removeprefix("reward_"): total / self._steps
                for name, total in self._reward_sums.items()
            }
        return record
