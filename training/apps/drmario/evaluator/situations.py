"""Inputs of the evaluator at a decision: the bottle, the pill that falls, and how fast it falls.

Nothing else of a row is read. The preview is left out, because the bottle behind a placement shows
one that a player does not know before; so the pill behind a known one is a mean over all pills.
"""

from __future__ import annotations

import numpy as np

from fastenv.drmario import tables as t

OBSERVATION = "bottle_pill_gravity"  # what stands in an evaluator's file
UNKNOWN = t.NUM_COLORS  # colour of a pill that is not known

SITUATION = np.dtype(
    [
        ("board", "u1", (t.CELLS,)),
        ("pill", "u1", (2,)),  # canonical colours, or UNKNOWN
        ("gravity", "u1"),  # docs/drmario.md, 5.1
        ("low", "u1"),  # 1 at low speed, where a throw takes longer
    ]
)


def situations(rows: np.ndarray, *, pill: bool = True) -> np.ndarray:
    """Encode the situation of the first player of each row, records of :data:`SITUATION`.

    Parameters
    ----------
    rows : ndarray, shape (n,)
        In the state dtype of the game, at decisions.
    pill : bool
        Whether it is known which pill falls.
    """
    players = rows["players"][:, 0]
    seen = np.empty(len(rows), SITUATION)
    seen["board"] = players["board"]
    seen["pill"] = UNKNOWN
    if pill:
        canonical = np.array(t.CANONICAL, np.uint8)
        seen["pill"][:, 0] = canonical[players["color_first"]]
        seen["pill"][:, 1] = canonical[players["color_second"]]
    bases, gravity = np.array(t.SPEED_BASES), np.array(t.GRAVITY, np.uint8)
    index = bases[players["speed_setting"]] + players["speed_ups"]
    seen["gravity"] = gravity[np.minimum(index, len(gravity) - 1)]
    seen["low"] = players["speed_setting"] == 0
    return seen
