"""Small environments of Gymnasium and PettingZoo, right ones and wrong ones, for the tests."""

from __future__ import annotations

import os
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import (
    AsyncVectorEnv,
    AutoresetMode,
    SyncVectorEnv,
    VectorEnv,
    VectorWrapper,
)
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import parallel_to_aec


class Ladder(gymnasium.Env):  # type: ignore[type-arg]
    """Climb to the top; action 0 stays, 1 climbs, 2 is legal on even steps alone and climbs two."""

    def __init__(self, length: int = 6, wrong: str = "") -> None:
        self.length, self.wrong = length, wrong
        self.observation_space = spaces.Dict(
            {
                "place": spaces.Discrete(length + 2),
                "noise": spaces.Box(-1.0, 1.0, (2,), np.float64),
                "board": spaces.Box(0, 255, (3, 4), np.uint8),
                "bits": spaces.MultiBinary(3),
                "pair": spaces.Tuple((spaces.Discrete(3, start=1), spaces.MultiDiscrete([2, 4]))),
            }
        )
        self.action_space = spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place = self.steps = 0
        shown = self._show(), self._info()
        return (*shown, None) if self.wrong == "old reset" else shown

    def step(self, action: int) -> Any:
        if self.wrong == "raises":
            raise KeyError("a missing rung")
        if self.wrong == "leaves":
            raise SystemExit(3)
        if self.wrong == "old step":
            return self._show(), 0.0, False, {}
        if self.wrong == "no step":
            return None
        if self.wrong == "no info":
            return self._show(), 0.0, False, False, []
        if self.wrong in ("hangs", "slow"):
            time.sleep(600 if self.wrong == "hangs" else 0.3)
        if self.wrong == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        self.place, self.steps = self.place + int(action), self.steps + 1
        reward = {"reward": float("nan"), "riches": 1e300, "text": "1"}.get(
            self.wrong, float(action) - 0.5
        )
        over = self.place >= self.length
        return self._show(), reward, over, self.steps >= 2 * self.length, self._info()

    def _show(self) -> dict[str, Any]:
        noise = self.np_random.uniform(-1, 1, 2)
        if self.wrong == "nan":
            noise[0] = np.nan
        return {
            "place": 99 if self.wrong == "range" else min(self.place, self.length + 1),
            "noise": noise[:1] if self.wrong == "shape" else noise,
            "board": np.full((3, 4), self.steps, np.uint8),
            "bits": np.array([self.place & 1, self.place >> 1 & 1, 1], np.int8),
            "pair": (1 + self.steps % 3, np.array([self.place % 2, self.steps % 4])),
        }

    def _info(self) -> dict[str, Any]:
        mask = np.array([1, 1, self.place % 2 == 0], np.int8)
        if self.wrong == "logits":
            mask = np.array([0, 0, -1e6])
        if self.wrong == "unknown":
            mask = np.full(3, np.nan)
        if self.wrong == "mask":
            mask = mask[:2]
        if self.wrong == "nothing" or (self.wrong == "blind" and self.place >= self.length):
            mask[:] = 0
        if self.wrong == "sometimes" and self.steps % 3:
            return {}
        return {"action_masks" if self.wrong == "plural" else "action_mask": mask}


class Closes(Ladder):
    """A ladder that leaves a file in a folder where it is closed."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = Path(folder)

    def close(self) -> None:
        (self.folder / f"{os.getpid()}-{id(self)}").touch()


class Drawn(Ladder):
    """A ladder that draws itself, or fails to."""

    metadata = {"render_modes": ["human", "rgb_array"]}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None, wrong: str = "") -> None:
        super().__init__(wrong=wrong)
        self.render_mode = render_mode

    def render(self) -> Any:
        if self.wrong == "picture":
            raise ValueError("no display")
        return np.full((8, 8, 3), 77, np.uint8)


def make_drawn(**options: Any) -> Drawn:
    """Make the same from options that are passed on."""
    return Drawn(**options)


class Grid(gymnasium.Env):  # type: ignore[type-arg]
    """Two numbers at a time, with masks by a method, one for each value of each number."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0, 9, (), np.int64)
        self.action_space = spaces.MultiDiscrete([2, 3], start=[0, 1])

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(10))
        return self.place, {}

    def step(self, action: np.ndarray) -> Any:
        up, far = action.tolist()
        self.place = int(np.clip(self.place + (far if up else -far), 0, 9))
        return self.place, float(self.place == 0), self.place == 0, False, {}

    def action_masks(self) -> np.ndarray:
        return np.array([True, self.place < 9, True, True, self.place > 4])


