import numpy as np
import numpy.typing as npt

from fastenv.drmario.reachability import Root

def plan(
    boards: npt.ArrayLike,
    parities: npt.ArrayLike,
    gravities: npt.ArrayLike,
    extended: bool = False,
) -> npt.NDArray[np.uint16]: ...
def script(
    boards: npt.ArrayLike,
    parities: npt.ArrayLike,
    gravities: npt.ArrayLike,
    actions: npt.ArrayLike,
    extended: bool = False,
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int16]]: ...
def search(
    board: npt.NDArray[np.uint8],
    parity: int,
    gravity: int,
    root: Root = ...,
    extended: bool = ...,
    action: int | None = ...,
) -> npt.NDArray[np.uint16] | bytes: ...
def _searched(
    boards: npt.ArrayLike, parities: npt.ArrayLike, gravities: npt.ArrayLike
) -> npt.NDArray[np.uint16]: ...
def _proved(
    boards: npt.ArrayLike, parities: npt.ArrayLike, gravities: npt.ArrayLike
) -> npt.NDArray[np.bool_]: ...
