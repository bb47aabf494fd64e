import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
U32 = npt.NDArray[np.uint32]

TABLE: object

def _approximate(name: str, x: F64, out: F64) -> None: ...
def _noises(first: U32, second: U32, slack: float, out: F32) -> int: ...
def _asteroids(draws: U32, slack: float, out: F32) -> int: ...
def _prices(states: U8, tables: U8, draws: U32, dt: int, slack: float) -> int: ...
