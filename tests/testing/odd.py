"""Small environments that are unusual and correct, and some with a fault: what others write."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics
from pettingzoo import AECEnv, ParallelEnv

from tests.testing.games.drop import DropVector

LARGE = np.finfo(np.float32).max


class Walk(gymnasium.Env[Any, Any]):
    """Twelve steps of a random walk; the observation is (place, time)."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}
    observation_space = spaces.Box(-100, 100, (2,), np.float32)
    action_space: Any = spaces.Discrete(3)
    illegal: Any = None

    def look(self) -> Any:
        return np.array([self.x, self.t], np.float32)

    def info(self) -> dict[str, Any]:
        return {}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.x, self.t = float(self.np_random.integers(10)), 0
        return self.look(), self.info()

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action), action
        assert self.illegal is None or np.ravel(action)[0] != self.illegal
        self.t += 1
        self.x += float(self.np_random.integers(3)) - 1
        return self.look(), 0.0, self.t >= 12, False, self.info()


class SharesInCopies(Walk):
    """Its copies draw from the generator of the original."""

    def __deepcopy__(self, memo: Any) -> Walk:
        made = type(self)()
        made.__dict__.update(self.__dict__)
        return made


class DrawsTwice(Walk):
    """A reset without a seed begins as the one before."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.seed = self.seed if seed is None else seed
        return super().reset(seed=self.seed)


class NewGenerator(Walk):
    """A reset without a seed makes a new generator, of which only the steps draw."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self._np_random = np.random.default_rng(seed)
        self.x, self.t = 0.0, 0
        return self.look(), self.info()


class SeldomNewGenerator(NewGenerator):
    """The same, and seldom does what is drawn show."""

    def step(self, action: Any) -> Any:
        self.t += 1
        self.x += float(self.np_random.random() < 0.004)
        return self.look(), 0.0, self.t >= 12, False, self.info()


class DrawsAhead(Walk):
    """A walk whose reset draws what all steps need: the same from a seed, and not after it."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        seen = super().reset(seed=seed)
        self.moves = [float(self.np_random.integers(3)) - 1 for _ in range(12)]
        return seen

    def step(self, action: Any) -> Any:
        self.x += self.moves[self.t]
        self.t += 1
        return self.look(), 0.0, self.t >= 12, False, self.info()


class Plain:
    """An object that is equal to itself alone."""


class WithObjects(Walk):
    def info(self) -> dict[str, Any]:
        return {"thing": Plain(), "things": [Plain()], "numbers": [self.t, 1]}


class WithLock(Walk):
    def __init__(self) -> None:
        self.lock = threading.Lock()

    def info(self) -> dict[str, Any]:
        return {"lock": self.lock}


class MasksOfParts(Walk):
    action_space = spaces.MultiDiscrete([3, 2])
    illegal = 1

    def action_masks(self) -> np.ndarray:
        return np.array([1, 0, 1, 1, 1], np.bool_)


class MaskInObservation(Walk):
    observation_space: Any = spaces.Dict(
        {"place": Walk.observation_space, "action_mask": spaces.MultiBinary(3)}
    )
    illegal = 1

    def look(self) -> Any:
        return {"place": super().look(), "action_mask": np.array([1, 0, 1], np.int8)}


class Strict(Walk):
    illegal = 1


class MasksInInfo(Strict):
    """Names its mask as the methods of others are called."""

    def info(self) -> dict[str, Any]:
        return {"action_masks": [1, 0, 1]}


class Masker(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Gives masks as the wrapper of sb3-contrib does."""

    def action_masks(self) -> np.ndarray:
        return np.array([1, 0, 1], np.bool_)


def masked_in_the_middle() -> Any:
    """Return an environment whose masks come from a wrapper inside another."""
    return RecordEpisodeStatistics(Masker(Strict()))


def masked_lanes() -> Any:
    """Return a vector of which only the lanes can be asked for masks."""
    makers = [lambda: Masker(Strict())] * 2
    return SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP)


