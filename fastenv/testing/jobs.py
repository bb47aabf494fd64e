"""The two searches for faults: two environments side by side, and one against itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from fastenv.errors import ConfigError
from fastenv.testing.factories import Factory, is_id, make_env, name_of, text_of
from fastenv.testing.laws import RESET, Laws
from fastenv.testing.recipes import Sync
from fastenv.testing.report import Case, Episode, Finding, Report, write_script
from fastenv.testing.runner import (
    Hit,
    Invalid,
    Pair,
    Terms,
    make_second,
    record,
    replay_stressed,
    shorten,
)
from fastenv.testing.search import Player, Search
from fastenv.testing.stress import (
    STRESSES,
    Copied,
    Later,
    Missing,
    Original,
    Stress,
    move_generators,
    stresses_for,
)
from fastenv.testing.tracks import (
    EngineTrack,
    LanesTrack,
    SingleTrack,
    Track,
    TurnsTrack,
    VectorTrack,
    make_track,
)
from fastenv.testing.twins import check_twins

SHORTENING = 4.0  # seconds of processor time, at most, for one finding
HISTORY = 8  # episodes on one pair of environments, before it is made anew


@dataclass(frozen=True)
class Compare:
    """Two environments that must be equal; see :func:`fastenv.testing.compare`."""

    fast: Factory
    reference: Factory
    sync: Sync | None = None
    sync_text: str = ""
    terms: Terms = field(default_factory=lambda: Terms(loose=True))
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, str]:
        """Both by name."""
        return name_of(self.fast), name_of(self.reference)

    def make(self, laws: Laws) -> Pair:
        """Make both.

        Raises
        ------
        ConfigError
            They are of kinds that cannot be compared.
        """
        fast, reference = self._options()
        first = make_track(make_env(self.fast, fast), laws)
        quiet = Laws(quiet=True)

        def make() -> Any:
            return make_env(self.reference, reference)

        second = make_second(first, make, quiet)
        lanes = (VectorTrack, EngineTrack, LanesTrack)
        if type(first) is not type(second) and not (
            isinstance(first, lanes) and isinstance(second, lanes)
        ):
            raise ConfigError(
                f"{self.names[0]} is {first.kind} and {self.names[1]} {second.kind}: they cannot "
                "be compared; a vector can be compared with a single environment"
            )
        if hasattr(first, "mode") and first.mode != second.mode:  # type: ignore[attr-defined]
            raise ConfigError(
                f"{self.names[0]} resets its lanes by {first.mode.value} and {self.names[1]} by "
                f"{second.mode.value}: compare each with the single environment"  # type: ignore[attr-defined]
            )
        return Pair(first, second, self.terms, self.sync)

    def _options(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the arguments of both: of an id and a function, the function takes them."""
        ids = [isinstance(each, str) and is_id(each) for each in (self.fast, self.reference)]
        both = ids[0] == ids[1]
        return (
            self.options if both or not ids[0] else {},
            self.options if both or not ids[1] else {},
        )

    def play(self, case: Case) -> Hit | None:
        """Play a case on new environments."""
        pair = self.make(Laws(quiet=True))
        move_generators(1)
        try:
            return pair.run(case)
        finally:
            pair.close()

    def arguments(self) -> dict[str, str]:
        """Return the arguments of a script, as Python text."""
        texts = {"fast": text_of(self.fast), "reference": text_of(self.reference)}
        if self.sync_text:
            texts["sync"] = self.sync_text
        if self.terms.ignore:
            texts["ignore"] = repr(tuple(self.terms.ignore))
        if self.terms.rtol:
            texts["rtol"] = repr(self.terms.rtol)
        if self.options:
            texts["options"] = repr(self.options)
        return texts

    def run(self, search: Search) -> Report:
        """Look for the first difference, and make it short."""
        report = Report(self.names)
        laws = Laws()
        pair = self.make(laws)
        move_generators(1)
        history: Case = []
        search.look_ahead = isinstance(pair.second, (SingleTrack, TurnsTrack))
        search.lanes = getattr(pair.first, "num_lanes", 1)
        unsure = 0
        while True:
            episode, player, most = search.next_player()
            history.append(episode)
            search.send("case", history)
            hit = self._play_next(pair, history, player, most)
            report.episodes += 1
            report.steps += len(episode.actions)
            search.learn(episode, player)
            if hit is not None:
                case = [each.copy() for each in history]
                again = self._again(case)
                if again is not None:
                    report.findings.append(self._finding(case, again))
                    break
                unsure += 1
                search.look_ahead = False
            if search.is_over() or unsure > 3:
                break
            if hit is not None or len(history) >= HISTORY:
                pair.close()
                pair, history = self.make(laws), []
                move_generators(1)
        pair.close()
        if unsure and not report.findings:
            rule = "a difference comes again when the same case is played on new environments"
            report.findings.append(
                Finding(
                    "law broken", rule, RESET, names=self.names, values=("differs", "not always")
                )
            )
        known = laws.findings.values()
        report.findings += [each for each in known if each.kind != "note" or not report.faults]
        report.cells, report.seconds = len(search.cells), search.spent
        return report

    def _play_next(self, pair: Pair, history: Case, player: Player, most: int) -> Hit | None:
        """Play the last episode of a history on a pair that has played the others."""
        try:
            hit = pair.run(history[-1:], player, most)
        except Invalid:
            del history[-1].actions[-1:]
            return None
        return None if hit is None else replace(hit, episode=len(history) - 1)

    def _again(self, case: Case) -> Hit | None:
        """Play the whole history again; mostly its last episode is enough."""
        for tried in (case[-1:], case):
            copied = [each.copy() for each in tried]
            try:
                hit = self.play(copied)
            except Invalid:
                continue
            if hit is not None:
                case[:] = copied
                return hit
        return None

    def _finding(self, case: Case, hit: Hit) -> Finding:
        case, hit = shorten(case, hit, self.play, SHORTENING)
        title = f"{self.names[0]} and {self.names[1]} differ in {hit.where}."
        return Finding(
            "difference",
            f"{self.names[0]} does what {self.names[1]} does",
            "the reference",
            hit.where,
            self.names,
            hit.values,
            case,
            script=write_script(title, self.arguments(), case, ""),
        )


