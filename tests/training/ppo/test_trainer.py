"""The iteration: what is stored, what truncation is worth, schedules, timers and refusals."""

import json
import re
import shutil

import numpy as np
import pytest
import torch

from fastenv.errors import ConfigError
from tests.slow import diagonal
from tests.tables import walk
from tests.training.ppo.conftest import collect, sections, tensors_of
from tests.training.ppo.engines import Bytes, Corridor, Counting, Steady
from training.nets.actor_critic import CardAttention, CardHead
from training.nets.distribution import log_prob, masked_log_probs
from training.ppo import rollout as ppo_rollout
from training.ppo import trainer as ppo_trainer
from training.ppo.loss import KL
from training.ppo.options import NativeConfig, PPOConfig
from training.ppo.trainer import TrainingError
from training.run.envs import make_engine
from training.run.options import decay


def test_the_rollout_holds_what_the_engine_showed(make_trainer):
    trainer = make_trainer(Counting(6))
    for k in range(3):
        trainer.iterate()
        rollout = trainer.rollout
        ticks = (np.arange(16 * k, 16 * k + 17) % 5)[:, None].repeat(6, 1)
        assert (rollout.obs[..., 1].numpy() == ticks).all()
        assert (rollout.obs[..., 0].numpy() == np.arange(6)).all()
        assert (rollout.reward.numpy() == ticks[:-1] + 1).all()
        assert (rollout.done.numpy() == (ticks[:-1] == 4)).all()
        # Cut-off lanes are the odd ones; they are worth their last observation, not the next first.
        last = torch.tensor([[lane, 5.0] for lane in range(6)])
        with torch.no_grad():
            worth = trainer.net(last)[1]
        boot = np.where((ticks[:-1] == 4) & (np.arange(6) % 2 == 1), worth.numpy(), 0)
        assert k or np.isfinite(boot).all()
        assert ((rollout.bootstrap.numpy() != 0) == (boot != 0)).all()
    assert trainer.steps == 3 * 16 * 6


def test_values_of_cut_off_observations_are_those_before_the_update(make_trainer):
    trainer = make_trainer(Counting(4))
    trainer.start()
    trainer.collect()
    trainer.bootstrap()
    with torch.no_grad():
        expected = trainer.net(torch.tensor([[1.0, 5.0], [3.0, 5.0]]))[1]
    torch.testing.assert_close(trainer.rollout.bootstrap[4, [1, 3]], expected)
    assert trainer.rollout.bootstrap.count_nonzero() == 3 * 2


@pytest.mark.parametrize("engine", [Counting, Bytes])
def test_slots_bring_the_same_rollout_as_direct_writes(make_trainer, monkeypatch, engine):
    """What is done on CUDA, without CUDA."""
    direct = make_trainer(engine(6))
    monkeypatch.setattr(ppo_trainer, "RolloutLanes", ppo_rollout.StagedRolloutLanes)
    staged = make_trainer(engine(6))
    # As if the observations lay on the device too: they go through the slots.
    for _ in range(2):
        direct.iterate()
        staged.iterate()
    for ours, theirs in zip(tensors_of(direct), tensors_of(staged), strict=True):
        assert torch.equal(ours, theirs)


def test_only_cuda_is_copied_to_and_from_without_waiting(make_trainer, monkeypatch):
    """Pinned memory and events are CUDA's: elsewhere nobody would know when a copy is done."""
    asked, copy = [], torch.Tensor.copy_

    def spy(self, source, non_blocking=False):
        asked.append(non_blocking)
        return copy(self, source, non_blocking)

    monkeypatch.setattr(ppo_trainer, "RolloutLanes", ppo_rollout.StagedRolloutLanes)
    monkeypatch.setattr(torch.Tensor, "copy_", spy)
    trainer = make_trainer(Counting(6))
    trainer.start()
    trainer.collect()
    assert asked
    assert not any(asked)


def test_on_step_sees_actions_and_may_change_reward_and_mask(make_trainer):
    seen = []

    def bonus(engine, actions, obs, mask):
        seen.append(actions)
        mask[:, 1] = 0
        if actions is not None:
            assert (actions == 0).all()
            engine.reward += 10

    trainer = make_trainer(Steady(4), on_step=bonus)
    trainer.iterate()
    assert seen[0] is None
    assert len(seen) == 17
    assert (trainer.rollout.reward == 11).all()
    assert not trainer.rollout.mask[..., 1].any()


