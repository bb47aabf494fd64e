"""Who plays rollouts: bots in one compiled loop, or a network, all games in one forward pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from fastenv import BatchEngine
from fastenv.errors import ConfigError, show
from training.policies.guests import sight_of
from training.policies.policy import Policy

MAX_STEPS = 10_000  # of rollouts by a network, which then end as they stand


class Blueprint(Protocol):
    """Plays games on, in all seats."""

    def play_on(
        self,
        rows: np.ndarray,
        of: np.ndarray,
        actions: np.ndarray,
        seeds: np.ndarray,
        until: str | None,
        limit: int | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Play on from rows after a first action.

        Parameters
        ----------
        rows : ndarray, shape (k,)
        of : ndarray of int64, shape (m,)
            The row of each rollout.
        actions : ndarray of int32, shape (m,), or (m, K) in games of K agents
            -1 leaves a decision to the blueprint.
        seeds : ndarray of uint64, shape (m,)
        until, limit
            See :meth:`fastenv.BatchEngine.rollout`.

        Returns
        -------
        ndarray of float64, shape (m, P)
            Outcomes.
        ndarray, shape (m,)
            The rows with which they end.
        """


class BotBlueprint:
    """A bot in every seat; of several bots each plays its share of the worlds.

    Parameters
    ----------
    engine : BatchEngine
        Of the game.
    names : sequence of str

    Raises
    ------
    ConfigError
        If there is no such bot.
    """

    def __init__(self, engine: BatchEngine, names: Sequence[str]) -> None:
        for name in names:
            engine.game.bot(name)
        self._engine, self._names = engine, names

    def play_on(
        self,
        rows: np.ndarray,
        of: np.ndarray,
        actions: np.ndarray,
        seeds: np.ndarray,
        until: str | None,
        limit: int | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """See :class:`Blueprint`."""
        engine, names = self._engine, self._names
        ends = np.zeros(len(of), rows.dtype)
        for k, name in enumerate(names):  # a world is the same bot's for all actions
            own = of % len(names) == k
            found = engine.rollout(
                rows, actions[own], name, until, limit, seeds[own], of=of[own], trusted=True
            )
            if len(names) == 1:
                return found.outcomes, found.rows
            ends[own] = found.rows
        return engine.game.outcomes(ends), ends


class PolicyBlueprint:
    """A network in every seat, which takes its best actions.

    All games are stepped together, each by one decision; those that have ended leave.

    Parameters
    ----------
    engine : BatchEngine
        Of the game at the table.
    policy : Policy

    Raises
    ------
    ConfigError
        For a network with memory, or in games whose agents act together.
    """

    def __init__(self, engine: BatchEngine, policy: Policy) -> None:
        possible = not policy.state_size and engine.spec.num_agents == 1
        if not possible:
            raise ConfigError(
                f"search.rollouts={show('policy')} is not possible for {policy.path}: it must be a "
                "bot for networks with memory and in games whose agents act together."
            )
        self._engine, self._policy = engine, policy
        self._see = sight_of(policy)

    def play_on(
        self,
        rows: np.ndarray,
        of: np.ndarray,
        actions: np.ndarray,
        seeds: np.ndarray,
        until: str | None,
        limit: int | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """See :class:`Blueprint`."""
        if (actions < 0).any():
            raise ValueError("actions: a network's rollouts begin with an action that is given")
        reached = rows[of]
        going = np.arange(len(of))
        for taken in range(limit or MAX_STEPS):
            then = self._step(reached[going], actions, seeds[going], until)
            reached[going] = then
            stays = then["done"] == 0
            going = going[stays]
            if not going.size or taken + 1 == limit:
                break
            actions = self._choose(then[stays])
        return self._engine.game.outcomes(reached), reached

    def _step(
        self, rows: np.ndarray, actions: np.ndarray, seeds: np.ndarray, until: str | None
    ) -> np.ndarray:
        """Return rows one decision on: a rollout of one decision needs no lane."""
        bot = self._engine.game.bot_names[0]  # it has nothing to decide
        return self._engine.rollout(rows, actions, bot, until, 1, seeds, trusted=True).rows

    def _choose(self, rows: np.ndarray) -> np.ndarray:
        masks = self._engine.action_masks_many(rows, trusted=True)
        actions, _ = self._policy.act(self._see(rows), masks)
        return np.asarray(actions, np.int32)
