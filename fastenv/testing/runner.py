"""Lead two tracks through the same case, find where they part, and make the case short."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from fastenv.testing.laws import Broken, Laws
from fastenv.testing.recipes import Sync
from fastenv.testing.report import Case, Episode
from fastenv.testing.search import Player
from fastenv.testing.stress import Missing, Stress
from fastenv.testing.tracks import (
    EngineTrack,
    Frame,
    LanesTrack,
    SingleTrack,
    Track,
    VectorTrack,
    make_track,
)
from fastenv.testing.values import first_difference, is_same, show

FLAGS = ("terminated", "truncated")


@dataclass(frozen=True)
class Hit:
    """Where two tracks part: place, field and both values as text."""

    episode: int
    step: int  # 0: the reset
    who: str
    field: str
    values: tuple[str, str]

    def is_like(self, other: Hit | None) -> bool:
        """Return whether another one is about the same field."""
        return other is not None and _root(self.field) == _root(other.field)

    @property
    def where(self) -> str:
        """Place and field in words."""
        call = "reset" if self.step == 0 else f"step {self.step}"
        of = f" of {self.who}" if self.who else ""
        return f"{self.field}{of}, {call} of episode {self.episode}"


def _root(field: str) -> str:
    return field.partition("[")[0].partition(":")[0]


class Invalid(Exception):
    """A case chooses an action that is not legal: it cannot be played."""


@dataclass(frozen=True)
class Terms:
    """What may differ.

    Parameters
    ----------
    ignore : sequence of str
        Fields, or beginnings of them, that are not compared.
    rtol : float
        Relative tolerance of numbers.
    loose : bool
        Compare infos and masks only where both sides have them, as between two packages.
    """

    ignore: Sequence[str] = ()
    rtol: float = 0.0
    loose: bool = False


def _rank(key: tuple[str, str]) -> int:
    """Return the place of a field in a comparison: masks first, infos last."""
    field = key[1]
    order = ("mask", "turn", "agents", "terminated", "truncated", "reward", "final observation")
    if field in order:
        return order.index(field)
    return 20 if field.startswith("info.") else 10


@lru_cache(maxsize=4096)
def _ordered(ours: tuple[tuple[str, str], ...], theirs: tuple[tuple[str, str], ...]) -> Any:
    """Return all fields of two frames in the order of a comparison."""
    return sorted(dict.fromkeys((*ours, *theirs)), key=_rank)


def compare_frames(
    a: Frame, b: Frame, terms: Terms, skip: Callable[[str, str], bool] = lambda who, field: False
) -> tuple[str, str, Any, Any] | None:
    """Return who, field and both values of the first difference of two frames, or None."""
    for key in _ordered(tuple(a), tuple(b)):
        who, field = key
        if key in a and key in b and is_same(a[key], b[key]):
            continue
        if skip(who, field) or any(field.startswith(name) for name in terms.ignore):
            continue
        if key not in a or key not in b:
            if terms.loose and (field == "mask" or field.startswith("info.")):
                continue
            missing = "nothing"
            return who, field, a.get(key, missing), b.get(key, missing)
        found = first_difference(field, a[key], b[key], terms.rtol)
        if found is not None:
            return (who, *found)
    return None


def raises(error: BaseException) -> str:
    """Return an error as a value of the field "raises"."""
    return f"{type(error).__name__}: {error}"[:400]


def record(track: Track, case: Case, player: Player | None = None, most: int = 0) -> Any:
    """Play a case on one track, and return its frames, or where it raised.

    Parameters
    ----------
    track : Track
    case : list of Episode
        With a ``player`` its last episode is filled with what that chooses, up to ``most`` steps.

    Returns
    -------
    list of list of dict, or Hit
        The hit says that the environment raised.

    Raises
    ------
    Invalid
        The case chooses what is not legal.
    """
    trace: list[list[Frame]] = []
    for number, episode in enumerate(case):
        step = 0
        frames: list[Frame] = []
        trace.append(frames)
        try:
            frames.append(track.reset(episode.seed))
            if player is not None:
                player.see(frames[-1])
            while not track.over:
                if player is not None:
                    if step >= most:
                        break
                    episode.actions.append(player.choose(track))
                elif step >= len(episode.actions):
                    break
                check_legal(track, episode.actions[step])
                step += 1
                frames.append(track.step(episode.actions[step - 1]))
                if player is not None:
                    player.see(frames[-1])
            del episode.actions[step:]
        except Broken:
            del episode.actions[step:]
            return Hit(number, step, "", "broken law", ("", ""))
        except Invalid:
            raise
        except Exception as error:
            del episode.actions[step:]
            return Hit(number, step, "", "raises", (raises(error), "nothing"))
    return trace


def check_legal(track: Track, actions: dict[str, Any]) -> None:
    """Refuse actions of others than those whose turn it is, and what is not legal."""
    if actions.keys() != track.turn.keys():
        raise Invalid
    for who, choice in track.turn.items():
        if not choice.allows(actions[who]):
            raise Invalid


def replay_stressed(
    case: Case, trace: list[list[Frame]], stress: Stress, before: Case
) -> Hit | None:
    """Lead a stressed track through a case, and return where it parts from the trace.

    Parameters
    ----------
    case : list of Episode
    trace : list of list of dict
        What an undisturbed track showed in it.
    stress : Stress
    before : list of Episode
        Played first, and not compared.

    Raises
    ------
    Missing
        The environment cannot do what the stress needs.
    """
    track = stress.begin()
    try:
        if isinstance(record(track, before), Hit):
            return None
    except Invalid:  # the earlier episodes cannot be played one after the other
        return None
    for number, episode in enumerate(case):
        for step in range(len(episode.actions) + 1):
            try:
                if step == 0:
                    again = track.reset(episode.seed)
                else:
                    again = track.step(episode.actions[step - 1])
                found = compare_frames(trace[number][step], again, Terms())
                if found is not None:
                    who, field, a, b = found
                    return Hit(number, step, who, field, (show(a), show(b)))
                track = stress.after(track)
            except Missing:
                raise
            except Exception as error:
                return Hit(number, step, "", "raises", ("nothing", raises(error)))
    stress.end(track)
    return None


class Pair:
    """Two environments led side by side, the second brought into the state of the first.

    Parameters
    ----------
    first, second : Track
    terms : Terms
    sync : Sync, optional
    """

    def __init__(self, first: Track, second: Track, terms: Terms, sync: Sync | None) -> None:
        self.first: Track = first
        self.second: Track = second
        self.terms: Terms = terms
        self.sync: Sync | None = sync

    @property
    def turn(self) -> Any:
        """The choices of the first, or of the second where only that has masks."""
        masks = any(choice.mask is not None for choice in self.first.turn.values())
        if masks or self.first.turn.keys() != self.second.turn.keys():
            return self.first.turn
        return self.second.turn

    def run(self, case: Case, player: Player | None = None, most: int = 0) -> Hit | None:
        """Play a case on both, and return where they part."""
        for number, episode in enumerate(case):
            step = 0
            try:
                hit = self._reset(number, episode, player)
                while hit is None and not self.first.over and not self.second.over:
                    if player is not None:
                        if step >= most:
                            break
                        episode.actions.append(self._choose(player))
                    elif step >= len(episode.actions):
                        break
                    step += 1
                    hit = self._step(number, step, episode.actions[step - 1], player)
            except Broken as error:
                hit = Hit(number, step, "", "broken law", (str(error), ""))
            del episode.actions[step:]
            if hit is not None:
                return hit
        return None

    def _choose(self, player: Player) -> dict[str, Any]:
        """Let the player look at whichever side knows the masks."""
        track = self.second if self.turn is self.second.turn else self.first
        return player.choose(track)

    def _reset(self, number: int, episode: Episode, player: Player | None) -> Hit | None:
        a = _tried(lambda: self.first.reset(episode.seed))
        b = _tried(lambda: self.second.reset(episode.seed))
        if player is not None and isinstance(a, dict):
            player.see(a)
        hit = self._compare(number, 0, a, b)
        return hit if hit is not None else self._synchronise(number, 0, a)

    def _step(
        self, number: int, step: int, actions: dict[str, Any], player: Player | None
    ) -> Hit | None:
        if actions.keys() != self.first.turn.keys() & self.second.turn.keys():
            raise Invalid
        for who, choice in self.turn.items():
            if not choice.allows(actions[who]):
                raise Invalid
        allowed = self._outcomes(actions)
        a = _tried(lambda: self.first.step(actions))
        if player is not None and isinstance(a, dict):
            player.see(a)
        if allowed is not None and isinstance(a, dict):
            hit = self._compare_outcomes(number, step, a, allowed)
            self._follow(actions, a)
        else:
            b = _tried(lambda: self.second.step(actions))
            hit = self._compare(number, step, a, b)
        return hit if hit is not None else self._synchronise(number, step, a)

    def _compare(self, number: int, step: int, a: Any, b: Any) -> Hit | None:
        if isinstance(a, str) or isinstance(b, str):
            if isinstance(a, str) and isinstance(b, str):
                raise Invalid  # both refuse it
            values = a if isinstance(a, str) else "nothing", b if isinstance(b, str) else "nothing"
            return Hit(number, step, "", "raises", values)
        found = compare_frames(a, b, self.terms, self._skipped(step))
        if found is None:
            return None
        return Hit(number, step, found[0], found[1], (show(found[2]), show(found[3])))

    def _skipped(self, step: int) -> Callable[[str, str], bool]:
        """Return which fields say nothing before the second is brought into the first's state."""
        if self.sync is None:
            return lambda who, field: False
        begun = self._begun(step)

        def skip(who: str, field: str) -> bool:
            fresh = field in ("observation", "mask") or field.startswith("info.")
            return who in begun and fresh

        return skip

    def _begun(self, step: int) -> set[str]:
        """Return whose episode began in the last call."""
        if isinstance(self.second, LanesTrack):
            return {f"lane {k}" for k in self.second.restarted}
        return {""} if step == 0 else set()

    def _synchronise(self, number: int, step: int, a: Any) -> Hit | None:
        """Bring the second into the state of the first, where an episode began or each step."""
        if self.sync is None or not isinstance(a, dict):
            return None
        begun = self._begun(step)
        lanes: list[tuple[str, Track]] = [("", self.second)]
        if isinstance(self.second, LanesTrack):
            lanes = [(f"lane {k}", lane) for k, lane in enumerate(self.second.lanes)]
        for who, track in lanes:
            if (who in begun or self.sync.each_step) and not track.over:
                try:
                    self.sync.set_state(self.first.env, track.env, a[who, "observation"])
                except Exception as error:
                    raise SyncError(f"sync: {raises(error)}") from error
        return None

    def _outcomes(self, actions: dict[str, Any]) -> dict[str, list[Any]] | None:
        """Return what the reference allows to come of the actions, by who chose them."""
        if self.sync is None or self.sync.outcomes is None:
            return None
        if isinstance(self.second, LanesTrack):
            return {
                f"lane {k}": self.sync.outcomes(lane.env, actions[f"lane {k}"])
                for k, lane in enumerate(self.second.lanes)
                if not lane.over
            }
        return {"": self.sync.outcomes(self.second.env, actions[""])}

    def _follow(self, actions: dict[str, Any], frame: Frame) -> None:
        """Lead the reference on; what comes of the step is what the first one drew."""
        if isinstance(self.second, LanesTrack):
            self.second.follow(actions, frame)
        elif isinstance(self.second, SingleTrack):
            ended = frame["", "terminated"] or frame["", "truncated"]
            self.second.follow(actions, bool(ended))

    def _compare_outcomes(
        self, number: int, step: int, a: Frame, allowed: dict[str, list[Any]]
    ) -> Hit | None:
        for who, outcomes in allowed.items():
            shown = a.get((who, "final observation"), a[who, "observation"])
            got = shown, a[who, "reward"], bool(a[who, "terminated"])
            rtol = self.terms.rtol
            if not any(first_difference("", got, each, rtol) is None for each in outcomes):
                values = show(got), f"one of {show(outcomes)}"
                field = "outcome (observation, reward, terminated)"
                return Hit(number, step, who, field, values)
        return None

    def close(self) -> None:
        """Close both."""
        self.first.close()
        self.second.close()


