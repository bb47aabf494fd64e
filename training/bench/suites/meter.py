"""Runs of ``training.train`` in processes of their own, with the CPU time of all of them."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import psutil

from fastenv.errors import ConfigError
from training.run import files, machine
from training.run.folder import RunFolder

LOOK_S = 0.25


class Meter:
    """Starts a command and follows the CPU time of its processes, of those that ended too.

    Parameters
    ----------
    command : sequence of str
    out : file
        For what it says.
    """

    def __init__(self, command: Sequence[str], out: IO[bytes]) -> None:
        self._process = subprocess.Popen(
            command, cwd=machine.ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
        self._root = psutil.Process(self._process.pid)
        self._seen: dict[psutil.Process, float] = {}
        self._at: list[tuple[float, float, float]] = []

    def follow(self, limit_s: float) -> int:
        """Wait for its end; return the exit status. One that takes too long is ended."""
        deadline = time.monotonic() + limit_s
        while self._process.poll() is None:
            self._look()
            if time.monotonic() > deadline:
                self._end()
            time.sleep(LOOK_S)
        return self._process.returncode

    def _end(self) -> None:
        with suppress(psutil.Error):  # one may have ended just now
            for each in [*self._root.children(recursive=True), self._root]:
                each.kill()

    def _look(self) -> None:
        try:
            every = [self._root, *self._root.children(recursive=True)]
        except psutil.Error:
            return
        for each in every:
            try:
                used = each.cpu_times()
            except psutil.Error:
                continue  # it has just ended; what it had used before is known
            self._seen[each] = used.user + used.system
        used_by_all = psutil.cpu_times()
        waiting = sum(getattr(used_by_all, name, 0.0) for name in ("idle", "iowait"))
        busy = sum(used_by_all) - getattr(used_by_all, "guest", 0.0) - waiting
        self._at.append((time.time(), sum(self._seen.values()), busy))

    def between(self, begin: float, end: float) -> tuple[float, float]:
        """Return the CPU seconds of the command, and of the whole machine, between two times.

        Parameters
        ----------
        begin, end : float
            On the clock ``time.time``.
        """
        at, own, busy = np.array(self._at).T
        first, last = (tuple(np.interp(x, at, y) for y in (own, busy)) for x in (begin, end))
        return float(last[0] - first[0]), float(last[1] - first[1])


def train(
    command: Sequence[str], options: dict[str, Any], folder: Path, name: str, limit_s: float
) -> tuple[RunFolder, Meter]:
    """Train to the end in other processes, without an evaluation.

    Parameters
    ----------
    command : sequence of str
        What starts ``training.train``.
    options : dict
        Of the run.
    folder : Path
        Takes the run, its config and what it says.
    name : str
    limit_s : float

    Raises
    ------
    ConfigError
        If it fails; with its last line.
    """
    folder.mkdir(parents=True, exist_ok=True)
    config, log = folder / f"{name}.json", folder / f"{name}.log"
    files.write_json(config, options)
    arguments = ["--config", str(config), "--runs", str(folder), "--name", name, "--no-evaluation"]
    with log.open("wb") as out:
        meter = Meter([*command, *arguments], out)
        code = meter.follow(limit_s)
    if code != 0:
        last = (log.read_text("utf-8", "replace").strip().splitlines() or ["no message"])[-1]
        raise ConfigError(f"{shlex.join(command)} failed: {last}")
    return RunFolder.open(folder / name), meter
