"""The sources of a Worker's goals: the Manager's bids, and goals that nobody would bid.

Each lane has one source. A Worker that only ever saw the Manager's bids would know nothing of the
others, and the Manager could never learn to make them.
"""

from __future__ import annotations

import numpy as np

from fastenv import BatchEngine
from training.apps.skullking.hier.options import GoalShares
from training.apps.skullking.partner import Partner
from training.apps.skullking.rows import write_bids
from training.selfplay.seated import SeatedEngine

SOURCES = ("manager", "estimate", "uniform")


class GoalLanes:
    """The sources of the lanes of a Worker's engine, and the Manager that bids in some of them.

    Parameters
    ----------
    num_envs : int
    shares : GoalShares
    observer : BatchEngine
        Of the Manager tier; see :class:`training.apps.skullking.manager_env.ManagerEnv`.
    manager : Partner

    Attributes
    ----------
    lanes : dict of str to ndarray of int
        Lanes of each source now.
    """

    def __init__(
        self, num_envs: int, shares: GoalShares, observer: BatchEngine, manager: Partner
    ) -> None:
        self._shares, self._observer, self._manager = shares, observer, manager
        self._num_envs = num_envs
        self.lanes = self._divide(0.0)
        self._bidding = np.zeros(num_envs, np.bool_)

    def _divide(self, manager: float) -> dict[str, np.ndarray]:
        """Return blocks of lanes; what the Manager does not take goes to the others."""
        others = self._shares.estimate + self._shares.uniform
        first = round(manager * self._num_envs)
        second = first + round((self._num_envs - first) * self._shares.estimate / others)
        lanes = np.arange(self._num_envs)
        return dict(zip(SOURCES, np.split(lanes, [first, second]), strict=True))

    def begin(self, engine: BatchEngine | SeatedEngine, manager_bids: bool) -> None:
        """Divide the lanes; each takes its source at its next reset.

        Parameters
        ----------
        engine : BatchEngine or SeatedEngine
        manager_bids : bool
            There is a Manager.
        """
        self.lanes = self._divide(self._shares.manager if manager_bids else 0.0)
        for source, lanes in self.lanes.items():
            engine.configure("goal_mode", source, lanes)
        self._bidding.fill(False)
        self._bidding[self.lanes["manager"]] = True

    def bid(
        self, engine: BatchEngine, stepped: bool, obs_out: np.ndarray, mask_out: np.ndarray
    ) -> None:
        """Let the Manager bid in those of its lanes that have a new round, against bots.

        They may have played cards already, which do not depend on the bid.

        Parameters
        ----------
        engine : BatchEngine
        stepped : bool
            It has made a step, so that only lanes whose round ended have a new one; else all have.
        obs_out, mask_out : ndarray, shapes (n, D) and (n, A)
            Where the engine has written what the lanes see; those rows are written again.
        """
        ends = (engine.reward, engine.terminated, engine.truncated)
        new = self._bidding & ((ends[1] | ends[2]) != 0) if stepped else self._bidding
        lanes = np.flatnonzero(new)
        if not lanes.size:
            return
        kept = [column[lanes] for column in ends]  # the step's, which the trainer still needs
        rows = engine.get_states(lanes)
        self._write(engine, lanes, rows, rows, obs_out, mask_out)
        for column, values in zip(ends, kept, strict=True):
            column[lanes] = values

    def bid_first(
        self, engine: SeatedEngine, fresh: np.ndarray, obs_out: np.ndarray, mask_out: np.ndarray
    ) -> None:
        """Let the Manager bid before others than bots play a card: they see all bids then.

        Parameters
        ----------
        engine : SeatedEngine
        fresh : ndarray of bool, shape (n,)
            Lanes whose round has just been dealt.
        obs_out, mask_out : ndarray, shapes (n, D) and (n, A)
            See :meth:`bid`.
        """
        lanes = np.flatnonzero(self._bidding & fresh)
        if not lanes.size:
            return
        rows = engine.get_states(lanes)
        shown = rows.copy()
        shown["actor"] = rows["agent"]  # another is asked: what follows is the agent's view
        self._write(engine, lanes, rows, shown, obs_out, mask_out)

    def _write(
        self,
        engine: BatchEngine | SeatedEngine,
        lanes: np.ndarray,
        rows: np.ndarray,
        shown: np.ndarray,
        obs_out: np.ndarray,
        mask_out: np.ndarray,
    ) -> None:
        seen = self._observer.encode_obs_many(shown, trusted=True)
        legal = (np.arange(engine.num_actions) <= rows["cards"][:, None]).astype(np.uint8)
        write_bids(engine, rows, lanes, self._manager.act(seen, legal))
        obs_out[lanes], mask_out[lanes] = engine.obs[lanes], engine.mask[lanes]