@walk("rules", [False, True])
def test_truncation_is_bootstrapped(make_trainer, rules):
    """T7: reward 1 for ever is worth 1 / (1 - gamma) although a clock cuts it; less if it ended."""
    engine = Steady(16)
    engine.ended_by_rules = rules
    trainer = make_trainer(
        engine, gamma=0.9, learning_rate=0.01, n_epochs=4, batch_size=128, gae_lambda=0.9
    )
    for _ in range(60):
        trainer.iterate()
    with torch.no_grad():
        value = float(trainer.net(torch.ones(1, 2))[1])
    if rules:
        assert 1 < value < (1 - 0.9**8) / 0.1
    else:
        assert value == pytest.approx(10.0, rel=0.02)


def test_ratio_is_one_at_the_first_minibatch(make_trainer):
    trainer = make_trainer(make_engine("SkullKingWorker-v0", 32), net_arch=(64, 64), n_epochs=1)
    for _ in range(3):
        collect(trainer)
        worst = max_ratio_error(trainer)
        assert worst < 1e-6
        trainer.iterate()
    assert max_ratio_error(trainer) > 1e-4  # the measure sees a policy that has moved


def max_ratio_error(trainer):
    """The largest |ratio - 1| over all samples, evaluated as the update evaluates them."""
    worst = 0.0
    with torch.no_grad():
        for parts in trainer.minibatches.epoch():
            for piece in map(trainer.rollout.gather, parts):
                with trainer.precision.autocast:
                    logits, _ = trainer._evaluate(piece)
                log_probs = masked_log_probs(logits, piece.samples.mask)
                change = log_prob(log_probs, piece.samples.action) - piece.samples.logp
                worst = max(worst, float((change.exp() - 1).abs().max()))
    return worst


def test_pieces_do_not_change_the_update(make_trainer):
    """Micro-batches differ from whole minibatches by rounding only."""
    small, whole = (
        make_trainer(make_engine("SkullKingWorker-v0", 16), batch_size=128, micro_batch=k)
        for k in (16, 128)
    )
    assert (small.minibatches._per_piece, whole.minibatches._per_piece) == (16, 128)
    small.iterate()
    whole.iterate()
    for ours, theirs in zip(small.net.parameters(), whole.net.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)


def test_advantages_are_normalised_over_each_minibatch(make_trainer):
    trainer = make_trainer(Corridor(8))
    collect(trainer)
    found = []
    original = trainer._gradient

    def spy(parts, objective):
        found.append(torch.cat([part.adv for part in parts]))
        return original(parts, objective)

    trainer._gradient = spy
    trainer.update(ppo_trainer.Objective.of(trainer.ppo, trainer.native))
    assert len(found) == 8
    for adv in found:
        torch.testing.assert_close(adv.mean(), torch.tensor(0.0), atol=1e-6, rtol=0)
        torch.testing.assert_close(adv.std(), torch.tensor(1.0))


def test_norms_of_gradients_are_a_mean_over_the_steps(make_trainer):
    """The minibatch that ends an update early is none."""
    trainer = make_trainer(Corridor(8), learning_rate=0.5, target_kl=1e-4)
    norms, step = [], trainer._optimizer_step

    def look(watch=None):
        norm = step(watch)
        norms.append(float(norm))
        return norm

    trainer._optimizer_step = look
    found = trainer.iterate()["train"]
    assert 0 < len(norms) == found["minibatches"] - 1 < 7
    assert found["grad_norm"] == pytest.approx(np.mean(norms))


def test_an_update_without_a_step_has_no_norm_of_gradients(make_trainer):
    trainer = make_trainer(Corridor(8), target_kl=1e-4)
    gradient = trainer._gradient

    def far(pieces, objective):
        terms = gradient(pieces, objective)
        terms[KL] = 1.0
        return terms

    trainer._gradient = far
    found = trainer.iterate()["train"]
    assert (found["minibatches"], trainer.updates, found["grad_norm"]) == (1, 0, 0.0)


def test_schedules():
    assert [decay(2.0, "linear", x) for x in (0, 0.25, 1, 2)] == [2.0, 1.5, 0.0, 0.0]
    assert decay(2.0, "constant", 0.7) == 2.0
    halves = [decay(2.0, "cosine", x) for x in (0, 0.5, 1)]
    assert halves == pytest.approx([2.0, 1.0, 0.0])


def test_the_rate_follows_its_schedule_and_the_range_stays(make_trainer):
    trainer = make_trainer(
        Corridor(4),
        total_steps=4 * 64,
        lr_schedule="linear",
        learning_rate=0.01,
    )
    records = [trainer.iterate()["train"] for _ in range(4)]
    assert [r["lr"] for r in records] == pytest.approx([0.01, 0.0075, 0.005, 0.0025])
    assert [r["clip_range"] for r in records] == [0.2] * 4


def test_a_record_is_plain_json(make_trainer):
    record = make_trainer(Corridor(4)).iterate()
    assert json.loads(json.dumps(record)) == record
    assert set(record["phases"]) == {"env", "collect", "update"}