class MaskNowAndThen(Walk):
    def __init__(self, lane: int = 0) -> None:
        self.lane = lane

    def info(self) -> dict[str, Any]:
        return {"action_mask": np.array([1, 0, 1], np.int8)} if self.t % 2 == self.lane else {}


def masks_of_some_lanes() -> Any:
    """Return a vector in which one lane or the other has a mask."""
    makers = [partial(MaskNowAndThen, lane) for lane in range(2)]
    return SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP)


class Wide(Walk):
    action_space = spaces.Box(-LARGE, LARGE, (2,), np.float32)


class WideWhole(Walk):
    action_space = spaces.Box(-(2**63), 2**63 - 1, (2,), np.int64)


class Numbered(ParallelEnv):  # type: ignore[type-arg]
    """Two agents whose names are numbers; each sees the cards of both."""

    metadata: ClassVar[dict[str, Any]] = {"name": "numbered", "render_modes": []}

    def __init__(self) -> None:
        self.possible_agents = [0, 1]

    def observation_space(self, agent: int) -> Any:
        return spaces.Box(0, 9, (2,), np.float32)

    def action_space(self, agent: int) -> Any:
        return spaces.Discrete(2)

    def look(self) -> Any:
        return {agent: np.array(self.cards, np.float32) for agent in (0, 1)}

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        if seed is not None or not hasattr(self, "rng"):
            self.rng = np.random.default_rng(seed)
        self.agents, self.t = [0, 1], 0
        self.cards = self.rng.integers(10, size=2)
        return self.look(), {0: {}, 1: {}}

    def step(self, actions: Any) -> Any:
        self.t += 1
        over = self.t >= 4
        self.agents = [] if over else [0, 1]
        pays, ends, runs = ({0: each, 1: each} for each in (0.0, over, False))
        return self.look(), pays, ends, runs, {0: {}, 1: {}}


# With a fault.


class Remembers(Walk):
    """An info counts all episodes, beside infos that are never the same."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.episodes = getattr(self, "episodes", 0) + 1
        return super().reset(seed=seed)

    def info(self) -> dict[str, Any]:
        now = time.perf_counter_ns()
        return {"t": now, "trace": np.zeros(1 + now % 50), "total": self.episodes}


class Bleeds(DropVector):
    """One lane that burns makes all of them burn."""

    def step(self, actions: Any) -> Any:
        return super().step(np.full_like(actions, actions.max()))


class DrawsInTurn(DropVector):
    """All lanes draw from one generator; a lane that burns draws how well it does."""

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> Any:
        if seed is not None:
            self.rngs = [np.random.default_rng(seed)] * self.num_envs
        return super().reset(options=options)

    def step(self, actions: Any) -> Any:
        burns = (actions == 1) & (self.fuel > 0) & ~self.ended
        self.speed[burns] += self.rngs[0].uniform(0, 0.1, burns.sum())
        return super().step(actions)


class CloseOnce(Walk):
    def close(self) -> None:
        if getattr(self, "shut", False):
            raise RuntimeError("closed already")
        self.shut = True


class CloseNeedsReset(Walk):
    def close(self) -> None:
        assert self.t >= 0


class FiveToSeven(Walk):
    action_space = spaces.Discrete(3, start=5)

    def step(self, action: Any) -> Any:
        if self.t >= 1:
            raise RuntimeError("gone")
        return super().step(action)


class Narrow(Walk):
    """The observation is one too high from the third step on."""

    action_space = spaces.Box(1.5, 2.5, (1,), np.float32)

    def look(self) -> Any:
        return super().look() + np.float32(self.t > 2)


class NarrowReference(Walk):
    action_space = Narrow.action_space


class Words(Walk):
    action_space = spaces.Dict({"say": spaces.Text(3)})


class NoReset(Walk):
    def reset(self, **_how: Any) -> Any:
        raise RuntimeError("needs options")


class Slow(Walk):
    def step(self, action: Any) -> Any:
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass
        self.t += 1
        return self.look(), 0.0, False, self.t >= 2000, {}


class Stuck(AECEnv):  # type: ignore[type-arg]
    """Nobody is taken away at the end."""

    metadata: ClassVar[dict[str, Any]] = {"name": "stuck", "render_modes": []}

    def __init__(self) -> None:
        self.possible_agents = ["a", "b"]

    def observation_space(self, agent: str) -> Any:
        return spaces.Box(0, 9, (1,), np.float32)

    def action_space(self, agent: str) -> Any:
        return spaces.Discrete(2)

    def observe(self, agent: str) -> Any:
        return np.zeros(1, np.float32)

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.agents, self.agent_selection = ["a", "b"], "a"
        self.rewards, self._cumulative_rewards = ({"a": 0.0, "b": 0.0} for _ in range(2))
        self.terminations, self.truncations = ({"a": False, "b": False} for _ in range(2))
        self.infos: Any = {"a": {}, "b": {}}

    def step(self, action: Any) -> None:
        if action is not None:
            self.terminations = {"a": True, "b": True}


class Prints(Walk):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        print("hello from the engine", flush=True)
        return super().reset(seed=seed)


class Infinite(Walk):
    """Pays what is no number, however it is made."""

    def __init__(self, *_given: Any, **_options: Any) -> None:
        pass

    def step(self, action: Any) -> Any:
        observation, _, *rest = super().step(action)
        return observation, float("nan"), *rest


class Peeks(Walk):
    """The mask tells a hidden coin, which the observation does not."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        shown = super().reset(seed=seed)
        self.coin = int(self.np_random.integers(2))
        return shown

    def action_masks(self) -> np.ndarray:
        return np.array([1, getattr(self, "coin", 0), 1], np.bool_)

    def _get_obs(self) -> Any:
        return self.look()


