"""Samples of the modes of hindsight, gathered from a finished rollout."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fastenv.skullking.config import SkullKingConfig
from training.apps.skullking.hindsight.relabel import Columns, Relabeller, relabel_bids
from training.ppo.rollout import Rollout

Array = npt.NDArray[Any]


class WorkerSamples(NamedTuple):
    """k decisions of finished rounds, as if the tricks won had been the goal.

    ``obs`` (k, D) and the return ``ret`` (k,) are relabelled; ``mask`` (k, A), ``action`` (k,) and
    its log-probability ``logp`` (k,) under the goal of the time are those of the rollout.
    """

    obs: Tensor
    mask: Tensor
    action: Tensor
    logp: Tensor
    ret: Tensor


class ManagerSamples(NamedTuple):
    """k bids whose rounds were played out.

    ``obs`` is (k, D); ``bid``, the tricks ``won`` and the ``cards`` dealt are int64 (k,). The other
    bids (``others`` (k, 3), int64, where ``there``) would have been worth ``rewards`` (k, 3).
    """

    obs: Tensor
    bid: Tensor
    won: Tensor
    cards: Tensor
    others: Tensor
    rewards: Tensor
    there: Tensor


class Source(Protocol):
    """Gathers samples."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the info columns that it reads."""
        ...

    def __call__(self, rollout: Rollout, columns: dict[str, Array]) -> tuple[Tensor, ...]:
        """Return all samples of a rollout.

        Parameters
        ----------
        rollout : Rollout
        columns : dict of str to ndarray of int32, shape (T, N)
            Info of the step that each decision made, of the round it ended if it ended one.
        """
        ...


class WorkerSource:
    """Relabelled decisions of a Worker; see :class:`WorkerSamples`.

    Parameters
    ----------
    game : SkullKingConfig
    gamma : float
    """

    columns = Columns._fields

    def __init__(self, game: SkullKingConfig, gamma: float) -> None:
        self._relabel = Relabeller(game, gamma)

    def __call__(self, rollout: Rollout, columns: dict[str, Array]) -> WorkerSamples:
        """Return the decisions of the finished rounds; see :class:`Source`."""
        obs, reward, done = (x.cpu().numpy() for x in (rollout.obs, rollout.reward, rollout.done))
        relabelled = self._relabel(obs, reward, done, Columns(**columns))
        place, new_obs, ret = (
            torch.from_numpy(x).to(rollout.device)
            for x in (relabelled.place, relabelled.obs, relabelled.ret)
        )
        mask, action, logp = (
            x.flatten(0, 1).index_select(0, place)
            for x in (rollout.mask, rollout.action, rollout.logp)
        )
        return WorkerSamples(new_obs, mask, action, logp, ret)


class ManagerSource:
    """Bids of a Manager and their results; see :class:`ManagerSamples`."""

    columns = ("ended_cards", "ended_won")

    def __call__(self, rollout: Rollout, columns: dict[str, Array]) -> ManagerSamples:
        """Return the bids whose step played their round out; see :class:`Source`."""
        cards, won = (columns[name].reshape(-1) for name in self.columns)
        index = np.flatnonzero(cards)
        bid = rollout.action.flatten().cpu().numpy()[index]
        cards, won = cards[index], won[index]
        obs = rollout.obs[:-1].flatten(0, 1)
        obs = obs.index_select(0, torch.from_numpy(index).to(obs.device))
        rest = (bid, won.astype(np.int64), cards.astype(np.int64), *relabel_bids(cards, bid, won))
        return ManagerSamples(*(x.to(rollout.device) for x in (obs, *map(torch.from_numpy, rest))))
