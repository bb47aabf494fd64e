"""A game of hidden cards that tells too much, and its twin for ``fastenv.testing.check``."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

AGENTS = ["left", "right"]


class HighCard(AECEnv):  # type: ignore[misc]
    """Each holds a card from 1 to 9 and stays or folds, in turn; the higher card wins."""

    metadata = {"name": "high_card_v0", "is_parallelizable": False}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.possible_agents = list(AGENTS)
        self.render_mode = None
        self.rng = np.random.default_rng()

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of the own card and of what the other did."""
        return spaces.MultiDiscrete([10, 3])

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return stay (0) and fold (1)."""
        return spaces.Discrete(2)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal two different cards."""
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.agents = list(AGENTS)
        self.cards = dict(zip(AGENTS, 1 + self.rng.permutation(9)[:2], strict=True))
        self.done: dict[str, int] = {}
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos = {agent: {} for agent in AGENTS}
        self.agent_selection = AGENTS[0]

    def observe(self, agent: str) -> np.ndarray:
        """Return the own card; the second number should be what the other did, and no more."""
        other = AGENTS[1 - AGENTS.index(agent)]
        did = self.done.get(other, 2)
        if did == 2 and self.cards[other] > 7:
            did = 0  # "stays anyway": the leak
        return np.array([self.cards[agent], did])

    def step(self, action: int | None) -> None:
        """Stay or fold; after both, the higher card that stayed is paid."""
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self.done[agent] = int(action or 0)
        self.agent_selection = AGENTS[1 - AGENTS.index(agent)]
        if len(self.done) == 2:
            points = {a: self.cards[a] * (self.done[a] == 0) for a in AGENTS}
            best = max(AGENTS, key=lambda a: points[a])
            self.rewards = {a: 1.0 if a == best else -1.0 for a in AGENTS}
            self.terminations = dict.fromkeys(AGENTS, True)
        self._accumulate_rewards()


def twin(env: HighCard, agent: str, rng: np.random.Generator) -> HighCard:
    """Return the same game with another card in the other's hand."""
    world = copy.deepcopy(env)
    other = AGENTS[1 - AGENTS.index(agent)]
    cards = [card for card in range(1, 10) if card != env.cards[agent]]
    world.cards[other] = int(rng.choice(cards))
    return world
