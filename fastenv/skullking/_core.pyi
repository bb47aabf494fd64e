import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]

def is_debug() -> bool: ...
def record_sizes() -> tuple[int, int, int, int]: ...
def record_offsets() -> dict[str, int]: ...
def _debug_probe(i: int) -> int | None: ...

class BatchCore:
    num_envs: int
    num_threads: int
    def __init__(
        self, states: U8, knobs: U8, rules: U8, tables: U8, num_threads: int = ...
    ) -> None: ...
    def bind(
        self,
        addresses: tuple[int, ...],
        reward: npt.NDArray[np.float32],
        columns: npt.NDArray[np.float32],
        terminated: U8,
        truncated: U8,
        info: npt.NDArray[np.int32],
        final_info: npt.NDArray[np.int32],
        final_obs: npt.NDArray[np.float32],
        ep_return: npt.NDArray[np.float64],
        ep_length: npt.NDArray[np.int32],
        info_wanted: npt.NDArray[np.int32],
        columns_wanted: npt.NDArray[np.int32],
        num_actions: int = ...,
    ) -> None: ...
    def reset(self, select: U8, seeds: npt.NDArray[np.uint64] | None = ...) -> None: ...
    def step(self, actions: npt.NDArray[np.int32], select: U8) -> None: ...
    def first_illegal(self, actions: npt.NDArray[np.int32], select: U8) -> int: ...
    def bot_actions(
        self, kind: int, rng_states: npt.NDArray[np.uint64], out: npt.NDArray[np.int32]
    ) -> None: ...
    def step_fused(
        self,
        actions: npt.NDArray[np.int32],
        select: U8 | None,
        autoreset: bool,
        obs: npt.NDArray[np.float32],
        mask: U8,
    ) -> None: ...
    def observe(
        self,
        select: U8 | None,
        obs: npt.NDArray[np.float32],
        mask: U8,
        write_info: bool = ...,
    ) -> None: ...
