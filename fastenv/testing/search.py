"""Who chooses the calls of a case: several ways to play, and the regions that were seen."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from fastenv.testing.report import Case
from fastenv.testing.tracks import Actions, Choice, Frame, Track
from fastenv.testing.values import leaves

STYLES = ("random", "hold", "cycle", "random", "hold", "look ahead")
EPISODES = (2, 1, 1, 3)  # of a case, in turn; the last of three may begin without a seed
MOST_NUMBERS = 24  # of an observation, that make its cell
MOST_TRIED = 16  # actions that a look ahead tries


def time_of(pid: int | str | None = "self") -> float:
    """Return seconds of a clock that stands still while a process waits for the processor.

    So nothing looks slow on a machine that has other work. Only Linux tells how long that is.
    """
    try:
        queued = int(Path(f"/proc/{pid}/schedstat").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        queued = 0
    return time.monotonic() - queued / 1e9


def sample(choice: Choice, rng: np.random.Generator) -> Any:
    """Draw a legal action as plain numbers; of a bounded range its ends are drawn often."""
    space = choice.space
    if isinstance(space, spaces.Discrete):
        return int(rng.choice(choice.legal()[0]))
    if isinstance(space, spaces.MultiDiscrete):
        drawn = [int(rng.choice(legal)) for legal in choice.legal()]
        return np.reshape(drawn, space.shape).tolist()
    if isinstance(space, spaces.MultiBinary):
        return rng.integers(2, size=space.shape).tolist()
    if isinstance(space, spaces.Box):
        share = np.clip(rng.uniform(-0.3, 1.3, space.shape), 0, 1)
        if np.issubdtype(space.dtype, np.integer):
            inner = rng.integers(space.low, space.high, dtype=space.dtype, endpoint=True)
            ends = np.where(share == 0, space.low, space.high)
            return np.where((share == 0) | (share == 1), ends, inner).tolist()
        # In float64, and without high - low, which overflows where the bounds are the largest.
        low, high = space.low.astype(np.float64), space.high.astype(np.float64)
        low = np.where(np.isfinite(low), low, np.minimum(high, 0) - 1)
        high = np.where(np.isfinite(high), high, np.maximum(low, 0) + 1)
        value = (1 - share) * low + share * high
        return np.clip(value.astype(np.float32), space.low, space.high).tolist()
    if isinstance(space, spaces.Dict):
        return {key: sample(Choice(each), rng) for key, each in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return [sample(Choice(each), rng) for each in space.spaces]
    raise TypeError(f"{type(space).__name__}: no actions of it are drawn")


def cells_of(frame: Frame) -> set[int]:
    """Return the regions of a frame: its numbers, rounded the more the larger they are.

    Every lane of a vector is in a region of its own; agents of one game are in one together.
    """
    groups: dict[str, list[Any]] = {}
    for (who, name), value in frame.items():
        if not name.startswith("info.") and name != "last":
            parts = groups.setdefault(who if who.startswith("lane ") else "", [])
            parts += [_rounded(leaf) for _, leaf in leaves(name, value)]
    return {hash(tuple(parts)) for parts in groups.values() if parts}


def _rounded(leaf: Any) -> Any:
    """Round a number or an array to the key of its region."""
    array = np.asarray(leaf)
    if array.dtype.kind not in "biuf" or array.size == 0:
        return leaf if isinstance(leaf, str) else array.shape
    if (array.dtype.kind in "bi" and array.itemsize == 1) or array.size > 8 * MOST_NUMBERS:
        return array.tobytes()  # small integers, and pictures as a whole
    numbers = array.reshape(-1)[:MOST_NUMBERS].astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        rounded = np.copysign(np.floor(4 * np.log2(1 + np.abs(numbers))), numbers) + 0.0
    return rounded.tobytes()


class Search:
    """Chooses the calls of all cases: resets with new seeds, and actions.

    An episode has a style. ``"random"``; ``"hold"``: the same action for some steps; ``"cycle"``: a
    few actions in turn; ``"look ahead"``: the one whose copy shows a region that was not seen. It
    may begin with the actions of an episode that led somewhere new.

    Parameters
    ----------
    seconds : float
        Processor time; ten times as much by the clock ends it too.
    seed : int
        Everything drawn follows from it.
    send : callable
        Told each call before it is made: ``("call", call)``; ``("case", None)`` begins a case.
    cases : int, optional
        How many to play at most.

    Attributes
    ----------
    cells : set of int
        The regions that were seen.
    looked_ahead : bool
        Whether copies were made in this case.
    unseeded : bool
        Whether an episode may begin without a seed, and go on with the generator of those before.
    """

    def __init__(
        self,
        seconds: float,
        seed: int = 0,
        send: Callable[[str, Any], None] = lambda kind, value: None,
        cases: int | None = None,
    ) -> None:
        self.seconds: float = seconds
        self.cells: set[int] = set()
        self.looked_ahead: bool = False
        self.unseeded: bool = False
        self._seed, self._send, self._cases = seed, send, cases
        self._cases_begun = self._episodes_begun = 0
        self._led_on: list[Case] = []  # episodes that saw something new
        self.start(1, 1, copies=False)

    def start(self, lanes: int, parts: int, *, copies: bool) -> None:
        """Start the clocks; what was made so far does not count.

        Parameters
        ----------
        lanes : int
            Of a vector, whose episodes need not be as long.
        parts : int
            A case takes at most that part of the time.
        copies : bool
            Whether copies may look ahead.
        """
        self._lanes, self._parts, self._copies = lanes, parts, copies
        self._cpu, self._clock = time.process_time(), time_of()

    @property
    def spent(self) -> float:
        """Processor seconds since the beginning."""
        return time.process_time() - self._cpu

    def is_late(self) -> bool:
        """Return whether the time is over."""
        return self.spent > self.seconds or time_of() - self._clock > 10 * self.seconds

    def is_over(self) -> bool:
        """Return whether the time is over, or all cases are played."""
        return self._cases_begun == self._cases or self.is_late()

    def begin_case(self) -> None:
        """Begin the next case."""
        self._send("case", None)
        self._left = EPISODES[self._cases_begun % len(EPISODES)]
        self._ends_unseeded = self.unseeded and self._left > 2
        self._cases_begun += 1
        # Of slow environments a case is short, so that every question is asked of one.
        self._end = self.spent + self.seconds / self._parts
        self._most = self._new = 0
        self._calls: Case = []  # of this episode
        self.looked_ahead = False

    def see(self, frame: Frame) -> None:
        """Take a frame, and learn whether its region is new."""
        fresh = cells_of(frame) - self.cells
        self.cells |= fresh
        self._new += len(fresh)

    def next(self, track: Track) -> Case:
        """Return the next call in a list, which is empty at the end."""
        if self.spent > self._end:
            return []
        if not self._calls or track.over or len(self._calls) > self._most:
            if self._new and len(self._calls) > 1 and self._calls[0] is not None:
                self._led_on.append(list(self._calls))
                del self._led_on[:-200]
            if self._left == 0:
                return []
            self._left -= 1
            self._calls = [self._begin()]
        else:
            self._calls.append(self._choose(track))
        self._send("call", self._calls[-1])
        return self._calls[-1:]

    def _begin(self) -> int | None:
        """Return the seed of the next episode, None if it has none."""
        number = self._episodes_begun
        self._episodes_begun += 1
        self._rng = rng = np.random.default_rng([self._seed, number])
        self._style = STYLES[number % len(STYLES)]
        if self._style == "look ahead" and not self._copies:
            self._style = "random"
        self._held: dict[str, list[Any]] = {}
        self._prefix: Case = []
        self._new = 0
        seed: Any = self._seed + number
        if self._led_on and rng.random() < 0.4:  # go on from where something new was seen
            former = self._led_on[int(rng.integers(len(self._led_on)))]
            seed, self._prefix = former[0], former[1 : 1 + int(rng.integers(len(former)))]
        # Mostly short, now and then long.
        steps = 600 if number % 7 == 3 else math.ceil(4 * 2 ** rng.uniform(0, 5.5))
        most = 120 if self._lanes > 1 else 100 if self._style == "look ahead" else 600
        self._most = min(len(self._prefix) + steps, max(most, len(self._prefix)))
        return None if self._ends_unseeded and self._left == 0 else int(seed)

    def _choose(self, track: Track) -> Actions:
        """Return actions of all whose turn it is."""
        step = len(self._calls) - 1
        if step < len(self._prefix):
            actions: Any = self._prefix[step]
            if track.allows(actions):
                return actions  # type: ignore[no-any-return]
            self._prefix = []
        ahead = self._look_ahead(track) if self._style == "look ahead" else None
        if ahead is not None:
            return ahead
        return {who: self._choose_for(who, choice, step) for who, choice in track.turn.items()}

    def _choose_for(self, who: str, choice: Choice, step: int) -> Any:
        held = self._held.setdefault(who, [])
        if self._style == "hold":
            if not (held and self._rng.random() < 0.85 and choice.allows(held[0])):
                held[:] = [sample(choice, self._rng)]
            return held[0]
        if self._style == "cycle":
            if len(held) < 2 + len(who) % 2 + step % 3:
                held.append(sample(choice, self._rng))
            if choice.allows(held[step % len(held)]):
                return held[step % len(held)]
        return sample(choice, self._rng)

    def _look_ahead(self, track: Track) -> Actions | None:
        if len(track.turn) != 1:
            return None
        ((who, choice),) = track.turn.items()
        if not isinstance(choice.space, spaces.Discrete) or choice.space.n > 256:
            return None
        self.looked_ahead = True
        for number in self._rng.permutation(choice.legal()[0])[:MOST_TRIED]:
            actions = {who: int(number)}
            try:
                if cells_of(track.copied("copy").step(actions)) - self.cells:
                    return actions
            except Exception:  # what cannot be copied, or does not go on, is found elsewhere
                self._copies = False
                break
        return None
