"""Potential-based reward shaping (section ``shaping`` of a run's options).

To the reward of a decision from a state s to s' is added ::

    r_shape = G * Phi(s') - Phi(s)        with Phi = phi / kappa

where G is the discount that the learner applies to this decision, ``gamma**tau``. With their
discounts these sum up to minus the potential of the first state, whatever is done in between, so
that the best policies stay the best. This needs Phi = 0 where the rules have ended an episode;
where a clock has cut it off, the learner goes on from s', and Phi(s') is that of any state.

A. Y. Ng, D. Harada, S. Russell, Policy invariance under reward transformations, ICML 1999.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv import BatchEngine
from training.run import games
from training.run.callback import Callback, EngineStep, Progress
from training.run.checkpoint import State
from training.run.config import RunConfig
from training.run.engine import Engine, discounts
from training.run.options import require

Array = npt.NDArray[Any]
# Of rows (k,), in the state dtype of a game, a value each, or (k, P) with one for each seat.
Phi = Callable[[Array], Array]


class Potential:
    """The potential of the state in each lane of an engine.

    Parameters
    ----------
    engine : BatchEngine
    phi : callable
    kappa, gamma : float
        See :class:`training.run.config.ShapingConfig`.

    Attributes
    ----------
    values : ndarray of float64, shape (n,)
        Of the states that the lanes are in.
    """

    def __init__(self, engine: BatchEngine, phi: Phi, kappa: float, gamma: float) -> None:
        self.engine = engine
        self._phi, self._kappa, self._gamma = phi, kappa, gamma
        self._replay_engine = BatchEngine(
            *(engine.game, 1, engine.backend, 1, (), engine.opponent, engine.agent_seat)
        )
        self.values = np.zeros(engine.num_envs)

    def begin(self) -> None:
        """Compute the potentials of lanes that have been reset or loaded."""
        self._rows, self._seating = self.engine.get_states(), self.engine.get_seating()
        self.values = self._evaluate(self.engine, self._rows)

    def step(self, actions: Array) -> Array:
        """Compute the addition to the rewards of the step just made, float64 (n,).

        Parameters
        ----------
        actions : ndarray of int, shape (n,)
            What was done.
        """
        engine, before = self.engine, self.values
        terminated, truncated = (x.view(np.bool_) for x in (engine.terminated, engine.truncated))
        lanes = np.flatnonzero(truncated & ~terminated).tolist()
        truncated_values = {lane: self._replay_last(lane, actions[lane]) for lane in lanes}
        self.begin()
        reached = np.where(terminated, 0.0, self.values)
        reached[list(truncated_values)] = list(truncated_values.values())
        added: Array = discounts(engine, self._gamma) * reached - before
        return added

    def _replay_last(self, lane: int, action: int) -> float:
        """Compute the potential of the last state of a lane, whose row is that of a new episode.

        A step is a function of the row: it is made once more, without the reset behind it.
        """
        self._replay_engine.set_states(self._rows[lane], trusted=True)
        self._replay_engine.set_seating(
            {name: array[[lane]] for name, array in self._seating.items()}
        )
        self._replay_engine.step_many(np.array([action]), autoreset=False)
        return float(self._evaluate(self._replay_engine, self._replay_engine.get_states())[0])

    def _evaluate(self, engine: BatchEngine, rows: Array) -> Array:
        """Compute the learner's potential of the states that the lanes of an engine are in."""
        values: Array = np.asarray(self._phi(rows), np.float64) / self._kappa
        if values.ndim == 1:
            return values
        seat = engine.get_agents() if engine.asks_outside else 0
        return values[np.arange(len(values)), seat]


class Shaping(Callback):
    """Adds the change of a potential to rewards.

    Parameters
    ----------
    potentials : sequence of Potential
        Of each engine that is trained on.
    """

    def __init__(self, potentials: Sequence[Potential]) -> None:
        self._potentials = list(potentials)
        self._sums, self._steps = np.zeros(3), 0

    def restore(self, saved: State) -> None:
        """Compute the potentials of the rows of a checkpoint, which the engines already have."""
        for each in self._potentials:
            each.begin()

    def begin_iteration(self, loop: Progress) -> None:
        """Reset the sums over the iteration."""
        self._sums, self._steps = np.zeros(3), 0

    def step(self, loop: Progress, step: EngineStep) -> None:
        """Add the change of the potentials to the rewards of a step."""
        engine = step.engine
        (potential,) = (each for each in self._potentials if each.engine is engine)
        if step.actions is None:
            potential.begin()
            return
        env, added = engine.reward.sum(dtype=np.float64), potential.step(step.actions)
        np.add(engine.reward, added, out=engine.reward, casting="same_kind")
        self._sums += env, added.sum(), engine.reward.sum(dtype=np.float64)
        self._steps += engine.num_envs

    def record(self) -> dict[str, Any]:
        """Return the means over the decisions of an iteration: before, added and together."""
        means = (self._sums / max(1, self._steps)).tolist()
        return {"shaping": dict(zip(("r_env", "r_shape", "r_total"), means, strict=True))}


def make_shaping(config: RunConfig, engines: Sequence[Engine]) -> Shaping:
    """Make the callback that shapes the rewards of a run.

    Raises
    ------
    ConfigError
        If the game has no such potential, or the trainer discounts otherwise.
    """
    allowed = "native or dqn: sb3 discounts a decision by gamma, shaping by gamma**tau"
    counts = config.COUNTS_TICKS or not engines[0].spec.has_tau
    require(counts, "trainer", config.trainer, allowed)
    own = [engine for engine in engines if isinstance(engine, BatchEngine)]
    allowed = "scripted players with shaping"
    require(len(own) == len(engines), "env_options.opponents", "trained agents", allowed)
    return Shaping([make_potential(config, engine) for engine in own])


def find_potential(env: str, name: str) -> Phi:
    """Find a potential: a function of rows (k,) that returns a value each, or one for each seat.

    The capability ``potentials`` has them by name. ``potential_of_file`` is a function of a name
    that returns the potential, where the name says which file it is made of, or None.

    Raises
    ------
    ConfigError
        If the game has no such potential.
    """
    offered: Mapping[str, Phi] = games.find(env, "potentials") or {}
    read: Callable[[str], Phi | None] | None = games.find(env, "potential_of_file")
    phi = (read(name) if read is not None else None) or offered.get(name)
    allowed = "one of " + ", ".join(offered) if offered else "left out: this game has none"
    require(phi is not None, "shaping.phi", name, allowed)
    assert phi is not None
    return phi


def make_potential(config: RunConfig, engine: BatchEngine) -> Potential:
    """Make the potential of a run in the lanes of an engine.

    Raises
    ------
    ConfigError
        If the game has no such potential.
    """
    options = config.shaping
    assert options is not None
    phi = find_potential(config.env, options.phi)
    return Potential(engine, phi, options.kappa, config.gamma)
