"""The sections that a run has with any trainer: checkpoints, evaluation and callbacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import model_validator

from training.run.names import is_agent
from training.run.options import Number, Options, Text, Truth, Whole, option, require

# Default sets in configs from before null was the default, whatever the game.
EARLIER_SETS = {
    "opponents": (
        *("random", "rule_easy", "rule_medium", "rule_hard", "rule_pi_hard", "heuristic"),
        "mixed",
    ),
    "curve_opponents": ("rule_hard",),
}


class CheckpointConfig(Options):
    """When checkpoints are written and how many stay.

    One that is due while the one before is still being written is left out, and tried again after
    the next iteration; deterministic runs wait instead.
    """

    SECTION: ClassVar[str] = "checkpoints."

    every: Whole = option(
        1_000_000,
        "decisions between checkpoints; one is also written at the end and when a run is stopped",
        ge=1,
    )
    keep: Whole = option(3, "newest checkpoints to keep", ge=1)
    keep_every: Whole | None = option(
        None,
        "decisions between checkpoints that stay for ever; null for none",
        "at least 1, or null for none",
        ge=1,
    )


class EvaluationConfig(Options):
    """Options of evaluations: during a training, at its end, and by ``training evaluate``."""

    SECTION: ClassVar[str] = "evaluation."

    during: Literal["off", "inline", "process"] | None = option(
        None,
        "whether, and where, the policy is evaluated while it is trained: between two iterations, "
        "or in a second process; null takes ``process`` if there are three physical cores, else "
        "``off`` or, with ``patience``, ``inline``",
    )
    every: Whole = option(
        500_000,
        "decisions between two evaluations during the training; one is also made at its end",
        ge=1,
    )
    patience: Whole | None = option(
        None,
        "evaluations in a row without progress after which the training ends: none of them has put "
        "the lower end of the interval that decides above that of all before; null continues to "
        "``total_steps``",
        "at least 1, or null for none",
        ge=1,
    )
    curve_games: Whole = option(
        200, "games played in matches: whole games of each evaluation for each opponent set", ge=1
    )
    curve_opponents: tuple[Text, ...] | None = option(
        None,
        "opponent sets of each evaluation; the first one decides which policy is best; null takes "
        "what ``opponents`` takes first or, in matches, ``rule_hard``",
        "one or more sets, or null for the default",
    )
    curve_episodes: Whole = option(
        100, "other games: episodes of each evaluation for each opponent set", ge=1
    )
    after_training: Truth = option(True, "evaluate as soon as the training is done")
    games: Whole = option(
        1000,
        "matches: whole games for each opponent set; as many as there are seats share a deal",
        ge=1,
    )
    episodes: Whole | None = option(
        None,
        "episodes that each policy plays, or rounds for the comparison at equal goals and deals "
        "(Worker and Ability runs); null takes 300, and 20,000",
        "at least 1, or null for the default",
        ge=1,
    )
    opponents: tuple[Text, ...] | None = option(
        None,
        "opponent sets: bots of the game, and where players meet paths of trained agents (with a "
        "``/``) and ``search:WHO,worlds=16`` for one that searches; null takes the opponent of the "
        "training and the bot that the game names first or, in matches, all sets",
        "names, or null for the default",
    )
    bootstrap: Whole = option(2000, "resamples of the 95 % intervals", ge=1)
    seed: Whole = option(
        0,
        "first evaluation seed; below 2**40, where no training seed lies",
        "from 0 to 2**40 - 1",
        ge=0,
        lt=2**40,
    )
    max_steps: Whole = option(30_000, "decisions after which an episode is given up", ge=1)
    film: Truth = option(
        False, "write a film of an episode, ``film.gif``, when the training is done"
    )
    replays: Whole = option(0, "best episodes of the agent to keep in ``replays/``", ge=0)

    @model_validator(mode="after")
    def _check(self) -> EvaluationConfig:
        seen = self.patience is None or self.during != "off"
        allowed = "null with evaluation.during='off': nothing shows then whether there is progress"
        require(seen, "evaluation.patience", self.patience, allowed)
        some = self.curve_opponents is None or len(self.curve_opponents) > 0
        allowed = "one or more sets, or null"
        require(some, "evaluation.curve_opponents", self.curve_opponents, allowed)
        return self

    def check_sets(self, known: Sequence[str]) -> None:
        """Refuse opponent sets that a game does not know.

        Raises
        ------
        ConfigError
        """
        allowed = "the path of a trained agent, or among " + ", ".join((*known, "search:WHO"))
        for name in ("opponents", "curve_opponents"):
            for each in getattr(self, name) or ():
                require(each in known or is_agent(each), f"evaluation.{name}", each, allowed)


class LiveMapConfig(Options):
    """Options of the live map; see ``training/games/gameboy/live_map.py``."""

    SECTION: ClassVar[str] = "live_map."

    every: Number = option(
        0.5,
        "seconds from one writing of its files to the next; more where that takes more than a "
        "two-hundredth of the time",
        "a number above 0",
        gt=0,
    )


class ShapingConfig(Options):
    """Options of reward shaping; see :mod:`training.callbacks.shaping`."""

    SECTION: ClassVar[str] = "shaping."

    phi: Text = option(..., "a potential that the game offers")
    kappa: Number = option(
        250.0, "what it is divided by; the default suits potentials that count frames", gt=0
    )
    gamma: Number | None = option(
        None, "discount of a primitive step: that of the learner, which null stands for"
    )


class SelfPlayConfig(Options):
    """Options of self-play: when snapshots are taken, and how they play."""

    SECTION: ClassVar[str] = "selfplay."

    start: Whole = option(2_000_000, "decisions before the first snapshot joins the pool", ge=0)
    every: Whole = option(
        200_000,
        "decisions from one snapshot to the next; they are taken between two iterations, at most "
        "one at a time",
        ge=1,
    )
    keep: Whole = option(
        10,
        "newest snapshots from which opponents are drawn, each as often as its rank by age says, "
        "the newest most often",
        ge=1,
    )
    bots: Number = option(
        0.25,
        "share of the lanes, rounded, that keep the bots of ``env_options`` and ``schedules``",
        "at least 0 and below 1",
        ge=0,
        lt=1,
    )

    latest: Number = option(
        0.0,
        "how often the player of another seat is the learner as it is when the iteration begins, "
        "and no older snapshot",
        ge=0,
        le=1,
    )
    average: Whole = option(
        0,
        "decisions over which the parameters are averaged, older ones with less weight, at first a "
        "quarter of those until now: the averaged policy is in checkpoints, and ``export "
        "--average`` gives it away. 0 for none",
        ge=0,
    )
    magnet: Number = option(
        0.0,
        "weight in the loss of the divergence from the averaged policy, the magnet (magnetic "
        "mirror descent): it damps the cycles of policies that answer each other",
        ge=0,
    )

    @model_validator(mode="after")
    def _check_magnet(self) -> SelfPlayConfig:
        allowed = "0 without selfplay.average: the averaged policy is the magnet"
        require(not self.magnet or self.average > 0, "selfplay.magnet", self.magnet, allowed)
        return self

    def due(self, steps: int) -> int:
        """Return the number of snapshots due after a number of decisions."""
        return 0 if steps < self.start else (steps - self.start) // self.every + 1


class DelayedAction(Options):
    """An action that is delayed: masked in the first ticks of an episode.

    A curriculum, not a rule: the environment knows nothing of it, and evaluation plays without it.
    """

    SECTION: ClassVar[str] = "mask_schedule."

    action: Whole = option(..., "the action", ge=0)
    ticks: Whole = option(..., "length of that part of an episode when the training begins", ge=1)
    anneal_steps: Whole | None = option(
        None,
        "decisions of training over which it shrinks linearly to nothing; null keeps it",
        "at least 1, or null for a curriculum that stays",
        ge=1,
    )

    def ticks_at(self, steps: int) -> float:
        """Return the length after this many decisions of training."""
        if self.anneal_steps is None:
            return float(self.ticks)
        return self.ticks * max(0.0, 1 - steps / self.anneal_steps)
