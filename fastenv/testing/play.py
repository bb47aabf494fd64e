"""Lead one track through a case, or two side by side, and find where they part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from fastenv.testing.laws import Broken
from fastenv.testing.recipes import Sync
from fastenv.testing.report import Call, Case, Finding, is_step
from fastenv.testing.search import Player
from fastenv.testing.stress import Fault, Missing, Question, Refused
from fastenv.testing.tracks import Actions, Frame, Track, find_mask, find_method
from fastenv.testing.values import first_difference, is_named, say_error, show, to_action

ORDER = ("mask", "turn", "agents", "terminated", "truncated", "reward", "final observation")


class Invalid(Exception):
    """A case cannot be played: it chooses an action that is not legal, or both refuse a call."""


@dataclass(frozen=True)
class Terms:
    """What may differ.

    Parameters
    ----------
    ignore : list of str
        Fields that are not compared; ``info`` is all infos.
    rtol : float
        Tolerance of numbers.
    loose : bool
        Compare infos and masks only where both sides have them, as between two packages.
    """

    ignore: list[str] = field(default_factory=list)
    rtol: float = 0.0
    loose: bool = False

    @property
    def texts(self) -> dict[str, str]:
        """As arguments of a script."""
        ignore = repr(tuple(self.ignore)) if self.ignore else ""
        return {"ignore": ignore, "rtol": repr(self.rtol) if self.rtol else ""}

    def first_difference(
        self, a: Frame, b: Frame, begun: set[str] | None = None
    ) -> tuple[str, str, Any, Any] | None:
        """Return who, field and both values of the first difference of two frames, or None.

        Parameters
        ----------
        a, b : dict
        begun : set of str, optional
            Of whom observation, mask and infos say nothing: the second is not yet in the first's
            state.
        """
        for key in _ordered(tuple(a), tuple(b)):
            who, field = key
            both = key in a and key in b
            found: Any = field, a.get(key, "nothing"), b.get(key, "nothing")
            if both:
                found = first_difference(field, a[key], b[key], self.rtol)
            if found is None or is_named(field, self.ignore):
                continue
            extra = field == "mask" or field.startswith("info.")
            later = begun and who in begun and (extra or field == "observation")
            if not later and (both or not (self.loose and extra)):
                return (who, *found)
        return None


@lru_cache(maxsize=4096)
def _ordered(ours: tuple[tuple[str, str], ...], theirs: tuple[tuple[str, str], ...]) -> Any:
    """Return all fields of two frames in the order of a comparison: masks first, infos last."""

    def rank(key: tuple[str, str]) -> int:
        return ORDER.index(key[1]) if key[1] in ORDER else 10 + key[1].startswith("info.")

    return sorted(dict.fromkeys((*ours, *theirs)), key=rank)


class Play:
    """One track, or two side by side, of which the second may be brought into the first's state.

    Parameters
    ----------
    first : Track, optional
        None: the trace is what it showed before.
    seconds : iterator of Track or None
        What takes the next call beside the first. It may disturb a track between two calls, and
        after the last one.
    question : Question
        What must hold.
    terms : Terms
    sync : Sync, optional
    trace : list of dict, optional
        What the first one showed, a frame a call.
    late : callable, optional
        Whether the time is over: the rest of a case is then left out.
    """

    def __init__(
        self,
        first: Track | None,
        seconds: Iterator[Track | None],
        question: Question,
        terms: Terms,
        sync: Sync | None = None,
        trace: list[Frame] | None = None,
        late: Callable[[], bool] = lambda: False,
    ) -> None:
        self.first: Track | None = first
        self.second: Track | None = None
        self.trace: list[Frame] = trace or []
        self._seconds = seconds
        self._question = question
        self._terms = terms
        self._sync = sync
        self._late = late

    def run(self, case: Case, player: Player | None = None) -> Finding | None:
        """Play a case, and return where it fails: where one raises, or where both part.

        Steps after the end of an episode are taken out of the case, and what comes after a finding.

        Parameters
        ----------
        case : list
        player : Player, optional
            Goes on with the case.

        Raises
        ------
        Invalid
            The case chooses what is not legal.
        Missing
            The environment cannot do what the stress needs.
        """
        index = 0
        while True:
            if self._late():
                del case[index:]
            if index == len(case) and player is not None:
                case += player.next(self._leader())
            if index < len(case) and is_step(case[index]) and (index == 0 or self._is_over()):
                del case[index]
                continue
            try:
                found = self._disturb(index, case)
                if found is None and index < len(case):
                    found = self._call(index, case[index], player)
            except Broken:  # the laws of the first one have it
                del case[index + 1 :]
                return None
            if found is not None:
                del case[found.index + 1 :]
            if found is not None or index == len(case):
                return found
            index += 1

    def _is_over(self) -> bool:
        """Return whether either ended its episode, while both are played."""
        both = self.first, self.second
        return self.first is not None and any(each is not None and each.over for each in both)

    def _leader(self) -> Track:
        """Return whose masks count: the first, or the second where only that has some."""
        first, second = self.first, self.second
        assert first is not None
        masks = any(choice.mask is not None for choice in first.turn.values())
        if masks or second is None or self._sync is not None:
            return first
        return second if first.turn.keys() == second.turn.keys() else first

    def _disturb(self, index: int, case: Case) -> Finding | None:
        """Take the second track of the next call, and return what went wrong in between."""
        if self.second is not None and index < len(case) and not is_step(case[index]):
            self.second.over = True  # its episode is left
        try:
            self.second = next(self._seconds)
        except (Missing, Refused):
            raise
        except Fault as fault:
            question = replace(self._question, rule=fault.rule)
            return question.find(index - 1, *fault.values, fault.who)
        except Exception as error:
            return self._question.find(index - 1, "nothing", say_error(error), field="raises")
        return None

    def _call(self, index: int, call: Call, player: Player | None) -> Finding | None:
        if self.first is None:
            return self._compare(index, self.trace[index], self._try_second(call))
        allowed = None
        if isinstance(call, dict):
            if not self._leader().allows(call):
                raise Invalid(f"{call} is not legal")
            allowed = self._list_outcomes(call)
        self.first.laws.index = index
        a: Frame | str
        try:
            a = self.first.call(call)
        except Broken:
            raise
        except Exception as error:
            a = say_error(error)
        else:
            self.trace.append(a)
            if player is not None:
                player.see(a)
        if self.second is None:
            if isinstance(a, dict):
                return None
            return self._question.find(index, a, "nothing", field="raises")
        if allowed is not None and isinstance(a, dict) and isinstance(call, dict):
            found = self._compare_outcomes(index, a, allowed, call)
            # Its episodes end and begin where the first's do, and its state will be set.
            self.second.over, self.second.begun = self.first.over, self.first.begun
            self.second.resting = self.first.resting
        else:
            found = self._compare(index, a, self._try_second(call))
        if found is None and isinstance(a, dict):
            self._synchronise(a)
        return found

    def _try_second(self, call: Call) -> Frame | str:
        """Run a call on the second track; return its frame, or the text of its error."""
        assert self.second is not None
        try:
            return self.second.call(call)
        except Exception as error:
            return say_error(error)

    def _compare(self, index: int, a: Frame | str, b: Frame | str) -> Finding | None:
        if isinstance(a, dict) and isinstance(b, dict):
            begun = self.second.begun if self._sync is not None and self.second else None
            found = self._terms.first_difference(a, b, begun)
            if found is None:
                return None
            who, field, x, y = found
            return self._question.find(index, show(x), show(y), who, field)
        if isinstance(a, str) and isinstance(b, str):
            raise Invalid(a)  # both refuse it
        raised = [each if isinstance(each, str) else "nothing" for each in (a, b)]
        return self._question.find(index, raised[0], raised[1], field="raises")

    def _synchronise(self, a: Frame) -> None:
        """Bring the second into the state of the first, where an episode began or each step."""
        if self._sync is None or self.first is None or self.second is None:
            return
        each_step = self._sync.each_step or self._sync.outcomes is not None
        for who, env in self.second.singles().items():
            due = who in self.second.begun or each_step
            if due and who not in self.second.resting:
                try:
                    self._sync.set_state(self.first.env, env, a[who, "observation"])
                except Exception as error:
                    raise Refused(f"sync: {say_error(error)}") from error

    def _list_outcomes(self, actions: Actions) -> dict[str, list[Any]] | None:
        """List the outcomes that the reference allows for the actions, by who chose them."""
        if self.second is None or self._sync is None or self._sync.outcomes is None:
            return None
        try:
            return {
                who: self._sync.outcomes(env, actions[who])
                for who, env in self.second.singles().items()
                if who not in self.second.resting
            }
        except Exception as error:
            raise Refused(f"sync: outcomes: {say_error(error)}") from error

    def _compare_outcomes(
        self, index: int, a: Frame, allowed: dict[str, list[Any]], actions: Actions
    ) -> Finding | None:
        """Hold a step to be one of its outcomes, and what is no chance to be the reference's."""
        assert self.first is not None
        assert self.second is not None
        singles, begun = self.second.singles(), self.first.begun
        for who, outcomes in allowed.items():
            shown = a.get((who, "final observation"), a[who, "observation"])
            got = shown, a[who, "reward"], bool(a[who, "terminated"])
            rtol = self._terms.rtol
            if not any(first_difference("", got, each, rtol) is None for each in outcomes):
                field = "outcome (observation, reward, terminated)"
                return self._question.find(index, show(got), f"one of {show(outcomes)}", who, field)
            different = self._step_beside(a, who, singles[who], actions[who], shown)
            if different is not None:
                field, x, y = different
                return self._question.find(index, show(x), show(y), who, field)
        for who in begun & singles.keys():
            singles[who].reset()
        return None

    def _step_beside(
        self, a: Frame, who: str, env: Any, action: Any, shown: Any
    ) -> tuple[str, Any, Any] | None:
        """Step the reference too; return what differs that does not depend on chance, or None.

        That is the time limit, where chance did not end one of both alone; and the mask, where it
        made the same of both.
        """
        try:
            result = env.step(to_action(env.action_space, action))
        except Exception:  # chance ended its episode before
            return None
        observation, _, terminated, truncated, info = result
        if bool(terminated) != bool(a[who, "terminated"]):
            return None
        ours: Frame = {(who, "truncated"): bool(a[who, "truncated"])}
        theirs: Frame = {(who, "truncated"): bool(truncated)}
        same = first_difference("", shown, observation, self._terms.rtol) is None
        mask = find_mask(find_method(env), info, observation)
        ended = a[who, "terminated"] or a[who, "truncated"]
        if same and mask is not None and (who, "mask") in a and not ended:
            ours[who, "mask"], theirs[who, "mask"] = a[who, "mask"], mask
        found = self._terms.first_difference(ours, theirs)
        return None if found is None else found[1:]
