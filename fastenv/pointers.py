"""Records at an address, for the Numba kernels of a game.

A kernel gets at parts of a row and of an observation as records at an address: Numba counts
references to arrays wherever one is sliced, which takes longer than to write what is there.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numba import types
from numba.extending import intrinsic


def reader(dtype: np.dtype[Any]) -> Any:
    """Return a function for kernels: a pointer to bytes and an offset give the record there.

    Parameters
    ----------
    dtype : dtype
        Structured and aligned; booleans of an array in it are to be bytes.
    """
    record = nb.from_dtype(dtype)

    @intrinsic
    def read(context: Any, pointer: Any, offset: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = builder.gep(arguments[0], [arguments[1]])
            return builder.bitcast(place, context.get_value_type(record))

        return record(pointer, types.intp), codegen

    return read


@intrinsic
def advance(context: Any, pointer: Any, offset: Any) -> Any:
    """Return a pointer to bytes further on."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.gep(arguments[0], [arguments[1]])

    return pointer(pointer, types.intp), codegen
