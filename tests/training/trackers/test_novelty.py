"""Bonuses for what is new: against loops over lanes, and found in the rewards that are stored."""

import numpy as np
import pytest
import torch
from training.callbacks.trackers.novelty import Moments

from fastenv import sample_legal
from fastenv.errors import ConfigError
from tests.bits import equal
from tests.slow import late
from tests.training.dqn.test_trainer import make
from tests.training.ppo.conftest import sections
from tests.training.ppo.engines import Bytes, Corridor, Counting
from tests.training.trackers.trace import SIZES, Trace
from training.callbacks.trackers import (
    EpisodicMemory,
    RandomDistillation,
    Trackers,
    VisitCounter,
    options,
)
from training.ppo.trainer import PPOTrainer
from training.run.checkpoint import CheckpointError
from training.run.envs import make_engine


def walk(engine, trackers, steps, seed=0):
    """Step an engine at random with trackers; yield after each step."""
    rng = np.random.default_rng(seed)
    engine.reset_many(seeds=1)
    trackers(engine, None, engine.obs, engine.mask)
    for _ in range(steps):
        engine.step_many(rng.integers(2, size=engine.num_envs))
        own = engine.reward.copy()
        last, ended = engine.obs.copy(), (engine.terminated | engine.truncated) > 0
        last[ended] = engine.final_obs[ended]
        trackers(engine, np.zeros(engine.num_envs, int), engine.obs, engine.mask)
        yield own, last


def test_moments_are_those_of_all_rows():
    rows = torch.randn(50, 3, dtype=torch.float64) * 7 + 2
    moments = Moments(3)
    for part in rows.split([1, 9, 20, 20]):
        moments.add(part)
    torch.testing.assert_close(moments.mean, rows.mean(0))
    torch.testing.assert_close(moments.var, rows.var(0, correction=0))


@pytest.mark.parametrize("lanes", [1, 7])
def test_memory_is_that_of_a_loop_over_lanes(lanes):
    engine = Corridor(lanes)
    memory = EpisodicMemory(engine, weight=0.5, size=4, threshold=0.3, slots=5)
    trackers = Trackers(engine, {"memory": memory})
    held, seen = [[] for _ in range(lanes)], []
    for own, last in walk(engine, trackers, 150):
        seen.append(last)
        every = np.concatenate(seen).astype(np.float64)
        mean, std = every.mean(0), np.sqrt(every.var(0) + 1e-8)
        ended = (engine.terminated | engine.truncated) > 0
        for lane in range(lanes):
            x = np.clip((last[lane] - mean) / std, -5, 5).astype(np.float32)
            with torch.no_grad():
                found = memory._embedding.net(torch.from_numpy(x)).numpy()
            nearest = min((np.linalg.norm(found - h) for h in held[lane]), default=np.inf)
            assert engine.reward[lane] - own[lane] == pytest.approx(
                0.5 * min(2.0, nearest / 0.3), abs=2e-3
            )
            if nearest >= 0.3:
                held[lane] = [*held[lane], found][-5:]
            if ended[lane]:
                held[lane] = []
    assert trackers.metrics()["memory/bonus"] > 0
    assert "x 5 x 4 numbers" in trackers.notes[0]


@pytest.mark.parametrize("lanes", [1, 7])
def test_error_of_distillation_is_divided_by_the_deviation_of_its_returns(lanes):
    engine = Corridor(lanes)
    options = {"size": 4, "gamma": 0.9, "share": 1.0, "anneal_steps": 999, "warm_up": 6}
    rnd = RandomDistillation(engine, weight=2.0, **options)
    returns, every, steps = np.zeros(lanes), [], 0
    predict, errors = rnd._predictor.forward, []

    def watch(x):
        found = predict(x)
        target = rnd._embedding.net(x)
        errors.append((found - target).square().mean(1).detach().numpy().astype(np.float64))
        return found

    rnd._predictor.forward = watch
    for own, _ in walk(engine, Trackers(engine, {"rnd": rnd}), 60):
        returns = 0.9 * returns + errors[-1]
        every.extend(returns)
        weight = 2.0 * max(0.0, 1 - steps / 999)
        paid = steps >= 6 * lanes
        expected = paid * weight * errors[-1] / np.sqrt(np.var(every) + 1e-8)
        np.testing.assert_allclose(engine.reward - own, expected, rtol=2e-4, atol=1e-5)
        steps += lanes
    assert (errors[-1].mean() < errors[0].mean()) or lanes == 1


@pytest.mark.parametrize("lanes", [*late(1), 8])
def test_the_first_bonus_is_of_the_size_of_those_that_follow(lanes):
    engine = make_engine("Prospector-v0", lanes)
    rnd = RandomDistillation(engine)
    rng, paid = np.random.default_rng(0), []
    engine.reset_many(seeds=1)
    before = {name: value.clone() for name, value in rnd._predictor.state_dict().items()}
    for step in range(300):
        if step == 128:
            assert equal(rnd._predictor.state_dict(), before)  # nothing is learnt unpaid
        actions = sample_legal(engine.mask, rng)
        engine.step_many(actions)
        rnd.observe(engine, actions)
        paid.append(float(rnd.bonus.mean()))
    assert not any(paid[:128])
    assert 0 < max(paid[128:]) < 10 * np.mean(paid[128:])


