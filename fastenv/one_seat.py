"""A game of several agents shown one seat at a time.

The learner sits in one seat of a lane; each other one is played by a scripted player, or from
outside as the learner's is. What is shown is the seat whose decision is due. Seats that act
together are asked one after the other, the learner first: the game moves when all have answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.checks import check_name
from fastenv.errors import ConfigError, show
from fastenv.game import Game
from fastenv.memory import Buffers, clear
from fastenv.paths import Composed, Fused, OfLanes
from fastenv.rollouts import Worlds
from fastenv.seats import EXTERNAL, ROTATE, Opponent

Array = npt.NDArray[Any]
Select = npt.NDArray[np.uint8]
I32 = npt.NDArray[np.int32]
OUTSIDE = -1  # the number of a player from outside


class Opponents:
    """Who plays the other seats of each lane, by number; and their parameters.

    Parameters
    ----------
    game : Game
    num_envs : int
    opponent : str or sequence of str
        See :class:`fastenv.engine.BatchEngine`.

    Attributes
    ----------
    chosen : ndarray of int32, shape (n, K - 1)
        Players of the next episode of each lane, from the seat after the learner's on.
    """

    def __init__(self, game: Game, num_envs: int, opponent: Opponent) -> None:
        self._game, self._others = game, game.spec.num_agents - 1
        self._names = game.bot_names
        self._params: dict[int, Array] = {}
        self.chosen: I32 = np.zeros((num_envs, self._others), np.int32)
        self.chosen[:] = self.numbers(opponent)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the scripted players, by number."""
        return self._names

    def numbers(self, opponent: Opponent) -> list[int]:
        """Return the players that a name, or a name for each other seat, stands for.

        Raises
        ------
        ConfigError
            If there is no such player, or another number of them.
        """
        names = [opponent] * self._others if isinstance(opponent, str) else opponent
        if not isinstance(names, (list, tuple)) or len(names) != self._others:
            raise ConfigError(
                f"opponent={show(opponent)}: must be one name or {self._others}, one for each "
                "other seat"
            )
        for name in names:
            check_name("opponent", name)
        return [self._number(name) for name in names]

    def _number(self, name: str) -> int:
        if name == EXTERNAL:
            return OUTSIDE
        if name in self._names:
            return self._names.index(name)
        try:
            self._game.bot(name)
        except ConfigError as error:  # a game says best what it has
            raise ConfigError(f"opponent: {error}, or {EXTERNAL!r}") from None
        raise ConfigError(f"opponent: bot {show(name)}: must be among the game's bot_names")

    def params(self, number: int) -> Array:
        """Return the parameters of a scripted player."""
        if number not in self._params:
            self._params[number] = self._game.bot(self._names[number])
        return self._params[number]

    def chosen_in(self, lane: int) -> str | tuple[str, ...]:
        """Return the opponents of a lane's next episode, as :meth:`numbers` takes them."""
        each = [EXTERNAL if k < 0 else self._names[k] for k in self.chosen[lane].tolist()]
        return each[0] if len(set(each)) == 1 else tuple(each)


