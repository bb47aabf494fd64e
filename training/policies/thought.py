"""What a search found, as data: shown by ``--think`` and any viewer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Thought:
    """What was thought about one decision.

    Attributes
    ----------
    actions : ndarray of int, shape (a,)
        The legal ones.
    mean : ndarray of float64, shape (a,)
        What each came to, on the mean over its worlds; -inf for one that was not looked at.
    error : ndarray of float64, shape (a,)
        Standard error of its distance to the action that was chosen, over the worlds that both have
        seen; of the chosen one that of its mean. NaN below two worlds.
    worlds : ndarray of int, shape (a,)
        That each has seen. The worst ones are dropped early.
    wanted : ndarray of float64, shape (a,)
        How probable the policy finds each; NaN where it was not asked.
    chosen : int
        The action that was played.
    milliseconds : float
        What the decision took; its share, where several were made at once.
    finished : bool
        False where it was interrupted before its budget was spent.
    budget : str
        In words.
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
