"""The results of a search for one decision, as data: shown by ``--think`` and any viewer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Thought:
    """The results of a search for one decision.

    Attributes
    ----------
    actions : ndarray of int, shape (a,)
        The legal actions.
    mean : ndarray of float64, shape (a,)
        Mean value of each action over its worlds; -inf for one that was not evaluated.
    error : ndarray of float64, shape (a,)
        Standard error of the difference to the chosen action, over the worlds of both; for the
        chosen action, of its mean. NaN below two worlds.
    worlds : ndarray of int, shape (a,)
        Worlds that each action was evaluated in. The worst actions are dropped early.
    wanted : ndarray of float64, shape (a,)
        The policy's probability of each action; NaN where the policy was not evaluated.
    chosen : int
        The action that was played.
    milliseconds : float
        Time of the decision; its share, where several were made at once.
    finished : bool
        False where the search was interrupted before its budget was spent.
    budget : str
        The budget in words.
    """

    actions: np.ndarray
    mean: np.ndarray
    error: np.ndarray
    worlds: np.ndarray
    wanted: np.ndarray
    chosen: int
    milliseconds: float
    finished: bool = True
    budget: str = ""