class SyncError(Exception):
    """The recipe that brings one environment into the state of another does not work."""


def _tried(call: Callable[[], Frame]) -> Frame | str:
    """Return the frame of a call, or the text of what it raised."""
    try:
        return call()
    except (Broken, Invalid):
        raise
    except Exception as error:
        return raises(error)


def make_second(first: Track, make: Callable[[], Any], laws: Laws) -> Track:
    """Return the track of a reference: for lanes, single environments in the same mode."""
    track = make_track(make(), laws)
    lanes = (VectorTrack, EngineTrack)
    if not isinstance(first, lanes) or isinstance(track, lanes):
        return track
    track.close()
    return LanesTrack(make, first.num_lanes, first.mode, laws)


def shorten(
    case: Case, hit: Hit, fails: Callable[[Case], Hit | None], seconds: float
) -> tuple[Case, Hit]:
    """Return a shorter case that fails in the same field, and where.

    Parameters
    ----------
    case : list of Episode
        Fails.
    hit : Hit
        Where.
    fails : callable
        Plays a case on new environments; returns where it fails, None if it does not, and raises
        :class:`Invalid` where it cannot be played.
    seconds : float
        Processor time that may be spent.
    """
    end = time.process_time() + seconds
    best = _cut(case, hit), hit

    def attempt(tried: Case) -> bool:
        nonlocal best
        if time.process_time() > end:
            return False
        tried = [each.copy() for each in tried]
        try:
            found = fails(tried)
        except Invalid:
            return False
        if found is None or not hit.is_like(found):
            return False
        best = _cut(tried, found), found
        return True

    number = 0
    while number < len(best[0]) - 1:  # episodes that came before
        if not attempt(best[0][:number] + best[0][number + 1 :]):
            number += 1
    for seed in (0, 1):
        if best[0][-1].seed not in (0, 1):
            attempt([*best[0][:-1], Episode(seed, best[0][-1].actions)])
    changed = True
    while changed and time.process_time() < end:
        changed = any([_drop_steps(lambda: best[0], k, attempt) for k in range(len(best[0]))])
    for k in range(len(best[0])):
        _simplify(lambda: best[0], k, attempt)
    return best


