"""Finished n-step transitions, written in chunks: for stores that keep them as they are.

:class:`training.dqn.replay.TensorReplay` puts windows together when it draws them. An archive that
others read, or priorities that are never changed, want transitions that are complete.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import torch
from torch import Tensor

from training.dqn.windows import windows_of
from training.run.options import require


@dataclass(frozen=True)
class Chunk:
    """What happened in N lanes, in the order of time: ``T`` rows.

    Parameters
    ----------
    obs : Tensor, shape (T, N, ...)
        Before each decision.
    mask : Tensor of bool, shape (T, N, A)
    action : Tensor of int64, shape (T, N)
    reward, discount : Tensor of float32, shape (T, N)
    end : Tensor of uint8, shape (T, N)
        See :func:`training.dqn.windows.windows_of`.
    final_at : Tensor of int64, shape (T, N)
        Where a decision cut the episode off: the place of its last observation among the next.
    final_obs : Tensor, shape (F, ...)
    """

    obs: Tensor
    mask: Tensor
    action: Tensor
    reward: Tensor
    discount: Tensor
    end: Tensor
    final_at: Tensor
    final_obs: Tensor


@dataclass(frozen=True)
class Transitions:
    """Finished transitions; k of them. See :class:`training.dqn.replay.Batch`.

    Parameters
    ----------
    obs, next_obs : Tensor, shape (k, ...)
    action : Tensor of int64, shape (k,)
    reward, discount : Tensor of float32, shape (k,)
    next_mask : Tensor of bool, shape (k, A)
    """

    obs: Tensor
    action: Tensor
    reward: Tensor
    discount: Tensor
    next_obs: Tensor
    next_mask: Tensor


class TransitionRing:
    """The newest transitions, in the order in which they were written.

    Parameters
    ----------
    capacity : int

    Attributes
    ----------
    head : int
        Where the next one goes.
    size : int
    stored : Transitions or None
        All of them, (capacity, ...); None before the first, which says what they are like.
    """

    def __init__(self, capacity: int) -> None:
        require(capacity >= 1, "capacity", capacity, "at least 1")
        self.capacity = capacity
        self.head = self.size = 0
        self.stored: Transitions | None = None

    def write(self, given: Transitions) -> None:
        """Store transitions, at most ``capacity`` of them, in at most two pieces.

        Raises
        ------
        ConfigError
            If there are more; nothing is stored then.
        """
        count = len(given.action)
        allowed = f"at least {count}, which are written at once"
        require(count <= self.capacity, "capacity", self.capacity, allowed)
        if self.stored is None:
            empty = {k: x.new_zeros(self.capacity, *x.shape[1:]) for k, x in vars(given).items()}
            self.stored = Transitions(**empty)
        first = min(count, self.capacity - self.head)
        for name, values in vars(given).items():
            place = getattr(self.stored, name)
            place[self.head : self.head + first] = values[:first]
            place[: count - first] = values[first:]
        self.head = (self.head + count) % self.capacity
        self.size = min(self.size + count, self.capacity)


class NStepChunkWriter:
    """Turns chunks into transitions and writes them, in the order they were given.

    Parameters
    ----------
    ring : TransitionRing
    n_step : int
    decode : callable, optional
        What observations are stored as, such as frames from their packed bits: takes and returns a
        tensor (k, ...). It is called in a thread of its own, while the caller takes further steps;
        without it everything is done at once.
    """

    def __init__(
        self,
        ring: TransitionRing,
        n_step: int,
        decode: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        require(n_step >= 1, "n_step", n_step, "at least 1")
        self._ring, self._n_step, self._decode = ring, n_step, decode
        self._pool = None if decode is None else ThreadPoolExecutor(1, "fastenv-decode")
        self._running: Future[None] | None = None

    def write(self, chunk: Chunk) -> None:
        """Write the first ``T - n_step`` rows of a chunk, row by row, lane by lane.

        The rows behind them complete the windows; the next chunk begins with them. With ``decode``
        the chunk is read until the next call of this or of :meth:`flush`.

        Raises
        ------
        ConfigError
            If no row is finished.
        Exception
            What ``decode`` raised at the chunk before.
        """
        rows = len(chunk.action)
        allowed = f"more than n_step={self._n_step}: no row of it is finished"
        require(rows > self._n_step, "rows of a chunk", rows, allowed)
        self.flush()
        if self._pool is None:
            self._write(chunk)
        else:
            self._running = self._pool.submit(self._write, chunk)

    def flush(self) -> None:
        """Wait until everything is written; raises what writing raised."""
        running, self._running = self._running, None
        if running is not None:
            running.result()

    def close(self) -> None:
        """Write what is left and end the thread, if there is one."""
        try:
            self.flush()
        finally:
            if self._pool is not None:
                self._pool.shutdown()

    def _write(self, chunk: Chunk) -> None:
        found = transitions_of(chunk, self._n_step)
        if self._decode is not None:
            decoded = {name: self._decode(getattr(found, name)) for name in ("obs", "next_obs")}
            found = Transitions(**{**vars(found), **decoded})
        self._ring.write(found)


def transitions_of(chunk: Chunk, n_step: int) -> Transitions:
    """Return the transitions that begin in all rows of a chunk but the last ``n_step``."""
    rows, lanes = chunk.action.shape
    index = torch.arange((rows - n_step) * lanes, device=chunk.action.device)
    windows = windows_of(index, n_step, chunk.reward, chunk.discount, chunk.end)
    obs, cut = chunk.obs.flatten(0, 1), windows.truncated
    next_obs = obs.index_select(0, windows.following)
    finals = chunk.final_at.view(-1).index_select(0, windows.last[cut])
    next_obs[cut] = chunk.final_obs.index_select(0, finals)
    legal = torch.where(cut, windows.last, windows.following)
    return Transitions(
        obs=obs[: len(index)],
        action=chunk.action.view(-1)[: len(index)],
        reward=windows.reward,
        discount=windows.discount,
        next_obs=next_obs,
        next_mask=chunk.mask.flatten(0, 1).index_select(0, legal),
    )
