"""A session: lanes of a game, their players, and a history through which one steps back.

The terminal and the studio have one each. What is shown may be an earlier moment than the one at
which the engine stands; whoever plays on from there brings it back first.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np

from fastenv.errors import show
from training.evaluation.loop import ask
from training.players.person import Person
from training.players.player import Player
from training.players.policy import Policy
from training.players.value import LaneValue, find_lane_value
from training.playing.decision import (
    Decision,
    find_thinking,
    get_thought,
    let_explain,
    weigh,
)
from training.playing.game_table import Decisions, GameTable
from training.playing.history import History, Moment
from training.run.engine import first_column

Array = np.ndarray
THE_END = "the end"  # a mark


class GameSession:
    """Lanes that are played by anybody, and gone back through.

    Parameters
    ----------
    table : GameTable
        Its games and players have begun.
    branches : bool
        Playing on from an earlier moment begins a branch; else what followed it is forgotten, and
        moments are looked at as they were (:class:`training.playing.history.History`).

    Attributes
    ----------
    endless : bool
        Lanes whose episode is over begin another.
    policies : mapping of int to Policy
        The trained agents among the players, by seat.
    looked : int or None
        The lane whose thoughts are kept.
    weighs : bool
        Whether probabilities and values of that lane are kept too.
    says : bool
        Whether it is noted what all could see of decisions.
    no_value : str
        Why there is no value, in a sentence; empty with one.
    history : History
    """

    def __init__(self, table: GameTable, *, branches: bool) -> None:
        self.endless = False
        self.policies: Mapping[int, Policy] = {}
        self.looked: int | None = 0 if table.engine.num_envs == 1 else None
        self.weighs, self.says, self.no_value = False, True, ""
        self._branches = branches
        self._sit(table)

    def _sit(self, table: GameTable) -> None:
        """Sit down at a table; what was played before is forgotten."""
        self.table, self.engine = table, table.engine
        self._values: dict[int, tuple[LaneValue | None, str]] = {}
        self._pending: Decisions = ()  # of which nothing has come yet
        self._told: tuple[bool, list[Player]] = False, []  # whether to explain, and who
        self._rows = self.engine.get_states()
        self._seats = table.actors()
        self._live = self._look(np.zeros(self.num_envs, np.int64))  # where the engine stands
        self._read = self._live, self._rows  # the moment whose rows were looked at last
        self.history = History(self.engine, self._rows, self._live, self._branches)

    # -- where it stands -------------------------------------------------------------------------

    @property
    def is_played(self) -> bool:
        """Whether a person plays."""
        return bool(self.table.persons)

    @property
    def num_envs(self) -> int:
        """Lanes."""
        return int(self.engine.num_envs)

    @property
    def moment(self) -> Moment:
        """The moment that is shown."""
        return self.history.moment

    @property
    def rows(self) -> Array:
        """The rows of the moment that is shown, shape (n,)."""
        if self.is_newest:
            return self._rows
        if self._read[0] is not self.moment:  # which may have to be stepped to
            self._read = self.moment, self.history.rows()
        return self._read[1]

    @property
    def seats(self) -> Array:
        """Whose decision is due in each lane at the moment that is shown, int (n,)."""
        return self._seats if self.is_newest else self.moment.seats

    @property
    def is_newest(self) -> bool:
        """Whether the moment is shown at which the engine stands."""
        return self.moment is self._live

    @property
    def over(self) -> bool:
        """Whether there is nothing more to play."""
        return self.is_newest and self._is_done()

    @property
    def waits(self) -> bool:
        """Whether the decision of a person is due at the moment that is shown."""
        return not self.moment.ended[0] and int(self.seats[0]) in self.table.persons

    @property
    def has_pending(self) -> bool:
        """Whether others decide at the same time as who has just decided."""
        return bool(self._pending)

    def _is_done(self) -> bool:
        return not self.endless and bool(self.engine.ended.all())

    @property
    def decision(self) -> Decision | None:
        """What is known of the decision that is due, unless it tells a person others' cards."""
        return None if self.is_played and not self.waits else self.consider()

    def action(self, lane: int = 0) -> int | None:
        """Return the action that comes next in a lane; None where nobody has decided yet."""
        self.consider()
        moment = self.moment
        return None if moment.actions is None or moment.ended[lane] else int(moment.actions[lane])

    def name_action(self, action: int, lane: int = 0) -> str:
        """Name an action in a lane at the moment that is shown; recorded ones may be impossible."""
        if action not in range(self.engine.num_actions):
            return f"action {show(action)}"
        name: str = self.engine.game.action_name(action, self.rows[lane])
        return name

    def draw(self, lane: int = 0, mode: str = "ansi", choice: int | None = None) -> Any:
        """Draw a lane at the moment that is shown.

        Parameters
        ----------
        lane : int
        mode : {"ansi", "rgb_array"}
        choice : int, optional
            An action to mark, where the game can; default the one that comes next.
        """
        game, table, row = self.engine.game, self.table, self.rows[lane]
        if mode == "ansi" and table.meets:
            return table.render(row, table.find_looking_seat(int(self.seats[lane])))
        choice = self.action(lane) if choice is None else choice
        if table.meets or choice not in range(self.engine.num_actions):
            return table.draw(row, mode)
        return game.render_choice(row, choice, mode)

    # -- going back ------------------------------------------------------------------------------

    def back(self) -> None:
        """Show the moment before, in a game of a person the last one at which it decided."""
        for index, _ in islice(self.history.way(), 1, None):
            self.history.go(self.history.branch, index)
            if not self.is_played or self.waits:
                return

    def resume(self) -> None:
        """Bring the engine to the moment that is shown; players forget what was."""
        self._rows, self._live, self._pending = self.history.rows(), self.moment, ()
        self.table.go(self._rows)
        self._seats = self.table.actors()
        self._live.forget()

    # -- playing ---------------------------------------------------------------------------------

    def step(self) -> int:
        """Go to the next moment: one that is known, or a decision in every lane.

        Lanes that have ended begin an episode, if the session is endless.

        Returns
        -------
        int
            Frames of the longest; 0 if there is nothing more to play, or a person has to decide.
        """
        if not self.is_newest:
            self.history.go(self.history.branch, self.history.index + 1)
            return max(1, int(self.moment.taken.max()))
        self.consider()
        if self._is_done() or self.moment.actions is None:
            return 0
        return self._take(self.moment.actions)

    def decide(self, action: int) -> None:
        """Let the person take an action, at the moment that is shown."""
        if not self.is_newest:
            self.resume()
            while not self.waits:  # who decides at the same time, and was asked before
                self.step()
        person = self.table.players[int(self._seats[0])]
        assert isinstance(person, Person)
        person.choose(action)
        self._take(self._ask(np.zeros(1, np.int64)))

    def _take(self, actions: Array) -> int:
        self.history.check_room()  # before the engine steps, so that both stand at one moment
        live, ended = self._live, self.engine.ended.copy()
        taken = self._play(actions, ended)
        live.actions = actions
        rows, seats = self.engine.get_states(), self.table.actors()
        decided = (*self._pending, (int(self._seats[0]), int(actions[0])))
        pending = not ended.any() and self.table.is_pending(self._rows, rows)
        self._pending, self._seats = decided if pending else (), seats
        if pending:
            live.forget()
            if int(live.seats[0]) not in self.table.persons:  # who comes back to what they decided
                self._copy(live)
            return max(1, int(taken.max()))
        moment = self._look(taken)
        if self.num_envs == 1 and not ended[0]:
            moment.decisions = decided
            self._tell(moment, self._rows[0], rows[0])
        self.history.add(rows, moment)
        if self._branches:  # who comes back decides anew
            live.forget()
        self._rows, self._live = rows, moment
        return max(1, int(taken.max()))

    def _play(self, actions: Array, ended: Array) -> Array:
        """Step the lanes that have not ended, begin the others; return the frames of each."""
        engine = self.engine
        if ended.any() and self.endless:
            engine.reset_many(ended)
            self._begin(np.flatnonzero(ended))
        if ended.all():
            return np.zeros(self.num_envs, np.int64)
        engine.step_many(actions, select=~ended, autoreset=False)
        return np.where(ended, 0, first_column(engine.tau))

    def _begin(self, lanes: Array) -> None:
        """Begin episodes in lanes that have been reset."""
        self.table.begin(lanes)

    def _look(self, taken: Array) -> Moment:
        """Make the moment at which the engine stands, behind a step of so many frames."""
        moment = Moment(self._seats, self.engine.ended.copy(), taken)
        self._copy(moment)
        return moment

    def _copy(self, moment: Moment) -> None:
        """Copy what can be seen for who decides now, where moments are looked at as they were."""
        moment.seats = self._seats
        if not self._branches:
            moment.mask = np.array(self.engine.mask)
            moment.info = {name: np.array(x) for name, x in self.engine.info.items()}

    def _tell(self, moment: Moment, before: np.void, after: np.void) -> None:
        """Note what has come of the decisions that led to a moment, and what is said of them."""
        moment.mark = self.table.view.mark(self.engine, before, after)
        if self.engine.ended[0] and not moment.mark:
            moment.mark = THE_END
        moment.reward = self.table.reward(before, moment.decisions, after)
        moment.lines = self._say(moment, before, after) if self.says else []

    def _say(self, moment: Moment, before: np.void, after: np.void) -> list[str]:
        """Describe in lines what all could see of the decisions that led to a moment."""
        return self.table.describe_decisions(before, moment.decisions, after)

    # -- deciding --------------------------------------------------------------------------------

    def consider(self) -> Decision | None:
        """Ask who has to decide at the moment that is shown, unless that was done.

        Returns
        -------
        Decision or None
            What is known of it in the lane that is looked at.
        """
        moment = self.moment
        if moment.asked or not self.is_newest or self._is_done():
            return moment.decision
        engine, lane = self.engine, self.looked
        lanes = np.flatnonzero(~engine.ended)
        looks = lane is not None and not moment.ended[lane]
        seat = int(self._seats[lane or 0])
        thinking = find_thinking(self.table.players[seat])
        on, seated = lane is not None, [*self.table.players]
        if (on, seated) != self._told:  # to ask what they can do takes as long as a frame of some
            let_explain(seated, on)
            self._told = on, seated
        decision = Decision(lane or 0)
        if looks and thinking is not None and self._is_weighed():
            decision = weigh(thinking, engine, decision.lane, self._find_value(seat))
        if self.waits:
            if thinking is not None:
                decision.action = int(thinking.act(engine, lanes)[0])
        elif lanes.size:
            moment.actions = self._ask(lanes)
            decision.action = int(moment.actions[decision.lane])
        else:
            moment.actions = np.zeros(self.num_envs, np.int32)
        decision.thought = get_thought(thinking, decision.lane) if looks else None
        moment.decision = decision if looks else None
        moment.asked = True  # only now: if a player raises an error, it is asked again
        return moment.decision

    def _ask(self, lanes: Array) -> Array:
        """Ask the players whose decisions are due in lanes; return actions (n,)."""
        return ask(self.engine, self.table.players, lanes, self._seats[lanes])

    def _is_weighed(self) -> bool:
        """Tell whether probabilities and value of the decision that is due are noted."""
        return self.weighs

    def _find_value(self, seat: int) -> LaneValue | None:
        """Find the value network of the agent in a seat; None without one."""
        policy = self.policies.get(seat)
        if policy is not None and seat not in self._values:
            self._values[seat] = find_lane_value(policy, self.engine, self.table.names[seat])
        value, self.no_value = self._values.get(seat, (None, ""))
        return value
