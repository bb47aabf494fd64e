import io

import numpy as np
import pytest
import torch

import fastenv
from fastenv.errors import ConfigError
from tests.training.trackers.trace import SIZES, Trace, make, run
from training.callbacks.trackers import QuestReward, QuestStage, StateArchive, VisitCounter
from training.run.checkpoint import CheckpointError

CELLS = 20


def cell_of(seen):
    return np.where(seen["room"] < 0, -1, seen["room"] * 5 + seen["x"])


class ClassicArchive:
    """A dict of cells, each with a slot of its own."""

    def __init__(self, size):
        self.size, self.cells = size, {}

    def visit(self, cell, score, step, count, blob):
        entry = self.cells.get(cell)
        if entry is not None:
            entry["visits"] += 1
            entry["score"] = max(entry["score"], score)
            entry["step"] = step
        elif count <= 3:
            slot = len(self.cells)
            if slot == self.size:
                worst = min(
                    self.cells,
                    key=lambda c: (
                        -self.cells[c]["visits"],
                        self.cells[c]["step"],
                        self.cells[c]["slot"],
                    ),
                )
                slot = self.cells.pop(worst)["slot"]
            self.cells[cell] = dict(visits=1, score=score, step=step, slot=slot, blob=blob)


def archive_of(engine, cell, others=None, seed=0, **options):
    return StateArchive(engine, StateArchive.OPTIONS(cell=cell, **options), others, seed)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("size", [1, 6, 50])
def test_archive_equals_a_loop_over_environments(n, size):
    engine = Trace(n, seed=n)
    visits = make(VisitCounter, engine, cell=cell_of, num_cells=CELLS)
    given = {"score": "value", "visits": "v", "max_cells": size, "p_archive": 0}
    archive = archive_of(engine, cell_of, {"v": visits}, **given)
    classic, counts = ClassicArchive(size), {}
    for step in range(1, 60):
        done = engine.step()
        visits.observe(engine, None)
        archive.observe(engine, None)
        for lane in range(n):
            at = engine.last(lane)
            cell = -1 if at["room"] < 0 else at["room"] * 5 + at["x"]
            if cell >= 0:
                counts[cell] = counts.get(cell, 0) + 1
                if lane not in done:
                    blob = int(engine.rows[lane])
                    classic.visit(cell, at["value"], step * n, counts[cell], blob)
        found = {
            cell: dict(visits=v, score=score, step=last, slot=slot, blob=blob)
            for slot, (cell, v, score, last, blob) in enumerate(
                zip(
                    *(archive.cells.tolist(), archive.visits.tolist(), archive.scores.tolist()),
                    *(archive.last_steps.tolist(), archive.blobs.view(np.uint64).ravel().tolist()),
                    strict=True,
                )
            )
        }
        assert found == classic.cells


def test_frontier_prefers_what_was_seldom_seen():
    engine = Trace(3)
    archive = archive_of(engine, cell_of, seed=4)
    with pytest.raises(ValueError, match="empty"):
        archive.sample_frontier(1)
    archive.maybe_add_many([1, 2, 2, 2, 5], [0, 1, 1, 2, 2], np.zeros(5), 1)
    weights = 1 / np.sqrt(np.array([2.0, 4.0, 2.0]))
    drawn = np.bincount(archive.sample_frontier(30_000), minlength=3) / 30_000
    assert drawn == pytest.approx(weights / weights.sum(), abs=0.012)


def test_restored_archive_draws_and_keeps_alike():
    one, two = Trace(7, seed=3), Trace(7, seed=3)
    given = {"seed": 2, "score": "value", "max_cells": 9}
    here, there = (archive_of(engine, cell_of, **given) for engine in (one, two))
    for _ in run(one, here, 30):
        two.step()
    file = io.BytesIO()
    torch.save(here.state_dict(), file)
    file.seek(0)
    there.load_state_dict(torch.load(file, weights_only=True))
    for _ in range(20):
        done = one.step()
        two.step()
        for engine, archive in ((one, here), (two, there)):
            archive.observe(engine, None)
            archive.reset(done)
        assert np.array_equal(one.rows, two.rows)
        assert np.array_equal(here.placed, there.placed)
    assert here.metrics() == there.metrics()
    with pytest.raises(CheckpointError, match="max_cells"):
        archive_of(one, cell_of, score="value", max_cells=2).load_state_dict(here.state_dict())


def prospector_node(seen):
    return np.rint(seen.obs(22) * 31)


