"""bf16 and the choice of a precision. A processor without bf16 emulates it: slow, but true."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fastenv.errors import ConfigError
from tests.tables import walk
from tests.training.ppo.conftest import collect, tensors_of
from tests.training.ppo.engines import Bandit
from tests.training.ppo.test_trainer import max_ratio_error
from training.nets import precision
from training.nets.distribution import log_prob, masked_log_probs
from training.ppo.rollout import MinibatchPart
from training.run.envs import make_engine


def test_ratio_of_bf16_is_one_at_the_first_minibatch(make_trainer):
    trainer = make_trainer(
        make_engine("SkullKingWorker-v0", 32),
        net_arch=(64, 64),
        precision="bf16",
    )
    for _ in range(2):
        collect(trainer)
        assert max_ratio_error(trainer) < 2e-2
        assert trainer.rollout.logp.dtype == torch.float32
        trainer.iterate()
    assert all(p.dtype == torch.float32 for p in trainer.net.parameters())


def gathered(trainer):
    """The observations of three decisions, as a pass is given them."""
    return trainer.rollout.gather(MinibatchPart(torch.arange(3), torch.zeros(3), 3)).obs


def test_rounded_observations_are_what_autocast_makes_of_them(make_trainer):
    """The update of bf16 is the same, bit for bit, from float32 observations."""
    ours, theirs = (
        make_trainer(make_engine("SkullKingFlat-v0", 8), precision="bf16", attention=4)
        for _ in range(2)
    )
    theirs.rollout.round = lambda: None
    for trainer in (ours, theirs):
        trainer.iterate()
        assert gathered(trainer).dtype == (torch.bfloat16 if trainer is ours else torch.float32)
    for a, b in zip(ours.net.parameters(), theirs.net.parameters(), strict=True):
        assert torch.equal(a, b)
    ours.collect()  # what was rounded is gone with its rollout
    assert gathered(ours).dtype == torch.float32


def test_pieces_of_bf16_are_larger(make_trainer):
    sizes = {}
    for name in ("fp32", "bf16"):
        trainer = make_trainer(
            Bandit(64), precision=name, n_steps=64, batch_size=4096, net_arch=(1024,), n_epochs=1
        )
        trainer.iterate()
        sizes[name] = trainer.minibatches._per_piece
    assert sizes == {"fp32": 512 * torch.get_num_threads(), "bf16": 4096}


@pytest.mark.slow
def test_bf16_learns_what_fp32_learns(make_trainer):
    """T20, on the bandit: returns of three seeds within two standard errors."""
    means = {}
    for name in ("fp32", "bf16"):
        means[name] = []
        for seed in range(3):
            trainer = make_trainer(
                Bandit(32),
                seed=seed,
                batch_size=128,
                learning_rate=0.01,
                precision=name,
            )
            rewards = []
            for _ in range(20):
                trainer.iterate()
                rewards.append(float(trainer.rollout.reward.mean()))
            means[name].append(np.mean(rewards[-5:]))
    error = np.sqrt(sum(np.var(x, ddof=1) / 3 for x in means.values())) + 1e-3
    assert abs(np.mean(means["fp32"]) - np.mean(means["bf16"])) < 2 * error + 0.005


def test_auto_measures_only_where_the_answer_is_open(monkeypatch):
    cpu = torch.device("cpu")
    asked = []

    def seconds(name):
        asked.append(name)
        return {"bf16": 1.0, "fp32": 2.0}[name]

    monkeypatch.setattr(precision, "cpu_has_bf16", lambda: False)
    assert precision.choose("auto", cpu, seconds) == "fp32"
    assert not asked
    monkeypatch.setattr(precision, "cpu_has_bf16", lambda: True)
    assert precision.choose("auto", cpu, seconds) == "bf16"
    assert asked == ["bf16", "fp32"] * precision.TURNS
    assert precision.choose("auto", cpu, lambda name: float(name == "bf16")) == "fp32"


def test_a_moment_of_other_work_does_not_decide(monkeypatch):
    monkeypatch.setattr(precision, "cpu_has_bf16", lambda: True)
    busy = iter([9.0, 2.0, 1.0, 2.0, 9.0, 2.0])  # bf16 and fp32 in turns
    assert precision.choose("auto", torch.device("cpu"), lambda _name: next(busy)) == "bf16"


def test_time_of_others_does_not_count(monkeypatch):
    monkeypatch.setattr(precision, "TURN_S", 0.0)
    assert precision.cpu_seconds(lambda: time.sleep(0.2)) < 0.1
    monkeypatch.setattr(precision, "TURN_S", 0.01)
    calls = []
    assert precision.cpu_seconds(lambda: calls.append(sum(range(20_000)))) > 0
    assert len(calls) > 1


@walk(("major", "chosen"), [(7, "fp16"), (8, "bf16")])
def test_auto_takes_bf16_from_cuda_devices_that_do_not_emulate_it(monkeypatch, major, chosen):
    device = torch.device("cuda")
    for name, value in {
        "is_available": True,
        "current_device": 0,
        "get_device_properties": SimpleNamespace(major=major),
        "_check_bf16_tensor_supported": True,  # it can be had everywhere, slowly
    }.items():
        monkeypatch.setattr(torch.cuda, name, lambda *_, value=value: value)
    assert precision.choose("auto", device, float) == chosen
    if chosen == "fp16":
        with pytest.raises(ConfigError, match=r"this CUDA device .* has no bfloat16"):
            precision.check("bf16", device)


@walk("name", ["f032", "auto", ["fp32"], None])
def test_a_precision_that_there_is_not_is_refused(name):
    """A checkpoint names one, and a stranger may have changed it."""
    with pytest.raises(ConfigError, match="must be one of fp32, bf16, fp16"):
        precision.Precision(name, torch.device("cpu"))


def test_auto_measures_a_real_minibatch(make_trainer, monkeypatch):
    monkeypatch.setattr(precision, "cpu_has_bf16", lambda: True)
    trainer = make_trainer(Bandit(16), precision="auto")
    trainer.iterate()
    assert trainer.chosen_precision in ("fp32", "bf16")


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["bf16", "fp16"])
def test_cuda_learns_the_bandit(make_trainer, name):
    trainer = make_trainer(
        Bandit(64),
        batch_size=256,
        learning_rate=0.01,
        device="cuda",
        precision=name,
    )
    for _ in range(25):
        trainer.iterate()
    assert float(trainer.rollout.reward.mean()) > 0.7


@pytest.mark.gpu
def test_cuda_collects_and_updates_as_the_cpu_does(make_trainer):
    """With the actions of the CPU's rollout, values and parameters agree to rounding."""
    ours = make_trainer(make_engine("SkullKingWorker-v0", 16))
    theirs = make_trainer(make_engine("SkullKingWorker-v0", 16), device="cuda")
    ours.start()
    theirs.start()
    ours.collect()
    actions = iter(ours.rollout.action)

    def draw(logits, mask):
        action = next(actions).cuda()
        return action, log_prob(masked_log_probs(logits, mask), action)

    theirs._sampler.draw = draw
    theirs.collect()
    orders = [torch.randperm(256) for _ in range(2)]
    for trainer in (ours, theirs):
        left = iter(orders)
        trainer.minibatches.permutation = lambda d=trainer.device, it=left: next(it).to(d)
        trainer.bootstrap()
        trainer.advantages()
        trainer.update(trainer_objective(trainer))
    for a, b in zip(tensors_of(ours), tensors_of(theirs), strict=True):
        torch.testing.assert_close(a, b.cpu(), rtol=1e-4, atol=1e-4)
    for a, b in zip(ours.net.parameters(), theirs.net.parameters(), strict=True):
        torch.testing.assert_close(a, b.cpu(), rtol=0, atol=1e-4)


def trainer_objective(trainer):
    from training.ppo.loss import Objective

    return Objective.of(trainer.ppo, trainer.native)
