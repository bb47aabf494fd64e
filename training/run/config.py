"""The options of a run that all trainers share; each trainer's package adds its own to them.

A trainer derives its options from :class:`RunConfig` and registers them
(:mod:`training.composition`); ``trainer`` tells which of them a mapping of options is of.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self

from pydantic import field_validator, model_validator

from fastenv.backend import named
from training.run import games, machine, registry
from training.run.options import (
    Number,
    Options,
    Plain,
    Schedule,
    Text,
    Truth,
    Whole,
    format_values,
    hash_json,
    option,
    require,
)
from training.run.removed import drop_other_trainers, drop_removed
from training.run.seating import is_agent

BACKENDS = ("auto", "reference", "numba", "cython", "fast")
_FLAGS = ("use_numba", "use_cython")
ROWS = 256  # samples of a minibatch that a thread of the network is worth having for
MOST_SEARCHING = 8  # threads of a search, unless more are asked for
_CHOOSE_BACKEND = ("backend", "env_impl", *_FLAGS)
# Allowed names of runs and records, which name a file or folder.
PLAIN = "letters, digits, '.', '_' and '-' alone, a letter or digit first"


def is_plain(name: str) -> bool:
    """Tell whether a run or a record can have a name; see ``PLAIN``."""
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) is not None


# -- sections --------------------------------------------------------------------------------------

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


# -- a run -----------------------------------------------------------------------------------------


class Only(NamedTuple):
    """The only values of an option that a trainer supports.

    Parameters
    ----------
    option : str
        With its section.
    values : tuple
    why : str
        Stands behind them in the error.
    """

    option: str
    values: tuple[Any, ...]
    why: str = ""


class RunConfig(Options):
    """All options of a run that its trainers share.

    Attributes
    ----------
    ONLY : tuple of Only
        What the trainer supports, where it is not everything.
    CHOOSES_PRECISION : bool
        Without ``precision`` it takes what is fastest here; else float32.
    COUNTS_TICKS : bool
        It discounts a decision by ``gamma**tau``, so that all ticks count alike.
    MEETS_AGENTS : bool
        It can train against trained agents.
    AVERAGES : bool
        It can average its policies in self-play.
    PLAYS_WHOLE_GAMES : bool
        It trains on a part of a game, and its agents play all of it.
    OWN_LANES : bool
        It makes its lanes itself, with other options; one lane stands for them before.
    EQUAL_ITERATIONS : bool
        Its iterations all do the same, so that their time can be told from that of a few.
    ITERATION : str
        What an iteration is called in sentences.
    """

    ONLY: ClassVar[tuple[Only, ...]] = ()
    CHOOSES_PRECISION: ClassVar[bool] = False
    COUNTS_TICKS: ClassVar[bool] = True
    MEETS_AGENTS: ClassVar[bool] = False
    AVERAGES: ClassVar[bool] = False
    PLAYS_WHOLE_GAMES: ClassVar[bool] = False
    OWN_LANES: ClassVar[bool] = False
    EQUAL_ITERATIONS: ClassVar[bool] = False
    ITERATION: ClassVar[str] = "rollout"

    env: Text = option(
        lambda: registry.DEFAULT_ENVS["train"], "environment id, with or without the namespace"
    )
    trainer: Text = option("native", "who trains")
    name: Text | None = option(
        None, "folder under ``runs/``; null makes one up from the id and the time"
    )
    preset: Text | None = option(None, "which preset the values started from; for the record only")
    seed: Whole = option(1, "all generators derive from it", "from 0 to 2**32 - 1", ge=0, lt=2**32)
    total_steps: Whole = option(
        10_000_000,
        "decisions, summed over the lanes; the last rollout is finished, so it can be a little "
        "more. Commands shorten the rollout of a shorter run",
        ge=1,
    )
    num_envs: Whole = option(512, "lanes of the engine", ge=1)
    env_threads: Whole | None = option(
        None,
        "threads inside the engine, and of a search beside the training; null is 1 for the engine, "
        "and for such a search the cores that the network leaves, at most 8",
        "from 1 to 1024, or null for the default",
        ge=1,
        le=1024,
    )
    torch_threads: Whole | None = option(
        None,
        "threads of the network; null takes the cores less ``env_threads``, but one for 256 "
        "samples of a minibatch of ``ppo`` at most, and at least 1",
        "from 1 to 1024, or null for the default",
        ge=1,
        le=1024,
    )
    backend: Literal["auto", "reference", "numba", "cython", "fast"] = option(
        "auto",
        "what the lanes run on; ``auto`` takes the fastest that works here. ``use_numba`` and "
        "``use_cython`` can stand for it",
    )
    device: Literal["auto", "cpu", "cuda"] = option("auto", "``cuda`` is untested")
    deterministic: Truth = option(False, "only algorithms that give the same bits every time")
    env_options: Plain = option(
        dict,
        "options of the environment, which checks them; some games have other defaults in training "
        "(``GameTraining.env_options``)",
    )
    schedules: dict[str, Schedule] = option(
        dict,
        "knobs of the environment that change during training, as ``[step, value]`` pairs: from "
        "each step on its value holds",
        "a mapping of knobs to [step, value] pairs",
    )
    mask_schedule: tuple[DelayedAction, ...] = option(
        (),
        "actions that are held back at the start of episodes, less and less as training continues",
    )
    trackers: Plain = option(dict, "what is followed in the lanes, and what it adds to rewards")
    gate: Plain = option(
        dict, "stages of knobs that follow one another when a test is passed; empty for none"
    )
    shaping: ShapingConfig | None = option(
        None, "potential whose change is added to rewards; null for none"
    )
    best_times: Text | None = option(
        None, "file for the fastest episodes, where the game keeps them; null for none"
    )
    episode_events: Truth = option(
        False, "write an event ``episode_end`` into ``events.jsonl`` for each episode"
    )
    window_ticks: Whole = option(0, "ticks of a window of ``windows.jsonl``; 0 for none", ge=0)
    live_map: LiveMapConfig | None = option(
        None,
        "write a map of where the lanes are and have been, where the RAM map of a Game Boy names "
        "the place of a player; null for none",
    )
    wandb: Truth = option(False, "draw curves on Weights & Biases too")
    selfplay: SelfPlayConfig | None = option(
        None, "opponents that are snapshots of the learner; null for none"
    )
    checkpoints: CheckpointConfig = option(CheckpointConfig, "when checkpoints are written")
    evaluation: EvaluationConfig = option(EvaluationConfig, "what is played to evaluate")

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str | None) -> str | None:
        require(name is None or is_plain(name), "name", name, PLAIN)
        return name

    @model_validator(mode="after")
    def _check_support(self) -> Self:
        """Refuse options that the trainer does not support, and another discount for shaping."""
        for only in self.ONLY:
            value: Any = self
            for part in only.option.split("."):
                value = getattr(value, part)
            allowed = f"{format_values(*only.values)} with trainer={self.trainer!r}{only.why}"
            require(value in only.values, only.option, _to_plain(value), allowed)
        if self.shaping is not None:
            gamma = self.shaping.gamma
            allowed = f"the discount of the learner, {self.gamma}, or null, which stands for it"
            require(gamma in (None, self.gamma), "shaping.gamma", gamma, allowed)
        if self.selfplay is not None:
            for name in ("shaping", "best_times"):
                value = getattr(self, name)
                require(value is None, name, _to_plain(value), "null with selfplay")
            average, allowed = self.selfplay.average, f"0 with trainer={self.trainer!r}"
            require(self.AVERAGES or not average, "selfplay.average", average, allowed)
        return self

    @model_validator(mode="after")
    def _check_opponent_sets(self) -> Self:
        """Refuse opponent sets of an evaluation, where the game has a list of them."""
        evaluation = self.evaluation
        if evaluation.opponents is not None or evaluation.curve_opponents is not None:
            known = games.get_game(self.env).opponent_sets
            if known:
                evaluation.check_sets(known)
        return self

    def evaluated_by(self, **changes: Any) -> Self:
        """Copy the options with other values in the section ``evaluation``, which are checked."""
        return self.replace(evaluation=self.evaluation.replace(**changes))

    # -- what each trainer defines -------------------------------------------------------------

    @property
    def asked_precision(self) -> str | None:
        """Requested precision; None leaves it to the trainer."""
        return None

    @property
    def gamma(self) -> float:
        """Discount of a primitive step."""
        raise NotImplementedError

    @property
    def iteration_steps(self) -> int:
        """Decisions of a lane in an iteration."""
        raise NotImplementedError

    @property
    def net(self) -> Any:
        """The section that has the hidden layers: ``net_arch`` and ``activation``."""
        raise NotImplementedError

    @property
    def network(self) -> Any:
        """Options that shape the network, as JSON values: a checkpoint must share them."""
        return {"net_arch": list(self.net.net_arch), "activation": self.net.activation}

    @property
    def identity(self) -> dict[str, Any]:
        """What a checkpoint must share with these options to be played, beside the environment."""
        return {"network": self.network, "trainer": self.trainer}

    @property
    def num_engines(self) -> int:
        """Engines that share the lanes."""
        return 1

    @property
    def members(self) -> tuple[int, ...]:
        """Seeds of the networks, if several are trained at once; else empty."""
        return ()

    @property
    def planned_steps(self) -> int:
        """Decisions of a run that is not ended early: those of whole iterations."""
        return -(-self.total_steps // self.rollout) * self.rollout

    def shorten_rollout(self, ranks: int = 1) -> Self:
        """Shorten the iteration to the length of the run, as far as lanes divide.

        Parameters
        ----------
        ranks : int
            Processes that share lanes and minibatches.
        """
        return self

    def share_of(self, ranks: int) -> Self:
        """Return the options of one of several ranks, with its share of lanes and minibatches.

        Raises
        ------
        ConfigError
            If they do not divide, or with options that are for one process.
        """
        among = f"one that trains in several processes, with {ranks} ranks of torchrun"
        require(ranks == 1, "trainer", self.trainer, among)
        return self

    def check_memory(self, obs_bytes: int, num_actions: int) -> None:
        """Refuse a network or a buffer that this machine cannot hold.

        Parameters
        ----------
        obs_bytes, num_actions : int
            Bytes of an observation and entries of a mask.

        Raises
        ------
        ConfigError
        """

    def sizes(self, obs_bytes: int, num_actions: int) -> str:
        """Describe sizes and memory in one line; parameters as of :meth:`check_memory`."""
        raise NotImplementedError

    def describe_length(self) -> str | None:
        """Describe in one line how the run is longer than ``total_steps``, None if it is not."""
        steps = self.planned_steps
        if steps == self.total_steps:
            return None
        rollouts, what = steps // self.rollout, self.ITERATION
        return (
            f"total_steps={self.total_steps:,} ends within {'an' if what[0] == 'i' else 'a'} "
            f"{what} of {self.rollout:,} decisions, so {rollouts:,} {what}{'s' * (rollouts != 1)} "
            f"= {steps:,} decisions are trained"
        )

    def facts(self, device: str) -> dict[str, Any]:
        """Describe network and rollout for the summary of a run.

        Parameters
        ----------
        device : str
            Where the network is.
        """
        net = self.net
        return {
            "ppo_policy_arch": f"mlp-{'x'.join(map(str, net.net_arch))}-{net.activation}",
            "ppo_device": device,
            "ppo_num_envs": self.num_envs,
            "ppo_num_workers": self.engine_threads,
            "ppo_vector_backend": "serial" if self.engine_threads == 1 else "threads",
            "ppo_rollout_steps": self.iteration_steps,
        }

    @property
    def minibatch(self) -> int | None:
        """Samples of a minibatch, if few of them are not worth many threads; None if they are."""
        return None

    @property
    def works_beside(self) -> bool:
        """Whether something searches beside the collecting and learning."""
        return False

    # -- what follows from the options ---------------------------------------------------------

    @property
    def engine_threads(self) -> int:
        """Threads of the engine, and of what searches beside the training."""
        if self.env_threads is not None:
            return self.env_threads
        if not self.works_beside:
            return 1
        network = self.torch_threads or self._worth(machine.cores() // 2)
        return max(1, min(MOST_SEARCHING, machine.cores() - network))

    @property
    def network_threads(self) -> int:
        """Threads of the network: the option, or cores that the engine leaves."""
        if self.torch_threads is not None:
            return self.torch_threads
        return self._worth(machine.cores() - self.engine_threads)

    def _worth(self, cores: int) -> int:
        """Return how many of these cores are worth having for a minibatch, at least 1."""
        least = cores if self.minibatch is None else self.minibatch // ROWS
        return max(1, min(cores, least))

    def describe_threads(self) -> str:
        """Describe in one line on how many threads a run trains."""
        cores, engine, network = machine.cores(), self.engine_threads, self.network_threads
        what = "engine and the search beside it" if self.works_beside else "engine"
        return f"threads: {engine} for the {what}, {network} for the network; cores: {cores}"

    @property
    def precision(self) -> str:
        """Requested precision of the layers, or the default of the trainer."""
        chooses = self.CHOOSES_PRECISION and not self.deterministic
        return self.asked_precision or ("auto" if chooses else "fp32")

    @property
    def evaluates(self) -> str:
        """Evaluation during the training: ``off``, ``inline`` or ``process``."""
        if self.evaluation.during is not None:
            return self.evaluation.during
        if not self.members and machine.physical_cores() >= 3:
            return "process"
        return "off" if self.evaluation.patience is None else "inline"

    @property
    def rollout(self) -> int:
        """Decisions of an iteration."""
        return self.num_envs * self.iteration_steps

    def sha256(self) -> str:
        """Hash the canonical JSON of the options."""
        return hash_json(self.to_dict())

    # -- from plain values ---------------------------------------------------------------------

    @classmethod
    def from_mapping(cls, values: Any) -> Any:
        """Build the options of the trainer that ``values`` name from nested plain values.

        Sections of other trainers may be there with their usual values, and options that were
        removed with the defaults that they had.

        Raises
        ------
        ConfigError
            For an unknown option, or a value of the wrong type or out of range; names it.
        """
        current = drop_removed(name_backend(values))
        trainer = current.get("trainer", "native")
        known = isinstance(trainer, str) and trainer in registry.TRAINERS
        require(known, "trainer", trainer, "one of " + ", ".join(map(repr, registry.TRAINERS)))
        model = registry.OPTIONS.load(trainer)
        return super(RunConfig, model).from_mapping(drop_other_trainers(model, current))


def _to_plain(value: Any) -> Any:
    if isinstance(value, Options):
        return value.to_dict()
    if isinstance(value, tuple) and value and isinstance(value[0], Options):
        return [each.to_dict() for each in value]
    return value


def name_backend(values: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the options that choose a backend by ``backend`` and its name, if there are any.

    Parameters
    ----------
    values : mapping
        Of one layer. ``use_numba`` and ``use_cython`` choose as in :func:`fastenv.make`: one that
        is left out beside the other is false. ``env_impl`` is what ``backend`` was once called, and
        ``native`` what the fast one was.

    Raises
    ------
    ConfigError
        For an unknown name, or names and flags that contradict each other.
    """
    require(isinstance(values, Mapping), "config", values, "a mapping")
    rest = dict(values)
    choice = {name: rest.pop(name) for name in _CHOOSE_BACKEND if name in rest}
    if not choice:
        return rest
    both = "backend" in choice and "env_impl" in choice
    require(not both, "env_impl", choice.get("env_impl"), "left out beside backend, its new name")
    word = "env_impl" if "env_impl" in choice else "backend"
    name = choice.get(word, "auto")
    if (word, name) == ("env_impl", "native"):
        name = "fast"
    known = isinstance(name, str) and name in BACKENDS
    require(known, word, name, "one of " + ", ".join(map(repr, BACKENDS)))
    for flag in _FLAGS:
        value = choice.get(flag)
        require(value is None or isinstance(value, bool), flag, value, "true or false")
    chosen = named(name, *(choice.get(flag) for flag in _FLAGS))
    return rest | {"backend": "auto" if chosen is None else chosen.name}
