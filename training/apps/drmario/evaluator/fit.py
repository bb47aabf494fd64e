"""Train an evaluator: quantile regression of frames, censored and, on demand, bootstrapped.

What is known of a sample decides what it is trained toward:

===================  ==============================================================================
the game was         toward
===================  ==============================================================================
cleared              the frames it took
lost                 ``t_max``
given up             frames until then, and the quantiles of the last bottle (bootstrapped)
longer than t_max    ``t_max`` at least: quantiles above it are left alone
===================  ==============================================================================

With ``ahead`` above 0 all samples are bootstrapped: the frames of so many decisions, and what the
network says of the bottle behind them, if the game has not ended before.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import ClassVar, Self

import numpy as np
import torch
from pydantic import model_validator
from torch import Tensor

from training.apps.drmario.evaluator.counts import count_features, mirror_features
from training.apps.drmario.evaluator.model import Evaluator
from training.apps.drmario.evaluator.net import UNIT, EvaluatorNet
from training.apps.drmario.evaluator.samples import CENSORED, CLEARED, Samples
from training.apps.drmario.evaluator.situations import UNKNOWN
from training.dqn.loss import quantile_huber
from training.run.options import Number, Options, Whole, require

REFRESH = 200  # steps after which the copy that bootstraps is a new one


class FitConfig(Options):
    """How an evaluator is trained.

    Parameters
    ----------
    steps : int
    batch_size : int
    learning_rate : float
        At first; it falls to 0 like a cosine.
    ahead : int
        Decisions behind which a sample is bootstrapped; 0 waits for the end of the game.
    kappa : float
        Frames up to which the loss is quadratic.
    targets : int
        Of a bootstrapped sample, quantiles that are drawn as what it is trained toward.
    unknown : float
        Share of the samples whose pill is hidden.
    seed : int
    """

    SECTION: ClassVar[str] = "fit."

    steps: Whole = 500
    batch_size: Whole = 1024
    learning_rate: Number = 1e-3
    ahead: Whole = 0
    kappa: Number = 50.0
    targets: Whole = 8
    unknown: Number = 0.2
    seed: Whole = 0

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse impossible values."""
        require(1 <= self.steps <= 10**7, "steps", self.steps, "at least 1")
        require(1 <= self.batch_size <= 10**6, "batch_size", self.batch_size, "at least 1")
        require(0 < self.learning_rate <= 1, "learning_rate", self.learning_rate, "above 0")
        require(0 <= self.ahead <= 1000, "ahead", self.ahead, "from 0 to 1000")
        require(0 < self.kappa <= 10**4, "kappa", self.kappa, "above 0")
        require(1 <= self.targets <= 1000, "targets", self.targets, "from 1 to 1000")
        require(0 <= self.unknown < 1, "unknown", self.unknown, "from 0 to below 1")
        return self


def censored_loss(theta: Tensor, target: Tensor, at_least: Tensor, kappa: float) -> Tensor:
    """Return the loss of each sample, shape (k,).

    Parameters
    ----------
    theta : Tensor, shape (k, K)
        Quantiles that are learnt.
    target : Tensor, shape (k, J)
        A sample of the outcomes; all the same where ``at_least``.
    at_least : Tensor of bool, shape (k,)
        The outcome is only known not to be smaller: quantiles above it have no loss.
    kappa : float
    """
    short = torch.minimum(theta, target[:, :1])
    return quantile_huber(torch.where(at_least[:, None], short, theta), target, kappa)


class Targets:
    """The targets of samples.

    Parameters
    ----------
    samples : Samples
    t_max : int
    config : FitConfig
    """

    def __init__(self, samples: Samples, t_max: int, config: FitConfig) -> None:
        self._samples, self._config = samples, config
        self._t_max = t_max / UNIT
        self._frames = samples.capped(t_max) / np.float32(UNIT)
        goes_on = samples.left > 0
        end = np.arange(len(samples)) + samples.left  # the last decision of each game
        self._behind = np.full(len(samples), -1)
        censored = (samples.outcome == CENSORED) & goes_on
        self._behind[censored] = end[censored]
        if config.ahead:
            far = samples.left >= config.ahead
            self._behind[far] = np.flatnonzero(far) + config.ahead
        between = samples.frames - samples.frames[self._behind]
        self._between = (between / UNIT).astype(np.float32)
        long = samples.frames >= t_max
        self._at_least = ((samples.outcome != CLEARED) & (samples.outcome == CENSORED)) | long
        self._at_least &= self._behind < 0

    def of(
        self,
        chosen: np.ndarray,
        judge: Callable[[np.ndarray], np.ndarray],
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return targets, float32 (k, J), and whether they are only lower bounds, bool (k,).

        Parameters
        ----------
        chosen : ndarray of int, shape (k,)
        judge : callable
            Returns quantiles in units of what is seen.
        rng : numpy Generator
        """
        count = self._config.targets
        target = np.repeat(self._frames[chosen][:, None], count, axis=1)
        behind = self._behind[chosen]
        far = np.flatnonzero(behind >= 0)
        if far.size:
            theta = judge(self._samples.seen[behind[far]])
            drawn = rng.integers(theta.shape[1], size=(far.size, count))
            reached = self._between[chosen[far]][:, None] + np.take_along_axis(theta, drawn, 1)
            target[far] = np.clip(reached, 0.0, self._t_max)
        return target, self._at_least[chosen]


def fit(evaluator: Evaluator, parts: Sequence[Samples], config: FitConfig) -> float:
    """Train an evaluator, in place; return the mean loss of the last tenth.

    Parameters
    ----------
    evaluator : Evaluator
    parts : sequence of Samples
        Of which all are drawn from as often, whatever they hold.
    config : FitConfig
    """
    rng = np.random.default_rng(config.seed)
    net, head = evaluator.net, evaluator.head
    net.train().requires_grad_(True)
    optimizer = torch.optim.AdamW(net.parameters(), config.learning_rate, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, config.steps)
    samples = Samples.joined(parts)
    targets, judge = Targets(samples, head.t_max, config), _Judge(net)
    begin = np.cumsum([0, *map(len, parts)])
    losses = np.zeros(config.steps)
    for step in range(config.steps):
        if step % REFRESH == 0:
            judge = _Judge(net)
        part = rng.integers(len(parts), size=config.batch_size)
        chosen = rng.integers(begin[part], begin[part + 1])
        target, at_least = map(torch.from_numpy, targets.of(chosen, judge, rng))
        theta = net(_augment(samples.seen[chosen], config.unknown, rng))
        lost = censored_loss(theta, target, at_least, config.kappa / UNIT)
        loss = lost.mean() / head.quantiles
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses[step] = loss.item()
    net.eval().requires_grad_(False)
    return float(losses[-max(1, config.steps // 10) :].mean())


class _Judge:
    """A frozen copy of a network."""

    def __init__(self, net: EvaluatorNet) -> None:
        self._net = copy.deepcopy(net).eval().requires_grad_(False)

    def __call__(self, seen: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            quantiles: np.ndarray = self._net(torch.from_numpy(count_features(seen))).numpy()
        return quantiles


def _augment(seen: np.ndarray, unknown: float, rng: np.random.Generator) -> Tensor:
    """Augment situations: hide some pills, mirror half of the bottles, and return the features.

    Which way a bottle stands hardly changes how long it takes: only a kick goes to the left alone.
    """
    seen = seen.copy()
    seen["pill"][rng.random(len(seen)) < unknown] = UNKNOWN
    numbers = count_features(seen)
    half = len(numbers) // 2
    numbers[:half] = mirror_features(numbers[:half])
    return torch.from_numpy(numbers)
