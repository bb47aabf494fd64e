"""Checks of what an engine is given from outside, before anything moves."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import wraps
from itertools import islice
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from fastenv.errors import ConfigError, StateError, show, show_reason, with_nearest
from fastenv.game import Game
from fastenv.seats import ROTATE
from fastenv.spec import NOTHING, GameSpec

Array = npt.NDArray[Any]

MAX_ENTRIES = 1 << 24  # of a sequence that is no array: of a `range` an array would be far larger
_MASK64 = (1 << 64) - 1
MAX_THREADS = 256  # more cost more than they bring on any machine, and their stacks take memory


_Make = TypeVar("_Make", bound=Callable[..., None])


def refuse_too_many(make: _Make) -> _Make:
    """Decorate the ``__init__`` of a batch, whose second argument is ``num_envs``.

    That there is no memory for as many lanes is then one sentence.
    """

    @wraps(make)
    def checked(self: Any, *args: Any, **options: Any) -> None:
        try:
            make(self, *args, **options)
        except MemoryError as error:
            asked = args[1] if len(args) > 1 else options.get("num_envs")
            raise ConfigError(
                f"num_envs={show(asked)}: must be fewer: there is not as much memory here"
            ) from error

    return cast(_Make, checked)


def as_count(field: str, value: object) -> int:
    """Return a number of at least 1, or raise :class:`ConfigError`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ConfigError(f"{field}={show(value)}: must be an integer of at least 1")
    return int(value)


def default_threads(num_envs: int) -> int:
    """Return the number of threads of the environment variable, at most one per lane."""
    text = os.environ.get("FASTENV_NUM_THREADS", "1")
    digits = text.lstrip("0")
    if not (text.isdecimal() and text.isascii() and 1 <= int(digits[:9] or 0) <= MAX_THREADS):
        raise ConfigError(
            f"FASTENV_NUM_THREADS={show(text)}: must be an integer from 1 to {MAX_THREADS}"
        )
    return min(int(digits), num_envs)


def as_threads(num_threads: object, num_envs: int) -> int:
    """Return a number of threads, given or by default (None), or raise :class:`ConfigError`."""
    if num_threads is None:
        return default_threads(num_envs)
    most = min(num_envs, MAX_THREADS)
    if as_count("num_threads", num_threads) > most:
        raise ConfigError(
            f"num_threads={show(num_threads)}: must be at most {most}, the smaller of the number "
            f"of lanes and {MAX_THREADS}"
        )
    return int(num_threads)  # type: ignore[call-overload, no-any-return]


