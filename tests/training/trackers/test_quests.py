import numpy as np
import pytest
import torch

from fastenv.errors import ConfigError
from tests.training.trackers.trace import SIZES, Trace, make, run
from training.callbacks.trackers import QuestReward, QuestStage

STAGES = [
    QuestStage(quest="door", when={"room": 1}, reward=0.1),
    QuestStage(quest="door", when={"room": 2, "x": (1, 3)}, reward=0.3),
    QuestStage(quest="key", when={"flags": 4}, reward=1.7),
    QuestStage(quest="rich", when={"value": (2.0, np.inf)}, reward=0.7),
    QuestStage(quest="rich", when={"value": (3.0, np.inf), "flags": (8, 15)}, reward=0.01),
]


class ClassicQuests:
    """The quests of one environment."""

    def __init__(self):
        self.progress = {"door": 0, "key": 0, "rich": 0}
        self.finished = []

    def step(self, at):
        doors = [at["room"] == 1, at["room"] == 2 and 1 <= at["x"] <= 3]
        keys = [at["flags"] == 4]
        riches = [at["value"] >= 2, at["value"] >= 3 and 8 <= at["flags"] <= 15]
        gained = 0.0
        for quest, met, rewards in (
            ("door", doors, [0.1, 0.3]),
            ("key", keys, [1.7]),
            ("rich", riches, [0.7, 0.01]),
        ):
            stage = self.progress[quest]
            if stage == len(met):
                continue
            if met[stage]:
                gained += rewards[stage]
                self.progress[quest] += 1
                if stage + 1 == len(met):
                    self.finished.append(quest)
        return gained


@pytest.mark.parametrize("n", SIZES)
def test_rewards_equal_a_loop_over_environments(n):
    engine = Trace(n, seed=n)
    quests = make(QuestReward, engine, stages=STAGES)
    classic, finished = [ClassicQuests() for _ in range(n)], []
    for done in run(engine, quests, 100):
        for lane, one in enumerate(classic):
            assert quests.bonus[lane] == one.step(engine.last(lane))
            assert quests.progress[lane].tolist() == list(one.progress.values())
            finished += one.finished
            one.finished = []
        for lane in done:
            classic[lane] = ClassicQuests()
    counts = {name: x for name, x in quests.metrics().items() if "/" not in name}
    assert counts == {q: finished.count(q) for q in ("door", "key", "rich")}
    assert n == 1 or min(counts.values()) > 0


def test_a_state_is_restored():
    engine = Trace(7)
    quests = make(QuestReward, engine, stages=STAGES)
    for _ in run(engine, quests, 20):
        pass
    assert quests.progress.any()
    bits = torch.zeros(7, dtype=torch.int64)
    for earlier in ({}, {"completed": bits}):  # which older versions saved
        other = make(QuestReward, engine, stages=STAGES)
        other.load_state_dict(quests.state_dict() | earlier)
        assert np.array_equal(other.progress, quests.progress)
        assert np.array_equal(other.finished, quests.finished)


def test_mistakes_are_named():
    engine = Trace(2)
    with pytest.raises(ConfigError, match="'purse'"):
        make(QuestReward, engine, stages=[QuestStage(quest="rich", when={"purse": 2})])
    with pytest.raises(ConfigError, match=r"stages='x' .* at most 255 stages"):
        make(QuestReward, engine, stages=[QuestStage(quest="x", when={"room": 1})] * 256)


def test_first_completions_are_noted_once_and_survive_a_checkpoint():
    engine = Trace(7, seed=2)
    quests, firsts, steps = make(QuestReward, engine, stages=STAGES), {}, 0
    for _ in run(engine, quests, 60):
        steps += 7
        for details in quests.take_news():
            assert details["name"] not in firsts
            quest = quests.quests.index(details["name"])
            lanes = np.flatnonzero(quests.completed[:, quest])
            assert details["lane"] == lanes[0]
            firsts[details["name"]] = details["step"]
            assert details["step"] == steps
    assert firsts
    assert not quests.take_news()
    noted = {k: v for k, v in quests.metrics().items() if k.startswith("first/")}
    assert noted == {f"first/{name}": step for name, step in firsts.items()}
    again = make(QuestReward, Trace(7), stages=STAGES)
    again.load_state_dict(quests.state_dict())
    assert again.metrics() == quests.metrics()


def test_states_without_first_completions_are_read():
    engine = Trace(7, seed=2)
    quests = make(QuestReward, engine, stages=STAGES)
    for _ in run(engine, quests, 60):
        pass
    state = quests.state_dict()
    del state["first_steps"], state["steps"]
    again = make(QuestReward, Trace(7), stages=STAGES)
    again.load_state_dict(state)
    assert again.metrics() == {name: x for name, x in quests.metrics().items() if "/" not in name}
    again.observe(Trace(7, seed=2), None)
    assert not [d for d in again.take_news() if quests.metrics()[d["name"]] > 0]
