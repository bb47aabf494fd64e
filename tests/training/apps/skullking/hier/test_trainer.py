"""Manager and Worker in turns: who learns next, from what, and what is told of the rounds."""

import numpy as np
import pytest
import torch

from tests.tables import walk
from training.apps.skullking.hier.manager_env import ManagerEnv
from training.apps.skullking.hier.options import HierConfig
from training.apps.skullking.hier.trainer import RoundStats
from training.players.bots import Bot
from training.run.envs import make_engine
from training.run.weights import digest


def hashes(trainer):
    return {name: digest(t.net.state_dict()) for name, t in trainer.trainers.items()}


def test_one_learns_while_the_other_stands_still(make_trainer):
    trainer = make_trainer()
    trainer.worker_plays = True
    versions, policies, before = {}, [], hashes(trainer)
    for _ in range(14):
        details = trainer.iterate()
        policies.append(details["policy"])
        after = hashes(trainer)
        changed = {name for name in after if after[name] != before[name]}
        assert changed == {details["policy"]}
        before = after
        versions.setdefault(details["stage"], set()).add(tuple(details["partner"].items()))
        other = "manager" if details["policy"] == "worker" else "worker"
        partner = details["partner"]
        expected = trainer.trainers[other].iteration
        assert partner["version"] == expected
        assert partner["name"] == (other if expected else "none")
    assert all(len(found) == 1 for found in versions.values())  # no stage mixes two versions
    assert policies[:3] == ["worker", "worker", "worker"]  # the warm start is over with the third
    assert policies[3] == "manager"
    assert list(versions) == list(range(1, len(versions) + 1))
    assert trainer.steps == 256 * policies.count("worker") + 64 * policies.count("manager")


def test_worker_plays_the_managers_cards_once_it_may(make_trainer):
    trainer = make_trainer(hier={"warm_start": 0, "ratio": 1.0})
    while trainer.stage < 2:
        details = trainer.iterate()
    assert details["partner"] == {"name": "rule_hard", "version": 0}
    assert isinstance(trainer.manager_env.cards, Bot)
    trainer.worker_plays = True
    while trainer.stage < 4:
        details = trainer.iterate()
    assert details["partner"]["name"] == "worker"
    assert trainer.manager_env.cards is trainer.partners["worker"]


def test_no_round_of_a_stage_has_a_bid_of_an_older_manager(make_trainer):
    """Behind the start of every stage of the Worker, its lanes have just been dealt."""
    fresh = []
    trainer = make_trainer(hier={"ratio": 8.0})
    reset_lanes = trainer.trainers["worker"].reset_lanes

    def followed():
        reset_lanes()
        engine = trainer.engines[0]
        rows = engine.get_states()
        lanes = trainer.goals.lanes["manager"]
        fresh.append(((rows["tricks"] == 0).all(), len(lanes)))
        seen = trainer.trainers["worker"].rollout.obs[-1]
        np.testing.assert_array_equal(seen, engine.encode_obs_many())

    trainer.trainers["worker"].reset_lanes = followed
    stages = []
    while len(fresh) < 3:
        details = trainer.iterate()
        stages.append((details["policy"], details["stage"]))
    assert fresh == [(True, 8)] * 3  # half of the lanes once there is a Manager
    assert len({stage for policy, stage in stages if policy == "worker"}) == 4


def test_goals_of_all_sources_are_counted(make_trainer):
    trainer = make_trainer()
    found = [trainer.iterate() for _ in range(8)]
    first, last = found[0], [d for d in found if d["policy"] == "worker"][-1]
    assert first["by_goal"]["manager"]["n"] == 0
    assert all(last["by_goal"][source]["n"] for source in ("manager", "estimate", "uniform"))
    assert sum(g["n"] for g in last["by_goal"].values()) == sum(last["by_round"]["n"])


@pytest.mark.parametrize("mode", ["round", "game"])
def test_manager_episodes_are_bids_or_games(make_trainer, mode):
    lengths = []
    trainer = make_trainer(
        lambda engine, *_: (
            lengths.extend(engine.ep_length[engine.terminated != 0].tolist())
            if engine is trainer.manager_env
            else None
        ),
        hier={
            "warm_start": 0,
            "mode": mode,
            "manager": {"n_steps": 20, "num_envs": 8, "batch_size": 80},
        },
    )
    trainer.worker_plays = True
    while trainer.trainers["manager"].iteration < 1:
        trainer.iterate()
    assert lengths == ([1] * 160 if mode == "round" else [10] * 16)


