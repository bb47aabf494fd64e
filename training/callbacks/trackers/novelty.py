"""Bonuses for observations that are new: to a network that learns them, or to the episode.

Both look at what a fixed network of random weights makes of **normalised observations**, never at
what the policy makes of them, which changes while it learns: each number less its running mean over
its running deviation, at most five of them either way. Images are shrunk by four first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.callbacks.trackers.base import Array, StepReader, Tracker, check_room
from training.nets.encoders import SMALLEST_IMAGE, Encoder
from training.nets.layout import as_tensor, obs_layout
from training.run.checkpoint import CheckpointError
from training.run.engine import Engine
from training.run.options import require

LIMIT = 5.0  # deviations
HIDDEN = 256
SHRUNK = 4  # sides of the squares of an image whose mean is looked at


class Moments:
    """Running mean and variance of rows, by Chan's formula; float64.

    Parameters
    ----------
    size : int
    """

    def __init__(self, size: int) -> None:
        self.count = 0.0
        self.mean, self.var = torch.zeros(size).double(), torch.ones(size).double()

    def add(self, rows: Tensor) -> None:
        """Take in rows, shape (k, size)."""
        rows, k = rows.double(), len(rows)
        mean, var = rows.mean(0), rows.var(0, correction=0)
        total, apart = self.count + k, mean - self.mean
        old = self.var * self.count if self.count else torch.zeros_like(var)
        self.var = (old + var * k + apart**2 * (self.count * k / total)) / total
        self.mean = self.mean + apart * (k / total)
        self.count = total

    def state_dict(self) -> dict[str, Any]:
        """Return a copy of all."""
        return {"count": self.count, "mean": self.mean.clone(), "var": self.var.clone()}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        self.count = float(saved["count"])
        self.mean, self.var = saved["mean"].clone(), saved["var"].clone()


class Embedding:
    """A fixed random network over normalised observations.

    Parameters
    ----------
    engine : Engine
    size_out : int
    seed : int
        Of its weights.
    """

    def __init__(self, engine: Engine, size_out: int, seed: int) -> None:
        self._encoder = Encoder(obs_layout(engine), "flat")
        size = self.numbers(engine.obs).shape[1]
        self.moments, self.size_in = Moments(size), size
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.net = make_perceptron(size, size_out).requires_grad_(False)

    def numbers(self, obs: Array) -> Tensor:
        """Return observations (n, ...) as numbers, shape (n, size_in)."""
        encoder = self._encoder
        fields = encoder.split(as_tensor(np.ascontiguousarray(obs)))
        return torch.cat(
            [flatten_field(encoder.numbers(fields, name)) for name in encoder.places], 1
        )

    def normalised(self, obs: Array) -> Tensor:
        """Return the numbers in deviations from their means, and take them in."""
        numbers = self.numbers(obs)
        self.moments.add(numbers)
        apart = (numbers - self.moments.mean) / (self.moments.var + 1e-8).sqrt()
        return apart.clamp(-LIMIT, LIMIT).float()


class NoveltyTracker(Tracker):
    """What both have in common: an embedding, a weight that falls, and a state of tensors.

    Parameters
    ----------
    engine : Engine
    size : int
        Numbers of the embedding.
    weight : float
        Of the bonus.
    anneal_steps : int or None
        Decisions, over all lanes, in which the weight falls to 0; None: it stays.
    seed : int
    """

    def __init__(
        self, engine: Engine, size: int, weight: float, anneal_steps: int | None, seed: int
    ) -> None:
        super().__init__(engine)
        require(size >= 1, "size", size, "at least 1")
        check_room("size", size, size * HIDDEN * 4)
        require(weight >= 0, "weight", weight, "at least 0")
        falls = anneal_steps is None or anneal_steps >= 1
        require(falls, "anneal_steps", anneal_steps, "at least 1, or null for a constant weight")
        self._weight, self._anneal = weight, anneal_steps
        self._embedding = Embedding(engine, size, seed)
        self.steps = 0
        self.bonus = np.zeros(engine.num_envs)

    @property
    def weight(self) -> float:
        """Weight of the bonus of the next step."""
        left = 1.0 if self._anneal is None else max(0.0, 1.0 - self.steps / self._anneal)
        return self._weight * left

    def observe(self, engine: Engine, actions: npt.ArrayLike, obs: Array | None = None) -> None:
        """See :class:`Tracker`."""
        assert self.bonus is not None
        # A trainer may be acting: without gradients, and in less than single precision.
        with torch.inference_mode(False), torch.no_grad(), torch.autocast("cpu", enabled=False):
            seen = self._embedding.normalised(StepReader.after_step(engine, obs).obs())
            self.bonus[:] = self.weight * self.novelty(seen).double().numpy()
        self.steps += engine.num_envs

    def novelty(self, seen: Tensor) -> Tensor:
        """Return how new normalised observations (n, size_in) are, shape (n,), and learn them."""
        raise NotImplementedError

    def metrics(self) -> dict[str, float]:
        """Return the weight."""
        return {"weight": self.weight}

    def state_dict(self) -> dict[str, Any]:
        """See :class:`Tracker`."""
        return {"steps": self.steps, "moments": self._embedding.moments.state_dict(), **self.own()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See :class:`Tracker`."""
        try:
            if set(state) != {"steps", "moments", *self.own()}:
                raise KeyError
            if state["moments"]["mean"].shape != self._embedding.moments.mean.shape:
                raise KeyError
            self.load_own(state)
        except (KeyError, RuntimeError, ValueError, TypeError) as error:
            name = type(self).__name__
            raise CheckpointError(f"this is the state of another tracker than {name}") from error
        self._embedding.moments.load_state_dict(state["moments"])
        self.steps = int(state["steps"])

    def own(self) -> dict[str, Any]:
        """Return what else the state has."""
        raise NotImplementedError

    def load_own(self, state: Mapping[str, Any]) -> None:
        """Put it back."""
        raise NotImplementedError