def _cut(case: Case, hit: Hit) -> Case:
    """Leave out what came after a hit."""
    kept = [each.copy() for each in case[: hit.episode + 1]]
    del kept[-1].actions[hit.step :]
    return kept


def _drop_steps(current: Callable[[], Case], k: int, attempt: Callable[[Case], bool]) -> bool:
    """Leave out chunks of an episode's steps, large ones first; return whether that worked."""
    dropped, size = False, max(len(current()[k].actions) // 2, 1)
    while size >= 1 and k < len(current()):
        place = 0
        while k < len(current()) and place < len(current()[k].actions):
            tried = [each.copy() for each in current()]
            del tried[k].actions[place : place + size]
            if attempt(tried):
                dropped = True
            else:
                place += size
        size //= 2
    return dropped


def _simplify(current: Callable[[], Case], k: int, attempt: Callable[[Case], bool]) -> None:
    """Replace actions by simpler ones: zero, or rounded."""
    place = 0
    while k < len(current()) and place < len(current()[k].actions):
        for who, action in current()[k].actions[place].items():
            for simpler in _simpler(action):
                tried = [each.copy() for each in current()]
                tried[k].actions[place] = tried[k].actions[place] | {who: simpler}
                if attempt(tried):
                    break
            if k >= len(current()) or place >= len(current()[k].actions):
                return
        place += 1


def _simpler(action: Any) -> list[Any]:
    if isinstance(action, bool) or action == 0:
        return []
    if isinstance(action, int):
        return [0, *([1] if action > 1 else [])]
    if isinstance(action, (list, float)):
        values = np.asarray(action, dtype=object)
        if all(isinstance(value, (int, float)) for value in values.flat):
            numbers = np.asarray(action, np.float64)
            tried = [np.zeros_like(numbers), np.round(numbers), np.round(numbers, 1)]
            kind = int if all(isinstance(value, int) for value in values.flat) else float
            return [each.astype(kind).tolist() for each in tried if (each != numbers).any()]
    return []
