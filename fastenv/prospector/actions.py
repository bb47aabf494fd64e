"""Actions as the published interface takes them: any whole number is a move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.checks import as_array, lane_label
from fastenv.errors import InvalidActionError, show
from fastenv.prospector.tables import NUM_ACTIONS

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class AnyWholeNumber:
    """Numbers that are no action become -1 or ``NUM_ACTIONS``, which the rules deal with.

    Booleans and whole floats count as integers, and integers may be of any size.
    """

    def encode(self, action: Any) -> int:
        """Return an action between -1 and ``NUM_ACTIONS``.

        Raises
        ------
        InvalidActionError
            Not one number, or not a whole one.
        """
        number = action
        if type(action) is not int:  # a single step is short: most actions go the short way
            value = as_array("action", action, InvalidActionError)
            whole = None if value.ndim else _whole(value)
            if whole is None:
                raise InvalidActionError(
                    f"action must be an integer, got {show(action)} ({type(action).__name__})"
                )
            number = whole
        if 0 <= number < NUM_ACTIONS:
            return int(number)
        return -1 if number < 0 else NUM_ACTIONS

    def encode_many(self, actions: Array, out: npt.NDArray[np.int32]) -> None:
        """Write actions between -1 and ``NUM_ACTIONS``, shape (n,)."""
        kind = actions.dtype.kind
        if kind == "O":  # what NumPy makes of integers from 2**64 on
            out[:] = [self._encode_lane(lane, each) for lane, each in enumerate(actions)]
            return
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

    def _encode_lane(self, lane: int, action: object) -> int:
        try:
            return self.encode(action)
        except InvalidActionError as error:
            raise InvalidActionError(f"{lane_label(lane)}: {error}") from None


def _whole(value: Array) -> int | None:
    """Return the whole number of an array without axes, or None."""
    if value.dtype.kind not in "iubfO":
        return None
    number = value.item()
    if isinstance(number, (float, np.floating)) and float(number).is_integer():
        return int(number)
    return int(number) if isinstance(number, (int, np.integer, np.bool_)) else None
