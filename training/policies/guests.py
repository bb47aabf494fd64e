"""Bots and trained policies in the seats of games that are played from outside.

A table is an engine of whole games made with ``seats="all"``: it shows the seat whose decision is
due, and who sits there decides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

import fastenv
from fastenv import BatchEngine
from fastenv.engine import rng_streams
from fastenv.errors import ConfigError, StateError, show
from fastenv.registry import short_id
from fastenv.seats import EXTERNAL, Seats
from training.policies.policy import Policy, Who
from training.policies.thought import Thought
from training.run import games
from training.run.options import require
from training.run.seating import SEATING, check_bot, env_of_table, without_seating


class Guest(Protocol):
    """Plays a seat at many tables, or in many lanes of a part of a game."""

    @property
    def takes_all(self) -> bool:
        """Whether it takes all decisions itself, without a bot for some of them."""

    def begin(self, lanes: np.ndarray) -> None:
        """Forget what was in lanes whose games begin."""

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return actions, shape (k,), for the lanes (k,) in which it has to decide."""


@dataclass(frozen=True)
class Table:
    """The environment of a game of several players, and its options.

    Parameters
    ----------
    env : str
        Environment id, without the namespace.
    options : mapping
        Options of the environment, without the seating.
    """

    env: str
    options: Mapping[str, Any]

    @property
    def seats(self) -> Seats:
        """The seats of the players.

        Raises
        ------
        ConfigError
            If the game is not one of several players.
        """
        seats = fastenv.make_game(self.env, **self.options).seats
        allowed = "of a game in which players meet: here players do not meet"
        require(seats is not None, "env", self.env, allowed)
        assert seats is not None
        return seats

    @property
    def judged_by(self) -> str:
        """The measure that ranks the players: ``points``, or else wins."""
        judged = games.get_game(self.env).judged_by
        return judged or fastenv.make_game(self.env, **self.options).spec.judged_by

    def make(self, num_envs: int) -> BatchEngine:
        """Return an engine whose seats are all played from outside, with a table a lane."""
        return fastenv.make_engine(self.env, num_envs, seats="all", **self.options)


def find_table(
    policies: Sequence[Policy], env: str | None = None, options: Mapping[str, Any] | None = None
) -> Table:
    """Return the table at which players meet.

    It has the options that the first policy was trained with, as far as its game does not say
    otherwise (:class:`training.run.games.TableRules`).

    Parameters
    ----------
    policies : sequence of Policy
        May be empty, with an ``env``.
    env : str, optional
        Id of the environment; default that of the first policy.
    options : mapping, optional
        Of the environment, over all others.

    Raises
    ------
    ConfigError
        If in this environment players do not meet.
    """
    own = policies[0].env if policies else env
    assert own is not None
    where = env_of_table(own)
    if env is not None:
        agents = f", the game of {policies[0].path}" if policies else ""
        require(short_id(env) == where, "env", env, f"{where} with --against{agents}")
    for name in SEATING:
        if options and name in options:
            require(False, name, options[name], "left out: who sits where is said by --against")
    game = games.get_game(where)
    taken = without_seating(policies[0].env_spec.options) if policies else {}
    if game.table.shared is not None:
        taken = {name: taken[name] for name in game.table.shared if name in taken}
    usual = {**game.env_options, **game.table.options}
    table = Table(where, without_seating({**usual, **taken, **(options or {})}))
    _ = table.seats  # or it is refused
    return table


def make_guest(
    who: Who, engine: BatchEngine, seed: int, *, beside: bool = False, sample: bool = False
) -> Guest:
    """Return a player for a seat of a table: of a trained policy, or of a bot by its name.

    Parameters
    ----------
    who : Policy, Agent or str
    engine : BatchEngine
        The table's.
    seed : int
        Of what it draws.
    beside, sample : bool
        See :class:`PolicyGuest`; bots, and who searches, choose as ever.

    Raises
    ------
    ConfigError
        If it cannot play there.
    """
    if isinstance(who, str):
        return BotGuest(who, engine, seed)
    if isinstance(who, Policy):
        return PolicyGuest(who, engine, seed, beside=beside, sample=sample)
    found: Guest = who.guest(engine, seed)
    return found


