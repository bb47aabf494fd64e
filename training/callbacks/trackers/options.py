"""Trackers of a run from its options (section ``trackers``): name to the options of a tracker.

A tracker is of the kind it is named after, or of the one that its option ``kind`` names. The other
options are those that its class names (:attr:`Tracker.OPTIONS`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import create_model

from training.callbacks.trackers.archive import StateArchive
from training.callbacks.trackers.base import Tracker, Trackers
from training.callbacks.trackers.growth import GrowthReward
from training.callbacks.trackers.progress import BayesProgressTracker, Event
from training.callbacks.trackers.quests import QuestReward, QuestStage
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
    # An archive asks a counter of visits, and quests: it is made last, and observes last.
    for name in sorted(options, key=lambda name: kinds[name] == "archive"):
        own: Any = _read_tracker(kinds[name], options[name], f"trackers.{name}")
        if kinds[name] == "archive":
            # States and metrics call it so, unless that is the name of another tracker.
            known = name if "archive" in built else "archive"
            built[known] = StateArchive(engine, own, built, seed)
        else:
            built[name] = KINDS[kinds[name]](engine, own)
    return Trackers(engine, built)


def _get_kind(name: str, given: Any) -> str:
    require(len(name) <= MAX_NAME, "trackers", name, f"named in at most {MAX_NAME} characters each")
    require(isinstance(given, Mapping), f"trackers.{name}", given, "a mapping of options")
    kind = given.get("kind", name)
    refuse_tracker(f"trackers.{name}.kind", kind)
    known = isinstance(kind, str) and kind in KINDS
    require(known, f"trackers.{name}.kind", kind, "one of " + ", ".join(KINDS))
    return str(kind)


def _read_tracker(kind: str, given: Mapping[str, Any], option: str) -> Options:
    """Read the options of a tracker, and those of its stages or events."""
    own = {name: value for name, value in given.items() if name != "kind"}
    read = _read(KINDS[kind].OPTIONS, drop_from_tracker(kind, option, own), option)
    for name in _ITEMS.keys() & set(read.names()):
        read = read.replace(**{name: _read_items(name, getattr(read, name), f"{option}.{name}")})
    return read


def _read_items(name: str, given: Any, option: str) -> list[Options]:
    """Read the stages of quests, or the events of progress."""
    is_list = isinstance(given, Sequence) and not isinstance(given, str)
    require(is_list and len(given) > 0, option, given, "a list of one or more")
    items = []
    for k, item in enumerate(given):
        where = f"{option}[{k}]"
        require(isinstance(item, Mapping), where, item, "a mapping of options")
        items.append(_read(_ITEMS[name], drop_from_item(name, where, item), where))
    return items


def _read(model: type[OptionsT], given: Mapping[str, Any], option: str) -> OptionsT:
    """Read options by the name that a run has for them; what is needed and null is missing."""
    named = create_model(model.__name__, __base__=model)
    named.SECTION = f"{option}."
    needed = {name for name, field in model.model_fields.items() if field.is_required()}
    return named.from_mapping(
        {name: value for name, value in given.items() if value is not None or name not in needed}
    )
