"""Positions of Asteroid Prospector for tests, and what is counted in them."""

import copy

import numpy as np

from fastenv.game import add_reward
from fastenv.prospector import encoding
from fastenv.prospector.layout import INFO_COLUMNS
from fastenv.prospector.position import pack
from fastenv.prospector.reference import Prospector
from fastenv.prospector.state import STATE_DTYPE
from fastenv.prospector.tables import PCG_INC, PCG_MUL


def rows_of(*games):
    """Return the games as rows."""
    return np.frombuffer(bytearray().join(map(pack, games)), STATE_DTYPE)


def away(seed=0):
    """Return a game that has left the station, with its first asteroid selected.

    In the world of seed 0 the ship is then at node 1, which has ten asteroids.
    """
    game = Prospector(seed=seed)
    game.step(0)
    game.step(12)
    return game


def after(game, action):
    """Return the game after an action, and leave the original alone."""
    game = copy.deepcopy(game)
    game.step(action)
    return game


def mask_of(game):
    mask = np.empty(69, np.uint8)
    encoding.action_mask(game, mask)
    return mask


def obs_of(game):
    obs = np.empty(260, np.float32)
    encoding.encode_obs(game, obs)
    return obs


def info_of(game):
    """Return the info columns as floats: in golden files they all are."""
    return dict(zip(INFO_COLUMNS, map(float, encoding.info(game)), strict=True))


def pay(game):
    """Return the reward of the last step, added to the sums of the episode as the engine does."""
    reward, _ = encoding.reward(game)
    add_reward(game, reward)
    return reward


def random_walk(seed, steps):
    """Yield a game after each of some random steps; ended episodes are followed by new ones.

    Nine of ten actions are legal and none cashes out, so that the game gets somewhere.
    """
    rng, game = np.random.default_rng(seed), Prospector(seed=seed)
    for _ in range(steps):
        legal = np.flatnonzero(mask_of(game)[:68])
        action = rng.choice(legal) if rng.random() < 0.9 else rng.integers(-1, 70)
        game.step(int(action))
        pay(game)
        yield game
        if game.done:
            game.reset()


def draws_between(before, later, most=20_000):
    """Return how many draws lead from one generator state to another."""
    for count in range(most):
        if before == later:
            return count
        before = (before * PCG_MUL + PCG_INC) % 2**64
    raise AssertionError(f"more than {most} draws")


class Dice:
    """A generator that gives prepared uniforms; normal numbers are their means."""

    def __init__(self, *values):
        self.values = list(values)

    def uniform(self):
        return self.values.pop(0)

    def uni(self, low, high):
        return low + (high - low) * self.uniform()

    def normal(self, mean, sigma):
        return mean
