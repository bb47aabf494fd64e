"""Figures by round, phase and goal, against loops over lanes."""

import numpy as np
import pytest

from training.apps.skullking.hier.manager_env import ManagerEnv
from training.apps.skullking.hier.trainer import RoundStats
from training.run.envs import make_engine

SEED = 13


def worker(n):
    return make_engine("SkullKingWorker-v0", n, {"goal_mode": "estimate"})


def manager(n, mode):
    env = "SkullKingFlat-v0" if mode == "game" else "SkullKingWorker-v0"
    engine = make_engine(env, n, {"goal_mode": "manager"})
    return ManagerEnv(engine, make_engine("SkullKingManager-v0", 1))


@pytest.mark.parametrize(
    "make", [worker, lambda n: manager(n, "round"), lambda n: manager(n, "game")]
)
def test_counts_add_up_to_the_rounds_that_ended(make):
    n, rng, stats = 32, np.random.default_rng(SEED), RoundStats(10)
    engine = make(n)
    engine.reset_many(seeds=SEED)
    sources = {"even": np.arange(0, n, 2), "odd": np.arange(1, n, 2)}
    rounds, by_source, steps = [], {"even": [], "odd": []}, 25
    for _ in range(steps):
        legal = engine.mask != 0
        engine.step_many(np.where(legal, rng.random(legal.shape), -1).argmax(1))
        stats.add(engine, sources)
        for lane in range(n):
            info = engine.final_info if engine.terminated[lane] else engine.info
            if info["ended_round"][lane]:
                bid, won = int(info["ended_bid"][lane]), int(info["ended_won"][lane])
                rounds.append((int(info["ended_round"][lane]), won - bid))
                by_source["odd" if lane % 2 else "even"].append(won == bid)
    found = stats.record()
    assert sum(found["by_round"]["n"]) == len(rounds)
    assert sum(phase["n"] for phase in found["by_phase"].values()) == len(rounds)
    assert sum(stats.decisions) == steps * n
    for name in ("decisions", "episodes"):
        assert sum(found["by_round"][name]) == pytest.approx(1)
    for number in range(1, 11):
        errors = [error for r, error in rounds if r == number]
        assert found["by_round"]["n"][number - 1] == len(errors)
        if errors:
            hits = [error == 0 for error in errors]
            assert found["by_round"]["hit_rate"][number - 1] == pytest.approx(np.mean(hits))
            missed = found["by_round"]["won_minus_bid"][number - 1]
            assert missed == pytest.approx(np.mean(errors))
    for source, hits in by_source.items():
        expected = {"n": len(hits), "hit_rate": pytest.approx(np.mean(hits))}
        assert found["by_goal"][source] == expected


def test_long_rounds_have_more_of_the_decisions_than_of_the_episodes():
    engine, stats, rng = worker(256), RoundStats(10), np.random.default_rng(SEED)
    engine.reset_many(seeds=SEED)
    for _ in range(60):
        legal = engine.mask != 0
        engine.step_many(np.where(legal, rng.random(legal.shape), -1).argmax(1))
        stats.add(engine)
    found = stats.record()["by_phase"]
    assert found["late"]["decisions"] > found["late"]["episodes"] + 0.05
    assert found["early"]["decisions"] < found["early"]["episodes"]


def test_nothing_happened_is_said_with_none():
    record = RoundStats(10).record()
    assert record["by_round"]["n"] == [0] * 10
    assert record["by_round"]["hit_rate"] == [None] * 10
    assert "by_goal" not in record
