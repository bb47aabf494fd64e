"""Measure the cost of writing the bytes of a step alone; records call it fill."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from fastenv import BatchEngine
from training.bench.timing import Work


@njit(cache=False, nogil=True)
def _write(
    obs: np.ndarray,
    mask: np.ndarray,
    reward: np.ndarray,
    columns: np.ndarray,
    terminated: np.ndarray,
    truncated: np.ndarray,
    info: np.ndarray,
) -> None:
    """Write a constant into every element, lane after lane, as an engine would."""
    for i in range(obs.shape[0]):
        for j in range(obs.shape[1]):
            obs[i, j] = np.float32(0.3)
        for j in range(mask.shape[1]):
            mask[i, j] = np.uint8(1)
        reward[i] = np.float32(0.3)
        for j in range(columns.shape[1]):
            columns[i, j] = 259
        terminated[i] = np.uint8(0)
        truncated[i] = np.uint8(0)
        for j in range(info.shape[1]):
            info[i, j] = 259


def _view_as_words(records: np.ndarray) -> np.ndarray:
    """Return words that take the bytes of records, shape (n, words of a record)."""
    return np.zeros((len(records), records.dtype.itemsize // 4), np.int32)


def write_work(engine: BatchEngine, batches: int) -> tuple[Work, dict[str, Any]]:
    """Prepare the writing of buffers shaped like an engine's output.

    Parameters
    ----------
    engine : BatchEngine
    batches : int
        Batches in one timed piece of work.

    Returns
    -------
    work : Work
        Its steps are lanes times batches.
    size : dict
        ``bytes_per_step``.
    """
    n = engine.num_envs
    buffers = (
        np.zeros_like(engine.obs),
        np.zeros_like(engine.mask),
        np.zeros_like(engine.reward),
        _view_as_words(engine.terms),
        np.zeros_like(engine.terminated),
        np.zeros_like(engine.truncated),
        _view_as_words(engine.info_records()),
    )

    def run() -> None:
        for _ in range(batches):
            _write(*buffers)

    return Work(run, n * batches), {"bytes_per_step": sum(b.nbytes for b in buffers) // n}
