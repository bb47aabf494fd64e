"""The session of a terminal: a source of games, played at a speed, and how fast that goes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fastenv import BatchEngine
from training.callbacks.shaping import Potential
from training.players.player import MakePlayer
from training.players.policy import Policy
from training.playing.decision import Decision
from training.playing.game_table import GameTable
from training.playing.history import Moment
from training.playing.session import THE_END, GameSession
from training.run.engine import first_column

MOST = 256  # lanes that are shown at once
LOOKED_BACK = 500  # moments that are searched for news
SLOWEST, FASTEST, FACTOR = 0.05, 512.0, 1.25
LONGEST_GAP = 0.5  # seconds between two calls that are caught up with at most
WINDOW = 1.0  # seconds, at least, over which rates are measured
LONGEST_WINDOW = 4.0  # seconds after which nothing played is a rate of 0
Array = np.ndarray


@dataclass(frozen=True)
class Source:
    """A game, and who plays it.

    Parameters
    ----------
    env : str
    options : mapping
        Of the environment, to be shown.
    engine : callable
        Makes an engine of so many lanes.
    names : sequence of str
        Of the players in seat order; the person's is :data:`training.run.game_view.YOU`.
    players : sequence of callable
        Make the players.
    policies : mapping of int to Policy
        The trained agents among them, by seat.
    delay : float or None
        Seconds of a decision at speed 1; None: those that it lasts in the game, or 1.
    most : int
        Lanes that there can be.
    seed : int or None
        The only one, of what was recorded; None where any may be played.
    endless : bool
        Lanes whose episode is over begin another.
    limit : int or None
        Decisions that are played at most.
    potential : callable or None
        Makes what the training of the agent added to the rewards of an engine.
    run : Path or None
        Folder of the training of the agent.
    notes : sequence of str
        Events of each step of what was recorded.
    """

    env: str
    options: Mapping[str, Any]
    engine: Callable[[int], Any]
    names: Sequence[str]
    players: Sequence[MakePlayer]
    policies: Mapping[int, Policy] = field(default_factory=dict)
    delay: float | None = None
    most: int = MOST
    seed: int | None = None
    endless: bool = False
    limit: int | None = None
    potential: Callable[[BatchEngine], Potential] | None = None
    run: Path | None = None
    notes: Sequence[str] = ()


class Tally:
    """Counts of what happened in each lane.

    Parameters
    ----------
    num_envs : int
    terms : sequence of str
        Of the reward.

    Attributes
    ----------
    episode : ndarray, shape (n,), structured
        Of the current episode: frames, decisions, return, shaped (what the training of the agent
        would have added to its rewards), and of each term sums and counts of steps with it.
    last : list
        Of the episode before its record and last row; None without one.
    past : list of deque of float
        Returns of the last 100 episodes.
    episodes : int
        That have ended.
    """

    def __init__(self, num_envs: int, terms: Sequence[str]) -> None:
        self.terms, self.episodes = tuple(terms), 0
        whole = [(name, np.int64) for name in ("frames", "decisions")]
        parts = [("return", np.float64), ("shaped", np.float64)]
        each = [("sums", np.float64, len(terms)), ("counts", np.int64, len(terms))]
        self.episode = np.zeros(num_envs, np.dtype([*whole, *parts, *each]))
        self.last: list[tuple[np.void, np.void] | None] = [None] * num_envs
        self.past: list[deque[float]] = [deque(maxlen=100) for _ in range(num_envs)]

    def add(self, engine: Any, stepped: Array, shaped: Array | float = 0.0) -> None:
        """Count a step of some lanes, bool (n,), to whose rewards a training adds ``shaped``."""
        now = self.episode
        now["frames"] += np.where(stepped, first_column(engine.tau), 0)
        now["decisions"] += stepped
        now["return"] += np.where(stepped, first_column(engine.reward), 0.0)
        now["shaped"] += np.where(stepped, shaped, 0.0)
        for k, name in enumerate(self.terms):
            term = first_column(np.asarray(engine.terms[name])) * stepped
            now["sums"][:, k] += term
            now["counts"][:, k] += term != 0
        over = np.flatnonzero(stepped & engine.ended)
        for lane, row in zip(over.tolist(), engine.get_states(over), strict=True):
            self.last[lane] = now[lane].copy(), row
            self.past[lane].append(float(now["return"][lane]))
        self.episodes += over.size


@dataclass
class Totals:
    """Time and counts of playing so far; rates are differences of two of these.

    Parameters
    ----------
    at : float
        Seconds of the clock.
    frames, decisions, longest : int
        Of all lanes; and the frames of the longest of each batch step, added up.
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


