"""One line on stderr when kernels are compiled, which takes seconds, once; later runs are quick."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def compile_notice(name: str) -> Iterator[None]:
    """Tell of compilations by Numba within the block; kernels from its cache are not told of.

    Parameters
    ----------
    name : str
        Whose kernels they are. Processes started by ``multiprocessing`` are silent: there are many
        of them, and who started them was told.
    """
    try:
        from numba.core import event
    except ImportError:  # kernels may come from elsewhere
        yield
        return

    class Teller(event.Listener):
        told = multiprocessing.parent_process() is not None

        def on_start(self, event: Any) -> None:
            if not self.told:
                print(
                    f"fastenv: compiling the kernels of {name} with Numba, some seconds, "
                    "once: they are cached",
                    file=sys.stderr,
                    flush=True,
                )
            self.told = True

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:run_pass", Teller()):  # passes run for new code alone
        yield
