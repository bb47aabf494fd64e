"""Play environments at a speed, and count what happens in them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import astuple, dataclass, field, replace
from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.drmario import tables as t
from fastenv.drmario.layout import REWARD_TERMS
from fastenv.drmario.view import FRAME_RATE
from training.apps.drmario.viewer.sources import Source
from training.evaluation.loop import ask
from training.players.player import begin_all

SLOWEST, FASTEST, FACTOR = 0.05, 512.0, 1.25
LONGEST_GAP = 0.5  # seconds between two calls that are caught up with at most
WINDOW = 1.0  # seconds, at least, over which rates are measured
LONGEST_WINDOW = 4.0  # seconds after which nothing played is a rate of 0
SAMPLE = 16  # boards whose planning is timed, once a window
Array = np.ndarray


@dataclass
class Tally:
    """Counts of what happened in each environment; all arrays have one row an environment.

    Parameters
    ----------
    num_envs : int

    Attributes
    ----------
    frames, decisions, returns : ndarray
        Of the current episode.
    sums, counts : ndarray, shape (n, terms)
        Of each term of the reward in the current episode: its sum, and in how many steps it was
        not 0.
    shaped : ndarray
        What the training of the agent would have added to the rewards of the current episode.
    last : list of dict or None
        Of the episode before: frames, decisions, return, reason, sums, counts and shaped.
    past : list of deque of float
        Returns of the last 100 episodes.
    episodes : int
        That have ended.
    topout : float
        The last penalty for a full bottle.
    """

    num_envs: int
    frames: Array = field(init=False)
    episodes: int = 0
    topout: float = 0.0

    def __post_init__(self) -> None:
        """Begin with nothing."""
        n, terms = self.num_envs, len(REWARD_TERMS)
        self.frames, self.decisions = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.returns, self.sums = np.zeros(n), np.zeros((n, terms))
        self.shaped = np.zeros(n)
        self.counts = np.zeros((n, terms), np.int64)
        self.last: list[dict[str, Any] | None] = [None] * n
        self.past: list[deque[float]] = [deque(maxlen=100) for _ in range(n)]

    def begin(self, lanes: Array) -> None:
        """Forget the current episode of some lanes, bool (n,)."""
        per_episode = (self.frames, self.decisions, self.returns, self.sums, self.counts)
        for column in (*per_episode, self.shaped):
            column[lanes] = 0

    def add(self, engine: BatchEngine, stepped: Array, shaped: Array | float = 0.0) -> None:
        """Count a step of some lanes, bool (n,), to whose rewards a training adds ``shaped``."""
        terms = terms_of(engine)
        self.frames += np.where(stepped, engine.tau, 0)
        self.decisions += stepped
        self.returns += np.where(stepped, engine.reward, 0.0)
        self.shaped += np.where(stepped, shaped, 0.0)
        self.sums += terms * stepped[:, None]
        self.counts += (terms != 0) & stepped[:, None]
        over = np.flatnonzero(stepped & engine.ended)
        if not over.size:
            return
        rows = engine.get_states(over)
        for lane, row in zip(over.tolist(), rows, strict=True):
            self.last[lane] = {
                "frames": int(self.frames[lane]),
                "decisions": int(self.decisions[lane]),
                "return": float(self.returns[lane]),
                "reason": t.REASONS[row["reason"]],
                "sums": self.sums[lane].copy(),
                "counts": self.counts[lane].copy(),
                "shaped": float(self.shaped[lane]),
            }
            self.past[lane].append(float(self.returns[lane]))
        self.episodes += over.size
        penalties = terms[over, REWARD_TERMS.index("reward_topout")]
        if penalties.any():
            self.topout = float(penalties[penalties != 0][-1])


@dataclass
class Totals:
    """Time and counts of playing so far; rates are differences of two of these.

    Parameters
    ----------
    at : float
        Seconds of the clock.
    frames, decisions, longest : int
        Of all environments; and the frames of the longest of each batch step, added up.
    env, inference : float
        Seconds.
    """

    at: float = 0.0
    frames: int = 0
    decisions: int = 0
    longest: int = 0
    env: float = 0.0
    inference: float = 0.0

    def less(self, other: Totals) -> Totals:
        """Return the difference."""
        return Totals(*(a - b for a, b in zip(astuple(self), astuple(other), strict=True)))


class Playback:
    """Environments that are played at a speed.

    Parameters
    ----------
    source : Source
    num_envs : int
    seed : int
        Of the first environment, unless seeds are random.
    clock : callable, optional
        Returns seconds.

    Attributes
    ----------
    speed : float
        In units of the console's 60.0988 frames a second; a placement counts its frames.
    paused, maximum, random_seeds : bool
    rates : Totals or None
        Of the last window, None before one was measured.
    planner : float or None
        Seconds of planning a step of an environment, measured apart; None where there is none.
    """

    def __init__(
        self,
        source: Source,
        num_envs: int,
        seed: int = 0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.source, self.seed, self.clock = source, seed, clock
        self.speed, self.paused, self.maximum, self.random_seeds = 1.0, False, False, False
        self.baseline: float | None = None  # frames a second of computing, with one environment
        self.restart(num_envs)

    # -- what is played --------------------------------------------------------------------------

    def restart(self, num_envs: int) -> None:
        """Begin anew with so many environments."""
        self.engine = self.source.engine(num_envs)
        seed = self.seed if self.source.seed is None else self.source.seed
        if self.random_seeds and self.source.seed is None:
            seed = int(np.random.SeedSequence().generate_state(1, np.uint32)[0])
        self.engine.reset_many(seeds=seed)
        shaped = self.source.potential
        self._potential = None if shaped is None else shaped(self.engine)
        if self._potential is not None:
            self._potential.begin()
        self._player = self.source.player(self.engine)
        begin_all(self._player, self.engine, seed)
        self.tally, self.totals = Tally(num_envs), Totals(self.clock())
        self._window = replace(self.totals)
        self.rates: Totals | None = None
        self.planner: float | None = None
        self._due, self._last = 0.0, self.totals.at
        self.taken: Array | None = None  # tau of the last batch step
        self._choose()

    @property
    def num_envs(self) -> int:
        """Environments."""
        return int(self.engine.num_envs)

    @property
    def over(self) -> bool:
        """Whether there is nothing more to play."""
        return self.source.is_over(self.engine)

    def _choose(self) -> None:
        start = self.clock()
        self.actions = ask(self.engine, [self._player], np.flatnonzero(~self.engine.ended))
        self.totals.inference += self.clock() - start

    # -- playing ---------------------------------------------------------------------------------

    def step(self) -> int:
        """Take one decision in every environment, or begin an episode in those that have ended.

        Returns
        -------
        int
            Frames of the longest; 0 if there is nothing more to play.
        """
        engine = self.engine
        if self.over:
            return 0
        ended = engine.ended.copy()
        start = self.clock()
        if ended.any():
            engine.reset_many(ended)
            self._player.begin(engine, np.flatnonzero(ended))
            self.tally.begin(ended)
            if self._potential is not None:
                self._potential.begin()
        longest = 1
        if not ended.all():
            engine.step_many(self.actions, select=~ended, autoreset=False)
            self.totals.env += self.clock() - start
            self.taken = np.where(ended, 0, engine.tau)
            shaped = 0.0 if self._potential is None else self._potential.step(self.actions)
            self.tally.add(engine, ~ended, shaped)
            longest = int(self.taken.max())
            self.totals.frames += int(self.taken.sum())
            self.totals.decisions += int((~ended).sum())
            self.totals.longest += longest
        self._choose()
        return longest

    def advance(self, budget: float) -> None:
        """Play what is due since the last call.

        Parameters
        ----------
        budget : float
            Seconds that it may take; what does not fit is left out.
        """
        now = self.clock()
        elapsed, self._last = min(now - self._last, LONGEST_GAP), now
        self._measure(now)
        if self.paused or self.over:
            return
        self._due = np.inf if self.maximum else self._due + elapsed * FRAME_RATE * self.speed
        while self._due > 0 and not self.over and self.clock() < now + budget:
            self._due -= self.step()
        self._due = min(self._due, 0.0)

    def faster(self, factor: float) -> None:
        """Change the speed, within its limits."""
        self.speed, self.maximum = min(max(self.speed * factor, SLOWEST), FASTEST), False

    # -- measuring -------------------------------------------------------------------------------

    def _measure(self, now: float) -> None:
        self.totals.at = now
        spent = self.totals.less(self._window)
        if spent.at < (WINDOW if spent.frames else LONGEST_WINDOW):
            return
        self.rates, self._window = spent, replace(self.totals)
        self.planner = self._time_planner()
        if self.num_envs == 1 and spent.env > 0:
            self.baseline = spent.frames / spent.env

    def _time_planner(self) -> float | None:
        """Return the seconds that planning for one environment takes, None without a planner."""
        config: Any = getattr(self.engine.game, "config", None)
        try:
            from fastenv.drmario._reachability import plan
        except ImportError:
            return None
        if not config.placement:
            return None
        rows = self.engine.get_states(np.arange(min(self.num_envs, SAMPLE)))
        players = rows["players"][:, 0]
        gravities = [t.gravity(int(p["speed_setting"]), int(p["speed_ups"])) for p in players]
        arguments = players["board"], rows["frame"] & 1, gravities, config.extended_inputs
        plan(*arguments)  # a warm cache, as in play
        start = time.perf_counter()
        plan(*arguments)
        return (time.perf_counter() - start) / len(rows)

    def computing_rate(self) -> float | None:
        """Return frames of all environments a second of computing, None before it is measured."""
        if self.rates is None or self.rates.env <= 0:
            return None
        return self.rates.frames / self.rates.env


def terms_of(engine: BatchEngine) -> Array:
    """Return the terms of the reward of the last step, shape (n, terms), of the first agent."""
    columns = [np.asarray(engine.terms[name]) for name in REWARD_TERMS]
    return np.stack([c if c.ndim == 1 else c[:, 0] for c in columns], axis=1)
