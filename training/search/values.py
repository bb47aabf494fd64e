"""Value networks: predictions for rollouts that end early, so that they need not be played on.

The game defines the inputs of a network (``SearchRules.view``): a rollout is a world, so that it
may see all cards. It predicts what each seat still gains until the game's usual horizon.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from training.nets.descent import descend
from training.run import games
from training.run.options import Number, Plain, Text, Whole, require
from training.run.weights import NetworkFile, NetworkOptions
from training.search.rules import SearchRules, View

FORMAT = "fastenv-search-value"
FILE = NetworkFile(FORMAT, "value network", "search.value", "python -m training values")
AT_ONCE = 1 << 13  # rows that a network sees together


class Head(NetworkOptions):
    """The metadata of a value network.

    Parameters
    ----------
    env : str
        Id of the environment whose rows it was trained on.
    inputs, outputs : int
        Numbers of inputs, and of seats whose values it predicts.
    hidden : tuple of int
        Units of the hidden layers.
    unit : float
        Points, or other units, of an output of 1.
    about : mapping
        Details of its training and its accuracy.
    """

    SECTION: ClassVar[str] = "value."

    env: Text
    inputs: Whole = Field(ge=1, le=100_000)
    outputs: Whole = Field(ge=1, le=1000)
    hidden: tuple[Whole, ...] = (256, 128)
    unit: Number = 1.0
    about: Plain = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse impossible values."""
        possible = len(self.hidden) <= 8 and all(1 <= units <= 8192 for units in self.hidden)
        require(possible, "value.hidden", self.hidden, "at most 8 layers of 1 to 8192 units")
        require(self.unit > 0, "value.unit", self.unit, "above 0")
        return self

    def net(self) -> nn.Sequential:
        """Make a new network."""
        sizes, layers = (self.inputs, *self.hidden), list[nn.Module]()
        for before, after in pairwise(sizes):
            layers += [nn.Linear(before, after), nn.ReLU()]
        return nn.Sequential(*layers, nn.Linear(sizes[-1], self.outputs))


class ValueNetwork:
    """A value network.

    Parameters
    ----------
    head : Head
    net : Module
    """

    def __init__(self, head: Head, net: nn.Module) -> None:
        self.head, self.net = head, net
        net.eval().requires_grad_(False)

    def __call__(self, seen: np.ndarray) -> np.ndarray:
        """Predict what each seat still gains, float64 (k, outputs).

        Parameters
        ----------
        seen : ndarray of float32, shape (k, inputs)
        """
        gains = np.zeros((len(seen), self.head.outputs))
        with torch.inference_mode():
            for first in range(0, len(seen), AT_ONCE):
                part = slice(first, first + AT_ONCE)
                gains[part] = self.net(torch.from_numpy(seen[part])).numpy()
        return gains * self.head.unit

    def save(self, path: Path) -> None:
        """Write the network to a file."""
        FILE.save(path, self.head, self.net)


def load(path: Path) -> ValueNetwork:
    """Read a value network from a file.

    Raises
    ------
    ConfigError
        If it is none.
    ImportError
        Without safetensors.
    """
    head, net = FILE.load(path, Head)
    return ValueNetwork(head, net)


class Closing:
    """Adds predicted gains to the outcomes of rollouts that ended early.

    Parameters
    ----------
    value : callable
        A :class:`ValueNetwork`.
    view : callable
        Of the game; see :data:`training.search.rules.View`.
    """

    def __init__(self, value: ValueNetwork, view: View) -> None:
        self._value, self._view = value, view

    @classmethod
    def load(cls, path: str, game: Any) -> Closing:
        """Load a value network from a file for a game.

        Raises
        ------
        ConfigError
            If the file or the game has none, or they do not fit.
        """
        rules = games.find(game.env_id or "", "search") or SearchRules()
        allowed = "null: this game does not say what a value network sees"
        require(rules.view is not None, "search.value", path, allowed)
        assert rules.view is not None
        view, value = rules.view(game), load(Path(path))
        fits = value.head.outputs == game.num_seats
        fits &= value.head.inputs == view(np.zeros(0, game.spec.state_dtype))[1].shape[1]
        allowed = f"one of a game that is played as {game.env_id} here, not of {value.head.env}"
        require(fits, "search.value", path, allowed)
        return cls(value, view)

    def __call__(self, outcomes: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Add predicted gains to outcomes; return float64 (m, P).

        Parameters
        ----------
        outcomes : ndarray of float64, shape (m, P)
        rows : ndarray, shape (m,)
            With which rollouts ended.
        """
        running, seen, seats = self._view(rows)
        closed = outcomes.copy()
        if len(seen):
            closed[np.flatnonzero(running)[:, None], seats] += self._value(seen)
        return closed


def fit(
    value: ValueNetwork,
    seen: np.ndarray,
    gained: np.ndarray,
    *,
    variants: Sequence[np.ndarray] = (),
    epochs: int = 10,
    batch_size: int = 1024,
    learning_rate: float = 1e-3,
    seed: int = 0,
) -> None:
    """Train a network in place, by least squares.

    Parameters
    ----------
    value : ValueNetwork
    seen : ndarray, shape (n, inputs)
        Of any dtype; a batch of it is converted at a time.
    gained : ndarray, shape (n, outputs)
    variants : sequence of ndarray of int, shape (inputs,)
        Orders of the inputs in which they mean as much; each batch is shown in one of them.
    epochs, batch_size : int
    learning_rate : float
        At first; it falls to 0 like a cosine.
    seed : int
        Of the order of the samples, and of the variants.
    """
    net, rng = value.net, np.random.default_rng(seed)
    steps = epochs * (len(gained) // batch_size)
    optimizer = torch.optim.AdamW(net.parameters(), learning_rate, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(steps, 1))
    wanted = (gained / value.head.unit).astype(np.float32)

    def losses() -> Iterator[Tensor]:
        for _ in range(epochs):
            order = rng.permutation(len(gained))
            for first in range(0, len(order) - batch_size + 1, batch_size):
                chosen = order[first : first + batch_size]
                batch = seen[chosen]
                if variants:
                    batch = batch[:, variants[int(rng.integers(len(variants)))]]
                shown = torch.from_numpy(np.ascontiguousarray(batch, np.float32))
                error: Tensor = net(shown) - torch.from_numpy(wanted[chosen])
                yield error.square().mean()

    for _ in descend(net, optimizer, schedule, losses()):
        pass
