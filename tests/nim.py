"""Nim for two to eight, in plain Python: a game in turns with an entry an agent in its rows."""

import numpy as np

from fastenv.errors import ConfigError
from fastenv.game import GameSpec
from fastenv.plain import PlainGame
from fastenv.rng import Rng

BOTS = ("random", "perfect")


def state_dtype(players):
    return np.dtype(
        [
            ("rng", "u8", (4,)),
            ("bot_rng", "u8", (4,)),
            ("ep_return", "f8", (players,)),
            ("ep_length", "i4"),
            ("sticks", "i4"),
            ("last", "i1"),  # who took sticks last; -1 nobody
            ("done", "i1"),
            ("needs_action", "u1", (players,)),
        ],
        align=True,
    )


class Nim:
    """One game: who takes the last stick wins."""

    def __init__(self, players, sticks):
        self.players, self.most = players, sticks
        self.rng, self.bot_rng = Rng(0), [0] * 4
        self.clear(0)

    def clear(self, first):
        self.ep_return, self.ep_length = [0.0] * self.players, 0
        self.sticks, self.last, self.done = self.most, -1, 0
        self.needs_action = [int(seat == first) for seat in range(self.players)]

    def reset(self, seed=None):
        if seed is not None:
            self.rng = Rng(seed)
        self.clear(self.rng.bounded(self.players))
        self.bot_rng = [self.rng.next() for _ in range(4)]

    def legal_actions(self, agent):
        return [*range(min(3, self.sticks))] if self.needs_action[agent] else [0]

    def step(self, actions):
        self.last = self.needs_action.index(1)
        self.sticks -= min(1 + actions[self.last], self.sticks)
        self.done = int(self.sticks == 0)
        after = (self.last + 1) % self.players
        self.needs_action = [int(k == after and not self.done) for k in range(self.players)]


class NimGame(PlainGame):
    """Nim, configured."""

    judged_by = "win"

    def __init__(self, players=2, sticks=10):
        if players not in range(2, 9):
            raise ConfigError(f"players={players!r}: must be an integer from 2 to 8")
        spec = GameSpec(
            num_actions=3,
            num_agents=players,
            order="turns",
            opponent="random",
            judged_by=self.judged_by,
            obs_shape=(2,),
            obs_bounds=(0.0, 1.0),
            state_dtype=state_dtype(players),
            info_dtype=np.dtype([("sticks", "i4"), ("last", "i4")], align=True),
            render_modes=("ansi",),
        )
        self.options = players, sticks
        super().__init__(spec, {"sticks": (0, sticks), "last": (-1, players - 1)}, BOTS)

    def create(self):
        return Nim(*self.options)

    def encode_obs(self, game, out):
        for agent in range(game.players):
            out[agent] = game.sticks / game.most, game.needs_action[agent]

    def reward(self, game):
        won = [float(game.done and agent == game.last) for agent in range(game.players)]
        return won, [()] * game.players

    def info(self, game):
        return game.sticks, game.last

    def bot_action(self, game, params, agent, obs, mask, rng):
        legal = game.legal_actions(agent)
        best = game.sticks % 4 - 1
        if BOTS[int(params["kind"])] == "perfect" and best in legal:
            return best
        return legal[rng.bounded(len(legal))]

    def render(self, row, mode):
        return "|" * int(row["sticks"])


make_game = NimGame
