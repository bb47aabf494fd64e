"""The base of trackers: how they read, are saved and are called by a trainer.

Trackers follow a batch engine with automatic reset. After a step, the engine's columns and
observations of a lane whose episode ended are those of the next episode already; a
:class:`StepReader` of the step shows those of the last state instead.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import psutil
import torch

from fastenv.errors import ConfigError, show
from training.run.callback import Callback, EngineStep, Progress
from training.run.checkpoint import CheckpointError, State
from training.run.engine import Engine
from training.run.options import Options

Array = npt.NDArray[Any]
MAX_TABLE_MIB = 8192  # of a tracker


class StepReader:
    """Reads values of the lanes of an engine for trackers.

    Parameters
    ----------
    engine : Engine
    obs : ndarray, shape (n, *obs_shape), optional
        The current observations, where the engine has written them elsewhere.
    final : bool
        Read lanes whose episode ended in the step just made from ``final_info`` and ``final_obs``.
    """

    def __init__(self, engine: Engine, obs: Array | None = None, final: bool = False) -> None:
        self._engine, self._obs, self._final = engine, obs, final

    @classmethod
    def after_step(cls, engine: Engine, obs: Array | None = None) -> StepReader:
        """Make a reader of the step just made, before automatic resets."""
        return cls(engine, obs, final=True)

    @property
    def reward(self) -> Array:
        """Return the rewards of the step, shape (n,)."""
        return self._engine.reward

    @cached_property
    def _ended(self) -> Array | None:
        ended = ended_lanes(self._engine) if self._final else None
        return ended if ended is not None and ended.size else None

    def __getitem__(self, name: str) -> Array:
        """Return an info column, shape (n,); not to be written to.

        Of one with an entry an agent it is the learner's, which stands first.
        """
        column: Array = self._engine.info[name]
        if self._ended is not None:
            column = column.copy()
            column[self._ended] = self._engine.final_info[name][self._ended]
        if column.ndim == 1:
            return column
        agents = self._engine.spec.num_agents
        return column[:, 0] if agents > 1 and column.shape[1:] == (agents,) else column

    def obs(self, at: Any = ...) -> Array:
        """Return elements ``at`` of the observations, shape (n, ...); not to be written to."""
        if self._obs is None:
            self._engine.refresh()
            self._obs = self._engine.obs
        values: Array = self._obs[:, at]
        if self._ended is not None:
            values = values.copy()
            values[self._ended] = self._engine.final_obs[self._ended][:, at]
        return values


# The name of an info column, or a function of what is seen: in both cases one value a lane.
Source = str | Callable[[StepReader], Array]


def read(source: Source, seen: StepReader) -> Array:
    """Read the values of a source, shape (n,)."""
    return seen[source] if isinstance(source, str) else source(seen)


def check_room(option: str, value: int, size: int) -> int:
    """Refuse a table above :data:`MAX_TABLE_MIB`, or that this machine cannot hold.

    Parameters
    ----------
    option : str
        Option that sets its size.
    value : int
    size : int
        Bytes of the table.

    Returns
    -------
    int
        ``size``.

    Raises
    ------
    ConfigError
    """
    there = psutil.virtual_memory().total
    # A system may promise more than it has, and end the process later.
    if size > MAX_TABLE_MIB << 20 or size >= there:
        raise ConfigError(
            f"{option}={show(value)}: must be smaller: it would take {size / 2**20:,.0f} MiB; "
            f"allowed are {MAX_TABLE_MIB:,} MiB, and less than the {there / 2**20:,.0f} MiB of "
            "this machine"
        )
    return size


def ended_lanes(engine: Engine) -> npt.NDArray[np.intp]:
    """Find the lanes whose episode ended in the step just made, in order."""
    return np.flatnonzero(engine.terminated | engine.truncated)


class Tracker(ABC):
    """Follows the lanes of one engine.

    After each step comes :meth:`observe`, then :meth:`reset` of the lanes whose episode ended. What
    a tracker does equals a loop over the lanes in their order, also where two lanes meet.

    Parameters
    ----------
    engine : Engine
    options : Options
        Of the class :attr:`OPTIONS`.

    Attributes
    ----------
    bonus : ndarray of float64, shape (n,), or None
        What the tracker would add to the rewards of the step.
    placed : ndarray of bool, shape (n,), or None
        Lanes whose episode began in a state that the tracker put there; None if it puts none.
    room : int
        Bytes of its tables when they are full; of those that grow, at the beginning.
    """

    OPTIONS: ClassVar[type[Options]]  # of the section ``trackers``
    kept: ClassVar[tuple[str, ...]] = ()  # attributes that make up the state: arrays, plain values
    growing: tuple[str, ...] = ()  # those of them whose length is not fixed
    bonus: Array | None = None
    placed: Array | None = None
    room: int = 0

    def __init__(self, engine: Engine, options: Any) -> None:
        self._engine, self._options = engine, options

    @abstractmethod
    def reset(self, done_idx: npt.ArrayLike, obs: Array | None = None) -> None:
        """Begin an episode in lanes that have been reset.

        Parameters
        ----------
        done_idx : array_like of int, shape (k,)
        obs : ndarray, shape (n, *obs_shape), optional
            The current observations, if they are not in ``engine.obs``.
        """

    @abstractmethod
    def observe(self, engine: Engine, actions: npt.ArrayLike, obs: Array | None = None) -> None:
        """Update with the step that the engine has just made.

        Parameters
        ----------
        engine : Engine
            That of the constructor.
        actions : array_like of int, shape (n,)
            What was done.
        obs : ndarray, shape (n, *obs_shape), optional
            See :meth:`reset`.
        """

    @abstractmethod
    def metrics(self) -> dict[str, float]:
        """Return figures for a log."""

    def take_news(self) -> list[dict[str, Any]]:
        """Return the quests completed for the first time since last asked, as details of events."""
        return []

    def state_dict(self) -> dict[str, Any]:
        """Return everything that later steps depend on: tensors (copies) and plain values."""
        return {name: _pack(value) for name, value in self._save().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` of an equal tracker returned.

        Raises
        ------
        CheckpointError
            It is the state of another tracker; nothing has changed.
        """
        own = self._save()
        if set(own) != set(state):
            raise CheckpointError(
                f"this is no state of {type(self).__name__}: it has {', '.join(sorted(state))}, "
                f"needed are {', '.join(sorted(own))}"
            )
        loaded = {
            name: value.numpy() if isinstance(value, torch.Tensor) else value
            for name, value in state.items()
        }
        for name, value in own.items():
            self._check(name, value, loaded[name])
        self._load(loaded)

    def _save(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.kept}

    def _load(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                getattr(self, name)[...] = value  # others may hold the same array
            else:
                setattr(self, name, value)

    def _check(self, name: str, own: Any, given: Any) -> None:
        if not isinstance(own, np.ndarray):
            return
        free = 1 if name in self.growing else 0  # leading axes of any length
        needed = own.dtype, own.shape[free:]
        actual = getattr(given, "dtype", None), getattr(given, "shape", ())[free:]
        if needed != actual:
            raise CheckpointError(
                f"this is the state of another {type(self).__name__}: {name} has type and shape "
                f"{actual}, needed are {needed}"
            )


def _pack(value: Any) -> Any:
    return torch.from_numpy(np.array(value)) if isinstance(value, np.ndarray) else value


class Trackers(Callback):
    """The trackers of an engine, called after each step.

    The sum of the trackers' bonuses is added to the rewards of the engine, where the trainer will
    read them.

    Parameters
    ----------
    engine : Engine
    trackers : mapping of str to Tracker
        Names, for state and metrics, in the order in which they observe. An archive, which puts
        states into lanes, resets first, so that the others see these states.
    """

    def __init__(self, engine: Engine, trackers: Mapping[str, Tracker]) -> None:
        self._engine, self._named = engine, dict(trackers)
        self._resetting = sorted(trackers.values(), key=lambda tracker: tracker.placed is None)
        self._bonus_sums: dict[str, float] = {}
        self._decisions = 0

    def announce(self) -> list[str]:
        """Return what the tables of the trackers take."""
        rooms = {name: tracker.room for name, tracker in self._named.items() if tracker.room}
        if not rooms:
            return []
        # An archive has all of its table from the beginning, and saves what it has filled.
        whole = {name for name, tracker in self._named.items() if tracker.placed is not None}
        grow = [name for name in rooms if self._named[name].growing and name not in whole]
        more = f"; {', '.join(grow)} grow with what is seen" if grow else ""
        each = ", ".join(f"{name} {room / 2**20:,.1f} MiB" for name, room in rooms.items())
        return [f"memory of the trackers: {each}{more}"]

    def begin_iteration(self, loop: Progress) -> None:
        """Reset the sums of the bonuses that :meth:`record` reports."""
        self._bonus_sums, self._decisions = {}, 0

    def step(self, loop: Progress, step: EngineStep) -> None:
        """Process a step; overwrite what comes next in lanes that go on from an archived state."""
        engine, actions, obs, mask = step
        if engine is not self._engine:
            raise ValueError("these trackers follow another engine: each engine needs its own")
        done = np.arange(engine.num_envs)
        if actions is not None:
            for tracker in self._named.values():
                tracker.observe(engine, actions, obs)
            bonuses = {name: t.bonus for name, t in self._named.items() if t.bonus is not None}
            for name, bonus in bonuses.items():
                self._bonus_sums[name] = self._bonus_sums.get(name, 0.0) + float(bonus.sum())
            self._decisions += engine.num_envs
            if bonuses:  # in double precision, then one rounding
                np.add(engine.reward, sum(bonuses.values()), out=engine.reward, casting="same_kind")
            done = ended_lanes(engine)
        if not done.size:
            return
        for tracker in self._resetting:
            tracker.reset(done, obs)
            if tracker.placed is not None:
                moved = done[tracker.placed[done]]
                obs[moved], mask[moved] = engine.obs[moved], engine.mask[moved]

    def end_iteration(self, loop: Progress) -> None:
        """Log the quests that were completed for the first time."""
        for name, tracker in self._named.items():
            for details in tracker.take_news():
                loop.log.event("quest", tracker=name, **details)

    @property
    def placed(self) -> Array | None:
        """Lanes whose episode began in the archive, shape (n,); None without an archive."""
        every = (tracker.placed for tracker in self._named.values())
        return next((placed for placed in every if placed is not None), None)

    def record(self) -> dict[str, Any]:
        """Return the figures of all trackers, as ``name/figure``.

        ``name/bonus`` is what one has added to the reward of a decision, a mean since
        :meth:`begin_iteration`.
        """
        figures = {
            f"{name}/{key}": value
            for name, tracker in self._named.items()
            for key, value in tracker.metrics().items()
        }
        each = max(1, self._decisions)
        figures |= {f"{name}/bonus": total / each for name, total in self._bonus_sums.items()}
        return {"trackers": figures}

    def tensors(self) -> dict[str, Any]:
        """Return the states of all trackers, by name."""
        return {name: tracker.state_dict() for name, tracker in self._named.items()}

    def restore(self, saved: State) -> None:
        """Restore from a checkpoint; CheckpointError if the trackers differ."""
        state = saved.trackers or {}
        if set(state) != set(self._named):
            raise CheckpointError(
                f"the state is of the trackers {', '.join(sorted(state))}, this run has "
                f"{', '.join(sorted(self._named))}"
            )
        for name, tracker in self._named.items():
            tracker.load_state_dict(state[name])
