"""Trackers of visits, quests and progress in lanes, without a loop in Python."""

from training.callbacks.trackers.archive import StateArchive
from training.callbacks.trackers.base import Source, StepReader, Tracker, Trackers
from training.callbacks.trackers.growth import GrowthReward
from training.callbacks.trackers.progress import BayesProgressTracker, Event
from training.callbacks.trackers.quests import QuestReward, QuestStage
from training.callbacks.trackers.visits import VisitCounter

__all__ = [
    "BayesProgressTracker",
    "Event",
    "GrowthReward",
    "QuestReward",
    "QuestStage",
    "Source",
    "StateArchive",
    "StepReader",
    "Tracker",
    "Trackers",
    "VisitCounter",
]
