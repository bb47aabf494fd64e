"""Train an evaluator on games of a bot first, then of the look-ahead.

A bot's own games show few of the bottles that a player by the evaluator would leave, and of what an
evaluator has not seen it takes the best by mistake. So in each round the look-ahead begins games
that the bot ends: the evaluator learns how long the *bot* takes from wherever the look-ahead goes,
and a placement that is best by that is at least as good as the bot's own (policy improvement). In
own rounds, if there are any, the look-ahead plays to the end, and the evaluator learns how long
*it* takes; 768 such games alone were too few, and made a worse player of it.

The network learns by quantile regression of frames, censored and, on demand,
bootstrapped. What is known of a sample decides what it is trained toward:

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
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from training.apps.drmario.evaluator import samples
from training.apps.drmario.evaluator.features import UNKNOWN, count_features, mirror_features
from training.apps.drmario.evaluator.lookahead import LookAhead
from training.apps.drmario.evaluator.model import (
    UNIT,
    Evaluator,
    EvaluatorNet,
    Head,
    Shape,
    new_evaluator,
)
from training.apps.drmario.evaluator.samples import CENSORED, Games, cap_frames, summarise
from training.dqn.loss import quantile_huber
from training.nets.descent import descend
from training.players.bots import Bot
from training.players.player import MakePlayer
from training.run.options import Number, Options, Text, Whole, option

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

    steps: Whole = Field(default=500, ge=1, le=10**7)
    batch_size: Whole = Field(default=1024, ge=1, le=10**6)
    learning_rate: Number = Field(default=1e-3, gt=0, le=1)
    ahead: Whole = Field(default=0, ge=0, le=1000)
    kappa: Number = Field(default=50.0, gt=0, le=10**4)
    targets: Whole = Field(default=8, ge=1, le=1000)
    unknown: Number = Field(default=0.2, ge=0, lt=1)
    seed: Whole = 0


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
    config : FitConfig
    """

    def __init__(self, samples: np.ndarray, t_max: int, config: FitConfig) -> None:
        self._samples, self._config = samples, config
        self._t_max = t_max / UNIT
        self._frames = cap_frames(samples, t_max) / np.float32(UNIT)
        goes_on = samples["left"] > 0
        end = np.arange(len(samples)) + samples["left"]  # the last decision of each game
        self._behind = np.full(len(samples), -1)
        censored = (samples["outcome"] == CENSORED) & goes_on
        self._behind[censored] = end[censored]
        if config.ahead:
            far = samples["left"] >= config.ahead
            self._behind[far] = np.flatnonzero(far) + config.ahead
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
            theta = judge(self._samples["seen"][behind[far]])
            drawn = rng.integers(theta.shape[1], size=(far.size, count))
            reached = self._between[chosen[far]][:, None] + np.take_along_axis(theta, drawn, 1)
            target[far] = np.clip(reached, 0.0, self._t_max)
        return target, self._at_least[chosen]


