"""Who chooses the actions of a case: several ways to play, and the regions that were seen."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium import spaces

from fastenv.testing.report import Case, Episode
from fastenv.testing.tracks import Actions, Choice, Frame, Track
from fastenv.testing.values import leaves

STYLES = ("random", "hold", "cycle", "random", "hold", "look ahead")
MOST_NUMBERS = 24  # of an observation, that make its cell
MOST_TRIED = 16  # actions that a look ahead tries


def sample(choice: Choice, rng: np.random.Generator) -> Any:
    """Draw a legal action as plain numbers; of a bounded range its ends are drawn often."""
    space = choice.space
    if isinstance(space, spaces.Discrete):
        if choice.mask is not None:
            return int(rng.choice(np.flatnonzero(choice.mask))) + int(space.start)
        return int(rng.integers(space.n)) + int(space.start)
    if isinstance(space, spaces.MultiDiscrete):
        return (rng.integers(space.nvec) + space.start).tolist()
    if isinstance(space, spaces.MultiBinary):
        return rng.integers(0, 2, space.shape).tolist()
    if isinstance(space, spaces.Box):
        low = np.where(np.isfinite(space.low), space.low, -1.0)
        high = np.where(np.isfinite(space.high), space.high, 1.0)
        share = np.clip(rng.uniform(-0.3, 1.3, space.shape), 0, 1)
        value = low + share * (high - low)
        if np.issubdtype(space.dtype, np.integer):
            return np.rint(value).astype(space.dtype).tolist()
        return np.clip(value.astype(np.float32), space.low, space.high).tolist()
    if isinstance(space, spaces.Dict):
        return {key: sample(Choice(each), rng) for key, each in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return [sample(Choice(each), rng) for each in space.spaces]
    space.seed(int(rng.integers(2**31)))
    return space.sample()


def cells_of(frame: Frame) -> set[int]:
    """Return the regions of a frame: its numbers, rounded the more the larger they are.

    Every lane of a vector is in a region of its own; agents of one game are in one together.
    """
    groups: dict[str, list[Any]] = {}
    for (who, name), value in frame.items():
        if name.startswith("info.") or name == "last":
            continue
        parts = groups.setdefault(who if who.startswith("lane ") else "", [])
        for _, leaf in leaves(name, value):
            parts.append(_rounded(leaf))
    return {hash(tuple(parts)) for parts in groups.values() if parts}


def _rounded(leaf: Any) -> Any:
    """Return a number or an array as what stands for its region."""
    if isinstance(leaf, (bool, np.bool_, str)):
        return leaf
    if isinstance(leaf, (int, float, np.integer, np.floating)):
        number = float(leaf)
        size = math.floor(4 * math.log2(1 + abs(number))) if math.isfinite(number) else 0
        return size if number >= 0 else -size
    array = np.asarray(leaf)
    if array.dtype.kind not in "biuf" or array.size == 0:
        return array.shape
    if (array.dtype.kind in "bi" and array.itemsize == 1) or array.size > 8 * MOST_NUMBERS:
        return array.tobytes()  # small integers, and pictures as a whole
    numbers = array.reshape(-1)[:MOST_NUMBERS].astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        rounded = np.copysign(np.floor(4 * np.log2(1 + np.abs(numbers))), numbers) + 0.0
    return rounded.tobytes()


class Player:
    """Chooses the actions of one episode.

    Parameters
    ----------
    rng : numpy.random.Generator
    style : str
        ``"random"``; ``"hold"``: the same action for some steps; ``"cycle"``: a few actions in
        turn; ``"look ahead"``: the one whose copy shows a region that was not seen.
    cells : set of int
        Regions seen so far; :meth:`see` adds to them.
    prefix : list of dict, optional
        Actions to begin with, which led somewhere new before.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        style: str,
        cells: set[int],
        prefix: list[Actions] | None = None,
    ) -> None:
        self._rng, self._style, self._cells = rng, style, cells
        self._prefix = list(prefix or [])
        self._held: dict[str, list[Any]] = {}
        self.looked_ahead: bool = False
        self.new: int = 0  # regions that this episode was the first to see
        self._steps = 0

    def see(self, frame: Frame) -> bool:
        """Take a frame; return whether its region is new."""
        fresh = cells_of(frame) - self._cells
        self._cells |= fresh
        self.new += len(fresh)
        return bool(fresh)

    def choose(self, track: Track) -> Actions:
        """Return actions of all whose turn it is."""
        self._steps += 1
        if self._steps <= len(self._prefix):
            actions = self._prefix[self._steps - 1]
            if actions.keys() == track.turn.keys() and all(
                choice.allows(actions[who]) for who, choice in track.turn.items()
            ):
                return actions
            self._prefix = []
        if self._style == "look ahead":
            ahead = self._look_ahead(track)
            if ahead is not None:
                return ahead
        return {who: self._choose_for(who, choice) for who, choice in track.turn.items()}

    def _choose_for(self, who: str, choice: Choice) -> Any:
        if self._style == "hold":
            held = self._held.get(who)
            if held and self._rng.random() < 0.85 and choice.allows(held[0]):
                return held[0]
            self._held[who] = [sample(choice, self._rng)]
            return self._held[who][0]
        if self._style == "cycle":
            cycle = self._held.setdefault(who, [])
            length = 1 + len(who) % 2 + self._steps % 3
            if len(cycle) < 1 + length:
                cycle.append(sample(choice, self._rng))
            action = cycle[self._steps % len(cycle)]
            return action if choice.allows(action) else sample(choice, self._rng)
        return sample(choice, self._rng)

    def _look_ahead(self, track: Track) -> Actions | None:
        if len(track.turn) != 1:
            return None
        ((who, choice),) = track.turn.items()
        if not isinstance(choice.space, spaces.Discrete) or choice.space.n > 256:
            return None
        legal = np.arange(choice.space.n) if choice.mask is None else np.flatnonzero(choice.mask)
        self.looked_ahead = True
        for place in self._rng.permutation(legal)[:MOST_TRIED]:
            actions = {who: int(place) + int(choice.space.start)}
            if cells_of(track.copied("copy").step(actions)) - self._cells:
                return actions
        return None


