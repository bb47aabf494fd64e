"""Evaluation protocols: the interface of all games, and the default for games of one player.

:func:`training.evaluation.protocols.get_protocol` returns the :class:`Protocol` of an environment.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from rich.console import Console
from rich.table import Table

from fastenv import BatchEngine
from fastenv.errors import ConfigError
from fastenv.registry import short_id
from training.evaluation import episodes, tables
from training.evaluation.bootstrap import Interval
from training.evaluation.episodes import Comparison, Episodes
from training.evaluation.tables import Column
from training.players.bots import Bot, RandomLegal
from training.players.names import RANDOM_LEGAL, find_player, maker
from training.players.network import Network
from training.players.player import MakePlayer
from training.players.trained import AGENT, Trained
from training.run import registry
from training.run.config import RunConfig
from training.run.envs import make_engine
from training.run.folder import RunFolder
from training.run.games import GameTraining
from training.run.names import is_search
from training.run.options import require
from training.run.sections import EvaluationConfig

MILESTONES = "milestones.json"  # in a run folder


@dataclass(frozen=True)
class EvaluationResult:
    """The results of an evaluation.

    Parameters
    ----------
    record : dict
        Fields of ``evaluation.json``.
    rows : list of dict, optional
        Lines of ``episodes.jsonl``.
    played : Episodes, optional
        Episodes of the agent with their actions, to choose replays from.
    env_options : mapping
        Options of the environment in which they were played, beside those of the run.
    """

    record: dict[str, Any]
    rows: list[dict[str, Any]] | None = None
    played: Episodes | None = None
    env_options: Mapping[str, Any] = field(default_factory=dict)


class Headline(NamedTuple):
    """The figure that a training prints of a group of results at its end.

    Parameters
    ----------
    column : Column
        Column of the measure.
    even : float or None
        Value of equally good players, such as a quarter of the wins among four; None if the
        measure has none.
    """

    column: Column
    even: float | None = None


class Curve(ABC):
    """Plays the same games with every policy of a training.

    Attributes
    ----------
    decides : str
        The measure whose lower end decides which policy is the best.
    count : int
        Episodes that a policy plays.
    """

    decides: str
    count: int

    @abstractmethod
    def play(self, agent: Trained, seed: int) -> Mapping[str, Interval]:
        """Return the results of a policy in the games from a seed on, ``decides`` among them."""


class Protocol(ABC):
    """The evaluation protocol of a game.

    Parameters
    ----------
    game : GameTraining

    Attributes
    ----------
    options : tuple of str
        Those options of ``python -m training evaluate RUN`` that only some games have a use for,
        and this one has.
    shares : tuple of str
        Measures of :meth:`paired` that lie between 0 and 1.
    has_benchmark : bool
        There is a :meth:`benchmark` over training seeds.
    compared_against : tuple of str or None
        Opponent sets of :meth:`paired` unless others are named; None for its own choice.
    """

    options: ClassVar[tuple[str, ...]] = ()
    shares: tuple[str, ...] = ()
    has_benchmark = False
    compared_against: ClassVar[tuple[str, ...] | None] = None

    def __init__(self, game: GameTraining) -> None:
        self._game = game

    @abstractmethod
    def evaluate(
        self,
        console: Console,
        title: str,
        trained: Trained,
        options: EvaluationConfig,
        asked: Mapping[str, Any],
    ) -> EvaluationResult:
        """Play with a trained agent and with those it is compared with; print the tables.

        Parameters
        ----------
        console : rich.console.Console
        title : str
            Of the tables.
        trained : Trained
        options : EvaluationConfig
        asked : mapping
            Options of the command that no config has, such as ``only``.
        """

    @abstractmethod
    def curve(self, config: RunConfig) -> Curve:
        """Return the evaluations of the policies of a training while it runs."""

    @abstractmethod
    def paired(
        self, trained: Trained, options: EvaluationConfig, reference: RunConfig
    ) -> dict[str, dict[str, dict[str, list[float | None]]]]:
        """Let an agent play what all are compared on (:mod:`training.evaluation.paired`).

        Parameters
        ----------
        trained : Trained
        options : EvaluationConfig
        reference : RunConfig
            Of the baseline.

        Returns
        -------
        dict
            What is played, such as a set of opponents, to player to measure to value, low and
            high. One of the players is ``AGENT``.
        """

    @abstractmethod
    def columns(self, what: str) -> Sequence[Column]:
        """Return the measures that a comparison shows of a part of :meth:`paired`, decisive first.

        Parameters
        ----------
        what : str
            A key of what :meth:`paired` returns.
        """

    def headline(self, what: str, players: int) -> Headline:
        """Return the figure that a training prints at its end of a part of its evaluation.

        By default the decisive measure of :meth:`columns`.

        Parameters
        ----------
        what : str
            Such as ``against 3 x rule_hard``, or ``episodes``.
        players : int
            Who meet there; 1 where everybody plays alone.
        """
        return Headline(self.columns(what)[0])

    def played(self, what: str, options: Mapping[str, Any]) -> str:
        """Return in words how much each run plays of a part of :meth:`paired`.

        Parameters
        ----------
        what : str
        options : mapping
            Of an :class:`EvaluationConfig`.
        """
        return f"{options['games']:,} games against {what}"

    def check(self, config: RunConfig) -> None:  # noqa: B027 (most have nothing to refuse)
        """Refuse options of a run that it could not be evaluated with.

        Raises
        ------
        ConfigError
        """

    def comparison_group(self, config: RunConfig) -> str:
        """Return a description of the game of a run; runs with equal ones can be compared."""
        return short_id(config.env)

    def play_bots(
        self, console: Console, env: str, names: Sequence[str] | None, asked: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Let scripted players alone play; print and return what came out.

        Parameters
        ----------
        console : rich.console.Console
        env : str
        names : sequence of str or None
            Who plays; None is all.
        asked : mapping
            Those of ``episodes``, ``seed``, ``max_steps``, ``time_max`` and ``opponents`` that were
            given.

        Raises
        ------
        ConfigError
            If the game has no such episodes, or an option is impossible.
        """
        raise ConfigError(f"--bots: {env} has no episodes for bots alone.")

    def milestones(
        self, console: Console, run: RunFolder, options: EvaluationConfig, member: int | None
    ) -> dict[str, Any]:
        """Let all checkpoints of a run play to milestones; print, write, return what came out.

        Raises
        ------
        ConfigError
            If the game has none.
        """
        raise ConfigError(f"env={run.config.env!r}: this game has no milestones.")

    def milestones_over_seeds(
        self, console: Console, records: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Print and return what several of :meth:`milestones` say together.

        Raises
        ------
        ConfigError
            If they are not of trainings that differ in their seed alone.
        """
        raise NotImplementedError

    def milestone_table(self, record: Mapping[str, Any]) -> Table:
        """Return the record of :meth:`milestones` as a table."""
        raise NotImplementedError

    def benchmark(
        self,
        config: RunConfig,
        seeds: Sequence[int],
        asked: Mapping[str, Any],
        root: Path,
        run_id: str,
        enforce: bool,
    ) -> dict[str, Any]:
        """Train with several seeds, let all play with the scripted players; return the report.

        Parameters
        ----------
        config : RunConfig
            Of every training; name and seed are filled in.
        seeds : sequence of int
            Training seeds.
        asked : mapping
            ``episodes`` of each seed, ``max_steps`` and, if they were given, the ``seed`` of the
            first episode and ``time_max``.
        root : Path
            Folder of the runs.
        run_id : str
            What their names begin with.
        enforce : bool
            What is expected of a policy decides whether the report passes.

        Raises
        ------
        ConfigError
            If a run is there already.
        """
        raise NotImplementedError

    def show_benchmark(self, console: Console, report: Mapping[str, Any]) -> None:
        """Print what :meth:`benchmark` returned."""
        raise NotImplementedError


# -- episodes, for any game ------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """Episodes that all policies play.

    Parameters
    ----------
    count : int
        Episodes of each policy, all with the same seeds.
    base_seed : int
        Seed of the first episode.
    max_steps : int
        Decisions after which an episode is given up.
    bootstrap : int
        Resamples of the 95 % intervals.
    env_options : mapping
        Options of the environment over those of a run.
    """

    count: int = 300
    base_seed: int = 0
    max_steps: int = 30_000
    bootstrap: int = 2000
    env_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        for name, shown in (("count", "episodes"), ("max_steps", "max_steps")):
            value = getattr(self, name)
            require(value >= 1, shown, value, "at least 1")
        require(self.bootstrap >= 1, "bootstrap", self.bootstrap, "at least 1")
        require(0 <= self.base_seed < 2**40, "base_seed", self.base_seed, "from 0 to 2**40 - 1")

    def engine(self, env: str, options: Mapping[str, Any]) -> BatchEngine:
        """Return an engine to play on."""
        lanes = min(self.count, episodes.LANES)
        return make_engine(env, lanes, {**options, **self.env_options})

    def record(self) -> dict[str, Any]:
        """Return it as JSON values, without what the environment says of itself."""
        return {name: value for name, value in asdict(self).items() if name != "env_options"}

    def play(
        self,
        engine: BatchEngine,
        players: Mapping[str, MakePlayer],
        keep_actions: Sequence[str] = (),
    ) -> dict[str, Episodes]:
        """Let all players play the same episodes; the actions of some may be kept."""
        return {
            name: episodes.play(
                *(engine, player, self.count, self.base_seed, self.max_steps),
                keep_actions=name in keep_actions,
            )
            for name, player in players.items()
        }


class EpisodeProtocol(Protocol):
    """The agent and the game's bots, or who chooses among legal actions by chance, play episodes.

    They are compared by return, unless the game says otherwise, with the first of them.

    Parameters
    ----------
    game : GameTraining
    bots : sequence of str
        The players to compare with, the first one above all, where ``game`` says nothing of them.

    Attributes
    ----------
    measure : str
        What policies are judged by.
    baseline : str or None
        With whom others are compared; None for the first scripted player, or whoever comes first.
    """

    options: ClassVar[tuple[str, ...]] = ("episodes", "max_steps")
    reference_lines: ClassVar[tuple[str, ...]] = ()
    measures: ClassVar[tuple[str, ...]] = ("return",)  # before those of the game
    caption = "Everybody plays the same episodes; means with 95 % intervals over episodes."

    def __init__(self, game: GameTraining, bots: Sequence[str] = ()) -> None:
        super().__init__(game)
        kinds = game.episode_columns.items()
        self.shares = tuple(name for name, kind in kinds if kind == "share")
        self.bots = game.bots or tuple(bots)
        self.measure = game.judged_by or self.measures[0]
        self.baseline: str | None = None

    def scripted(self, names: Sequence[str] | None = None) -> dict[str, MakePlayer]:
        """Return scripted players by name; default all, reference lines first."""
        names = names or (*self.reference_lines, *self.bots) or (RANDOM_LEGAL,)
        return {name: self.scripted_player(name) for name in names}

    def scripted_player(self, name: str) -> MakePlayer:
        """Return what makes a scripted player, or one that searches, by its name."""
        if is_search(name):
            return maker(registry.FUNCTIONS.load("search")(name))
        if name == RANDOM_LEGAL:
            return RandomLegal
        made = find_player(self._game, name)  # or it is refused before anybody plays
        return partial(Bot, name) if made is None else made

    def kind(self, name: str) -> str:
        """Return the kind of a contender: ``policy``, ``bot``, ``search`` or ``reference_line``."""
        if name in (*self.reference_lines, RANDOM_LEGAL):
            return "reference_line"
        if is_search(name):
            return "search"
        return "bot" if name in self.bots else "policy"

    def about(self, engine: BatchEngine) -> dict[str, Any]:
        """Return options of the environment that title and record of episodes tell."""
        return {}

    def plan(self, options: EvaluationConfig, asked: Mapping[str, Any]) -> Plan:
        """Return the episodes of an evaluation."""
        count = Plan.count if options.episodes is None else options.episodes
        more = self.env_options(asked)
        return Plan(count, options.seed, options.max_steps, options.bootstrap, more)

    def env_options(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return options of the environment that options of the command stand for."""
        return {}

    def compare(self, played: dict[str, Episodes], plan: Plan) -> Comparison:
        """Compare all with the baseline."""
        usual = next((name for name in self.scripted() if name in played), next(iter(played)))
        baseline = usual if self.baseline is None else self.baseline
        return episodes.compare(played, baseline, plan.bootstrap, measure=self.measure)

    # -- what is asked -----------------------------------------------------------------------------

    def evaluate(
        self,
        console: Console,
        title: str,
        trained: Trained,
        options: EvaluationConfig,
        asked: Mapping[str, Any],
    ) -> EvaluationResult:
        """See :meth:`Protocol.evaluate`."""
        config, plan = trained.config, self.plan(options, asked)
        engine = plan.engine(config.env, config.env_options)
        players = {**trained.players(), **self.scripted()}
        played = plan.play(engine, players, keep_actions=(AGENT,))
        record = self.report(console, title, engine, played, plan)
        rows = [row for name, found in played.items() for row in found.rows(name)]
        more = {**plan.env_options, **self.about(engine)}
        return EvaluationResult({"episodes": record}, rows, played[AGENT], more)

    def report(
        self,
        console: Console,
        title: str,
        engine: BatchEngine,
        played: dict[str, Episodes],
        plan: Plan,
    ) -> dict[str, Any]:
        """Print the comparison of those who played and return its record."""
        compared, about = self.compare(played, plan), self.about(engine)
        self.print(console, title, compared, plan, about)
        return {
            "protocol": "the same seeds for every policy; 95 % intervals over episodes, by "
            "bootstrap; of the shares that reached an end, Wilson's",
            **plan.record(),
            **about,
            "backend": engine.backend,
            "baseline": compared.baseline,
            "policies": self.policies(compared, played),
        }

    def print(
        self,
        console: Console,
        title: str,
        compared: Comparison,
        plan: Plan,
        about: Mapping[str, Any],
    ) -> None:
        """Print the comparison as a table."""
        first, last = plan.base_seed, plan.base_seed + plan.count - 1
        more = "".join(f", {name} {value:g}" for name, value in about.items())
        heading = f"{title}: {plan.count:,} episodes, seeds {first} to {last}{more}"
        console.print(
            tables.episode_table(compared, self.columns("episodes"), heading, self.caption)
        )

    def policies(self, compared: Comparison, played: dict[str, Episodes]) -> dict[str, Any]:
        """Return the entry of each player in the record of a comparison."""
        gaps = f"{compared.measure}_minus_baseline"
        return {
            name: {
                "kind": self.kind(name),
                "summary": found.summary(),
                "intervals": {m: x.to_list() for m, x in compared.means[name].items()},
                gaps: compared.gaps[name].to_list() if name in compared.gaps else None,
            }
            for name, found in played.items()
        }

    def play_bots(
        self, console: Console, env: str, names: Sequence[str] | None, asked: Mapping[str, Any]
    ) -> dict[str, Any]:
        """See :meth:`Protocol.play_bots`."""
        plan = self.plan_of_bots(asked)
        engine = plan.engine(env, {})
        played = plan.play(engine, self.scripted(names))
        found = self.report(console, "bots", engine, played, plan)
        rows = [row for name, each in played.items() for row in each.rows(name)]
        return {**found, "episodes": rows}

    def plan_of_bots(self, asked: Mapping[str, Any]) -> Plan:
        """Return the episodes that bots alone play."""
        return Plan(
            asked.get("episodes", 100),
            asked.get("seed", 0),
            asked.get("max_steps", Plan.max_steps),
            env_options=self.env_options(asked),
        )

    def curve(self, config: RunConfig) -> Curve:
        """See :meth:`Protocol.curve`."""
        return EpisodeCurve(config, self.measure)

    def paired(
        self, trained: Trained, options: EvaluationConfig, reference: RunConfig
    ) -> dict[str, dict[str, dict[str, list[float | None]]]]:
        """See :meth:`Protocol.paired`; the episodes are those of the baseline's environment."""
        plan = self.plan(options, {})
        engine = plan.engine(
            reference.env, {**reference.env_options, **self.held_out_options(reference)}
        )
        played = plan.play(engine, {AGENT: trained.players()[AGENT]})
        means = self.compare(played, plan).means[AGENT]
        return {"episodes": {AGENT: {name: mean.to_list() for name, mean in means.items()}}}

    def held_out_options(self, config: RunConfig) -> dict[str, Any]:
        """Return the options by which episodes of an evaluation differ from those of a training."""
        return {}

    def columns(self, what: str) -> Sequence[Column]:
        """See :meth:`Protocol.columns`."""
        kinds = self._game.episode_columns.items()
        own = [name for name, kind in kinds if kind in ("measure", "share")]
        names = dict.fromkeys((self.measure, *self.measures, *own, "steps", "ticks"))
        return [self._column(name) for name in names]

    def _column(self, name: str) -> Column:
        share, heading = name in self.shares, name.replace("_", " ")
        shown = partial(tables.format_interval_short, factor=100 if share else 1)
        return name, f"{heading} %" if share else heading, shown

    def played(self, what: str, options: Mapping[str, Any]) -> str:
        """See :meth:`Protocol.played`."""
        return f"{options['episodes']:,} episodes"


class EpisodeCurve(Curve):
    """Episodes of the environment that a run is trained on.

    Parameters
    ----------
    config : RunConfig
    measure : str
        What they are judged by.
    """

    def __init__(self, config: RunConfig, measure: str = "return") -> None:
        options = config.evaluation
        self.decides, self.count = measure, options.curve_episodes
        self._max_steps, self._bootstrap = options.max_steps, options.bootstrap
        lanes = min(self.count, episodes.LANES)
        self._engine = make_engine(config.env, lanes, config.env_options)

    def play(self, agent: Trained, seed: int) -> Mapping[str, Interval]:
        """See :meth:`Curve.play`."""
        make = partial(Network, agent.logits)
        played = episodes.play(self._engine, make, self.count, seed, self._max_steps)
        means = episodes.compare({AGENT: played}, AGENT, self._bootstrap).means[AGENT]
        return {name: means[name] for name in dict.fromkeys((self.decides, "return", "steps"))}
