"""CartPole as a batch engine: the equations of Gymnasium's ``CartPole-v1`` for all lanes."""

import numpy as np

from tests.training.ppo.engines import ToyEngine

GRAVITY, CART, POLE, HALF_LENGTH, FORCE, SECONDS = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
X_LIMIT, ANGLE_LIMIT, TIME_LIMIT = 2.4, np.radians(12), 500


class CartPole(ToyEngine):
    """Reward 1 a decision, until the pole leans or the cart leaves; cut off after 500 decisions."""

    obs_shape = (4,)

    def __init__(self, num_envs):
        super().__init__(num_envs)
        self.cart = np.zeros((num_envs, 4))  # place, its speed, angle, its speed

    def begin(self, rows):
        super().begin(rows)
        for k in range(4):
            self.cart[rows, k] = self.draw(1 << 20, rows) / (1 << 20) * 0.1 - 0.05

    def move(self, actions):
        x, speed, angle, turning = self.cart.T
        force = np.where(actions == 1, FORCE, -FORCE)
        sine, cosine = np.sin(angle), np.cos(angle)
        pushed = (force + POLE * HALF_LENGTH * turning**2 * sine) / (CART + POLE)
        leaning = (GRAVITY * sine - cosine * pushed) / (
            HALF_LENGTH * (4 / 3 - POLE * cosine**2 / (CART + POLE))
        )
        faster = pushed - POLE * HALF_LENGTH * leaning * cosine / (CART + POLE)
        change = np.stack([speed, faster, turning, leaning], axis=1)
        self.cart += SECONDS * change
        self.reward[:] = 1
        x, _, angle, _ = self.cart.T
        self.terminated[:] = (np.abs(x) > X_LIMIT) | (np.abs(angle) > ANGLE_LIMIT)
        self.truncated[:] = (self.time >= TIME_LIMIT) & (self.terminated == 0)

    def write(self, out):
        out[:] = self.cart
