"""A process of its own for the environments: they may crash, or never answer."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import tempfile
import time
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from fastenv.errors import ConfigError, FastEnvError
from fastenv.testing.jobs import Job
from fastenv.testing.report import FAULTS, Case, Finding, Report
from fastenv.testing.search import Search, time_of
from fastenv.testing.tracks import Pulse
from fastenv.testing.values import say_error


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
    context = fresh_process()
    ours, theirs = context.Pipe()
    # As bytes: what they name may not be there, or print.
    child = context.Process(target=_work, args=(theirs, pickle.dumps(job), seconds, seed))
    child.start()
    theirs.close()
    case: Case = []
    begun, last, ready = time.monotonic(), time_of(child.pid), False
    try:
        while True:
            if not ours.poll(0.5):
                if time_of(child.pid) - last > timeout:
                    rule = f"an environment answers within {timeout:g} seconds (timeout=)"
                    return _give_up(job, case, rule, "no answer", time.monotonic() - begun)
                continue
            kind, value = ours.recv()
            last = time_of(child.pid)
            ready = True
            if kind == "done":
                confirm(job, value, timeout)
                return value  # type: ignore[no-any-return]
            if kind == "refused":
                raise ConfigError(value)
            if kind == "case":
                case = []
            elif kind == "call":
                case.append(value)
    except (EOFError, ConnectionError):
        child.join(5)
        if not ready:
            raise ConfigError(
                f"{' and '.join(job.names)}: their process did not start: a program must "
                'be a file with its calls below if __name__ == "__main__":, and factories stand '
                "in modules that can be imported"
            ) from None
        status = child.exitcode or 0
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
        rule, said = "an environment does not end the process", f"the process ended by {how}"
        return _give_up(job, case, rule, said, time.monotonic() - begun)
    finally:
        child.kill()
        child.join()
        ours.close()


REPEATED = (1, 2, 4, 8, 16)  # times that a case is played in a new process


def confirm(job: Job, report: Report, timeout: float) -> None:
    """Play the cases of findings in new processes, and repeat those that do not fail there.

    What a module or a class keeps may need more than one case: the search had played others before.
    """
    for k, found in enumerate(report.findings):
        if found.kind not in FAULTS or not found.case:
            continue
        own, same = job.limited(found.number), (found.rule, found.stress)
        for times in REPEATED:
            case = found.case * times
            again = find_apart(own, found, case, timeout)
            again = [each for each in again if (each.rule, each.stress) == same]
            if again and times > 1:
                longer = replace(again[0], case=case[: again[0].index + 1], number=found.number)
                report.findings[k] = own.with_script(longer)
            if again:
                break


def find_apart(job: Job, found: Finding, case: Case, timeout: float) -> list[Finding]:
    """Play a case in a process of its own; list its findings, none if it does not answer."""
    context = fresh_process()
    ours, theirs = context.Pipe()
    given = theirs, pickle.dumps(job), case, found.stress, found.kind == "difference"
    child = context.Process(target=_find_again, args=given)
    child.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(timeout) else []
    except (EOFError, ConnectionError):
        return []
    finally:
        child.kill()
        child.join()
        ours.close()


def _find_again(
    connection: Connection, pickled: bytes, case: Case, stress: str, quiet: bool
) -> None:
    """Play a case and send its findings: the work of the process."""
    _leave_screen()
    job: Job = pickle.loads(pickled)
    try:
        connection.send(job.find_again(case, stress, quiet))
    except Exception:  # such as a case that cannot be played: nothing is found
        connection.send([])
    connection.close()


def _leave_screen() -> None:
    """Keep environments from printing, and from asking for a screen."""
    os.dup2(2, 1)  # whoever reads a report does not want what the environments print
    # Without a screen, pygame asks for both.
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())


def fresh_process() -> Any:
    """Return the context of processes in which no environment was ever made.

    Where the system can, they are forks of one that has only imported this package.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["fastenv.testing.jobs"])
    return context


def _work(connection: Connection, pickled: bytes, seconds: float, seed: int) -> None:
    """Search, and tell how it goes: the work of the process."""
    _leave_screen()
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
        send("done", job.run(Search(seconds, seed, send)))
    except FastEnvError as error:
        send("refused", str(error))
    except Exception as error:
        send("refused", f"{' and '.join(job.names)}: {say_error(error)}")
    connection.close()


def _give_up(job: Job, case: Case, rule: str, what: str, seconds: float) -> Report:
    """Return the report of an environment that ended its process, or does not answer."""
    source, last = "whoever steps it", len(case) - 1
    found = Finding("law broken", rule, source, ("did", ""), (what, ""), case, last)
    report = Report(job.names, [job.with_script(found)], seconds=seconds)
    report.count(case)
    return report