class OneSeatPath:
    """A path that shows the seat whose decision is due.

    Parameters
    ----------
    game : Game
        Of several agents.
    inner : Composed or Fused
        Steps all agents.
    states : ndarray, shape (n,)
        The rows that it steps.
    seats, out : Buffers
        What ``inner`` writes, of all agents, and what is shown, of one.
    paid : ndarray, shape (n, K)
        Where to write what each seat has been paid in a step.
    opponents : Opponents
        Scripted players draw from the rows' own generators (``bot_rng``).
    agent_seat : int or "rotate"
        The learner's seat. ``rotate``: that of lane i is ``i % K`` after a reset with a seed, and
        the next one with every further episode.

    Attributes
    ----------
    decisions : ndarray of int32, shape (n,)
        Of the learner in its episode.
    agent, actor : ndarray of int32, shape (n,)
        The learner's seat, and the seat that is shown: the learner's where no decision is due.
    players : ndarray of int32, shape (n, K)
        Who plays each seat of the episode; -1 from outside, as the learner.

    Notes
    -----
    A step continues until a seat from outside must act or the episode ends; the learner's rewards
    add up. Rewards before the first decision from outside are dropped. What is here stands in no
    row.
    """

    def __init__(
        self,
        game: Game,
        inner: Composed | Fused,
        states: Array,
        seats: Buffers,
        out: Buffers,
        paid: Array,
        opponents: Opponents,
        agent_seat: int | str,
    ) -> None:
        self.inner: Composed | Fused = inner
        self.seats: Buffers = seats
        self.out: Buffers = out
        self._game, self._states = game, states
        self._done, self._paid = states["done"], paid
        self._ends = states["ends"] if "ends" in (states.dtype.names or ()) else None
        self._strict = game.spec.illegal_actions == "raise"
        self.pack: OfLanes = inner.pack
        self.completes: bool = inner.completes
        self.worlds: Worlds = inner.worlds
        self.opponents: Opponents = opponents
        self._rotates = agent_seat == ROTATE
        n, k = seats.reward.shape
        self._lanes, self._count = np.arange(n), k
        self._given = np.zeros((n, k), np.int32)
        self._choice = np.zeros(n, np.int32)
        self.decisions: I32 = np.zeros(n, np.int32)
        fixed = None if self._rotates else np.full(n, agent_seat, np.int32)
        self.agent: I32 = self._first_seats() if fixed is None else fixed
        self.actor: I32 = self.agent.copy()
        self.players: I32 = np.full((n, k), OUTSIDE, np.int32)
        self._answered = np.zeros((n, k), np.bool_)
        self._over = np.ones(n, np.bool_)  # no episode is running
        columns = out.info.dtype
        self._by_agent = [c for c in columns.names or () if columns[c].shape[:1] == (k,)]
        self._moves = self._rotates  # players change from one episode to the next
        self._seat_players(self._lanes)

    # -- who sits where --------------------------------------------------------------------------

    def _first_seats(self) -> I32:
        seats: I32 = (self._lanes % self._count).astype(np.int32)
        return seats

    def _seat_players(self, lanes: Array) -> None:
        """Seat the chosen players of lanes whose episode begins."""
        self.players[lanes] = self._seated(self.agent[lanes], self.opponents.chosen[lanes])
        self._note_players()

    def _seated(self, agent: Array, chosen: Array) -> Array:
        """Return who plays each seat where these players follow the learner, shape (m, K)."""
        outside = np.full_like(agent[:, None], OUTSIDE)
        places = (np.arange(self._count) - agent[:, None]) % self._count
        seated: Array = np.take_along_axis(np.hstack([outside, chosen]), places, axis=1)
        return seated

    def _note_players(self) -> None:
        """Keep what follows from who plays where."""
        others = (self.players >= 0).sum(1) == self._count - 1
        self._alone = bool(others.all())  # nobody but the learner is played from outside
        self._first_only = self._alone and not self.agent.any()
        numbers = [np.flatnonzero(np.bincount(seat + 1)).tolist() for seat in self.players.T]
        self._bots = [  # seat, player, and whether it is that one in every lane
            (seat, number - 1, len(here) == 1)
            for seat, here in enumerate(numbers)
            for number in here
            if number > 0
        ]

    def configure(self, opponent: Opponent, lanes: Array) -> None:
        """Choose the players of the next episode in lanes, from the seat after the learner's on."""
        self.opponents.chosen[lanes] = self.opponents.numbers(opponent)
        self._moves = True

    def _arrays(self) -> dict[str, Array]:
        """Return the arrays that no row holds, by name, without a copy."""
        found = {"decisions": self.decisions, "agent": self.agent, "players": self.players}
        found |= {"opponents": self.opponents.chosen}
        return found | {"given": self._given, "answered": self._answered}

    def state(self) -> dict[str, Array]:
        """Return copies of what no row says, by name."""
        found = {name: array.copy() for name, array in self._arrays().items()}
        found["given"][~found["answered"]] = 0  # what is left there of earlier steps means nothing
        return found

    def load_state(self, saved: Mapping[str, Array]) -> None:
        """Put back what :meth:`state` returned, or some of it, behind the rows.

        Raises
        ------
        ValueError
            Nobody can sit like this, or answer so. Nothing has changed.
        """
        self._check({**self._arrays(), **saved})
        for name, array in self._arrays().items():
            if name in saved:
                array[:] = saved[name]
        again = self._seated(self.agent, self.opponents.chosen)
        self._moves = self._rotates or bool((again != self.players).any())
        self._note_players()
        self._give_turn(np.ones(len(self._lanes), np.bool_))

    def _check(self, arrays: Mapping[str, Array]) -> None:
        """Refuse numbers that name no seat, player or action, and answers that nobody can give."""
        last_player = len(self.opponents.names) - 1
        limits = {"decisions": (0, np.iinfo(np.int32).max), "agent": (0, self._count - 1)}
        limits |= dict.fromkeys(("players", "opponents"), (OUTSIDE, last_player))
        limits["given"] = 0, self.seats.mask.shape[-1] - 1
        for name, (low, high) in limits.items():
            wrong = (arrays[name] < low) | (arrays[name] > high)
            if wrong.any():
                raise ValueError(f"{name}={arrays[name][wrong][0]}: must be {low}..{high}")
        players, given = arrays["players"], arrays["given"]
        if (players[self._lanes, arrays["agent"]] != OUTSIDE).any():
            raise ValueError("players: that of the learner's seat must be -1")
        possible = (players == OUTSIDE) & ~self._over[:, None]
        possible &= self.inner.needs_action(np.ones(len(players), np.uint8))
        if self._strict:
            possible &= np.take_along_axis(self.seats.mask, given[..., None], 2)[..., 0] != 0
        wrong = arrays["answered"] & ~possible
        if wrong.any():
            lane, seat = np.argwhere(wrong)[0]
            answer = given[lane, seat]
            raise ValueError(f"answered: seat {seat} of lane {lane} cannot have answered {answer}")

    # -- moving ----------------------------------------------------------------------------------

    def reset(self, select: Select, seeds: Array | None) -> None:
        """Start an episode in each selected lane, up to the first decision from outside."""
        inner, seats = self.inner, self.seats
        lanes = np.flatnonzero(select)
        self.decisions[lanes] = 0
        if self._rotates and seeds is not None:
            self.agent[lanes] = self._first_seats()[lanes]
        elif self._rotates:
            self.agent[lanes] = (self.agent[lanes] + 1) % self._count
        self._answered[lanes] = False
        self._over[lanes] = False
        if self._moves:
            self._seat_players(lanes)
        inner.reset(select, seeds)
        inner.observe(select, seats.obs, seats.mask)
        waiting = self._ready(select)
        while waiting.any():
            self._advance(waiting)
            over = ((seats.terminated | seats.truncated) & waiting) != 0
            if over.any():
                inner.reset(over.view(np.uint8), None)
                inner.observe(over.view(np.uint8), seats.obs, seats.mask)
            waiting = self._ready(waiting)
        self._give_turn(select != 0)

    def load(self, select: Select) -> None:
        """Take over the selected rows; the learner's decisions continue from those of its seat."""
        rows = select != 0
        self.inner.load(select)
        made = self._game.decisions(self._states[rows])
        self.decisions[rows] = made[np.arange(len(made)), self.agent[rows]]
        self._answered[rows] = False
        self._over[rows] = self._done[rows] != 0  # other rows are not looked at
        self._give_turn(rows)

    def _asked(self, select: Select) -> Array:
        """Return which seats from outside have not answered yet, bool (n, K)."""
        needs = self.inner.needs_action(select)
        asked: Array = needs & (self.players < 0) & ~self._answered
        return asked

    def asked(self) -> Array:
        """Return which seats from outside must still answer, bool (n, K): none without a game."""
        running = (~self._over).view(np.uint8)
        asked: Array = self._asked(running) & ~self._over[:, None]
        return asked

    def _ready(self, select: Select) -> Select:
        """Return the selected lanes in which no decision from outside is due."""
        due: Any
        if self._first_only:
            due = self.inner.needs_action(select)[:, 0] & ~self._answered[:, 0]
        else:
            due = self._asked(select).any(1)
        ready: Select = ((select != 0) & ~due).view(np.uint8)
        return ready

    def _give_turn(self, rows: Array) -> None:
        """Find out whose decision is due in lanes: the learner's before those of others."""
        if self._alone:
            np.copyto(self.actor, self.agent, where=rows)
            return
        asked = self._asked(rows.view(np.uint8))
        place = (self.agent[:, None] + np.arange(self._count)) % self._count
        first = np.take_along_axis(asked, place, axis=1).argmax(1)
        np.copyto(self.actor, (self.agent + first) % self._count, where=rows & ~self._over)
        np.copyto(self.actor, self.agent, where=rows & self._over)

    def _advance(self, select: Select) -> None:
        """Step lanes with the answers from outside and those of the scripted players."""
        seats, given = self.seats, self._given
        for seat, number, everywhere in self._bots:
            own = select if everywhere else select & (self.players[:, seat] == number)
            self._choice.fill(0)
            params = self.opponents.params(number)
            self.inner.bot_actions(params, seat, seats.obs, seats.mask, own, None, self._choice)
            if everywhere:
                given[:, seat] = self._choice
            else:
                np.copyto(given[:, seat], self._choice, where=own != 0)
        self.inner.step(given, select, False, seats.obs, seats.mask)
        given[select != 0] = 0
        if not self._first_only:
            self._answered[select != 0] = False

    def step(
        self, actions: Array, select: Select, autoreset: bool, obs: Array, mask: Array
    ) -> None:
        """Step to the next decision from outside; see ``BatchLoop.step_fused``."""
        seats, out = self.seats, self.out
        for column in (self._paid, out.terminated, out.truncated):
            column.fill(0)
        clear(out.terms)
        moving = self._take(actions, select)
        while moving.any():
            self._advance(moving)
            moved = moving != 0
            self._paid += seats.reward
            for name in out.terms.dtype.names or ():
                out.terms[name] += self._of_agent(seats.terms[name])
            out.terminated |= seats.terminated
            out.truncated |= seats.truncated
            out.tau[moved] = self._of_agent(seats.tau)[moved]
            done = (seats.terminated | seats.truncated) != 0
            if done.any():
                self._end(done)
            moving = self._ready((moved & ~done).view(np.uint8))
        out.reward[:] = self._of_agent(self._paid)
        ended = np.bitwise_or(out.terminated, out.truncated, dtype=np.uint8)
        self._over |= ended != 0
        if not self._first_only:
            self._give_turn(select != 0)
        if autoreset and ended.any():
            self.reset(ended, None)
        self._show(select, obs, mask)

    def _take(self, actions: Array, select: Select) -> Select:
        """Note the answers of the seats that are shown; return the lanes that can move."""
        if self._first_only:
            np.multiply(actions, select, out=self._given[:, 0])
            self.decisions += select
            return select
        chosen = select != 0
        self.decisions += chosen & (self.actor == self.agent)
        acting = self._lanes[chosen], self.actor[chosen]
        self._given[acting], self._answered[acting] = actions[chosen], True
        return self._ready(select)

    def _of_agent(self, column: Array) -> Array:
        """Return the learner's entries of a column of all seats."""
        mine: Array = column[:, 0] if self._first_only else column[self._lanes, self.agent]
        return mine

    def _end(self, done: Array) -> None:
        seats, out = self.seats, self.out
        out.final_obs[done] = self._of_agent(seats.final_obs)[done]
        out.ep_return[done] = self._of_agent(seats.ep_return)[done]
        out.ep_length[done] = self.decisions[done]
        out.ep_frames[done] = seats.ep_frames[done]
        if self._ends is not None:  # what ends the episode of others is no limit of the learner's
            self.pack(done.view(np.uint8))
            ends = self._of_agent(self._ends)[done]
            out.terminated[done], out.truncated[done] = ends == 1, ends == 2
        self._show_info(done, seats.final_info, out.final_info)

    def _show_info(self, rows: Array, info: Array, out: Array) -> None:
        """Write the columns of lanes; where there is an entry an agent, the learner's is first."""
        out[rows] = info[rows]
        if self._first_only:
            return
        moved = np.flatnonzero(rows & (self.agent != 0))
        if moved.size:
            place = (self.agent[moved, None] + np.arange(self._count)) % self._count
            for name in self._by_agent:
                out[name][moved] = info[name][moved[:, None], place]

    def _show(self, select: Select, obs: Array, mask: Array) -> None:
        rows = select != 0
        where: Any = 0 if self._first_only else self.actor[rows]
        obs[rows], mask[rows] = self.seats.obs[rows, where], self.seats.mask[rows, where]
        self._show_info(rows, self.seats.info, self.out.info)

    def observe(self, select: Select, obs: Array, mask: Array) -> None:
        """Write observation, mask and info of the selected lanes."""
        self.inner.observe(select, self.seats.obs, self.seats.mask)
        self._show(select, obs, mask)

    # -- questions -------------------------------------------------------------------------------

    def first_illegal(self, actions: Array, select: Select) -> int:
        """Return the first selected lane whose action is illegal, or -1."""
        legal = self.seats.mask[self._lanes, self.actor, actions] != 0
        needs = self.inner.needs_action(select)[self._lanes, self.actor]
        wrong = (select != 0) & ~legal & needs
        return int(wrong.argmax()) if wrong.any() else -1

    def bot_actions(
        self, params: Array, agent: int | None, select: Select, rng: Any, out: Any
    ) -> None:
        """Write what a scripted player would do in a seat; None is the one that is shown."""
        seats = self.seats
        for seat in range(self._count) if agent is None else (agent,):
            own = select if agent is not None else select & (self.actor == seat)
            self.inner.bot_actions(params, seat, seats.obs, seats.mask, own, rng, out)

    def encode_rows(self, rows: Array, obs: Array, mask: Array, seat: Array | int = 0) -> None:
        """Write observation and mask of a seat of rows that belong to no lane."""
        seats = [np.zeros((len(rows), self._count, *a.shape[1:]), a.dtype) for a in (obs, mask)]
        self.inner.encode_rows(rows, *seats)
        obs[:], mask[:] = (array[np.arange(len(rows)), seat] for array in seats)
