"""Memory of a batch, allocated once: rows of the lanes, and destinations of a step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.checks import select_fields
from fastenv.errors import ConfigError, show
from fastenv.spec import GameSpec

Array = npt.NDArray[Any]


def aligned(shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """Return zeros of the given shape and dtype, C-contiguous and starting on a cache line."""
    dtype = np.dtype(dtype)
    shape = (shape,) if isinstance(shape, int) else shape
    if dtype.itemsize == 0:
        return np.zeros(shape, dtype)
    size = math.prod(shape) * dtype.itemsize  # of Python's integers, which do not wrap
    try:
        block = np.zeros(size + 64, np.uint8)
    except (MemoryError, ValueError, OverflowError) as error:
        raise ConfigError(
            f"num_envs={show(shape[0])}: must be fewer: {show(size >> 20)} MiB for one of the "
            "buffers cannot be allocated here"
        ) from error
    start = -block.ctypes.data % 64
    return block[start : start + size].view(dtype).reshape(shape)


@dataclass
class Batch:
    """The memory of a batch: one row a lane, and what belongs to it."""

    states: Array
    knobs: Array
    derived: Array | None
    shared: Array


@dataclass
class Buffers:
    """Destinations of a step, one row a lane; see :class:`fastenv.BatchEngine`.

    ``info``, ``final_info`` and ``terms`` are structured, of the wanted columns.
    """

    obs: Array
    mask: Array
    reward: Array
    terms: Array
    terminated: Array
    truncated: Array
    tau: Array
    info: Array
    final_info: Array
    final_obs: Array
    ep_return: Array
    ep_length: Array
    ep_frames: Array

    @classmethod
    def allocate(
        cls,
        spec: GameSpec,
        n: int,
        agents: int,
        info_columns: tuple[str, ...],
        term_columns: tuple[str, ...],
    ) -> Buffers:
        """Return destinations of a step of ``n`` lanes that shows so many agents."""
        each = (n, agents) if agents > 1 else (n,)
        info = select_fields(spec.info_dtype, info_columns)
        buffers = cls(
            obs=aligned((*each, *spec.obs_shape), spec.obs_dtype),
            mask=aligned((*each, spec.num_actions), np.uint8),
            reward=aligned(each, spec.reward_dtype),
            terms=aligned(each, select_fields(spec.terms_dtype, term_columns)),
            terminated=aligned(n, np.uint8),
            truncated=aligned(n, np.uint8),
            tau=aligned(each, np.int32),
            info=aligned(n, info),
            final_info=aligned(n, info),
            final_obs=aligned((*each, *spec.obs_shape), spec.obs_dtype),
            ep_return=aligned(each, np.float64),
            ep_length=aligned(n, np.int32),
            ep_frames=aligned(n, np.int32),
        )
        buffers.tau.fill(0 if spec.has_tau else 1)
        return buffers


def clear(array: Array) -> None:
    """Set all bytes to 0, of a structured array too, which may have no fields."""
    if array.dtype.itemsize:
        array.view(np.uint8).fill(0)


@dataclass
class StepBuffers:
    """Destinations of :meth:`fastenv.FastVectorEnv.step_into`, one row a lane; None is not written.

    Attributes
    ----------
    obs : ndarray, shape (n, *obs_shape)
        Structured, if the game's observation is.
    mask : ndarray of uint8, shape (n, A)
    reward : ndarray of float32, shape (n,)
        In the game's own float dtype, where that is not float32.
    terminated, truncated : ndarray of uint8 or bool, shape (n,)
    tau : ndarray of int32, shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> import fastenv
    >>> vec = fastenv.make_vec("SkullKingWorker-v0", num_envs=4, autoreset_mode="same_step")
    >>> obs, infos = vec.reset(seed=0)
    >>> out = fastenv.StepBuffers(reward=np.empty(4, np.float32))
    >>> vec.step_into(fastenv.sample_legal(vec.action_masks(), rng=0), out)
    >>> out.reward
    array([0.5, 3. , 0.5, 0.5], dtype=float32)
    """

    obs: Array | None = None
    mask: Array | None = None
    reward: Array | None = None
    terminated: Array | None = None
    truncated: Array | None = None
    tau: Array | None = None