class BotGuest:
    """A bot; see :class:`Guest`.

    Parameters
    ----------
    name : str
    engine : BatchEngine
    seed : int
        Of its generators, one a lane.

    Attributes
    ----------
    listener : callable or None
        Is told lane and :class:`~training.policies.thought.Thought` of every decision for which the
        bot looked ahead.

    Raises
    ------
    ConfigError
        If there is no such bot.
    """

    takes_all = True

    def __init__(self, name: str, engine: BatchEngine, seed: int) -> None:
        check_bot(engine.game, name)
        self._name, self._streams = name, rng_streams(seed, engine.num_envs)
        self.listener: Callable[[int, Thought], None] | None = None

    def begin(self, lanes: np.ndarray) -> None:
        """Bots remember nothing."""

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return its choices."""
        begun = time.process_time()
        actions: np.ndarray = engine.bot_actions(self._name, self._streams)[lanes]
        if self.listener is not None:
            self._tell(engine, lanes, 1000 * (time.process_time() - begun) / len(lanes))
        return actions

    def _tell(self, engine: Any, lanes: np.ndarray, milliseconds: float) -> None:
        """Tell what it found of the actions that it followed."""
        assert self.listener is not None
        game, rows = engine.game, engine.get_states(lanes)
        seats = engine.get_actors(lanes) if game.num_seats > 1 else np.zeros(len(lanes), int)
        for lane, row, seat in zip(lanes.tolist(), rows, seats.tolist(), strict=True):
            found = game.considered(row, seat, self._name)
            if found is not None and len(found):
                unknown = np.full(len(found), np.nan)
                action, value, count = found["action"], found["value"], found["count"]
                chosen = int(action[0])
                self.listener(
                    lane, Thought(action, value, unknown, count, unknown, chosen, milliseconds)
                )


class PolicyGuest:
    """A trained policy, beside a bot where it has learnt only some decisions of a game.

    It sees the table as its own environment would show it. Where that is what the engine shows
    anyway, it is taken from there; else the rows of the table are encoded once more.

    Parameters
    ----------
    policy : Policy
    engine : BatchEngine
        The table's.
    seed : int
        Of what the bot beside it draws, and itself in games whose agents draw their actions.
    beside : bool
        It sits beside a learner, whose episodes may be parts of a game in which players do not
        meet; else it plays the learner's own seat there.
    sample : bool
        It draws its actions, in any game.

    Attributes
    ----------
    takes_all : bool
        It decides everything itself.

    Raises
    ------
    ConfigError
        If it is of another game, of another number of players, or of other rules whose states are
        not those of this table.

    Notes
    -----
    It remembers one game a lane, so it can have one seat of each.
    """

    def __init__(
        self, policy: Policy, engine: Any, seed: int, *, beside: bool = False, sample: bool = False
    ) -> None:
        self._policy, self._observer = policy, _make_observer(policy)
        alone = engine.seats is None and not beside
        if alone:
            _check_same_env(policy, engine)
        else:
            _check_same_game(policy, self._observer, engine)
        shown = alone or _shows_same(self._observer, engine)
        self._shown = policy.env_spec.encode is None and shown
        game = games.get_game(policy.env)
        part = game.table.parts.get(short_id(policy.env))
        self.takes_all, self._part = part is None, part
        self._others = None if part is None else BotGuest(part.bot, engine, seed)
        options, whole = policy.env_spec.options, {} if part is None else part.whole
        remembers = bool(whole) and all(options.get(name) == whole[name] for name in whole)
        self._begins = () if part is None or remembers else part.begins
        self._states = np.zeros((engine.num_envs, policy.state_size), np.float32)
        self._rng = np.random.default_rng(seed) if draws(policy, sample) else None

    def begin(self, lanes: np.ndarray) -> None:
        """Forget what was in lanes whose games begin."""
        self._states[lanes] = 0

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return its legal actions, or the bot's where the decision is not its own."""
        engine.refresh()
        part, others = self._part, self._others
        if part is None or others is None:
            return self._choose(engine, lanes)
        due = engine.info[part.column][lanes]
        self._states[lanes[np.isin(due, self._begins)]] = 0
        own = np.isin(due, part.values)
        actions = np.zeros(len(lanes), np.int32) if own.all() else others.act(engine, lanes)
        if own.any():
            actions[own] = self._choose(engine, lanes[own])
        return actions

    def probabilities(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return the policy's probability of each action, float64, shape (k, A).

        NaN where the decision is not its own, and of networks with memory.
        """
        engine.refresh()
        found = np.full((len(lanes), engine.num_actions), np.nan)
        own = np.ones(len(lanes), np.bool_)
        if self._part is not None:
            own = np.isin(engine.info[self._part.column][lanes], self._part.values)
        if own.any() and not self._policy.state_size:
            seen = self.see(engine, lanes[own])
            found[own] = self._policy.probabilities(seen, engine.mask[lanes[own]])
        return found

    def _choose(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        state = self._states[lanes] if self._policy.state_size else None
        best, rng = self._rng is None, self._rng
        seen, legal = self.see(engine, lanes), engine.mask[lanes]
        actions, state = self._policy.act(seen, legal, state, deterministic=best, rng=rng)
        if state is not None:
            self._states[lanes] = state
        chosen: np.ndarray = actions
        return chosen

    def see(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return the policy's observations of lanes, as in its own environment, shape (k, ...)."""
        if self._shown:
            shown: np.ndarray = engine.obs[lanes]
            return shown
        rows, encode = engine.get_states(lanes), self._policy.env_spec.encode
        if encode is not None:
            return encode(rows)
        observer = self._observer
        if observer.opponent is None:  # rows show the seat that decides
            return observer.encode_obs_many(rows, trusted=True)
        return observer.encode_obs_many(rows, trusted=True, seat=engine.get_actors(lanes))


def sight_of(policy: Policy) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function of rows (k,) that show one seat: what the policy sees of them."""
    if policy.env_spec.encode is not None:
        return policy.env_spec.encode
    return partial(_make_observer(policy).encode_obs_many, trusted=True)


def draws(policy: Policy, sample: bool) -> bool:
    """Tell whether a policy draws its actions: it is asked to, or its game says so."""
    return sample or games.get_game(policy.env).draws


def _make_observer(policy: Policy) -> BatchEngine:
    """Return an engine of the policy's environment that encodes the rows of others."""
    options = without_seating(policy.env_spec.options)
    one_each = fastenv.make_game(policy.env, **options).spec.num_agents > 1
    seating: dict[str, Any] = {"seats": "all"} if one_each else {}
    return fastenv.make_engine(policy.env, 1, **options, **seating)


def _check_same_env(policy: Policy, engine: Any) -> None:
    """Refuse a policy in a game for one that does not show what it has learnt to see."""
    where = engine.game.env_id
    _check(short_id(policy.env) == where, policy, "env", policy.env, f"{where}, as here")
    for name in ("obs_dtype", "obs_shape", "num_actions"):
        own, shown = getattr(policy, name), getattr(engine, name)
        _check(own == shown, policy, name, str(own), f"{shown}, as here")


def _check_same_game(policy: Policy, observer: BatchEngine, engine: Any) -> None:
    """Refuse a policy that could not play at a table as it has learnt to."""
    where, mine, theirs = engine.game.env_id, observer.spec, engine.spec
    same = env_of_table(policy.env) == env_of_table(where or "")
    _check(same, policy, "env", policy.env, f"of the game of {where}")
    own, seats = find_table([policy]).seats, engine.external_seats
    _check(own.count == seats.count, policy, "players", own.count, f"{seats.count}, as here")
    same = mine.num_actions == theirs.num_actions
    _check(same, policy, "actions", mine.num_actions, f"{theirs.num_actions}, as here")
    same = mine.state_dtype == theirs.state_dtype
    if same and seats.fields is None:  # rows that show one seat are of the tier that shows it
        trial = BatchEngine(engine.game, 1, opponent=EXTERNAL)
        trial.reset_many(seeds=0)
        try:
            observer.game.validate(trial.get_states())
        except StateError:
            same = False
    if games.get_game(where or "").table.one_record:
        same &= observer.game.shared.tobytes() == engine.game.shared.tobytes()
    options = without_seating(policy.env_spec.options)
    _check(same, policy, "options", options, "those of games that are played as here")


def _check(fits: bool, policy: Policy, name: str, value: object, allowed: str) -> None:
    if not fits:
        given = f"{name}={show(value)}"
        raise ConfigError(f"{policy.path} cannot sit at this table: {given} must be {allowed}.")


def _shows_same(observer: BatchEngine, engine: Any) -> bool:
    """Tell whether an engine shows, of the seat that must act, what an observer would encode.

    Compiled encoders know nothing but the row and the shared record; others may.
    """
    one, other = observer.game, engine.game
    same = one.env_id == other.env_id and one.spec == other.spec
    compiled = one.spec.kernel_module is not None
    return compiled and same and bool(one.shared.tobytes() == other.shared.tobytes())
