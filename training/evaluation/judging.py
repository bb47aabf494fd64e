"""How agents of a game are judged: data of the game, and the evaluations that follow from it.

A game that says nothing is judged by the return of episodes that everybody plays alike or, where
players meet, by wins, or by points if it is played for them, against opponent sets: those who play
all other seats. What a game does otherwise is in its class of :class:`Judging`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from rich.console import Console

from fastenv import BatchEngine, Game
from fastenv import registry as ids
from fastenv.errors import ConfigError
from fastenv.registry import short_id
from fastenv.seats import Opponent
from training.evaluation.evaluation import DEFAULT_EPISODES, Evaluation, count_players, name_sets
from training.evaluation.results import (
    COMMON,
    INVALID_RATE,
    MEETING,
    EvaluationReport,
    list_columns,
)
from training.logs.run_data import describe_opponents
from training.players.names import RANDOM_LEGAL, AnyPlayer, Who, find_player, load_who
from training.players.trained import TrainedAgent
from training.run import games
from training.run.config import EARLIER_SETS, EvaluationConfig, RunConfig
from training.run.envs import check_agents, make_seated, with_defaults, with_seating
from training.run.games import Column
from training.run.options import require
from training.run.schedules import get_scheduled_values
from training.run.seating import is_agent, is_search
from training.run.seeds import CURVE_SEEDS

EVALUATE, CURVE, COMPARE = "evaluate", "curve", "compare"  # purposes of what is played
OPPONENTS, CURVE_OPPONENTS = "opponents", "curve_opponents"  # options of a run's evaluation
MILESTONES = "milestones.json"  # in a run folder
EPISODES = "episodes"  # what is played where nobody meets
MATCHES = "matches"  # what is played where players meet
ALIKE = "Everybody plays the same episodes; means with 95 % intervals over episodes."
IN_TURN = (
    "Everybody plays the same episodes in the same seats, every seat in turn; means with 95 % "
    "intervals over episodes; a win that k share counts 1/k."
)


class ShownColumn(NamedTuple):
    """A column of results in tables.

    Parameters
    ----------
    name : str
    column : Column
    """

    name: str
    column: Column


class Judging:
    """How the agents of an environment are judged; the defaults suit any game.

    The capability ``judging`` is a class derived from this one: its data say which columns and
    players are shown, and its methods what the game plays otherwise.

    Parameters
    ----------
    env : str
        Id of the environment, with or without the namespace.

    Attributes
    ----------
    shown : tuple of str
        Columns that tables show before the others; variants and trials are ranked by the first.
    decides : str
        The column by which the best policy of a training is kept; a class that leaves it empty has
        what the game says (:attr:`training.run.games.GameTraining.judged_by`,
        :attr:`fastenv.GameSpec.judged_by`).
    headline : str
        The column of which a training prints the figures at its end; empty for the first one shown.
    common : bool
        Tables show the columns of all games too.
    caption : str
        Said below tables, behind what all have played.
    first_seed : int
        Of the episodes that bots alone play.
    on_deals : bool
        Whole games on duplicate deals are played, and no episodes: one table has all opponent sets.
    options : tuple of str
        Options of ``training evaluate`` that only some games have a use for, and this one has,
        beside those of :attr:`uses`; all of them where games are played ``on_deals``.
    compared_against : tuple of str or None
        Opponent sets of a comparison over seeds unless others are named; None as in the curve.
    bots : tuple of str
        Players to compare with, the first one above all; a class that leaves it empty has those of
        the game.
    game : GameTraining
    own : mapping of str to Column
        Columns of the game, where agents meet if that is in another environment.
    meets : bool
        Several players meet.
    """

    shown: ClassVar[tuple[str, ...]] = ()
    decides: str = ""
    headline: ClassVar[str] = ""
    common: ClassVar[bool] = True
    caption: ClassVar[str] = ""
    first_seed: ClassVar[int] = 0
    on_deals: ClassVar[bool] = False
    options: ClassVar[tuple[str, ...]] = ()
    compared_against: ClassVar[tuple[str, ...] | None] = None
    bots: tuple[str, ...] = ()

    def __init__(self, env: str) -> None:
        self.env, self.game = env, games.get_game(env)
        self.own: Mapping[str, Column] = games.get_game(self.game.table.env or env).columns
        instance = _make_game(env, dict(self.game.env_options))
        self.meets = instance is not None and instance.spec.num_agents > 1
        judged_by = instance.spec.judged_by if instance is not None and self.meets else "return"
        named = () if instance is None else instance.bot_names[::-1]
        self.decides = self.decides or self.game.judged_by or judged_by
        self.bots = self.bots or tuple(self.game.bots or named)

    # -- columns -----------------------------------------------------------------------------------

    @property
    def about(self) -> dict[str, Column]:
        """All columns that its results may have."""
        return list_columns(self.own)

    @property
    def columns(self) -> list[ShownColumn]:
        """The columns of tables and curves, the decisive one first."""
        own = [name for name, each in self.own.items() if each.is_measured]
        names = [*self.shown]
        if self.common:
            meeting = [*dict.fromkeys(("win", "draw", *MEETING))] if self.meets else []
            names += [self.decides, *meeting, "return"]
        names += own
        names += [*COMMON] if self.common else []
        about = self.about
        kept = (n for n in dict.fromkeys(names) if n in self.shown or about[n].is_measured)
        return [ShownColumn(name, about[name]) for name in kept if name != INVALID_RATE]

    def find_headline(self, players: int) -> tuple[ShownColumn, float | None]:
        """Return the column that a training prints at its end, and its value for equal players.

        Parameters
        ----------
        players : int
            Who meet there; 1 where everybody plays alone.
        """
        columns = self.columns
        shown = next((each for each in columns if each.name == self.headline), columns[0])
        return shown, 1 / players if shown.column.shared else None

    # -- who plays what ----------------------------------------------------------------------------

    @property
    def uses(self) -> tuple[str, ...]:
        """Those options of ``training evaluate`` that only some games have, and this one has."""
        if self.on_deals:
            return self.options
        return ("episodes", "max_steps", *(("opponents",) if self.meets else ()), *self.options)

    @property
    def lineup(self) -> tuple[str, ...]:
        """The names of all scripted players, in the order of tables."""
        return self.bots or (RANDOM_LEGAL,)

    def scripted(self, names: Sequence[str] | None = None) -> dict[str, Who]:
        """Return scripted players, and those that search, by name; default all of ``lineup``."""
        names = names or self.lineup
        for name in names:
            find_player(self.game, name)  # a file that is not there is refused before anybody plays
        return {name: load_who(name) if is_search(name) else name for name in names}

    def kind(self, name: str) -> str:
        """Return the kind of a contender: ``policy``, ``bot``, ``search`` or ``reference_line``."""
        if name == RANDOM_LEGAL:
            return "reference_line"
        if is_search(name):
            return "search"
        return "bot" if name in self.bots else "policy"

    def report_options(self, engine: BatchEngine) -> dict[str, Any]:
        """Return the options of the environment that titles and records of episodes report."""
        return {}

    def name_group(self, config: RunConfig) -> str:
        """Return a description of the game of a run; runs with equal ones can be compared."""
        return short_id(config.env)

    def describe_amount(self, what: str, options: Mapping[str, Any]) -> str:
        """Describe in words how much each run plays of a part of a comparison.

        Parameters
        ----------
        what : str
            Its name.
        options : mapping
            Of an :class:`EvaluationConfig`.
        """
        if self.on_deals:
            return f"{options['games']:,} games against {what}"
        return f"{options['episodes']:,} episodes{f' {what}' if self.meets else ''}"

    def players_of(
        self, trained: TrainedAgent, options: EvaluationConfig, purpose: str
    ) -> Mapping[str, AnyPlayer]:
        """Return the players by name: the agent, and in an evaluation those it is compared with."""
        own = trained.players()
        if purpose != EVALUATE:
            return {name: own[name] for name in list(own)[:1]}
        return {**own, **self.scripted()}

    def evaluations(
        self,
        config: RunConfig,
        options: EvaluationConfig,
        purpose: str,
        asked: Mapping[str, Any] | None = None,
        steps: int | None = None,
    ) -> list[Evaluation]:
        """Plan the evaluations of a run's agent.

        Parameters
        ----------
        config : RunConfig
            Whose environment it is.
        options : EvaluationConfig
        purpose : {EVALUATE, CURVE, COMPARE}
            At the end of a training, in its middle, or beside the agents of other runs.
        asked : mapping, optional
            Options of a command that no config has, such as ``time_max``.
        steps : int, optional
            Decisions that the agent has been trained for; default all.
        """
        curve, env_options = purpose == CURVE, config.env_options
        count = DEFAULT_EPISODES if options.episodes is None else options.episodes
        seeds = plan_seeds(options.seed, options.curve_episodes if curve else count)
        usual = Evaluation(
            *(EPISODES, config.env, env_options),
            seeds=range(CURVE_SEEDS + seeds.start, CURVE_SEEDS + seeds.stop) if curve else seeds,
            max_steps=options.max_steps,
            decides=self.decides,
            measures=tuple(each.name for each in self.columns) if curve else (),
            resamples=options.bootstrap,
        )
        if not self.meets:
            starts = {EPISODES: {}} if curve else self.starts(config, asked or {})
            if purpose == COMPARE:
                starts = {EPISODES: starts[EPISODES]}
            return [
                replace(usual, name=name, options={**env_options, **more})
                for name, more in starts.items()
            ]
        named = options.curve_opponents if curve else options.opponents
        as_in_curve = curve or (purpose == COMPARE and named is None)
        option = CURVE_OPPONENTS if as_in_curve else OPPONENTS
        at = config.total_steps if steps is None else steps
        players = count_players(config.env, env_options)
        return [
            replace(usual, name=_name_evaluation(name, players, purpose), against=opponent)
            for name, opponent in self.sets(config, option, named, at).items()
        ]

    def starts(
        self, config: RunConfig | None, asked: Mapping[str, Any]
    ) -> dict[str, dict[str, Any]]:
        """Return what is played alone by its name in records, with options of the environment.

        Parameters
        ----------
        config : RunConfig or None
            None of episodes that are no run's.
        asked : mapping
            Options of a command that no config has.
        """
        return {EPISODES: {}}

    def refuse(
        self, trained: TrainedAgent, options: EvaluationConfig, asked: Mapping[str, Any]
    ) -> None:
        """Refuse options that the evaluation of an agent cannot follow, before anybody plays.

        Raises
        ------
        ConfigError
        """

    def describe(self, trained: TrainedAgent, options: EvaluationConfig) -> dict[str, Any]:
        """Describe an agent in the record of games on deals.

        What is described as ``trained_plays`` is said below the table.
        """
        return {"trained_plays": trained.describe_actions()}

    def play_further(
        self,
        console: Console,
        trained: TrainedAgent,
        options: EvaluationConfig,
        evaluated: EvaluationReport,
        asked: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Play and print more than the evaluations; return what the record has of it.

        Parameters
        ----------
        console : rich.console.Console
        trained : TrainedAgent
        options : EvaluationConfig
        evaluated : EvaluationReport
            What the agent has played, its actions included.
        asked : mapping
            Options of the command that no config has, such as ``best_times``.
        """
        return {}

    # -- opponents ---------------------------------------------------------------------------------

    def sets(
        self, config: RunConfig, option: str, names: Sequence[str] | None, steps: int
    ) -> dict[str, Opponent]:
        """Return the opponent sets of an option of the section ``evaluation``, by name.

        Parameters
        ----------
        config : RunConfig
        option : {"opponents", "curve_opponents"}
        names : sequence of str or None
            Its value.
        steps : int
            Decisions that the agent has been trained for.

        Raises
        ------
        ConfigError
            For a name that the game does not know, or none at all.
        """
        allowed = "one or more opponents, or null"
        require(names is None or len(names) > 0, f"evaluation.{option}", names, allowed)
        unknown = self.unknown(config.env, config.env_options, names or ())
        if names is not None and unknown is not None and tuple(names) != EARLIER_SETS[option]:
            raise ConfigError(f"evaluation.{option}: {unknown}")
        if names is not None and unknown is None:
            return name_sets(names)
        strongest = self.bots[:1] if option == OPPONENTS else ()
        scheduled = get_scheduled_values(config.schedules, steps).get("opponent")
        met = scheduled or with_seating(config.env, config.env_options)["opponent"]
        return name_sets([met, *strongest])

    def unknown(
        self, env: str, options: Mapping[str, Any], names: Sequence[str]
    ) -> ConfigError | None:
        """Return the error if one of some names is no player of the game, else None."""
        bots = [name for name in names if not is_agent(name)]  # others are trained agents
        try:
            for name in filter(is_search, names):
                check_agents(env, {**options, "opponent": name})
            if not bots:
                return None
            game, _ = make_seated(env, with_defaults(env, {**options, "opponent": bots[0]}))
            for name in bots:
                game.bot(name)
        except ConfigError as error:
            return error
        return None

    def check_run(self, config: RunConfig) -> None:
        """Refuse options of a run that it could not be evaluated with.

        Raises
        ------
        ConfigError
        """
        if self.meets:
            for option in EARLIER_SETS:
                self.sets(config, option, getattr(config.evaluation, option), config.total_steps)


