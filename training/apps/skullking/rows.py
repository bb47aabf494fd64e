"""Bids in the rows of an engine whose tier does not bid."""

from __future__ import annotations

import numpy as np

from fastenv import BatchEngine
from training.selfplay.seated import SeatedEngine


def write_bids(
    engine: BatchEngine | SeatedEngine, rows: np.ndarray, lanes: np.ndarray, bids: np.ndarray
) -> None:
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
