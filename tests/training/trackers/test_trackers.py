"""Several trackers at once, as a trainer calls them."""

from types import SimpleNamespace

import numpy as np
import pytest

import fastenv
from tests.training.trackers.trace import Trace, make
from training.callbacks.trackers import (
    BayesProgressTracker,
    Event,
    QuestReward,
    QuestStage,
    StateArchive,
    Trackers,
    VisitCounter,
)
from training.run.callback import EngineStep
from training.run.checkpoint import CheckpointError


def node(seen):
    return np.rint(seen.obs(22) * 31)


def prospector_trackers(engine):
    counted = {"cell": node, "num_cells": 32, "place": node, "num_places": 32, "count_bonus": 0.1}
    stage = QuestStage(quest="scan", when={"scan_count": (3, None)})
    event = Event(name="credits", source="credits")
    trackers = {
        "visits": make(VisitCounter, engine, **counted),
        "quests": make(QuestReward, engine, stages=[stage]),
        "progress": make(BayesProgressTracker, engine, events=[event]),
    }
    given = StateArchive.OPTIONS(cell=node, score="credits", visits="visits", max_cells=32)
    return Trackers(engine, trackers | {"archive": StateArchive(engine, given, trackers)})


def collect(engine, trackers, rng, steps, obs, mask, stored):
    """A loop like that of the trainer: the engine writes into memory that is not its own."""
    for _ in range(steps):
        engine.step_many(fastenv.sample_legal(mask, rng), obs_out=obs, mask_out=mask)
        reward = engine.reward.copy()
        trackers.step(None, EngineStep(engine, np.zeros(engine.num_envs, np.int32), obs, mask))
        stored.append((reward, engine.reward.copy(), engine.terminated | engine.truncated))


def start(seed):
    engine = fastenv.make_engine("Prospector-v0", 7, time_max=600)
    trackers = prospector_trackers(engine)
    obs, mask = engine.obs.copy(), engine.mask.copy()
    engine.reset_many(seeds=seed, obs_out=obs, mask_out=mask)
    trackers.step(None, EngineStep(engine, None, obs, mask))
    return engine, trackers, obs, mask


def test_a_run_of_prospector_is_followed():
    engine, trackers, obs, mask = start(5)
    rng, stored = np.random.default_rng(0), []
    collect(engine, trackers, rng, 150, obs, mask, stored)
    figures = trackers.record()["trackers"]
    assert figures["visits/visits"] == 7 * 150
    assert figures["visits/cells"] > 2
    assert figures["archive/restarts"] > 0
    assert sum(int(done.sum()) for _, _, done in stored) > 0


def test_lanes_from_the_archive_are_seen_by_the_trainer_and_the_other_trackers():
    engine, trackers, obs, mask = start(5)
    rng, archive = np.random.default_rng(0), trackers._named["archive"]
    progress = trackers._named["progress"]
    before = 0
    while archive.restarts == before:
        collect(engine, trackers, rng, 1, obs, mask, [])
    placed = np.flatnonzero(archive.placed & ((engine.terminated | engine.truncated) != 0))
    assert placed.size
    engine.refresh()
    assert np.array_equal(obs, engine.obs)
    assert np.array_equal(mask, engine.mask)
    assert np.array_equal(progress.baseline[placed, 0], engine.info["credits"][placed])


def test_bonuses_are_in_the_stored_reward():
    engine = Trace(7)
    stages = [
        QuestStage(quest="a", when={"room": 1}, reward=0.3),
        QuestStage(quest="b", when={"x": 2}, reward=0.1),
    ]
    quests = make(QuestReward, engine, stages=stages)
    visits = make(VisitCounter, engine, cell="x", num_cells=5, count_bonus=0.2)
    trackers = Trackers(engine, {"v": visits, "q": quests})
    trackers.step(None, EngineStep(engine, None, engine.obs, engine.mask))
    for _ in range(30):
        engine.step()
        game = engine.reward.copy()
        trackers.step(None, EngineStep(engine, np.zeros(7, np.int64), engine.obs, engine.mask))
        expected = (game.astype(np.float64) + (visits.bonus + quests.bonus)).astype(np.float32)
        assert np.array_equal(engine.reward, expected)


def test_foreign_engines_and_states_are_refused():
    engine = Trace(2)
    trackers = Trackers(engine, {"v": make(VisitCounter, engine, cell="x", num_cells=5)})
    with pytest.raises(ValueError, match="another engine"):
        trackers.step(None, EngineStep(Trace(2), None, engine.obs, engine.mask))
    with pytest.raises(CheckpointError, match="this run has v"):
        trackers.restore(SimpleNamespace(trackers={"w": {}}))
    visits = make(VisitCounter, engine, cell="x", num_cells=6)
    with pytest.raises(CheckpointError, match="counts"):
        visits.load_state_dict(make(VisitCounter, engine, cell="x", num_cells=5).state_dict())
    with pytest.raises(CheckpointError, match="no state of VisitCounter"):
        visits.load_state_dict({"a": 1})
