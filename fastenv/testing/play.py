"""Lead one track through a case, or two side by side, and find where they part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from fastenv.errors import ConfigError
from fastenv.testing.laws import Broken
from fastenv.testing.recipes import Sync
from fastenv.testing.report import Case, is_step
from fastenv.testing.search import Player
from fastenv.testing.stress import Fault, Missing
from fastenv.testing.tracks import Choice, Frame, Track
from fastenv.testing.values import first_difference, is_same, show

ORDER = ("mask", "turn", "agents", "terminated", "truncated", "reward", "final observation")


@dataclass(frozen=True)
class Hit:
    """Where two tracks part: which call of the case, who, field and both values as text."""

    index: int
    who: str
    field: str
    values: tuple[str, str]
    rule: str = ""  # of a stress that has several

    def is_like(self, other: Hit | None) -> bool:
        """Return whether another one is about the same field."""
        return other is not None and (_root(self.field), self.rule) == (
            _root(other.field),
            other.rule,
        )


def _root(field: str) -> str:
    return field.partition("[")[0].partition(":")[0]


class Invalid(Exception):
    """A case chooses an action that is not legal: it cannot be played."""


@dataclass(frozen=True)
class Terms:
    """What may differ.

    Parameters
    ----------
    ignore : list of str
        Fields, or beginnings of them, that are not compared.
    rtol : float
        Relative tolerance of numbers.
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


@lru_cache(maxsize=4096)
def _ordered(ours: tuple[tuple[str, str], ...], theirs: tuple[tuple[str, str], ...]) -> Any:
    """Return all fields of two frames in the order of a comparison: masks first, infos last."""

    def rank(key: tuple[str, str]) -> int:
        return ORDER.index(key[1]) if key[1] in ORDER else 10 + key[1].startswith("info.")

    return sorted(dict.fromkeys((*ours, *theirs)), key=rank)


def compare_frames(
    a: Frame, b: Frame, terms: Terms, begun: set[str] | None = None
) -> tuple[str, str, Any, Any] | None:
    """Return who, field and both values of the first difference of two frames, or None.

    Parameters
    ----------
    a, b : dict
    terms : Terms
    begun : set of str, optional
        Of whom observation, mask and infos say nothing: the second is not yet in the first's state.
    """
    for key in _ordered(tuple(a), tuple(b)):
        who, field = key
        if key in a and key in b and is_same(a[key], b[key]):
            continue
        extra = field == "mask" or field.startswith("info.")
        if begun and who in begun and (extra or field == "observation"):
            continue
        if any(field.startswith(name) for name in terms.ignore):
            continue
        if key not in a or key not in b:
            if terms.loose and extra:
                continue
            return who, field, a.get(key, "nothing"), b.get(key, "nothing")
        found = first_difference(field, a[key], b[key], terms.rtol)
        if found is not None:
            return (who, *found)
    return None


def say_error(error: BaseException) -> str:
    """Return an error as a value of the field "raises"."""
    return f"{type(error).__name__}: {error}"[:400]


