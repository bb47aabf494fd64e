"""DQN as a person would write it down: lists, loops over lanes and decisions, double precision.

Double, dueling, quantile regression, n-step, truncation apart from termination, epsilon-greedy. It
shares nothing with the trainer but the numbers that are drawn.
"""

import numpy as np
import torch

from tests.training.dqn.twins import ListReplay, masked_argmax, quantile_huber


class Walk:
    """A corridor: a reward of 1 at its right end, 0.02 for every decision, and a time limit."""

    def __init__(self, goal, limit):
        self.goal, self.limit, self.position, self.time = goal, limit, 0, 0

    def obs(self):
        return [float(self.position == k) for k in range(self.goal + 1)]

    def step(self, action):
        """Return reward, how it ended, and what was seen before the next episode."""
        self.time += 1
        self.position = min(max(self.position + (1 if action == 1 else -1), 0), self.goal)
        end = 1 if self.position == self.goal else 2 if self.time >= self.limit else 0
        reward, last = (end == 1) - 0.02, self.obs()
        if end:
            self.position = self.time = 0
        return reward, end, last


class PlainDQN:
    """See the module; ``parameters`` are the first ones, by the names of the trainer's network."""

    def __init__(self, parameters, config, walks, total_steps, act_seed, draw_seed):
        self.config, self.total_steps, self.steps, self.updates = config, total_steps, 0, 0
        self.net = {k: v.double().clone().requires_grad_() for k, v in parameters.items()}
        self.target = {k: v.detach().clone() for k, v in self.net.items()}
        self.moments = {k: (torch.zeros_like(v), torch.zeros_like(v)) for k, v in self.net.items()}
        self.walks, self.replay, self.owed = walks, ListReplay(len(walks), config.n_step), 0
        self.act, self.draw = np.random.default_rng(act_seed), torch.Generator()
        self.draw.manual_seed(draw_seed)

    def quantiles(self, net, obs):
        """Quantiles (A, K) of one observation."""
        x = torch.relu(net["layers.0.weight"] @ torch.tensor(obs).double() + net["layers.0.bias"])
        count = self.config.num_quantiles
        value = net["head.state.weight"] @ x + net["head.state.bias"]
        gain = (net["head.advantage.weight"] @ x + net["head.advantage.bias"]).view(2, count)
        return value + gain - gain.mean(0)

    def step(self):
        """Take a decision in every lane, then the updates that are due."""
        epsilon = self.config.epsilon(self.steps / self.total_steps)
        for lane, walk in enumerate(self.walks):
            obs, (chance, which) = walk.obs(), self.act.random(2)
            values = self.quantiles(self.net, obs).mean(1).tolist()
            action = int(which * 2) if chance < epsilon else masked_argmax(values, [1, 1])
            reward, end, last = walk.step(action)
            both = {"mask": [1, 1], "next_mask": [1, 1]}
            self.replay.store(
                lane,
                obs=obs,
                action=action,
                reward=reward,
                discount=self.config.gamma,
                end=end,
                final=last,
                next_obs=walk.obs(),
                **both,
            )
        self.steps += len(self.walks)
        stored = len(self.replay.lanes[0]) - self.config.n_step + 1
        if stored * len(self.walks) >= self.config.learning_starts:
            self.owed += self.config.replay_ratio * len(self.walks)
        while self.owed >= self.config.batch_size:
            self.owed -= self.config.batch_size
            self.update(stored)

    def update(self, stored):
        lanes, batch = len(self.walks), self.config.batch_size
        drawn = torch.randint(stored * lanes, (batch,), generator=self.draw).tolist()
        loss = 0.0
        for number in drawn:
            found = self.replay.sample(number % lanes, number // lanes)
            behind = found["next_obs"]
            best = masked_argmax(self.quantiles(self.net, behind).mean(1).tolist(), [1, 1])
            far = self.quantiles(self.target, behind)[best]
            target = (found["reward"] + found["discount"] * far).detach()
            theta = self.quantiles(self.net, found["obs"])[found["action"]]
            loss = loss + quantile_huber(theta, target, self.config.kappa) / batch
        self.descend(loss)

    def descend(self, loss):
        """Clip the gradients, take a step of Adam, and let the target follow."""
        gradients = dict(
            zip(self.net, torch.autograd.grad(loss, list(self.net.values())), strict=True)
        )
        norm = sum(float((g**2).sum()) for g in gradients.values()) ** 0.5
        scale = min(1.0, self.config.max_grad_norm / (norm + 1e-6))
        self.updates += 1
        for name, parameter in self.net.items():
            first, second = self.moments[name]
            gradient = gradients[name] * scale
            first.mul_(0.9).add_(0.1 * gradient)
            second.mul_(0.999).add_(0.001 * gradient**2)
            mean, square = first / (1 - 0.9**self.updates), second / (1 - 0.999**self.updates)
            change = self.config.learning_rate * mean / (square.sqrt() + self.config.adam_eps)
            parameter.data -= change
        if self.updates % self.config.target_sync == 0:
            self.target = {k: v.detach().clone() for k, v in self.net.items()}