@pytest.mark.parametrize(
    ("env", "cell"),
    [
        ("SkullKingFlat-v0", lambda v: v["round"] * 100 + v["bid"]),
        ("Prospector-v0", prospector_node),
    ],
)
def test_real_rows_go_on_from_where_they_were(env, cell):
    n = 4
    engine, twin = fastenv.make_engine(env, n), fastenv.make_engine(env, n)
    archive = archive_of(engine, cell, max_cells=30, p_archive=1.0)
    engine.reset_many(seeds=1)
    twin.reset_many(seeds=9)
    rng, lane_of = np.random.default_rng(0), {}
    for _ in range(30):
        engine.step_many(fastenv.sample_legal(engine.mask, rng))
        before = engine.get_states()
        archive.observe(engine, None)
        for slot, blob in enumerate(archive.blobs):
            lane_of.setdefault(slot, blob.tobytes())
        assert engine.get_states().tobytes() == before.tobytes()
    assert len(archive.cells) > 1
    flags = np.array([1, 0, 1, 0], np.uint8)
    engine.terminated[:], engine.reward[:] = flags, 7.0
    archive.reset(np.array([0, 2]))
    assert archive.placed.tolist() == [True, False, True, False]
    assert (engine.terminated == flags).all()
    assert (engine.reward == 7.0).all()
    known = set(lane_of.values())
    assert all(blob.tobytes() in known for blob in engine.get_state([0, 2]))
    twin.set_state(None, engine.get_state())
    for _ in range(5):
        assert np.array_equal(engine.mask, twin.mask)
        actions = fastenv.sample_legal(engine.mask, rng)
        for each in (engine, twin):
            each.step_many(actions)
        assert np.array_equal(engine.obs, twin.obs)


@pytest.mark.parametrize("afresh", [False, True])
def test_the_clock_of_an_episode_goes_on_or_begins_anew(afresh):
    engine = fastenv.make_engine("Prospector-v0", 4)
    archive = archive_of(engine, prospector_node, p_archive=1.0, afresh=afresh)
    engine.reset_many(seeds=1)
    for _ in range(3):
        engine.step_many(fastenv.sample_legal(engine.mask, 0))
    archive.observe(engine, None)
    kept = archive.blobs.copy()
    archive.reset(np.arange(4))
    found = engine.get_states()
    assert set(found["ep_length"]) == {0 if afresh else 3}
    assert not found["ep_return"].any() or not afresh
    assert np.array_equal(archive.blobs, kept)


def test_mistakes_are_named():
    for field, value in (("max_cells", 0), ("p_archive", 1.5), ("p_archive", -0.5), ("afresh", 1)):
        with pytest.raises(ConfigError, match=rf"^{field}={value} is not possible"):
            StateArchive.OPTIONS(cell="room", **{field: value})


def swarm_of(engine, **options):
    stages = [
        QuestStage(quest="room", when={"room": 3}),
        QuestStage(quest="rich", when={"value": 4, "x": 0}),
    ]
    quests = make(QuestReward, engine, stages=stages)
    return quests, archive_of(engine, cell_of, {"q": quests}, swarm="q", **options)


def test_a_swarm_sends_every_lane_to_the_first_state_behind_a_quest():
    engine = Trace(7, seed=1)
    quests, archive = swarm_of(engine, p_archive=0)
    sent, kept, furthest = np.zeros(7, bool), None, -1
    for _ in range(300):
        done = engine.step()
        quests.observe(engine, None)
        archive.observe(engine, None)
        running = np.setdiff1d(np.arange(7), done)
        ahead = [q for q in range(2) if q > furthest and quests.completed[running, q].any()]
        if ahead:
            furthest = ahead[-1]
            first = running[np.flatnonzero(quests.completed[running, furthest])[0]]
            kept, sent = engine.rows[first], np.zeros(7, bool)
        before = engine.rows.copy()
        archive.reset(done)
        quests.reset(done)
        for lane in done:
            goes = kept is not None and not sent[lane]
            assert engine.rows[lane] == (kept if goes else before[lane])
            assert archive.placed[lane] == goes
            sent[lane] |= goes
    assert furthest == 1
    assert sent.all()


def test_a_swarm_resumes_where_it_was():
    engine = Trace(7, seed=1)
    quests, archive = swarm_of(engine, p_archive=0.5)
    for _ in run(engine, quests, 20):
        archive.observe(engine, None)
    assert archive.waiting.any()
    again_quests, again = swarm_of(Trace(7), p_archive=0.5)
    again_quests.load_state_dict(quests.state_dict())
    again.load_state_dict(archive.state_dict())
    assert again.furthest == archive.furthest
    np.testing.assert_array_equal(again.milestone, archive.milestone)
    np.testing.assert_array_equal(again.waiting, archive.waiting)


def test_lanes_of_a_swarm_have_luck_of_their_own():
    engine = fastenv.make_engine("Prospector-v0", 8)
    engine.reset_many(seeds=3)
    stage = QuestStage(quest="begun", when={"time_remaining": [0, None]})
    quests = make(QuestReward, engine, stages=[stage])
    given = {"swarm": "q", "p_archive": 0}
    archive = archive_of(engine, lambda seen: np.zeros(8), {"q": quests}, **given)
    engine.step_many(fastenv.sample_legal(engine.mask, rng=0))
    quests.observe(engine, None)
    archive.observe(engine, None)
    archive.reset(np.arange(8))
    rows = engine.get_state(np.arange(8)).view(engine.spec.state_dtype)[:, 0]
    assert archive.placed.all()
    assert len(np.unique(rows["rng"])) == 8
    others = [name for name in rows.dtype.names if name != "rng"]
    assert [name for name in others if (rows[name] != rows[name][:1]).any()] == []
