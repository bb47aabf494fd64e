"""Estimates of actions of many positions from rollouts, and the choice of those to continue."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

MIN_WORLDS = 8  # worlds of an action before it may be dropped as worse beyond doubt
DOUBT = 4.0  # standard errors of a paired difference that leave no doubt
# Of several actions, chance puts one ahead, in few worlds above all: a lead in so many counts half.
FEW_WORLDS = 8


class ActionEstimates:
    """Values of actions in worlds: every action of a position sees the same worlds in turn.

    Parameters
    ----------
    legal : ndarray of bool, shape (n, A)
    own : ndarray of int, shape (n,), optional
        What would be played without the search: halving keeps it, so that it is compared with the
        best in all worlds.

    Attributes
    ----------
    open : ndarray of bool, shape (n, A)
        Actions that have not been dropped.
    values : ndarray of float64, shape (n, A, W)
        NaN where an action has not seen a world.
    """

    def __init__(self, legal: np.ndarray, own: np.ndarray | None = None) -> None:
        self.legal, self.open = legal, legal.copy()
        self._kept = np.zeros_like(legal)
        if own is not None:
            self._kept[np.arange(len(own)), own] = True
        self.values = np.empty((*legal.shape, 0))
        self.counts = np.zeros(legal.shape, np.int64)  # worlds that an action has seen
        self._first = legal.sum(1)  # actions of a position in the beginning

    @classmethod
    def join(cls, parts: Sequence[ActionEstimates]) -> ActionEstimates:
        """Join the estimates of several groups of positions."""
        joined = cls(np.concatenate([part.legal for part in parts]))
        width = max(part.values.shape[2] for part in parts)
        values = [part.values for part in parts]
        missing = [((0, 0), (0, 0), (0, width - v.shape[2])) for v in values]
        values = [
            np.pad(v, m, constant_values=np.nan) for v, m in zip(values, missing, strict=True)
        ]
        joined.open = np.concatenate([part.open for part in parts])
        joined._kept = np.concatenate([part._kept for part in parts])
        joined.counts = np.concatenate([part.counts for part in parts])
        joined.values = np.concatenate(values)
        return joined

    def take(self, positions: Sequence[int] | np.ndarray) -> ActionEstimates:
        """Select the estimates of some positions."""
        some = ActionEstimates(self.legal[positions])
        some.open, some.counts = self.open[positions], self.counts[positions]
        some._kept = self._kept[positions]
        some.values = self.values[positions]
        return some

    @property
    def undecided(self) -> np.ndarray:
        """The positions with more than one open action, bool, shape (n,)."""
        several: np.ndarray = self.open.sum(1) > 1
        return several

    def note(
        self, positions: np.ndarray, actions: np.ndarray, worlds: np.ndarray, values: np.ndarray
    ) -> None:
        """Add the values of actions in new worlds, which have numbers from 0; shapes are (m,)."""
        fresh = int(worlds.max(initial=-1)) + 1
        block = np.full((*self.open.shape, fresh), np.nan)
        block[positions, actions, worlds] = values
        joined = np.concatenate([self.values, block], axis=2)
        counts = self.counts + (~np.isnan(block)).sum(2)
        self.values, self.counts = joined, counts  # both or none, if Ctrl-C comes

    def means(self) -> np.ndarray:
        """Compute mean values, float64 (n, A); -inf of actions that have seen no world."""
        seen = np.maximum(self.counts, 1)
        means = np.where(np.isnan(self.values), 0.0, self.values).sum(2) / seen
        return np.where(self.counts > 0, means, -np.inf)

    def errors(self) -> np.ndarray:
        """Compute standard errors of the means, float64 (n, A); NaN below two worlds."""
        return _standard_errors(self.values, self.counts)

    def best(self) -> np.ndarray:
        """Find the open action with the best mean, int (n,); the first of equals."""
        return np.where(self.open, self.means(), -np.inf).argmax(1)

    def behind(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Compute the mean lead of given actions (n,) over all others, in the same worlds.

        Returns
        -------
        ndarray of float64, shape (n, A)
            Mean differences; NaN where an action shares no world with the given one.
        ndarray of float64, shape (n, A)
            Their standard errors; NaN below two worlds.
        """
        theirs = np.take_along_axis(self.values, actions[:, None, None], axis=1)
        apart = theirs - self.values
        shared = (~np.isnan(apart)).sum(2)
        total = np.where(np.isnan(apart), 0.0, apart).sum(2)
        means = np.where(shared > 0, total / np.maximum(shared, 1), np.nan)
        return means, _standard_errors(apart, shared)

    def leads(self, actions: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Compute by how many standard errors actions lead others (n,), float64 (n,).

        One world is added in which both come to the same, so that few worlds which agree by chance
        are no certainty. And of k worlds the lead is divided by ``1 + FEW_WORLDS / k``, since the
        best of several actions is ahead by chance. NaN where they share no world.
        """
        here = np.arange(len(actions))
        apart = self.values[here, actions] - self.values[here, others]
        there = ~np.isnan(apart)
        shared, apart = there.sum(1), np.where(there, apart, 0.0)
        means = apart.sum(1) / (shared + 1)
        squares = (apart**2).sum(1) - (shared + 1) * means**2
        with np.errstate(invalid="ignore", divide="ignore"):
            errors = np.sqrt(np.maximum(squares, 0.0) / shared / (shared + 1))
            leads = means / errors / (1 + FEW_WORLDS / shared)
            return np.where(means == 0, np.where(shared > 0, 0.0, np.nan), leads)

    def drop(self, spent: float, halving: bool) -> None:
        """Drop actions that are beyond doubt behind and, with halving, the worst.

        Parameters
        ----------
        spent : float
            Share of the budget. Of A actions in the beginning ``A ** (1 - spent)`` stay open, two
            at least, since the last worlds shall tell the best ones apart.
        halving : bool
        """
        undecided = np.flatnonzero(self.undecided)
        some = self.take(undecided)
        apart, error = some.behind(some.best())
        enough = some.counts >= MIN_WORLDS
        with np.errstate(invalid="ignore"):
            lost = enough & (apart > DOUBT * error)  # an error of 0 included
        some.open &= ~lost
        if halving:
            some._halve(spent)
        self.open[undecided] = some.open

    def _halve(self, spent: float) -> None:
        stay = np.maximum(2, np.ceil(self._first ** (1.0 - min(spent, 1.0)))).astype(np.int64)
        means = np.where(self.open, self.means(), -np.inf)
        order = np.argsort(-means, axis=1, kind="stable")
        rank = np.empty_like(order)
        np.put_along_axis(rank, order, np.arange(order.shape[1])[None], axis=1)
        self.open &= (rank < stay[:, None]) | self._kept


def _standard_errors(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Compute the standard errors of means over the last axis, of ``counts`` numbers each."""
    there = ~np.isnan(values)
    n = np.maximum(counts, 1)
    means = np.where(there, values, 0.0).sum(-1) / n
    squares = (np.where(there, values - means[..., None], 0.0) ** 2).sum(-1)
    errors = np.sqrt(squares / np.maximum(counts - 1, 1) / n)
    return np.where(counts > 1, errors, np.nan)