def test_timers_split_an_iteration(make_trainer):
    record = make_trainer(Corridor(4), timers=True).iterate()
    phases = record["phases"]
    assert {p for p, s in phases.items() if s > 0} == set(phases)


def test_nothing_global_is_drawn_from(make_trainer):
    before = torch.get_rng_state()
    legacy = np.random.get_state()[1].copy()  # noqa: NPY002
    make_trainer(Corridor(4)).iterate()
    assert torch.equal(torch.get_rng_state(), before)
    assert (np.random.get_state()[1] == legacy).all()  # noqa: NPY002


# -- refusals --------------------------------------------------------------------------------------


def test_a_minibatch_that_does_not_divide_is_refused(make_trainer):
    with pytest.raises(ConfigError, match=r"ppo.batch_size=48 .* = 128"):
        make_trainer(Corridor(8), batch_size=48)


IMPOSSIBLE = {
    PPOConfig: [
        *(("n_steps", 0), ("learning_rate", 0.0), ("gamma", 1.5), ("clip_range", -0.1)),
        *(("net_arch", ()), ("activation", "elu"), ("lr_schedule", "step"), ("target_kl", 0.0)),
        *(("precision", "int8"), ("batch_size", 0), ("n_epochs", 0), ("max_grad_norm", 0.0)),
    ],
    NativeConfig: [
        *(("trunk", "both"), ("adam_eps", 0.0), ("micro_batch", -1), ("recurrent", "rnn")),
        *(("compile", "on"), ("hindsight", "on")),
        *(("seq_len", 0), ("attention", -1), ("ent_schedule", "step"), ("heads", "many")),
    ],
}


@walk("section, name, value", [(s, *pair) for s, pairs in IMPOSSIBLE.items() for pair in pairs])
def test_impossible_options_are_refused_by_name(section, name, value):
    with pytest.raises(ConfigError, match=rf"^{re.escape(section.SECTION)}{name}="):
        section(**{name: value})


@walk("options", [{"seq_len": 12}, {"seq_len": 128, "batch_size": 64}])
def test_impossible_chunks_are_refused(options):
    with pytest.raises(ConfigError, match=r"^native\.seq_len="):
        checked(n_steps=128, recurrent="gru", **options)


def checked(**options):
    """Check two sections with each other."""
    ppo, native = sections(**options)
    native.check_with(ppo)


def test_a_minibatch_of_one_sample_is_refused():
    """Its advantage has no deviation to be normalised by."""
    with pytest.raises(ConfigError, match=r"ppo\.batch_size=1 "):
        checked(batch_size=1)
    checked(batch_size=2)


@walk("options", [{"heads": "phase"}, {"heads": "cards"}, {"attention": 8}])
def test_a_network_that_does_not_fit_the_tier_is_refused(make_trainer, options):
    with pytest.raises(ConfigError, match=r"this game does not show|actions here do not play"):
        make_trainer(Corridor(4), **options)


def test_a_device_or_precision_that_is_not_there_is_refused(make_trainer):
    with pytest.raises(ConfigError, match=r"^ppo\.precision='fp16' .* choose bf16 or fp32"):
        make_trainer(Corridor(4), precision="fp16")
    if not torch.cuda.is_available():
        with pytest.raises(ConfigError, match="device='cuda': this machine has none"):
            make_trainer(Corridor(4), device="cuda")


def test_a_loss_that_is_not_finite_stops_the_training(make_trainer):
    def poison(engine, actions, obs, mask):
        if trainer.iteration == 1:
            engine.reward[0] = np.nan

    trainer = make_trainer(Corridor(4), on_step=poison)
    trainer.iterate()
    with pytest.raises(TrainingError, match=r"iteration 2: nothing of this iteration is saved"):
        trainer.iterate()
    assert trainer.iteration == 1


def test_lanes_without_a_legal_action_stop_the_training(make_trainer):
    def block(engine, actions, obs, mask):
        mask[0] = 0

    with pytest.raises(TrainingError, match="no legal action"):
        make_trainer(Corridor(4), on_step=block).iterate()


# -- networks --------------------------------------------------------------------------------------


@walk(
    ("options", "tier"),
    diagonal(
        [
            {"trunk": "shared", "activation": "relu"},
            {"attention": 8, "activation": "gelu"},
            {"attention": 8, "recurrent": "gru", "recurrent_size": 8, "seq_len": 8},
        ],
        ["Flat", "Manager", "Worker", "Ability"],
    ),
)
def test_every_tier_trains_with_every_network(make_trainer, tier, options):
    heads = "phase" if tier in ("Flat", "Ability") else "single"
    trainer = make_trainer(make_engine(f"SkullKing{tier}-v0", 8), heads=heads, **options)
    before = {name: p.detach().clone() for name, p in trainer.net.named_parameters()}
    trainer.iterate()
    for name, new in trainer.net.named_parameters():
        # A round is one bid for the Manager: there is never a state to learn from.
        if tier != "Manager" or "weight_hh" not in name:
            assert not torch.equal(before[name], new), name


