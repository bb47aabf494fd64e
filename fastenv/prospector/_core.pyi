import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
U32 = npt.NDArray[np.uint32]
I32 = npt.NDArray[np.int32]

def is_debug() -> bool: ...
def record_sizes() -> tuple[int, int, int]: ...
def record_offsets() -> dict[str, int]: ...
def _debug_probe(i: int) -> int | None: ...
def _approximate(name: str, x: F64, out: F64) -> None: ...
def _noises(first: U32, second: U32, slack: float, out: F32) -> int: ...
def _asteroids(draws: U32, slack: float, out: F32) -> int: ...
def _prices(states: U8, tables: U8, draws: U32, dt: int, slack: float) -> int: ...

class BatchCore:
    num_envs: int
    num_threads: int
    def __init__(
        self, states: U8, knobs: U8, rules: U8, tables: U8, num_threads: int = ...
    ) -> None: ...
    def bind(
        self,
        addresses: tuple[int, int, int, int, int],
        reward: F64,
        columns: F64,
        terminated: U8,
        truncated: U8,
        info: F64,
        final_info: F64,
        final_obs: F32,
        ep_return: F64,
        ep_length: I32,
        info_wanted: I32,
        columns_wanted: I32,
    ) -> None: ...
    def reset(self, select: U8, seeds: npt.NDArray[np.uint64] | None = ...) -> None: ...
    def step(self, actions: I32, select: U8) -> None: ...
    def materialise(self, select: U8) -> None: ...
    def first_illegal(self, actions: I32, select: U8) -> int: ...
    def step_fused(
        self,
        actions: I32,
        select: U8 | None,
        autoreset: bool,
        obs: F32,
        mask: U8,
    ) -> None: ...
    def observe(
        self,
        select: U8 | None,
        obs: F32,
        mask: U8,
        write_info: bool = ...,
    ) -> None: ...