class RandomDistillation(NoveltyTracker):
    """Error of a network that learns the embedding: large where little has been seen.

    Burda et al., Exploration by Random Network Distillation, 2019. The error, a mean of squares, is
    divided by the running deviation of its discounted sum in each lane, which goes on over ends of
    episodes. Until both deviations, that of the sum and those of the observations, are known from
    more than a few decisions, nothing is paid and nothing learnt: the first bonus would be hundreds
    of times those that follow.

    Parameters
    ----------
    engine : Engine
    weight, anneal_steps, size, seed : see :class:`NoveltyTracker`
    gamma : float
        Discount of that sum.
    share : float
        Share of the decisions that are learnt from.
    learning_rate : float
    warm_up : int
        Decisions of every lane before the first that is paid.
    """

    def __init__(
        self,
        engine: Engine,
        weight: float = 1.0,
        anneal_steps: int | None = None,
        size: int = 64,
        gamma: float = 0.99,
        share: float = 0.25,
        learning_rate: float = 1e-4,
        warm_up: int = 128,
        *,
        seed: int = 0,
    ) -> None:
        super().__init__(engine, size, weight, anneal_steps, seed)
        require(0 <= gamma < 1, "gamma", gamma, "from 0 to below 1")
        require(0 < share <= 1, "share", share, "above 0 and at most 1")
        require(learning_rate > 0, "learning_rate", learning_rate, "above 0")
        require(warm_up >= 0, "warm_up", warm_up, "at least 0")
        self._gamma, self._share = gamma, share
        self._first_paid = warm_up * engine.num_envs
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed + 1)
            self._predictor = make_perceptron(self._embedding.size_in, size)
        self._optimizer = torch.optim.Adam(self._predictor.parameters(), learning_rate)
        self._generator = torch.Generator().manual_seed(seed)
        self._returns = torch.zeros(engine.num_envs, 1).double()
        self._spread = Moments(1)
        self._error = 0.0

    def reset(self, done_idx: npt.ArrayLike, obs: Array | None = None) -> None:
        """Nothing: what is new is so for ever. See :class:`Tracker`."""

    def novelty(self, seen: Tensor) -> Tensor:
        """See :class:`NoveltyTracker`."""
        target = self._embedding.net(seen)
        pays = self.steps >= self._first_paid
        drawn = pays & (torch.rand(len(seen), generator=self._generator) < self._share)
        with torch.enable_grad():
            error = (self._predictor(seen) - target).square().mean(1)
            if drawn.any():
                self._optimizer.zero_grad(set_to_none=True)
                error[drawn].mean().backward()
                self._optimizer.step()
        error = error.detach()
        self._error = float(error.mean())
        self._returns = self._gamma * self._returns + error.double().unsqueeze(1)
        self._spread.add(self._returns)
        found: Tensor = error / (self._spread.var + 1e-8).sqrt()
        return found if pays else torch.zeros_like(found)

    def metrics(self) -> dict[str, float]:
        """Return the weight, and the mean error of the last step."""
        return {**super().metrics(), "error": self._error}

    def own(self) -> dict[str, Any]:
        """See :class:`NoveltyTracker`."""
        parameters = {k: v.clone() for k, v in self._predictor.state_dict().items()}
        steps = self._optimizer.state_dict()["state"]
        return {
            "predictor": parameters,
            "optimizer": {k: {n: x.clone() for n, x in s.items()} for k, s in steps.items()},
            "generator": self._generator.get_state(),
            "returns": self._returns.clone(),
            "spread": self._spread.state_dict(),
            "error": self._error,
        }

    def load_own(self, state: Mapping[str, Any]) -> None:
        """See :class:`NoveltyTracker`."""
        self._predictor.load_state_dict(state["predictor"])
        groups = self._optimizer.state_dict()["param_groups"]
        self._optimizer.load_state_dict({"state": state["optimizer"], "param_groups": groups})
        self._generator.set_state(state["generator"])
        self._returns.copy_(state["returns"])
        self._spread.load_state_dict(state["spread"])
        self._error = float(state["error"])