def fit(evaluator: Evaluator, parts: Sequence[np.ndarray], config: FitConfig) -> float:
    """Train an evaluator, in place; return the mean loss of the last tenth.

    Parameters
    ----------
    evaluator : Evaluator
    parts : sequence of ndarray of SAMPLE
        Of which all are drawn from as often, whatever they hold.
    config : FitConfig
    """
    net, steps = evaluator.net, config.steps
    optimizer = torch.optim.AdamW(net.parameters(), config.learning_rate, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses = [*descend(net, optimizer, schedule, _losses(evaluator, parts, config), max_norm=1.0)]
    return float(np.mean(losses[-max(1, steps // 10) :]))


def _losses(
    evaluator: Evaluator, parts: Sequence[np.ndarray], config: FitConfig
) -> Iterator[Tensor]:
    """Yield the loss of a batch for each step."""
    rng = np.random.default_rng(config.seed)
    net, head = evaluator.net, evaluator.head
    samples = np.concatenate(parts)
    targets = Targets(samples, head.t_max, config)
    begin = np.cumsum([0, *map(len, parts)])
    for step in range(config.steps):
        if step % REFRESH == 0:
            judge = _freeze(net)
        part = rng.integers(len(parts), size=config.batch_size)
        chosen = rng.integers(begin[part], begin[part + 1])
        target, at_least = map(torch.from_numpy, targets.of(chosen, judge, rng))
        theta = net(_augment(samples["seen"][chosen], config.unknown, rng))
        lost = censored_loss(theta, target, at_least, config.kappa / UNIT)
        yield lost.mean() / head.quantiles


def _freeze(net: EvaluatorNet) -> Callable[[np.ndarray], np.ndarray]:
    """Return the quantiles of a copy of a network, in units, as a function of what is seen."""
    frozen = copy.deepcopy(net).eval().requires_grad_(False)

    @torch.inference_mode()
    def judge(seen: np.ndarray) -> np.ndarray:
        quantiles: np.ndarray = frozen(torch.from_numpy(count_features(seen))).numpy()
        return quantiles

    return judge


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


# -- rounds ----------------------------------------------------------------------------------------


class TrainConfig(Shape):
    """How an evaluator is made: the games of its rounds, its network and its training.

    Parameters
    ----------
    levels, speeds, t_max, quantiles, hidden
        See :class:`training.apps.drmario.evaluator.model.Shape`.
    bot : str
    bot_games, bot_steps : int
        Games of the bot that chance begins, and steps of training on them.
    rounds, games : int
        Of games that the look-ahead begins and the bot ends; all of the bot's games are kept.
    own_rounds, own_games, own_steps : int
        Of games of the look-ahead alone; only those of the last round are trained on.
    own_depth : {1, 2}
        Placements that it looks ahead in them.
    most : int
        Decisions after which a game is given up.
    seed : int
    fit : FitConfig
    """

    bot: Text = "greedy"
    bot_games: Whole = 8000
    bot_steps: Whole = 1200
    rounds: Whole = Field(default=0, ge=0, le=1000)
    games: Whole = 500
    own_rounds: Whole = Field(default=0, ge=0, le=1000)
    own_games: Whole = 768
    own_steps: Whole = 800
    own_depth: Whole = Field(default=1, ge=1, le=2)
    most: Whole = 250
    seed: Whole = option(0, "Of games and network.", "from 0 to 2**31 - 1", ge=0, lt=2**31)
    fit: FitConfig = Field(default_factory=FitConfig)

    def head(self) -> Head:
        """Make the head of the evaluator's file."""
        shape = {name: getattr(self, name) for name in Shape.names()}
        return Head(**shape, about=self.to_dict())

    def played(self, number: int) -> Games:
        """Return the games of a round; round 0 is begun by chance."""
        return Games(
            count=self._select(number, self.bot_games, self.games, self.own_games),
            levels=self.levels,
            speeds=self.speeds,
            seed=self.seed + 1_000_003 * number,
            explore=self._select(number, 0.7, 0.9, 0.5),
            by_chance=self._select(number, 1.0, 0.3, 0.3),
            most=self.most,
        )

    def trained(self, number: int) -> FitConfig:
        """Return the options with which a round is trained."""
        steps = self._select(number, self.bot_steps, self.fit.steps, self.own_steps)
        return self.fit.replace(steps=steps, seed=self.fit.seed + number)

    def _select(self, number: int, first: Any, begun: Any, own: Any) -> Any:
        """Select the value of a round: of the bot, begun by the look-ahead, or its own."""
        if number == 0:
            return first
        return begun if number <= self.rounds else own


def train(
    config: TrainConfig,
    log: Callable[[str], None] = lambda text: None,
    save: Callable[[Evaluator], None] = lambda evaluator: None,
) -> Evaluator:
    """Train an evaluator.

    Parameters
    ----------
    config : TrainConfig
    log : callable
        Gets a line now and then.
    save : callable
        Gets the evaluator after each round.
    """
    evaluator = new_evaluator(config.head(), config.seed)
    parts: list[np.ndarray] = []
    last = config.rounds + config.own_rounds
    for number in range(last + 1):
        own = number > config.rounds
        look = partial(LookAhead, evaluator, depth=config.own_depth if own else 1)
        player: MakePlayer = look if own else partial(Bot, config.bot)
        beginner = look if number > 0 and not own else None
        played = samples.play(player, config.played(number), beginner)
        parts = [played] if own else [*parts, played]
        log(f"round {number} of {last}: {summarise(played)}")
        loss = fit(evaluator, parts, config.trained(number))
        log(f"round {number} of {last}: loss {loss:.4f}")
        save(evaluator)
    return evaluator
