"""How agents of a game are judged: data of the game, and the evaluations that follow from it.

The capability ``judging`` is :class:`JudgingRules`: what is played, which columns are shown, and
what of it is code. A game that says nothing is judged by the return of episodes that everybody
plays alike or, where players meet, by wins, or by points if it is played for them, against opponent
sets: those who play all other seats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from fastenv import BatchEngine, Game
from fastenv import registry as ids
from fastenv.errors import ConfigError
from fastenv.registry import short_id
from fastenv.seats import Opponent
from training.evaluation.evaluation import DEFAULT_EPISODES, Evaluation, count_players, name_sets
from training.evaluation.results import COMMON, INVALID_RATE, MEETING, list_columns
from training.logs.run_data import describe_opponents
from training.players.names import RANDOM_LEGAL, Who, find_player, load_who
from training.players.player import MakePlayer
from training.players.trained import Trained
from training.run import games
from training.run.config import RunConfig
from training.run.envs import check_agents, make_seated, with_defaults, with_seating
from training.run.games import Column, GameTraining
from training.run.names import is_agent, is_search
from training.run.options import require
from training.run.schedules import get_scheduled_values
from training.run.sections import EARLIER_SETS, EvaluationConfig
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


class Shown(NamedTuple):
    """A column of results in tables.

    Parameters
    ----------
    name : str
    column : Column
    """

    name: str
    column: Column


@dataclass(frozen=True)
class JudgingRules:
    """What a game says of how its agents are judged; the defaults suit any game.

    Parameters
    ----------
    shown : tuple of str
        Columns that tables show before the others; variants and trials are ranked by the first.
    decides : str
        The column by which the best policy of a training is kept; empty for what the game says
        (:attr:`training.run.games.GameTraining.judged_by`, :attr:`fastenv.GameSpec.judged_by`).
    headline : str
        The column of which a training prints the figures at its end; empty for the first one shown.
    common : bool
        Tables show the columns of all games too.
    caption : str
        Said below tables, behind what all have played.
    reference_lines : tuple of str
        Scripted players that are no bots, but what play is measured against.
    families : tuple of str
        What the names of further bots begin with.
    reported_options : tuple of str
        Options of the environment that titles and records tell.
    first_seed : int
        Of the episodes that bots alone play.
    options : tuple of str
        Options of ``training evaluate`` that only some games have a use for, and this one has,
        beside those of :attr:`Judging.uses`; all of them with ``plan``.
    compared_against : tuple of str or None
        Opponent sets of a comparison over seeds unless others are named; None as in the curve.
    starts : callable or None
        ``starts(config, asked)`` returns what is played by its name in records, and the options of
        the environment for each; ``config`` is None of episodes that are no run's.
    plan : callable or None
        ``plan(config, options, purpose)`` returns the evaluations of a run's agent in the place of
        :meth:`Judging.evaluations`, such as games on duplicate deals; there are no others then.
    players : callable or None
        ``players(trained, options, purpose)`` returns who plays by name, the agent among them.
    refuse : callable or None
        ``refuse(trained, options, asked)`` raises ConfigError for options that it cannot follow.
    describe : callable or None
        ``describe(trained, options)`` returns what the record of games on duplicate deals says of
        the agent; its ``trained_plays`` is said below the table.
    further : callable or None
        ``further(console, trained, options, evaluated, asked)`` takes the report of what the agent
        has played (:class:`training.evaluation.report.EvaluationReport`), its actions included;
        it may play and print more, and returns what the record has of it.
    check : callable or None
        ``check(config)`` raises ConfigError for a run that could not be evaluated.
    group : callable or None
        ``group(config)`` says which game a run plays; those with equal ones can be compared.
    bots : tuple of str
        Players to compare with, the first one above all; empty for those of the game.
    """

    shown: tuple[str, ...] = ()
    decides: str = ""
    headline: str = ""
    common: bool = True
    caption: str = ""
    reference_lines: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    reported_options: tuple[str, ...] = ()
    first_seed: int = 0
    options: tuple[str, ...] = ()
    compared_against: tuple[str, ...] | None = None
    starts: Callable[[RunConfig | None, Mapping[str, Any]], dict[str, dict[str, Any]]] | None = None
    plan: Callable[[RunConfig, EvaluationConfig, str], list[Evaluation]] | None = None
    players: Callable[[Trained, EvaluationConfig, str], dict[str, MakePlayer]] | None = None
    refuse: Callable[[Trained, EvaluationConfig, Mapping[str, Any]], None] | None = None
    describe: Callable[[Trained, EvaluationConfig], dict[str, Any]] | None = None
    further: Callable[..., dict[str, Any]] | None = None
    check: Callable[[RunConfig], None] | None = None
    group: Callable[[RunConfig], str] | None = None
    bots: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judging(JudgingRules):
    """How the agents of an environment are judged: the rules of its game, none of them left open.

    Parameters
    ----------
    env : str
        Id of the environment.
    game : GameTraining
    own : mapping of str to Column
        Columns of the game, where agents meet if that is in another environment.
    meets : bool
        Several players meet.
    """

    env: str = ""
    game: GameTraining = field(default_factory=GameTraining)
    own: Mapping[str, Column] = field(default_factory=dict)
    meets: bool = False

    # -- columns -----------------------------------------------------------------------------------

    @property
    def about(self) -> dict[str, Column]:
        """All columns that its results may have."""
        return list_columns(self.own)

    @property
    def columns(self) -> list[Shown]:
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
        return [Shown(name, about[name]) for name in kept if name != INVALID_RATE]

    def find_headline(self, players: int) -> tuple[Shown, float | None]:
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
        if self.plan is not None:
            return self.options
        return ("episodes", "max_steps", *(("opponents",) if self.meets else ()), *self.options)

    def scripted(self, names: Sequence[str] | None = None) -> dict[str, Who]:
        """Return scripted players, and those that search, by name; default all scripted ones.

        Reference lines come first.
        """
        names = names or (*self.reference_lines, *self.bots) or (RANDOM_LEGAL,)
        for name in names:
            find_player(self.game, name)  # a file that is not there is refused before anybody plays
        return {name: load_who(name) if is_search(name) else name for name in names}

    def kind(self, name: str) -> str:
        """Return the kind of a contender: ``policy``, ``bot``, ``search`` or ``reference_line``."""
        if name in (*self.reference_lines, RANDOM_LEGAL):
            return "reference_line"
        if is_search(name):
            return "search"
        family = bool(self.families) and name.startswith(self.families)
        return "bot" if family or name in self.bots else "policy"

    def report_options(self, engine: BatchEngine) -> dict[str, Any]:
        """Return the options of the environment that titles and records of episodes report."""
        game: Any = engine.game
        return {name: getattr(game.config, name) for name in self.reported_options}

    def name_group(self, config: RunConfig) -> str:
        """Return a description of the game of a run; runs with equal ones can be compared."""
        return short_id(config.env) if self.group is None else self.group(config)

    def describe_amount(self, what: str, options: Mapping[str, Any]) -> str:
        """Describe in words how much each run plays of a part of a comparison.

        Parameters
        ----------
        what : str
            Its name.
        options : mapping
            Of an :class:`EvaluationConfig`.
        """
        if self.plan is not None:
            return f"{options['games']:,} games against {what}"
        return f"{options['episodes']:,} episodes{f' {what}' if self.meets else ''}"

    def players_of(
        self, trained: Trained, options: EvaluationConfig, purpose: str
    ) -> Mapping[str, Who | MakePlayer]:
        """Return the players by name: the agent, and in an evaluation those it is compared with."""
        if self.players is not None:
            return self.players(trained, options, purpose)
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
        if self.plan is not None:
            only = (asked or {}).get("only")
            return self.plan(config, options, purpose) if only in (None, MATCHES) else []
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
            starts = {EPISODES: {}} if curve else self.starts_of(config, asked or {})
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

    def starts_of(
        self, config: RunConfig | None, asked: Mapping[str, Any]
    ) -> dict[str, dict[str, Any]]:
        """Return options of the environment for what is played alone, by its name in records."""
        return {EPISODES: {}} if self.starts is None else self.starts(config, asked)

    # -- opponents ---------------------------------------------------------------------------------

    def trained_against(self, config: RunConfig, steps: int) -> Opponent:
        """Return the opponent of a training, after so many decisions where a schedule names it."""
        scheduled = get_scheduled_values(config.schedules, steps).get("opponent")
        opponent: Opponent = scheduled or with_seating(config.env, config.env_options)["opponent"]
        return opponent

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
        return name_sets([self.trained_against(config, steps), *strongest])

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

    def get_milestones(self) -> Any:
        """Return the module of the milestones of the game, its capability ``milestones``.

        Raises
        ------
        ConfigError
            If it has none.
        """
        milestones = games.find(self.game, "milestones")
        if milestones is None:
            raise ConfigError(f"env={self.env!r}: this game has no milestones.")
        return milestones

    def check_run(self, config: RunConfig) -> None:
        """Refuse options of a run that it could not be evaluated with.

        Raises
        ------
        ConfigError
        """
        if self.check is not None:
            self.check(config)
        elif self.meets:
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
    """Find the judging of the game of an environment, with the defaults filled in.

    Parameters
    ----------
    env : str
        Its id, with or without the namespace.
    """
    game = games.get_game(env)
    own: JudgingRules | None = games.find(game, "judging")
    columns = games.get_game(game.table.env or env).columns
    instance = make_game(env, dict(game.env_options))
    meets = instance is not None and instance.spec.num_agents > 1
    bots = game.bots or (() if instance is None else instance.bot_names[::-1])
    judged_by = "return" if instance is None or not meets else instance.spec.judged_by
    rules = JudgingRules() if own is None else own
    given = {each.name: getattr(rules, each.name) for each in fields(rules)}
    given["bots"] = rules.bots or tuple(bots)
    given["decides"] = rules.decides or game.judged_by or judged_by
    return Judging(**given, env=env, game=game, own=columns, meets=meets)


def make_game(env: str, options: dict[str, object]) -> Game | None:
    """Make a game; None if it needs further options."""
    try:
        return ids.make_seated(env, options.pop("opponent", None), options)[0]
    except ConfigError:
        return None
