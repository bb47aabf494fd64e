"""What is examined: how a case is played, what must hold, and how a finding is made short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import repeat
from typing import Any

from fastenv.errors import ConfigError
from fastenv.testing.factories import Source, write_value
from fastenv.testing.laws import Laws
from fastenv.testing.report import (
    Call,
    Case,
    Fault,
    Finding,
    Invalid,
    Missing,
    Refused,
    is_step,
    write_script,
)
from fastenv.testing.search import Search
from fastenv.testing.shrink import shorten, simpler
from fastenv.testing.stress import (
    AGAIN,
    ANEW,
    OF_TWO,
    STRESSES,
    Stress,
    Twin,
    move_generators,
    stress_of,
    stresses_for,
)
from fastenv.testing.sync import Following, Sync, write_sync
from fastenv.testing.tracks import Frame, SingleTrack, Track, make_track, side_by_side
from fastenv.testing.values import first_difference, is_named, say_error, show

SHORTENING = 4.0  # seconds of processor time, at most, for one finding
LIMITS = (9, 5, 10, 3, 8, 14)  # steps of episodes that are cut short
ORDER = ("mask", "turn", "agents", "terminated", "truncated", "reward", "final observation")


@dataclass
class Play:
    """One track, or two side by side.

    Parameters
    ----------
    stress : Stress
        What must hold.
    first : Track, optional
        None: the trace is what it showed before.
    seconds : iterator of Track or None
        What takes the next call beside the first. It may disturb a track between two calls, and
        after the last one.
    hold_same : callable
        Raises :class:`fastenv.testing.report.Fault` where two frames are not equal.
    following : Following, optional
        Says what the second must show, where it is brought into the first's state.
    trace : list of dict, optional
        What the first one showed, a frame a call.
    late : callable, optional
        Whether the time is over: the rest of a case is then left out.
    """

    stress: Stress
    first: Track | None
    seconds: Iterator[Track | None]
    hold_same: Callable[[Frame, Frame], None]
    following: Following | None = None
    trace: list[Frame] = field(default_factory=list)
    late: Callable[[], bool] = lambda: False
    second: Track | None = field(default=None, init=False)

    def run(self, case: Case, search: Search | None = None) -> Finding | None:
        """Play a case, and return where it fails: where one raises, or where both part.

        Steps after the end of an episode are taken out of the case, what comes before its first
        seed, and what comes after a finding.

        Parameters
        ----------
        case : list
        search : Search, optional
            Goes on with the case.

        Raises
        ------
        Invalid
            The case chooses what is not legal.
        Missing
            The environment cannot do what the stress needs.
        """
        played = 0  # calls
        try:
            while True:
                if self.late():
                    del case[played:]
                if played == len(case) and search is not None:
                    case += search.next(self._leader())
                ends = played == len(case)
                steps = not ends and is_step(case[played])
                unseeded = not ends and played == 0 and not isinstance(case[0], int)
                if unseeded or (steps and self._is_over()):
                    del case[played]
                    continue
                self._disturb(begins=not ends and not steps)
                if ends:
                    return None
                played += 1
                self._call(case[played - 1], played - 1, search)
        except Fault as fault:
            del case[played:]
            return self.stress.find(played - 1, fault)

    def _is_over(self) -> bool:
        """Return whether either ended its episode, while both are played."""
        both = self.first, self.second
        return self.first is not None and any(each is not None and each.over for each in both)

    def _leader(self) -> Track:
        """Return whose masks count: the first, or the second where only that has some."""
        first, second = self.first, self.second
        assert first is not None
        masks = any(choice.mask is not None for choice in first.turn.values())
        if masks or second is None or self.following is not None:
            return first
        return second if first.turn.keys() == second.turn.keys() else first

    def _disturb(self, *, begins: bool) -> None:
        """Take the second track of the next call, which may begin an episode."""
        if self.second is not None and begins:
            self.second.over = True  # its episode is left
        try:
            self.second = next(self.seconds)
        except (Fault, Missing, Refused):
            raise
        except Exception as error:
            raise Fault(("nothing", say_error(error)), field="raises") from error

    def _call(self, call: Call, index: int, search: Search | None) -> None:
        """Make a call on both, and hold what they show to be the same."""
        shown: Frame | str = self.trace[index] if self.first is None else self._call_first(call)
        if search is not None and isinstance(shown, dict):
            search.see(shown)
        if self.following is not None:
            other = self.following.expect(call, shown)
        else:
            other = {} if self.second is None else self.second.attempt(call)
        if isinstance(shown, dict) and isinstance(other, dict):
            if self.second is not None:
                self.hold_same(shown, other)
            return
        if isinstance(shown, str) and isinstance(other, str):
            raise Invalid(shown)  # both refuse it
        a, b = (each if isinstance(each, str) else "nothing" for each in (shown, other))
        raise Fault((a, b), field="raises")

    def _call_first(self, call: Call) -> Frame | str:
        assert self.first is not None
        if isinstance(call, dict) and not self._leader().allows(call):
            raise Invalid(f"{call} is not legal")
        try:
            shown = self.first.call(call)
        except Fault:
            raise
        except Exception as error:
            return say_error(error)
        self.trace.append(shown)
        return shown


@dataclass(frozen=True)
class Job:
    """One environment that must be equal to itself, or two that must be equal.

    Parameters
    ----------
    env : Source
        What is in doubt.
    reference : Source, optional
        What it must be equal to, and bear what that bears. Infos and masks are then compared only
        where both have them, as between two packages.
    sync : Sync, optional
        How the reference takes over what was drawn.
    twin : callable, optional
        Draws other worlds; see :func:`fastenv.testing.check`.
    copies : bool
        Whether copies must continue as the original would.
    ignore : list of str
        Fields that are not compared; ``info`` is all infos.
    rtol : float
        Tolerance of numbers.
    first : bool
        Whether the first fault is enough.
    """

    env: Source
    reference: Source | None = None
    sync: Sync | None = None
    twin: Twin | None = None
    copies: bool = True
    ignore: list[str] = field(default_factory=list)
    rtol: float = 0.0
    first: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """What is examined, by name."""
        both = self.env, self.reference
        return tuple(each.name for each in both if each is not None)

    @property
    def itself(self) -> Stress:
        """What must hold of a case without any stress: alone, or beside the reference."""
        if self.reference is None:
            rule = "resets and legal actions are accepted"
            source = "Gymnasium, Env.step: actions of action_space; masks: legal actions"
            return Stress("", rule, source, kind="law broken", names=("raised", "allowed"))
        same_seed = "" if self.sync else "; both draw the same from a seed, or need a sync"
        rule = f"{self.names[0]} does what {self.names[1]} does"
        return Stress("", rule, f"the reference{same_seed}", names=self.names)

    def stress_named(self, name: str) -> Stress:
        """Return the stress of a name, as scripts write it.

        Raises
        ------
        ConfigError
            There is none.
        """
        own = [] if self.twin is None else [stress_of(self.twin)]
        stresses = {each.name: each for each in (*STRESSES, *own)}
        if name not in stresses:
            raise ConfigError(f"stress={show(name)}: must be one of {', '.join(sorted(stresses))}")
        return stresses[name]

    def stresses(self, track: Track) -> list[Stress]:
        """Return what must hold of a track like this one, the case itself first."""
        stresses = stresses_for(track, copies=self.copies)
        if self.reference is not None:
            stresses = [each for each in OF_TWO if each in stresses]
        if self.sync is not None:  # what that needs is not told of one environment
            stresses = []
        own = [] if self.twin is None else [stress_of(self.twin)]
        return [self.itself, *stresses, *own]

    def limited(self, number: int) -> Job:
        """Return the job of a case by its number: of two, some episodes are cut short.

        Episodes that end by chance at their time limit are rare where it is far away.
        """
        both = self.env, self.reference
        sources = [each for each in both if each is not None and each.takes_limit]
        if number % 3 != 2 or len(sources) < 2:
            return self
        limit = {"max_episode_steps": LIMITS[number // 3 % len(LIMITS)]}
        env, reference = (each.with_options(limit) for each in sources)
        return replace(self, env=env, reference=reference)

    def make(self, opened: ExitStack, laws: Laws, **more: Any) -> Track:
        """Return the track in doubt, with more keyword arguments of the environment."""
        track = make_track(self.env.make(**more), laws)
        opened.callback(track.finish)
        return track

    def start(self, opened: ExitStack, laws: Laws) -> Play:
        """Return new environments to play on.

        Raises
        ------
        ConfigError
            They are of kinds that cannot be compared.
        """
        first, following = self.make(opened, laws), None
        seconds: Iterator[Track | None] = repeat(None)
        if self.reference is not None:
            second = self._make_second(opened, first, self.reference)
            seconds = repeat(second)
            if self.sync is not None:
                following = Following(first, second, self.sync, self.rtol)
                seconds = following.lead()
        move_generators(1)
        return Play(self.itself, first, seconds, self.hold_same, following)

    def _make_second(self, opened: ExitStack, first: Track, source: Source) -> Track:
        """Make the reference, or as many of it as the first has lanes."""
        a, b = self.names
        second = make_track(source.make(), Laws())
        opened.callback(second.finish)
        if first.mode is not None and isinstance(second, SingleTrack):
            second = side_by_side(source.make, first, Laws())
            opened.callback(second.finish)
        vectors = first.mode is not None and second.mode is not None
        if isinstance(first, SingleTrack) and second.mode is not None:
            raise ConfigError(
                f"{a} is {first.kind} and {b} {second.kind}: the vector must be the first of both"
            )
        if first.kind != second.kind and not vectors:
            raise ConfigError(
                f"{a} is {first.kind} and {b} {second.kind}: they cannot be compared; a vector "
                "can be compared with a single environment"
            )
        if first.mode is not None and second.mode is not None and first.mode is not second.mode:
            raise ConfigError(
                f"{a} resets its lanes by {first.mode.value} and {b} by {second.mode.value}: "
                "compare each with the single environment"
            )
        if self.sync is not None and not second.singles():
            raise ConfigError(
                f"sync: sets the state of single environments, and {b} is {second.kind}"
            )
        return second

    def hold_same(self, a: Frame, b: Frame) -> None:
        """Hold two frames to be equal.

        Raises
        ------
        Fault
            They differ: the values of the first field that does, masks first and infos last.
        """
        for key in _ordered(tuple(a), tuple(b)):
            who, field = key
            both = key in a and key in b
            found: Any = field, a.get(key, "nothing"), b.get(key, "nothing")
            if both:
                found = first_difference(field, a[key], b[key], self.rtol)
            extra = self.reference is not None and (field == "mask" or field.startswith("info."))
            if found is not None and (both or not extra) and not is_named(field, self.ignore):
                path, x, y = found
                raise Fault((show(x), show(y)), who=who, field=path)

    def play(
        self, case: Case, laws: Laws, search: Search | None = None
    ) -> tuple[list[Frame], Finding | None]:
        """Play a case on new environments; return what it showed, and where it fails.

        Parameters
        ----------
        case : list
            Without what is not played; with what the search adds.
        laws : Laws
            To which the one in doubt is held.
        search : Search, optional
            Goes on with the case.

        Raises
        ------
        Invalid
            The case chooses what is not legal.
        """
        found, trace = None, list[Frame]()
        try:
            with ExitStack() as opened:
                play = self.start(opened, laws)
                trace = play.trace
                found = play.run(case, search)
        except Fault as fault:  # it could not be closed
            found = found or self.itself.find(len(case) - 1, fault)
        return trace, found

    def stress(
        self,
        case: Case,
        trace: list[Frame],
        stress: Stress,
        late: Callable[[], bool] = lambda: False,
    ) -> Finding | None:
        """Play a case once more under a stress, and return where it differs from what it showed.

        What the reference does not bear either is no finding.

        Parameters
        ----------
        case, trace, stress
        late : callable, optional
            Whether the time is over: the rest of the case is then left out.

        Raises
        ------
        Missing
            The environment cannot do what the stress needs.
        """
        move_generators(2)
        calls = list(case)
        if stress is ANEW and None in calls:  # that episode goes on from those before
            del calls[calls.index(None) :]
        with ExitStack() as opened:
            tracks = stress.lead(partial(self.make, opened, Laws()))
            play = Play(stress, None, tracks, self.hold_same, trace=trace, late=late)
            found = play.run(calls)
        if found is not None and self.reference is not None and stress is not AGAIN:
            return None if self._stress_alone(self.reference, case, stress) else found
        return found

    def play_twice(self, case: Case) -> Finding | None:
        """Play a case twice alone, and return where one of two does not show the same again."""
        sources = filter(None, (self.env, self.reference))
        found = (self._stress_alone(source, case, AGAIN) for source in sources)
        return next(filter(None, found), None)

    def _stress_alone(self, source: Source, case: Case, stress: Stress) -> Finding | None:
        """Return where one environment does not bear a stress, as far as it can play the case."""
        alone, kept = Job(source, ignore=self.ignore), list(case)
        with suppress(Invalid, Missing):  # such as a single environment, whose case is another one
            shown, broken = alone.play(kept, Laws())
            if broken is None and len(kept) == len(case):
                return alone.stress(kept, shown, stress)
        return None

    def find_again(self, case: Case, stress: str = "", *, quiet: bool = False) -> Iterator[Finding]:
        """Play a case again, and yield its findings: of the case itself, or under a stress.

        Parameters
        ----------
        case : list
        stress : str
            Its name; "" for the case itself.
        quiet : bool
            Leave out the rules of the interface.

        Raises
        ------
        Invalid, Missing
            As :meth:`play` and :meth:`stress`.
        """
        known = set[str]()
        while True:
            laws = Laws() if quiet or stress else Laws(known, self.ignore)
            played = list(case)
            trace, found = self.play(played, laws)
            if stress:  # where the case itself fails, something else is wrong
                named = self.stress_named(stress)
                found = self.stress(played, trace, named) if found is None else None
            if found is None or found.rule in known:
                return
            yield replace(found, case=played[: found.index + 1])
            if quiet or stress:
                return
            known.add(found.rule)

    def find_like(self, case: Case, found: Finding) -> Finding | None:
        """Play a case again, and return what is found as before, None if that is not."""
        quiet = found.kind == "difference"
        with suppress(Invalid, Missing):
            for again in self.find_again(case, found.stress, quiet=quiet):
                if again.is_like(found):
                    return again
        return None

    def shorten(self, case: Case, found: Finding) -> Finding | None:
        """Return a finding with a short case; None where it does not come again."""
        case = case[: found.index + 1]
        again = self.find_like(case, found)
        if again is None and found.kind != "law broken" and found.stress != AGAIN.name:
            return None
        if again is None or len(again.case) < len(case):  # something outlives the environment
            return self.with_script(replace(found, case=case))
        shortest = again

        def play_again(tried: Case) -> Case | None:
            nonlocal shortest
            again = self.find_like(tried, found)
            shortest = again or shortest
            return None if again is None else again.case

        shorten(case, play_again, simpler, SHORTENING)
        return self.with_script(shortest)

    def with_script(self, found: Finding) -> Finding:
        """Return a finding with a script that shows it again."""
        given = {"env": self.env.text, "twin": write_value(self.twin) if self.twin else ""}
        if self.reference is not None:
            given = {"fast": self.env.text, "reference": self.reference.text}
            given["sync"] = write_sync(self.sync) if self.sync else ""
        given["ignore"] = repr(tuple(self.ignore)) if self.ignore else ""
        given["rtol"] = repr(self.rtol) if self.rtol else ""
        given["stress"] = repr(found.stress) if found.stress else ""
        title = f"{' and '.join(self.names)}: {found.rule}."
        script = write_script(title, f"{__package__}:replay", given, found.case)
        return replace(found, script=script)


@lru_cache(maxsize=4096)
def _ordered(ours: tuple[tuple[str, str], ...], theirs: tuple[tuple[str, str], ...]) -> Any:
    """Return all fields of two frames in the order of a comparison: masks first, infos last."""

    def rank(key: tuple[str, str]) -> int:
        return ORDER.index(key[1]) if key[1] in ORDER else 10 + key[1].startswith("info.")

    return sorted(dict.fromkeys((*ours, *theirs)), key=rank)
