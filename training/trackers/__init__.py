"""What has been seen and reached in the lanes of an engine, followed without a loop in Python."""

from training.trackers.archive import StateArchive
from training.trackers.base import Source, Tracker, Trackers, View
from training.trackers.episodes import EpisodeStats, RewardLikelihood
from training.trackers.progress import BayesProgressTracker, Event
from training.trackers.quests import Bit, QuestReward, Stage
from training.trackers.visits import VisitCounter

__all__ = [
    "BayesProgressTracker",
    "Bit",
    "EpisodeStats",
    "Event",
    "QuestReward",
    "RewardLikelihood",
    "Source",
    "Stage",
    "StateArchive",
    "Tracker",
    "Trackers",
    "View",
    "VisitCounter",
]
