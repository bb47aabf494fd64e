"""Teachers that label decisions: an agent, a bot, or the network itself with search."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fastenv import BatchEngine
from fastenv.seats import EXTERNAL
from training.expert.options import ExpertConfig
from training.nets.actor_critic import ActorCritic, make_logits
from training.players.names import Who, load_who, make_player
from training.players.policy import EnvSpec, Policy
from training.run.config import RunConfig
from training.run.engine import take_rows
from training.run.envs import with_seating
from training.run.options import require
from training.run.seating import scripted_opponents
from training.search.options import parse
from training.search.searcher import Searcher

ONE = np.uint64(1)


@dataclass(frozen=True)
class AskedDecisions:
    """Decisions that a teacher is asked about.

    Parameters
    ----------
    rows : ndarray, shape (k,)
        States of running games, in which the learner's decision is due.
    seats : ndarray of int, shape (k,)
        The learner's; 0 where the row itself shows one seat.
    logits : ndarray of float32, shape (k, A)
        The learner's own.
    legal : ndarray of bool, shape (k, A)
    seeds : ndarray of uint64, shape (k,)
        Of what the teacher draws.
    """

    rows: np.ndarray
    seats: np.ndarray
    logits: np.ndarray
    legal: np.ndarray
    seeds: np.ndarray

    def take(self, some: np.ndarray) -> AskedDecisions:
        """Select some of the decisions, by a mask or numbers."""
        rows = take_rows(self.rows, some)
        return AskedDecisions(
            rows, *(getattr(self, field.name)[some] for field in fields(self)[1:])
        )


class Teacher(Protocol):
    """Labels decisions with the probabilities of its actions."""

    def prepare(self, done: float) -> None:
        """Take what it needs of the learner, which may change while it answers.

        Parameters
        ----------
        done : float
            Share of the run that is over.
        """

    def covers(self, rows: np.ndarray) -> np.ndarray:
        """Tell which decisions are its own, not those of PPO, bool (k,)."""

    def shares(self, rows: np.ndarray) -> np.ndarray:
        """Return the share of decisions of each kind to ask it about, float64 (k,)."""

    def answers(self, asked: AskedDecisions) -> np.ndarray:
        """Return its probability of each action, float32 (k, A).

        Rows of zeros where it has no answer.
        """


class PlayerTeacher:
    """An agent or a bot: its action has probability 1. See :class:`Teacher`.

    Parameters
    ----------
    who : Policy, SearchingAgent or str
    engine : BatchEngine
        Of the game that is learnt; its lanes are not touched, and as many states are looked at
        at once.

    Raises
    ------
    ConfigError
        If it cannot play there, or remembers a game: it is asked about single states.
    """

    def __init__(self, who: Who, engine: Any) -> None:
        base = who if isinstance(who, Policy | str) else who.base
        remembers = isinstance(base, Policy) and base.state_size > 0
        allowed = "somebody without a memory, who can be asked about single states"
        require(not remembers, "expert.teacher", str(getattr(base, "path", base)), allowed)
        self._game, self._lanes = engine.game, engine.num_envs
        agents = engine.game.spec.num_agents
        self._tables = [self._make_table(seat if agents > 1 else None) for seat in range(agents)]
        self._players = [make_player(who, table) for table in self._tables]  # or it is refused

    def _make_table(self, seat: int | None) -> BatchEngine:
        """Make an engine whose lanes take any state, and show a seat where rows show all."""
        shown: dict[str, Any] = {}
        if seat is not None:
            shown = {"opponent": EXTERNAL, "agent_seat": seat}
        table = BatchEngine(self._game, self._lanes, **shown)
        table.reset_many(seeds=0)
        return table

    def prepare(self, done: float) -> None:
        """See :class:`Teacher`."""

    def covers(self, rows: np.ndarray) -> np.ndarray:
        """See :class:`Teacher`."""
        return np.ones(len(rows), np.bool_)

    def shares(self, rows: np.ndarray) -> np.ndarray:
        """See :class:`Teacher`."""
        return np.ones(len(rows))

    def answers(self, asked: AskedDecisions) -> np.ndarray:
        """See :class:`Teacher`."""
        actions = self.moves(asked.rows, asked.seats, asked.seeds)
        return to_one_hot(actions, asked.legal.shape[1])

    def moves(self, rows: np.ndarray, seats: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """Return its actions, int64 (k,); parameters as of :class:`AskedDecisions`."""
        actions = np.zeros(len(rows), np.int64)
        for seat in range(len(self._tables)):
            own = np.flatnonzero(seats == seat)
            if own.size:
                drawn = (seeds[own] >> ONE).astype(np.int64)
                actions[own] = self._play(seat, rows[own], drawn)
        return actions

    def _play(self, seat: int, rows: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        table, player = self._tables[seat], self._players[seat]
        actions = np.zeros(len(rows), np.int64)
        for first in range(0, len(rows), self._lanes):
            part = slice(first, first + self._lanes)
            lanes = np.arange(len(rows[part]))
            table.set_states(rows[part], lanes)
            player.begin(table, lanes, seeds[part])
            actions[part] = player.act(table, lanes)
        return actions


class SearchTeacher:
    """The network in training, with search; see :class:`Teacher`.

    Its answer is ``policy**prior * exp(mean / temperature)``, over the actions that the search has
    looked at.

    Parameters
    ----------
    net : ActorCritic
        As it is whenever :meth:`prepare` is called.
    config : RunConfig
    engine : BatchEngine
        Of the game; its lanes are not touched.
    options : ExpertConfig
    threads : int
        Of worlds and rollouts; answers do not depend on it.

    Raises
    ------
    ConfigError
        For options that are not possible.
    """

    def __init__(
        self,
        net: ActorCritic,
        config: RunConfig,
        engine: Any,
        options: ExpertConfig,
        threads: int = 1,
    ) -> None:
        self._options = options
        self._learner, self._net = net, deepcopy(net).requires_grad_(False)
        played = scripted_opponents(config.env, config.env_options, engine.game)
        shown = (engine.spec.obs_dtype, engine.spec.obs_shape, engine.spec.num_actions)
        spec = EnvSpec(config.env, with_seating(config.env, played), *shown)
        policy = Policy(config, Path("the network"), 0, make_logits(self._net), spec)
        self._table = BatchEngine(engine.game, threads, num_threads=threads)

        def make(search: str) -> Searcher:
            _, chosen = parse(f"search:the network{',' if search else ''}{search}")
            return Searcher(self._table, policy, chosen)

        self._searcher = self._early = make(options.search)
        self._late = make(options.late_search) if options.late_search else self._early
        first = self._early.options.decisions
        require(
            self._late.options.decisions == first,
            "expert.late_search",
            options.late_search,
            f"of the same decisions as expert.search, {first}",
        )
        self.covers = self._early.looks_at
        self._rest = make(options.rest_search) if options.rest_search else None
        if self._rest is not None:
            second = self._rest.options.decisions
            allowed = f"of other decisions than {first}, which expert.search answers"
            require(
                first not in ("all", second), "expert.rest_search", options.rest_search, allowed
            )

    @property
    def covers_all(self) -> bool:
        """Whether it has answers for every kind of decision."""
        return self._searcher.options.decisions == "all"

    def prepare(self, done: float) -> None:
        """See :class:`Teacher`."""
        self._searcher = self._late if self._options.is_late(done) else self._early
        if any(each.asks_policy for each in (self._searcher, self._rest) if each is not None):
            self._net.load_state_dict(self._learner.state_dict())

    def shares(self, rows: np.ndarray) -> np.ndarray:
        """See :class:`Teacher`."""
        shares = self.covers(rows).astype(np.float64)
        if self._rest is not None:
            shares[(shares == 0) & self._rest.looks_at(rows)] = self._options.rest_share
        return shares

    def answers(self, asked: AskedDecisions) -> np.ndarray:
        """See :class:`Teacher`."""
        probabilities = np.zeros(asked.legal.shape, np.float32)
        first = self._searcher.wants(asked.rows, asked.legal)
        self._answer(self._searcher, asked, first, probabilities)
        if self._rest is not None:
            others = ~first & self._rest.wants(asked.rows, asked.legal)
            self._answer(self._rest, asked, others, probabilities)
        return probabilities

    def _answer(
        self,
        searcher: Searcher,
        asked: AskedDecisions,
        wanted: np.ndarray,
        probabilities: np.ndarray,
    ) -> None:
        """Write the answers of a search to the decisions ``wanted`` (k,) of it."""
        if not wanted.any():
            return
        some = asked.take(wanted)
        seats = some.seats
        if self._table.spec.num_agents == 1:
            seats = searcher.seats_of(self._table, some.rows, some.seats)
        results = searcher.search(some.rows, seats, some.legal, some.seeds)
        if not results.finished:  # part of an answer would be learnt as if it were the whole
            raise KeyboardInterrupt
        means = results.estimates.means()
        own = self._options.prior * some.logits.astype(np.float64)
        seen = np.isfinite(means)
        better = np.where(seen, means - means.max(1, keepdims=True), 0.0)
        scores = np.where(seen, own + better / self._options.temperature, -np.inf)
        weights = np.exp(scores - scores.max(1, keepdims=True))
        probabilities[wanted] = weights / weights.sum(1, keepdims=True)


def to_one_hot(actions: np.ndarray, num_actions: int) -> np.ndarray:
    """Return probabilities float32 (k, num_actions) of actions (k,) that are certain."""
    probabilities = np.zeros((len(actions), num_actions), np.float32)
    probabilities[np.arange(len(actions)), actions] = 1.0
    return probabilities


def make_teacher(config: Any, net: ActorCritic, engine: Any) -> Teacher:
    """Make the teacher of a run.

    Parameters
    ----------
    config : ExpertRun
    net : ActorCritic
        The learner's.
    engine : Engine
        The learner's.

    Raises
    ------
    ConfigError, RunError, CheckpointError
        If it is not there, or cannot play this game.
    """
    options = config.expert
    if options.teacher is None:
        teacher = SearchTeacher(net, config, engine, options, config.engine_threads)
        allowed = "'all' where every decision is searched: PPO would have nothing to learn"
        require(options.ppo == "all" or not teacher.covers_all, "expert.ppo", options.ppo, allowed)
        return teacher
    return PlayerTeacher(load_who(options.teacher), engine)
