"""The search for faults: of two environments side by side, and of one against itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, ClassVar

from fastenv.errors import ConfigError
from fastenv.testing.factories import Source, write_value
from fastenv.testing.laws import RESET, Laws
from fastenv.testing.play import Invalid, Play, Terms
from fastenv.testing.recipes import Sync, write_sync
from fastenv.testing.report import Case, Finding, Report, write_script
from fastenv.testing.search import Player, Search
from fastenv.testing.shrink import shorten, simpler
from fastenv.testing.stress import (
    AGAIN,
    STRESSES,
    UNSEEDED,
    Missing,
    Question,
    move_generators,
    stresses_for,
)
from fastenv.testing.tracks import Frame, SingleTrack, Track, make_track, side_by_side
from fastenv.testing.twins import WORLDS_DRAWN, Twin, question_of
from fastenv.testing.values import is_named

SHORTENING = 4.0  # seconds of processor time, at most, for one finding
LIMITS = (9, 5, 10, 3, 8, 14)  # steps of episodes that are cut short
BESIDE = ("beside another instance", "rendered", "copied", UNSEEDED)  # stresses of two
LOST = 20  # cases that may end before their last call, or by a finding that does not come again


@dataclass(frozen=True)
class Job(ABC):
    """What is examined: how a case is played on it, and what must hold in every case.

    Parameters
    ----------
    env : Source
        What is in doubt.
    terms : Terms
        What may differ.
    """

    env: Source
    terms: Terms
    copies: ClassVar[bool] = True
    tells_missing: ClassVar[bool] = True  # that a stress needs what the environment cannot do

    @property
    def names(self) -> tuple[str, ...]:
        """What is examined, by name."""
        return (self.env.name,)

    @property
    @abstractmethod
    def itself(self) -> Question:
        """What must hold of a case without any stress."""

    def question(self, stress: str) -> Question:
        """Return the question of a stress by its name."""
        return STRESSES[stress]

    @abstractmethod
    def questions(self, track: Track) -> dict[str, Question]:
        """Return by name what must hold of a track like this one."""

    @abstractmethod
    def arguments(self) -> dict[str, str]:
        """Return the arguments of a script, as Python text."""

    def make(self, opened: ExitStack, laws: Laws, **more: Any) -> Track:
        """Return the track in doubt, with more keyword arguments of the environment."""
        track = make_track(self.env.make(**more), laws)
        opened.callback(track.finish)
        return track

    def start(self, opened: ExitStack, laws: Laws) -> Play:
        """Return new environments to play on."""
        move_generators(1)
        return Play(self.make(opened, laws), repeat(None), self.itself, self.terms)

    def play(
        self, case: Case, laws: Laws, player: Player | None = None
    ) -> tuple[list[Frame], Finding | None]:
        """Play a case on new environments; return what it showed, and where it fails.

        Parameters
        ----------
        case : list
            Without what is not played; with what the player adds.
        laws : Laws
            Takes which rules are broken.
        player : Player, optional
            Goes on with the case.

        Raises
        ------
        Invalid
            The case chooses what is not legal.
        """
        with ExitStack() as opened:
            play = self.start(opened, laws)
            return play.trace, play.run(case, player)

    def stress(
        self,
        case: Case,
        trace: list[Frame],
        question: Question,
        late: Callable[[], bool] = lambda: False,
    ) -> Finding | None:
        """Play a case once more under a stress, and return where it differs from what it showed.

        Parameters
        ----------
        case, trace, question
        late : callable, optional
            Whether the time is over: the rest of the case is then left out.

        Raises
        ------
        Missing
            The environment cannot do what the stress needs.
        """
        move_generators(2)
        with ExitStack() as opened:

            def make(**more: Any) -> Track:
                return self.make(opened, Laws(quiet=True), **more)

            tracks = question.lead(make)
            play = Play(None, tracks, question, self.terms, trace=trace, late=late)
            return play.run(list(case))

    def find_again(self, case: Case, stress: str = "", quiet: bool = False) -> list[Finding]:
        """Play a case again; list its findings, or under a stress the difference."""
        laws = Laws(quiet=quiet, ignore=self.terms.ignore)
        trace, found = self.play(case, laws)
        if not stress:
            return [*laws.broken.values(), *([] if found is None else [found])]
        if len(trace) < len(case):  # something else is wrong
            return []
        found = self.stress(case, trace, self.question(stress))
        return [] if found is None else [found]

    def limited(self, number: int) -> Job:
        """Return the job of a case by its number, in some of which episodes are cut short."""
        return self

    def run(self, search: Search) -> Report:
        """Search until the time is over, or until nothing is left that could be found.

        Raises
        ------
        ConfigError
            No case could be played: its first reset fails.
        """
        report, laws = Report(self.names), Laws(ignore=self.terms.ignore)
        with ExitStack() as opened:
            track = self.start(opened, laws).first
            assert track is not None
            questions = self.questions(track)
            search.lanes = track.num_lanes
            search.look_ahead = self.copies and track.mode is None
            search.parts = len(questions) + 2
        search.start()
        known = lost = number = 0
        refused = ""
        asked = {""}
        while questions and lost < LOST:
            job, number = self.limited(number), number + 1
            try:
                case, trace, parted = job._play_next(search, laws)
            except Invalid as error:  # both refuse it, or copies are not independent
                refused, known = str(error), len(laws.broken)
                lost += not report.episodes
                if search.is_over():
                    break
                continue
            report.count(case)
            if len(trace) < len(case):
                lost += 1
            elif parted is None:
                parted = job._ask(questions, case, trace, report, search, asked)
            if parted is not None and job._is_noise(parted, case, trace, report):
                parted = None
            news = [] if parted is None or parted.stress not in questions else [parted]
            found = [*laws.broken.values()][known:] + news
            known = len(laws.broken)
            for each in found:
                shortest = job._shorten(case, each)
                if shortest is None:
                    lost += 1
                    continue
                report.findings.append(replace(shortest, number=number - 1))
                if each in news:
                    _drop(each.stress, questions, all_of_them=len(self.names) > 1)
            if search.is_over():
                break
        if refused and not report.episodes:
            raise ConfigError(f"{' and '.join(self.names)}: no case can be played: {refused}")
        report.findings += self._notes(report, laws, questions.keys() - asked, lost >= LOST)
        report.cells, report.seconds = len(search.cells), search.spent
        return report

    def _notes(
        self, report: Report, laws: Laws, missed: AbstractSet[str], is_lost: bool
    ) -> Iterator[Finding]:
        """Yield what is said at the end: what did not come again, was not asked, and notes."""
        if is_lost and not report.faults:
            rule = "a difference comes again when the same case is played on new environments"
            names, said = (self.names[0], self.names[-1]), ("differs", "not always")
            yield Finding("law broken", rule, "the same twice", names, said)
        if missed:
            rule = f"never asked: {', '.join(sorted(missed))}"
            yield Finding("note", rule, "the search: its time, or cases that ended before")
        yield from laws.notes.values()

    def _play_next(self, search: Search, laws: Laws) -> tuple[Case, list[Frame], Finding | None]:
        """Play the next case; where copies looked ahead, play it again without them."""
        case: Case = []
        player = search.next_player()
        trace, found = self.play(case, laws, player)
        if player.looked_ahead:
            trace, found = self.play(case, Laws(quiet=True))
        return case, trace, found

    def _ask(
        self,
        questions: dict[str, Question],
        case: Case,
        trace: list[Frame],
        report: Report,
        search: Search,
        asked: set[str],
    ) -> Finding | None:
        """Return where a case does not bear the first of the stresses that it does not bear."""
        # What was never asked comes first.
        for name in sorted(questions, key=lambda name: name in asked):
            if not name:
                continue
            question = questions[name]
            try:
                found = self.stress(case, trace, question, search.is_late)
            except Missing as error:
                missing = Finding("capability missing", f"{name}: {error}", question.source)
                report.findings += [missing] * self.tells_missing
                del questions[name]
                continue
            if found is not None or not search.is_late():
                asked.add(name)
            if found is not None or search.is_late():
                return found
            if name == UNSEEDED:  # asked once
                del questions[name]
        return None

    def _is_noise(self, found: Finding, case: Case, trace: list[Frame], report: Report) -> bool:
        """Return whether a difference is of an info that is not the same twice, and ignore it.

        Such as the time that a step took. It is played again more than once: such a time may be
        the same now and then.
        """
        if not found.field.startswith("info."):
            return False
        names = [name for _, name in trace[found.index] if is_named(found.field, [name])]
        name = max(names, key=len, default=found.field)
        for _ in range(3):
            again = self.stress(case[: len(trace)], trace, STRESSES[AGAIN])
            if again is not None and is_named(again.field, [name]):
                self.terms.ignore.append(name)
                rule = f"{name} differs from run to run: it is not compared"
                report.findings.append(Finding("note", rule, RESET))
                return True
        return False

    def _shorten(self, case: Case, found: Finding) -> Finding | None:
        """Return a finding with a short case; None where it does not come again."""
        case, last = case[: found.index + 1], found

        def play_again(tried: Case) -> Case | None:
            nonlocal last
            try:
                again = self.find_again(tried, found.stress, found.kind == "difference")
            except (Invalid, Missing):
                return None
            for each in again:
                if each.is_like(found):
                    last = each
                    return tried[: each.index + 1]
            return None

        kept = play_again(list(case))
        if kept is None and found.kind != "law broken" and found.stress != AGAIN:
            return None
        if kept is None or len(kept) < len(case):  # something outlives the environment
            return self.with_script(replace(found, case=case))
        case = shorten(case, play_again, simpler, SHORTENING)
        return self.with_script(replace(last, case=case))

    def with_script(self, found: Finding) -> Finding:
        """Return a finding with a script that shows it again."""
        given = self.arguments() | {"stress": repr(found.stress) if found.stress else ""}
        title = f"{' and '.join(self.names)}: {found.rule}."
        script = write_script(title, f"{__package__}:replay", given, found.case)
        return replace(found, script=script)


def _drop(name: str, questions: dict[str, Question], *, all_of_them: bool) -> None:
    """Leave out what was answered, and what would only be the same fault again."""
    del questions[name]
    # What is not the same twice differs under any stress; of two, a difference is enough.
    if name == AGAIN or all_of_them:
        questions.clear()
    if name == "copied":
        questions.pop("beside its copy", None)


@dataclass(frozen=True)
class Compare(Job):
    """Two environments that must be equal; see :func:`fastenv.testing.compare`."""

    reference: Source
    sync: Sync | None = None
    tells_missing: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:  # noqa: D102
        return self.env.name, self.reference.name

    @property
    def itself(self) -> Question:  # noqa: D102
        same_seed = "" if self.sync else "; both draw the same from a seed, or need a sync"
        rule = f"{self.names[0]} does what {self.names[1]} does"
        return Question("", rule, f"the reference{same_seed}", names=self.names)

    def start(self, opened: ExitStack, laws: Laws) -> Play:
        """Make both.

        Raises
        ------
        ConfigError
            They are of kinds that cannot be compared.
        """
        a, b = self.names
        first, quiet = self.make(opened, laws), Laws(quiet=True)
        second = make_track(self.reference.make(), quiet)
        opened.callback(second.finish)
        if first.mode is not None and isinstance(second, SingleTrack):
            second = side_by_side(self.reference.make, first, quiet)
            opened.callback(second.finish)
        if isinstance(first, SingleTrack) and second.mode is not None:
            raise ConfigError(
                f"{a} is {first.kind} and {b} {second.kind}: the vector must be the first of both"
            )
        vectors = first.mode is not None and second.mode is not None
        if first.kind != second.kind and not vectors:
            raise ConfigError(
                f"{a} is {first.kind} and {b} {second.kind}: they cannot be compared; a vector "
                "can be compared with a single environment"
            )
        if first.mode is not second.mode and first.mode is not None and second.mode is not None:
            raise ConfigError(
                f"{a} resets its lanes by {first.mode.value} and {b} by {second.mode.value}: "
                "compare each with the single environment"
            )
        if self.sync is not None and not second.singles():
            raise ConfigError(
                f"sync: sets the state of single environments, and {b} is {second.kind}"
            )
        move_generators(1)
        return Play(first, repeat(second), self.itself, self.terms, self.sync)

    def limited(self, number: int) -> Job:  # noqa: D102
        sources = self.env, self.reference
        if number % 3 != 2 or not all(each.takes_limit for each in sources):
            return self
        # Episodes that end by chance at their time limit are rare where it is far away.
        limit = {"max_episode_steps": LIMITS[number // 3 % len(LIMITS)]}
        env, reference = (each.with_options(limit) for each in sources)
        return replace(self, env=env, reference=reference)

    def questions(self, track: Track) -> dict[str, Question]:  # noqa: D102
        # What a case alone cannot show; what a sync needs is not told of one environment.
        stresses = {} if self.sync else stresses_for(track, self.copies)
        return {"": self.itself} | {name: stresses[name] for name in BESIDE if name in stresses}

    def stress(
        self,
        case: Case,
        trace: list[Frame],
        question: Question,
        late: Callable[[], bool] = lambda: False,
    ) -> Finding | None:
        """Hold the first to bear a stress that the reference bears."""
        found = super().stress(case, trace, question, late)
        if found is None or question.name == AGAIN:
            return found
        alone = Check(self.reference, self.terms)
        kept = list(case)
        try:
            shown, broken = alone.play(kept, Laws(quiet=True))
            same = broken is None and len(kept) == len(case)
            return None if same and alone.stress(kept, shown, question) is not None else found
        except (Invalid, Missing):  # such as a single environment, whose case is another one
            return found

    def arguments(self) -> dict[str, str]:  # noqa: D102
        texts = {"fast": self.env.text, "reference": self.reference.text}
        texts["sync"] = write_sync(self.sync)
        return texts | self.terms.texts


@dataclass(frozen=True)
class Check(Job):
    """One environment that must be equal to itself; see :func:`fastenv.testing.check`."""

    copies: bool = True  # type: ignore[misc]
    twin: Twin | None = None

    @property
    def itself(self) -> Question:  # noqa: D102
        rule = "resets and legal actions are accepted"
        source = "Gymnasium, Env.step: actions of action_space; masks: legal actions"
        names = "raised", "allowed"
        return Question("", rule, source, kind="law broken", names=names)

    def question(self, stress: str) -> Question:  # noqa: D102
        if self.twin is not None and stress == WORLDS_DRAWN:
            return question_of(self.twin)
        return super().question(stress)

    def questions(self, track: Track) -> dict[str, Question]:  # noqa: D102
        questions = {"": self.itself} | stresses_for(track, self.copies)
        if self.twin is not None:
            questions[WORLDS_DRAWN] = question_of(self.twin)
        return questions

    def arguments(self) -> dict[str, str]:  # noqa: D102
        twin = "" if self.twin is None else write_value(self.twin)
        return {"env": self.env.text, "twin": twin} | self.terms.texts
