"""Evaluation while a run trains, in the same process or in one beside it (``evaluation.during``).

The process beside it reads policies from a mailbox that holds the newest one alone: a file of the
run folder. A slow evaluator leaves policies out; the training never waits for it.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import time
from collections.abc import Callable
from multiprocessing import util
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch

from training.evaluation.curve import CurveEvaluator
from training.run import files
from training.run.callback import Callback, Log, Progress
from training.run.config import RunConfig
from training.run.folder import RunFolder
from training.run.jsonl import read_lines
from training.run.signals import start_shielded

LAST_RESULT_S = 120.0  # to wait for at the end of a run
MAILBOX = "mailbox.pt"


class Evaluations(Callback):
    """Evaluates between two iterations, in the process of the training.

    Parameters
    ----------
    run : RunFolder
    policy : callable
        Returns a copy of the parameters in host memory.
    """

    _loop: Progress
    _log: Log

    def __init__(self, run: RunFolder, policy: Callable[[], dict[str, Any]]) -> None:
        self._run, self._policy = run, policy
        self._failures = 0
        self._best_at: int | None = None  # decisions of the best policy
        self._fruitless = 0  # evaluations since
        self._ended_at: int | None = None  # decisions at which patience was at its end
        self._evaluator: CurveEvaluator | None = None

    def start(self, loop: Progress) -> None:
        """Publish the policy of a resumed run, if it was stopped before the evaluation."""
        self._loop, self._log = loop, loop.log
        every, self._seen_at = self._run.config.evaluation.every, loop.steps
        records = read_lines(self._run.evaluations)
        self._published_at = max((r.get("step", 0) for r in records), default=0)
        for record in records:
            self._count(record)
        if loop.steps // every > self._published_at // every:
            self._published_at = loop.steps
            self._publish(loop.iteration, loop.steps)

    def end_iteration(self, loop: Progress) -> None:
        """Receive results, and publish the policy if an evaluation is due."""
        if loop.stopping:
            return
        every, steps = self._run.config.evaluation.every, loop.steps
        due, self._seen_at = steps // every > self._seen_at // every, steps
        self._poll()
        if due and self._failures < 2:
            self._published_at = steps
            self._publish(loop.iteration, steps)

    def finish(self, loop: Progress) -> None:
        """Evaluate the last policy and wait for the result, ``LAST_RESULT_S`` seconds at most."""
        if self._published_at != loop.steps and self._failures < 2:
            self._published_at = loop.steps
            self._publish(loop.iteration, loop.steps)
        self._wait(lambda: loop.stopping)

    def _publish(self, version: int, steps: int) -> None:
        try:
            self._evaluator = self._evaluator or CurveEvaluator(self._run)
            self._log_result(self._evaluator.evaluate(version, steps, self._policy()))
        except Exception as error:  # whatever it is, the training goes on
            self._report_failure(_format_error(error))

    def _poll(self) -> None:
        """Do nothing: an evaluation ends within :meth:`_publish`."""

    def _wait(self, ended: Callable[[], bool]) -> None:
        """Do nothing: an evaluation ends within :meth:`_publish`."""

    def _log_result(self, record: dict[str, Any]) -> None:
        details = {k: v for k, v in record.items() if k not in ("step", "results")}
        self._log.evaluation(record["step"], record["results"], **details)
        self._count(record)

    def _count(self, record: dict[str, Any]) -> None:
        """Count evaluations without progress, and end the training after ``patience`` in a row."""
        if record.get("best"):
            self._best_at, self._fruitless = record["step"], 0
            return
        self._fruitless += 1
        patience = self._run.config.evaluation.patience
        if patience is None or self._fruitless < patience or self._ended_at is not None:
            return
        self._ended_at = self._loop.steps
        self._loop.end_early()
        self._log.event("early stop", step=self._loop.steps, **self._describe_early_stop())
        best = "none was the best" if self._best_at is None else f"the best is of {self._best_at:,}"
        self._log.say(f"no progress in {patience} evaluations: this is the end; {best} decisions")

    def _describe_early_stop(self) -> dict[str, Any]:
        patience = self._run.config.evaluation.patience
        return {"patience": patience, "best_at": self._best_at, "ended_at": self._ended_at}

    def summary(self) -> dict[str, Any]:
        """Describe whether the training ended for want of progress, if it has a ``patience``."""
        limited = self._run.config.evaluation.patience is not None
        return {"early_stop": self._describe_early_stop()} if limited else {}

    def _report_failure(self, reason: str) -> None:
        self._failures += 1
        then = (
            "it is tried once more"
            if self._failures < 2
            else "there are no more evaluations in this run; the training continues"
        )
        self._log.warn(f"the evaluation failed ({reason}): {then}.")


class ProcessEvaluations(Evaluations):
    """Evaluates in a process of its own, on one thread and the CPU; see :class:`Evaluations`."""

    def __init__(self, run: RunFolder, policy: Callable[[], dict[str, Any]]) -> None:
        super().__init__(run, policy)
        self._version = 0  # in the mailbox
        self._evaluating = self._pending = False
        self._process: BaseProcess | None = None

    def start(self, loop: Progress) -> None:
        """Start the process; see :meth:`Evaluations.start`."""
        self._start()
        super().start(loop)

    def close(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is not None:
            self._stop()
        (self._run.path / MAILBOX).unlink(missing_ok=True)

    def _stop(self) -> None:
        process = self._process
        assert process is not None  # who stops it has started it
        self._channel.close()
        process.terminate()
        process.join(5.0)
        if process.exitcode is None:
            process.kill()
            process.join()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._channel, theirs = context.Pipe()
        values = self._run.config.to_dict()
        # No daemon, which could have no processes for its lanes: it is ended here in any case.
        self._process = context.Process(
            target=serve, args=(str(self._run.path), values, theirs), daemon=False
        )
        start_shielded(self._process)
        util.Finalize(self, self._process.terminate, exitpriority=10)
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
        self._announce()

    def _announce(self) -> None:
        """Announce the policy in the mailbox, unless an evaluation is still running."""
        if self._evaluating or not self._pending:
            return
        self._evaluating, self._pending = True, False
        try:
            self._channel.send(self._version)
        except OSError:
            self._restart(None)

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
            result = self._channel.recv()
        except (EOFError, OSError):
            self._restart(None)
            return
        if isinstance(result, str):
            self._restart(result)
            return
        self._evaluating = False
        if result["version"] == self._version:  # it may have read a newer one than was announced
            self._pending = False
        self._log_result(result)
        self._announce()

    def _restart(self, reason: str | None) -> None:
        """Report that the process has ended; start it once more, with the policy in the mailbox."""
        assert self._process is not None  # what has ended was started
        self._process.join(5.0)
        self._report_failure(
            reason or f"its process ended with exit status {self._process.exitcode}"
        )
        self._stop()
        self._evaluating, self._pending = False, self._version > 0
        if self._failures < 2:
            self._start()
            self._announce()


def make_evaluations(run: RunFolder, policy: Callable[[], dict[str, Any]]) -> Evaluations:
    """Make the callback that evaluates a run while it trains, beside it or in between."""
    kinds = {"inline": Evaluations, "process": ProcessEvaluations}
    return kinds[run.config.evaluates](run, policy)


def serve(folder: str, values: dict[str, Any], channel: Connection) -> None:
    """Run the process that evaluates, until the other end is closed or something fails.

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
        training = multiprocessing.parent_process()
        evaluator = CurveEvaluator(run, lambda: training is None or training.is_alive())
        while True:
            channel.recv()
            published = torch.load(run.path / MAILBOX, weights_only=True)
            channel.send(
                evaluator.evaluate(published["version"], published["step"], published["policy"])
            )
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the training is over
    except Exception as error:
        channel.send(_format_error(error))


def _format_error(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
