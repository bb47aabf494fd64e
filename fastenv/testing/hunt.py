"""The search for faults: cases are played, then played again under one stress after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

from fastenv.errors import ConfigError
from fastenv.testing.jobs import Job
from fastenv.testing.laws import RESET, Laws
from fastenv.testing.report import Case, Fault, Finding, Invalid, Missing, Report
from fastenv.testing.search import Search
from fastenv.testing.stress import AGAIN, BESIDE_COPY, COPIED, UNSEEDED, Stress
from fastenv.testing.tracks import Frame

LOST = 20  # cases that may end before their last call, or by a finding that does not come again


class Hunt:
    """One search: what is asked still, what is known, what was found.

    Parameters
    ----------
    job : Job
        What is examined.
    search : Search
        Chooses the cases.
    """

    def __init__(self, job: Job, search: Search) -> None:
        self.job: Job = job
        self.search: Search = search
        self.report: Report = Report(job.names)
        self._stresses: dict[str, Stress] = {}  # that are asked still
        self._asked: set[str] = {""}
        self._known: set[str] = set()  # rules that are broken
        self._laws = Laws(self._known, job.ignore)
        self._number = self._lost = 0  # of this case; cases that told nothing

    def run(self) -> Report:
        """Search until the time is over, or until nothing is left that could be found.

        Raises
        ------
        ConfigError
            What is examined cannot be made, or no case can be played: its first reset fails.
        """
        job, search, report, refused = self.job, self.search, self.report, ""
        self._look_at_kind()
        while self._stresses and self._lost < LOST:
            try:
                self._try_case(job.limited(self._number))
            except Invalid as error:  # both refuse it, or copies are not independent
                refused = str(error)
                self._lost += not report.episodes
            self._number += 1
            if search.is_over() or (job.first and report.faults):
                break
        if refused and not report.episodes:
            raise ConfigError(f"{' and '.join(job.names)}: no case can be played: {refused}")
        report.findings += self._remarks()
        report.cells, report.seconds = len(search.cells), search.spent
        return report

    def _look_at_kind(self) -> None:
        """Make what is examined once, to see what can be asked of it."""
        job, lanes, copies = self.job, 1, self.job.copies
        try:
            with ExitStack() as opened:
                track = job.start(opened, self._laws).first
                assert track is not None
                lanes, copies = track.num_lanes, job.copies and track.mode is None
                self._stresses = {each.name: each for each in job.stresses(track)}
        except Fault as fault:  # it could not be closed before its first episode
            self._keep(job, [], job.itself.find(-1, fault))
        self.search.start(lanes, len(self._stresses) + 2, copies=copies)
        # Two may draw at other moments, and after a reset without a seed go other ways.
        self.search.unseeded = job.reference is None

    def _try_case(self, job: Job) -> None:
        """Play the next case, alone and under the stresses."""
        case: Case = []
        self.search.begin_case()
        trace, found = job.play(case, self._laws, self.search)
        if self.search.looked_ahead:  # once more without the copies
            trace, found = job.play(case, self._laws)
        self.report.count(case)
        if found is None:
            found = self._ask(job, case, trace)
        if found is None or self._is_unseeded(job, case[: found.index + 1]):
            return
        if not self._is_noise(job, case[: found.index + 1], found):
            self._lost += not self._keep(job, case, found)

    def _ask(self, job: Job, case: Case, trace: list[Frame]) -> Finding | None:
        """Return where a case does not bear the first of the stresses that it does not bear."""
        # What was never asked comes first.
        for name in sorted(self._stresses, key=lambda name: name in self._asked):
            if not name:
                continue
            stress = self._stresses[name]
            try:
                found = job.stress(case, trace, stress, self.search.is_late)
            except Missing as error:
                if job.reference is None:
                    missing = Finding("capability missing", f"{name}: {error}", stress.source)
                    self.report.findings.append(missing)
                del self._stresses[name]
                continue
            if found is not None or not self.search.is_late():
                self._asked.add(name)
            if found is not None or self.search.is_late():
                return found
            if stress is UNSEEDED:  # asked once
                del self._stresses[name]
        return None

    def _is_unseeded(self, job: Job, case: Case) -> bool:
        """Return whether an episode without a seed does not follow from those before.

        The rules leave that open, as the generator may be new; then no episode begins so again.
        """
        if None not in case or not any(job.play_twice(case) for _ in range(3)):
            return False
        self.search.unseeded = False
        return True

    def _is_noise(self, job: Job, case: Case, found: Finding) -> bool:
        """Return whether a difference is of an info that is not the same twice, and ignore it.

        Such as the time that a step took. It is played again more than once: such a time may be
        the same now and then. What was counted before in the process is another thing: then the
        new plays are equal.
        """
        if not found.field.startswith("info."):
            return False
        for _ in range(3):
            again = job.play_twice(case)
            if again is not None and again.name == found.name:
                job.ignore.append(found.name)
                rule = f"{found.name} differs from run to run: it is not compared"
                self.report.findings.append(Finding("note", rule, RESET))
                return True
        return False

    def _keep(self, job: Job, case: Case, found: Finding) -> bool:
        """Make a finding short and report it, if it is new and comes again.

        One behind a reset without a seed must always come again, or else no more episodes begin so.
        """
        is_law = not found.stress and found.rule != job.itself.rule
        if found.rule in self._known if is_law else found.stress not in self._stresses:
            return False
        shortest = job.shorten(case, found)
        if is_law:
            self._known.add(found.rule)
        is_unseeded = not is_law and None in case[: found.index + 1]
        if is_unseeded and not self._always_comes(job, shortest):
            self.search.unseeded = False  # it may draw from a new generator, and that seldom
            return True
        if shortest is None:
            self._note_once(case[: found.index + 1], found)
            return False
        self.report.findings.append(replace(shortest, number=self._number))
        if not is_law:
            self._drop(found.stress)
        return True

    def _always_comes(self, job: Job, found: Finding | None) -> bool:
        """Return whether a finding comes each time that its case is played."""
        if found is None:
            return False
        return all(job.find_like(list(found.case), found) is not None for _ in range(3))

    def _note_once(self, case: Case, found: Finding) -> None:
        """Note the first difference that does not come again: something outlives environments."""
        is_check = self.job.reference is None
        if is_check and found.stress and not any(each.case for each in self.report.findings):
            noted = replace(
                found,
                kind="note",
                rule=AGAIN.rule,
                source="seen once, and not again by the same calls",
                case=case,
                stress=AGAIN.name,
                number=self._number,
            )
            self.report.findings.append(noted)

    def _drop(self, name: str) -> None:
        """Leave out what was answered, and what would only be the same fault again."""
        del self._stresses[name]
        # What is not the same twice differs under any stress; of two, a difference is enough.
        if name == AGAIN.name or self.job.reference is not None:
            self._stresses.clear()
        if name == COPIED.name:
            self._stresses.pop(BESIDE_COPY.name, None)

    def _remarks(self) -> Iterator[Finding]:
        """Yield what is said at the end: what did not come again, was not asked, and notes."""
        if self._lost >= LOST and not self.report.faults:
            rule = "a difference comes again when the same case is played on new environments"
            names, said = (self.job.names[0], self.job.names[-1]), ("differs", "not always")
            yield Finding("law broken", rule, "the same twice", names, said)
        missed = self._stresses.keys() - self._asked
        if missed:
            rule = f"never asked: {', '.join(sorted(missed))}"
            yield Finding("note", rule, "the search: its time, or cases that ended before")
        yield from self._laws.notes.values()
