"""Players for evaluation: rule bots, and trained networks wherever they can sit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np

from fastenv import BatchEngine, sample_legal
from fastenv.engine import rng_streams
from training.nets.actor_critic import Logits, RecurrentLogits


class Policy(Protocol):
    """Chooses an action in every lane."""

    def act(self, engine: BatchEngine) -> np.ndarray:
        """Return actions, shape (n,), for the decisions that are due in an engine's lanes."""


class Bot:
    """A scripted player in the agent's seat.

    Parameters
    ----------
    kind : str
        As the game calls it.
    num_envs : int
        Lanes of the engine it plays in.
    seed : int
        Of its own generators, one a lane; deals and opponents have theirs.
    """

    def __init__(self, kind: str, num_envs: int, seed: int) -> None:
        self.kind = kind
        self._streams = rng_streams(seed, num_envs)

    def act(self, engine: BatchEngine) -> np.ndarray:
        """See :class:`Policy`."""
        return engine.bot_actions(self.kind, self._streams)


class RandomLegal:
    """Takes any legal action, all with the same probability.

    Parameters
    ----------
    seed : int
        Of its generator.
    """

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def act(self, engine: BatchEngine) -> np.ndarray:
        """See :class:`Policy`."""
        legal = engine.mask != 0
        legal[~legal.any(axis=-1), 0] = True  # an episode that is over has none: it waits
        return sample_legal(legal, self._rng)


# Tells in which lanes of an engine a network forgets before it decides, bool (n,).
Begins = Callable[[BatchEngine], np.ndarray]


def episode_begins(engine: BatchEngine) -> np.ndarray:
    """Return the lanes whose episode is at its first decision."""
    begins: np.ndarray = engine.get_states()["ep_length"] == 0
    return begins


class Memory:
    """A network and, if it has a state, what it remembers in every lane.

    Parameters
    ----------
    logits : Logits or RecurrentLogits
    begins : callable
        Where it forgets: at the start of what was an episode of its training.
    """

    def __init__(self, logits: Logits | RecurrentLogits, begins: Begins = episode_begins) -> None:
        self._logits, self._begins = logits, begins
        self._states: np.ndarray | None = None

    def forget(self, engine: BatchEngine) -> None:
        """Forget where an episode begins; before every decision of an engine's lanes."""
        if isinstance(self._logits, RecurrentLogits):
            if self._states is None:
                self._states = np.zeros((engine.num_envs, self._logits.state_size), np.float32)
            self._states[self._begins(engine)] = 0

    def logits(self, obs: np.ndarray, lanes: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return the logits of decisions in some lanes, and remember them.

        Parameters
        ----------
        obs : ndarray, shape (k, ...)
        lanes : ndarray of int, shape (k,), or slice
        """
        if not isinstance(self._logits, RecurrentLogits):
            return self._logits(obs)
        assert self._states is not None  # forget() comes first
        found, self._states[lanes] = self._logits(obs, state=self._states[lanes])
        return found


class Net:
    """A network that was trained on the kind of engine it plays in; the best legal action.

    Parameters
    ----------
    logits : Logits or RecurrentLogits
        One with a state remembers the lanes of one engine.
    legal : callable, optional
        Returns the masks to obey; default those of the engine.
    seed : int, optional
        Actions are drawn from the network's distribution, by a generator with this seed.
    """

    def __init__(
        self,
        logits: Logits | RecurrentLogits,
        legal: Callable[[BatchEngine], np.ndarray] | None = None,
        seed: int | None = None,
    ) -> None:
        self._memory = Memory(logits)
        self._legal = legal or (lambda engine: engine.mask)
        self._rng = None if seed is None else np.random.default_rng(seed)

    def act(self, engine: BatchEngine) -> np.ndarray:
        """See :class:`Policy`."""
        self._memory.forget(engine)
        return choose_legal(self._memory.logits(engine.obs), self._legal(engine), self._rng)


def best_legal(logits: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the legal action with the highest logit in each row, int32."""
    actions: np.ndarray = np.where(mask != 0, logits, -np.inf).argmax(1).astype(np.int32)
    return actions


def choose_legal(
    logits: np.ndarray, mask: np.ndarray, rng: np.random.Generator | None
) -> np.ndarray:
    """Return the best legal action of each row, or with a generator one that is drawn, int32."""
    if rng is not None:  # the largest of logits with Gumbel noise is a draw from softmax
        logits = logits + rng.gumbel(size=logits.shape)
    return best_legal(logits, mask)


def first_episodes(engine: BatchEngine, policy: Policy) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Play one episode in every lane that has just been reset.

    Lanes that are done early start another episode, so that every lane always has a decision for
    the policy; nobody looks at it.

    Yields
    ------
    running : ndarray of bool, shape (n,)
        Lanes whose first episode went on until this step.
    over : ndarray of int, shape (k,)
        Those of them in which it ended with this step; their final state is still there.
    """
    running = np.ones(engine.num_envs, np.bool_)
    while running.any():
        engine.step_many(policy.act(engine), autoreset=False)
        yield running, np.flatnonzero(running & engine.ended)
        ended = engine.ended.copy()
        running &= ~ended
        if ended.any() and running.any():
            engine.reset_many(ended)