def step_limit(rng: np.random.Generator, long: bool, lanes: int) -> int:
    """Return after how many steps an episode is left: mostly short, now and then long."""
    steps = 600 if long else math.ceil(4 * 2 ** rng.uniform(0, 5.5))
    return min(steps, 120) if lanes > 1 else steps


@dataclass
class Search:
    """What both searches share: time, seeds, styles of play, where the play led somewhere new.

    Parameters
    ----------
    seconds : float
        Processor time; ten times as much by the clock ends it too.
    seed : int
        Everything drawn follows from it.
    send : callable
        Told now and then that the search lives; with a case, what is about to be played.
    episodes : int, optional
        How many to play at most.
    lanes : int
        Of a vector, whose episodes need not be as long.
    """

    seconds: float
    seed: int = 0
    send: Callable[[str, Any], None] = lambda kind, value: None
    episodes: int | None = None
    lanes: int = 1
    cells: set[int] = field(default_factory=set)
    led_on: list[Episode] = field(default_factory=list)  # episodes that saw something new
    number: int = 0
    look_ahead: bool = True

    def __post_init__(self) -> None:
        """Start the clocks."""
        self._cpu, self._clock = time.process_time(), time.monotonic()

    @property
    def spent(self) -> float:
        """Processor seconds since the beginning."""
        return time.process_time() - self._cpu

    def is_over(self) -> bool:
        """Return whether the time is over, or all episodes are played."""
        if self.episodes is not None and self.number >= self.episodes:
            return True
        return self.spent > self.seconds or time.monotonic() - self._clock > 10 * self.seconds

    def next_player(self) -> tuple[Episode, Player, int]:
        """Return the next episode, still without actions, its player and its longest length."""
        rng = np.random.default_rng([self.seed, self.number])
        style = STYLES[self.number % len(STYLES)]
        if style == "look ahead" and not self.look_ahead:
            style = "random"
        episode, prefix = Episode(self.seed + self.number), None
        if self.led_on and rng.random() < 0.4:  # go on from where something new was seen
            former = self.led_on[int(rng.integers(len(self.led_on)))]
            episode = Episode(former.seed)
            prefix = former.actions[: int(rng.integers(len(former.actions) + 1))]
        most = len(prefix or ()) + step_limit(rng, self.number % 7 == 3, self.lanes)
        if style == "look ahead":
            most = min(most, 100)
        self.number += 1
        return episode, Player(rng, style, self.cells, prefix), most

    def draw_episodes(self) -> Case:
        """Draw up to three of the episodes that led somewhere new."""
        rng = np.random.default_rng([self.seed, self.number, 3])
        drawn = rng.permutation(len(self.led_on))[:3]
        return [self.led_on[int(k)].copy() for k in drawn]

    def learn(self, episode: Episode, player: Player) -> None:
        """Keep an episode that led somewhere new."""
        if player.new and episode.actions:
            self.led_on.append(episode.copy())
            del self.led_on[:-200]
