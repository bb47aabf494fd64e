"""Trackers of a run from its options (section ``trackers``): name to the options of a tracker.

A tracker is of the kind it is named after, or of the one that its option ``kind`` names. The other
options are the parameters of its class; sources are written as
:mod:`training.callbacks.trackers.sources` says.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from pydantic import create_model

from fastenv.errors import ConfigError
from training.callbacks.trackers.archive import StateArchive
from training.callbacks.trackers.base import Tracker, Trackers
from training.callbacks.trackers.episodes import EpisodeStats
from training.callbacks.trackers.growth import GrowthReward
from training.callbacks.trackers.progress import BayesProgressTracker, Event
from training.callbacks.trackers.quests import QuestReward, Stage
from training.callbacks.trackers.sources import is_number, source_of
from training.callbacks.trackers.visits import VisitCounter
from training.run.engine import Engine
from training.run.options import MAX_NAME, Number, Options, Text, Truth, Whole, require
from training.run.removed import drop_from_item, drop_from_tracker, refuse_tracker

KINDS: dict[str, type[Tracker]] = {
    "visits": VisitCounter,
    "quests": QuestReward,
    "growth": GrowthReward,
    "progress": BayesProgressTracker,
    "episodes": EpisodeStats,
    "archive": StateArchive,
}
# Parameters that are not options: they are other trackers or the run's.
_GIVEN = ("engine", "exclude", "seed")
# An archive asks a counter of visits, and statistics of episodes ask the archive.
_ORDER = {"visits": 0, "archive": 1}
_SOURCES = ("cell", "place", "score", "source", "success")


# The types of options by the annotations of parameters; what is not here a class checks itself.
_TYPES: dict[str, Any] = {
    "int": Whole,
    "float": Number,
    "bool": Truth,
    "str": Text,
}


def build(engine: Engine, options: Mapping[str, Any], seed: int) -> Trackers | None:
    """Make the trackers of a run, None if it has none.

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
    kinds = {name: _get_kind(name, given) for name, given in options.items()}
    archives = [name for name, kind in kinds.items() if kind == "archive"]
    require(len(archives) <= 1, "trackers", archives, "without a second archive")
    allowed = "without an archive: this environment cannot be set to a saved state"
    require(not archives or engine.game.resumable, "trackers", archives, allowed)
    built: dict[str, Tracker] = {}
    archive: StateArchive | None = None
    for name in sorted(options, key=lambda name: _ORDER.get(kinds[name], len(_ORDER))):
        kind, option = kinds[name], f"trackers.{name}"
        values = _make_arguments(engine, kind, options[name], option, built)
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


def _get_kind(name: str, given: Any) -> str:
    require(len(name) <= MAX_NAME, "trackers", name, f"named in at most {MAX_NAME} characters each")
    require(isinstance(given, Mapping), f"trackers.{name}", given, "a mapping of options")
    kind = given.get("kind", name)
    refuse_tracker(f"trackers.{name}.kind", kind)
    known = isinstance(kind, str) and kind in KINDS
    require(known, f"trackers.{name}.kind", kind, "one of " + ", ".join(KINDS))
    return str(kind)


def _make_arguments(
    engine: Engine,
    kind: str,
    given: Mapping[str, Any],
    option: str,
    built: Mapping[str, Tracker],
) -> dict[str, Any]:
    """Make the arguments of a tracker's class."""
    given = {name: value for name, value in given.items() if name != "kind"}
    given = drop_from_tracker(kind, option, given)
    values = _check(KINDS[kind], given, option)
    for name, value in given.items():
        where = f"{option}.{name}"
        if name in _SOURCES and value is not None:
            values[name] = source_of(engine, value, where)
        elif name == "visits":
            counter = built.get(value) if isinstance(value, str) else None
            is_counter = isinstance(counter, VisitCounter)
            require(is_counter, where, value, "the name of a tracker of the kind visits")
            values[name] = counter
        elif name in ("stages", "events"):
            make = _make_stage if name == "stages" else _make_event
            values[name] = _make_items(engine, name, value, where, make)
    return values


def _check(make: Callable[..., Any], given: Mapping[str, Any], option: str) -> dict[str, Any]:
    """Check options of a class by its parameters; return those given, converted to their types.

    Which numbers are possible is the class's to check.
    """
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(make).parameters.items():
        kind, _, other = str(parameter.annotation).partition(" | ")
        own = _TYPES.get(kind, Any)
        if kind.startswith("Literal"):
            own = Literal[tuple(ast.literal_eval(kind.removeprefix("Literal")))]
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        if name not in _GIVEN:
            fields[name] = (own | None if other == "None" else own, default)
    model = create_model(make.__name__, __base__=Options, **fields)
    model.SECTION = f"{option}."
    # What is needed and null is missing.
    present = {
        n: v for n, v in given.items() if v is not None or fields.get(n, (0, 0))[1] is not ...
    }
    values = model.from_mapping(present)
    return {name: getattr(values, name) for name in present}


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _make_items(
    engine: Engine,
    name: str,
    given: Any,
    option: str,
    make: Callable[[Engine, Mapping[str, Any], str], Any],
) -> list[Any]:
    require(_is_list(given) and len(given) > 0, option, given, "a list of one or more")
    items = []
    for k, item in enumerate(given):
        where = f"{option}[{k}]"
        require(isinstance(item, Mapping), where, item, "a mapping of options")
        items.append(make(engine, drop_from_item(name, where, item), where))
    return items


def _make_event(engine: Engine, given: Mapping[str, Any], option: str) -> Event:
    values = _check(Event, given, option)
    return Event(**{**values, "source": source_of(engine, values["source"], f"{option}.source")})


def _make_stage(_engine: Engine, given: Mapping[str, Any], option: str) -> Stage:
    values = dict(given)
    if "when" in values:
        require(isinstance(values["when"], Mapping), f"{option}.when", values["when"], "a mapping")
        values["when"] = {
            column: _make_condition(condition, f"{option}.when.{column}")
            for column, condition in values["when"].items()
        }
    return Stage(**_check(Stage, values, option))


def _make_condition(given: Any, option: str) -> Any:
    """Parse a value or an interval ``[low, high]`` (null: no end)."""
    is_interval = isinstance(given, list | tuple) and len(given) == 2
    ends = [end for end in given if end is not None] if is_interval else [given]
    require(all(map(is_number, ends)), option, given, "a number or [low, high]")
    if not is_interval:
        return float(given)
    low, high = given
    return (
        -float("inf") if low is None else float(low),
        float("inf") if high is None else float(high),
    )
