"""A player that searches, wherever a policy or a bot can sit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fastenv import BatchEngine
from training.policies.guests import Guest, make_guest
from training.policies.policy import Policy
from training.policies.thought import Thought
from training.run.options import require
from training.search.options import SearchOptions
from training.search.searcher import STEP, Found, Searcher
from training.search.seeds import mix


@dataclass
class Cost:
    """What decisions have taken.

    Attributes
    ----------
    decisions, searched : int
        Of all, and of those in which it searched.
    cpu_s : float
        CPU seconds of all its threads.
    """

    decisions: int = 0
    searched: int = 0
    cpu_s: float = 0.0

    def add(self, decisions: int, searched: int, cpu_s: float) -> None:
        """Take in some more."""
        self.decisions += decisions
        self.searched += searched
        self.cpu_s += cpu_s


class SearchGuest:
    """Searches at tables; see :class:`training.policies.guests.Guest`.

    Parameters
    ----------
    base : Policy or str
        A trained agent or a bot: it takes the decisions that are not searched.
    options : SearchOptions
    engine : BatchEngine
        The table's.
    seed : int

    Attributes
    ----------
    listener : callable or None
        Is told, of every decision that was searched, lane and :class:`Thought`.
    cost : Cost
        What its decisions have taken so far.

    Raises
    ------
    ConfigError
        If it cannot play there, or options of the search do not fit game or network.
    """

    takes_all = True

    def __init__(
        self, base: Policy | str, options: SearchOptions, engine: BatchEngine, seed: int
    ) -> None:
        policy = base if isinstance(base, Policy) else None
        self._base: Guest = make_guest(base, engine, seed)
        self.searcher = Searcher(engine, policy, options, seed)
        heat = self.searcher.options.temperature
        known = policy is not None and not policy.state_size
        allowed = "null without a network, and with one that has a memory"
        require(heat is None or known, "search.temperature", heat, allowed)
        # Lane and decision make a seed, so that games beside it change nothing.
        everybody = np.arange(engine.num_envs)
        self._lane_seeds = mix(np.full(len(everybody), seed % 2**63, np.uint64), everybody, 0)
        self._taken = np.zeros(engine.num_envs, np.int64)
        self._remembers = policy is not None and policy.state_size > 0
        self.cost = Cost()
        self.listener: Callable[[int, Thought], None] | None = None

    def begin(self, lanes: np.ndarray) -> None:
        """Forget what was in lanes whose games begin."""
        self._base.begin(lanes)
        self._taken[lanes] = 0
        self.searcher.begin(lanes)

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return legal actions, shape (k,), for the lanes (k,) in which it has to decide.

        Raises
        ------
        KeyboardInterrupt
            If the search was interrupted and nobody listens; else the best so far is played.
        """
        begun = time.process_time()
        engine.refresh()
        searcher = self.searcher
        rows, legal = engine.get_states(lanes), engine.mask[lanes] != 0
        searcher.watch(lanes, rows)
        self._taken[lanes] += 1
        searched = searcher.wants(rows, legal)
        actions, wanted = self._ask_base(engine, lanes, ~searched)
        where = np.flatnonzero(searched)
        finished = True
        if where.size:
            seats = searcher.seats_of(engine, rows[where], lanes[where])
            seeds = mix(self._lane_seeds[lanes[where]], self._taken[lanes[where]], 0)
            found = searcher.search(rows[where], seats, legal[where], seeds, lanes[where])
            actions[where] = self._decide(found, actions[where], wanted[where], seeds)
            self._tell(found, lanes[where], actions[where], wanted[where])
            finished = found.finished
        self.cost.add(len(lanes), len(where), time.process_time() - begun)
        if not finished and self.listener is None:
            raise KeyboardInterrupt
        return actions

    def _ask_base(
        self, engine: Any, lanes: np.ndarray, left: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the base's actions where they are needed, and its probabilities if they are.

        Parameters
        ----------
        engine : BatchEngine
        lanes : ndarray of int, shape (k,)
        left : ndarray of bool, shape (k,)
            Decisions that are not searched.
        """
        options = self.searcher.options
        wanted_too = options.temperature is not None or self.listener is not None
        everywhere = self._remembers or wanted_too or options.lead > 0
        actions = np.zeros(len(lanes), np.int32)
        where = np.flatnonzero(left | everywhere)
        tell = getattr(self._base, "probabilities", None) if wanted_too else None
        # Before it acts: a base that remembers then remembers this decision too.
        wanted = np.full((len(lanes), engine.num_actions), np.nan)
        if tell is not None:
            wanted = tell(engine, lanes)
        if where.size:
            actions[where] = self._base.act(engine, lanes[where])
        if wanted_too and not self._remembers:  # of a bot all is known: what it does
            unknown = np.isnan(wanted).all(1)
            wanted[unknown] = np.eye(engine.num_actions)[actions[unknown]]
        return actions, wanted

    def _decide(
        self, found: Found, own: np.ndarray, wanted: np.ndarray, seeds: np.ndarray
    ) -> np.ndarray:
        options, estimates = self.searcher.options, found.estimates
        looked = (estimates.counts > 0).any(1)
        if options.temperature is not None:
            best = draw_step(estimates.means(), wanted, options.temperature, seeds)
        else:
            best = estimates.best()
        if options.lead > 0:
            apart, error = estimates.behind(best)
            place = np.arange(len(own)), own
            with np.errstate(invalid="ignore"):
                ahead = apart[place] > options.lead * error[place]
            looked &= ahead
        chosen: np.ndarray = np.where(looked, best, own)
        return chosen.astype(np.int32)

    def _tell(
        self, found: Found, lanes: np.ndarray, actions: np.ndarray, wanted: np.ndarray
    ) -> None:
        if self.listener is None:
            return
        for i, lane in enumerate(lanes.tolist()):
            thought = self.searcher.think(found, i, int(actions[i]), wanted[i])
            self.listener(lane, thought)


def draw_step(
    means: np.ndarray, wanted: np.ndarray, temperature: float, seeds: np.ndarray
) -> np.ndarray:
    """Return draws from the policy's distribution times exp(mean / temperature), int (n,).

    Parameters
    ----------
    means : ndarray of float64, shape (n, A)
        -inf for actions that were not looked at, which are not drawn.
    wanted : ndarray of float64, shape (n, A)
    temperature : float
    seeds : ndarray of uint64, shape (n,)
        One a draw.
    """
    n, actions = means.shape
    number = np.tile(np.arange(actions), n)
    bits = mix(seeds.repeat(actions), number, STEP).reshape(n, actions) >> np.uint64(11)
    chance = (bits.astype(np.float64) + 0.5) * 2.0**-53
    with np.errstate(divide="ignore"):
        logits = np.log(wanted) + means / temperature
    logits = np.where(np.isfinite(means), logits, -np.inf)
    drawn: np.ndarray = (logits - np.log(-np.log(chance))).argmax(1)  # Gumbel's noise
    return drawn


class SearchPlayer:
    """Searches in the lanes of an engine; see :class:`training.evaluation.policies.Policy`.

    Parameters
    ----------
    base, options, seed
        See :class:`SearchGuest`.
    listener : callable, optional

    Attributes
    ----------
    guest : SearchGuest or None
        None before its first decision.
    """

    def __init__(
        self,
        base: Policy | str,
        options: SearchOptions,
        seed: int,
        listener: Callable[[int, Thought], None] | None = None,
    ) -> None:
        self._make = partial(SearchGuest, base, options, seed=seed)
        self._listener = listener
        self.guest: SearchGuest | None = None

    def act(self, engine: BatchEngine) -> np.ndarray:
        """Return actions, int32 (n,); 0 in lanes whose episode is over."""
        if self.guest is None:
            self.guest = self._make(engine=engine)
            self.guest.listener = self._listener
            self.guest.begin(np.arange(engine.num_envs))
        lanes = np.flatnonzero(~engine.ended)
        self.guest.begin(lanes[engine.get_states(lanes)["ep_length"] == 0])
        actions = np.zeros(engine.num_envs, np.int32)
        actions[lanes] = self.guest.act(engine, lanes)
        return actions
