"""The environments of a Manager and of a Worker: in each the other policy plays along.

A step of :class:`ManagerEnv` is a bid in every lane and the whole round that follows it
(docs/howto/manager_worker.md). It looks like a batch engine to
:class:`training.ppo.trainer.PPOTrainer`. :class:`GoalLanes` lets the Manager bid in lanes of the
Worker's engine, whoever has the other seats.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from fastenv import BatchEngine
from fastenv.skullking.tables import NUM_ACTIONS
from training.apps.skullking.hindsight.relabel import BID_REWARD
from training.evaluation.loop import ask
from training.nets.distribution import Sampler, masked_log_probs
from training.players.bots import Bot
from training.players.network import Sight, shown
from training.players.player import Player
from training.ppo.trainer import PPOTrainer
from training.selfplay.seated import SeatedEngine

Array = npt.NDArray[Any]
Rounds = BatchEngine | SeatedEngine
# Of a Worker's goals: half of the lanes, then quarters.
SOURCES = ("manager", "estimate", "uniform")
_ROUND = ("ended_round", "ended_cards", "ended_bid", "ended_won")
_POINTS = ("reward_points", "reward_points_rank")


class Partner:
    """The policy of a trainer as a player in the other's environment.

    It shares the parameters of the trainer, which stands still meanwhile. See also
    :class:`training.players.player.Player`.

    Parameters
    ----------
    trainer : PPOTrainer
        Of a network without a state.
    seed : int
        Of its generator, one for all lanes; the trainer's own is left alone.
    sight : callable
        See :data:`training.players.network.Sight`; default what the engine shows.
    """

    def __init__(self, trainer: PPOTrainer, seed: int, sight: Sight = shown) -> None:
        self._trainer, self.see = trainer, sight
        self._sampler = Sampler(seed, trainer.device)

    def begin(self, engine: Rounds, lanes: Array, seeds: Array | None = None) -> None:
        """Begin nothing: it remembers no rounds, and its generator goes on."""

    def act(self, engine: Rounds, lanes: Array) -> Array:
        """Choose legal actions."""
        return self.choose(self.see(engine, lanes), engine.mask[lanes])

    def choose(self, obs: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return one legal action a row, int64, shape (k,).

        Parameters
        ----------
        obs : ndarray, shape (k, ...)
        mask : ndarray of uint8, shape (k, A)
        """
        trainer = self._trainer
        with torch.inference_mode(), trainer.precision.autocast:
            logits = trainer.net.logits(torch.from_numpy(obs).to(trainer.device))
            legal = torch.from_numpy(mask).to(trainer.device) != 0
            log_probs = masked_log_probs(logits, legal)
            return self._sampler(log_probs, legal).cpu().numpy()

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the generator."""
        return self._sampler.state_dict()

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        self._sampler.load_state_dict(saved)


def write_bids(engine: Rounds, rows: Array, lanes: Array, bids: Array) -> None:
    """Make ``bids`` the goals of rounds in which nobody has seen the agent's bid yet.

    Nobody sees a bid before all are made, and the bots never look at the agent's: a round that was
    dealt with another goal is the same round as long as nobody else has played a card in it.
    Observations, masks and info of the engine follow; so do ``reward``, ``terminated`` and
    ``truncated``, which become 0 in these lanes.

    Parameters
    ----------
    engine : BatchEngine or SeatedEngine
        Of the Worker tier.
    rows : ndarray, shape (k,)
        The lanes' rows, from :meth:`BatchEngine.get_states`; changed in place.
    lanes : ndarray of int, shape (k,)
    bids : ndarray of int, shape (k,)
        From 0 to the cards dealt.
    """
    rows["bid"][np.arange(len(rows)), rows["agent"]] = bids
    engine.set_states(rows, lanes, trusted=True)


# -- of the Manager --------------------------------------------------------------------------------


class ManagerEnv:
    """Rounds in which the Manager bids and ``cards`` plays.

    All lanes are in the same place: at the bid of a round and, in whole games, of the same round.

    Parameters
    ----------
    engine : BatchEngine or SeatedEngine
        Where the rounds are played; what is not described here is its own. Of the Worker tier
        with ``goal_mode="manager"``: every bid is an episode. Of the flat tier: the ten bids of a
        game are, and others than bots may have the other seats, since the agent is asked for its
        bid before them.
    observer : BatchEngine
        Of the Manager tier, without ``obs_ext``; encodes what the Manager sees. Nothing of it
        depends on the opponents' bids or the table, which the rows hold already.
    cards : Player, optional
        May be exchanged between two steps that end an episode. Default ``rule_hard``, which draws
        no random numbers when it plays a card.
    reward : {"shaped", "points"}
        The table of docs/skullking.md, 10.4, or official points / 10.

    Attributes
    ----------
    obs : ndarray of float32, shape (n, 171)
    mask : ndarray of uint8, shape (n, 11)
        Bids from 0 to the cards dealt.
    reward : ndarray of float32, shape (n,)
    terminated, truncated : ndarray of uint8, shape (n,)
        Nothing is ever truncated.
    final_obs : ndarray, as obs
        All zero: the Manager sees nothing behind the last round of an episode.
    tau : ndarray of int32, shape (n,)
        One and the cards played; information only, since discounts are per bid.
    ep_return, ep_length, ep_frames : ndarray of float64, int32 and int32, shape (n,)
        Frames are bids.
    info, final_info : dict of str to ndarray, shape (n,)
        The round that the last step has played, in ``info`` or, where it ended the episode, in
        ``final_info``; there ``info["ended_round"]`` is 0.
    """

    def __init__(
        self,
        engine: Rounds,
        observer: BatchEngine,
        cards: Player | None = None,
        reward: str = "shaped",
    ) -> None:
        self.engine = engine
        self.cards: Player = Bot("rule_hard", engine) if cards is None else cards
        self._observer, self._points = observer, reward == "points"
        played: Any = engine.game
        self._whole_games = bool(played.rules["full_game"][0])
        self.game, self.spec, n = observer.game, observer.spec, engine.num_envs
        self.obs_shape, self.obs_dtype = observer.obs_shape, observer.obs_dtype
        self.num_actions = observer.num_actions
        self.obs = np.zeros((n, *self.obs_shape), self.obs_dtype)
        self.final_obs = np.zeros_like(self.obs)
        self.mask = np.zeros((n, self.num_actions), np.uint8)
        self.reward = np.zeros(n, np.float32)
        self.terminated, self.truncated = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
        self.tau, self.ep_length = np.ones(n, np.int32), np.zeros(n, np.int32)
        self.ep_frames = self.ep_length
        self.ep_return = np.zeros(n)
        self._running_return, self._running_length = np.zeros(n), np.zeros(n, np.int32)
        columns = {name: np.zeros(n, np.float32) for name in ("reward_shaped", *_POINTS)}
        self.info = {name: np.zeros(n, np.int32) for name in _ROUND} | columns
        self.final_info = {name: np.zeros(n, np.int32) for name in _ROUND} | columns

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the engine inside."""
        if name == "engine":  # which there is not yet
            raise AttributeError(name)
        return getattr(self.engine, name)

    def reset_many(
        self,
        mask: npt.ArrayLike | None = None,
        seeds: Any = None,
        obs_out: Array | None = None,
        mask_out: Array | None = None,
    ) -> None:
        """Start new episodes; see :meth:`BatchEngine.reset_many`."""
        self.engine.reset_many(mask, seeds)
        chosen = slice(None) if mask is None else np.asarray(mask) != 0
        for column in (self.reward, self.terminated, self._running_return, self._running_length):
            column[chosen] = 0
        self._observe(obs_out, mask_out)

    def step_many(
        self, actions: npt.ArrayLike, obs_out: Array | None = None, mask_out: Array | None = None
    ) -> None:
        """Bid in every lane, play the rounds to their ends and deal the next ones.

        Parameters
        ----------
        actions : ndarray of int, shape (n,)
            The bids.
        obs_out, mask_out : ndarray, optional
            See :meth:`BatchEngine.step_many`.
        """
        engine, bids = self.engine, np.asarray(actions)
        for name in _POINTS:
            self.info[name].fill(0)
        self.tau.fill(1)
        if self._whole_games:
            engine.step_many(bids, autoreset=False)
        else:
            write_bids(engine, engine.get_states(), np.arange(self.num_envs), bids)
        playing = np.ones(self.num_envs, np.bool_)
        while playing.any():
            lanes = np.flatnonzero(playing)
            engine.step_many(ask(engine, [self.cards], lanes), select=playing, autoreset=False)
            self.tau[lanes] += 1
            over = np.flatnonzero(playing & (engine.info["ended_round"] > 0))
            for name in (*_ROUND, *_POINTS):
                self.info[name][over] = engine.info[name][over]
            playing[over] = False
        self._end_episodes(engine.ended.copy())
        self._observe(obs_out, mask_out)

    def _end_episodes(self, ended: npt.NDArray[np.bool_]) -> None:
        """Reward the bids, and deal anew where an episode is over."""
        info = self.info
        cards, bid, won = (info[name] for name in ("ended_cards", "ended_bid", "ended_won"))
        info["reward_shaped"][:] = BID_REWARD[cards, bid, won]
        self.reward[:] = info["reward_points" if self._points else "reward_shaped"]
        self._running_return += self.reward
        self._running_length += 1
        self.terminated[:] = ended
        self.ep_return[ended] = self._running_return[ended]
        self.ep_length[ended] = self._running_length[ended]
        for name in _ROUND:
            self.final_info[name][ended] = info[name][ended]
        info["ended_round"][ended] = 0
        if ended.any():
            self._running_return[ended] = self._running_length[ended] = 0
            self.engine.reset_many(ended)

    def _observe(self, obs_out: Array | None, mask_out: Array | None) -> None:
        rows = self.engine.get_states()
        obs = self.obs if obs_out is None else obs_out
        mask = self.mask if mask_out is None else mask_out
        self._observer.encode_obs_many(rows, out=obs, trusted=True)
        np.less_equal(np.arange(NUM_ACTIONS), rows["cards"][:, None], out=mask, casting="unsafe")

    def refresh(self) -> None:
        """Bring ``obs`` and ``mask`` up to date; see :meth:`BatchEngine.refresh`."""
        self._observe(None, None)

    def set_state(self, idx: npt.ArrayLike | None, blob: npt.NDArray[np.uint8]) -> None:
        """Load rows in which no round of an episode is over; see :meth:`BatchEngine.set_state`."""
        self.engine.set_state(idx, blob)
        self._running_return.fill(0)
        self._running_length.fill(0)


