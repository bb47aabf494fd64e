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
from fastenv.testing.factories import Factory, check_factory, find
from fastenv.testing.jobs import Check, Compare
from fastenv.testing.laws import Laws
from fastenv.testing.process import run_apart
from fastenv.testing.recipes import RECIPES, Sync, as_sync
from fastenv.testing.report import Episode, Finding, Report
from fastenv.testing.runner import Terms, record
from fastenv.testing.search import Search
from fastenv.testing.twins import check_twins

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
        :class:`fastenv.testing.Sync`, a function ``(fast, reference, observation)``, or the name
        of a recipe (``RECIPES``). By default both draw the same from the same seeds.
    ignore : sequence of str
        Fields that are not compared, such as ``"info.time"``, or beginnings of them.
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
    check_factory("fast", fast)
    check_factory("reference", reference)
    _check_search(seconds, seed, timeout)
    if not (isinstance(rtol, (int, float)) and 0 <= rtol < 1):
        raise ConfigError(f"rtol={show(rtol)}: must be a number from 0 to below 1")
    text = repr(sync) if isinstance(sync, str) else ""
    terms = Terms(_as_names(ignore), float(rtol), loose=True)
    job = Compare(fast, reference, as_sync(sync), text, terms, dict(options or {}))
    return run_apart(job, seconds, seed, timeout)


def check(
    env: Factory,
    *,
    seconds: float = 10.0,
    copies: bool = True,
    twin: Callable[[Any, Any, Any], Any] | None = None,
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
        Whether copies and pickles of it must go on as it would.
    twin : callable, optional
        ``twin(env, agent, rng)`` returns another world that looks the same to the agent: a copy
        with other hidden cards. What the agent sees of it must not differ, and it must be
        possible. It may return ``(world, (start, actions))`` too: actions that lead there.
    seed, timeout, options
        As in :func:`fastenv.testing.compare`.

    Returns
    -------
    Report

    Raises
    ------
    ConfigError
        An argument is not possible, or the environment cannot be made.
    """
    check_factory("env", env)
    _check_search(seconds, seed, timeout)
    if twin is not None:
        check_factory("twin", twin)
    job = Check(env, bool(copies), twin, options=dict(options or {}))
    return run_apart(job, seconds, seed, timeout)


def assert_same(fast: Factory, reference: Factory, **how: Any) -> None:
    """Fail a test where two environments differ; see :func:`fastenv.testing.compare`."""
    compare(fast, reference, **how).raise_for_faults()


def assert_correct(env: Factory, **how: Any) -> None:
    """Fail a test where an environment has a fault; see :func:`fastenv.testing.check`."""
    check(env, **how).raise_for_faults()


def replay(
    *,
    case: Sequence[tuple[int | None, list[dict[str, Any]]]],
    fast: Factory | None = None,
    reference: Factory | None = None,
    env: Factory | None = None,
    stress: str = "",
    twin: Any = None,
    sync: Any = None,
    ignore: Sequence[str] = (),
    rtol: float = 0.0,
    options: Mapping[str, Any] | None = None,
) -> bool:
    """Play the case of a finding again in this process, and print both values.

    Parameters
    ----------
    case : sequence of (seed, actions)
        Episodes, as a script of a finding has them.
    fast, reference, sync, ignore, rtol
        As in :func:`fastenv.testing.compare`; or
    env, stress, twin
        As in :func:`fastenv.testing.check`, and what is done to the second track.
    options : mapping, optional
        Keyword arguments of the factories.

    Returns
    -------
    bool
        Whether it still fails.
    """
    episodes = [Episode(seed, [dict(step) for step in actions]) for seed, actions in case]
    given = dict(options or {})
    if env is not None:
        one = Check(env, twin=find(twin) if isinstance(twin, str) else twin, options=given)
        if not stress:
            return _break_again(one, episodes)
        hit, names = one.play(episodes, stress), ("alone", stress)
    elif fast is None or reference is None:
        raise ConfigError("replay: must have env, or fast and reference")
    else:
        terms = Terms(_as_names(ignore), rtol, loose=True)
        pair = Compare(fast, reference, as_sync(sync), "", terms, given)
        hit, names = pair.play(episodes), pair.names
    if hit is None:
        print("no difference")
        return False
    print(f"they differ in {hit.where}")
    for name, value in zip(names, hit.values, strict=True):
        print(f"  {name}: {value}")
    return True


def _break_again(job: Check, episodes: list[Episode]) -> bool:
    """Play a case alone, and print the laws that it breaks and what it raises."""
    laws = Laws()
    shown = record(job.make(laws), episodes)
    findings = [each for each in laws.findings.values() if each.kind == "law broken"]
    if any(episode.seed is None for episode in episodes):
        findings += job.check_unseeded()
    if job.twin is not None:
        leak = check_twins(job.make, job.twin, Search(10.0, episodes[0].seed or 0, episodes=1))
        findings += [] if leak is None else [leak]
    for finding in findings:
        print(finding)
    if not isinstance(shown, list) and shown.field == "raises":
        print(f"raised: {shown.values[0]}")
        return True
    if not findings:
        print("no law is broken")
    return bool(findings)


def _as_names(ignore: object) -> tuple[str, ...]:
    if isinstance(ignore, str) or not isinstance(ignore, Sequence):
        raise ConfigError(f"ignore={show(ignore)}: must be a sequence of names of fields")
    return tuple(str(name) for name in ignore)


def _check_search(seconds: object, seed: object, timeout: object) -> None:
    for name, value in (("seconds", seconds), ("timeout", timeout)):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not 0 < value < math.inf:  # type: ignore[operator]
            raise ConfigError(f"{name}={show(value)}: must be a finite number above 0")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**31:
        raise ConfigError(f"seed={show(seed)}: must be an integer from 0 to {2**31 - 1}")