def test_the_phase_selects_the_head():
    from training.nets.actor_critic import ActorCritic
    from training.nets.layout import ObservationParts, ObsLayout

    layout = ObsLayout(obs_size=5, num_actions=3, parts=ObservationParts(phase=(1, 2)))
    net = ActorCritic(layout, *sections(net_arch=(8,), heads="phase"))
    obs = torch.randn(2, 5)
    obs[:, 1:3] = torch.eye(2)
    logits = net(obs)[0]
    expected = net.policy_head(net.policy_tower.layers(obs)).view(2, 2, 3)
    assert torch.equal(logits[0], expected[0, 0])
    assert torch.equal(logits[1], expected[1, 1])
    logits[1].sum().backward()
    assert (net.policy_head.weight.grad[:3] == 0).all()


def test_a_card_has_the_same_score_in_every_slot():
    torch.manual_seed(0)
    head = CardHead((1, 4, 3), 6, 5)
    cards, latent = torch.randn(4, 3), torch.randn(1, 6)
    cards[2] = 0  # an empty slot
    order = [3, 2, 0, 1]
    obs, mixed = (
        torch.cat((torch.ones(1), row.flatten(), torch.ones(2))).unsqueeze(0)
        for row in (cards, cards[order])
    )
    without = head.out(latent)
    scores, elsewhere = head(latent, obs) - without, head(latent, mixed) - without
    torch.testing.assert_close(scores[:, order], elsewhere[:, :4])
    assert scores[0, 2] == scores[0, 4] == 0
    assert len(scores[0, [0, 1, 3]].unique()) == 3
    nothing = torch.zeros(1, 15)
    torch.testing.assert_close(head(latent, nothing), without)


def test_attention_does_not_mind_the_order_of_cards_nor_empty_slots():

    torch.manual_seed(0)
    attention = CardAttention(((1, 4, 3),), 6)
    cards = torch.randn(4, 3)
    cards[2] = 0
    obs = torch.cat((torch.ones(1), cards.flatten())).unsqueeze(0)
    mixed = torch.cat((torch.ones(1), cards[[2, 3, 0, 1]].flatten())).unsqueeze(0)
    summary = attention(obs)[:, obs.shape[1] :]
    torch.testing.assert_close(summary, attention(mixed)[:, obs.shape[1] :])
    assert attention(torch.zeros(1, 13)).isfinite().all()


# -- torch.compile ---------------------------------------------------------------------------------


# The compiler's own modules use what torch has deprecated.
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_compiled_and_plain_agree(make_trainer):
    """The same after three iterations, up to rounding, while the schedule moves; compiled once."""
    options = {"ent_coef": 0.01, "ent_schedule": "linear"}
    torch._dynamo.reset()
    plain, compiled = (
        make_trainer(make_engine("SkullKingWorker-v0", 8), total_steps=512, compile=how, **options)
        for how in ("off", "default")
    )
    for _ in range(3):
        ours, theirs = plain.iterate(), compiled.iterate()
        assert torch.equal(plain.rollout.action, compiled.rollout.action)
    assert ours["train"] == pytest.approx(theirs["train"], rel=1e-3, abs=1e-4)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 3


def test_a_failing_compiler_is_left_aside(make_trainer, monkeypatch):
    def broken(function, **_):
        def call(*args, **kwargs):
            raise RuntimeError("no compiler here")

        return call

    monkeypatch.setattr(torch, "compile", broken)
    trainer = make_trainer(Corridor(4), compile="default")
    with pytest.warns(RuntimeWarning, match="no compiler here"):
        trainer.iterate()
    trainer.iterate()
    assert not any("_orig_mod" in name for name in trainer.state().model["policy"])


class NoWayBack(torch.autograd.Function):
    """What a compiler makes that fails when it is to compile the backward pass."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        raise RuntimeError("no way back")


def test_a_compiler_that_fails_in_the_backward_pass_is_left_aside(make_trainer, monkeypatch):
    def broken(function, **how):
        def compiled(*args, **kwargs):
            first, *rest = function(*args, **kwargs)
            return NoWayBack.apply(first), *rest

        return compiled

    plain = make_trainer(Corridor(4))
    plain._closed_form = False
    monkeypatch.setattr(torch, "compile", broken)
    trainer = make_trainer(Corridor(4), compile="default")
    with pytest.warns(RuntimeWarning, match="no way back"):
        trainer.iterate()
    plain.iterate()
    for ours, theirs in zip(trainer.net.parameters(), plain.net.parameters(), strict=True):
        assert torch.equal(ours, theirs)