class EpisodicMemory(NoveltyTracker):
    """Distance of the embedding to all that the episode remembers.

    What is ``threshold`` or more away from them is remembered too; a full memory forgets the
    oldest. The bonus is ``min(2, distance / threshold)``, and 2 at the first decision.

    Parameters
    ----------
    engine : Engine
    weight, anneal_steps, size, seed : see :class:`NoveltyTracker`
    threshold : float
    slots : int
        Embeddings that a lane remembers.
    """

    def __init__(
        self,
        engine: Engine,
        weight: float = 1.0,
        anneal_steps: int | None = None,
        size: int = 32,
        threshold: float = 1.0,
        slots: int = 256,
        *,
        seed: int = 0,
    ) -> None:
        super().__init__(engine, size, weight, anneal_steps, seed)
        require(threshold > 0, "threshold", threshold, "above 0")
        require(slots >= 1, "slots", slots, "at least 1")
        check_room("slots", slots, engine.num_envs * slots * size * 4)
        self._threshold = threshold
        self._memory = torch.zeros(engine.num_envs, slots, size)
        self._count = torch.zeros(engine.num_envs, dtype=torch.int64)
        megabytes = self._memory.nbytes / 1e6
        self.note = f"{engine.num_envs} x {slots} x {size} numbers, {megabytes:,.1f} MB"

    def reset(self, done_idx: npt.ArrayLike, obs: Array | None = None) -> None:
        """See :class:`Tracker`."""
        self._count[torch.as_tensor(np.asarray(done_idx))] = 0

    def novelty(self, seen: Tensor) -> Tensor:
        """See :class:`NoveltyTracker`."""
        found = self._embedding.net(seen)
        slots = self._memory.shape[1]
        distance = torch.cdist(found.unsqueeze(1), self._memory).squeeze(1)
        there = torch.arange(slots) < self._count.unsqueeze(1)
        nearest = distance.masked_fill(~there, torch.inf).amin(1)
        new = (nearest >= self._threshold).nonzero().squeeze(1)
        self._memory[new, self._count[new] % slots] = found[new]
        self._count[new] += 1
        return (nearest / self._threshold).clamp(max=2.0)

    def metrics(self) -> dict[str, float]:
        """Return the weight, and how much the lanes remember on average."""
        held = self._count.clamp(max=self._memory.shape[1]).double().mean()
        return {**super().metrics(), "remembered": float(held)}

    def own(self) -> dict[str, Any]:
        """See :class:`NoveltyTracker`."""
        return {"memory": self._memory.clone(), "count": self._count.clone()}

    def load_own(self, state: Mapping[str, Any]) -> None:
        """See :class:`NoveltyTracker`."""
        if state["memory"].shape != self._memory.shape:
            raise ValueError
        self._memory.copy_(state["memory"])
        self._count.copy_(state["count"])


def make_perceptron(size_in: int, size_out: int) -> nn.Sequential:
    """Return two hidden layers and a last one."""
    layers: list[nn.Module] = []
    for width in (HIDDEN, HIDDEN):
        layers += [nn.Linear(size_in, width), nn.ReLU()]
        size_in = width
    return nn.Sequential(*layers, nn.Linear(size_in, size_out))


def flatten_field(numbers: Tensor) -> Tensor:
    """Return a field (n, ...) flattened; of an image the means of squares."""
    if numbers.ndim >= 3 and min(numbers.shape[-2:]) >= SMALLEST_IMAGE:
        numbers = F.avg_pool2d(numbers, SHRUNK)
    return numbers.flatten(1)
