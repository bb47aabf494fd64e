"""Train an evaluator on games of a bot first, then of the look-ahead.

A bot's own games show few of the bottles that a player by the evaluator would leave, and of what an
evaluator has not seen it takes the best by mistake. So in each round the look-ahead begins games
that the bot ends: the evaluator learns how long the *bot* takes from wherever the look-ahead goes,
and a placement that is best by that is at least as good as the bot's own (policy improvement). In
own rounds, if there are any, the look-ahead plays to the end, and the evaluator learns how long
*it* takes; 768 such games alone were too few, and made a worse player of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

from pydantic import Field, model_validator

from training.apps.drmario.evaluator import fit, model, samples
from training.apps.drmario.evaluator.fit import FitConfig
from training.apps.drmario.evaluator.lookahead import LookAhead
from training.apps.drmario.evaluator.model import Evaluator, Head
from training.apps.drmario.evaluator.samples import Games, Samples
from training.players.bots import Bot
from training.players.player import MakePlayer
from training.run.options import Options, Text, Whole, require


class TrainConfig(Options):
    """How an evaluator is made: the games of its rounds, its network and its training.

    Parameters
    ----------
    levels, speeds, t_max, quantiles, hidden
        See :class:`training.apps.drmario.evaluator.model.Head`.
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

    levels: tuple[Whole, ...] = (0, 10)
    speeds: tuple[Text, ...] = ("medium",)
    t_max: Whole = 24_000
    quantiles: Whole = 51
    hidden: Whole = 96
    bot: Text = "greedy"
    bot_games: Whole = 8000
    bot_steps: Whole = 1200
    rounds: Whole = 0
    games: Whole = 500
    own_rounds: Whole = 0
    own_games: Whole = 768
    own_steps: Whole = 800
    own_depth: Whole = 1
    most: Whole = 250
    seed: Whole = 0
    fit: FitConfig = Field(default_factory=FitConfig)

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse impossible values."""
        self.head()
        for name in ("rounds", "own_rounds"):
            value = getattr(self, name)
            require(0 <= value <= 1000, name, value, "from 0 to 1000")
        require(self.own_depth in (1, 2), "own_depth", self.own_depth, "1 or 2")
        require(0 <= self.seed < 2**31, "seed", self.seed, "from 0 to 2**31 - 1")
        return self

    def head(self) -> Head:
        """Make the head of the evaluator's file."""
        names = ("levels", "speeds", "t_max", "quantiles", "hidden")
        return Head(**{name: getattr(self, name) for name in names}, about=self.to_dict())

    def played(self, number: int) -> Games:
        """Return the games of a round; round 0 is begun by chance."""
        return Games(
            self._select(number, self.bot_games, self.games, self.own_games),
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
    evaluator = model.new_evaluator(config.head(), config.seed)
    parts: list[Samples] = []
    last = config.rounds + config.own_rounds
    for number in range(last + 1):
        own = number > config.rounds
        look = partial(LookAhead, evaluator, depth=config.own_depth if own else 1)
        player: MakePlayer = look if own else partial(Bot, config.bot)
        beginner = look if number > 0 and not own else None
        played = samples.play(player, config.played(number), beginner)
        parts = [played] if own else [*parts, played]
        log(f"round {number} of {last}: {played.summary()}")
        loss = fit.fit(evaluator, parts, config.trained(number))
        log(f"round {number} of {last}: loss {loss:.4f}")
        save(evaluator)
    return evaluator
