"""A process of its own for the environments: they may crash, or never answer."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import time
from multiprocessing.connection import Connection
from typing import Any

from fastenv.errors import ConfigError, FastEnvError
from fastenv.testing.jobs import Check, Compare
from fastenv.testing.report import Case, Finding, Report, write_script
from fastenv.testing.search import Search
from fastenv.testing.tracks import Pulse


def run_apart(job: Compare | Check, seconds: float, seed: int, timeout: float) -> Report:
    """Run a search in a process of its own.

    Parameters
    ----------
    job : Compare or Check
    seconds, seed
        Of the search.
    timeout : float
        Seconds without a sign of life, after which the environment is said to hang.

    Raises
    ------
    ConfigError
        What is examined cannot be made; in the words of whoever raised it.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=_work, args=(theirs, job, seconds, seed))
    child.start()
    theirs.close()
    case: Case = []
    begun = last = time.monotonic()
    try:
        while True:
            if ours.poll(0.2):
                last = time.monotonic()
                try:
                    kind, value = ours.recv()
                except EOFError:
                    child.join(5)
                    return _died(job, case, child.exitcode, time.monotonic() - begun)
                if kind == "done":
                    return value  # type: ignore[no-any-return]
                if kind == "refused":
                    raise ConfigError(value)
                if kind == "case":
                    case = value
            elif time.monotonic() - last > timeout:
                return _hangs(job, case, timeout)
    finally:
        child.kill()
        child.join()
        ours.close()


def _work(connection: Connection, job: Compare | Check, seconds: float, seed: int) -> None:
    """Search, and tell how it goes: the work of the process."""
    # Without a screen, pygame asks for both.
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    said = [0.0]

    def send(kind: str, value: Any) -> None:
        now = time.monotonic()
        if kind == "alive" and now - said[0] < 1:
            return
        said[0] = now
        if kind == "case":
            value = [each.copy() for each in value]
        connection.send((kind, value))

    Pulse.beat = staticmethod(lambda: send("alive", None))
    try:
        report = job.run(Search(seconds, seed, send))
    except FastEnvError as error:
        connection.send(("refused", str(error)))
    except Exception as error:
        connection.send(("refused", f"{' and '.join(job.names)}: {type(error).__name__}: {error}"))
    else:
        connection.send(("done", report))
    connection.close()


def _died(job: Compare | Check, case: Case, status: int | None, seconds: float) -> Report:
    """Return the report of an environment that ended its process."""
    how = f"status {status}"
    if status is not None and status < 0:
        how = f"signal {signal.Signals(-status).name}"
    rule = "an environment does not end the process"
    return _gave_up(job, case, rule, f"the process ended by {how}", seconds)


def _hangs(job: Compare | Check, case: Case, timeout: float) -> Report:
    """Return the report of an environment that does not answer."""
    rule = f"an environment answers within {timeout:g} seconds (timeout=)"
    return _gave_up(job, case, rule, "no answer", timeout)


def _gave_up(job: Compare | Check, case: Case, rule: str, what: str, seconds: float) -> Report:
    seeds = ", ".join(str(each.seed) for each in case)
    where = f"in the episode after those of seeds {seeds}" if seeds else "while it was made"
    script = write_script(f"{' and '.join(job.names)}: {what}.", job.arguments(), case, "")
    finding = Finding(
        "law broken", rule, "whoever steps it", where, ("did", ""), (what, ""), case, "", script
    )
    return Report(job.names, [finding], len(case), 0, 0, seconds)