def plan_seeds(first: int, count: int) -> range:
    """Return the seeds of episodes; ConfigError for those that may not be."""
    require(count >= 1, "episodes", count, "at least 1")
    require(0 <= first < 2**40, "base_seed", first, "from 0 to 2**40 - 1")
    return range(first, first + count)


def _name_evaluation(opponents: str, players: int, purpose: str) -> str:
    """Name an evaluation against an opponent set for records."""
    if purpose == EVALUATE:
        return opponents
    shown = describe_opponents(opponents, players)
    return f"against {shown}" if purpose == COMPARE else shown


def get_judging(env: str) -> Judging:
    """Find the judging of the game of an environment.

    Parameters
    ----------
    env : str
        Its id, with or without the namespace.
    """
    judging: Judging = (games.find(env, "judging") or Judging)(env)
    return judging


def get_milestones(env: str) -> Any:
    """Find the module of the milestones of a game, which is its capability ``milestones``.

    Raises
    ------
    ConfigError
        If it has none.
    """
    milestones = games.find(env, "milestones")
    if milestones is None:
        raise ConfigError(f"env={env!r}: this game has no milestones.")
    return milestones


def _make_game(env: str, options: dict[str, Any]) -> Game | None:
    """Make a game; None if it needs further options."""
    try:
        return ids.make_seated(env, options.pop("opponent", None), options)[0]
    except ConfigError:
        return None