# Pairs, and functions that a caller gives.


def episode_statistics() -> Any:
    """Return an environment whose infos have the time that an episode took."""
    return RecordEpisodeStatistics(Walk())


class Pays(Walk):
    def step(self, action: Any) -> Any:
        observation, _, *rest = super().step(action)
        return observation, 0.1, *rest

    def info(self) -> dict[str, Any]:
        return {"trace": [self.t, 1]}


class PaysNarrow(Pays):
    def step(self, action: Any) -> Any:
        observation, reward, *rest = super().step(action)
        return observation, np.float32(reward), *rest

    def info(self) -> dict[str, Any]:
        return {"trace": np.array([self.t, 1])}


class OtherDraws(Walk):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=None if seed is None else seed + 1000)

    def step(self, action: Any) -> Any:
        self.t += 1
        self.x += int(action)
        return self.look() + np.float32(self.t == 3), 0.0, self.t >= 12, False, {}


class OtherDrawsReference(Walk):
    def step(self, action: Any) -> Any:
        self.t += 1
        self.x += int(action)
        return self.look(), 0.0, self.t >= 12, False, {}


def set_walk(fast: Any, reference: Any, observation: Any) -> None:
    """Bring a walk into the state that an observation shows."""
    reference.x, reference.t = float(observation[0]), int(observation[1])


def lake(steps: int = 5) -> Any:
    """Return Gymnasium's lake with another time limit."""
    return gymnasium.make("FrozenLake-v1", max_episode_steps=steps, disable_env_checker=True)


class Poles(SyncVectorEnv):
    """Poles that fall at the time limit are called truncated alone."""

    def __init__(self, max_episode_steps: int = 500) -> None:
        makers = [partial(gymnasium.make, "CartPole-v1", max_episode_steps=max_episode_steps)] * 3
        super().__init__(makers, autoreset_mode=AutoresetMode.SAME_STEP)

    def step(self, actions: Any) -> Any:
        observations, rewards, ended, cut, infos = super().step(actions)
        return observations, rewards, ended & ~cut, cut, infos


def raising_twin(env: Any, agent: Any, rng: Any) -> Any:
    """Draw no world."""
    raise ValueError("no other world possible")


def coin_twin(env: Any, agent: Any, rng: Any) -> Any:
    """Throw the coin again."""
    import copy

    world = copy.deepcopy(env)
    world.coin = int(rng.integers(2))
    return world