class Strict(gymnasium.Env):  # type: ignore[type-arg]
    """Actions 1 to 3, of which the first one is illegal; 2 waits, 3 goes on."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0, 9, (1,), np.int64)
        self.action_space = spaces.Discrete(3, start=1)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.place = 0
        return np.array([0]), {}

    def step(self, action: int) -> Any:
        assert action in (2, 3)
        self.place += int(action) - 2
        return np.array([self.place]), 1.0, self.place == 5, False, {}

    def action_masks(self) -> np.ndarray:
        return np.array([False, True, True])


class Counters(VectorEnv):  # type: ignore[type-arg]
    """Lanes that count; they know no ``reset_mask``, and with action 0 they may stand still."""

    def __init__(self, num_envs: int, mode: str = "NextStep", still: bool = False) -> None:
        self.num_envs, self.still = num_envs, still
        self.metadata = {"autoreset_mode": AutoresetMode(mode)}
        self.single_observation_space = spaces.Box(0, 100, (1,), np.int32)
        self.single_action_space = spaces.Discrete(2)
        self.observation_space = spaces.Box(0, 100, (num_envs, 1), np.int32)
        self.action_space = spaces.MultiDiscrete([2] * num_envs)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.places = np.zeros((self.num_envs, 1), np.int32)
        self.over = np.zeros(self.num_envs, np.bool_)
        return self.places.copy(), {}

    def step(self, actions: np.ndarray) -> Any:
        self.places += actions[:, None] if self.still else 1
        self.places[self.over] = 0
        self.over = (self.places[:, 0] >= 5) & ~self.over
        shown, final = self.places.copy(), {"final_obs": self.places.copy()}
        if self.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP:
            self.places[self.over] = 0
            shown, over = self.places.copy(), self.over.copy()
            self.over[:] = False
        else:
            over, final = self.over.copy(), {}
        return shown, np.ones(self.num_envs), over, np.zeros(self.num_envs, np.bool_), final


class Odd(gymnasium.Env):  # type: ignore[type-arg]
    """An environment of given spaces, to be refused."""

    def __init__(self, space: str = "text", of: str = "observation") -> None:
        made = {
            "text": spaces.Text(5),
            "continuous": spaces.Box(-1.0, 1.0, (2,)),
            "large": spaces.Discrete(10**6),
            "many": spaces.MultiDiscrete([50, 50, 50]),
        }[space]
        usual = spaces.Discrete(2)
        self.observation_space = made if of == "observation" else usual
        self.action_space = made if of == "action" else usual


class Bare(gymnasium.Env):  # type: ignore[type-arg]
    """An environment that lacks its spaces, or that cannot be closed."""

    def __init__(self, closes: bool = True) -> None:
        if not closes:
            self.observation_space = self.action_space = spaces.Discrete(2)

    def close(self) -> None:
        raise OSError("the socket is gone")


class Race(ParallelEnv):  # type: ignore[misc]
    """Three run together; who arrives leaves, and the others run on."""

    metadata = {"name": "race_v0"}  # noqa: RUF012

    def __init__(self) -> None:
        self.possible_agents = ["a", "b", "c"]

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Box(0.0, 10.0, (3,), np.float32)

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(2)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.rng = np.random.default_rng(seed) if seed is not None else self.rng
        self.agents = [*self.possible_agents]
        self.places = {a: float(self.rng.integers(3)) for a in self.agents}
        return self._show(self.agents), {a: {} for a in self.agents}

    def step(self, actions: dict[str, int]) -> Any:
        assert set(actions) == set(self.agents)
        ran = [*self.agents]
        for agent, action in actions.items():
            self.places[agent] = min(10.0, self.places[agent] + 1 + action)
        arrived = {a: self.places[a] >= 8 for a in ran}
        self.agents = [a for a in ran if not arrived[a]]
        rewards = {a: 1.0 * arrived[a] - 0.1 for a in ran}
        return self._show(ran), rewards, arrived, dict.fromkeys(ran, False), {a: {} for a in ran}

    def _show(self, agents: list[str]) -> dict[str, np.ndarray]:
        seen = np.array([*self.places.values()], np.float32)
        return {a: np.roll(seen, -self.possible_agents.index(a)) for a in agents}


class Nim(AECEnv):  # type: ignore[misc]
    """Take one to three of ten in turn; who takes the last wins."""

    metadata = {"name": "nim_v0"}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.possible_agents = ["first", "second"]
        self.rng = np.random.default_rng()

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Dict(
            {
                "observation": spaces.Discrete(13),
                "action_mask": spaces.Box(0, 1, (3,), np.int8),
            }
        )

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(3)

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.agents = [*self.possible_agents]
        self.left = 8 + int(self.rng.integers(5))
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}
        self.agent_selection = self.agents[0]

    def observe(self, agent: str) -> dict[str, Any]:
        mask = (np.arange(1, 4) <= self.left).astype(np.int8)
        return {"observation": self.left, "action_mask": mask}

    def step(self, action: int | None) -> None:
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        assert action is not None
        other = self.possible_agents[1 - self.possible_agents.index(agent)]
        self.left -= action + 1
        assert self.left >= 0
        self.rewards = dict.fromkeys(self.agents, 0.0)
        if self.left == 0:
            self.rewards = {agent: 1.0, other: -1.0}
            self.terminations = dict.fromkeys(self.agents, True)
        self._accumulate_rewards()
        self.agent_selection = other


class Alone(Race):
    """A race of one."""

    def __init__(self) -> None:
        self.possible_agents = ["a"]


class Fades(ParallelEnv):  # type: ignore[misc]
    """The first agent is out at its second step, the other one is cut off at the sixth."""

    metadata = {"name": "fades_v0", "is_parallelizable": True}  # noqa: RUF012

    def __init__(self, stays: bool = False) -> None:
        self.possible_agents, self.stays = ["a", "b"], stays
        self.render_mode = None

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Box(0.0, 10.0, (1,), np.float32)

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(2)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.agents, self.time = [*self.possible_agents], 0
        return self._show(), {a: {} for a in self.agents}

    def step(self, actions: dict[str, int]) -> Any:
        assert set(actions) == ({"a", "b"} if self.time < 2 else {"b"})
        self.time += 1
        ran = [*self.agents]
        over = {a: a == "a" and self.time >= 2 for a in ran}
        cut = {a: a == "b" and self.time >= 6 for a in ran}
        shown = self._show()
        if not self.stays:
            self.agents = [a for a in ran if not (over[a] or cut[a])]
        return shown, dict.fromkeys(ran, 1.0), over, cut, {a: {} for a in ran}

    def _show(self) -> dict[str, np.ndarray]:
        return {a: np.array([self.time], np.float32) for a in self.agents}


def make_fades_in_turns() -> AECEnv:
    """Make the same with agents that act one after the other."""
    return parallel_to_aec(Fades())


class Unlike(Race):
    """Agents that see different things."""

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Box(0.0, 10.0, (3 + (agent == "c"),), np.float32)


def make_vector(num_envs: int, mode: str = "NextStep", env: str = "CartPole-v1") -> SyncVectorEnv:
    """Make a vector in one of the three autoreset modes."""
    makers = [lambda: gymnasium.make(env)] * num_envs
    return SyncVectorEnv(makers, autoreset_mode=AutoresetMode(mode))


def make_two() -> SyncVectorEnv:
    """Make a vector without being told of how many lanes."""
    return make_vector(2)


def make_ladders(num_envs: int, mode: str = "NextStep", wrong: str = "") -> SyncVectorEnv:
    """Make a vector of ladders, whose infos have masks."""
    makers = [partial(Ladder, wrong=wrong)] * num_envs
    return SyncVectorEnv(makers, autoreset_mode=AutoresetMode(mode))


def make_by_method(num_envs: int, mode: str = "NextStep", env: str = "Grid") -> Any:
    """Make a vector of environments whose masks come from a method, behind a wrapper."""
    kind = AsyncVectorEnv if mode == "processes" else SyncVectorEnv
    way = AutoresetMode("NextStep" if mode == "processes" else mode)
    makers = [{"Grid": Grid, "Strict": Strict}[env]] * num_envs
    return VectorWrapper(kind(makers, autoreset_mode=way))


def make_cart_poles(num_envs: int) -> Any:
    """Make Gymnasium's own vector of CartPole, which resets lanes on the next step alone."""
    return gymnasium.make_vec("CartPole-v1", num_envs, vectorization_mode="vector_entry_point")


def make_maze() -> gymnasium.Env:  # type: ignore[type-arg]
    """Make an environment of MiniGrid."""
    from minigrid.envs import EmptyEnv
    from minigrid.wrappers import ImgObsWrapper

    return ImgObsWrapper(EmptyEnv(size=5))


class FailsLate(Ladder):
    """A ladder that breaks at its 40th step in all."""

    steps_in_all = 0

    def step(self, action: int) -> Any:
        self.steps_in_all += 1
        if self.steps_in_all == 40:
            raise ValueError("out of memory")
        return super().step(action)
