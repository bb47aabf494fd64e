"""Lead one track through a case, or two side by side, and find where they part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from fastenv.testing.report import Call, Case, Fault, Finding, Invalid, Missing, Refused, is_step
from fastenv.testing.search import Search
from fastenv.testing.stress import Stress
from fastenv.testing.sync import Following
from fastenv.testing.tracks import Frame, Track
from fastenv.testing.values import say_error


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

        Steps after the end of an episode are taken out of the case, and what comes after a finding.

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
                if steps and (played == 0 or self._is_over()):
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
