"""Trained networks in whole games, each with its own observation.

A network takes the decisions of its tier and a bot the rest; a Manager and a Worker play together,
as players, and as one policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn

from fastenv import BatchEngine, registry
from fastenv.skullking.tables import Phase
from training.nets.actor_critic import ActorCritic, Logits, RecurrentLogits, make_logits
from training.players.network import Network, seen_by, shown, with_bot
from training.players.player import MakePlayer, Player
from training.players.policy import EnvSpec
from training.players.trained import WITHOUT, TrainedAgent
from training.run.envs import make_engine, with_defaults
from training.run.seating import without_agents

ENV, WORKER, MANAGER = "SkullKingFlat-v0", "SkullKingWorker-v0", "SkullKingManager-v0"
BIDS, CARDS = "trained bids", "trained cards"  # the other half is the bot's
DECODED = "decoded bids"  # computed from the head over tricks; the cards are the pair's


def tier_of(env: str) -> str | None:
    """Return the tier of an environment: flat, manager, worker or ability; None in other games."""
    return registry.ENVS[registry.short_id(env)][1].get("tier")


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


# -- players ---------------------------------------------------------------------------------------


def in_whole_games(
    logits: Logits | RecurrentLogits,
    env: str,
    env_options: Mapping[str, Any],
    engine: Any,
    *,
    sample: bool = False,
) -> Player:
    """Return a network as a player of whole games; ``rule_hard`` decides what it has not learnt.

    Parameters
    ----------
    logits : Logits or RecurrentLogits
    env : str
        What it was trained on, with ``env_options``.
    env_options : mapping
    engine : BatchEngine
        Of whole games.
    sample : bool
        The network's actions are drawn.
    """
    sight = shown if tier_of(env) == "flat" else seen_by(env, env_options)
    network = Network(logits, engine, sight, sample=sample)
    return with_bot(network, engine, env, env_options)


def match_player(trained: TrainedAgent, *, sample: bool = False) -> MakePlayer:
    """Make the factory of a trained agent in whole games; see :func:`in_whole_games`."""
    if trained.search is not None:
        return trained.search
    if trained.pair is not None:
        make: MakePlayer = trained.pair.player
        return make
    config = trained.config
    return partial(in_whole_games, trained.logits, config.env, config.env_options, sample=sample)


def who_plays(trained: TrainedAgent) -> str:
    """Describe in words who takes which decisions of a trained agent's whole games."""
    if trained.search is not None:
        alone = replace(trained, search=None)
        return f"searches; {WITHOUT}: {who_plays(alone)}"
    if trained.pair is not None:
        return "bids by the Manager, cards by the Worker"
    tier = tier_of(trained.config.env)
    if tier == "flat":
        return "bids and cards by the network"
    if tier == "manager":
        return "bids by the network, cards by rule_hard"
    return "bids by rule_hard, cards by the network"


# -- both as one policy ----------------------------------------------------------------------------