@dataclass(frozen=True)
class Check:
    """One environment that must be equal to itself; see :func:`fastenv.testing.check`."""

    env: Factory
    copies: bool = True
    twin: Callable[..., Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str]:
        """Its name."""
        return (name_of(self.env),)

    def make(self, laws: Laws, **more: Any) -> Track:
        """Make a track of it."""
        return make_track(make_env(self.env, self.options | more), laws)

    def _make_quiet(self, **more: Any) -> Track:
        return self.make(Laws(quiet=True), **more)

    def play(self, case: Case, stress: str) -> Hit | None:
        """Record a case on a new environment, and return where it parts under stress."""
        kind = STRESSES.get(stress, Stress)
        before, case = (case[:-1], case[-1:]) if kind is Later else ([], case)
        track = self._make_quiet()
        move_generators(1)
        trace = record(track, case)
        track.close()
        if isinstance(trace, Hit):
            return trace if stress == "" else None
        if stress == "":
            return None
        return self._stressed(kind, before, case, trace)

    def _stressed(self, kind: type[Stress], before: Case, case: Case, trace: Any) -> Hit | None:
        """Lead a stressed track through a case, after the episodes before it."""
        move_generators(2)
        stress = kind(self._make_quiet)
        hit = replay_stressed(case, trace, stress, before)
        return None if hit is None else replace(hit, episode=hit.episode + len(before))

    def find_broken(self, case: Case, rule: str) -> Hit | None:
        """Return the place where a case breaks a law, on a new environment."""
        laws = Laws()
        track = self.make(laws)
        try:
            record(track, case)
        finally:
            track.close()
        if rule not in laws.findings:
            return None
        return Hit(len(case) - 1, len(case[-1].actions), "", rule, ("", ""))

    def arguments(self) -> dict[str, str]:
        """Return the arguments of a script, as Python text."""
        texts = {"env": text_of(self.env)}
        if self.twin is not None:
            texts["twin"] = text_of(self.twin)
        if self.options:
            texts["options"] = repr(self.options)
        return texts

    def run(self, search: Search) -> Report:
        """Hold an environment to the laws, and to itself under stress."""
        report, laws = Report(self.names), Laws()
        track = self.make(laws)
        stresses = stresses_for(track, self.copies)
        search.lanes = getattr(track, "num_lanes", 1)
        if not isinstance(track, (SingleTrack, TurnsTrack)) or not self.copies:
            search.look_ahead = False
        track.close()
        report.findings += self.check_unseeded()
        if self.twin is not None and not hasattr(track, "num_lanes"):
            report.findings += self._check_twins(search)
        known: set[str] = set()
        while True:
            episode, player, most = search.next_player()
            case = [episode]
            search.send("case", case)
            track = self.make(laws)
            move_generators(1)
            trace = self._record(track, case, player, most)
            track.close()
            report.episodes += 1
            report.steps += len(episode.actions)
            search.learn(episode, player)
            report.findings += self._laws_of(case, laws, known)
            if isinstance(trace, Hit):
                if trace.field == "raises" and "raises" not in known:
                    known.add("raises")
                    report.findings.append(self._raised(case, trace))
            else:
                self._stress(case, trace, stresses, report, search)
            if search.is_over():
                break
        report.findings += [each for each in laws.findings.values() if each.kind == "note"]
        report.cells, report.seconds = len(search.cells), search.spent
        return report

    def _record(self, track: Track, case: Case, player: Player, most: int) -> Any:
        """Play a case; where copies looked ahead, play it again without them."""
        trace = record(track, case, player, most)
        if player.looked_ahead and not isinstance(trace, Hit):
            fresh = self._make_quiet()
            move_generators(1)
            try:
                trace = record(fresh, case)
            except Invalid:  # copies are not independent: the stress of copies says so
                case[0].actions.clear()
                trace = record(fresh, case)
            fresh.close()
        return trace

    def _stress(
        self,
        case: Case,
        trace: Any,
        stresses: list[type[Stress]],
        report: Report,
        search: Search,
    ) -> None:
        """Hold a recorded case against stressed tracks; drop a stress that found something."""
        for stress in tuple(stresses):
            before = search.draw_episodes() if stress is Later else []
            try:
                hit = self._stressed(stress, before, case, trace)
            except Missing as error:
                stresses.remove(stress)
                report.findings.append(
                    Finding("capability missing", f"{stress.name}: {error}", stress.source)
                )
                continue
            if hit is None:
                if search.is_over():
                    return
                continue
            if issubclass(stress, Copied):
                search.look_ahead = False
            report.findings.append(self._finding([*before, *case], hit, stress))
            stresses.remove(stress)
            if stress is Copied and Original in stresses:  # the same fault from its other side
                stresses.remove(Original)
            if stress is Stress:  # what is not the same twice differs under any stress
                stresses.clear()
            return

    def _finding(self, case: Case, hit: Hit, stress: type[Stress]) -> Finding:
        def fails(tried: Case) -> Hit | None:
            return self.play(tried, stress.name)

        case, hit = shorten(case, hit, fails, SHORTENING)
        name = self.names[0]
        title = f"{name}, {stress.name}, differs in {hit.where}."
        return Finding(
            "difference",
            stress.rule,
            stress.source,
            hit.where,
            ("alone", stress.name),
            hit.values,
            case,
            stress.name,
            write_script(title, self.arguments(), case, stress.name),
        )

    def _raised(self, case: Case, hit: Hit) -> Finding:
        case, hit = shorten(case, hit, partial(self.play, stress=""), SHORTENING)
        call = "reset" if hit.step == 0 else "a legal action"
        title = f"{self.names[0]} raises: {hit.values[0]}"
        title = title.replace('"', "'").replace("\\", "/").replace("\n", " ")
        return Finding(
            "law broken",
            f"{call} is accepted",
            "Gymnasium, Env.step: actions of action_space; masks: legal actions",
            hit.where,
            ("raised", ""),
            (hit.values[0], ""),
            case,
            script=write_script(title, self.arguments(), case, ""),
        )

    def _laws_of(self, case: Case, laws: Laws, known: set[str]) -> list[Finding]:
        """Return the laws that were broken in a case for the first time, each with a short case."""
        found = []
        for rule, finding in laws.findings.items():
            if rule in known or finding.kind == "note":
                continue
            known.add(rule)
            hit = Hit(0, len(case[0].actions), "", rule, ("", ""))
            short, _ = shorten(case, hit, partial(self.find_broken, rule=rule), 2)
            script = write_script(f"{self.names[0]}: {rule}.", self.arguments(), short, "")
            found.append(replace(finding, case=short, script=script))
        return found

    def check_unseeded(self) -> list[Finding]:
        """Hold a reset without a seed to go on with the generator."""
        firsts, seconds = [], []
        for seed in range(8):
            track = self._make_quiet()
            try:
                firsts.append(cell_of_start(track, seed))
                seconds.append(cell_of_start(track, None))
            except Exception:
                return []
            finally:
                track.close()
        random_start = len(set(firsts)) > 2
        if not random_start or (len(set(seconds)) > 1 and seconds != firsts):
            return []
        rule = "a reset without a seed goes on with the generator"
        values = "every time the same start", "another start each time"
        case = [Episode(0), Episode(None)]
        script = write_script(f"{self.names[0]}: {rule}.", self.arguments(), case, "")
        return [
            Finding(
                "law broken", rule, RESET, "", ("returned", "allowed"), values, case, "", script
            )
        ]

    def _check_twins(self, search: Search) -> list[Finding]:
        """Hold worlds that look the same to an agent to show it the same, and to be possible."""
        assert self.twin is not None
        finding = check_twins(self.make, self.twin, search)
        if finding is None:
            return []
        title = f"{self.names[0]}: {finding.rule}."
        return [replace(finding, script=write_script(title, self.arguments(), finding.case, ""))]


def cell_of_start(track: Track, seed: int | None) -> int:
    """Return what is shown at the beginning of an episode, as a number."""
    frame = track.reset(seed)
    return hash(repr(sorted(((k, repr(v)) for k, v in frame.items() if k[1] != "mask"), key=str)))
