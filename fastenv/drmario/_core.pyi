from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]

FRAMES: dict[int, object]
PLACEMENTS: dict[int, object]

def write_successors(
    rows: Bytes, shared: Bytes, agent: int, costs: Array, parents: Array, out: Bytes
) -> None: ...
def plan_rows(rows: Bytes, shared: Bytes, agent: int, out: Array) -> None: ...
def count_bottles(boards: Bytes, out: Array) -> None: ...
def consider_placements(
    row: Bytes,
    shared: Bytes,
    agent: int,
    costs: Array,
    params: Bytes,
    actions: Array,
    weights: Array,
) -> tuple[int, int]: ...
