"""A Manager and a Worker as one policy of whole games, each with its own observation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from fastenv import BatchEngine
from fastenv.skullking.tables import Phase
from training.nets.actor_critic import Logits
from training.run.envs import make_engine
from training.run.seating import without_agents

ENV, WORKER, MANAGER = "SkullKingFlat-v0", "SkullKingWorker-v0", "SkullKingManager-v0"


def manager_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a Manager with the rules of a Worker's.

    It sees no card memory: that of a row whose round has begun holds cards on the table, which are
    played before the agent but after his bid.
    """
    rules = without_agents(options)
    return {name: value for name, value in rules.items() if name != "obs_ext"}


def manager_observer(options: Mapping[str, Any]) -> BatchEngine:
    """Return an engine of the Manager tier with the rules of the Worker's, to encode with."""
    return make_engine(MANAGER, 1, manager_options(options))


class WholeGames:
    """Observations of both for rows of whole games, and their logits.

    An observation has three parts: ``phase``, 1 where a bid is due, else 0, and what ``manager``
    and ``worker`` see; who is not asked sees something all the same.

    Parameters
    ----------
    options : mapping
        Of the Worker's environment: the rules of the games, and how much it sees.
    bids, cards : Logits
        Networks of the Manager and of the Worker.
    """

    def __init__(self, options: Mapping[str, Any], bids: Logits, cards: Logits) -> None:
        self._options = dict(options)
        worker = make_engine(WORKER, 1, without_agents(options))
        self._observers = {"manager": manager_observer(options), "worker": worker}
        self._logits = {"manager": bids, "worker": cards}
        parts = [
            (name, np.float32, observer.obs_shape) for name, observer in self._observers.items()
        ]
        self.obs_dtype = np.dtype([("phase", np.int32), *parts], align=True)
        self.num_actions = worker.num_actions
        boxes = {
            name: spaces.Box(-1.0, 1.0, observer.obs_shape, np.float32)
            for name, observer in self._observers.items()
        }
        self.space = spaces.Dict({"phase": spaces.Box(0, 1, (), np.int32), **boxes})

    def encode(self, rows: np.ndarray) -> np.ndarray:
        """Return the observations of state rows (n,) of the flat tier, structured, shape (n,)."""
        obs = np.zeros(len(rows), self.obs_dtype)
        obs["phase"] = rows["phase"] == Phase.BID
        for name, observer in self._observers.items():
            obs[name] = observer.encode_obs_many(rows, trusted=True)
        return obs

    def encode_asked(self, rows: np.ndarray) -> np.ndarray:
        """Encode only for the one that acts, else zeros: enough to act, in half the time."""
        obs = np.zeros(len(rows), self.obs_dtype)
        obs["phase"] = bidding = rows["phase"] == Phase.BID
        for name, due in (("manager", bidding), ("worker", ~bidding)):
            if due.any():
                some = rows if due.all() else rows[due]
                obs[name][due] = self._observers[name].encode_obs_many(some, trusted=True)
        return obs

    def logits(self, obs: np.ndarray) -> np.ndarray:
        """Return logits, float32, shape (n, A): the Manager's where a bid is due.

        Parameters
        ----------
        obs : ndarray of obs_dtype, shape (n,)
        """
        logits = np.zeros((len(obs), self.num_actions), np.float32)
        bidding = obs["phase"] != 0
        for name, due in (("manager", bidding), ("worker", ~bidding)):
            if due.any():
                logits[due] = self._logits[name](np.ascontiguousarray(obs[name][due]))
        return logits

    def wrap(self, env: gymnasium.Env[Any, int]) -> gymnasium.Env[Any, int]:
        """Return an environment of whole games that shows the observations of both."""
        return _Env(env, self.like(env))

    def wrap_vec(self, vec: Any) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
        """Return a vector environment of whole games that shows the observations of both."""
        return _VectorEnv(vec, self.like(vec))

    def like(self, env: Any) -> WholeGames:
        """Return the same for the rules of an environment, or of an engine."""
        rules = {name: value for name, value in asdict(env.game.config).items() if name != "tier"}
        rules["obs_ext"] = self._options.get("obs_ext")
        return WholeGames(rules, *self._logits.values())


def _split_obs(obs: np.ndarray) -> dict[str, np.ndarray]:
    return {name: np.array(obs[name]) for name in obs.dtype.names or ()}


class _Env(gymnasium.Wrapper[Any, int, Any, int]):
    """One environment; ``action_masks``, ``get_state`` and the like are those inside."""

    def __init__(self, env: gymnasium.Env[Any, int], games: WholeGames) -> None:
        super().__init__(env)
        self._games, self.observation_space = games, games.space

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.env, name)

    def _observe(self) -> dict[str, np.ndarray]:
        row = np.asarray(self.get_state()).reshape(1)
        return _split_obs(self._games.encode(row)[0])

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        _, info = self.env.reset(**kwargs)
        return self._observe(), info

    def step(self, action: int) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        _, reward, terminated, truncated, info = self.env.step(action)
        return self._observe(), reward, terminated, truncated, info


class _VectorEnv(gymnasium.vector.VectorWrapper):
    """Many environments; infos leave out ``final_obs``, which nobody here could read."""

    env: Any

    def __init__(self, env: Any, games: WholeGames) -> None:
        super().__init__(env)
        self._games = games
        self.single_observation_space = games.space
        self.observation_space = gymnasium.vector.utils.batch_space(games.space, env.num_envs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.env, name)

    def _observe(self, infos: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        kept = {k: v for k, v in infos.items() if k not in ("final_obs", "_final_obs")}
        return _split_obs(self._games.encode(self.env.get_states())), kept

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        _, infos = self.env.reset(**kwargs)
        return self._observe(infos)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        _, rewards, terminated, truncated, infos = self.env.step(actions)
        obs, infos = self._observe(infos)
        return obs, rewards, terminated, truncated, infos
