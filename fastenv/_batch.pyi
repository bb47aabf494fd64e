from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.memory import Buffers
from fastenv.spec import Compiled, GameSpec

Array = npt.NDArray[Any]
U8 = npt.NDArray[np.uint8]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

def is_debug() -> bool: ...
def read_table(capsule: object) -> dict[str, int]: ...
def _debug_probe(i: int) -> int | None: ...

class BatchLoop:
    @property
    def num_envs(self) -> int: ...
    @property
    def num_agents(self) -> int: ...
    @property
    def num_actions(self) -> int: ...
    @property
    def num_threads(self) -> int: ...
    @property
    def completes(self) -> bool: ...
    @property
    def can_resample(self) -> bool: ...
    @property
    def encodes(self) -> bool: ...
    def can_roll(self, conditional: bool, prepared: bool) -> bool: ...
    def __init__(
        self,
        spec: GameSpec,
        core: Compiled,
        kernels: Compiled | None,
        states: Array,
        knobs: Array,
        derived: Array | None,
        shared: Array,
        num_threads: int = ...,
    ) -> None: ...
    def bind(self, spec: GameSpec, out: Buffers) -> None: ...
    def reset(self, select: U8, seeds: U64 | None = ...) -> None: ...
    def derive(self, select: U8) -> None: ...
    def complete(self, select: U8) -> None: ...
    def step(self, actions: I32, select: U8) -> None: ...
    def first_illegal(self, actions: I32, select: U8) -> int: ...
    def bot_actions(
        self,
        params: Array,
        agent: int,
        obs: Array,
        mask: U8,
        select: U8,
        rng_states: U64 | None,
        out: I32,
    ) -> None: ...
    def step_fused(
        self, actions: I32, select: U8, autoreset: bool, obs: Array, mask: U8
    ) -> None: ...
    def observe(self, select: U8, obs: Array, mask: U8) -> None: ...
    def encode_rows(self, rows: Array, obs: Array, mask: U8) -> None: ...
    def resample(self, rows: Array, of: I64, agents: I32, seeds: U64, out: Array) -> None: ...
    def rollout(
        self,
        rows: Array,
        of: I64,
        actions: I32,
        players: Array,
        knobs: Array,
        until: int,
        number: int,
        limit: int,
        pays: bool,
        seeds: U64,
        out: Array,
        decisions: I32,
    ) -> None: ...
