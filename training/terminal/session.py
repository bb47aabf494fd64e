"""A session: lanes of a game, their players, and a history through which one steps back."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.errors import show
from training.callbacks.shaping import Potential
from training.evaluation.loop import ask
from training.players.player import MakePlayer, Player, begin_all, every_lane
from training.players.policy import Policy
from training.players.value import LaneValue, find_lane_value
from training.playing.decision import Decision, get_thought, let_explain, weigh
from training.playing.table import Decisions, Table, collect_lines
from training.run import games
from training.run.game_view import render_state

MOST = 256  # lanes that are shown at once
KEPT = 1 << 26  # bytes of history
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
        Of the players in seat order; the person's is :data:`training.playing.table.YOU`.
    players : sequence of callable or None
        Make the players; None for the person.
    policies : mapping of int to Policy
        The trained agents among them, by seat.
    adviser : callable or None
        Makes who searches each decision of the person.
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
    players: Sequence[MakePlayer | None]
    policies: Mapping[int, Policy] = field(default_factory=dict)
    adviser: MakePlayer | None = None
    delay: float | None = None
    most: int = MOST
    seed: int | None = None
    endless: bool = False
    limit: int | None = None
    potential: Callable[[BatchEngine], Potential] | None = None
    run: Path | None = None
    notes: Sequence[str] = ()


@dataclass
class Moment:
    """The lanes before a decision; all arrays are copies with a row a lane.

    Parameters
    ----------
    rows, mask, ended : ndarray
        Of the engine.
    info : mapping of str to ndarray
    taken : ndarray of int, shape (n,)
        Frames of the step that led here; 0 in lanes that took none.
    seats : ndarray of int, shape (n,)
        Whose decision is due.
    episode : ndarray, shape (n,)
        Figures of the episodes so far, as :class:`Tally` has them.
    news : list of str
        What all could see of the step that led here.
    pending : Decisions
        Of which nothing has come yet.
    actions : ndarray of int32, shape (n,), or None
        That come next; None where a person or nobody decides.
    decision : Decision or None
        What is known of the one that is due in the lane that is looked at.
    """

    rows: Array
    mask: Array
    ended: Array
    info: Mapping[str, Array]
    taken: Array
    seats: Array
    episode: Array
    news: list[str] = field(default_factory=list)
    pending: Decisions = ()
    actions: Array | None = None
    decision: Decision | None = None


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
        now["frames"] += np.where(stepped, _first(engine.tau), 0)
        now["decisions"] += stepped
        now["return"] += np.where(stepped, _first(engine.reward), 0.0)
        now["shaped"] += np.where(stepped, shaped, 0.0)
        for k, name in enumerate(self.terms):
            term = _first(np.asarray(engine.terms[name])) * stepped
            now["sums"][:, k] += term
            now["counts"][:, k] += term != 0
        over = np.flatnonzero(stepped & engine.ended)
        for lane, row in zip(over.tolist(), engine.get_states(over), strict=True):
            self.last[lane] = now[lane].copy(), row
            self.past[lane].append(float(now["return"][lane]))
        self.episodes += over.size


def _first(column: Array) -> Array:
    """Return a column; of one with an entry an agent, that of the first."""
    return column if column.ndim == 1 else column[:, 0]


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


class Session:
    """Lanes that are played at a speed, by anybody, and gone back through.

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
    looked : int or None
        The lane whose thoughts are kept.
    weighs : bool
        Whether probabilities and values of that lane are kept too.
    moments : list of Moment
    at : int
        Which of them is shown; the last one is the engine's.
    rates : Totals or None
        Of the last window, None before one was measured.
    no_value : str
        Why there is no value, in a sentence; empty with one.
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
        self.weighs, self.looked, self.no_value = False, 0 if num_envs == 1 else None, ""
        self.baseline: float | None = None  # frames a second of computing, with one lane
        self.rates: Totals | None = None
        self.moments: list[Moment] = []
        self.at = 0
        self.restart(num_envs)

    # -- what is played --------------------------------------------------------------------------

    def restart(self, num_envs: int) -> None:
        """Begin anew with so many lanes."""
        source, looked = self.source, self.looked
        gone = looked is not None and looked >= num_envs
        self.looked = 0 if num_envs == 1 else None if gone else looked
        self.engine = source.engine(num_envs)
        seed = self.seed if source.seed is None else source.seed
        if self.random_seeds and source.seed is None:
            seed = int(np.random.SeedSequence().generate_state(1, np.uint32)[0])
        self.engine.reset_many(seeds=seed)
        self._potential = None if source.potential is None else source.potential(self.engine)
        if self._potential is not None:
            self._potential.begin()
        players = [None if make is None else make(self.engine) for make in source.players]
        self.table = Table(source.env, source.options, self.engine, players, [*source.names])
        others = np.cumsum([player is not None for player in players])
        self.table.begin(seeds=(seed + self.table.meets + others - 1).tolist())
        self.adviser = None if source.adviser is None else source.adviser(self.engine)
        if self.adviser is not None:
            begin_all(self.adviser, self.engine, seed)
        self.tally = Tally(num_envs, self.engine.terms.dtype.names or ())
        self.totals = Totals(self.clock())
        self._window, self.rates = replace(self.totals), None
        self._due, self._last, self._cut = 0.0, self.totals.at, False
        self._values: dict[int, tuple[LaneValue | None, str]] = {}
        self._pace = self._find_pace()
        self.moments = []
        self._keep(np.zeros(num_envs, np.int64))

    @property
    def is_played(self) -> bool:
        """Whether a person plays."""
        return None in self.source.players

    @property
    def num_envs(self) -> int:
        """Lanes."""
        return int(self.engine.num_envs)

    @property
    def moment(self) -> Moment:
        """The moment that is shown."""
        return self.moments[self.at]

    @property
    def is_newest(self) -> bool:
        """Whether the newest moment is shown."""
        return self.at == len(self.moments) - 1

    @property
    def over(self) -> bool:
        """Whether there is nothing more to play."""
        return self.is_newest and self._is_done()

    @property
    def waits(self) -> bool:
        """Whether the decision of a person is due at the moment that is shown."""
        return self._is_persons(self.moment)

    def _is_persons(self, moment: Moment) -> bool:
        return not moment.ended[0] and int(moment.seats[0]) in self.table.persons

    def _is_done(self) -> bool:
        source = self.source
        done = not source.endless and bool(self.engine.ended.all())
        most = source.limit
        return done or (most is not None and int(self.tally.episode["decisions"][0]) >= most)

    @property
    def decision(self) -> Decision | None:
        """What is known of the decision that is due, unless it tells a person others' cards."""
        return None if self.is_played and not self.waits else self.moment.decision

    def legal(self, lane: int = 0) -> dict[int, str]:
        """Return the legal actions of a lane at the moment that is shown, with their names."""
        return self.table.name_legal(self.moment.mask[lane], self.moment.rows[lane])

    def name_action(self, action: int, lane: int = 0) -> str:
        """Name an action in a lane at the moment that is shown; recorded ones may be impossible."""
        if action not in range(self.engine.num_actions):
            return f"action {show(action)}"
        name: str = self.engine.game.action_name(action, self.moment.rows[lane])
        return name

    def action(self, lane: int = 0) -> int | None:
        """Return the action that comes next in a lane; None where nobody has decided yet."""
        moment = self.moment
        return None if moment.actions is None or moment.ended[lane] else int(moment.actions[lane])

    def draw(self, lane: int = 0, mode: str = "ansi", choice: int | None = None) -> Any:
        """Draw a lane at the moment that is shown.

        Parameters
        ----------
        lane : int
        mode : {"ansi", "rgb_array"}
        choice : int, optional
            An action to mark, where the game can; default the one that comes next.
        """
        game, table, row = self.engine.game, self.table, self.moment.rows[lane]
        own = self.is_played and games.find(self.engine, "render_state") is not None
        if mode == "ansi" and (table.meets or own):
            seat = table.find_looking_seat(int(self.moment.seats[lane]))
            return render_state(self.engine, row, table.names, seat=seat)
        choice = self.action(lane) if choice is None else choice
        if table.meets or choice not in range(self.engine.num_actions):
            return game.render(row, mode)
        return game.render_choice(row, choice, mode)

    def news(self, most: int) -> list[str]:
        """Return the last lines of what has happened up to the moment that is shown."""
        known = self.moments[max(0, self.at - LOOKED_BACK) : self.at + 1]
        return collect_lines((moment.news for moment in reversed(known)), most)

    # -- playing ---------------------------------------------------------------------------------

    def step(self) -> int:
        """Go to the next moment: one that is known, or a decision in every lane.

        Lanes that have ended begin an episode, if the source is endless.

        Returns
        -------
        int
            Frames of the longest; 0 if there is nothing more to play, or a person has to decide.
        """
        if not self.is_newest:
            self.at += 1
            return max(1, int(self.moment.taken.max()))
        if self._is_done() or self.moment.actions is None:
            return 0
        return self._take(self.moment.actions)

    def back(self) -> None:
        """Go to the moment before, in a game of a person to the last that it decided."""
        at = max(0, self.at - 1)
        while at > 0 and self.is_played and not self._is_persons(self.moments[at]):
            at -= 1
        self.at = at
        self.paused = not self.is_played

    def decide(self, action: int) -> None:
        """Take an action of the person; what followed the moment that is shown is forgotten."""
        if not self.is_newest:
            self._return()
        self.moment.actions = np.array([action], np.int32)
        self._take(self.moment.actions)

    def _return(self) -> None:
        """Bring the engine back to the moment that is shown."""
        base = self.at
        while self.moments[base].pending:  # such decisions are in no row
            base -= 1
        then = []
        for moment in self.moments[base : self.at]:
            assert moment.actions is not None
            then.append(moment.actions)
        self.table.go(self.moments[base].rows, then)
        if self.adviser is not None:
            self.adviser.begin(self.engine, every_lane(self.engine))
        self.tally.episode[:] = self.moment.episode
        del self.moments[self.at + 1 :]

    def _take(self, actions: Array) -> int:
        engine, ended = self.engine, self.engine.ended.copy()
        start = self.clock()
        if ended.any() and self.source.endless:
            engine.reset_many(ended)
            self.table.begin(np.flatnonzero(ended))
            self.tally.episode[ended] = 0
            if self._potential is not None:
                self._potential.begin()
        taken = np.zeros(self.num_envs, np.int64)
        if not ended.all():
            engine.step_many(actions, select=~ended, autoreset=False)
            self.totals.env += self.clock() - start
            taken = np.where(ended, 0, _first(engine.tau))
            shaped = 0.0 if self._potential is None else self._potential.step(actions)
            self.tally.add(engine, ~ended, shaped)
            self.totals.frames += int(taken.sum())
            self.totals.decisions += int((~ended).sum())
            self.totals.longest += int(taken.max())
        self._keep(taken)
        return max(1, int(taken.max()))

    def _keep(self, taken: Array) -> None:
        """Note the state of the engine as the newest moment, and ask for its decisions."""
        engine, n = self.engine, self.num_envs
        moment = Moment(
            rows=np.array(engine.get_states()),
            mask=np.array(engine.mask),
            ended=engine.ended.copy(),
            info={name: np.array(column) for name, column in engine.info.items()},
            taken=taken,
            seats=self.table.actors(),
            episode=self.tally.episode.copy(),
        )
        if self.moments and n == 1:
            self._tell(moment)
        self.moments.append(moment)
        size = moment.rows.nbytes + moment.mask.nbytes
        del self.moments[: -max(2, KEPT // size)]
        self.at = len(self.moments) - 1
        if not self._is_done():
            start = self.clock()
            self._choose(moment)
            self.totals.inference += self.clock() - start

    def _tell(self, moment: Moment) -> None:
        """Describe the last decision; simultaneous ones are described once all are made."""
        before, table = self.moments[-1], self.table
        if before.actions is None or before.ended[0]:
            return
        row, after = before.rows[0], moment.rows[0]
        if not (table.meets or self.is_played):
            step = int(moment.episode["decisions"][0]) - 1
            notes = self.source.notes
            note = notes[step] if step < len(notes) else table.view.mark(self.engine, row, after)
            moment.news = [f"decision {step + 1}: {note}"] if note else []
            return
        decisions = (*before.pending, (int(before.seats[0]), int(before.actions[0])))
        if table.is_pending(row, after):
            moment.pending = decisions
        else:
            moment.news = table.describe_decisions(row, decisions, after)

    # -- deciding --------------------------------------------------------------------------------

    def _choose(self, moment: Moment) -> None:
        """Ask the players for the decisions of a moment.

        Raises
        ------
        KeyboardInterrupt
            If a search was cut and the one before it too: who presses twice wants to leave.
        """
        engine, lane = self.engine, self.looked
        lanes = np.flatnonzero(~engine.ended)
        looks = lane is not None and not moment.ended[lane]
        seat = int(moment.seats[lane or 0])
        deciding: Player | None = self.table.players[seat]
        if looks and deciding is None:
            deciding = self.adviser
        let_explain((*self.table.players, self.adviser), lane is not None)
        decision = Decision(lane or 0)
        shown = not self.is_played or deciding is self.adviser
        if looks and self.weighs and shown and deciding is not None:
            decision = weigh(deciding, engine, decision.lane, self._find_value(seat))
        if self._is_persons(moment):
            if self.adviser is not None:
                decision.action = int(self.adviser.act(engine, lanes)[0])
        elif lanes.size:
            moment.actions = ask(engine, self.table.players, lanes, moment.seats[lanes])
            decision.action = int(moment.actions[decision.lane])
        else:
            moment.actions = np.zeros(self.num_envs, np.int32)
        decision.thought = get_thought(deciding, decision.lane) if looks else None
        moment.decision = decision if looks else None
        if decision.thought is not None:
            before, self._cut = self._cut, not decision.thought.finished
            if before and self._cut:
                raise KeyboardInterrupt

    def _find_value(self, seat: int) -> LaneValue | None:
        """Find the value network of the agent in a seat; None without one."""
        policy = self.source.policies.get(seat)
        if policy is not None and seat not in self._values:
            name = self.source.names[seat]
            self._values[seat] = find_lane_value(policy, self.engine, name)
        value, self.no_value = self._values.get(seat, (None, ""))
        return value

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