def test_round_weights_of_one_over_n_give_every_round_as_many_decisions(make_trainer):
    config = {
        "num_envs": 128,
        "ppo": {"n_steps": 64, "batch_size": 8192},
        "hier": {"manager": {"n_steps": 64}},
    }
    weights = {"env_options": {"round_weights": [1 / cards for cards in range(1, 11)]}}
    trainer = make_trainer(**config, **weights)
    shares = np.array(trainer.iterate()["by_round"]["decisions"])
    assert abs(shares - 0.1).max() < 0.04
    episodes = make_trainer(**config)
    shares = np.array(episodes.iterate()["by_round"]["decisions"])
    assert shares[9] > 5 * shares[0]
    late = make_trainer(**config, **weights)  # a phase curriculum keeps the weights
    late.engines[0].configure("allowed_phases", ["late"])
    shares = np.array(late.iterate()["by_round"]["decisions"])
    assert shares[:6].sum() == 0
    assert abs(shares[6:] - 0.25).max() < 0.06


def test_partners_do_not_draw_from_the_generators_of_the_training(make_trainer):
    trainer = make_trainer()
    trainer.worker_plays = True
    states = {}
    for _ in range(6):
        before = {n: t._sampler.generator.get_state() for n, t in trainer.trainers.items()}
        details = trainer.iterate()
        states = {n: t._sampler.generator.get_state() for n, t in trainer.trainers.items()}
        other = "manager" if details["policy"] == "worker" else "worker"
        assert torch.equal(before[other], states[other])
        assert not torch.equal(before[details["policy"]], states[details["policy"]])


def test_kl_and_clip_fraction_of_every_epoch_are_logged(make_trainer):
    options = {"n_epochs": 3, "target_kl": None, "learning_rate": 1e-2}
    trainer = make_trainer(hier={"worker": options})
    found = details = trainer.iterate()
    for name in ("kl", "clipfrac"):
        values = details["by_epoch"][name]
        assert len(values) == 3
        assert np.mean(values) == pytest.approx(found["train"][name])
        assert values[2] > values[0]  # away from the policy that played
    stopped = make_trainer(hier={"worker": options | {"target_kl": 1e-6}})
    found = details = stopped.iterate()
    assert found["train"]["minibatches"] < 12
    assert len(details["by_epoch"]["kl"]) == 1 + (found["train"]["minibatches"] - 1) // 4


# -- turns -----------------------------------------------------------------------------------------


@walk("rollouts", [(512, 96), (512, 512), (64, 1000), (1000, 1)])
@walk("ratio", [5.0, 1.0, 2.5])
def test_decisions_keep_their_ratio_after_the_warm_start(rollouts, ratio):
    config = HierConfig(warm_start=3000, ratio=ratio)
    worker, manager = rollouts
    steps, order = {"worker": 0, "manager": 0}, []
    for _ in range(5000):
        name = config.choose_policy(**steps)
        steps[name] += worker if name == "worker" else manager
        order.append(name)
        if steps["manager"]:
            behind = steps["worker"] - config.warm_start - ratio * steps["manager"]
            assert -ratio * manager < behind <= worker
    first = order.index("manager")
    assert first * worker > config.warm_start >= (first - 1) * worker
    assert {"worker", "manager"} == set(order)


# -- figures by round, phase and goal, against loops over lanes ------------------------------------


SEED = 13


def make_worker(n):
    return make_engine("SkullKingWorker-v0", n, {"goal_mode": "estimate"})


def make_manager(n, mode):
    env = "SkullKingFlat-v0" if mode == "game" else "SkullKingWorker-v0"
    engine = make_engine(env, n, {"goal_mode": "manager"})
    return ManagerEnv(engine, make_engine("SkullKingManager-v0", 1))


@walk("make", [make_worker, lambda n: make_manager(n, "round"), lambda n: make_manager(n, "game")])
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
    engine, stats, rng = make_worker(256), RoundStats(10), np.random.default_rng(SEED)
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
