"""Descriptions of games for training, by environment id.

Every game that has something to say says it in a module of :mod:`training.games`, in a
:class:`GameTraining` for each of its ids, and is entered in :mod:`training.composition`. What lies
below the games asks here, and the module of a game is imported when it is asked for. An environment
without an entry has a :class:`GameTraining` with its defaults, which suit any game of
:mod:`fastenv`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from fastenv import BatchEngine
from fastenv.errors import ConfigError, show
from training.run import registry
from training.run.engine import Engine
from training.run.game_view import GameView
from training.run.options import require


@dataclass(frozen=True)
class Placements:
    """Actions that each fill two cells of a board.

    Parameters
    ----------
    board : str
        Field of the observation whose planes show the board.
    cells : tuple of (int, int)
        Of each action, the cells of the first half and of the second, row by row from the top; -1
        for one outside the board.
    costs : str or None
        Field with a number for each action, such as how long it takes; None if it is not shown.
    """

    board: str
    cells: tuple[tuple[int, int], ...]
    costs: str | None = None


@dataclass(frozen=True)
class Colours:
    """Colours whose names do not matter: a network sees which are equal, not which they are.

    Parameters
    ----------
    board : str
        Field of the observation that shows a board in planes.
    planes : tuple of int
        Its planes that show where each colour is.
    given : str
        Field of shape (k, number of colours): what is to be placed there, each colour one-hot.
    """

    board: str
    planes: tuple[int, ...]
    given: str


@dataclass(frozen=True)
class CriticView:
    """Inputs of the value network in training that the player cannot see, such as all hands.

    For games whose episodes are never cut off: the rows behind them are not kept.

    Parameters
    ----------
    size : int
        Numbers of a row.
    write : callable
        Takes rows (n,) in which a decision is due, and an array (n, size) of uint8 to fill.
    """

    size: int
    write: Callable[[np.ndarray, np.ndarray], None]


@dataclass(frozen=True)
class ObservationParts:
    """The structure of an observation beyond shapes and bounds, and inputs from the row behind it.

    Parameters
    ----------
    phase : tuple of int or None
        Offset and length of the one-hot of the decision phase.
    slots : tuple of (int, int, int)
        Offset, number and width of each row of card slots; an empty slot is all zero.
    hand : tuple of int or None
        The row of slots whose cards are played by as many first actions, one each.
    fields : mapping of str to mapping
        Attributes of :class:`training.nets.layout.Field` that shape and bounds of a field do not
        tell, by its name.
    placements : Placements or None
        What the actions do to a board.
    colours : Colours or None
        Fields that show colours.
    goals : tuple of str
        Fields that say what is to be reached.
    critic_view : CriticView or None
        What ``native.critic_view`` lets the value network see beside the observation.
    """

    phase: tuple[int, int] | None = None
    slots: tuple[tuple[int, int, int], ...] = ()
    hand: tuple[int, int, int] | None = None
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    placements: Placements | None = None
    colours: Colours | None = None
    goals: tuple[str, ...] = ()
    critic_view: CriticView | None = None


@dataclass(frozen=True)
class Budget:
    """A knob that says how long an episode may take to count as a success.

    Parameters
    ----------
    knob : str
        None in it is for ever.
    column : str or None
        Info column with what was used at the end of an episode; None: its ticks.
    step : int or None
        How far it is tightened at once; None goes by how much episodes differ.
    """

    knob: str
    column: str | None = None
    step: int | None = None


class Records(Protocol):
    """The fastest episodes of a game that are known, in a file that others may have open too."""

    def note(self, engine: BatchEngine, lane: int, actions: Sequence[int]) -> None:
        """Take in an episode that has just ended in a lane, if it is one to keep."""

    def store(self) -> int:
        """Play what was noted again and know it from now on; return how many of them are new."""

    def state(self) -> list[Any]:
        """Return JSON values of what is known and not in the file yet, for a checkpoint."""

    def saved(self) -> None:
        """Write what :meth:`state` returned last to the file: a run can go on from there."""

    def restore(self, state: list[Any]) -> None:
        """Know, and write to the file, what :meth:`state` had returned.

        Raises
        ------
        ValueError, TypeError
            It is something else.
        """

    def floor(self, engine: BatchEngine, budget: str) -> float | None:
        """Return the lowest sensible budget with the knobs of an engine; None if unknown."""

    def close(self) -> None:
        """Close the file."""


@dataclass(frozen=True)
class PartOfGame:
    """The decisions of a policy in whole games, if it was trained on only some of them.

    Parameters
    ----------
    column : str
        Info column of the table that says which decision is due.
    values : tuple of int
        Its values where the decision is the policy's own.
    bot : str
        Takes the other decisions.
    begins : tuple of int
        Its values where an episode of the policy's training began: its memory ends there.
    whole : mapping
        Options of the policy's environment with which it does not, since episodes were games.
    """

    column: str
    values: tuple[int, ...]
    bot: str
    begins: tuple[int, ...] = ()
    whole: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TableRules:
    """The default table of a game of several players.

    Parameters
    ----------
    env : str
        Id of the environment whose games they play; empty for that of the policies.
    options : mapping
        Its options at a table.
    shared : tuple of str or None
        Options that the table has from those of the first trained agent; None for all but seats.
    one_record : bool
        Agents must have learnt with the shared record of the table, in which a game that says
        nothing else keeps its rules. False where other rules are other rows, or other knobs.
    parts : mapping of str to PartOfGame
        Environments whose policies decide only part of a game, by id.
    """

    env: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    shared: tuple[str, ...] | None = None
    one_record: bool = True
    parts: Mapping[str, PartOfGame] = field(default_factory=dict)


KINDS = ("kept", "mean", "count", "measure", "share", "flag")


@dataclass(frozen=True)
class Column:
    """A figure of an episode, and what is made of it.

    Parameters
    ----------
    kind : {"kept", "mean", "count", "measure", "share", "flag"}
        Only recorded; or with a mean in records; or, with a mean and its interval in tables,
        comparisons, contests and curves too, a whole number, any number, a part from 0 to 1, or
        whether something came about (1 and 0, and parts where several share it).
    unit : str
        What its numbers count; empty for what has none.
    heading : str
        In tables; empty for its name, with spaces.
    decimals : int or None
        In tables; None shows about three digits.
    read : callable or None
        ``read(engine, lanes)`` returns its values in lanes (k,): a number each, which is of the
        player who is evaluated, or an entry a seat (k, P), which a contest needs. None takes the
        info column of its name.
    when : {"begin", "end", "step"}
        Read as an episode begins, at its end, or after each of its steps, all of which are summed
        up. A step is a decision of who is evaluated, or of anybody at a table.
    of : callable or None
        ``of(columns)`` makes it of other columns, arrays (rows,) by name. It is not recorded then,
        as it follows from what is.
    per : str or None
        Column by whose sum its sum is divided for a mean; None: by the number of rows.
    shared : bool
        Of equally good players all have the same part of it, such as of the wins.
    """

    kind: str
    unit: str = ""
    heading: str = ""
    decimals: int | None = None
    read: Callable[[Any, np.ndarray], np.ndarray] | None = None
    when: str = "end"
    of: Callable[[Mapping[str, np.ndarray]], np.ndarray] | None = None
    per: str | None = None
    shared: bool = False

    def __post_init__(self) -> None:
        """Refuse what is no kind, and no time."""
        require(self.kind in KINDS, "kind", self.kind, "one of " + ", ".join(KINDS))
        require(self.when in ("begin", "end", "step"), "when", self.when, "begin, end or step")

    @property
    def is_measured(self) -> bool:
        """Whether tables, comparisons, contests and curves show it."""
        return self.kind not in ("kept", "mean")

    @property
    def is_part(self) -> bool:
        """Whether it lies between 0 and 1, and is shown in per cent."""
        return self.kind in ("share", "flag")


class GameTraining:
    """The description of a game for training; the defaults suit a game without a description.

    Attributes
    ----------
    title : str
        Name of the game in sentences; empty for the id of the environment.
    env_options : mapping
        Options of the environment that hold in training and evaluation unless others are given.
    presets : mapping of str to mapping
        Named starting points of a run; see :mod:`training.run.presets`.
    window_metrics : tuple of str
        Info columns that windows of ticks average (:mod:`training.callbacks.windows`).
    columns : mapping of str to Column
        Figures of its episodes beside those of all games (:data:`training.evaluation.results`), by
        name. What is entered here is in tables, records, comparisons, contests and curves.
    auxiliaries : mapping of str to int
        Modes of ``native.hindsight`` that it offers (:meth:`auxiliary`), and the outputs of the
        further head that each needs; 0 for none.
    goal_met : mapping
        Source that tells where an episode has met its goal, in whatever time; see
        :mod:`training.callbacks.trackers.sources`. Empty where games have none.
    budgets : mapping of str to Budget
        How long that may take, by name.
    potentials : mapping of str to callable
        Functions of rows (k,) that return a value each, or one for each seat, for potential shaping
        (:mod:`training.callbacks.shaping`).
    bots : tuple of str
        Scripted players that an agent is compared with, the first one above all; empty for those of
        the game (:attr:`fastenv.Game.bot_names`), the last of them above all.
    opponent_sets : tuple of str
        Names of who plays against an agent in an evaluation; empty for the bots of the game.
    judged_by : str or None
        Measure of an evaluation that decides which policy is the best; None for what the game
        says (:attr:`fastenv.GameSpec.judged_by`) where several players meet, and ``return``
        elsewhere.
    draws : bool
        Agents are shown and judged with actions drawn from their distribution, since many states
        look alike and the best action of each may lead in circles.
    fixed_actions : mapping of str to int
        Actions worth playing for ever, which benchmarks offer as workloads, by name.
    table : TableRules
        How its players meet, where there are several.
    search : training.search.rules.SearchRules or None
        How its positions are searched; None for what suits any game.
    """

    title = ""
    env_options: ClassVar[Mapping[str, Any]] = {}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    window_metrics: tuple[str, ...] = ()
    columns: ClassVar[Mapping[str, Column]] = {}
    auxiliaries: ClassVar[Mapping[str, int]] = {}
    goal_met: ClassVar[Mapping[str, Any]] = {}
    budgets: ClassVar[Mapping[str, Budget]] = {}
    potentials: ClassVar[Mapping[str, Callable[[np.ndarray], np.ndarray]]] = {}
    bots: tuple[str, ...] = ()
    opponent_sets: tuple[str, ...] = ()
    judged_by: str | None = None
    draws = False
    fixed_actions: ClassVar[Mapping[str, int]] = {}
    table: ClassVar[TableRules] = TableRules()
    search: ClassVar[Any] = None

    def config(self, env: str, trainer: str) -> str | None:
        """Return the file in ``training/configs`` with the default options of a run's learning.

        Parameters
        ----------
        env : str
            Its id, with or without the namespace.
        trainer : str
            Who trains, as in a config.
        """
        return None

    def judging(self) -> Any:
        """Return how agents of the game are judged.

        Returns
        -------
        training.evaluation.judging.Judging or None
            None for what suits any game: the same episodes for everybody, against opponents where
            players meet.
        """
        return None

    def observation_parts(self, engine: Engine) -> ObservationParts:
        """Return the structure of the observations of an engine, for networks."""
        return ObservationParts()

    def elapsed(self, engine: Engine) -> np.ndarray:
        """Return the ticks since the episode of each lane began, shape (n,).

        Raises
        ------
        ConfigError
            If the game does not count them.
        """
        raise ConfigError(
            "mask_schedule is not possible here: this game does not say how many ticks an episode "
            "has lasted."
        )

    def check(self, config: Any) -> None:
        """Refuse options of a run that its trainer could not follow in this game.

        Raises
        ------
        ConfigError
            Names option, value and what is allowed.
        """

    def potential(self, name: str) -> Callable[[np.ndarray], np.ndarray]:
        """Return a potential by name; see :attr:`potentials`.

        Raises
        ------
        ConfigError
            If the game has no such potential.
        """
        offered = self.potentials
        allowed = "one of " + ", ".join(offered) if offered else "left out: this game has none"
        require(name in offered, "shaping.phi", name, allowed)
        return offered[name]

    def player(self, name: str) -> Any:
        """Return what makes the player of a name that is no bot's, such as one with a file.

        Returns
        -------
        callable or None
            See :data:`training.players.player.MakePlayer`; None for a name that says nothing.

        Raises
        ------
        ConfigError
            If there is nothing where it points to.
        """
        return None

    def records(self, path: Path, config: Any, run: str = "") -> Records:
        """Return the file of the fastest episodes, for a run of that config and name.

        Raises
        ------
        ConfigError
            If the game keeps none, or those of such a run could not be played again.
        """
        raise ConfigError(
            f"best_times={show(str(path))} is not possible: {config.env} keeps no best times."
        )

    def view(self) -> GameView:
        """Return the graphical view of the game."""
        return GameView()

    def render_state(
        self, engine: BatchEngine, row: np.void, names: Sequence[str], seat: int = 0
    ) -> str:
        """Return a state as a player sees it, drawn as text with colours.

        Parameters
        ----------
        engine : BatchEngine
        row : record
        names : sequence of str
            Of the players in seat order.
        seat : int
            The player's, whose decision is due unless the game is over.
        """
        text: str = engine.game.render_seat(row, seat, "ansi")
        return text

    def describe_decision(
        self,
        engine: BatchEngine,
        before: np.void,
        action: int,
        after: np.void,
        names: Sequence[str],
        seat: int = 0,
    ) -> list[str]:
        """Return lines that say in words what all players saw of a decision.

        Parameters
        ----------
        engine : BatchEngine
        before, after : record
            States. What is decided together leads from one to the next.
        action : int
        names : sequence of str
            Of the players in seat order; the person's is ``You``.
        seat : int
            Who decided.
        """
        return [f"{names[seat]}: {engine.game.action_name(action, before)}"]

    def seeds_for(self, part: str) -> tuple[str, np.ndarray]:
        """Return the knob that sets which game is played, and the values of a part of the games.

        Parameters
        ----------
        part : str
            Such as those to train on, where others are kept for reports.

        Raises
        ------
        ConfigError
            If the game does not split its seeds, or has no such part.
        """
        raise ConfigError(
            f"expert.seeds={show(part)} is not possible: this game does not split its seeds."
        )

    def auxiliary(self, config: Any, engine: Engine) -> Any:
        """Return the loss of ``native.hindsight``, an :class:`training.ppo.auxiliary.Auxiliary`.

        Parameters
        ----------
        config : RunConfig
            Asks for another mode than ``off``.
        engine : Engine

        Raises
        ------
        ConfigError
            If there is none, or it does not fit environment or network.
        """
        raise ConfigError(
            f"native.hindsight={config.native.hindsight!r} is not possible: {config.env} has no "
            "such loss."
        )


def get_game(env: str) -> GameTraining:
    """Return the training description of the game of an environment.

    Parameters
    ----------
    env : str
        Its id, with or without the namespace; need not be known.
    """
    env = _short(env)
    if env not in registry.GAMES:
        return GameTraining()
    game: GameTraining = registry.GAMES.load(env)
    return game


def get_engine_game(engine: Engine) -> GameTraining:
    """Return the training description of the game of an engine."""
    return get_game(getattr(engine.game, "env_id", None) or "")


def presets() -> dict[str, dict[str, Any]]:
    """Return the presets of all games by name."""
    return {name: dict(values) for game in _all() for name, values in game.presets.items()}


def auxiliaries() -> dict[str, int]:
    """Return the modes of ``native.hindsight`` of all games, and the outputs that each needs."""
    return {name: outputs for game in _all() for name, outputs in game.auxiliaries.items()}


def register(env: str, game: GameTraining) -> None:
    """Describe the game of an environment, in place of what was known of it.

    Parameters
    ----------
    env : str
        Its id, with or without the namespace.
    game : GameTraining
    """
    registry.GAMES.register(_short(env), lambda: game)


def unregister(env: str) -> None:
    """Forget what :func:`register` was told of an environment."""
    registry.GAMES.unregister(_short(env))


def _short(env: str) -> str:
    return env.rpartition("/")[2]


def _all() -> list[GameTraining]:
    """Return what training knows of every game, each once."""
    return list(dict.fromkeys(map(get_game, registry.GAMES)))
