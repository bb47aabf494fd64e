"""Actions as the published interface takes them: any whole number is a move."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.errors import InvalidActionError
from fastenv.prospector.tables import NUM_ACTIONS

Array = npt.NDArray[Any]


class AnyWholeNumber:
    """Numbers that are no action become -1 or ``NUM_ACTIONS``, which the rules deal with.

    Booleans and whole floats count as integers.
    """

    def encode(self, action: Any) -> int:
        """Return an action between -1 and ``NUM_ACTIONS``.

        Raises
        ------
        InvalidActionError
            Not one number, or not a whole one.
        """
        if type(action) is not int:  # a single step is short: most actions go the short way
            value = np.asarray(action)
            kind = value.dtype.kind
            whole = kind in "iub" or (kind == "f" and not value.ndim and float(value).is_integer())
            if value.ndim or not whole:
                raise InvalidActionError(
                    f"action must be an integer, got {action!r} ({type(action).__name__})"
                )
            action = int(value)
        number: int = action
        if 0 <= number < NUM_ACTIONS:
            return number
        return -1 if number < 0 else NUM_ACTIONS

    def encode_many(self, actions: Array, out: npt.NDArray[np.int32]) -> None:
        """Write actions between -1 and ``NUM_ACTIONS``, shape (n,)."""
        kind = actions.dtype.kind
        if kind in "fb":
            whole = np.isfinite(actions) & (np.trunc(actions) == actions)
            if not whole.all():
                lane = int(whole.argmin())
                raise InvalidActionError(
                    f"lane {lane}: action {actions[lane]} must be a whole number"
                )
        elif kind not in "iu":
            raise InvalidActionError(f"actions must be integers, got dtype {actions.dtype}")
        low = 0 if kind in "ub" else -1
        if actions.dtype == np.int32:  # without a temporary array
            np.maximum(actions, low, out=out)
            np.minimum(out, NUM_ACTIONS, out=out)
        else:
            np.copyto(out, np.clip(actions, low, NUM_ACTIONS), casting="unsafe")
