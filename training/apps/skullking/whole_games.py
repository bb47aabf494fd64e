"""Trained networks in whole games, each with its own observation.

A network takes the decisions of its tier and a bot the rest; a Manager and a Worker play together,
as players, and as one policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
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
from training.players.bots import Bot
from training.players.network import Network, seen_by
from training.players.parts import Parts, learnt_part
from training.players.player import MakePlayer, Player
from training.players.policy import EnvSpec
from training.players.trained import WITHOUT, Trained
from training.run import games
from training.run.config import RunConfig
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
    bids: str = "rule_hard",
    sample: bool = False,
) -> Player:
    """Return a network as a player of whole games, with a bot for decisions it has not learnt.

    Parameters
    ----------
    logits : Logits or RecurrentLogits
    env : str
        What it was trained on, with ``env_options``.
    env_options : mapping
    engine : BatchEngine
        Of whole games.
    bids : str
        The bot that bids for a Worker; a Manager's cards are played by ``rule_hard``.
    sample : bool
        The network's actions are drawn.
    """
    part = games.get_game(env).table.parts.get(registry.short_id(env))
    if part is None:
        return Network(logits, engine, sample=sample)
    network = Network(logits, engine, seen_by(env, env_options), sample=sample)
    bot = part.bot if tier_of(env) == "manager" else bids
    return Parts(part.column, [learnt_part(network, part, env_options)], Bot(bot, engine))


def match_player(trained: Trained, bids: str, *, sample: bool = False) -> MakePlayer:
    """Make the factory of a trained agent in whole games; see :func:`in_whole_games`."""
    if trained.search is not None:
        return trained.search
    if trained.pair is not None:
        pair: Pair = trained.pair
        return pair.player(pair.bids)
    config = trained.config
    maker = partial(in_whole_games, trained.logits, config.env, config.env_options)
    return partial(maker, bids=bids, sample=sample)


def who_plays(trained: Trained, bids: str) -> str:
    """Describe in words who takes which decisions of a trained agent's whole games."""
    if trained.search is not None:
        alone = replace(trained, search=None)
        return f"searches; {WITHOUT}: {who_plays(alone, bids)}"
    if trained.pair is not None:
        return "bids by the Manager, cards by the Worker"
    tier = tier_of(trained.config.env)
    if tier == "flat":
        return "bids and cards by the network"
    if tier == "manager":
        return "bids by the network, cards by rule_hard"
    return f"bids by {bids}, cards by the network"


# -- both as one policy ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """Both networks, as functions from observations to logits.

    Parameters
    ----------
    config : RunConfig
        What they were trained with.
    bids, cards : callable
        Of the Manager and of the Worker.
    decoded : callable, optional
        What each bid is expected to bring, if the Manager has learnt to tell.
    """

    config: RunConfig
    bids: Logits
    cards: Logits
    decoded: Logits | None = None

    def whole_games(self) -> tuple[Logits, EnvSpec]:
        """Return both as one function of observations of whole games, and their observer."""
        options, whole = self.config.env_options, self._join(self.bids)
        spec = EnvSpec(
            ENV,
            with_defaults(ENV, without_agents(options)),
            *(whole.obs_dtype, (), whole.num_actions),
            wrap=whole.wrap,
            wrap_vec=whole.wrap_vec,
            encode=whole.encode_asked,
            encode_like=lambda engine: whole.like(engine).encode_asked,
        )
        return whole.logits, spec

    def player(self, bids: Logits) -> MakePlayer:
        """Make the factory of a player whose bids are a network's, and whose cards the Worker's.

        It plays the best legal actions.
        """
        whole = self._join(bids)
        return partial(Network, whole.logits, sight=whole.see)

    def halves(self, bidder: str) -> dict[str, MakePlayer]:
        """Make the factories of players that share a half with the pair: they measure each half.

        Parameters
        ----------
        bidder : str
            The bot that bids for the Worker; the Manager's cards are played by ``rule_hard``.
        """
        options = self.config.env_options
        makers: dict[str, MakePlayer] = {
            BIDS: partial(in_whole_games, self.bids, MANAGER, manager_options(options)),
            CARDS: partial(in_whole_games, self.cards, WORKER, options, bids=bidder),
        }
        if self.decoded is not None:
            makers[DECODED] = self.player(self.decoded)
        return makers

    def _join(self, bids: Logits) -> WholeGames:
        return WholeGames(self.config.env_options, {"manager": bids, "worker": self.cards})


class WholeGames:
    """Observations of both for rows of whole games, and their logits.

    An observation has three parts: ``phase``, 1 where a bid is due, else 0, and what ``manager``
    and ``worker`` see; who is not asked sees something all the same.

    Parameters
    ----------
    options : mapping
        Of the Worker's environment: the rules of the games, and how much it sees.
    logits : mapping of str to Logits
        Networks of ``manager`` and ``worker``; none where games are only looked at.
    """

    def __init__(self, options: Mapping[str, Any], logits: Mapping[str, Logits] = {}) -> None:
        self._options, self._logits = dict(options), dict(logits)
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

    def encode(self, rows: np.ndarray) -> np.ndarray:
        """Return the observations of state rows (n,) of the flat tier, structured, shape (n,)."""
        obs = np.zeros(len(rows), self.obs_dtype)
        obs["phase"] = rows["phase"] == Phase.BID
        for name, observer in self._observers.items():
            obs[name] = observer.encode_obs_many(rows, trusted=True)
        return obs

    def see(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Encode lanes of an engine for those that act; see :meth:`encode_asked`."""
        return self.encode_asked(engine.get_states(lanes))

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
        return WholeGames(rules, self._logits)


def _split_obs(obs: np.ndarray) -> dict[str, np.ndarray]:
    return {name: np.array(obs[name]) for name in obs.dtype.names or ()}


class _Env(gymnasium.ObservationWrapper[Any, int, Any]):
    """One environment; ``action_masks``, ``get_state`` and the like are those inside."""

    def __init__(self, env: gymnasium.Env[Any, int], games: WholeGames) -> None:
        super().__init__(env)
        self._games, self.observation_space = games, games.space

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.env, name)

    def observation(self, observation: Any) -> dict[str, np.ndarray]:
        row = np.asarray(self.get_state()).reshape(1)
        return _split_obs(self._games.encode(row)[0])


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
        self._games = WholeGames(options, logits)

    def logits(self, obs: Tensor) -> Tensor:
        """Return logits, float32, shape (n, A).

        Parameters
        ----------
        obs : Tensor of uint8, shape (n, S)
            The bytes of what :meth:`WholeGames.encode_asked` returns.
        """
        seen: np.ndarray = obs.numpy().view(self._games.obs_dtype)[:, 0]
        return torch.from_numpy(self._games.logits(seen))
