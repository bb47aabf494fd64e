"""Boards that draw curves: TensorBoard, and Weights & Biases if a run asks for it."""

from __future__ import annotations

import importlib.util
import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol


class Board(Protocol):
    """Takes numbers, named ``group/name``."""

    def draw(self, values: Mapping[str, float], step: int) -> None:
        """Draw the values at a step."""

    def close(self) -> None:
        """Write pending values."""


def boards_of(
    folder: Path, purge_step: int, options: Mapping[str, Any] | None = None
) -> list[Board]:
    """Make the boards of a run.

    Parameters
    ----------
    folder : Path
        Of the run: ``tb/`` and, with ``options``, ``wandb/`` lie there.
    purge_step : int
        Steps taken before; what TensorBoard has of later ones is dropped.
    options : mapping, optional
        Options of a run that also draws on Weights & Biases; see :class:`WandbBoard`.
    """
    boards: list[Board] = []
    with suppress(ImportError):  # it is optional
        boards.append(TensorBoard(folder / "tb", purge_step))
    if options is not None:
        boards.append(WandbBoard(folder, options))
    return boards


class TensorBoard:
    """A file for TensorBoard, written without a thread, so that a full disk raises in the caller.

    Parameters
    ----------
    folder : Path
    purge_step : int
        See :func:`boards_of`.
    """

    def __init__(self, folder: Path, purge_step: int) -> None:
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._summary = Event, Summary
        folder.mkdir(parents=True, exist_ok=True)
        stem = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}"
        number = sum(path.name.startswith(stem) for path in folder.iterdir())
        self._records = RecordWriter((folder / f"{stem}.{number}").open("wb"))
        self._write(file_version="brain.Event:2")
        if purge_step:
            start = SessionLog(status=SessionLog.START)
            self._write(step=purge_step + 1, session_log=start)

    def _write(self, **fields: Any) -> None:
        self._records.write(self._event(wall_time=time.time(), **fields).SerializeToString())
        self._records.flush()

    def draw(self, values: Mapping[str, float], step: int) -> None:
        """See :class:`Board`."""
        scalars = [
            self._summary.Value(tag=name, simple_value=value) for name, value in values.items()
        ]
        self._write(step=step, summary=self._summary(value=scalars))

    def close(self) -> None:
        """See :class:`Board`."""
        self._records.close()


def check_wandb() -> None:
    """Refuse to draw on Weights & Biases where it is not installed.

    Raises
    ------
    ImportError
        Says what to install.
    """
    if importlib.util.find_spec("wandb") is None:
        raise ImportError(
            "--wandb needs the package wandb: pip install '.[wandb]', or leave --wandb out."
        )


class WandbBoard:
    """A run on Weights & Biases, with the run folder's name as its id.

    It is written into the folder and sent nowhere (``wandb sync`` does that later), unless the
    environment variable ``WANDB_MODE`` is ``online``.

    Parameters
    ----------
    folder : Path
        Of the run.
    options : mapping
        All options of the run.
    """

    def __init__(self, folder: Path, options: Mapping[str, Any]) -> None:
        import wandb

        self._run = wandb.init(
            project="fastenv",
            name=folder.name,
            id=folder.name,
            resume="allow",
            dir=str(folder),
            config=dict(options),
            mode=os.environ.get("WANDB_MODE", "offline"),
        )

    def draw(self, values: Mapping[str, float], step: int) -> None:
        """See :class:`Board`; evaluations come late, so the step is a number among the others."""
        self._run.log({**values, "decisions": step})

    def close(self) -> None:
        """See :class:`Board`."""
        self._run.finish()