class Play:
    """One track, or two side by side, of which the second may be brought into the first's state.

    Parameters
    ----------
    first : Track
    second : Track, optional
    terms : Terms
    sync : Sync, optional

    Attributes
    ----------
    trace : list of dict
        What the first one showed, a frame a call.
    """

    def __init__(
        self,
        first: Track,
        second: Track | None = None,
        terms: Terms = Terms(),
        sync: Sync | None = None,
    ) -> None:
        self.first: Track = first
        self.second: Track | None = second
        self.terms: Terms = terms
        self.sync: Sync | None = sync
        self.trace: list[Frame] = []

    @property
    def leader(self) -> Track:
        """Whose masks count: those of the first, or of the second where only that has some."""
        masks = any(choice.mask is not None for choice in self.first.turn.values())
        if masks or self.second is None or self.sync is not None:
            return self.first
        return self.second if self.first.turn.keys() == self.second.turn.keys() else self.first

    def run(self, case: Case, player: Player | None = None) -> Hit | None:
        """Play a case, and return where it fails: where one raises, or where both part.

        Steps after the end of an episode are taken out of the case, and what comes after a hit.

        Parameters
        ----------
        case : list
        player : Player, optional
            Goes on with the case.

        Raises
        ------
        Invalid
            The case chooses what is not legal.
        """
        index = 0
        while True:
            if index == len(case) and player is not None:
                call = player.next(self.leader)
                if not player.over:
                    case.append(call)
            if index == len(case):
                return None
            call = case[index]
            over = self.first.over or (self.second is not None and self.second.over)
            if isinstance(call, dict) and (index == 0 or over):
                del case[index]
                continue
            try:
                hit = self._call(index, call, player)
            except Broken as error:
                hit = Hit(index, "", "broken law", (str(error), ""))
            if hit is not None:
                del case[index + 1 :]
                return hit
            index += 1

    def _call(self, index: int, call: Any, player: Player | None) -> Hit | None:
        allowed = None
        if isinstance(call, dict):
            check_legal(self.leader.turn, call)
            allowed = self._list_outcomes(call)
        a = _tried(self.first, call)
        if isinstance(a, dict):
            self.trace.append(a)
            if player is not None:
                player.see(a)
        if self.second is None:
            return None if isinstance(a, dict) else Hit(index, "", "raises", (a, "nothing"))
        if allowed is not None and isinstance(a, dict):
            hit = self._compare_outcomes(index, a, allowed)
            # Its episodes end and begin where the first's do, and its state will be set.
            self.second.over, self.second.begun = self.first.over, self.first.begun
            self.second.resting = self.first.resting
        else:
            hit = self._compare(index, a, _tried(self.second, call))
        if hit is None and self.sync is not None and isinstance(a, dict):
            self._synchronise(a)
        return hit

    def _compare(self, index: int, a: Frame | str, b: Frame | str) -> Hit | None:
        assert self.second is not None
        if isinstance(a, dict) and isinstance(b, dict):
            begun = self.second.begun if self.sync is not None else None
            found = compare_frames(a, b, self.terms, begun)
            return found and Hit(index, *found[:2], (show(found[2]), show(found[3])))
        if isinstance(a, str) and isinstance(b, str):
            raise Invalid  # both refuse it
        values = a if isinstance(a, str) else "nothing", b if isinstance(b, str) else "nothing"
        return Hit(index, "", "raises", values)

    def _synchronise(self, a: Frame) -> None:
        """Bring the second into the state of the first, where an episode began or each step."""
        assert self.second is not None
        assert self.sync is not None
        for who, env in self.second.singles().items():
            due = who in self.second.begun or self.sync.each_step
            if due and who not in self.second.resting:
                try:
                    self.sync.set_state(self.first.env, env, a[who, "observation"])
                except Exception as error:
                    raise ConfigError(f"sync: {say_error(error)}") from error

    def _list_outcomes(self, actions: dict[str, Any]) -> dict[str, list[Any]] | None:
        """Return what the reference allows to come of the actions, by who chose them."""
        if self.second is None or self.sync is None or self.sync.outcomes is None:
            return None
        return {
            who: self.sync.outcomes(env, actions[who])
            for who, env in self.second.singles().items()
            if who not in self.second.resting
        }

    def _compare_outcomes(self, index: int, a: Frame, allowed: dict[str, list[Any]]) -> Hit | None:
        for who, outcomes in allowed.items():
            shown = a.get((who, "final observation"), a[who, "observation"])
            got = shown, a[who, "reward"], bool(a[who, "terminated"])
            rtol = self.terms.rtol
            if not any(first_difference("", got, each, rtol) is None for each in outcomes):
                values = show(got), f"one of {show(outcomes)}"
                return Hit(index, who, "outcome (observation, reward, terminated)", values)
        return None

    def close(self) -> None:
        """Close what is played on."""
        self.first.close()
        if self.second is not None:
            self.second.close()


def check_legal(turn: dict[str, Choice], actions: dict[str, Any]) -> None:
    """Refuse actions of others than those whose turn it is, and what is not legal.

    Raises
    ------
    Invalid
    """
    if actions.keys() != turn.keys() or not all(turn[k].allows(actions[k]) for k in turn):
        raise Invalid


def _tried(track: Track, call: Any) -> Frame | str:
    """Return the frame of a call, or the text of what it raised."""
    try:
        return track.step(call) if isinstance(call, dict) else track.reset(call)
    except Broken:
        raise
    except Exception as error:
        return say_error(error)


def follow(case: Case, trace: list[Frame], leading: Iterator[Track], terms: Terms) -> Hit | None:
    """Lead a stressed track through a case, and return where it parts from the trace.

    Parameters
    ----------
    case : list
    trace : list of dict
        What an undisturbed track showed in it.
    leading : iterator of Track
        The track of each call; it disturbs between them, and after the last.
    terms : Terms

    Raises
    ------
    Missing
        The environment cannot do what the stress needs.
    """
    track: Track | None = None
    calls = zip([*case, None], [*trace, None], strict=True)
    for index, (call, shown) in enumerate(calls):
        if track is not None and index < len(case) and not is_step(call):
            track.over = True  # the episode is left
        try:
            track = next(leading)
        except Missing:
            raise
        except Fault as fault:
            return Hit(index - 1, fault.who, "", fault.values, fault.rule)
        except Exception as error:
            return Hit(index - 1, "", "raises", ("nothing", say_error(error)))
        if shown is None:
            break
        try:
            again: Any = _tried(track, call)
        except Broken as error:
            again = say_error(error)
        if isinstance(again, str):
            return Hit(index, "", "raises", ("nothing", again))
        found = compare_frames(shown, again, terms)
        if found is not None:
            return Hit(index, *found[:2], (show(found[2]), show(found[3])))
    return None
