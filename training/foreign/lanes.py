"""Lanes of a foreign environment: a live object each, of Gymnasium or of PettingZoo."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from fastenv.errors import FastEnvError, show, show_reason
from fastenv.rng import Rng, splitmix64
from fastenv.testing.laws import FIVE
from fastenv.testing.masks import find_mask, find_method
from training.foreign.spaces import Actions, ForeignError

RUNNING, TERMINATED, TRUNCATED = 0, 1, 2
_MASK64 = (1 << 64) - 1
MOST_PAID = float(np.finfo(np.float32).max)
RAISED = (Exception, SystemExit)  # by an environment: some leave the program in a step
MOST_SEED = (1 << 31) - 1  # that every environment takes


def as_seed(seed: int) -> int:
    """Return a seed that every environment takes: the same one where it is small enough."""
    return seed if 0 <= seed <= MOST_SEED else splitmix64(seed & _MASK64) & MOST_SEED


def as_paid(who: str, reward: Any) -> float:
    """Return a reward; ForeignError if it is no finite number, or infinite as a float32."""
    if isinstance(reward, (str, bytes)):
        raise ForeignError(f"{who}: the reward is {show(reward)}: must be a number")
    paid = float(reward)
    if not -MOST_PAID <= paid <= MOST_PAID:  # also NaN
        raise ForeignError(f"{who}: the reward is {paid}: must be a finite number of float32")
    return paid


class Lane:
    """What a lane shows, and the counters of its episode.

    Attributes
    ----------
    obs : object
        Observation of the environment, or a list of one for each agent.
    mask : ndarray, list of ndarray or None
        Its mask; None where all actions are legal.
    paid : float or list of float
        Reward of the last step.
    done : int
        0 running, 1 terminated, 2 truncated.
    ends : list of int
        The same of each agent: who is out may have to wait for the others.
    seed : int
        The last that it was given.
    moves : int
        Steps since then.
    ep_return, ep_length : float (or list of float), int
        Sums of the episode, which the engine keeps.
    needs_action : list of bool
        Who must act; of several agents.
    bot_rng : list of int
        Generator of scripted players; of several agents.
    """

    def __init__(self, agents: int) -> None:
        several = agents > 1
        self.obs: Any = None
        self.mask: Any = None
        self.paid: Any = [0.0] * agents if several else 0.0
        self.done = RUNNING
        self.seed = self.moves = 0
        self.ep_return: Any = [0.0] * agents if several else 0.0
        self.ep_length = 0
        self.ends = [RUNNING] * agents
        self.needs_action = [True] * agents
        self.bot_rng = [0, 0, 0, 0]

    def begin(self, seed: int | None) -> None:
        """Set the counters to the beginning of an episode."""
        if seed is not None:
            self.seed, self.moves = seed, 0
            self.bot_rng = Rng(seed).state
        several = isinstance(self.ep_return, list)
        zero: Any = [0.0] * len(self.needs_action) if several else 0.0
        self.ep_return, self.ep_length, self.done = zero, 0, RUNNING
        self.paid = [*zero] if several else 0.0
        self.ends = [RUNNING] * len(self.ends)

    def show(self) -> tuple[Any, ...]:
        """Return the fields that change in a step, to be sent to another process."""
        return self.obs, self.mask, self.paid, self.done, self.ends, self.needs_action

    def take(self, shown: tuple[Any, ...]) -> None:
        """Take over what :meth:`show` returned elsewhere."""
        self.obs, self.mask, self.paid, self.done, self.ends, self.needs_action = shown

    def render(self) -> Any:
        """Return the picture that the environment draws; None if it is not in this process."""
        return None

    def close(self) -> None:
        """Close the environment."""


class LiveLane(Lane, ABC):
    """A lane whose environment is in this process.

    Parameters
    ----------
    who : str
        Name of the environment, for messages.
    env : object
    actions : Actions
    agents : int
    """

    def __init__(self, who: str, env: Any, actions: Actions, agents: int = 1) -> None:
        super().__init__(agents)
        self.who, self.env, self.actions = who, env, actions
        self._closing = weakref.finalize(self, close_quietly, env)

    def reset(self, seed: int | None) -> None:
        """Begin an episode, by a seed or by the generator of the environment.

        Raises
        ------
        ForeignError
            The environment raised, or shows what it may not.
        """
        self.begin(seed)
        with call(self.who, "reset"):
            self._reset(None if seed is None else as_seed(seed))

    def step(self, action: Any) -> None:
        """Take a decision, or one for each agent, as numbers; raises as :meth:`reset` does."""
        self.moves += 1
        try:  # as `call`, in a third of its time
            self._step(action)
        except FastEnvError:
            raise
        except RAISED as error:
            raise _explain(self.who, "step", error) from error

    @abstractmethod
    def _reset(self, seed: int | None) -> None: ...

    @abstractmethod
    def _step(self, action: Any) -> None: ...

    def render(self) -> Any:
        """See :meth:`Lane.render`."""
        return self.env.render()

    def close(self) -> None:
        """See :meth:`Lane.close`."""
        self._closing()


def close_quietly(env: Any) -> None:
    """Close an environment; nobody can be told any more that it failed."""
    with suppress(Exception):
        env.close()


@contextmanager
def call(who: str, what: str) -> Iterator[None]:
    """Turn what an environment raises into a :class:`ForeignError` that names it."""
    try:
        yield
    except FastEnvError:
        raise
    except RAISED as error:
        raise _explain(who, what, error) from error


def _explain(who: str, what: str, error: BaseException) -> ForeignError:
    return ForeignError(f"{who}: {what} raised {type(error).__name__}: {show_reason(error)}")


class SingleLane(LiveLane):
    """An environment of Gymnasium.

    Its mask is found as :func:`fastenv.testing.masks.find_mask` does.
    """

    def __init__(self, who: str, env: Any, actions: Actions) -> None:
        super().__init__(who, env, actions)
        self._ask = find_method(env)

    def _reset(self, seed: int | None) -> None:
        started = self.env.reset(seed=seed)
        self._check_count("reset", started, 2, "(observation, info)")
        self.obs, info = started
        self._read_mask(info)

    def _step(self, action: int) -> None:
        stepped = self.env.step(self.actions.decode(action))
        self._check_count("step", stepped, 5, FIVE)
        self.obs, reward, terminated, truncated, info = stepped
        self.paid = as_paid(self.who, reward)
        self.done = TERMINATED if terminated else TRUNCATED if truncated else RUNNING
        if not self.done:
            self._read_mask(info)

    def _check_count(self, what: str, returned: Any, count: int, names: str) -> None:
        """Refuse what is not as Gymnasium's interface has it, such as that of its first versions.

        Raises
        ------
        ForeignError
        """
        if not isinstance(returned, (tuple, list)):
            raise ForeignError(
                f"{self.who}: {what} returned {type(returned).__name__}: must be {names}"
            )
        if len(returned) != count:
            raise ForeignError(
                f"{self.who}: {what} returned {len(returned)} values: must be {names}"
            )
        if not isinstance(returned[-1], Mapping):
            raise ForeignError(f"{self.who}: the info of {what} is {show(returned[-1])}: no dict")

    def _read_mask(self, info: dict[str, Any]) -> None:
        mask = find_mask(self._ask, info, self.obs)
        self.mask = None if mask is None else self.actions.read_mask(mask)


class AgentsLane(LiveLane):
    """An environment of PettingZoo: what both of its forms share."""

    def __init__(self, who: str, env: Any, actions: Actions) -> None:
        self.names: list[Any] = list(env.possible_agents)
        super().__init__(who, env, actions, len(self.names))
        count = len(self.names)
        self.obs, self.mask = [None] * count, [None] * count

    def _note_ends(self, over: Mapping[Any, Any], cut: Mapping[Any, Any]) -> None:
        """Keep how agents have ended: environments forget them soon."""
        for k, name in enumerate(self.names):
            if not self.ends[k]:
                self.ends[k] = (
                    TERMINATED if over.get(name) else TRUNCATED if cut.get(name) else RUNNING
                )

    def _end(self, how: int) -> None:
        """End the episode, of agents too of whom the environment said nothing."""
        self.done, self.ends = how, [each or how for each in self.ends]

    def _look(self, k: int, observation: Any, info: dict[str, Any], acts: bool) -> None:
        """Keep what an agent sees; the mask of one that acts is in the observation or its info."""
        mask = find_mask(None, info, observation)
        if isinstance(observation, dict) and {*observation} == {"observation", "action_mask"}:
            observation = observation["observation"]
        # The classic games write into what they returned before.
        self.obs[k] = np.array(observation) if isinstance(observation, np.ndarray) else observation
        self.mask[k] = self.actions.read_mask(mask) if acts and mask is not None else None


class TurnsLane(AgentsLane):
    """An AEC environment: one agent acts in a step.

    Attributes of its wrappers are slow to read, so each is read once a step. An agent is asked what
    it sees when it acts, and at its end.
    """

    def _reset(self, seed: int | None) -> None:
        self.env.reset(seed=seed)
        self._give_turn(everybody=True)

    def _step(self, action: list[int]) -> None:
        env, names = self.env, self.names
        env.step(self.actions.decode(action[self.needs_action.index(True)]))
        paid = env.rewards
        self.paid = [as_paid(self.who, paid.get(name, 0.0)) for name in names]
        self._give_turn()

    def _give_turn(self, everybody: bool = False) -> None:
        """Find out who acts now, or that all is over; look with their eyes."""
        env, names = self.env, self.names
        over, cut, acting = env.terminations, env.truncations, env.agent_selection
        there = env.agents
        self._note_ends(over, cut)
        running = [name for name in there if not (over[name] or cut[name])]
        if not running:
            self._end(TERMINATED if any(over.values()) or not cut else TRUNCATED)
        elif over[acting] or cut[acting]:  # an empty step takes it away, while others play on
            self._look(names.index(acting), env.observe(acting), {}, False)
            env.step(None)
            self._give_turn(everybody)
            return
        infos = env.infos
        for k, name in enumerate(names):
            acts = bool(running) and name == acting
            self.needs_action[k] = acts
            if acts or (name in there and (everybody or not running)):
                self._look(k, env.observe(name), infos.get(name, {}), acts)


class TogetherLane(AgentsLane):
    """A parallel environment: all agents that are there act in every step."""

    def _reset(self, seed: int | None) -> None:
        observations, infos = self.env.reset(seed=seed)
        self._look_around(observations, infos)

    def _step(self, action: list[int]) -> None:
        env, names = self.env, self.names
        given = {
            name: self.actions.decode(action[k])
            for k, name in enumerate(names)
            if self.needs_action[k]
        }
        observations, rewards, terminated, truncated, infos = env.step(given)
        self.paid = [as_paid(self.who, rewards.get(name, 0.0)) for name in names]
        self._note_ends(terminated, truncated)
        self._look_around(observations, infos)
        if not any(self.needs_action):
            cut = any(truncated.values()) and not any(terminated.values())
            self._end(TRUNCATED if cut else TERMINATED)

    def _look_around(self, observations: dict[Any, Any], infos: dict[Any, Any]) -> None:
        there = set(self.env.agents)
        # Some environments keep agents that are out among those that are there.
        self.needs_action = [
            name in there and not end for name, end in zip(self.names, self.ends, strict=True)
        ]
        for k, name in enumerate(self.names):
            if name in observations:
                self._look(k, observations[name], infos.get(name, {}), self.needs_action[k])
