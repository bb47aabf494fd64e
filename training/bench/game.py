"""A game's part of the suites: its rows, targets and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from training.bench.env_modes import Ready
from training.bench.timing import Sample

Row = dict[str, Any]


@dataclass(frozen=True)
class Throughput:
    """Speed of a game's environments: its rows and targets.

    Parameters
    ----------
    rows : callable
        Takes the number of repeats, the timed seconds of a repeat and the number of lanes (None
        for the usual one), and returns the measured rows.
    targets : callable
        Takes those rows and how many bytes memory may grow by, and returns a row for each target.
    about : str
        How it is measured, in the title of its table.
    alone : bool
        It is measured only where the game is named.
    stock : mapping, optional
        Flags of a stock training whose row is the last.
    """

    rows: Callable[[int, float, int | None], list[Row]]
    targets: Callable[[list[Row], int], list[Row]]
    about: str
    alone: bool = False
    stock: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Searching:
    """The cost of search in a game.

    Parameters
    ----------
    rows : callable
        Takes the number of repeats and the timed seconds of a repeat; returns the measured rows.
    targets : callable
        Takes those rows and returns a row for each target.
    """

    rows: Callable[[int, float], list[Row]]
    targets: Callable[[list[Row]], list[Row]]


@dataclass(frozen=True)
class GameBenchmark:
    """A game as the suites measure it; what it leaves out suits any game.

    Parameters
    ----------
    name : str
        As ``--game`` takes it.
    title : str
    envs : tuple of str
        What the ids of its environments begin with.
    throughput : Throughput or None
    config_env : str
        Environment of its configurations.
    small : mapping
        Flags of its configurations, where the reference is slow.
    opponents : bool
        Its environments have opponents, which are an option.
    learned : mapping of str to str
        Names of environments whose share of a training is measured, and their ids.
    share_at_most : mapping of str to float
        What may be the share, where it is not the usual one.
    pieces : mapping of str to int
        Lane steps of a piece of work on the reference, by the beginning of an id: the slower it is,
        the smaller, so that a repeat has many turns.
    limited : bool
        What each flag replaces is of about the size of the rest, so that a share of the limit by
        Amdahl's law is asked.
    emulated : bool
        Rules are nearly all there is, and a limit of the flags is not measured.
    flag_options : callable
        Takes an id and a folder for files; returns the options that flags are measured with.
    more : callable
        Returns what an entry of the profiler has beside; see
        :func:`training.bench.env_modes.env_only`.
    forced_resets : mapping
        Options with which each step ends an episode, empty if there are none.
    pixels : mapping
        Options of a run that learns from pixels, where learning from them is measured.
    replay_settings : mapping
        What DQN trains where steps of its replay are compared, by a name to show.
    search : Searching, optional
    whole_games : callable, optional
        Takes a network as a function, the id it plays and a number of games; returns the means of
        what they bring, ``points`` among them.
    two_tiers : callable, optional
        Takes flags, timed steps and a number of games; returns the measured fields of a
        configuration in which one agent decides what the other is to reach.
    """

    name: str = ""
    title: str = ""
    envs: tuple[str, ...] = ()
    throughput: Throughput | None = None
    config_env: str = ""
    small: Mapping[str, Any] = field(default_factory=dict)
    opponents: bool = False
    learned: Mapping[str, str] = field(default_factory=dict)
    share_at_most: Mapping[str, float] = field(default_factory=dict)
    pieces: Mapping[str, int] = field(default_factory=dict)
    limited: bool = False
    emulated: bool = False
    flag_options: Callable[[str, Path], dict[str, Any]] = lambda *_: {}
    more: Callable[[Ready, Sequence[Sample]], Row] = lambda *_: {}
    forced_resets: Mapping[str, Any] = field(default_factory=dict)
    replay_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    pixels: Mapping[str, Any] = field(default_factory=dict)
    search: Searching | None = None
    whole_games: Callable[[Any, str, int], dict[str, float]] | None = None
    two_tiers: Callable[[Any, int, int], Row] | None = None
