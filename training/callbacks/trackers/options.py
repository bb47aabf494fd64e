"""Trackers of a run from its options (section ``trackers``): name to the options of a tracker.

A tracker is of the kind it is named after, or of the one that its option ``kind`` names. The other
options are the parameters of its class; sources are written as
:mod:`training.callbacks.trackers.sources` says.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastenv.errors import ConfigError, UnknownOptionError, show, show_reason
from training.callbacks.trackers.archive import StateArchive
from training.callbacks.trackers.base import Tracker, Trackers
from training.callbacks.trackers.episodes import EpisodeStats, RewardLikelihood
from training.callbacks.trackers.growth import GrowthReward
from training.callbacks.trackers.novelty import EpisodicMemory, RandomDistillation
from training.callbacks.trackers.progress import BayesProgressTracker, Event
from training.callbacks.trackers.quests import Bit, QuestReward, Stage
from training.callbacks.trackers.sources import source_of
from training.callbacks.trackers.visits import VisitCounter
from training.run.engine import Engine
from training.run.options import MAX_NAME, require

KINDS: dict[str, type[Tracker]] = {
    "visits": VisitCounter,
    "quests": QuestReward,
    "growth": GrowthReward,
    "progress": BayesProgressTracker,
    "likelihood": RewardLikelihood,
    "episodes": EpisodeStats,
    "archive": StateArchive,
    "rnd": RandomDistillation,
    "memory": EpisodicMemory,
}
# Parameters that are not options: they are other trackers or the run's.
_GIVEN = ("engine", "sources", "exclude", "seed")
# An archive asks a counter of visits, and statistics of episodes ask the archive.
_ORDER = {"visits": 0, "archive": 1}
_SOURCES = ("cell", "place", "score", "source", "success")


def build(engine: Engine, options: Mapping[str, Any], seed: int) -> Trackers | None:
    """Return the trackers of a run, None if it has none.

    Parameters
    ----------
    engine : Engine
        The one they follow.
    options : mapping
        The section ``trackers``; they observe in its order, an archive last.
    seed : int
        Of the generators of those that draw.

    Raises
    ------
    ConfigError
        Names the option that is wrong.
    """
    if not options:
        return None
    kinds = {name: _kind(name, given) for name, given in options.items()}
    archives = [name for name, kind in kinds.items() if kind == "archive"]
    require(len(archives) <= 1, "trackers", archives, "without a second archive")
    built: dict[str, Tracker] = {}
    archive: StateArchive | None = None
    for name in sorted(options, key=lambda name: _ORDER.get(kinds[name], len(_ORDER))):
        kind, option = kinds[name], f"trackers.{name}"
        values = _values(engine, kind, options[name], option, built)
        if "seed" in inspect.signature(KINDS[kind]).parameters:
            values["seed"] = seed
        elif kind == "episodes" and archive is not None:
            values["exclude"] = archive.placed
        try:
            tracker = KINDS[kind](engine, **values)
        except ConfigError as error:
            raise ConfigError(f"{option}: {error}") from error
        if isinstance(tracker, StateArchive):
            archive = tracker
        else:
            built[name] = tracker
    return Trackers(engine, {name: built[name] for name in options if name in built}, archive)


def _kind(name: str, given: Any) -> str:
    require(len(name) <= MAX_NAME, "trackers", name, f"named in at most {MAX_NAME} characters each")
    require(isinstance(given, Mapping), f"trackers.{name}", given, "a mapping of options")
    kind = given.get("kind", name)
    known = isinstance(kind, str) and kind in KINDS
    require(known, f"trackers.{name}.kind", kind, "one of " + ", ".join(KINDS))
    return str(kind)


def _values(
    engine: Engine,
    kind: str,
    given: Mapping[str, Any],
    option: str,
    built: Mapping[str, Tracker],
) -> dict[str, Any]:
    """Return the arguments of a tracker's class."""
    parameters = inspect.signature(KINDS[kind]).parameters
    known = [name for name in parameters if name not in _GIVEN]
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name == "kind":
            continue
        where = f"{option}.{name}"
        if name not in known:
            raise UnknownOptionError(
                f"{show(where)} is not an option; options: {', '.join(known)}."
            )
        values[name] = value
        if name in _SOURCES and value is not None:
            values[name] = source_of(engine, value, where)
        elif name == "visits":
            counter = built.get(value) if isinstance(value, str) else None
            is_counter = isinstance(counter, VisitCounter)
            require(is_counter, where, value, "the name of a tracker of the kind visits")
            values[name] = counter
        elif name in ("stages", "events"):
            make = _stage if name == "stages" else _event
            values[name] = _items(engine, value, where, make)
    for name in known:
        needed = parameters[name].default is inspect.Parameter.empty
        require(not needed or name in values, f"{option}.{name}", None, "given")
    _check_types(parameters, values, option)
    return values


def _check_types(
    parameters: Mapping[str, inspect.Parameter], values: Mapping[str, Any], option: str
) -> None:
    """Refuse texts and the like where numbers are needed; their range is the class's to check."""
    for name, value in values.items():
        annotation = str(parameters[name].annotation)
        if annotation in ("int", "float", "int | None", "float | None"):
            whole = annotation.startswith("int")
            right = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
            right = right or (value is None and annotation.endswith("None"))
            require(right, f"{option}.{name}", value, "an integer" if whole else "a number")


def _items(
    engine: Engine,
    given: Any,
    option: str,
    make: Callable[[Engine, Mapping[str, Any], str], Any],
) -> list[Any]:
    listed = isinstance(given, Sequence) and not isinstance(given, str) and len(given) > 0
    require(listed, option, given, "a list of one or more")
    found = []
    for k, item in enumerate(given):
        where = f"{option}[{k}]"
        require(isinstance(item, Mapping), where, item, "a mapping of options")
        try:
            found.append(make(engine, item, where))
        except TypeError as error:  # an option that is missing or that there is not
            raise ConfigError(
                f"{where}: {show_reason(error).partition('__init__() ')[2]}."
            ) from error
    return found


def _event(engine: Engine, given: Mapping[str, Any], option: str) -> Event:
    values = dict(given)
    if "source" in values:
        values["source"] = source_of(engine, values["source"], f"{option}.source")
    if "prior" in values:
        values["prior"] = tuple(values["prior"])
    return Event(**values)


def _stage(_engine: Engine, given: Mapping[str, Any], option: str) -> Stage:
    values = dict(given)
    if "when" in values:
        require(isinstance(values["when"], Mapping), f"{option}.when", values["when"], "a mapping")
        values["when"] = {
            column: _condition(condition, f"{option}.when.{column}")
            for column, condition in values["when"].items()
        }
    return Stage(**values)


def _condition(given: Any, option: str) -> Any:
    """Return a value, an interval ``[low, high]`` (null: no end) or a bit ``{bit: 3}``."""
    if isinstance(given, Mapping) and set(given) == {"bit"} and type(given["bit"]) is int:
        return Bit(given["bit"])
    if isinstance(given, list | tuple) and len(given) == 2:
        low, high = given
        return (
            -float("inf") if low is None else float(low),
            float("inf") if high is None else float(high),
        )
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    require(is_number, option, given, "a number, [low, high] or {bit: number}")
    return float(given)
