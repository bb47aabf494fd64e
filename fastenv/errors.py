"""Every error a user can meet, one class each, and how a value stands in its message.

All of them derive from :class:`FastEnvError` and from the built-in class a caller would expect,
so ``except ValueError`` keeps working for those who never heard of fastenv.
"""

from __future__ import annotations

import builtins
import difflib
import reprlib
from collections.abc import Iterable
from typing import Any

MAX_SHOWN = 120  # characters of a value in a message
# What `make`, `make_vec` and `make_engine` take besides the options of a game.
VIEW_OPTIONS = (
    *("backend", "use_numba", "use_cython", "num_threads", "autoreset_mode", "copy"),
    *("render_mode", "info_columns", "info_mode", "agents", "opponent", "agent_seat", "seats"),
)


class FastEnvError(Exception):
    """Base class of all errors raised by fastenv.

    Examples
    --------
    >>> import fastenv
    >>> try:
    ...     fastenv.make("Chess-v0")
    ... except fastenv.FastEnvError as error:
    ...     print(type(error).__name__)
    ConfigError
    """


class ConfigError(FastEnvError, ValueError):
    """An environment option has a value that is not allowed; the message names the field.

    Examples
    --------
    >>> import fastenv
    >>> fastenv.make("SkullKingWorker-v0", num_players=9)
    Traceback (most recent call last):
    ...
    fastenv.errors.ConfigError: num_players=9 is not possible: ... must be an integer from 2 to 8.
    """


class UnknownOptionError(ConfigError, TypeError):
    """There is no option of that name: of keywords, Python itself says so by a ``TypeError``.

    Examples
    --------
    >>> import fastenv
    >>> try:
    ...     fastenv.make("SkullKingWorker-v0", players=4)
    ... except fastenv.UnknownOptionError as error:
    ...     print(str(error).partition(";")[0])
    unexpected keyword argument 'players' is not an option of Skull King
    """


class FileError(FastEnvError, ValueError):
    """A file cannot be read or is not what it should be; the message names it and says why.

    Examples
    --------
    >>> from pathlib import Path
    >>> from fastenv.files import read_json
    >>> read_json(Path("none.json"), limit=1000)
    Traceback (most recent call last):
    ...
    fastenv.errors.FileError: none.json cannot be read: No such file or directory.
    """


class InvalidActionError(FastEnvError, ValueError):
    """An action is out of range or, with ``invalid_action="raise"``, illegal in its state.

    Nothing in the batch has moved when it is raised.

    Examples
    --------
    >>> import fastenv
    >>> vec = fastenv.make_vec("SkullKingWorker-v0", num_envs=2)
    >>> obs, infos = vec.reset(seed=0)
    >>> vec.step([0, 999])
    Traceback (most recent call last):
    ...
    fastenv.errors.InvalidActionError: lane 1: action 999 is out of range, allowed are 0..10
    """


class StateError(FastEnvError, ValueError):
    """A state row from outside is out of range or inconsistent; lane and field are named.

    Examples
    --------
    >>> import fastenv
    >>> engine = fastenv.make_engine("SkullKingWorker-v0", num_envs=2)
    >>> engine.reset_many(seeds=0)
    >>> rows = engine.get_states()
    >>> rows["phase"][1] = 99
    >>> engine.set_states(rows)
    Traceback (most recent call last):
    ...
    fastenv.errors.StateError: lane 1: phase=99 is not possible: ...
    """


class BackendUnavailableError(FastEnvError, ImportError):
    """A backend was asked for by name but cannot be imported here.

    Examples
    --------
    >>> from fastenv.backend import resolve
    >>> resolve("cython", kernel_module=None, core_module=None)
    Traceback (most recent call last):
    ...
    fastenv.errors.BackendUnavailableError: backend 'cython' is not available: ...
    """


class ResetNeededError(FastEnvError, RuntimeError):
    """``step`` was called on a lane that has no running episode.

    Examples
    --------
    >>> import fastenv
    >>> env = fastenv.make("SkullKingWorker-v0")
    >>> env.step(0)
    Traceback (most recent call last):
    ...
    fastenv.errors.ResetNeededError: this environment has no running episode: call reset() ...
    """


def with_nearest(message: str, given: object, known: Iterable[str]) -> str:
    """Return a message about a name that is unknown, and ask for the nearest known one, if any.

    Parameters
    ----------
    message : str
    given : object
        The unknown name; nothing is near to what is no string.
    known : iterable of str
    """
    if not isinstance(given, str) or len(given) > MAX_SHOWN:
        return message
    names = {name.lower(): name for name in known if name != given}
    near = difflib.get_close_matches(given.lower(), names, 1, cutoff=0.75)
    return f"{message.rstrip('.')}. Did you mean {names[near[0]]!r}?" if near else message


def list_names(names: Iterable[str], most: int = 10) -> str:
    """Return names for a message, and how many more there are than are shown."""
    known = [*names]
    if len(known) <= most:
        return ", ".join(known) or "none"
    return f"{', '.join(known[:most])} and {len(known) - most:,} more"


def unknown_keyword(name: str, owner: str, known: Iterable[str]) -> UnknownOptionError:
    """Return the error for a keyword that names no option.

    Its first words are Python's own, by which callers (TorchRL's ``GymEnv``) know the error.

    Parameters
    ----------
    name : str
    owner : str
        Whose options there are.
    known : iterable of str
        Their names.
    """
    names = [*known]
    message = (
        f"unexpected keyword argument {show(name)} is not an option of {owner}; options: "
        f"{', '.join(names) or 'none'}."
    )
    return UnknownOptionError(with_nearest(message, name, [*names, *VIEW_OPTIONS]))


class _Repr(reprlib.Repr):
    """``repr`` that looks no deeper and no further than a reader would."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxtuple = self.maxlist = self.maxdict = self.maxset = self.maxfrozenset = 12
        self.maxstring = self.maxother = MAX_SHOWN

    def repr_int(self, x: int, level: int) -> str:
        bits = x.bit_length()  # Python refuses to print thousands of digits
        return super().repr_int(x, level) if bits < 10_000 else f"<an integer of {bits} bits>"

    def repr_bytes(self, x: bytes, level: int) -> str:
        if len(x) <= self.maxstring:
            return builtins.repr(x)
        return f"{x[: self.maxstring // 8]!r}... of {len(x)} bytes"

    def repr_instance(self, x: Any, level: int) -> str:
        return " ".join(builtins.repr(x).split())  # arrays have several lines


_REPR = _Repr()


def show(value: object) -> str:
    """Return ``repr(value)`` for a message: one line, at most ``MAX_SHOWN`` characters.

    Never raises: of integers of thousands of digits, of lists in lists without end and of objects
    whose ``repr`` fails it says what they are.
    """
    try:
        text = _REPR.repr(value)
    except Exception:  # whatever the method of a stranger's class raises
        text = f"<{type(value).__name__}>"
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}..."


def show_reason(error: BaseException) -> str:
    """Return the text of an error for a message: one line, at most 160 characters, no full stop.

    Of errors that say nothing it is their class.
    """
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    text = " ".join(text.encode("utf-8", "backslashreplace").decode().split()).rstrip(".")
    text = text or type(error).__name__
    return text if len(text) <= 160 else f"{text[:157]}..."
