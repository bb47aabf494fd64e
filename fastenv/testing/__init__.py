"""Compare two environments, check one: anybody's, of Gymnasium, PettingZoo or fastenv.

``compare`` finds the first place where a fast environment does not do what its reference does.
``check`` finds where an environment breaks the rules of its interface, or is not equal to itself
once something else happens: another instance beside it, a copy, what it returned overwritten.
Every finding comes with the shortest case that was found, and with a script that shows it again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastenv.errors import ConfigError, show
from fastenv.testing.factories import Factory, check_pickled, find_function, source_of
from fastenv.testing.jobs import Job
from fastenv.testing.process import run_apart
from fastenv.testing.report import Case, Finding, Invalid, Missing, Report
from fastenv.testing.sync import RECIPES, Sync, as_sync

__all__ = [
    "RECIPES",
    "Finding",
    "Report",
    "Sync",
    "assert_correct",
    "assert_same",
    "check",
    "compare",
    "replay",
]


def compare(
    fast: Factory,
    reference: Factory,
    *,
    seconds: float = 10.0,
    sync: Sync | Callable[[Any, Any, Any], None] | str | None = None,
    ignore: Sequence[str] = (),
    rtol: float = 0.0,
    seed: int = 0,
    timeout: float = 30.0,
    options: Mapping[str, Any] | None = None,
) -> Report:
    """Look for the first difference between two environments.

    Parameters
    ----------
    fast, reference : str or callable
        A Gymnasium id, ``"module:name"``, or a function without arguments that can be pickled. A
        vector environment is compared with another, or with single ones side by side.
    seconds : float
        Processor time of the search; making a finding short takes up to 4 more.
    sync : Sync, callable or str, optional
        How the reference takes over what the fast one drew by chance: a
        :class:`fastenv.testing.Sync`, a function ``(fast, reference, observation)``, its name as
        ``"module:name"``, or the name of a recipe (``RECIPES``). By default both draw the same from
        the same seeds.
    ignore : sequence of str
        Fields that are not compared, such as ``"info.time"``, or ``"info"`` for all infos. An info
        that is not the same twice in the fast one is ignored with a note.
    rtol : float
        Relative tolerance of numbers; 0: equal values.
    seed : int
        Everything that is drawn follows from it.
    timeout : float
        Seconds without an answer after which an environment is said to hang.
    options : mapping, optional
        Keyword arguments for both; where one is an id and the other is not, for the other.

    Returns
    -------
    Report
        With at most one difference, made short, and the laws that the fast one broke on the way.

    Raises
    ------
    ConfigError
        An argument is not possible, or an environment cannot be made.
    """
    job = _job(fast=fast, reference=reference, sync=sync, ignore=ignore, rtol=rtol, options=options)
    return _run(job, seconds, seed, timeout, fast=fast, reference=reference, sync=sync)


def check(
    env: Factory,
    *,
    seconds: float = 10.0,
    copies: bool = True,
    twin: Callable[[Any, Any, Any], Any] | str | None = None,
    first: bool = False,
    ignore: Sequence[str] = (),
    seed: int = 0,
    timeout: float = 30.0,
    options: Mapping[str, Any] | None = None,
) -> Report:
    """Hold an environment to the rules of its interface, and against itself under stress.

    Parameters
    ----------
    env : str or callable
        As in :func:`fastenv.testing.compare`.
    seconds : float
        Processor time of the search.
    copies : bool
        Whether copies and pickles of it must continue as it would.
    twin : callable or str, optional
        ``twin(env, agent, rng)`` returns another world that looks the same to the agent: a copy
        with other hidden cards. What the agent sees of it must not differ, and it must be
        possible. It may return ``(world, (start, actions))`` too: actions that lead there. Or its
        name, as ``"module:name"``.
    first : bool
        End at the first fault.
    ignore, seed, timeout, options
        As in :func:`fastenv.testing.compare`. An info that differs from run to run, such as the
        time of a step, is ignored with a note.

    Returns
    -------
    Report

    Raises
    ------
    ConfigError
        An argument is not possible, or the environment cannot be made.
    """
    job = _job(
        env=env, twin=twin, copies=bool(copies), first=bool(first), ignore=ignore, options=options
    )
    return _run(job, seconds, seed, timeout, env=env, twin=twin)


def assert_same(fast: Factory, reference: Factory, **how: Any) -> None:
    """Fail a test where two environments differ; see :func:`fastenv.testing.compare`."""
    compare(fast, reference, **how).raise_for_faults()


def assert_correct(env: Factory, **how: Any) -> None:
    """Fail a test where an environment has a fault; see :func:`fastenv.testing.check`."""
    check(env, **how).raise_for_faults()


def replay(
    *,
    case: Case,
    fast: Factory | None = None,
    reference: Factory | None = None,
    env: Factory | None = None,
    stress: str = "",
    twin: Any = None,
    sync: Any = None,
    ignore: Sequence[str] = (),
    rtol: float = 0.0,
) -> bool:
    """Play the case of a finding again in this process, and print both values.

    Parameters
    ----------
    case : list of int, None or dict
        Resets with their seeds and actions of steps, as a script of a finding has them.
    fast, reference, sync, ignore, rtol
        As in :func:`fastenv.testing.compare`; or
    env, stress, twin
        As in :func:`fastenv.testing.check`, and what is done to the second track.

    Returns
    -------
    bool
        Whether it still fails.

    Raises
    ------
    ConfigError
        An argument is not possible.
    """
    if env is None and (fast is None or reference is None):
        raise ConfigError("replay: must have env, or fast and reference")
    given: dict[str, Any] = {"fast": fast, "reference": reference} if env is None else {"env": env}
    job = _job(**given, twin=twin, sync=sync, ignore=ignore, rtol=rtol)
    failed = False
    try:
        for found in job.find_again(list(case), stress):
            failed = True
            print(found)
    except (Invalid, Missing) as error:
        print(f"the case cannot be played: {error}")
    else:
        if not failed:
            print("nothing fails")
    return failed


def _job(
    *,
    ignore: object,
    rtol: object = 0.0,
    copies: bool = True,
    first: bool = False,
    sync: object = None,
    twin: object = None,
    options: object = None,
    **factories: object,
) -> Job:
    """Return what is to be examined, one environment or two by name, or refuse an argument."""
    if isinstance(ignore, str) or not isinstance(ignore, Sequence):
        raise ConfigError(f"ignore={show(ignore)}: must be a sequence of names of fields")
    if not (isinstance(rtol, (int, float)) and 0 <= rtol < 1):
        raise ConfigError(f"rtol={show(rtol)}: must be a number from 0 to below 1")
    if options is not None and not isinstance(options, Mapping):
        raise ConfigError(f"options={show(options)}: must be a mapping of keyword arguments")
    drawn = find_function("twin", twin) if isinstance(twin, str) else twin
    if drawn is not None and not callable(drawn):
        allowed = "a function (env, agent, rng), or module:name"
        raise ConfigError(f"twin={show(twin)}: must be {allowed}")
    own, *others = (source_of(name, factory) for name, factory in factories.items())
    # An id takes no options of what it is compared with.
    mixed = any(other.is_id != own.is_id for other in others)
    own, *others = (
        source if mixed and source.is_id else source.with_options(options or {})
        for source in (own, *others)
    )
    return Job(
        own,
        others[0] if others else None,
        as_sync(sync),
        drawn,
        copies,
        [str(name) for name in ignore],
        rtol,
        first,
    )


def _run(job: Job, seconds: float, seed: int, timeout: float, **given: object) -> Report:
    """Search in a process of its own, which takes what was given; or refuse an argument."""
    for name, value in given.items():
        check_pickled(name, value)
    for name, number in (("seconds", seconds), ("timeout", timeout)):
        is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
        if not is_number or not 0 < number < math.inf:
            raise ConfigError(f"{name}={show(number)}: must be a finite number above 0")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**31:
        raise ConfigError(f"seed={show(seed)}: must be an integer from 0 to {2**31 - 1}")
    return run_apart(job, seconds, seed, timeout)
