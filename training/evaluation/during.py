"""Evaluation while a run trains, in the same process or in one beside it (``evaluation.during``).

The process beside it is told of a policy by way of a mailbox that holds the newest one alone: a
file of the run folder. A slow evaluator leaves policies out; the training never waits for it.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from training.evaluation.curve import Evaluator
from training.logs.run_log import RunLog, read_lines
from training.run import files
from training.run.config import RunConfig
from training.run.folder import RunFolder

LAST_RESULT_S = 120.0  # to wait for at the end of a run
MAILBOX = "mailbox.pt"


class Evaluations:
    """Evaluates between two iterations, in the process of the training.

    Parameters
    ----------
    run : RunFolder
    log : RunLog
    policy : callable
        Returns a copy of the parameters in host memory.
    steps : int
        Decisions before this process.
    """

    def __init__(
        self, run: RunFolder, log: RunLog, policy: Callable[[], dict[str, Any]], steps: int = 0
    ) -> None:
        self._run, self._log, self._policy = run, log, policy
        self._seen_at = self._published_at = steps
        self._failures = 0
        self._evaluator: Evaluator | None = None

    def catch_up(self, steps: int, iteration: int) -> None:
        """Publish the policy a run goes on from, if it was stopped before that was evaluated.

        Parameters
        ----------
        steps, iteration : int
            Decisions and iterations until now.
        """
        every = self._run.config.evaluation.every
        newest = max((r.get("step", 0) for r in read_lines(self._run.evaluations)), default=0)
        if steps // every > newest // every:
            self._publish(iteration, steps)

    def border(self, steps: int, iteration: int) -> None:
        """Take in what was found, and publish the policy if it is time to.

        Parameters
        ----------
        steps, iteration : int
            Decisions and iterations until now.
        """
        every = self._run.config.evaluation.every
        due, self._seen_at = steps // every > self._seen_at // every, steps
        self._poll()
        if due and self._failures < 2:
            self._published_at = steps
            self._publish(iteration, steps)

    def finish(self, steps: int, iteration: int, ended: Callable[[], bool]) -> None:
        """Evaluate what the run came to and wait for the result, though not for ever.

        Parameters
        ----------
        steps, iteration : int
        ended : callable
            Whether nobody wants to wait any longer.
        """
        if self._published_at != steps and self._failures < 2:
            self._published_at = steps
            self._publish(iteration, steps)
        self._wait(ended)

    def close(self) -> None:
        """End the process, if there is one."""

    def _publish(self, version: int, steps: int) -> None:
        try:
            self._evaluator = self._evaluator or Evaluator(self._run)
            self._result(self._evaluator.evaluate(version, steps, self._policy()))
        except Exception as error:  # whatever it is, the training goes on
            self._failed(_one_line(error))

    def _poll(self) -> None:
        """Nothing is under way."""

    def _wait(self, ended: Callable[[], bool]) -> None:
        """Nothing is under way."""

    def _result(self, record: dict[str, Any]) -> None:
        details = {k: v for k, v in record.items() if k not in ("step", "results")}
        self._log.evaluation(record["step"], record["results"], **details)

    def _failed(self, reason: str) -> None:
        self._failures += 1
        then = (
            "it is tried once more"
            if self._failures < 2
            else "there are no more evaluations in this run; the training goes on"
        )
        self._log.warn(f"the evaluation failed ({reason}): {then}.")


class ProcessEvaluations(Evaluations):
    """Evaluates in a process of its own, on one thread and the CPU; see :class:`Evaluations`."""

    def __init__(
        self, run: RunFolder, log: RunLog, policy: Callable[[], dict[str, Any]], steps: int = 0
    ) -> None:
        super().__init__(run, log, policy, steps)
        self._version = 0  # in the mailbox
        self._evaluating = self._pending = False
        self._start()

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._stop()
        (self._run.path / MAILBOX).unlink(missing_ok=True)

    def _stop(self) -> None:
        self._channel.close()
        self._process.terminate()
        self._process.join(5.0)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._channel, theirs = context.Pipe()
        values = self._run.config.to_dict()
        self._process = context.Process(
            target=serve, args=(str(self._run.path), values, theirs), daemon=True
        )
        # Ctrl-C goes to all processes of a terminal: this one must leave the end to the training.
        resource_tracker.ensure_running()  # if it were started below, it would lift the block
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        theirs.close()

    def _publish(self, version: int, steps: int) -> None:
        file = io.BytesIO()
        torch.save({"version": version, "step": steps, "policy": self._policy()}, file)
        try:
            files.write_bytes(self._run.path / MAILBOX, file.getvalue())
        except OSError as error:
            self._log.warn(f"the policy at {steps:,} decisions is not evaluated ({error}).")
            return
        self._version, self._pending = version, True
        self._tell()

    def _tell(self) -> None:
        """Say that there is something in the mailbox, unless the last policy is still playing."""
        if self._evaluating or not self._pending:
            return
        self._evaluating, self._pending = True, False
        try:
            self._channel.send(self._version)
        except OSError:
            self._ended(None)

    def _poll(self) -> None:
        while self._failures < 2 and self._channel.poll():
            self._receive()

    def _wait(self, ended: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LAST_RESULT_S
        while self._evaluating and self._failures < 2 and not ended():
            if time.monotonic() > deadline:
                self._log.warn(f"the last evaluation was not done within {LAST_RESULT_S:.0f} s.")
                return
            if self._channel.poll(0.1):
                self._receive()

    def _receive(self) -> None:
        try:
            found = self._channel.recv()
        except (EOFError, OSError):
            self._ended(None)
            return
        if isinstance(found, str):
            self._ended(found)
            return
        self._evaluating = False
        if found["version"] == self._version:  # it may have found a newer one than it was told of
            self._pending = False
        self._result(found)
        self._tell()

    def _ended(self, reason: str | None) -> None:
        """Report that the process has ended; start it once more, with what was left to do."""
        self._process.join(5.0)
        self._failed(reason or f"its process ended with exit status {self._process.exitcode}")
        self._stop()
        self._evaluating, self._pending = False, self._version > 0
        if self._failures < 2:
            self._start()
            self._tell()


def evaluations_of(
    run: RunFolder, log: RunLog, policy: Callable[[], dict[str, Any]], steps: int
) -> Evaluations | None:
    """Return how a run is evaluated while it trains, None if it is not."""
    kinds = {"inline": Evaluations, "process": ProcessEvaluations}
    kind = kinds.get(run.config.evaluates)
    return None if kind is None else kind(run, log, policy, steps)


def serve(folder: str, values: dict[str, Any], channel: Connection) -> None:
    """Be the process that evaluates, until the other end is closed or something fails.

    Parameters
    ----------
    folder : str
        Of the run.
    values : dict
        Its config; on disk may be an older one.
    channel : Connection
        Brings a version whenever there is a new one in the mailbox; takes lines of
        ``evaluations.jsonl``, or what went wrong as a text.
    """
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    torch.set_num_threads(1)
    run = RunFolder(Path(folder), RunConfig.from_mapping(values))
    try:
        evaluator = Evaluator(run)
        while True:
            channel.recv()
            found = torch.load(run.path / MAILBOX, weights_only=True)
            channel.send(evaluator.evaluate(found["version"], found["step"], found["policy"]))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the training is over
    except Exception as error:
        channel.send(_one_line(error))


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
