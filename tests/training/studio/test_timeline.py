"""The timeline alone: what is kept of it, and what it refuses."""

import numpy as np
import pytest

import fastenv
from training.studio import timeline as module
from training.studio.messages import Refusal
from training.studio.timeline import Timeline, take


@pytest.fixture
def engine():
    engine = fastenv.make_engine("Prospector-v0", 1)
    engine.reset_many(seeds=[1])
    return engine


def twin():
    other = fastenv.make_engine("Prospector-v0", 1)
    other.reset_many(seeds=0)
    return other


@pytest.mark.parametrize("spacing", [1, 5])
def test_every_row_comes_back_in_every_branch(engine, monkeypatch, spacing):
    timeline = Timeline(twin(), engine.get_states([0]))
    timeline._spacing = spacing
    seen = {(0, 0): engine.get_states([0])}
    rng = np.random.default_rng(4)

    def on(count):
        for _ in range(count):
            action = int(rng.choice(np.flatnonzero(engine.mask[0][:60])))
            take(engine, ((0, action),))
            timeline.add(engine.get_states([0]), ((0, action),), float(engine.reward[0]))
            seen[timeline.branch, timeline.index] = engine.get_states([0])

    on(13)
    for index in (4, 7):
        timeline.go(0, index)
        engine.set_states(timeline.row(), [0], trusted=True)
        on(9)
    assert [branch.first for branch in timeline.branches] == [0, 4, 7]
    for (branch, index), row in seen.items():
        timeline.go(branch, index)
        assert timeline.row().tobytes() == row.tobytes(), (branch, index)


def test_it_is_bounded(engine, monkeypatch):
    monkeypatch.setattr(module, "MAX_DECISIONS", 2)
    monkeypatch.setattr(module, "MAX_BRANCHES", 2)
    row = engine.get_states([0])
    timeline = Timeline(twin(), row)
    timeline.add(row, ((0, 6),), 1.0, "mark")
    timeline.go(0, 0)
    timeline.add(row, ((0, 6),), 0.0)
    timeline.go(0, 0)
    with pytest.raises(Refusal, match="2 decisions"):
        timeline.add(row, ((0, 6),), 0.0)
    monkeypatch.setattr(module, "MAX_DECISIONS", 9)
    with pytest.raises(Refusal, match="2 branches"):
        timeline.add(row, ((0, 6),), 0.0)


def test_rewards_are_drawn_as_few_sums(engine):
    row = engine.get_states([0])
    timeline = Timeline(twin(), row)
    for _ in range(700):
        timeline.add(row, ((0, 6),), 0.5)
    rewards = timeline.message()["branches"][0]["rewards"]
    assert len(rewards) <= module.BUCKETS
    assert sum(rewards) == pytest.approx(350)
