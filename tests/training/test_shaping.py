"""Potential shaping: what it adds, that it leads nowhere by itself, and that it is learnt from."""

import json
import shutil
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fastenv import BatchEngine
from fastenv.errors import ConfigError
from tests.race import without_scalars
from tests.slow import late
from tests.tables import walk
from tests.toy import RaceGame, WalkGame
from tests.training.ppo.conftest import make_on
from training.callbacks.shaping import Potential, Shaping, make_shaping
from training.dqn.options import DQNConfig, DQNRun
from training.dqn.trainer import DQNTrainer
from training.games.drmario.goals import fewer_viruses
from training.ppo.options import NativeConfig, PPOConfig
from training.run.callback import EngineStep
from training.run.config import RunConfig
from training.run.envs import make_engine

SEED = 20_260
TINY = {
    "env": "DrMarioPlacement-v0",
    "env_options": {"level": 0},
    "num_envs": 8,
    "total_steps": 512,
    "torch_threads": 1,
    "deterministic": True,
    "ppo": {"n_steps": 16, "batch_size": 64, "n_epochs": 2, "net_arch": [16], "gamma": 0.997},
    "native": {"trunk": "shared"},
    "shaping": {"phi": "viruses", "kappa": 4},
    "checkpoints": {"every": 256},
    "evaluation": {"during": "off", "episodes": 4},
}


def place(rows):
    """Where the first runner of each race is."""
    return rows["place"][:, 0]


def random_legal(engine, rng):
    return np.array([rng.choice(np.flatnonzero(mask)) for mask in engine.mask], np.int32)


# -- what is added ---------------------------------------------------------------------------------


def test_shaping_telescopes_to_the_first_potential_exactly():
    """Whatever is done: with gamma**tau, the sum is D * Phi(last) - Phi(first), Phi(over) = 0.

    All numbers are whole multiples of powers of two, so that not a bit is rounded anywhere.
    """
    rng, half, n = np.random.default_rng(SEED), Fraction(1, 2), 6
    engine, plain = (BatchEngine(RaceGame(goal=8), n, opponent="random") for _ in range(2))
    engine.configure("limit", 18)
    for each in (engine, plain):
        each.reset_many(seeds=SEED)
    potential = Potential(engine, place, kappa=4.0, gamma=0.5)
    potential.begin()
    first = [Fraction(int(p), 4) for p in place(engine.get_states())]
    total, wrong = [Fraction(0)] * n, [Fraction(0)] * n
    frames, decisions = [0] * n, [0] * n
    ends, astray = [0, 0], 0
    for _ in range(120):
        actions = random_legal(engine, rng)
        plain.set_states(engine.get_states())
        plain.set_seating(engine.get_seating())
        plain.step_many(actions, autoreset=False)
        last = place(plain.get_states())
        engine.step_many(actions)
        added = potential.step(actions)
        for lane in range(n):
            paid = Fraction(float(added[lane]))
            total[lane] += half ** frames[lane] * paid
            wrong[lane] += half ** decisions[lane] * paid
            frames[lane] += int(engine.tau[lane])
            decisions[lane] += 1
            if engine.terminated[lane] or engine.truncated[lane]:
                kept = 0 if engine.terminated[lane] else Fraction(int(last[lane]), 4)
                expected = half ** frames[lane] * kept - first[lane]
                assert total[lane] == expected, f"seed {SEED}, lane {lane}"
                astray += wrong[lane] != half ** decisions[lane] * kept - first[lane]
                ends[int(engine.truncated[lane])] += 1
                first[lane] = Fraction(int(place(engine.get_states([lane]))[0]), 4)
                total[lane], wrong[lane], frames[lane], decisions[lane] = half * 0, half * 0, 0, 0
    assert min(ends) > 5
    assert astray  # with a discount of decisions something is left over


def test_viruses_are_the_potential_of_dr_mario():
    engine, rng = make_engine("DrMarioPlacement-v0", 8, {"level": 2}), np.random.default_rng(SEED)
    engine.reset_many(seeds=SEED)
    potential = Potential(engine, fewer_viruses, 3.0, 0.999)
    potential.begin()
    assert (potential.values == -12 / 3).all()
    removed = over = 0
    for _ in range(150):
        before = engine.info["viruses"].astype(float)
        actions = random_legal(engine, rng)
        engine.step_many(actions)
        ended = (engine.terminated | engine.truncated) != 0
        left = np.where(ended, 0.0, engine.info["viruses"].astype(float))
        expected = np.float32(0.999) ** engine.tau * -left / 3 + before / 3
        np.testing.assert_allclose(potential.step(actions), expected, rtol=1e-6)
        removed += (before > left)[~ended].sum()
        over += ended.sum()
    assert removed
    assert over


# -- who learns from it ----------------------------------------------------------------------------


def follow(shaping, log):
    """Return what a trainer calls: shaping, and a note of the rewards before and after."""

    def on_step(engine, actions, obs, mask):
        before = engine.reward.copy()
        shaping.step(None, EngineStep(engine, actions, obs, mask))
        if actions is not None:
            log.append((before, engine.reward.copy()))

    return on_step


