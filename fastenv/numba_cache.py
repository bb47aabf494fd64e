"""Numba functions with a cache, and the line on stderr that says when they are compiled.

Compiling takes seconds; later runs find the functions in Numba's cache. Where there is none, as in
an installation that cannot be written to, they are compiled in every process, and the line says
that.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from fastenv.errors import show_reason
from fastenv.notices import print_notice
from fastenv.ticker import print_dots

_reported_no_cache = False


def _report_no_cache(error: Exception) -> None:
    """Print, once in a process, that nothing can be cached, and why."""
    global _reported_no_cache
    if not _reported_no_cache:
        _reported_no_cache = True
        print_notice(
            "compiling kernels with Numba, some seconds, in every process, because its cache "
            f"cannot be used ({type(error).__name__}: {show_reason(error)}); NUMBA_CACHE_DIR may "
            "name a folder that can be written"
        )


@lru_cache
def _digest_of_sources(folder: Path) -> str:
    """Return a digest of what kernels of a folder are made of: layouts, constants, readers.

    Numba looks at the file of a function alone. A field that moves in a row moves in another file.
    """
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for path in (here / "_version.py", here / "pointers.py", *sorted(folder.glob("*.py"))):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def _find_cache(function: Any) -> _ForgivingCache | None:
    """Return the cache of a function, None where there can be none, which is reported."""
    from numba.core.caching import FunctionCache

    try:
        cache: Any = FunctionCache(function)  # type: ignore[no-untyped-call]
        sources = _digest_of_sources(Path(function.__code__.co_filename).parent)
        index = cache._cache_file
        index._source_stamp = (index._source_stamp, sources)
    except Exception as error:
        _report_no_cache(error)
        return None
    return _ForgivingCache(cache)


def cached_cfunc(signature: Any, **options: Any) -> Callable[[Any], Any]:
    """Return ``numba.cfunc(signature, **options)``, cached where a cache can be used.

    The cache is not used after a source file in the function's folder has changed. A file of the
    cache that is damaged is written again.
    """
    from numba.core.ccallback import CFunc
    from numba.core.sigutils import normalize_signature

    def compile_function(function: Any) -> Any:
        normalized = normalize_signature(signature)  # type: ignore[no-untyped-call]
        compiled: Any = CFunc(function, normalized, locals={}, options=options)
        cache = _find_cache(function)
        if cache is not None:
            compiled._cache = cache  # `numba.cfunc` would compile before it could be given
        compiled.compile()
        return compiled

    return compile_function


def cached_njit(**options: Any) -> Callable[[Any], Any]:
    """Return ``numba.njit(**options)``, cached where a cache can be used; see :func:`cached_cfunc`.

    Functions are compiled when they are first called, as ever, so the cache is read and written
    then.
    """
    import numba

    make: Any = partial(numba.njit, **options)

    def cache_function(function: Any) -> Any:
        compiled = make()(function)
        if compiled is function:  # NUMBA_DISABLE_JIT is set
            return compiled
        cache = _find_cache(function)
        if cache is not None:
            compiled._cache = cache
        return compiled

    return cache_function


class _ForgivingCache:
    """Numba's cache of one function; where it cannot be read or written, the function is compiled.

    Parameters
    ----------
    cache : numba.core.caching.FunctionCache
    """

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Load the compiled function of a signature from the cache, or return None."""
        try:
            return self._cache.load_overload(signature, context)
        except Exception:  # of any class: what is in the cache is a pickle
            pass
        with suppress(Exception):  # then saving fails too, and reports it
            self._cache.flush()
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Write what was compiled for a signature, or report that it cannot be."""
        try:
            self._cache.save_overload(signature, compiled)
        except Exception as error:
            _report_no_cache(error)


@contextmanager
def compile_notice(name: str) -> Iterator[None]:
    """Print a line when Numba compiles something within the block, and dots until that is done.

    Its cache is read silently.

    Parameters
    ----------
    name : str
        Whose kernels they are.
    """
    try:
        from numba.core import event
    except ImportError:  # kernels may come from elsewhere
        yield
        return

    class Reporter(event.Listener):
        has_reported = False

        def on_start(self, event: Any) -> None:
            if self.has_reported:
                return
            self.has_reported = True
            if not _reported_no_cache:
                print_notice(
                    f"compiling the kernels of {name} with Numba, some seconds, once: they are "
                    "cached"
                )
            if multiprocessing.parent_process() is None:  # that one says how long it takes
                going_on.enter_context(print_dots("compiling"))

        def on_end(self, event: Any) -> None:
            pass

    # Passes run for new code alone.
    with ExitStack() as going_on, event.install_listener("numba:run_pass", Reporter()):
        yield


@contextmanager
def compile_clock() -> Iterator[Callable[[], float]]:
    """Yield a function that returns the seconds within the block in which Numba compiled.

    What is read from its cache counts as well.
    """
    try:
        from numba.core import event
    except ImportError:
        yield lambda: 0.0
        return

    class Clock(event.Listener):
        depth, begun, seconds = 0, 0.0, 0.0

        def on_start(self, event: Any) -> None:
            self.depth += 1
            if self.depth == 1:
                self.begun = time.monotonic()

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                self.seconds += time.monotonic() - self.begun

    clock = Clock()
    with event.install_listener("numba:compiler_lock", clock):
        yield lambda: clock.seconds