class Pair:
    """A Manager and a Worker as one policy of whole games.

    An observation has three parts: ``phase``, 1 where a bid is due, else 0, and what ``manager``
    and ``worker`` see; who is not asked sees something all the same.

    Parameters
    ----------
    options : mapping
        Of the Worker's environment: the rules of the games, and how much it sees.
    networks : mapping of str to Logits
        Of ``manager`` and ``worker``; none where games are only looked at.
    decoded : Logits, optional
        What each bid is expected to bring, if the Manager has learnt to tell.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        networks: Mapping[str, Logits] = {},
        decoded: Logits | None = None,
    ) -> None:
        self._options, self.networks, self.decoded = dict(options), dict(networks), decoded
        worker = make_engine(WORKER, 1, without_agents(options))
        self._observers = {"manager": manager_observer(options), "worker": worker}
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

    # -- playing ---------------------------------------------------------------------------------

    def player(self, engine: Any) -> Player:
        """Make its player for an engine; it plays the best legal actions."""
        return Network(self.logits, engine, self.see)

    def halves(self) -> dict[str, MakePlayer]:
        """Make the factories of players that share a half with the pair: they measure each half.

        The other half is that of ``rule_hard``.
        """
        options, own = self._options, self.networks
        bids = partial(in_whole_games, own["manager"], MANAGER, manager_options(options))
        cards = partial(in_whole_games, own["worker"], WORKER, options)
        makers: dict[str, MakePlayer] = {BIDS: bids, CARDS: cards}
        if self.decoded is not None:
            makers[DECODED] = Pair(options, {**own, "manager": self.decoded}).player
        return makers

    def logits(self, obs: np.ndarray) -> np.ndarray:
        """Return logits, float32, shape (n, A): the Manager's where a bid is due.

        Parameters
        ----------
        obs : ndarray of obs_dtype, shape (n,)
        """
        logits = np.zeros((len(obs), self.num_actions), np.float32)
        for name, due in _who_is_asked(obs["phase"] != 0):
            logits[due] = self.networks[name](np.ascontiguousarray(obs[name][due]))
        return logits

    # -- what it sees ----------------------------------------------------------------------------

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
        for name, due in _who_is_asked(bidding):
            some = rows if due.all() else rows[due]
            obs[name][due] = self._observers[name].encode_obs_many(some, trusted=True)
        return obs

    def see(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Encode lanes of an engine for those that act; see :meth:`encode_asked`."""
        return self.encode_asked(engine.get_states(lanes))

    @property
    def env_spec(self) -> EnvSpec:
        """The environment in which it plays, and its observations there."""
        return EnvSpec(
            ENV,
            with_defaults(ENV, without_agents(self._options)),
            *(self.obs_dtype, (), self.num_actions),
            wrap=self.wrap,
            wrap_vec=self.wrap_vec,
            encode=self.encode_asked,
            encode_like=lambda engine: self.like(engine).encode_asked,
        )

    def wrap(self, env: gymnasium.Env[Any, int]) -> gymnasium.Env[Any, int]:
        """Return an environment of whole games that shows the observations of both."""
        return _Env(env, self.like(env))

    def wrap_vec(self, vec: Any) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
        """Return a vector environment of whole games that shows the observations of both."""
        return _VectorEnv(vec, self.like(vec))

    def like(self, env: Any) -> Pair:
        """Return the same for the rules of an environment, or of an engine."""
        rules = {name: value for name, value in asdict(env.game.config).items() if name != "tier"}
        rules["obs_ext"] = self._options.get("obs_ext")
        return Pair(rules, self.networks)


def _who_is_asked(bidding: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield those who are asked somewhere, and where, given where a bid is due, bool (n,)."""
    for name, due in (("manager", bidding), ("worker", ~bidding)):
        if due.any():
            yield name, due


def _split_obs(obs: np.ndarray) -> dict[str, np.ndarray]:
    return {name: np.array(obs[name]) for name in obs.dtype.names or ()}


class _Env(gymnasium.ObservationWrapper[Any, int, Any]):
    """One environment; ``action_masks``, ``get_state`` and the like are those inside."""

    def __init__(self, env: gymnasium.Env[Any, int], pair: Pair) -> None:
        super().__init__(env)
        self._pair, self.observation_space = pair, pair.space

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.env, name)

    def observation(self, observation: Any) -> dict[str, np.ndarray]:
        row = np.asarray(self.get_state()).reshape(1)
        return _split_obs(self._pair.encode(row)[0])


class _VectorEnv(gymnasium.vector.VectorWrapper):
    """Many environments; infos leave out ``final_obs``, which nobody here could read."""

    env: Any

    def __init__(self, env: Any, pair: Pair) -> None:
        super().__init__(env)
        self._pair = pair
        self.single_observation_space = pair.space
        self.observation_space = gymnasium.vector.utils.batch_space(pair.space, env.num_envs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.env, name)

    def _observe(self, infos: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        kept = {k: v for k, v in infos.items() if k not in ("final_obs", "_final_obs")}
        return _split_obs(self._pair.encode(self.env.get_states())), kept

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        _, infos = self.env.reset(**kwargs)
        return self._observe(infos)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        _, rewards, terminated, truncated, infos = self.env.step(actions)
        obs, infos = self._observe(infos)
        return obs, rewards, terminated, truncated, infos


# -- a pool of pairs -------------------------------------------------------------------------------


class PairNet(nn.Module):
    """Both networks as one of a pool; see :class:`training.selfplay.pool.SnapshotNet`.

    Parameters
    ----------
    options : mapping
        Of the Worker's environment.
    nets : mapping of str to ActorCritic
        ``manager`` and ``worker``, on the CPU.
    """

    def __init__(self, options: Mapping[str, Any], nets: Mapping[str, ActorCritic]) -> None:
        super().__init__()
        self.manager, self.worker = nets["manager"], nets["worker"]
        logits = {name: make_logits(net) for name, net in nets.items()}
        self._pair = Pair(options, logits)

    def logits(self, obs: Tensor) -> Tensor:
        """Return logits, float32, shape (n, A).

        Parameters
        ----------
        obs : Tensor of uint8, shape (n, S)
            The bytes of what :meth:`Pair.encode_asked` returns.
        """
        seen: np.ndarray = obs.numpy().view(self._pair.obs_dtype)[:, 0]
        return torch.from_numpy(self._pair.logits(seen))
