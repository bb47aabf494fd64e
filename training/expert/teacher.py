"""Who is asked what to do: an agent, a bot, or the network itself with search."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fastenv import BatchEngine
from training.nets.actor_critic import ActorCritic, make_logits
from training.policies.guests import make_guest
from training.policies.load import load_who, scripted_opponents
from training.policies.policy import EnvSpec, Policy, Who
from training.run.config import RunConfig
from training.run.envs import with_seating
from training.run.options import require
from training.search.agent import parse
from training.search.searcher import Searcher

LANES = 1024  # states that an agent is asked about at once


class Teacher(Protocol):
    """Says what it would do in states."""

    def answers(
        self, rows: np.ndarray, obs: np.ndarray, legal: np.ndarray, seeds: np.ndarray
    ) -> np.ndarray:
        """Return how probable each action is for it, float32 (k, A).

        Parameters
        ----------
        rows : ndarray, shape (k,)
            States of running games, in which the learner's decision is due.
        obs : ndarray, shape (k, ...)
            What they show the learner.
        legal : ndarray of bool, shape (k, A)
        seeds : ndarray of uint64, shape (k,)
            Of what it draws.

        Returns
        -------
        ndarray of float32, shape (k, A)
            Rows of zeros where it has no answer.
        """


class GuestTeacher:
    """An agent or a bot: what it plays is certain. See :class:`Teacher`.

    Parameters
    ----------
    who : Policy, Agent or str
    engine : BatchEngine
        Of the game that is learnt; its lanes are not touched.

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
        self._who = who
        self._table = _table(engine)
        make_guest(who, self._table, 0)  # or it is refused

    def answers(
        self, rows: np.ndarray, obs: np.ndarray, legal: np.ndarray, seeds: np.ndarray
    ) -> np.ndarray:
        """See :class:`Teacher`."""
        table, actions = self._table, np.zeros(len(rows), np.int64)
        # A new one each time: a run that goes on then draws what one that was never ended draws.
        guest = make_guest(self._who, table, int(seeds[0] >> np.uint64(1)) if len(seeds) else 0)
        for first in range(0, len(rows), LANES):
            part = rows[first : first + LANES]
            lanes = np.arange(len(part))
            table.set_states(part, lanes)
            guest.begin(lanes)
            actions[first : first + LANES] = guest.act(table, lanes)
        return np.eye(legal.shape[1], dtype=np.float32)[actions]


class SearchTeacher:
    """The network in training, with search; see :class:`Teacher`.

    Its answer is the policy of the network times ``exp(mean / temperature)``, over the actions that
    the search has looked at.

    Parameters
    ----------
    net : ActorCritic
        As it is whenever it is asked.
    config : RunConfig
    engine : BatchEngine
        Of the game; its lanes are not touched.
    search : str
        Options, as behind a name: ``worlds=32,rollouts=policy``.
    temperature : float

    Raises
    ------
    ConfigError
        For options that are not possible.
    """

    def __init__(
        self, net: ActorCritic, config: RunConfig, engine: Any, search: str, temperature: float
    ) -> None:
        self._net, self._temperature = net, temperature
        options = scripted_opponents(config.env, config.env_options, engine.game)
        shown = (engine.spec.obs_dtype, engine.spec.obs_shape, engine.spec.num_actions)
        spec = EnvSpec(config.env, with_seating(config.env, options), *shown)
        self._policy = Policy(config, Path("the network"), 0, make_logits(net), spec)
        self._table = _table(engine)
        _, given = parse(f"search:the network{',' if search else ''}{search}")
        self._searcher = Searcher(self._table, self._policy, given)

    def answers(
        self, rows: np.ndarray, obs: np.ndarray, legal: np.ndarray, seeds: np.ndarray
    ) -> np.ndarray:
        """See :class:`Teacher`."""
        searcher, found = self._searcher, np.zeros(legal.shape, np.float32)
        asked = np.flatnonzero(searcher.wants(rows, legal))
        if not asked.size:
            return found
        some = rows[asked]
        seats = searcher.seats_of(self._table, some, asked)
        estimates = searcher.search(some, seats, legal[asked], seeds[asked]).estimates
        means = estimates.means()
        with np.errstate(divide="ignore"):
            own = np.log(self._policy.probabilities(obs[asked], legal[asked]))
        best = means.max(1, keepdims=True)
        scores = np.where(np.isfinite(means), own + (means - best) / self._temperature, -np.inf)
        weights = np.exp(scores - scores.max(1, keepdims=True))
        found[asked] = weights / weights.sum(1, keepdims=True)
        return found


def make_teacher(config: Any, net: ActorCritic, engine: Any) -> Teacher:
    """Return the teacher that a run asks for.

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
        return SearchTeacher(net, config, engine, options.search, options.temperature)
    return GuestTeacher(load_who(options.teacher), engine)


def _table(engine: Any) -> BatchEngine:
    """Return an engine of the same game, whose lanes take any states of it."""
    table = BatchEngine(engine.game, LANES)
    table.reset_many(seeds=0)
    return table
