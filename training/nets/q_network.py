"""Values of actions: hidden layers, and a head that has quantiles of the return of each action.

::

    obs -> encoder -> hidden layers [-> cell] -> value of the state     (1, K) -+
                                              -> advantages of actions  (A, K) -+-> quantiles (A, K)

The quantiles of an action are those of the state and of its advantage, less the mean of all
advantages (Wang et al., Dueling Network Architectures, 2016); without a value of the state they are
what is called advantages here.

A stack of frames is what an engine with a longer memory would show, put together from observations
of one frame each; before an episode's first frame it shows that frame.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.nets.encoders import make_encoder
from training.nets.layers import VALUE_GAIN, hidden_layers, orthogonal
from training.nets.layout import ObsLayout
from training.nets.options import QNetworkConfig
from training.nets.precision import Compiled
from training.nets.recurrent import CELLS, Cell, steps
from training.run.options import require

SIGMA = 0.5  # deviation of the noise at first, over the root of the inputs


class QuantileHead(nn.Module):
    """The last layers; see the module.

    Parameters
    ----------
    size_in, num_actions : int
    config : QNetworkConfig
    """

    def __init__(self, size_in: int, num_actions: int, config: QNetworkConfig) -> None:
        super().__init__()
        self.num_actions, self.num_quantiles = num_actions, config.num_quantiles
        linear = NoisyLinear if config.noisy else nn.Linear
        self.advantage = linear(size_in, num_actions * config.num_quantiles)
        self.state = linear(size_in, config.num_quantiles) if config.dueling else None

    def forward(self, x: Tensor) -> Tensor:
        """Compute the quantiles, shape (n, A, K), from latents (n, size_in)."""
        shape = (self.num_actions, self.num_quantiles)
        quantiles: Tensor = self.advantage(x).unflatten(1, shape)
        if self.state is None:
            return quantiles
        return self.state(x).unsqueeze(1) + quantiles - quantiles.mean(1, keepdim=True)

    def means(self, x: Tensor) -> Tensor:
        """Compute the means of the quantiles, shape (n, A).

        The mean of linear outputs is the output of the mean weights, which are K times fewer.
        """
        if type(self.advantage) is nn.Linear:
            return F.linear(x, *self.mean_layer())
        means: Tensor = self(x).mean(2)
        return means

    def mean_layer(self) -> tuple[Tensor, Tensor]:
        """Compute weights (A, size_in) and bias (A,) of the means, of a head of linear layers."""
        return self._average("weight"), self._average("bias")

    def _average(self, name: str) -> Tensor:
        shape = (self.num_actions, self.num_quantiles)
        values: Tensor = getattr(self.advantage, name).unflatten(0, shape).mean(1)
        if self.state is None:
            return values
        return getattr(self.state, name).mean(0) + values - values.mean(0)


class NoisyLinear(nn.Module):
    """A linear layer with learnt noise on its weights: Fortunato et al., Noisy Networks, 2018.

    The noise of a weight is a product of one number of its input and one of its output, so a row of
    a batch can have a noise of its own at the price of a second matrix product::

        y = W x + b + (S (x * e_in)) * e_out + s * e_out

    There is noise from :meth:`draw` on.

    Parameters
    ----------
    size_in, size_out : int
    """

    def __init__(self, size_in: int, size_out: int) -> None:
        super().__init__()
        bound = size_in**-0.5
        self.weight = nn.Parameter(torch.empty(size_out, size_in).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(size_out).uniform_(-bound, bound))
        self.weight_sigma = nn.Parameter(torch.full((size_out, size_in), SIGMA * bound))
        self.bias_sigma = nn.Parameter(torch.full((size_out,), SIGMA * bound))
        self._noise: tuple[Tensor, Tensor] | None = None

    def draw(self, groups: int, generator: torch.Generator) -> None:
        """Draw a noise for each of so many groups of rows; it stays until the next one."""
        size_out, size_in = self.weight.shape
        drawn = torch.empty(groups, size_in + size_out, device=self.weight.device)
        drawn.normal_(generator=generator)
        drawn = drawn.sign() * drawn.abs().sqrt()
        self._noise = drawn[:, :size_in], drawn[:, size_in:]

    def silence(self) -> None:
        """Switch the noise off."""
        self._noise = None

    def forward(self, x: Tensor) -> Tensor:
        """Compute the outputs of rows (n, size_in); equal parts of them belong to the groups."""
        y = F.linear(x, self.weight, self.bias)
        if self._noise is None:
            return y
        noise_in, noise_out = self._noise
        if len(noise_in) > 1:
            group = torch.arange(len(x), device=x.device) * len(noise_in) // len(x)
            noise_in, noise_out = noise_in[group], noise_out[group]
        return y + (F.linear(x * noise_in, self.weight_sigma) + self.bias_sigma) * noise_out


class QNetwork(nn.Module):
    """Values of all actions.

    Parameters
    ----------
    layout : ObsLayout
    config : QNetworkConfig
    seed : int
        Of the initial parameters; the global generator is left alone.

    Raises
    ------
    ConfigError
        If the environment does not show what the network looks for.
    """

    def __init__(self, layout: ObsLayout, config: QNetworkConfig, seed: int = 0) -> None:
        super().__init__()
        layout.check_encoder(config.encoder, "dqn.encoder")
        self.stack = FrameStack(layout, config.stack_k) if config.stack_k > 1 else None
        if self.stack is not None:
            layout = self.stack.layout
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            convs = config.convs, "dqn.convs", config.board
            self.encoder = make_encoder(layout, config.encoder, *convs)
            widths = config.net_arch
            self.layers = hidden_layers(self.encoder.size_out, widths, config.activation)
            size = widths[-1] if widths else self.encoder.size_out
            self.cell: Cell | None = None
            if config.recurrent != "none":
                self.cell = CELLS[config.recurrent](size, config.recurrent_size)
                size = self.cell.size_out
            self.head = QuantileHead(size, layout.num_actions, config)
            orthogonal(self)
            orthogonal(self.head, VALUE_GAIN)
        # Found once: noise is drawn for every decision.
        self._noisy = [m for m in self.modules() if isinstance(m, NoisyLinear)]
        self.state_size = 0 if self.cell is None else self.cell.state_size

    @property
    def is_recurrent(self) -> bool:
        """Whether there is a state to carry."""
        return self.state_size > 0

    def forward(self, obs: Tensor) -> Tensor:
        """Compute quantiles of the return of each action, (n, A, K), without a cell."""
        quantiles: Tensor = self.head(self._features(obs))
        return quantiles

    def logits(self, obs: Tensor) -> Tensor:
        """Compute the value of each action, shape (n, A), without a cell."""
        return self.head.means(self._features(obs))

    def step(self, obs: Tensor, *, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Compute values of actions (n, A), the largest (n,), and the next state of n lanes.

        Parameters
        ----------
        obs : Tensor, shape (n, ...)
        state : Tensor of float32, shape (n, state_size)
            Without a cell there is nothing in it; the caller resets it where episodes end.
        """
        latent, behind = self.latent(obs, state=state)
        values = self.head.means(latent)
        return values, values.amax(1), behind

    def latent(self, obs: Tensor, *, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Compute the head's input, shape (n, F), and the next state; see :meth:`step`."""
        x = self._features(obs)
        if self.cell is None or state is None:
            return x, x.new_zeros(len(x), 0)
        y, behind = self.cell(x, state=state)
        return y, behind.float()

    def unroll(
        self, obs: Tensor, *, state: Tensor, done: Tensor, burn_in: int = 0
    ) -> tuple[Tensor, Tensor]:
        """Compute the head's input in S sequences of T decisions, and the states behind each.

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
        outputs = list(steps(self.cell, x, state, done, burn_in))
        return torch.stack([y for y, _ in outputs]), torch.stack([behind for _, behind in outputs])

    def _features(self, obs: Tensor) -> Tensor:
        x: Tensor = self.layers(self.encoder(obs))
        return x

    def compile_parts(self, mode: str) -> None:
        """Let ``torch.compile`` build encoder, hidden layers, cell and head, at their first calls.

        Parameters
        ----------
        mode : {"default"}
        """
        parts: list[tuple[nn.Module, str]] = [(self, "_features"), (self.head, "forward")]
        if self.cell is not None:
            parts.append((self.cell, "forward"))
        for owner, name in parts:
            setattr(owner, name, Compiled(getattr(owner, name), mode))

    def draw_noise(self, groups: int, generator: torch.Generator) -> None:
        """Draw the noise of noisy layers anew, for so many groups of rows; others have none."""
        for module in self._noisy:
            module.draw(groups, generator)

    def silence(self) -> None:
        """Switch the noise off until the next is drawn."""
        for module in self._noisy:
            module.silence()


# -- frames ----------------------------------------------------------------------------------------


class FrameStack:
    """Stacks single frames.

    Parameters
    ----------
    layout : ObsLayout
        Of observations that show one frame, with channels in the first axis.
    count : int
        Frames of a stack, the newest last.

    Attributes
    ----------
    layout : ObsLayout
        Of observations that show stacks.

    Raises
    ------
    ConfigError
        If there are several images, or none.
    """

    def __init__(self, layout: ObsLayout, count: int) -> None:
        images = [f for f in layout.fields if f.is_image and len(f.shape) == 3]
        one = len(images) == 1 and not images[0].channels_last
        allowed = "1: this game shows no single image with its channels in front"
        require(one, "dqn.stack_k", count, allowed)
        (image,) = images
        self.count, self._record = count, layout.record_size > 0
        self._slice = slice(image.offset, image.offset + image.nbytes)
        more = (count - 1) * image.nbytes
        largest = max(np.dtype(f.dtype).itemsize for f in layout.fields)
        require(more % largest == 0 or not self._record, "dqn.stack_k", count, allowed)
        fields = tuple(
            replace(f, shape=(count * f.shape[0], *f.shape[1:]), kind=f.kind or "planes")
            if f is image
            else replace(f, offset=f.offset + more * (f.offset > image.offset))
            for f in layout.fields
        )
        self.layout = replace(
            layout,
            fields=fields,
            obs_size=layout.obs_size + (count - 1) * image.size,
            record_size=layout.record_size + more * self._record,
        )

    def __call__(self, frames: Tensor) -> Tensor:
        """Stack observations (n, count, ...), the newest last, to shape (n, ...)."""
        if not self._record:
            return frames.flatten(1, 2)
        newest, here = frames[:, -1], self._slice
        parts = (newest[:, : here.start], frames[:, :, here].flatten(1), newest[:, here.stop :])
        return torch.cat(parts, 1)


class Stacking(nn.Module):
    """A network over stacks, to play with on single frames: its state holds those before.

    ::

        state    how many frames are held | their numbers, the newest last | state of the network

    Parameters
    ----------
    net : nn.Module
        With ``logits`` or, if it has a state, ``step``.
    stack : FrameStack
    size : int
        Numbers, or bytes, of an observation.
    """

    def __init__(self, net: Any, stack: FrameStack, size: int) -> None:
        super().__init__()
        self.net, self._stack, self._size = net, stack, size
        self._own = 1 + (stack.count - 1) * size
        self.state_size = self._own + net.state_size

    def step(self, obs: Tensor, *, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Compute scores of actions (n, A), values (n,) and the next state."""
        count, held = self._stack.count, state[:, :1]
        shape = (len(obs), count - 1, *obs.shape[1:])
        before = state[:, 1 : self._own].view(shape).to(obs.dtype)
        newer = obs
        for k in range(count - 2, -1, -1):  # the oldest that is there stands for those before it
            there = (held > count - 2 - k).view(-1, *(1,) * (obs.ndim - 1))
            newer = before[:, k] = torch.where(there, before[:, k], newer)
        frames = torch.cat((before, obs.unsqueeze(1)), 1)
        stacked = self._stack(frames)
        if self.net.state_size:
            scores, value, after = self.net.step(stacked, state=state[:, self._own :])
        else:
            scores, after = self.net.logits(stacked), state[:, self._own :]
            value = scores.amax(1)
        kept = frames[:, 1:].reshape(len(obs), -1).float()
        held = (held + 1).clamp(max=count - 1)
        return scores, value, torch.cat((held, kept, after.float()), 1)