# -- of the Worker ---------------------------------------------------------------------------------


class GoalLanes:
    """The sources of the goals of a Worker's lanes, and the Manager that bids in some of them.

    Each lane has one source. A Worker that only ever saw the Manager's bids would know nothing of
    other goals, and the Manager could never learn to make them.

    Parameters
    ----------
    engine : SeatedEngine
        Of the Worker, not reset yet; the Manager bids as its rounds begin.
    observer : BatchEngine
        Of the Manager tier; see :class:`ManagerEnv`.
    manager : Partner

    Attributes
    ----------
    lanes : dict of str to ndarray of int
        Lanes of each source now.
    """

    def __init__(self, engine: SeatedEngine, observer: BatchEngine, manager: Partner) -> None:
        self._engine, self._observer, self._manager = engine, observer, manager
        engine.on_begin = self._bid
        self.divide(manager_bids=False)

    def divide(self, manager_bids: bool) -> None:
        """Divide the lanes into blocks; each lane takes its source at its next reset.

        Parameters
        ----------
        manager_bids : bool
            There is a Manager; until then, the other sources share its lanes.
        """
        engine, n = self._engine, self._engine.num_envs
        first = round(n / 2) if manager_bids else 0
        second = first + round((n - first) / 2)
        blocks = np.split(np.arange(n), [first, second])
        self.lanes: dict[str, Array] = dict(zip(SOURCES, blocks, strict=True))
        for source, lanes in self.lanes.items():
            engine.configure("goal_mode", source, lanes)

    def _bid(self, fresh: Array, obs_out: Array, mask_out: Array) -> None:
        """Let the Manager bid where a round has just been dealt.

        Bots may have played cards already, which do not depend on the bid. Others see all bids
        then, so it comes before they play.

        Parameters
        ----------
        fresh : ndarray of bool, shape (n,)
        obs_out, mask_out : ndarray, shapes (n, D) and (n, A)
            Where the engine has written what the lanes see; those rows are written again.
        """
        engine, lanes = self._engine, self.lanes["manager"]
        lanes = lanes[fresh[lanes]]
        if not lanes.size:
            return
        rows = engine.get_states(lanes)
        shown = rows.copy()
        shown["actor"] = rows["agent"]  # another may be asked: what follows is the agent's view
        seen = self._observer.encode_obs_many(shown, trusted=True)
        legal = (np.arange(engine.num_actions) <= rows["cards"][:, None]).astype(np.uint8)
        write_bids(engine, rows, lanes, self._manager.choose(seen, legal))
        obs_out[lanes], mask_out[lanes] = engine.obs[lanes], engine.mask[lanes]
