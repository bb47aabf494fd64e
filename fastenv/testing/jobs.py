"""The search for faults: of two environments side by side, and of one against itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, ClassVar

from fastenv.errors import ConfigError
from fastenv.testing.factories import Source
from fastenv.testing.laws import RESET, Laws
from fastenv.testing.play import Invalid, Play, Terms
from fastenv.testing.recipes import Sync
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

SHORTENING = 4.0  # seconds of processor time, at most, for one finding
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
        opened.callback(track.close)
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

    def stress(self, case: Case, trace: list[Frame], question: Question) -> Finding | None:
        """Play a case once more under a stress, and return where it differs from what it showed.

        Raises
        ------
        Missing
            The environment cannot do what the stress needs.
        """
        move_generators(2)
        with ExitStack() as opened:

            def make(**more: Any) -> Track:
                return self.make(opened, Laws(quiet=True), **more)

            play = Play(None, question.lead(make), question, self.terms, trace=trace)
            return play.run(list(case))

    def find_again(self, case: Case, stress: str = "", quiet: bool = False) -> list[Finding]:
        """Play a case again; list its findings, or under a stress the difference."""
        laws = Laws(quiet=quiet)
        trace, found = self.play(case, laws)
        if not stress:
            return [*laws.broken.values(), *([] if found is None else [found])]
        if len(trace) < len(case):  # something else is wrong
            return []
        found = self.stress(case, trace, self.question(stress))
        return [] if found is None else [found]

    def run(self, search: Search) -> Report:
        """Search until the time is over, or until nothing is left that could be found."""
        report, laws, lost = Report(self.names), Laws(), 0
        with ExitStack() as opened:
            track = self.start(opened, Laws(quiet=True)).first
            assert track is not None
            questions = self.questions(track)
            search.lanes = track.num_lanes
            search.look_ahead = self.copies and track.mode is None
        while questions and lost < LOST:
            known = len(laws.broken)
            case, trace, parted = self._play_next(search, laws)
            report.count(case)
            found = list(laws.broken.values())[known:]
            if len(trace) < len(case):
                lost += 1
            elif parted is None:
                parted = self._ask(questions, case, trace, report, search)
            if parted is not None and parted.stress in questions:
                found.append(parted)
            for each in found:
                shortest = self._shorten(case, each)
                if shortest is None:
                    lost += 1
                    continue
                report.findings.append(shortest)
                if each is parted:
                    _drop(each.stress, questions)
                    if len(self.names) > 1:  # of two, the first difference is enough
                        questions.clear()
            if search.is_over():
                break
        if lost >= LOST and not report.faults:
            rule = "a difference comes again when the same case is played on new environments"
            names = self.names[0], self.names[-1]
            said = "differs", "not always"
            report.findings.append(Finding("law broken", rule, "the same twice", names, said))
        report.findings += laws.notes.values()
        report.cells, report.seconds = len(search.cells), search.spent
        return report

    def _play_next(self, search: Search, laws: Laws) -> tuple[Case, list[Frame], Finding | None]:
        """Play the next case; where copies looked ahead, play it again without them."""
        case: Case = []
        player = search.next_player()
        try:
            trace, found = self.play(case, laws, player)
            if player.looked_ahead:
                trace, found = self.play(case, Laws(quiet=True))
        except Invalid:  # both refuse it, or copies are not independent: a stress says so
            return [], [], None
        return case, trace, found

    def _ask(
        self,
        questions: dict[str, Question],
        case: Case,
        trace: list[Frame],
        report: Report,
        search: Search,
    ) -> Finding | None:
        """Return where a case does not bear the first of the stresses that it does not bear."""
        for name, question in tuple(questions.items()):
            if not name:
                continue
            try:
                found = self.stress(case, trace, question)
            except Missing as error:
                missing = Finding("capability missing", f"{name}: {error}", question.source)
                report.findings.append(missing)
                del questions[name]
                continue
            if found is not None and name == AGAIN and found.field.startswith("info."):
                report.findings.append(self._ignore(found.field))
                return None
            if found is not None or search.is_late():
                return found
            if name == UNSEEDED:  # asked once
                del questions[name]
        return None

    def _ignore(self, info: str) -> Finding:
        """Compare an info no more that is not the same twice, such as the time a step took."""
        name = info.partition("[")[0]
        self.terms.ignore.append(name)
        return Finding("note", f"{name} differs from run to run: it is not compared", RESET)

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


def _drop(name: str, questions: dict[str, Question]) -> None:
    """Leave out what was answered, and what would only be the same fault again."""
    del questions[name]
    if name == AGAIN:  # what is not the same twice differs under any stress
        questions.clear()
    if name == "copied":
        questions.pop("beside its copy", None)


@dataclass(frozen=True)
class Compare(Job):
    """Two environments that must be equal; see :func:`fastenv.testing.compare`."""

    reference: Source
    sync: Sync | None = None
    sync_text: str = ""

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
        opened.callback(second.close)
        if first.mode is not None and isinstance(second, SingleTrack):
            second = side_by_side(self.reference.make, first, quiet)
            opened.callback(second.close)
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

    def questions(self, track: Track) -> dict[str, Question]:  # noqa: D102
        # One pair alone has no other instance beside it; what a sync needs is not told of one.
        stresses = () if self.sync else ("beside another instance",)
        return {"": self.itself} | {name: STRESSES[name] for name in stresses}

    def arguments(self) -> dict[str, str]:  # noqa: D102
        texts = {"fast": self.env.text, "reference": self.reference.text, "sync": self.sync_text}
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
        if self.twin is not None and track.mode is None:
            questions[WORLDS_DRAWN] = question_of(self.twin)
        return questions

    def arguments(self) -> dict[str, str]:  # noqa: D102
        twin = "" if self.twin is None else Source(self.twin).text
        return {"env": self.env.text, "twin": twin} | self.terms.texts