def split_columns(
    game: Game, wanted: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the wanted columns of the state and of the step, or raise :class:`ConfigError`."""
    spec = game.spec
    known = (*spec.info_columns, *spec.term_columns)
    if wanted is None:
        wanted = known if spec.default_info is None else spec.default_info
    is_names = isinstance(wanted, Sequence) and all(isinstance(name, str) for name in wanted)
    if isinstance(wanted, str) or not is_names:
        raise ConfigError(f"info_columns={show(wanted)}: must be a sequence of names")
    for name in wanted:
        if name not in known:
            message = f"info_columns: {show(name)} must be one of {', '.join(known)}"
            raise ConfigError(with_nearest(message, name, known))
        if list(wanted).count(name) > 1:
            raise ConfigError(f"info_columns: {show(name)} is named twice")
    terms = tuple(name for name in wanted if name in spec.term_columns)
    return tuple(name for name in wanted if name in spec.info_columns), terms


def select_fields(dtype: np.dtype[Any], names: tuple[str, ...]) -> np.dtype[Any]:
    """Return the aligned dtype of some fields of a record, in this order."""
    if names == (dtype.names or ()):
        return dtype
    return np.dtype([(name, dtype[name]) for name in names], align=True) if names else NOTHING


def check_same_spec(spec: GameSpec, other: GameSpec) -> None:
    """Refuse a game that says something else of itself, by which buffers and views were made."""
    for each in fields(GameSpec):
        if getattr(spec, each.name) != getattr(other, each.name):
            raise ConfigError(f"shared: {each.name} of the game would become another")


def lane_label(lane: Any, agent: Any = None) -> str:
    """Return the label of a lane, and of an agent if given, for error messages."""
    return f"lane {lane}" if agent is None else f"lane {lane}, agent {agent}"


def as_bool(name: str, value: object) -> bool:
    """Return True or False, or raise :class:`ConfigError`: of an array neither can be said."""
    if not isinstance(value, (bool, np.bool_)):
        raise ConfigError(f"{name} must be True or False, got {type(value).__name__}")
    return bool(value)


def as_choice(name: str, value: object, allowed: Sequence[str | None]) -> Any:
    """Return one of the allowed values, or raise :class:`ConfigError`, which offers the nearest."""
    if (value is None or isinstance(value, str)) and value in allowed:
        return value
    message = f"{name}={show(value)}: must be one of {', '.join(map(repr, allowed))}"
    raise ConfigError(with_nearest(message, value, [each for each in allowed if each]))


def check_name(what: str, value: object) -> None:
    """Refuse what is no name, before it is looked up among those that are there."""
    if not isinstance(value, str):
        raise ConfigError(f"{what} must be a name, got {type(value).__name__}")


def check_seating(spec: GameSpec, opponent: object, agent_seat: object) -> None:
    """Refuse opponents, or a seat of the learner, that a game does not have."""
    whole = isinstance(agent_seat, (int, np.integer)) and not isinstance(agent_seat, bool)
    if opponent is None:
        if not whole or agent_seat != 0:
            raise ConfigError(f"agent_seat={show(agent_seat)}: must be 0 without an opponent")
        return
    if not isinstance(opponent, (list, tuple)):
        check_name("opponent", opponent)
    if spec.num_agents == 1:
        raise ConfigError(f"opponent={show(opponent)}: this game has one agent")
    if not (isinstance(agent_seat, str) and agent_seat == ROTATE) and not (
        whole and 0 <= agent_seat < spec.num_agents  # type: ignore[operator]
    ):
        raise ConfigError(
            f"agent_seat={show(agent_seat)}: must be 'rotate' or a seat 0..{spec.num_agents - 1}"
        )


def check_seating_arrays(seating: object, n: int, agents: int) -> dict[str, Array]:
    """Return arrays of who sits where, by name, or raise ValueError."""
    if not isinstance(seating, Mapping):
        raise ValueError(f"seating must map names to arrays, got {type(seating).__name__}")
    shapes: dict[str, tuple[int, ...]] = {"decisions": (n,), "agent": (n,), "players": (n, agents)}
    shapes |= {"opponents": (n, agents - 1), "given": (n, agents), "answered": (n, agents)}
    checked = {}
    for name, array in seating.items():
        if name not in shapes:
            raise ValueError(f"seating: {show(name)} must be one of {', '.join(shapes)}")
        kind = np.dtype(np.bool_ if name == "answered" else np.int32)
        checked[name] = check_array(name, array, shapes[name], kind)
    return checked


def as_numbers(name: str, value: object, below: int) -> Array:
    """Return an array of row numbers, int64 (m,), each below a bound, or raise ValueError."""
    numbers = as_array(name, value)
    whole = numbers.ndim == 1 and (numbers.dtype.kind in "iu" or not numbers.size)
    if not whole or (numbers.size and not (numbers.min() >= 0 and numbers.max() < below)):
        allowed = f"in 0..{below - 1}" if below else "and there are none"
        raise ValueError(f"{name}={show(value)}: must be numbers of rows, {allowed}")
    return np.ascontiguousarray(numbers, np.int64)


def as_seeds(
    seeds: object, n: int, optional: bool = False
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint64]]:
    """Return which of ``n`` generators were given a seed, and the seeds modulo 2**64.

    An integer ``s`` seeds the i-th with ``s + i``. With ``optional``, None stands for no seed.

    Raises
    ------
    ValueError
        Neither an integer nor ``n`` of them.
    """
    if optional and seeds is None:
        return np.zeros(n, np.bool_), np.zeros(n, np.uint64)
    listed = seeds
    if isinstance(seeds, np.ndarray):
        array = as_array("seeds", seeds)
        if array.shape == (n,) and array.dtype.kind in "iu":
            return np.ones(n, np.bool_), array.astype(np.uint64)
        listed = array.tolist() if array.dtype.kind in "iuO" else None
    if _is_whole(listed):
        first = np.uint64(int(listed) & _MASK64)  # type: ignore[call-overload]
        return np.ones(n, np.bool_), np.arange(n, dtype=np.uint64) + first
    given: list[Any] = [None] * (n + 1)
    if isinstance(listed, Sequence) and not isinstance(listed, (bytes, bytearray)):
        given = list(islice(listed, n + 1))
    if len(given) != n or not all(_is_whole(s) or (optional and s is None) for s in given):
        or_none = " (or None)" if optional else ""
        raise ValueError(f"seeds must be an integer or {n} of them{or_none}, got {show(seeds)}")
    values = np.array([0 if s is None else int(s) & _MASK64 for s in given], np.uint64)
    return np.array([s is not None for s in given], np.bool_), values


def check_seed(seed: object, n: int | None = None) -> None:
    """Refuse seeds of a view beyond 0 to 2**64 - 1; an engine takes them modulo.

    Parameters
    ----------
    seed : int, sequence of int or None
        What was given, as the message shows it.
    n : int, optional
        Lanes of a vector view. There, only a bool is refused of what is neither an integer nor
        ``n`` of them: the engine refuses the rest.

    Raises
    ------
    ConfigError
    """
    given = as_array("seed", seed).tolist() if isinstance(seed, np.ndarray) else seed
    alone = n is None and given is not None and not _is_whole(given)
    if alone or isinstance(given, (bool, np.bool_)):
        raise ConfigError(f"seed={show(seed)} is not possible: it must be an integer.")
    numbers: list[Any] = []
    if whole := _is_whole(given):
        numbers = [given]
    elif isinstance(given, Sequence):
        numbers = list(islice(given, (n or 1) + 1))
    most = n or 1 if whole else 1
    wrong = [s for s in numbers if _is_whole(s) and not 0 <= int(s) <= 2**64 - most]
    if wrong and (whole or len(numbers) == n):
        raise ConfigError(
            f"seed={show(seed)} is not possible: it must be from 0 to 2**64 - {most}"
            + (f" in {n} lanes." if n is not None and n > 1 else ".")
        )


def _is_whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def as_seats(seat: object, n: int, agents: int, name: str = "seat") -> Array:
    """Return a seat, or one for each of ``n`` rows, or raise ValueError."""
    seats = as_array(name, seat)
    whole = (seats.dtype.kind in "iu" or not seats.size) and seats.shape in ((), (n,))
    if not whole or (seats.size and not (seats.min() >= 0 and seats.max() < agents)):
        raise ValueError(f"{name}={show(seat)}: must be 0..{agents - 1}, or {n} such numbers")
    return seats


def as_array(name: str, value: object, error: type[ValueError] = ValueError) -> Array:
    """Return a value as an array of NumPy's own class, for which the checks are written.

    A subclass answers as it likes: the ``min`` of a masked array leaves out numbers that a copy
    takes. Of a subclass the result is a view of the same memory; what is no array is made one.

    Raises
    ------
    error
        A masked array, a sequence of more than ``MAX_ENTRIES``, or what cannot be made an array;
        names the argument.
    """
    if type(value) is np.ndarray:
        return value
    if isinstance(value, np.ma.MaskedArray):
        raise error(f"{name} must be a plain array, got a masked one: see numpy.ma.filled")
    if isinstance(value, Sequence) and not isinstance(value, str | bytes) and _is_long(value):
        raise error(f"{name} must be an array, got a {type(value).__name__} of too many entries")
    try:
        return np.asarray(value)
    except (ValueError, TypeError, OverflowError, RuntimeError) as reason:
        raise error(f"{name} must be an array: {show_reason(reason)}") from None


def _is_long(value: Sequence[Any]) -> bool:
    """Return whether a sequence has more than ``MAX_ENTRIES``."""
    try:
        return len(value) > MAX_ENTRIES
    except OverflowError:  # of a range beyond 64 bits
        return True


def check_dtype(
    name: str, given: np.dtype[Any], dtype: np.dtype[Any], error: type[ValueError] = ValueError
) -> None:
    """Refuse another dtype; of a record the message names the first field that differs."""
    if given == dtype:
        return
    fields: Any = given.fields or {}
    for field, part in (dtype.fields or {}).items() if fields else ():
        if field not in fields:
            raise error(f"{name} has no field {field!r}, must be {_short(dtype)}")
        if fields[field][:2] != part[:2]:
            if part[0].names and fields[field][1] == part[1]:
                check_dtype(f"{name}: {field}", fields[field][0], part[0], error)
            raise error(
                f"{name}: field {field!r} must be {_short(part[0])} at byte {part[1]}, "
                f"got {_short(fields[field][0])} at byte {fields[field][1]}"
            )
    raise error(f"{name} must be {_short(dtype)}, got {_short(given)}")


def _short(dtype: np.dtype[Any]) -> str:
    if dtype.names is None:
        return str(dtype)
    return f"a record of {len(dtype.names)} fields in {dtype.itemsize} bytes"


def as_rows(rows: object, spec: GameSpec) -> Array:
    """Return state rows as compiled code reads them, one axis, or raise :class:`StateError`."""
    given, dtype = np.atleast_1d(as_array("rows", rows, StateError)), spec.state_dtype
    if spec.former_dtype is None or given.dtype != spec.former_dtype:
        check_dtype("rows", given.dtype, dtype, StateError)
    if given.ndim != 1:
        raise StateError(f"rows must have one axis, got shape {given.shape}")
    # viewed first: an equal dtype may not say that it is aligned
    return np.require(np.ascontiguousarray(given).view(dtype), requirements=["C", "A"])


def check_states(game: Game, rows: Array) -> None:
    """Raise :class:`StateError` unless a game can be in all rows, and continue from them."""
    game.validate(rows)
    if game.spec.num_agents > 1:
        check_generators("bot_rng", rows["bot_rng"])


def without_padding(rows: Array) -> Array:
    """Return rows in memory of their own, zero between the fields: equal states are equal bytes."""
    clean = np.zeros(rows.shape, rows.dtype)
    for name in rows.dtype.names or ():
        clean[name] = rows[name]
    return clean


def check_array(name: str, array: object, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return an array of this shape and dtype as a plain one, or raise ValueError."""
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{name} must be a NumPy array, got {type(array).__name__}")
    array = as_array(name, array)
    if array.dtype != dtype and dtype.names is not None:
        check_dtype(name, array.dtype, dtype)
    if array.shape != shape or array.dtype != dtype:
        raise ValueError(
            f"{name} must be {_short(dtype)} of shape {shape}, "
            f"got {_short(array.dtype)} of shape {array.shape}"
        )
    return array


def check_out(name: str, array: object, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return a destination that can be written as it stands, or raise ValueError."""
    # Each step passes here for each destination: what is right at a glance is let through at once.
    if (
        type(array) is np.ndarray
        and array.dtype is dtype
        and array.shape == shape
        and array.flags.carray
    ):
        return array
    checked = check_array(name, array, shape, dtype)
    if not checked.flags.c_contiguous:
        raise ValueError(f"{name} must be C-contiguous")
    if not checked.flags.writeable:
        raise ValueError(f"{name} is read-only")
    if not checked.view(dtype).flags.aligned:  # an equal dtype may not say that it is aligned
        raise ValueError(f"{name} must begin at a multiple of {dtype.alignment} bytes")
    return checked


def check_generators(name: str, words: Array) -> None:
    """Refuse states of xoshiro256**, shape (n, 4), that never leave zero: draws would not end."""
    stuck = ~words.any(axis=1)
    if stuck.any():
        lane = int(stuck.argmax())
        raise StateError(f"lane {lane}: {name} is all zeros: a generator of zeros is stuck")
