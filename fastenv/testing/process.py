"""A process of its own for the environments: they may crash, or never answer."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from fastenv.errors import ConfigError, FastEnvError
from fastenv.testing.hunt import Hunt
from fastenv.testing.jobs import Job
from fastenv.testing.report import Case, Finding, Report
from fastenv.testing.search import Search, time_of
from fastenv.testing.tracks import Pulse
from fastenv.testing.values import say_error

Send = Callable[[str, Any], None]

REPEATED = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # times that a case is played in a new process
CONFIRMING = 10.0  # seconds in which cases are repeated, where the search had no more


def run_apart(job: Job, seconds: float, seed: int, timeout: float) -> Report:
    """Run a search in a process of its own.

    Parameters
    ----------
    job : Job
    seconds, seed
        Of the search.
    timeout : float
        Seconds without an answer, after which the environment is said to hang.

    Raises
    ------
    ConfigError
        What is examined cannot be made; in the words of whoever raised it.
    """
    case: Case = []
    begun = time.monotonic()
    rule, said = "an environment does not end the process", ""
    for kind, value in _listen(job, _search, (seconds, seed), timeout):
        if kind == "done":
            report: Report
            report, job.ignore[:] = value
            _confirm(job, report, max(seconds, CONFIRMING), timeout)
            return report
        if kind == "refused":
            raise ConfigError(value)
        if kind == "case":
            case = []
        elif kind == "call":
            case.append(value)
        elif kind == "silent":
            rule, said = f"an environment answers within {timeout:g} seconds (timeout=)", value
        elif kind == "gone":
            said = value
    names, source, last = ("did", ""), "whoever steps it", len(case) - 1
    found = Finding("law broken", rule, source, names, (said, ""), case, last)
    ended = Report(job.names, [job.with_script(found)], seconds=time.monotonic() - begun)
    ended.count(case)
    return ended


def _confirm(job: Job, report: Report, seconds: float, timeout: float) -> None:
    """Play the cases of findings in new processes, and repeat those that do not fail there.

    What a module or a class keeps may need more than one case: the search had played others before.
    So may a difference that was seen once: then it is no longer a note. All cases are played once,
    and none is repeated when the seconds are over.
    """
    begun = time.monotonic()
    for k, found in enumerate(report.findings):
        if not found.case:
            continue
        own, again = job.limited(found.number), None
        for times in REPEATED:
            if times > 1 and time.monotonic() > begun + seconds:
                break
            case = found.case * times
            for kind, value in _listen(own, _find, (case, found), timeout):
                again = value if kind == "done" else None
            if again is not None and (times > 1 or again.kind != found.kind):
                # Under a stress, the first play counts to its end.
                again = replace(again, case=case if found.stress else again.case)
                report.findings[k] = own.with_script(replace(again, number=found.number))
            if again is not None:
                break


def fresh_process() -> Any:
    """Return the context of processes in which no environment was ever made.

    Where the system can, they are forks of one that has only imported this package.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["fastenv.testing.hunt"])
    return context


def _listen(
    job: Job, task: Callable[..., Any], given: tuple[Any, ...], timeout: float
) -> Iterator[tuple[str, Any]]:
    """Do a task in a process of its own, and yield what it tells.

    Yields
    ------
    (str, object)
        What the task sends. Last comes ``"done"`` with what it returned, or ``"refused"``,
        ``"silent"`` or ``"gone"`` with the reason, where the process does not answer or ended.
    """
    context = fresh_process()
    ours, theirs = context.Pipe()
    # As bytes: what they name may not be there, or print.
    child = context.Process(target=_work, args=(theirs, pickle.dumps(job), task, given))
    child.start()
    theirs.close()
    last, ready = time_of(child.pid), False
    try:
        while True:
            if ours.poll(0.5):
                kind, value = ours.recv()
                last, ready = time_of(child.pid), True
                yield kind, value
                if kind in ("done", "refused"):
                    return
            elif time_of(child.pid) - last > timeout:
                yield "silent", "no answer"
                return
    except (EOFError, ConnectionError):
        child.join(5)
        if ready:
            status = child.exitcode or 0
            how = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
            yield "gone", f"the process ended by {how}"
            return
        yield (
            "refused",
            f"{' and '.join(job.names)}: their process did not start: a program must be a file "
            'with its calls below if __name__ == "__main__":, and factories stand in modules that '
            "can be imported",
        )
    finally:
        child.kill()
        child.join()
        ours.close()


def _search(job: Job, send: Send, seconds: float, seed: int) -> tuple[Report, list[str]]:
    """Return what a search says, and the fields that it learned to ignore."""
    report = Hunt(job, Search(seconds, seed, send)).run()
    return report, job.ignore


def _find(job: Job, _send: Send, case: Case, found: Finding) -> Finding | None:
    return job.find_like(case, found)


def _work(
    connection: Connection, pickled: bytes, task: Callable[..., Any], given: tuple[Any, ...]
) -> None:
    """Do a task, and tell how it goes: the work of the process."""
    os.dup2(2, 1)  # whoever reads a report does not want what the environments print
    # Without a screen, pygame asks for both.
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    told = [0.0]

    def send(kind: str, value: Any) -> None:
        told[0] = time.monotonic()
        connection.send((kind, value))

    def beat() -> None:
        if time.monotonic() > told[0] + 1:
            send("alive", None)

    Pulse.beat = staticmethod(beat)
    send("ready", None)
    try:
        job: Job = pickle.loads(pickled)
    except Exception as error:
        said = f"a function must be in a module that can be imported: {say_error(error)}"
        send("refused", said)
        return
    try:
        send("done", task(job, send, *given))
    except FastEnvError as error:
        send("refused", str(error))
    except Exception as error:
        send("refused", f"{' and '.join(job.names)}: {say_error(error)}")
    connection.close()
