"""Backends: which implementation steps a game, and which one encodes it.

Two flags, four names (``docs/explanation/design.md``): ``use_cython`` chooses the compiled state
core over the plain Python rules, ``use_numba`` the compiled observation, mask, reward and info
kernels over the plain Python ones. All four combinations give the same bits.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from fastenv import notices
from fastenv.errors import BackendUnavailableError, ConfigError, show, with_nearest

BackendName = Literal["auto", "reference", "numba", "cython", "fast"]

_FLAGS = {
    "reference": (False, False),
    "numba": (True, False),
    "cython": (False, True),
    "fast": (True, True),
}
FASTEST_FIRST = ("fast", "numba", "cython", "reference")


@dataclass(frozen=True)
class Backend:
    """A combination of the two flags.

    Parameters
    ----------
    use_numba : bool
        Observation, mask, reward and info by Numba kernels instead of plain Python.
    use_cython : bool
        Stepping by the Cython core instead of plain Python.

    Examples
    --------
    >>> import fastenv
    >>> fastenv.Backend(use_numba=True, use_cython=False).name
    'numba'
    >>> env = fastenv.make("SkullKingWorker-v0", backend=fastenv.Backend(False, False))
    >>> env.backend
    'reference'
    """

    use_numba: bool = True
    use_cython: bool = True

    @property
    def name(self) -> str:
        """One of ``reference``, ``numba``, ``cython``, ``fast``."""
        flags = (self.use_numba, self.use_cython)
        return next(name for name, value in _FLAGS.items() if value == flags)

    def __str__(self) -> str:
        """Return the name."""
        return self.name


@cache
def _import_failure(module: str) -> str | None:
    """Return why a module of a game cannot be imported, or None if it can."""
    try:
        importlib.import_module(module)
    except ImportError as error:  # also a library that was built for another platform
        return f"{type(error).__name__}: {error}"
    return None


@cache
def _loop_failure() -> str | None:
    """Return why the compiled loop over lanes cannot be imported, or None if it can."""
    try:
        from fastenv import _batch  # noqa: F401
    except ImportError as error:
        return f"{type(error).__name__}: {error}"
    return None


def missing(backend: Backend, kernel_module: str | None, core_module: str | None) -> str | None:
    """Return why ``backend`` cannot run here and how to fix it, or None if it can.

    Parameters
    ----------
    backend : Backend
        The combination asked about.
    kernel_module, core_module : str or None
        The game's Numba and Cython modules; None if the game has none.
    """
    if backend.use_numba:
        if kernel_module is None:
            return "this game has no Numba kernels"
        failure = _import_failure(kernel_module)
        if failure is not None:
            return f"{kernel_module} cannot be imported ({failure}); run `pip install numba`"
    if backend.use_cython:
        if core_module is None:
            return "this game has no Cython core"
        failure = _loop_failure() or _import_failure(core_module)
        if failure is not None:
            return (
                f"{core_module} cannot be imported ({failure}); install a C compiler, then "
                "run `make build` in a checkout, or install fastenv again"
            )
    return None


def named(
    backend: str | Backend = "auto",
    use_numba: bool | None = None,
    use_cython: bool | None = None,
) -> Backend | None:
    """Return the backend of a name, None for ``"auto"``; see :func:`resolve`.

    Raises
    ------
    ConfigError
        An unknown name, a name that contradicts the flags, or flags that are none.
    """
    for flag, value in (("use_numba", use_numba), ("use_cython", use_cython)):
        if value is not None and not isinstance(value, (bool, np.bool_)):
            raise ConfigError(f"{flag} must be True, False or None, got {type(value).__name__}")
    name = backend.name if isinstance(backend, Backend) else backend
    flags_given = use_numba is not None or use_cython is not None
    if not isinstance(name, str) or name not in ("auto", *_FLAGS):
        allowed = ", ".join(map(repr, ("auto", *_FLAGS)))
        message = f"backend={show(name)}: must be one of {allowed}"
        raise ConfigError(with_nearest(message, name, ("auto", *_FLAGS)))
    if name == "auto":
        return Backend(bool(use_numba), bool(use_cython)) if flags_given else None
    wanted = Backend(*_FLAGS[name])
    for flag, value in (("use_numba", use_numba), ("use_cython", use_cython)):
        if value is not None and bool(value) != getattr(wanted, flag):
            raise ConfigError(
                f"backend={show(name)} contradicts {flag}={show(value)}: name the backend or give "
                "the flags, not both"
            )
    return wanted


def resolve(
    backend: str | Backend = "auto",
    use_numba: bool | None = None,
    use_cython: bool | None = None,
    *,
    kernel_module: str | None,
    core_module: str | None,
) -> Backend:
    """Turn what a user asked for into a backend that runs here.

    Parameters
    ----------
    backend : str or Backend
        A name, or ``"auto"``: the fastest whose modules can be imported.
    use_numba, use_cython : bool, optional
        The flags instead of a name; as soon as one is given, the other defaults to False.
    kernel_module, core_module : str or None
        Modules of the game that the flags stand for.

    Raises
    ------
    ConfigError
        An unknown name, or a name that contradicts the flags.
    BackendUnavailableError
        An explicit request that cannot be met here; the message says what to install.
    """
    wanted = named(backend, use_numba, use_cython)
    if wanted is None:
        chosen = (Backend(*_FLAGS[candidate]) for candidate in FASTEST_FIRST)
        taken = next(b for b in chosen if missing(b, kernel_module, core_module) is None)
        lack = missing(Backend(*_FLAGS["cython"]), kernel_module, core_module)
        if core_module is not None and not taken.use_cython and lack is not None:
            notices.note_fallback(taken.name, lack)
        return taken
    reason = missing(wanted, kernel_module, core_module)
    if reason is not None:
        raise BackendUnavailableError(f"backend {wanted.name!r} is not available: {reason}")
    return wanted
