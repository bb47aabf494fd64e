"""Processes that leave Ctrl-C to the one that has started them."""

from __future__ import annotations

import signal
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess


def start_shielded(process: BaseProcess) -> None:
    """Start a process that Ctrl-C does not end, although it goes to all processes of a terminal.

    Parameters
    ----------
    process : BaseProcess
        Of the context ``spawn``.
    """
    resource_tracker.ensure_running()  # if it were started below, it would lift the block
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
