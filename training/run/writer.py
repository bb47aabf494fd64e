"""Checkpoints written beside the training, by one thread and one at a time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from training.run.checkpoint import CheckpointError


class CheckpointWriter:
    """Writes snapshots to disk while the training goes on.

    Attributes
    ----------
    skipped : int
        Snapshots that were not taken because the one before was still being written.
    """

    def __init__(self) -> None:
        self.skipped = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoints")
        self._writing: tuple[int, Future[object]] | None = None

    @property
    def busy(self) -> bool:
        """Whether a checkpoint is being written, or :meth:`written` has yet to report it."""
        return self._writing is not None

    def start(self, steps: int, write: Callable[[], object]) -> None:
        """Begin to write the checkpoint of ``steps``; not while :attr:`busy`."""
        if self.busy:
            raise RuntimeError("a checkpoint is still being written")
        self._writing = steps, self._thread.submit(write)

    def written(self, wait: bool = False) -> int | None:
        """Return the steps of a checkpoint that has been written since the last call, else None.

        Parameters
        ----------
        wait : bool
            For the one that is being written.

        Raises
        ------
        CheckpointError
            If it could not be written.
        """
        if self._writing is None or not (wait or self._writing[1].done()):
            return None
        (steps, written), self._writing = self._writing, None
        try:
            written.result()
        except OSError as error:
            raise CheckpointError(
                f"the checkpoint at {steps:,} decisions could not be written ({error}): the "
                "one before it is complete; free disk space and use --resume."
            ) from error
        return steps

    def close(self) -> None:
        """Wait for what is being written and end the thread.

        Raises
        ------
        CheckpointError
            If it could not be written.
        """
        self._thread.shutdown()
        self.written(wait=True)
