"""Every member of an ensemble learns what a trainer alone would."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fastenv.errors import ConfigError
from tests.bits import equal
from tests.slow import late
from tests.tables import walk
from tests.training.ppo.conftest import DEVICES, make_on, sections
from tests.training.ppo.engines import Counting
from training.ensemble.options import EnsembleConfig, EnsembleRun
from training.ensemble.trainer import EnsembleTrainer
from training.ppo.trainer import TrainingError
from training.run.envs import make_engine

LANES = 16
SMALL = {
    "n_steps": 16,
    "batch_size": 64,
    "n_epochs": 2,
    "net_arch": (32, 16),
    "lr_schedule": "linear",
    "activation": "tanh",
    "precision": "fp32",
}
SEEDS = (3, 11, 4)
ENV = "SkullKingWorker-v0"
OPTIONS = {"opponents": "rule_medium"}


def ensemble(engine=None, device="cpu", seeds=SEEDS, total=10**5, own=None, **options):
    engine = engine or make_engine(ENV, len(seeds) * LANES, OPTIONS)
    ppo, native = sections(**{**SMALL, **options})
    how = {"num_envs": engine.num_envs, "total_steps": total * len(seeds), "device": device}
    members = EnsembleConfig(seeds=seeds, **(own or {}))
    return EnsembleTrainer(EnsembleRun(ppo=ppo, native=native, ensemble=members, **how), engine)


def alone(seed, device="cpu", total=10**5, **options):
    engine, both = make_engine(ENV, LANES, OPTIONS), sections(**{**SMALL, **options})
    return make_on(engine, *both, total_steps=total, seed=seed, device=device)


def largest_difference(one, state):
    other = one.net.state_dict()
    assert list(other) == list(state)
    return max(float((other[name].cpu() - state[name].cpu()).abs().max()) for name in other)


CASES = [
    {},
    {"ent_coef": 0.01, "ent_schedule": "linear"},
    {"lr_schedule": "linear", "trunk": "shared"},
    {"value_loss": "huber", "activation": "relu", "target_kl": 0.002, "micro_batch": 16},
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("case", [CASES[0], *late(*CASES[1:])], ids=range(len(CASES)))
def test_members_equal_single_runs(case, device):
    """Four iterations; learning rate, entropy weight and clip range differ between members."""
    own = {
        "learning_rates": (3e-4, 1e-3, 5e-4),
        "ent_coefs": (0.0, 0.02, 0.01),
        "clip_ranges": (0.2, 0.1, 0.3),
    }
    every = ensemble(own=own, device=device, **case)
    names = {"learning_rates": "learning_rate", "ent_coefs": "ent_coef"}
    names["clip_ranges"] = "clip_range"
    singles = [
        alone(seed, device=device, **{**case, **{names[key]: own[key][k] for key in own}})
        for k, seed in enumerate(SEEDS)
    ]
    for _ in range(4):
        together = every.iterate()["train"]["members"]
        for k, single in enumerate(singles):
            found = single.iterate()["train"]
            for name in ("loss", "kl", "entropy", "grad_norm", "explained_variance"):
                assert together[str(k + 1)][name] == pytest.approx(found[name], abs=2e-5)
            assert together[str(k + 1)]["minibatches"] == found["minibatches"]
            state = every.net.state_dict()[str(k + 1)]
            assert largest_difference(single, state) < 1e-5, (case, SEEDS[k])
            block = slice(k * LANES, (k + 1) * LANES)
            assert torch.equal(every.rollout.action[:, block], single.rollout.action)
    a, b = (every.net.state_dict()[number] for number in "12")
    assert any(not torch.equal(a[name], b[name]) for name in a)


def test_a_kl_limit_stops_one_member_and_not_the_others():
    every = ensemble(target_kl=0.01, own={"learning_rates": (1e-5, 0.05, 1e-5)}, n_epochs=3)
    norms, step = {number: [] for number in "123"}, every.optimizer.step

    def look(member, watch=None):
        norm = step(member, watch)
        norms[str(member + 1)].append(float(norm))
        return norm

    every.optimizer.step = look
    found = every.iterate()["train"]["members"]
    counts = [found[number]["minibatches"] for number in "123"]
    assert counts[0] == counts[2] == 3 * 16 * LANES // 64
    assert counts[1] < counts[0]
    assert len(norms["2"]) == counts[1] - 1  # the minibatch that is beyond it takes no step
    for number in "123":
        assert found[number]["grad_norm"] == pytest.approx(np.mean(norms[number]))


def test_cut_off_episodes_get_the_value_of_their_own_member():
    """Lanes in turn terminate and are cut off, so every member has rows among those cut off."""
    every = ensemble(Counting(3 * 4), batch_size=64)
    every.start()
    every.collect()
    every.bootstrap()
    boot = every.rollout.bootstrap
    for k in range(3):
        lane = 4 * k + 1
        last = torch.tensor([[float(lane), 5.0]])
        expected = every.net.value_of(k, last)
        torch.testing.assert_close(boot[4, lane], expected[0], rtol=0, atol=1e-6)
    assert (boot[:, 0] == 0).all()


def test_metrics_of_members_are_those_of_their_own_lanes():
    every = ensemble(Counting(3 * 4), batch_size=64)
    found = every.iterate()["train"]
    for number in "123":
        episode = found["members"][number]["episode"]
        assert episode["n"] == 4 * 3  # 16 decisions of four lanes, five an episode
        assert episode["length_mean"] == 5
    assert found["members"]["2"]["seed"] == SEEDS[1]
    mean = np.mean([found["members"][number]["loss"] for number in "123"])
    assert found["loss"] == pytest.approx(mean)


def test_a_member_can_be_left_out_and_the_others_learn_the_same():
    pair = ensemble(seeds=SEEDS[:2])
    every = ensemble()
    for _ in range(2):
        pair.iterate()
        every.iterate()
    for number in "12":
        a, b = (t.net.state_dict()[number] for t in (pair, every))
        assert max(float((a[name] - b[name]).abs().max()) for name in a) < 1e-5


def test_bf16_learns_close_to_fp32():
    first = ensemble(seeds=(1, 2), precision="bf16").iterate()["train"]
    assert np.isfinite(first["loss"])
    assert first["kl"] < 0.01


def test_loss_that_is_not_finite_names_the_member():
    every = ensemble()
    every.iterate()
    with torch.no_grad():
        every.net.views(1)[-1].fill_(float("nan"))
    with pytest.raises(TrainingError, match="member 2"):
        every.iterate()


@walk(
    ("options", "says"),
    [
        ({"recurrent": "gru", "seq_len": 4}, "native.recurrent='gru'"),
        ({"attention": 8}, "native.attention=8"),
        ({"batch_size": 768}, "ppo.batch_size=768"),
    ],
)
def test_what_an_ensemble_cannot_do_is_refused(options, says):
    with pytest.raises(ConfigError, match=says):
        ensemble(**options)


def test_lanes_must_be_shared_out_evenly():
    with pytest.raises(ConfigError, match="num_envs=16"):
        ensemble(make_engine(ENV, 16, OPTIONS))


def test_layers_of_members_are_those_of_single_runs():
    every, single = ensemble(diagnostics=1), alone(SEEDS[1], diagnostics=1)
    together = every.iterate()["train"]["members"]["2"]["layers"]
    found = single.iterate()["train"]["layers"]
    assert together.keys() == found.keys()
    for name, figures in found.items():
        assert together[name] == pytest.approx(figures, rel=1e-3, abs=1e-6), name


def test_looking_at_layers_changes_nothing_that_members_learn():
    with_, without = ensemble(diagnostics=1), ensemble(diagnostics=0)
    for _ in range(2):
        assert "layers" in with_.iterate()["train"]["members"]["1"]
        assert "layers" not in without.iterate()["train"]["members"]["1"]
    assert equal(with_.state().model, without.state().model)


class Board(Counting):
    """Boards whose cells have three values, which a network sees as planes."""

    spec = SimpleNamespace(has_tau=False, obs_bounds=(0, 2))
    obs_shape, obs_dtype = (5, 5), np.dtype(np.int8)

    def write(self, out):
        out[:] = self.time[:, None, None] % 3


def test_boards_are_seen_by_every_member():
    every = ensemble(Board(3 * 4), batch_size=64)
    every.start()
    obs = every.rollout.obs[-1]
    for k in range(3):
        alone_ = every.net.member(k)(obs[4 * k : 4 * k + 4])[1]
        together = every.net.value(obs, state=every.net.initial_state(12))[4 * k : 4 * k + 4]
        torch.testing.assert_close(alone_, together, rtol=0, atol=1e-6)
    every.iterate()
    assert every.steps == 16 * 12
