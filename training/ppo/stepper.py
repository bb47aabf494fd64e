"""Stepping engines: at once, or in a worker thread while the network handles another group."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from time import perf_counter
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class Stepper:
    """Steps engines here and now.

    Attributes
    ----------
    busy_s : float
        Seconds for which the trainer had to wait, since it was last set to zero.
    """

    busy_s = 0.0

    def start(self, engine: Any, actions: Array, obs_out: Array, mask_out: Array) -> None:
        """Let an engine take a step."""
        begin = perf_counter()
        engine.step_many(actions, obs_out=obs_out, mask_out=mask_out)
        self.busy_s += perf_counter() - begin

    def wait(self) -> None:
        """Block until the oldest step that was started is done."""

    def close(self) -> None:
        """End the worker, if there is one."""


class ThreadedStepper(Stepper):
    """Steps engines in one worker thread, in the order they were started.

    Worth it where a step and a forward pass take about as long, and a second core or a GPU is
    there: the engine lets go of the interpreter while it steps.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="fastenv-step")
        self._running: list[Future[None]] = []

    def start(self, engine: Any, actions: Array, obs_out: Array, mask_out: Array) -> None:
        """Order a step; the buffers are busy until it is waited for."""
        step = self._pool.submit(engine.step_many, actions, obs_out=obs_out, mask_out=mask_out)
        self._running.append(step)

    def wait(self) -> None:
        """Block until the oldest step is done; raises what it raised."""
        begin = perf_counter()
        self._running.pop(0).result()
        self.busy_s += perf_counter() - begin

    def close(self) -> None:
        """End the worker."""
        self._pool.shutdown()