def test_what_was_never_seen_is_newer_than_what_was():
    engine = Corridor(8)
    rnd = RandomDistillation(engine, learning_rate=1e-3, share=0.5, warm_up=20)
    rng = np.random.default_rng(0)
    known = np.eye(9, dtype=np.float32)[:4]
    for _ in range(400):
        rnd.observe(engine, np.zeros(8), known[rng.integers(4, size=8)])
    new = np.eye(9, dtype=np.float32)[[0, 1, 2, 3, 6, 6, 7, 7]]
    rnd.observe(engine, np.zeros(8), new)
    assert rnd.bonus[4:].min() > 10 * rnd.bonus[:4].max()


@pytest.mark.parametrize("lanes", SIZES)
def test_moves_between_places_are_paid_by_their_number(lanes):
    engine = Trace(lanes)
    how = {"place": "room", "num_places": 4, "transition_bonus": 0.6, "transition_limit": 9}
    visits = VisitCounter(engine, "x", 5, inverse_bonus=0.3, **how)
    visits.reset(np.arange(lanes))
    counts, cells = {}, {}
    before = [engine.info["room"][lane] for lane in range(lanes)]
    for _ in range(60):
        done = engine.step()
        visits.observe(engine, np.zeros(lanes))
        for lane in range(lanes):
            seen = engine.last(lane)
            room, cell = seen["room"], seen["x"]
            cells[cell] = cells.get(cell, 0) + 1
            expected = 0.3 / cells[cell]
            if before[lane] >= 0 and room >= 0 and before[lane] != room:
                k = counts[before[lane], room] = counts.get((before[lane], room), 0) + 1
                expected += 0.6 / k if k <= 9 else 0.0
            before[lane] = room
            assert visits.bonus[lane] == pytest.approx(expected, abs=1e-12)
        visits.reset(done)
        for lane in done:
            before[lane] = engine.info["room"][lane]


def all_trackers(engine):
    return Trackers(
        engine,
        {
            "visits": VisitCounter(engine, lambda seen: seen.obs(0).astype(int), count_bonus=0.1),
            "rnd": RandomDistillation(engine, size=8, warm_up=0),
            "memory": EpisodicMemory(engine, size=8),
        },
    )


@pytest.mark.parametrize("kind", ["dqn", "dqn recurrent", "ppo"])
def test_bonuses_are_in_the_rewards_that_are_stored(kind):
    """T14: engine's reward, then every bonus, then stored; components are logged."""
    engine = Counting(4)
    trackers, expected = all_trackers(engine), []

    def on_step(engine, actions, obs, mask):
        own = engine.reward.copy()
        trackers(engine, actions, obs, mask)
        if actions is not None:
            bonuses = [t.bonus for t in trackers._named.values()]
            assert all((b > 0).any() for b in bonuses)
            expected.append((own + sum(bonuses)).astype(np.float32))

    if kind == "ppo":
        ppo, native = sections(n_steps=16, batch_size=32, net_arch=(16,), precision="fp32")
        trainer = PPOTrainer(engine, ppo, native, total_steps=999, device="cpu", on_step=on_step)
        trainer.iterate()
        stored = trainer.rollout.reward
    else:
        cell = {"recurrent": "gru", "seq_len": 4, "burn_in": 0} if "recurrent" in kind else {}
        trainer = make(engine, on_step=on_step, learning_starts=2000, **cell)
        trainer.iterate()
        stored = trainer.replay.reward[: trainer.replay.size]
    np.testing.assert_array_equal(stored, np.array(expected))
    paid = {k: v for k, v in trackers.metrics().items() if k.endswith("/bonus")}
    assert set(paid) == {"visits/bonus", "rnd/bonus", "memory/bonus"}
    own = np.array(expected).mean() - sum(paid.values())
    assert own == pytest.approx(np.array([1, 2, 3, 4, 5] * 32)[: len(expected)].mean(), rel=1e-3)


def test_saved_bonuses_go_on_exactly():
    runs = []
    for saves in (False, True):
        engine = Counting(5)
        trackers, found = all_trackers(engine), []
        for k, (own, _) in enumerate(walk(engine, trackers, 40)):
            found.append(engine.reward - own)
            if saves and k == 19:
                state = trackers.state_dict()
                others = all_trackers(engine)
                others.load_state_dict(state)
                trackers._named.update(others._named)
                trackers._resetting = list(others._resetting)
        state = trackers.state_dict()
        runs.append((torch.from_numpy(np.array(found)), state["rnd"], state["memory"]))
    assert equal(*runs)


def test_state_of_another_tracker_is_refused():
    engine = Counting(5)
    rnd, memory = RandomDistillation(engine, size=8), EpisodicMemory(engine, size=8)
    for ours, theirs in ((rnd, memory), (memory, EpisodicMemory(engine, size=4))):
        with pytest.raises(CheckpointError, match="state of another tracker"):
            ours.load_state_dict(theirs.state_dict())


def test_frames_of_bytes_are_numbers_too():
    engine = Bytes(3)
    rnd = RandomDistillation(engine)
    for _ in walk(engine, Trackers(engine, {"rnd": rnd}), 5):
        assert np.isfinite(rnd.bonus).all()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"rnd": {"share": 0}}, "trackers.rnd: share=0"),
        ({"rnd": {"weight": -1}}, "trackers.rnd: weight=-1"),
        ({"memory": {"threshold": 0}}, "trackers.memory: threshold=0"),
        ({"memory": {"slots": "many"}}, "trackers.memory.slots='many'"),
        ({"rnd": {"anneal_steps": 0}}, "trackers.rnd: anneal_steps=0"),
        ({"rnd": {"warm_up": -1}}, "trackers.rnd: warm_up=-1"),
        ({"rnd": {"seed": 3}}, "'trackers.rnd.seed' is not an option"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(given, says):
    with pytest.raises(ConfigError, match=says.replace("(", r"\(")):
        options.build(Counting(2), given, seed=0)
