"""The search for faults: of two environments side by side, and of one against itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from fastenv.errors import ConfigError
from fastenv.testing.factories import Source
from fastenv.testing.laws import RESET, Laws
from fastenv.testing.play import Hit, Invalid, Play, Terms, follow
from fastenv.testing.recipes import Sync
from fastenv.testing.report import Case, Finding, Report, place_of, write_script
from fastenv.testing.search import Search
from fastenv.testing.shrink import shorten, simpler
from fastenv.testing.stress import (
    STRESSES,
    UNSEEDED,
    Missing,
    Stress,
    move_generators,
    stresses_for,
)
from fastenv.testing.tracks import (
    EngineTrack,
    Frame,
    SingleTrack,
    Track,
    TurnsTrack,
    VectorTrack,
    make_track,
    side_by_side,
)
from fastenv.testing.twins import stress_of

SHORTENING = 4.0  # seconds of processor time, at most, for one finding
LOST = 20  # cases that may end by a broken law, or by a difference that does not come again


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

    def make(self, laws: Laws, **more: Any) -> Track:
        """Return the track in doubt, with more keyword arguments of the environment."""
        return make_track(self.env.make(**more), laws)

    @abstractmethod
    def start(self, laws: Laws) -> Play:
        """Return new environments to play on."""

    @abstractmethod
    def questions(self, track: Track) -> dict[str, Stress]:
        """Return what must hold, by names of stresses; the first, "", is the case itself."""

    @abstractmethod
    def arguments(self) -> dict[str, str]:
        """Return the arguments of a script, as Python text."""

    def stress(self, name: str) -> Stress:
        """Return a stress by its name."""
        return STRESSES[name]

    def play(
        self,
        case: Case,
        stress: str = "",
        trace: list[Frame] | None = None,
        laws: Laws | None = None,
    ) -> Hit | None:
        """Play a case on new environments, and return where it fails.

        Parameters
        ----------
        case : list
        stress : str
            What a second track bears; "": the case itself.
        trace : list of dict, optional
            What an undisturbed track showed, if that is known.
        laws : Laws, optional
            Takes which rules are broken.

        Raises
        ------
        Invalid
            The case chooses what is not legal.
        """
        if trace is None:
            with closing(self.start(laws or Laws(quiet=True))) as play:
                hit = play.run(case)
            if hit is not None or not stress:
                return None if stress else hit  # under stress, that is something else
            trace = play.trace
        move_generators(2)
        lead = self.stress(stress).lead
        with closing(lead(lambda **more: self.make(Laws(quiet=True), **more))) as leading:
            return follow(case, trace, leading, self.terms)

    def run(self, search: Search) -> Report:
        """Search until the time is over, or until nothing is left that could be found."""
        report, laws, lost = Report(self.names), Laws(), 0
        with closing(self.start(Laws(quiet=True))) as play:
            questions = self.questions(play.first)
            search.lanes = getattr(play.first, "num_lanes", 1)
            copied = SingleTrack, TurnsTrack
            search.look_ahead = self.copies and isinstance(play.second or play.first, copied)
        while questions and lost < LOST:
            case, trace, hit = self._play_next(search, laws)
            report.count(case)
            report.findings += self._laws_of(case, laws, report)
            name = ""
            if hit is None:
                name, hit = self._ask(questions, case, trace, report, search)
            if hit is not None and name == "again" and hit.field.startswith("info."):
                report.findings.append(self._ignore(hit.field))
                hit = None
            if hit is not None and name in questions and hit.field != "broken law":
                finding = self._find(case, hit, questions[name])
                if finding is not None:
                    report.findings.append(finding)
                    _drop(name, questions)
                    if len(self.names) > 1:  # of two, the first difference is enough
                        questions.clear()
                    hit = None
            lost += hit is not None
            if search.is_over():
                break
        if lost == LOST and not report.faults:
            rule = "a difference comes again when the same case is played on new environments"
            names = self.names[0], self.names[-1]
            said = "differs", "not always"
            report.findings.append(Finding("law broken", rule, "the same twice", "", names, said))
        report.findings += [each for each in laws.findings.values() if each.kind == "note"]
        report.cells, report.seconds = len(search.cells), search.spent
        return report

    def _play_next(self, search: Search, laws: Laws) -> tuple[Case, list[Frame], Hit | None]:
        """Play the next case; where copies looked ahead, play it again without them."""
        case: Case = []
        player = search.next_player()
        try:
            with closing(self.start(laws)) as play:
                hit = play.run(case, player)
            if player.looked_ahead:
                with closing(self.start(Laws(quiet=True))) as play:
                    hit = play.run(case)
        except Invalid:  # both refuse it, or copies are not independent: a stress says so
            return [], [], None
        return case, play.trace, hit

    def _ask(
        self,
        questions: dict[str, Stress],
        case: Case,
        trace: list[Frame],
        report: Report,
        search: Search,
    ) -> tuple[str, Hit | None]:
        """Return the first stress that a case does not bear, and where."""
        for name, stress in tuple(questions.items()):
            if not name:
                continue
            try:
                hit = self.play(case, name, trace)
            except Missing as error:
                found = Finding("capability missing", f"{name}: {error}", stress.source)
                report.findings.append(found)
                del questions[name]
                continue
            if hit is not None or search.is_late():
                return name, hit
            if name == UNSEEDED:  # asked once
                del questions[name]
        return "", None

    def _ignore(self, info: str) -> Finding:
        """Compare an info no more that is not the same twice, such as the time a step took."""
        name = info.partition("[")[0]
        self.terms.ignore.append(name)
        return Finding("note", f"{name} differs from run to run: it is not compared", RESET)

    def _find(self, case: Case, hit: Hit, question: Stress) -> Finding | None:
        """Return a finding with a short case; None where it does not come again."""
        try:
            again = self.play(list(case), question.name)
        except Invalid:
            again = None
        if again is None and question.name != "again":
            return None
        case = case[: hit.index + 1]
        if again is not None and again.index == hit.index:  # or something outlives the environment
            case, hit = _shorten(case, again, lambda tried: self.play(tried, question.name))
        place = place_of(case, hit.index)
        who = f" of {hit.who}" if hit.who else ""
        finding = Finding(
            "difference" if question.name or len(self.names) > 1 else "law broken",
            hit.rule or question.rule,
            question.source,
            f"{hit.field}{who}, {place}" if hit.field else f"{hit.who or 'the agent'}, {place}",
            self.names_of(question.name),
            hit.values,
            case,
            question.name,
        )
        return self._with_script(finding, f"{' and '.join(self.names)}: {finding.rule}.")

    def names_of(self, stress: str) -> tuple[str, str]:
        """Return what the two values of a hit are called."""
        if stress:
            return "alone", stress
        return (self.names[0], self.names[1]) if len(self.names) > 1 else ("raised", "allowed")

    def _with_script(self, finding: Finding, title: str) -> Finding:
        given = self.arguments() | {"stress": repr(finding.stress) if finding.stress else ""}
        script = write_script(title, f"{__package__}:replay", given, finding.case)
        return replace(finding, script=script)

    def _laws_of(self, case: Case, laws: Laws, report: Report) -> list[Finding]:
        """Return the laws that were broken for the first time, each with a short case."""
        known = {finding.rule for finding in report.findings}
        found = []
        for rule, finding in laws.findings.items():
            if rule in known or finding.kind == "note":
                continue

            def breaks(tried: Case, rule: str = rule) -> Hit | None:
                laws = Laws()
                self.play(tried, laws=laws)
                return Hit(len(tried) - 1, "", "", ("", "")) if rule in laws.findings else None

            short, hit = _shorten(case, Hit(len(case) - 1, "", "", ("", "")), breaks)
            finding = replace(finding, case=short, where=place_of(short, hit.index))
            found.append(self._with_script(finding, f"{self.names[0]}: {rule}."))
        return found


def _drop(name: str, questions: dict[str, Stress]) -> None:
    """Leave out what was answered, and what would only be the same fault again."""
    del questions[name]
    if name == "again":  # what is not the same twice differs under any stress
        questions.clear()
    if name == "copied":
        questions.pop("beside its copy", None)


def _shorten(case: Case, hit: Hit, fails: Callable[[Case], Hit | None]) -> tuple[Case, Hit]:
    """Return a shorter case that fails in the same field, and where."""
    best = hit

    def kept(tried: Case) -> Case | None:
        nonlocal best
        try:
            found = fails(tried)
        except Invalid:
            return None
        if found is None or not hit.is_like(found):
            return None
        best = found
        return tried[: found.index + 1]

    case = shorten(case[: hit.index + 1], kept, simpler, SHORTENING)
    return case, best


@dataclass(frozen=True)
class Compare(Job):
    """Two environments that must be equal; see :func:`fastenv.testing.compare`."""

    reference: Source
    sync: Sync | None = None
    sync_text: str = ""

    @property
    def names(self) -> tuple[str, ...]:  # noqa: D102
        return self.env.name, self.reference.name

    def start(self, laws: Laws) -> Play:
        """Make both.

        Raises
        ------
        ConfigError
            They are of kinds that cannot be compared.
        """
        first, quiet = self.make(laws), Laws(quiet=True)
        second = make_track(self.reference.make(), quiet)
        many = VectorTrack, EngineTrack
        if isinstance(first, many) and isinstance(second, SingleTrack):
            second.close()
            second = side_by_side(self.reference.make, first, quiet)
        a, b = self.names
        lanes = isinstance(first, many) and isinstance(second, many)
        if type(first) is not type(second) and not lanes:
            raise ConfigError(
                f"{a} is {first.kind} and {b} {second.kind}: they cannot be compared; a vector "
                "can be compared with a single environment"
            )
        if lanes and first.mode != second.mode:  # type: ignore[attr-defined]
            raise ConfigError(
                f"{a} resets its lanes by {first.mode.value} and {b} by "  # type: ignore[attr-defined]
                f"{second.mode.value}: compare each with the single environment"  # type: ignore[attr-defined]
            )
        if self.sync is not None and not second.singles():
            raise ConfigError(
                f"sync: sets the state of single environments, and {b} is {second.kind}"
            )
        move_generators(1)
        return Play(first, second, self.terms, self.sync)

    def questions(self, track: Track) -> dict[str, Stress]:  # noqa: D102
        rule = f"{self.names[0]} does what {self.names[1]} does"
        source = "the reference"
        if self.sync is not None:
            return {"": Stress("", rule, source, STRESSES["again"].lead)}
        source += "; both draw the same from a seed, or need a sync"
        beside = STRESSES["beside another instance"]  # of which one pair alone has none
        return {"": Stress("", rule, source, beside.lead), beside.name: beside}

    def arguments(self) -> dict[str, str]:  # noqa: D102
        texts = {"fast": self.env.text, "reference": self.reference.text, "sync": self.sync_text}
        return texts | self.terms.texts


@dataclass(frozen=True)
class Check(Job):
    """One environment that must be equal to itself; see :func:`fastenv.testing.check`."""

    copies: bool = True  # type: ignore[misc]
    twin: Callable[..., Any] | None = None

    def start(self, laws: Laws) -> Play:  # noqa: D102
        move_generators(1)
        return Play(self.make(laws), None, self.terms)

    def stress(self, name: str) -> Stress:  # noqa: D102
        twins = stress_of(self.twin)
        return twins if name == twins.name else super().stress(name)

    def questions(self, track: Track) -> dict[str, Stress]:  # noqa: D102
        rule = "resets and legal actions are accepted"
        source = "Gymnasium, Env.step: actions of action_space; masks: legal actions"
        questions = {"": Stress("", rule, source, STRESSES["again"].lead)}
        questions |= {name: STRESSES[name] for name in stresses_for(track, self.copies)}
        if self.twin is not None and not hasattr(track, "num_lanes"):
            twins = stress_of(self.twin)
            questions[twins.name] = twins
        return questions

    def arguments(self) -> dict[str, str]:  # noqa: D102
        twin = "" if self.twin is None else Source(self.twin).text
        return {"env": self.env.text, "twin": twin} | self.terms.texts
