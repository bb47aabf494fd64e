import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]
TABLE: object
LINK_TABLE: object
SHARED_SIZE: int

def advance(
    row: U8,
    shared: U8,
    frames: int,
    picture: U8 | None = None,
    skip_idle: bool = True,
    bus_phase: int = 0,
    samples: npt.NDArray[np.int16] | None = None,
) -> None: ...
def advance_linked(
    row: U8,
    shared: U8,
    other_row: U8,
    other_shared: U8,
    frames: int,
    picture: U8 | None = None,
    other_picture: U8 | None = None,
    skip_idle: bool = True,
) -> None: ...
def press_keys(row: U8, keys: int) -> None: ...
def with_times(observe: int) -> int: ...
def count_times(on: bool) -> None: ...
def times_spent() -> dict[str, int]: ...
