"""The Manager's environment: another player plays the cards (docs/howto/manager_worker.md).

One step is a bid in every lane and the whole round that follows it. It looks like a batch engine to
:class:`training.ppo.trainer.PPOTrainer`.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fastenv import BatchEngine
from fastenv.skullking.tables import NUM_ACTIONS
from training.apps.skullking.partner import Partner
from training.apps.skullking.rows import write_bids
from training.selfplay.seated import SeatedEngine

Array = npt.NDArray[Any]
Rounds = BatchEngine | SeatedEngine
_ROUND = ("ended_round", "ended_cards", "ended_bid", "ended_won")
_POINTS = ("reward_points", "reward_points_rank")


class Cards(Protocol):
    """Plays the cards of rounds that have been bid."""

    def act(self, engine: Rounds, lanes: Array) -> Array:
        """Return actions, shape (n,), of which those in ``lanes`` will be taken."""


class RuleCards:
    """``rule_hard``, which draws no random numbers when it plays a card."""

    def act(self, engine: Rounds, lanes: Array) -> Array:
        """See :class:`Cards`."""
        unused = np.ones((engine.num_envs, 4), np.uint64)
        actions: Array = engine.bot_actions("rule_hard", unused)
        return actions


class WorkerCards:
    """A Worker that sees what it has seen in its own training.

    Parameters
    ----------
    partner : Partner
    observer : BatchEngine, optional
        An engine of the Worker's env, to encode rows of a whole game with; None where the rounds
        are played in an engine of that env.
    """

    def __init__(self, partner: Partner, observer: BatchEngine | None = None) -> None:
        self._partner, self._observer = partner, observer

    def act(self, engine: Rounds, lanes: Array) -> Array:
        """See :class:`Cards`."""
        if self._observer is None:
            obs = engine.obs[lanes]
        else:
            obs = self._observer.encode_obs_many(engine.get_states(lanes), trusted=True)
        actions = np.zeros(engine.num_envs, np.int64)
        actions[lanes] = self._partner.act(obs, engine.mask[lanes])
        return actions


class ManagerEnv:
    """Rounds in which the Manager bids and ``cards`` plays.

    All lanes are in the same place: at the bid of a round and, in whole games, of the same round.

    Parameters
    ----------
    engine : BatchEngine or SeatedEngine
        Where the rounds are played. Of the Worker tier with ``goal_mode="manager"``: every bid is
        an episode. Of the flat tier: the ten bids of a game are, and others than bots may have the
        other seats, since the agent is asked for its bid before them.
    observer : BatchEngine
        Of the Manager tier, without ``obs_ext``; encodes what the Manager sees. Nothing of it
        depends on the opponents' bids or the table, which the rows hold already.
    cards : Cards
        May be exchanged between two steps that end an episode.
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
        self, engine: Rounds, observer: BatchEngine, cards: Cards, reward: str = "shaped"
    ) -> None:
        self.engine, self.cards = engine, cards
        self._observer, self._points = observer, reward == "points"
        played: Any = engine.game
        self._whole_games = bool(played.rules["full_game"][0])
        self.game, self.spec, self.backend = observer.game, observer.spec, engine.backend
        self.num_envs = n = engine.num_envs
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

    # -- moving ----------------------------------------------------------------------------------

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
            engine.step_many(self.cards.act(engine, lanes), select=playing, autoreset=False)
            self.tau[lanes] += 1
            over = np.flatnonzero(playing & (engine.info["ended_round"] > 0))
            self._take(over)
            playing[over] = False
        self._end_episodes(engine.ended.copy())
        self._observe(obs_out, mask_out)

    def _take(self, over: Array) -> None:
        """Copy the info of rounds that have just ended."""
        for name in (*_ROUND, *_POINTS):
            self.info[name][over] = self.engine.info[name][over]

    def _end_episodes(self, ended: npt.NDArray[np.bool_]) -> None:
        """Reward the bids, and deal anew where an episode is over."""
        info = self.info
        bid, won, cards = (info[name] for name in ("ended_bid", "ended_won", "ended_cards"))
        info["reward_shaped"][:] = bid_rewards(bid, won, cards)
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

    # -- state -----------------------------------------------------------------------------------

    def get_state(self, idx: npt.ArrayLike | None = None) -> npt.NDArray[np.uint8]:
        """Return the rows of the engine inside; see :meth:`BatchEngine.get_state`."""
        state: npt.NDArray[np.uint8] = self.engine.get_state(idx)
        return state

    def get_states(self, idx: npt.ArrayLike | None = None) -> Array:
        """Return the same as records; see :meth:`BatchEngine.get_states`."""
        rows: Array = self.engine.get_states(idx)
        return rows

    def set_state(self, idx: npt.ArrayLike | None, blob: npt.NDArray[np.uint8]) -> None:
        """Load rows in which no round of an episode is over; see :meth:`BatchEngine.set_state`."""
        self.engine.set_state(idx, blob)
        self._running_return.fill(0)
        self._running_length.fill(0)

    def configure(self, name: str, value: Any, idx: npt.ArrayLike | None = None) -> None:
        """Set a knob of the engine inside; see :meth:`BatchEngine.configure`."""
        self.engine.configure(name, value, idx)


def bid_rewards(bid: Array, won: Array, cards: Array) -> npt.NDArray[np.float32]:
    """Return the Manager's rewards of docs/skullking.md, 10.4, shape (n,).

    Parameters
    ----------
    bid, won, cards : ndarray of int, shape (n,)
        Of rounds that are over; ``cards`` were dealt to each hand.
    """
    distance = np.abs(bid - won)
    exact = 5.0 + 0.5 * cards * (bid == 0)
    table = np.select([distance == 0, distance == 1, distance == 2], [exact, 1.0, -1.0], np.nan)
    rewards: Array = np.where(distance < 3, table, -2.0 - 0.5 * distance)
    return rewards.astype(np.float32)
