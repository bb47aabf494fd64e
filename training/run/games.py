"""What training knows of games: a small record for each environment id.

The records are in :mod:`training.games`, and :mod:`training.composition` says where. What only some
games can do is a *capability*: an object that the record registers under a name, looked up with
:func:`find` where it is used, and absent by default. An environment without a record trains, plays,
is evaluated and drawn by the defaults that stand at these places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fastenv import registry as ids
from fastenv.errors import FastEnvError
from training.run import registry
from training.run.engine import Engine
from training.run.options import require


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


@dataclass(frozen=True)
class Family:
    """A game of which there are one or more environments, as people are told of it.

    Parameters
    ----------
    title : str
    about : str
        What it is about, in a sentence.
    first : str
        Id of the environment that shows it, and that people begin with.
    """

    title: str
    about: str
    first: str


KINDS = ("kept", "mean", "count", "measure", "share", "flag")


@dataclass(frozen=True)
class Column:
    """A figure of an episode, and how it is summarised.

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
        """Refuse unknown values of ``kind`` and ``when``."""
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


@dataclass(frozen=True)
class GameTraining:
    """The record of an environment in training; the defaults are those of one without a record.

    Parameters
    ----------
    title : str
        Name of the game in sentences; empty for the id of the environment.
    family : Family or None
        The game of which it is an environment; None for a game of its own.
    about : str
        What its episodes are, and what is decided in them: a few words, a colon, a sentence.
    env_options : mapping
        Options of the environment that hold in training and evaluation unless others are given.
    files : mapping of str to str
        By trainer, the file in ``training/configs`` with the default options of a run's learning.
    trainer : str
        Who trains where an environment alone is named.
    presets : Path or None
        YAML file of named starting points of a run; see :mod:`training.run.option_layers`.
    bots : tuple of str
        Scripted players that an agent is compared with, the first one above all; empty for those of
        the game (:attr:`fastenv.Game.bot_names`), the last of them above all.
    opponent_sets : tuple of str
        Names of who plays against an agent in an evaluation; empty for the bots of the game.
    columns : mapping of str to Column
        Figures of its episodes beside those of all games (:data:`training.evaluation.results`), by
        name. What is entered here is in tables, records, comparisons, contests and curves.
    judged_by : str or None
        Measure of an evaluation that decides which policy is the best; None for what the game
        says (:attr:`fastenv.GameSpec.judged_by`) where several players meet, and ``return``
        elsewhere.
    draws : bool
        Agents are shown and judged with actions drawn from their distribution too, since many
        states look alike and the best action of each may lead in circles. In a game that needs
        mixed strategies (:attr:`fastenv.GameSpec.mixed`) they always draw.
    table : TableRules
        How its players meet, where there are several.
    capabilities : mapping of str to str
        What this game can do beyond others: ``module:name`` of each object, by the name that it is
        looked up by. ``docs/reference/game_interface.md`` lists the names.
    """

    title: str = ""
    family: Family | None = None
    about: str = ""
    env_options: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    trainer: str = "native"
    presets: Path | None = None
    bots: tuple[str, ...] = ()
    opponent_sets: tuple[str, ...] = ()
    columns: Mapping[str, Column] = field(default_factory=dict)
    judged_by: str | None = None
    draws: bool = False
    table: TableRules = field(default_factory=TableRules)
    capabilities: Mapping[str, str] = field(default_factory=dict)


class ForeignError(FastEnvError, RuntimeError):
    """An environment of another package breaks its word, raises or hangs; the message names it."""


def find(of: str | Engine | GameTraining, name: str) -> Any:
    """Find a capability of a game.

    Parameters
    ----------
    of : str, Engine or GameTraining
        Id of an environment, with or without the namespace, an engine of it, or its record.
    name : str
        Of the capability.

    Returns
    -------
    object or None
        What is registered under the name, imported now; None if there is nothing.
    """
    if isinstance(of, str):
        of = get_game(of)
    game = of if isinstance(of, GameTraining) else get_engine_game(of)
    where = game.capabilities.get(name)
    return None if where is None else registry.load_object(where)


def find_all(name: str) -> list[Any]:
    """Find the capabilities of a name in all games, each object once."""
    every = (game.capabilities.get(name) for game in registered())
    return [registry.load_object(where) for where in dict.fromkeys(every) if where is not None]


def get_game(env: str) -> GameTraining:
    """Get the record of an environment.

    Parameters
    ----------
    env : str
        Its id, with or without the namespace; need not be known.
    """
    env = _shorten_id(env)
    game = GameTraining()
    if env in registry.GAMES:
        game = registry.GAMES.load(env)
    elif _find_foreign(env) is not None:
        game = registry.FUNCTIONS.load("foreign record")
    return game


def get_engine_game(engine: Engine) -> GameTraining:
    """Get the record of the environment of an engine."""
    return get_game(getattr(engine.game, "env_id", None) or "")


def modules_of(env: str) -> tuple[str, ...]:
    """Return the modules that an environment of another package comes from; () for ours.

    Parameters
    ----------
    env : str
        Its name. What is inside a function of yours is known once it has been made here.
    """
    if _shorten_id(env) in ids.ENVS or _find_foreign(env) is None:
        return ()
    modules: tuple[str, ...] = registry.FUNCTIONS.load("foreign modules")(env)
    return modules


def registered() -> list[GameTraining]:
    """List the records of all environments that have one."""
    return [get_game(env) for env in registry.GAMES]


def register(env: str, game: GameTraining) -> None:
    """Register the record of an environment, in place of an earlier one.

    Parameters
    ----------
    env : str
        Its id, with or without the namespace.
    game : GameTraining
    """
    registry.GAMES[_shorten_id(env)] = game


def unregister(env: str) -> None:
    """Remove the record of an environment."""
    registry.GAMES.pop(_shorten_id(env), None)


def _shorten_id(env: str) -> str:
    return env.removeprefix(f"{ids.NAMESPACE}/")


def _find_foreign(name: str) -> ids.Entry | None:
    """Find the environment of another package that an id or ``module:name`` stands for."""
    if ":" not in name and "-v" not in name:  # whatever it is, it is none of these
        return None
    entry: ids.Entry | None = registry.FUNCTIONS.load("foreign")(name)
    return entry


ids.register_finder(_find_foreign, "an id of Gymnasium, such as CartPole-v1, or module:name")
