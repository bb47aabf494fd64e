"""Several agents: each holds a hidden die, and they raise or doubt in turn."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

FACES, ROUNDS = 6, 3
DOUBT = 2 * FACES
AGENTS = ["north", "south"]


class Bluff(AECEnv):
    """Three rounds of bids on the sum of two hidden dice; whoever doubts a true bid loses a point.

    Action k below 12 bids that the sum is at least k + 1; the last action doubts the bid.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "bluff_v0",
        "render_modes": [],
        "is_parallelizable": False,
    }

    def __init__(self) -> None:
        super().__init__()
        self.possible_agents = list(AGENTS)
        self.render_mode = None
        self.rng = np.random.default_rng()
        look = spaces.Box(0, 2 * FACES, (4,), np.int8)
        mask = spaces.Box(0, 1, (DOUBT + 1,), np.int8)
        self._shown = spaces.Dict({"observation": look, "action_mask": mask})
        self._actions = spaces.Discrete(DOUBT + 1)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self._shown

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self._actions

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}
        self.round = 0
        self.agent_selection = self.agents[0]
        self._roll()

    def _roll(self) -> None:
        self.dice = {agent: int(self.rng.integers(1, FACES + 1)) for agent in self.possible_agents}
        self.bid = 0

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        mine = self.possible_agents.index(agent)
        shown = [self.dice[agent], self.bid, self.round, mine]
        mask = np.zeros(DOUBT + 1, np.int8)
        if agent == self.agent_selection and not self.terminations[agent]:
            mask[self.bid : DOUBT] = 1
            mask[DOUBT] = self.bid > 0
        return {"observation": np.array(shown, np.int8), "action_mask": mask}

    def step(self, action: int | None) -> None:
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        other = self.possible_agents[1 - self.possible_agents.index(agent)]
        self._cumulative_rewards[agent] = 0.0
        self.rewards = dict.fromkeys(self.agents, 0.0)
        if action == DOUBT:
            true = sum(self.dice.values()) >= self.bid
            self.rewards[agent] = -1.0 if true else 1.0
            self.rewards[other] = -self.rewards[agent]
            self.round += 1
            if self.round < ROUNDS:
                self._roll()
            else:
                self.terminations = dict.fromkeys(self.agents, True)
        else:
            self.bid = int(action) + 1
        self.agent_selection = other
        self._accumulate_rewards()

    def twin(self, agent: str, rng: np.random.Generator) -> Bluff:
        """Return another world that looks the same to an agent: the other die rolled again."""
        import copy

        world = copy.deepcopy(self)
        other = self.possible_agents[1 - self.possible_agents.index(agent)]
        world.dice[other] = int(rng.integers(1, FACES + 1))
        return world