def goal_distance(rows):
    return (rows["position"] - rows["goal"]).astype(float)


def test_shaping_is_in_the_reward_that_ppo_stores():
    """T14."""
    engine, log = BatchEngine(WalkGame(), 4), []
    shaping = Shaping([Potential(engine, goal_distance, kappa=2.0, gamma=0.9)])
    config = PPOConfig(n_steps=24, batch_size=32, net_arch=(8,), gamma=0.9, precision="fp32")
    trainer = make_on(engine, config, NativeConfig(), on_step=follow(shaping, log))
    shaping.begin_iteration(None)
    trainer.iterate()
    stored = trainer.rollout.reward.numpy()
    np.testing.assert_array_equal(stored, np.stack([after for _, after in log]))
    said = shaping.record()["shaping"]
    env = np.stack([before for before, _ in log])
    assert said["r_env"] == pytest.approx(env.mean())
    assert said["r_total"] == pytest.approx(stored.mean())
    assert said["r_shape"] == pytest.approx((stored - env).mean(), abs=1e-6)
    assert said["r_shape"] != 0


def test_shaping_is_in_the_reward_that_dqn_stores():
    """T14, where decisions last."""
    engine, log = BatchEngine(without_scalars(goal=8), 4, opponent="random"), []
    shaping = Shaping([Potential(engine, place, kappa=8.0, gamma=0.95)])
    small = {"learning_starts": 4000, "iteration_steps": 32, "gamma": 0.95, "net_arch": (8,)}
    dqn = DQNConfig(capacity=4096, precision="fp32", num_quantiles=3, **small)
    config = DQNRun(dqn=dqn, num_envs=4, total_steps=10**6, device="cpu")
    trainer = DQNTrainer(config, [engine])
    trainer.on_step = follow(shaping, log)
    trainer.iterate()
    stored = trainer.replay.reward[: trainer.replay.size].numpy()
    np.testing.assert_array_equal(stored, np.stack([after for _, after in log]).astype("f4"))
    assert (stored != np.stack([before for before, _ in log])).any()


@pytest.mark.parametrize("who", ["native", *late("dqn")])
def test_a_run_with_shaping_goes_on_exactly(train, tmp_path, who):
    changed = {"trainer": who}
    if who == "dqn":
        dqn = {"capacity": 1024, "batch_size": 32, "learning_starts": 64, "iteration_steps": 16}
        changed |= {"ppo": {}, "native": {}, "dqn": dqn | {"net_arch": [16], "gamma": 0.997}}
    runs, last = tmp_path / "runs", "checkpoints/ckpt_000000000512"
    assert train(runs, "straight", config=TINY | changed) == 0
    shutil.copytree(runs / "straight", runs / "halves", symlinks=True)
    shutil.rmtree(runs / "halves" / last)
    assert train(runs, "halves", "--resume", config=None) == 0
    ours, theirs = (
        torch.load(runs / name / last / "model.pt", weights_only=True)["policy"]
        for name in ("halves", "straight")
    )
    assert all(torch.equal(ours[name], x) for name, x in theirs.items())
    lines = (runs / "straight/metrics.jsonl").read_text().splitlines()
    said = [json.loads(line)["shaping"] for line in lines]
    assert all(s["r_total"] == pytest.approx(s["r_env"] + s["r_shape"], abs=1e-6) for s in said)
    assert any(s["r_shape"] for s in said)
    resumed = (runs / "halves/metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["shaping"] for line in resumed] == said


# -- what is refused -------------------------------------------------------------------------------


@walk(
    ("changed", "says"),
    [
        (
            {"shaping": {"phi": "viruses", "gamma": 0.99}},
            "shaping.gamma=0.99 is not possible: shaping.gamma must be the discount of the "
            "learner, 0.997, or null, which stands for it.",
        ),
        (
            {"shaping": {"phi": "moon"}},
            "shaping.phi='moon' is not possible: shaping.phi must be",
        ),
        ({"shaping": {"phi": "viruses", "kappa": 0}}, "shaping.kappa=0.0"),
        ({"shaping": {"kappa": 4}}, "shaping.phi must be given."),
        ({"env": "SkullKingWorker-v0", "env_options": {}}, "shaping.phi='viruses'"),
        ({"trainer": "sb3", "native": {}}, "trainer='sb3' is not possible: trainer must be native"),
    ],
)
def test_shaping_that_cannot_be_is_refused_in_one_sentence(train, tmp_path, capsys, changed, says):
    assert train(tmp_path / "runs", "bad", config=TINY | changed) == 2
    *_, error = capsys.readouterr().err.splitlines()  # a game may be compiled first
    assert error.startswith("error: ")
    assert says in error
    assert not (tmp_path / "runs").exists()


def test_shaping_needs_lanes_of_a_scripted_game():
    config = RunConfig.from_mapping(TINY)
    with pytest.raises(ConfigError, match="scripted players with shaping"):
        make_shaping(config, [SimpleNamespace(spec=SimpleNamespace(has_tau=True))])
