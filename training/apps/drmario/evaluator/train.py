"""Train an evaluator on games of a bot.

A bot's own games show few of the bottles that a player by the evaluator would leave, and of what an
evaluator has not seen it takes the best by mistake. So many games begin with placements by chance:
the evaluator learns how long the *bot* takes from there, and a placement that is best by that is at
least as good as the bot's own (policy improvement).

The network learns by quantile regression of frames, censored or bootstrapped. What is known of a
sample decides what it is trained toward:

===================  ==============================================================================
the game was         toward
===================  ==============================================================================
cleared              the frames it took
lost                 ``t_max``
given up             frames until then, and the quantiles of the last bottle (bootstrapped)
longer than t_max    ``t_max`` at least: quantiles above it are left alone
===================  ==============================================================================
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from training.apps.drmario.evaluator import samples
from training.apps.drmario.evaluator.features import UNKNOWN, count_features, mirror_features
from training.apps.drmario.evaluator.model import (
    UNIT,
    Evaluator,
    EvaluatorNet,
    Head,
    Shape,
    new_evaluator,
)
from training.apps.drmario.evaluator.samples import CENSORED, cap_frames, draw_games, summarise
from training.dqn.loss import quantile_huber
from training.nets.descent import descend
from training.run.options import Text, Whole, option

KAPPA = 50.0  # frames up to which the loss is quadratic
TARGETS = 8  # quantiles that are drawn as what a bootstrapped sample is trained toward
HIDDEN = 0.2  # share of the samples whose pill is hidden
REFRESH = 200  # steps after which the copy that bootstraps is a new one
EXPLORED = 0.7  # share of the games that chance may begin


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
    samples : ndarray of SAMPLE
    t_max : int
    """

    def __init__(self, samples: np.ndarray, t_max: int) -> None:
        self._samples, self._t_max = samples, t_max / UNIT
        self._frames = cap_frames(samples, t_max) / np.float32(UNIT)
        goes_on = samples["left"] > 0
        end = np.arange(len(samples)) + samples["left"]  # the last decision of each game
        self._behind = np.full(len(samples), -1)
        censored = (samples["outcome"] == CENSORED) & goes_on
        self._behind[censored] = end[censored]
        between = samples["frames"] - samples["frames"][self._behind]
        self._between = (between / UNIT).astype(np.float32)
        long = samples["frames"] >= t_max
        self._at_least = (samples["outcome"] == CENSORED) | long
        self._at_least &= self._behind < 0

    def of(
        self,
        chosen: np.ndarray,
        judge: Callable[[np.ndarray], np.ndarray],
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return :data:`TARGETS` of each, float32, and whether they are only bounds, bool (k,).

        Parameters
        ----------
        chosen : ndarray of int, shape (k,)
        judge : callable
            Returns quantiles in units of what is seen.
        rng : numpy Generator
        """
        target = np.repeat(self._frames[chosen][:, None], TARGETS, axis=1)
        behind = self._behind[chosen]
        far = np.flatnonzero(behind >= 0)
        if far.size:
            theta = judge(self._samples["seen"][behind[far]])
            drawn = rng.integers(theta.shape[1], size=(far.size, TARGETS))
            reached = self._between[chosen[far]][:, None] + np.take_along_axis(theta, drawn, 1)
            target[far] = np.clip(reached, 0.0, self._t_max)
        return target, self._at_least[chosen]


def fit(
    evaluator: Evaluator,
    samples: np.ndarray,
    steps: int,
    *,
    batch_size: int = 1024,
    learning_rate: float = 1e-3,
    seed: int = 0,
) -> float:
    """Train an evaluator, in place; return the mean loss of the last tenth.

    Parameters
    ----------
    evaluator : Evaluator
    samples : ndarray of SAMPLE
    steps, batch_size : int
    learning_rate : float
        At first; it falls to 0 like a cosine.
    seed : int
        Of the samples that are drawn.
    """
    net = evaluator.net
    optimizer = torch.optim.AdamW(net.parameters(), learning_rate, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    rng, head = np.random.default_rng(seed), evaluator.head
    targets = Targets(samples, head.t_max)

    def make_losses() -> Iterator[Tensor]:
        for step in range(steps):
            if step % REFRESH == 0:
                judge = _freeze(net)
            chosen = rng.integers(len(samples), size=batch_size)
            target, at_least = map(torch.from_numpy, targets.of(chosen, judge, rng))
            theta = net(_augment(samples["seen"][chosen], rng))
            lost = censored_loss(theta, target, at_least, KAPPA / UNIT)
            yield lost.mean() / head.quantiles

    losses = [*descend(net, optimizer, schedule, make_losses(), max_norm=1.0)]
    return float(np.mean(losses[-max(1, steps // 10) :]))


def _freeze(net: EvaluatorNet) -> Callable[[np.ndarray], np.ndarray]:
    """Return the quantiles of a copy of a network, in units, as a function of what is seen."""
    frozen = copy.deepcopy(net).eval().requires_grad_(False)

    @torch.inference_mode()
    def judge(seen: np.ndarray) -> np.ndarray:
        quantiles: np.ndarray = frozen(torch.from_numpy(count_features(seen))).numpy()
        return quantiles

    return judge


def _augment(seen: np.ndarray, rng: np.random.Generator) -> Tensor:
    """Augment situations: hide some pills, mirror half of the bottles, and return the features.

    Which way a bottle stands hardly changes how long it takes: only a kick goes to the left alone.
    """
    seen = seen.copy()
    seen["pill"][rng.random(len(seen)) < HIDDEN] = UNKNOWN
    numbers = count_features(seen)
    half = len(numbers) // 2
    numbers[:half] = mirror_features(numbers[:half])
    return torch.from_numpy(numbers)


# -- games and training ----------------------------------------------------------------------------


class TrainConfig(Shape):
    """How an evaluator is made: its games, its network, and how long it is trained.

    Parameters
    ----------
    levels, speeds, t_max, quantiles, hidden
        See :class:`training.apps.drmario.evaluator.model.Shape`.
    bot : str
    bot_games, bot_steps : int
        Games of the bot, of which chance begins most, and steps of training on them.
    most : int
        Decisions after which a game is given up.
    seed : int
    """

    bot: Text = "greedy"
    bot_games: Whole = Field(default=8000, ge=1, le=10**7)
    bot_steps: Whole = 1200
    most: Whole = Field(default=250, ge=1, le=10**7)
    seed: Whole = option(0, "Of all that is drawn.", "from 0 to 2**31 - 1", ge=0, lt=2**31)


def train(config: TrainConfig, log: Callable[[str], None] = lambda text: None) -> Evaluator:
    """Train an evaluator.

    Parameters
    ----------
    config : TrainConfig
    log : callable
        Gets a line now and then.
    """
    shape = {name: getattr(config, name) for name in Shape.names()}
    evaluator = new_evaluator(Head(**shape, about=config.to_dict()), config.seed)
    games = draw_games(config.bot_games, config.levels, config.speeds, config.seed)
    played = samples.play(config.bot, games, most=config.most, explore=EXPLORED, seed=config.seed)
    log(summarise(played))
    loss = fit(evaluator, played, config.bot_steps, seed=config.seed)
    log(f"loss {loss:.4f}")
    return evaluator
