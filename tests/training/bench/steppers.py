"""The processes of ``benchmarks.flags`` as threads, for tests that need none of their own."""

import multiprocessing
import os
from multiprocessing.connection import Connection
from threading import Thread
from types import SimpleNamespace

from benchmarks import flags


def in_a_thread(target, args, daemon):
    """Return what serves a ``Stepper`` from this process; its end of the pipe is a copy."""
    pipe, *rest = args
    return Thread(target=target, args=(Connection(os.dup(pipe.fileno())), *rest), daemon=daemon)


def run_in_threads(monkeypatch):
    """Let each ``Stepper`` be a thread: starting a process for each takes most of the time."""
    context = SimpleNamespace(Pipe=multiprocessing.Pipe, Process=in_a_thread)
    patched = SimpleNamespace(
        get_all_start_methods=lambda: ["spawn"], get_context=lambda _method: context
    )
    monkeypatch.setattr(flags, "multiprocessing", patched)