class TerminalSession(GameSession):
    """Lanes of a source that are played at a speed.

    What else it does is in :class:`training.playing.session.GameSession`.

    Parameters
    ----------
    source : Source
    num_envs : int
    seed : int
        Of the first lane, unless seeds are random.
    clock : callable, optional
        Returns seconds.

    Attributes
    ----------
    speed : float
        In units of the game's own; see ``delay`` of :class:`Source`.
    paused, maximum, random_seeds : bool
    rates : Totals or None
        Of the last window, None before one was measured.
    tally : Tally
    """

    def __init__(
        self,
        source: Source,
        num_envs: int = 1,
        seed: int = 0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.source, self.seed, self.clock = source, seed, clock
        self.speed, self.paused, self.maximum, self.random_seeds = 1.0, False, False, False
        self.baseline: float | None = None  # frames a second of computing, with one lane
        self.rates: Totals | None = None
        self.totals = Totals(clock())
        super().__init__(self._make_table(num_envs), branches=False)
        self._prepare()

    # -- what is played --------------------------------------------------------------------------

    def restart(self, num_envs: int) -> None:
        """Begin anew with so many lanes."""
        if num_envs == 1:
            self.looked = 0
        elif self.looked is not None and self.looked >= num_envs:
            self.looked = None
        self.totals = Totals(self.clock())
        self._sit(self._make_table(num_envs))
        self._prepare()

    def _make_table(self, num_envs: int) -> GameTable:
        """Make the table of the source, with players that have begun."""
        source, engine = self.source, self.source.engine(num_envs)
        seed = self.seed if source.seed is None else source.seed
        if self.random_seeds and source.seed is None:
            seed = int(np.random.SeedSequence().generate_state(1, np.uint32)[0])
        engine.reset_many(seeds=seed)
        players = [make(engine) for make in source.players]
        table = GameTable(source.env, source.options, engine, players, [*source.names])
        persons = np.isin(range(len(players)), table.persons)
        others = seed + table.meets + np.cumsum(~persons) - 1
        table.begin(seeds=np.where(persons, seed, others).tolist())
        self.tally = Tally(num_envs, engine.terms.dtype.names or ())
        self._potential = None if source.potential is None else source.potential(engine)
        if self._potential is not None:
            self._potential.begin()
        return table

    def _prepare(self) -> None:
        """Take over what the source says beside its table, and begin to measure."""
        source = self.source
        self.endless, self.policies = source.endless, source.policies
        self._cut = False  # the last search was
        self._window, self.rates = replace(self.totals), None
        self._due, self._last, self._pace = 0.0, self.totals.at, self._find_pace()

    def legal(self, lane: int = 0) -> dict[int, str]:
        """Return the legal actions of a lane at the moment that is shown, with their names."""
        assert self.moment.mask is not None
        return self.table.name_legal(self.moment.mask[lane], self.rows[lane])

    def episode(self, lane: int = 0) -> np.void:
        """Return the figures of the episode of a lane at the moment that is shown."""
        figures: np.void = self._get_episodes()[lane]
        return figures

    def _get_episodes(self) -> Array:
        assert self.moment.episode is not None
        return self.moment.episode

    def news(self, most: int) -> list[str]:
        """Return the last lines of what has happened up to the moment that is shown."""
        return self.history.lines(most, self.history.index - LOOKED_BACK)

    def back(self) -> None:
        """Pause, unless a person plays, and go back."""
        super().back()
        self.paused = not self.is_played

    def _say(self, moment: Moment, before: np.void, after: np.void) -> list[str]:
        """Describe what has come of a decision, of who plays alone and is watched."""
        if self.table.meets or self.is_played:
            return super()._say(moment, before, after)
        step, notes = int(self.tally.episode["decisions"][0]), self.source.notes
        mark = "" if moment.mark == THE_END else moment.mark
        noted = (notes[step - 1] if step <= len(notes) else "") or mark
        return [f"decision {step}: {noted}"] if noted else []

    # -- what is counted -------------------------------------------------------------------------

    def consider(self) -> Decision | None:
        """See :class:`training.playing.session.GameSession`; its time is noted.

        Raises
        ------
        KeyboardInterrupt
            If a search was cut and the one before it too: who presses twice wants to leave.
        """
        start, asked = self.clock(), self.moment.asked
        decision = super().consider()
        self.totals.inference += self.clock() - start
        if not asked and decision is not None and decision.thought is not None:
            before, self._cut = self._cut, not decision.thought.finished
            if before and self._cut:
                raise KeyboardInterrupt
        return decision

    def _is_weighed(self) -> bool:
        return self.weighs and (not self.is_played or self.waits)

    def _is_done(self) -> bool:
        most = self.source.limit
        enough = most is not None and int(self.tally.episode["decisions"][0]) >= most
        return enough or super()._is_done()

    def resume(self) -> None:
        """Bring the engine to the moment that is shown, and the figures of its episodes."""
        super().resume()
        self.tally.episode[:] = self._get_episodes()

    def _play(self, actions: Array, ended: Array) -> Array:
        start, stepped = self.clock(), ~ended
        taken = super()._play(actions, ended)
        if stepped.any():
            self.totals.env += self.clock() - start
            shaped = 0.0 if self._potential is None else self._potential.step(actions)
            self.tally.add(self.engine, stepped, shaped)
            self.totals.frames += int(taken.sum())
            self.totals.decisions += int(stepped.sum())
            self.totals.longest += int(taken.max())
        return taken

    def _begin(self, lanes: Array) -> None:
        super()._begin(lanes)
        self.tally.episode[lanes] = 0
        if self._potential is not None:
            self._potential.begin()

    def _look(self, taken: Array) -> Moment:
        moment = super()._look(taken)
        moment.episode = self.tally.episode.copy()
        return moment

    # -- time ------------------------------------------------------------------------------------

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
        if self.paused or self.over or self.waits:
            return
        self._due = np.inf if self.maximum else self._due + elapsed * self.speed
        while self._due > 0 and not self.over and not self.waits and self.clock() < now + budget:
            self._due -= self._pace[0] + self._pace[1] * self.step()
            if self.num_envs == 1 and self.moment.ended[0] and not self.maximum:
                self.paused = True  # so that its end is seen
                break
        self._due = min(self._due, 0.0)

    def _find_pace(self) -> tuple[float, float]:
        """Find the seconds of a decision at speed 1, and those of each of its frames."""
        if self.source.delay is not None:
            return self.source.delay, 0.0
        if self.table.view.frame_rate:
            return 0.0, 1 / self.table.view.frame_rate
        steering = self.engine.game.steering(self.engine.get_states([0])[0])
        waits = steering is None or steering.idle is None
        return 1.0 if waits else steering.frame_time, 0.0

    def faster(self, factor: float) -> None:
        """Change the speed, within its limits."""
        self.speed, self.maximum = min(max(self.speed * factor, SLOWEST), FASTEST), False

    def _measure(self, now: float) -> None:
        self.totals.at = now
        spent = self.totals.less(self._window)
        if spent.at < (WINDOW if spent.frames else LONGEST_WINDOW):
            return
        self.rates, self._window = spent, replace(self.totals)
        if self.num_envs == 1 and spent.env > 0:
            self.baseline = spent.frames / spent.env
