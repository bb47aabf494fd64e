"""A player that searches, wherever a policy or a bot can sit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastenv import BatchEngine
from training.policies.guests import Guest, make_guest
from training.policies.policy import Policy
from training.search.agent import SearchAgent
from training.search.searcher import Found, Searcher, mix
from training.search.thoughts import Thought


class SearchGuest:
    """Searches at tables; see :class:`training.policies.guests.Guest`.

    Parameters
    ----------
    who : SearchAgent
    engine : BatchEngine
        The table's.
    seed : int

    Attributes
    ----------
    listener : callable or None
        Is told, of every decision that was searched, lane and :class:`Thought`.

    Raises
    ------
    ConfigError
        If it cannot play there, or options of the search do not fit the game.
    """

    takes_all = True

    def __init__(self, who: SearchAgent, engine: BatchEngine, seed: int) -> None:
        policy = who.base if isinstance(who.base, Policy) else None
        self._base: Guest = make_guest(who.base, engine, seed)
        self.searcher = Searcher(engine, policy, who.options, seed)
        # Lane and decision make a seed, so that games beside it change nothing.
        everybody = np.arange(engine.num_envs)
        self._lane_seeds = mix(np.full(len(everybody), seed % 2**63, np.uint64), everybody, 0)
        self._taken = np.zeros(engine.num_envs, np.int64)
        self._remembers = policy is not None and policy.state_size > 0
        self._rng = np.random.default_rng(seed)
        self.listener: Callable[[int, Thought], None] | None = None

    def begin(self, lanes: np.ndarray) -> None:
        """Forget what was in lanes whose games begin."""
        self._base.begin(lanes)
        if self.searcher.belief is not None:
            self.searcher.belief.begin(lanes)

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return legal actions, shape (k,), for the lanes (k,) in which it has to decide.

        Raises
        ------
        KeyboardInterrupt
            If the search was interrupted and nobody listens; else the best so far is played.
        """
        engine.refresh()
        searcher, options = self.searcher, self.searcher.options
        rows, legal = engine.get_states(lanes), engine.mask[lanes] != 0
        if searcher.belief is not None:
            searcher.belief.watch(lanes, rows)
        self._taken[lanes] += 1
        searched = searcher.wants(rows, legal)
        asked = options.lead > 0 or options.temperature is not None or self.listener is not None
        everywhere = self._remembers or asked
        actions, wanted = self._ask_base(engine, lanes, ~searched | everywhere, asked)
        if not searched.any():
            return actions
        where = np.flatnonzero(searched)
        seats = searcher.seats_of(engine, rows[where], lanes[where])
        seeds = mix(self._lane_seeds[lanes[where]], self._taken[lanes[where]], 0)
        found = searcher.search(rows[where], seats, legal[where], seeds, lanes[where])
        actions[where] = self._decide(found, actions[where], wanted[where])
        self._tell(found, lanes[where], actions[where], wanted[where])
        if not found.finished and self.listener is None:
            raise KeyboardInterrupt
        return actions

    def _ask_base(
        self, engine: Any, lanes: np.ndarray, where: np.ndarray, asked: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the base's actions where they are needed, and its probabilities if asked for."""
        actions = np.zeros(len(lanes), np.int32)
        wanted = np.full((len(lanes), engine.num_actions), np.nan)
        if where.any():
            actions[where] = self._base.act(engine, lanes[where])
        tell = getattr(self._base, "probabilities", None)
        if asked and tell is not None:
            wanted = tell(engine, lanes)
        elif asked:
            wanted = np.eye(engine.num_actions)[actions]
        return actions, wanted

    def _decide(self, found: Found, own: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        options, estimates = self.searcher.options, found.estimates
        looked = (estimates.counts > 0).any(1)
        if options.temperature is not None:
            best = draw_step(estimates.means(), wanted, options.temperature, self._rng)
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
    means: np.ndarray, wanted: np.ndarray, temperature: float, rng: np.random.Generator
) -> np.ndarray:
    """Return draws from the policy's distribution times exp(mean / temperature), int (n,)."""
    with np.errstate(divide="ignore"):
        logits = np.log(wanted) + means / temperature
    logits = np.where(np.isfinite(means), logits, -np.inf)
    drawn: np.ndarray = (logits + rng.gumbel(size=logits.shape)).argmax(1)
    return drawn


class SearchPlayer:
    """Searches in the lanes of an engine; see :class:`training.evaluation.policies.Policy`.

    Parameters
    ----------
    who : SearchAgent
    seed : int
    """

    def __init__(self, who: SearchAgent, seed: int) -> None:
        self._who, self._seed = who, seed
        self._guest: SearchGuest | None = None

    def act(self, engine: BatchEngine) -> np.ndarray:
        """Return actions, int32 (n,); 0 in lanes whose episode is over."""
        if self._guest is None:
            self._guest = SearchGuest(self._who, engine, self._seed)
        lanes = np.flatnonzero(~engine.ended)
        begun = lanes[engine.get_states(lanes)["ep_length"] == 0]
        self._guest.begin(begun)
        actions = np.zeros(engine.num_envs, np.int32)
        actions[lanes] = self._guest.act(engine, lanes)
        return actions
