"""Values of actions: hidden layers, and a head that has quantiles of the return of each action.

::

    obs -> encoder -> hidden layers [-> cell] -> value of the state     (1, K) -+
                                              -> advantages of actions  (A, K) -+-> quantiles (A, K)

The quantiles of an action are those of the state and of its advantage, less the mean of all
advantages (Wang et al., Dueling Network Architectures, 2016); without a value of the state they are
what is called advantages here.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.nets.encoders import Encoder
from training.nets.fused import hidden_layers
from training.nets.initial import orthogonal
from training.nets.layout import ObsLayout
from training.nets.noisy import NoisyLinear
from training.nets.recurrent import CELLS, Cell, steps
from training.run.options.dqn import DQNConfig

HEAD_GAIN = 0.01  # nearly equal values at first


class QuantileHead(nn.Module):
    """The last layers; see the module.

    Parameters
    ----------
    size_in, num_actions : int
    config : DQNConfig
    """

    def __init__(self, size_in: int, num_actions: int, config: DQNConfig) -> None:
        super().__init__()
        layer = NoisyLinear if config.noisy else nn.Linear
        self._shape = (num_actions, config.num_quantiles)
        self.advantage = layer(size_in, num_actions * config.num_quantiles)
        self.state = layer(size_in, config.num_quantiles) if config.dueling else None

    def forward(self, x: Tensor) -> Tensor:
        """Return the quantiles, shape (n, A, K), of what hidden layers (n, size_in) found."""
        quantiles: Tensor = self.advantage(x).unflatten(1, self._shape)
        if self.state is None:
            return quantiles
        return self.state(x).unsqueeze(1) + quantiles - quantiles.mean(1, keepdim=True)

    def means(self, x: Tensor) -> Tensor:
        """Return the means of the quantiles, shape (n, A).

        The mean of linear outputs is the output of the mean weights, which are K times fewer.
        """
        if isinstance(self.advantage, NoisyLinear):
            means: Tensor = self(x).mean(2)
            return means
        weight = self.advantage.weight.unflatten(0, self._shape).mean(1)
        bias = self.advantage.bias.unflatten(0, self._shape).mean(1)
        advantage = F.linear(x, weight, bias)
        if self.state is None:
            return advantage
        value = F.linear(x, self.state.weight.mean(0, keepdim=True), self.state.bias.mean(0, True))
        return value + advantage - advantage.mean(1, keepdim=True)


class QNetwork(nn.Module):
    """Values of all actions.

    Parameters
    ----------
    layout : ObsLayout
    config : DQNConfig
    seed : int
        Of the initial parameters; the global generator is left alone.

    Raises
    ------
    ConfigError
        If the environment does not show what the network looks for.
    """

    def __init__(self, layout: ObsLayout, config: DQNConfig, seed: int = 0) -> None:
        super().__init__()
        layout.check_encoder(config.encoder, "dqn.encoder")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.encoder = Encoder(layout, config.encoder)
            widths = config.net_arch
            self.layers = hidden_layers(self.encoder.size_out, widths, config.activation)
            size = widths[-1]
            self.cell: Cell | None = None
            if config.recurrent != "none":
                self.cell = CELLS[config.recurrent](size, config.recurrent_size)
                size = self.cell.size_out
            self.head = QuantileHead(size, layout.num_actions, config)
            orthogonal(self)
            orthogonal(self.head, HEAD_GAIN)
        self.state_size = 0 if self.cell is None else self.cell.state_size

    @property
    def is_recurrent(self) -> bool:
        """Whether there is a state to carry."""
        return self.state_size > 0

    def forward(self, obs: Tensor) -> Tensor:
        """Return quantiles of the return of each action, (n, A, K), of a network without a cell."""
        quantiles: Tensor = self.head(self._features(obs))
        return quantiles

    def logits(self, obs: Tensor) -> Tensor:
        """Return the value of each action, shape (n, A), of a network without a cell."""
        return self.head.means(self._features(obs))

    def step(self, obs: Tensor, *, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return values of actions (n, A), the largest (n,), and the next state of n lanes.

        Parameters
        ----------
        obs : Tensor, shape (n, ...)
        state : Tensor of float32, shape (n, state_size)
            Without a cell there is nothing in it; the caller resets it where episodes end.
        """
        latent, behind = self.latent(obs, state=state)
        values = self.head.means(latent)
        return values, values.amax(1), behind

    def latent(self, obs: Tensor, *, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return what the head sees, shape (n, F), and the next state; see :meth:`step`."""
        x = self._features(obs)
        if self.cell is None:
            return x, state
        y, behind = self.cell(x, state=state)
        return y, behind.float()

    def unroll(
        self, obs: Tensor, *, state: Tensor, done: Tensor, burn_in: int = 0
    ) -> tuple[Tensor, Tensor]:
        """Return what the head sees in S sequences of T decisions, and the states behind each.

        Parameters
        ----------
        obs : Tensor, shape (T, S, ...)
        state : Tensor of float32, shape (S, state_size)
            Before the first decision.
        done : Tensor of bool, shape (T, S)
            Decisions that ended an episode: the next begins with a state of zero.
        burn_in : int
            First decisions through which no gradient flows back.

        Returns
        -------
        Tensor, shape (T, S, F)
        Tensor of float32, shape (T, S, state_size)
            Not yet forgotten where an episode ended.
        """
        assert self.cell is not None
        x = self._features(obs.flatten(0, 1)).unflatten(0, done.shape)
        found = list(steps(self.cell, x, state, done, burn_in))
        return torch.stack([y for y, _ in found]), torch.stack([behind for _, behind in found])

    def _features(self, obs: Tensor) -> Tensor:
        x: Tensor = self.layers(self.encoder(obs))
        return x

    def draw_noise(self, groups: int, generator: torch.Generator) -> None:
        """Draw the noise of noisy layers anew, for so many groups of rows; others have none."""
        for module in self.modules():
            if isinstance(module, NoisyLinear):
                module.draw(groups, generator)

    def silence(self) -> None:
        """Go without noise until the next is drawn."""
        for module in self.modules():
            if isinstance(module, NoisyLinear):
                module.silence()
