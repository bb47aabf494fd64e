"""Trackers of a run from its options (section ``trackers``): name to the options of a tracker.

A tracker is of the kind it is named after, or of the one that its option ``kind`` names. The other
options are those that its class names (:attr:`Tracker.OPTIONS`); sources are written as
:mod:`training.callbacks.trackers.sources` says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import create_model

from fastenv.errors import ConfigError
from training.callbacks.trackers.archive import StateArchive
from training.callbacks.trackers.base import Tracker, Trackers
from training.callbacks.trackers.growth import GrowthReward
from training.callbacks.trackers.progress import BayesProgressTracker, Event
from training.callbacks.trackers.quests import QuestReward, QuestStage
from training.callbacks.trackers.sources import source_of
from training.callbacks.trackers.visits import VisitCounter
from training.run.engine import Engine
from training.run.options import MAX_NAME, Options, require
from training.run.removed import drop_from_item, drop_from_tracker, refuse_tracker

OptionsT = TypeVar("OptionsT", bound=Options)

KINDS: dict[str, type[Tracker]] = {
    "visits": VisitCounter,
    "quests": QuestReward,
    "growth": GrowthReward,
    "progress": BayesProgressTracker,
    "archive": StateArchive,
}
_SOURCES = ("cell", "place", "score", "source")
_ITEMS: dict[str, type[Options]] = {"stages": QuestStage, "events": Event}


def build(engine: Engine, options: Mapping[str, Any], seed: int) -> Trackers:
    """Make the trackers of a run.

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
    kinds = {name: _get_kind(name, given) for name, given in options.items()}
    archives = [name for name, kind in kinds.items() if kind == "archive"]
    require(len(archives) <= 1, "trackers", archives, "without a second archive")
    allowed = "without an archive: this environment cannot be set to a saved state"
    require(not archives or engine.game.resumable, "trackers", archives, allowed)
    built: dict[str, Tracker] = {}
    archive: StateArchive | None = None
    # An archive asks a counter of visits, and quests.
    for name in sorted(options, key=lambda name: kinds[name] == "archive"):
        kind, option = kinds[name], f"trackers.{name}"
        values = _make_arguments(engine, kind, options[name], option, built)
        if kind == "archive":
            values["seed"] = seed
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
    own = {name: value for name, value in given.items() if name != "kind"}
    checked = _read(KINDS[kind].OPTIONS, drop_from_tracker(kind, option, own), option)
    values = {name: getattr(checked, name) for name in checked.names()}
    for name, value in values.items():
        where = f"{option}.{name}"
        if name in _SOURCES and value is not None:
            values[name] = source_of(engine, value, where)
        elif name == "visits" and value is not None:
            values[name] = built.get(value)
            is_counter = isinstance(values[name], VisitCounter)
            require(is_counter, where, value, "the name of a tracker of the kind visits")
        elif name == "swarm" and value is not None:
            values[name] = built.get(value)
            is_quests = isinstance(values[name], QuestReward)
            require(is_quests, where, value, "the name of a tracker of the kind quests")
        elif name in _ITEMS:
            values[name] = _make_items(engine, name, value, where)
    return values


def _make_items(engine: Engine, name: str, given: Any, option: str) -> list[Options]:
    """Make the stages of quests, or the events of progress."""
    is_list = isinstance(given, Sequence) and not isinstance(given, str)
    require(is_list and len(given) > 0, option, given, "a list of one or more")
    items = []
    for k, item in enumerate(given):
        where = f"{option}[{k}]"
        require(isinstance(item, Mapping), where, item, "a mapping of options")
        read = _read(_ITEMS[name], drop_from_item(name, where, item), where)
        if isinstance(read, Event):
            read = read.replace(source=source_of(engine, read.source, f"{where}.source"))
        items.append(read)
    return items


def _read(model: type[OptionsT], given: Mapping[str, Any], option: str) -> OptionsT:
    """Read options by the name that a run has for them; what is needed and null is missing."""
    named = create_model(model.__name__, __base__=model)
    named.SECTION = f"{option}."
    needed = {name for name, field in model.model_fields.items() if field.is_required()}
    return named.from_mapping(
        {name: value for name, value in given.items() if value is not None or name not in needed}
    )
