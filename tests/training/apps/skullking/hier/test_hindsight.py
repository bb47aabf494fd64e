"""The modes: their gradients against a slow twin, what they learn from, how they run and resume."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fastenv.errors import ConfigError
from fastenv.skullking.relabel import relabel_bid
from fastenv.skullking.rules import score_round
from fastenv.skullking.tables import Scoring
from tests.skullking.rounds import finished_rounds
from tests.slow import every, together
from tests.tables import walk
from tests.training.left import parameters
from tests.training.ppo.conftest import make_on
from training.apps.skullking.hindsight import MODES
from training.apps.skullking.hindsight.auxiliary import make_run_auxiliary, tricks_log_probs
from training.apps.skullking.hindsight.decode import decoding, expected_points
from training.nets.actor_critic import ActorCritic
from training.nets.layout import obs_layout
from training.players.trained import load
from training.ppo.options import NativeConfig, NativeRun, PPOConfig
from training.run.config import RunConfig
from training.run.envs import make_engine
from training.run.folder import RunFolder

POLICIES = {name: mode.policy for name, mode in MODES.items()}


def run_of(ppo, native):
    """What is read of the options of a run of 16 lanes."""
    about = {"seed": 7, "num_envs": 16, "trackers": {}, "env_options": {}}
    return SimpleNamespace(ppo=ppo, native=native, **about)


def trainer_of(mode, /, *, seed=1, n_epochs=2, device="cpu", **options):
    """A trainer of 16 lanes with a mode, and the mode."""
    policy = POLICIES[mode]
    engine = make_engine(f"SkullKing{policy.capitalize()}-v0", 16, options)
    ppo = PPOConfig(
        n_steps=32,
        batch_size=128,
        n_epochs=n_epochs,
        net_arch=(16,),
        learning_rate=1e-3,
        lr_schedule="linear",
        activation="tanh",
        precision="fp32",
    )
    native = NativeConfig(hindsight=mode)
    hindsight = make_run_auxiliary(run_of(ppo, native), engine)
    how = {"total_steps": 10**5, "seed": seed, "device": device}
    trainer = make_on(engine, ppo, native, auxiliary=hindsight, **how)
    return trainer, hindsight


def collected(mode, /, **options):
    """A trainer with a rollout behind it that the mode has taken in."""
    trainer, hindsight = trainer_of(mode, **options)
    trainer.iterate()
    trainer.collect()
    trainer.bootstrap()
    trainer.advantages()
    hindsight.begin(trainer.rollout, 4)
    return trainer, hindsight


# -- slow twins: one sample at a time, from the formulas of the specification ----------------------


def log_softmax(logits, legal):
    total = sum(logits[k].exp() for k in legal)
    return {k: logits[k] - total.log() for k in legal}


def worker_parts(net, s, i):
    logits, value = net(s.obs[i : i + 1])
    legal = torch.nonzero(s.mask[i]).flatten().tolist()
    return log_softmax(logits[0], legal)[int(s.action[i])], value[0], float(s.ret[i])


def slow_value(net, s, i):
    _, value, ret = worker_parts(net, s, i)
    return 0.25 * (value - ret) ** 2


def slow_sil(net, s, i):
    logp, value, ret = worker_parts(net, s, i)
    return 0.1 * max(0.0, ret - value.item()) * -logp


def slow_is(net, s, i):
    logp, value, ret = worker_parts(net, s, i)
    ratio = min(1.0, np.exp(logp.item() - s.logp[i].item()))
    return 0.1 * ratio * (ret - value.item()) * -logp


def slow_tricks(net, s, i):
    cards, bid = int(s.cards[i]), int(s.bid[i])
    logits = net.auxiliary(s.obs[i : i + 1])[0, 11 * bid : 11 * bid + 11]
    return 0.5 * -log_softmax(logits, range(cards + 1))[int(s.won[i])]


def slow_bid(net, s, i):
    worth = net.auxiliary(s.obs[i : i + 1])[0]
    others = relabel_bid(s.obs[i].numpy(), int(s.cards[i]), int(s.bid[i]), int(s.won[i]))
    return sum((0.5 * (worth[b] - r) ** 2 for b, r in others), start=0.0 * worth[0])


MOVED = {  # the parameters that a mode moves
    "value": {"value_tower", "value_head"},
    "sil": {"policy_tower", "policy_head"},
    "is": {"policy_tower", "policy_head"},
    "tricks": {"policy_tower", "aux_head"},
    "bid": {"policy_tower", "aux_head"},
}
SLOW = {
    "value": slow_value,
    "sil": slow_sil,
    "is": slow_is,
    "tricks": slow_tricks,
    "bid": slow_bid,
}


def gradient(net, loss):
    net.zero_grad(set_to_none=True)
    loss.backward()
    return {n: p.grad.clone() for n, p in net.named_parameters() if p.grad is not None}


@walk("mode", MODES)
def test_gradients_are_those_of_a_loop_over_samples(mode):
    trainer, hindsight = collected(mode)
    net, samples = trainer.net, hindsight._samples
    with torch.no_grad():
        net.value_head.bias.fill_(8.0)  # so that not everything turns out better than expected
    # The same order is drawn again for the twin.
    generator = torch.Generator()
    generator.set_state(hindsight.state_dict()["generator"])
    index = torch.randperm(len(samples[0]), generator=generator).tensor_split(4)[0].tolist()
    ours = gradient(net, hindsight.loss(net, 0))
    parts = [SLOW[mode](net, samples, i) for i in index]
    total = sum(map(len, map(others_of(mode, samples), index)))
    theirs = gradient(net, sum(parts) / total)
    if POLICIES[mode] == "worker":
        better = [samples.ret[i] > net(samples.obs[i : i + 1])[1] for i in index]
        assert 10 < sum(better) < len(index) - 10
    assert ours.keys() == theirs.keys()
    assert {name.split(".")[0] for name, grad in ours.items() if grad.any()} == MOVED[mode]
    assert any(grad.abs().max() > 1e-4 for grad in ours.values())
    for name, grad in ours.items():
        torch.testing.assert_close(grad, theirs[name], rtol=1e-5, atol=1e-6)


def others_of(mode, s):
    """What the mean is over: one term a sample, or one for each other bid."""
    if mode != "bid":
        return lambda i: [i]
    return lambda i: relabel_bid(s.obs[i].numpy(), int(s.cards[i]), int(s.bid[i]), int(s.won[i]))


# -- what they learn from --------------------------------------------------------------------------


@walk("mode", ["value", "sil", "is"])
def test_worker_samples_are_the_finished_rounds_of_the_rollout(mode):
    trainer, hindsight = collected(mode)
    rollout, samples, columns = trainer.rollout, hindsight._samples, hindsight._columns
    found = hindsight._relabel(
        hindsight._rows, rollout.reward.numpy(), rollout.done.numpy(), *columns.values()
    )
    rounds = finished_rounds(RolloutView(rollout, columns))
    assert len(samples.obs) == len(found.place) == sum(map(len, rounds)) > 300
    assert (samples.obs.numpy() == found.obs).all()
    assert (samples.ret.numpy() == found.ret).all()
    for ours, theirs in [
        (samples.action, rollout.action),
        (samples.logp, rollout.logp),
        (samples.mask, rollout.mask[:-1]),
    ]:
        assert torch.equal(ours, theirs.flatten(0, 1)[torch.from_numpy(found.place)])
    assert samples.mask.gather(1, samples.action[:, None]).all()
    assert ((columns["ended_cards"] > 0) == rollout.done.numpy()).all()
    # Columns of another lane or step would give a reached goal other rewards than the engine did.
    before = rollout.obs[:-1].flatten(0, 1).numpy()[found.place]
    reached = (before == found.obs).all(1)
    assert reached.sum() > 30
    assert (rollout.reward.flatten().numpy()[found.place] == found.reward)[reached].all()


class RolloutView:
    """A rollout as the helpers of the game's tests see one."""

    def __init__(self, rollout, columns):
        self.obs, self.reward, self.done = (
            x.numpy() for x in (rollout.obs, rollout.reward, rollout.done)
        )
        self.ended_bid = self.allies_on_track = np.zeros(self.done.shape, np.int32)
        vars(self).update(columns)


@walk("options", [{}, {"mode": "game"}], ids=["rounds", "games"])
def test_manager_samples_are_the_bids_and_what_came_of_them(options):
    trainer, hindsight = collected("tricks", **options)
    rollout, samples = trainer.rollout, hindsight._samples
    assert len(samples.obs) == 32 * 16  # every decision is a bid, every step plays its round
    assert torch.equal(samples.bid, rollout.action.flatten())
    assert torch.equal(samples.obs, rollout.obs[:-1].flatten(0, 1))
    assert torch.equal(rollout.mask[:-1].flatten(0, 1).sum(1) - 1, samples.cards)
    assert (samples.won <= samples.cards).all()
    # The reward says what was won: 5 and more for an exact bid, 1 for one beside it.
    reward, missed = rollout.reward.flatten(), (samples.won - samples.bid).abs()
    assert torch.equal(reward >= 5, missed == 0)
    assert torch.equal(reward == 1, missed == 1)


def test_every_pass_takes_every_sample_once():
    trainer, hindsight = collected("tricks")
    seen = []
    hindsight._loss = lambda net, samples: seen.append(samples.obs) or net.value_head.bias.sum()
    for _ in range(2):
        for minibatch in range(4):
            hindsight.loss(trainer.net, minibatch)
    for part in (seen[:4], seen[4:]):
        rows = torch.cat(part)
        order = sorted(map(tuple, rows.tolist()))
        assert order == sorted(map(tuple, hindsight._samples.obs.tolist()))
    assert not torch.equal(seen[0], seen[4])
    assert hindsight.metrics()["hindsight_samples"] == 512.0


def test_a_rollout_without_a_finished_round_teaches_nothing():
    trainer, hindsight = trainer_of("value", round_weights=(0,) * 9 + (1,))
    trainer.rollout.done.zero_()
    hindsight.begin(trainer.rollout, 4)
    assert all(hindsight.loss(trainer.net, k) is None for k in range(4))
    assert hindsight.metrics() == {"hindsight_samples": 0.0}


def test_more_tricks_than_cards_have_no_probability():
    trainer, hindsight = collected("tricks")
    samples = hindsight._samples
    with torch.no_grad():
        probs = tricks_log_probs(trainer.net, samples.obs, samples.cards).exp()
    torch.testing.assert_close(probs.sum(-1), torch.ones(512, 11))
    assert (probs[0, :, int(samples.cards[0]) + 1 :] == 0).all()


# -- training --------------------------------------------------------------------------------------


@walk("mode", every(4, MODES))
def test_its_loss_falls(mode):
    trainer, _ = trainer_of(mode, n_epochs=4)
    losses = [trainer.iterate()["train"]["hindsight_loss"] for _ in range(12)]
    assert np.isfinite(losses).all()
    if mode != "is":  # a policy gradient has no loss that must fall
        assert np.mean(losses[-3:]) < np.mean(losses[:3])


@walk("mode", every(2, MODES))
def test_a_saved_training_goes_on_as_if_it_had_not_stopped(mode):
    whole, halves = trainer_of(mode)[0], trainer_of(mode)[0]
    for _ in range(4):
        whole.iterate()
    for _ in range(2):
        halves.iterate()
    again, hindsight = trainer_of(mode)
    hindsight._generator.manual_seed(0)
    again.load_state(halves.state())
    for _ in range(2):
        again.iterate()
    ours, theirs = again.net.state_dict(), whole.net.state_dict()
    assert all(torch.equal(ours[name], x) for name, x in theirs.items())


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_modes_train_on_cuda(mode):
    trainer, hindsight = trainer_of(mode, device="cuda")
    found = [trainer.iterate()["train"] for _ in range(2)][-1]
    assert np.isfinite(found["hindsight_loss"])
    assert {x.device.type for x in hindsight._samples} == {"cuda"}


# -- runs ------------------------------------------------------------------------------------------


def settings(*assignments):
    return [word for text in assignments for word in ("--set", text)]


@pytest.mark.parametrize(("mode", "tier"), together([("tricks", "Manager"), ("sil", "Worker")], 2))
def test_a_run_learns_in_hindsight(train, tmp_path, mode, tier):
    flags = [*settings(f"native.hindsight={mode}"), "--env", f"SkullKing{tier}-v0"]
    assert train(tmp_path, "whole", *flags) == 0
    found = parameters(tmp_path / "whole")
    assert ("aux_head.weight" in found) == (MODES[mode].outputs > 0)
    lines = (tmp_path / "whole/metrics.jsonl").read_text().splitlines()
    assert all(json.loads(line)["train"]["hindsight_samples"] > 50 for line in lines)
    trained = load(RunFolder.open(tmp_path / "whole"))
    assert trained.logits(trained.engine().obs).shape == (1, 11)


@walk(
    ("env", "assignment", "says"),
    [
        ("SkullKingWorker-v0", "native.hindsight=tricks", "'off' or 'value' or 'sil' or 'is'"),
        ("SkullKingManager-v0", "native.hindsight=sil", "'off' or 'tricks' or 'bid'"),
        ("SkullKingFlat-v0", "native.hindsight=tricks", "'off' in the flat tier"),
        ("Prospector-v0", "native.hindsight=tricks", "has no such loss"),
        ("SkullKingWorker-v0", "native.hindsight=her", "native.hindsight must be one of 'off'"),
    ],
)
def test_a_mode_that_does_not_fit_is_refused(train, tmp_path, capsys, env, assignment, says):
    flags = settings(assignment, "backend=reference")  # nothing to compile for a refusal
    assert train(tmp_path / "runs", "bad", "--env", env, *flags) == 2
    error = capsys.readouterr().err
    assert "native.hindsight=" in error
    assert says in error
    assert error.count("\n") == 1
    assert not (tmp_path / "runs").exists()


@walk(
    ("mode", "options", "network", "says"),
    [
        ("value", {"reward": "points"}, {}, "reward='points'"),
        ("tricks", {"scoring": "rascal_cannon"}, {}, "scoring='rascal_cannon'"),
        ("sil", {}, {"recurrent": "gru"}, "recurrent='gru'"),
    ],
)
def test_a_game_or_network_that_does_not_fit_is_refused(mode, options, network, says):
    engine = make_engine(f"SkullKing{POLICIES[mode].capitalize()}-v0", 1, options)
    config = run_of(PPOConfig(), NativeConfig(hindsight=mode, **network))
    with pytest.raises(ConfigError, match=says):
        make_run_auxiliary(config, engine)


def test_rewards_that_a_relabelled_round_does_not_have_are_refused(train, tmp_path, capsys):
    tracker = "trackers={visits: {cell: round, num_cells: 20, count_bonus: 0.1}}"
    flags = settings("native.hindsight=value", tracker, "backend=reference")
    assert train(tmp_path / "runs", "bad", *flags) == 2
    assert "trackers={'visits'" in capsys.readouterr().err


def test_off_is_the_default_and_can_be_written():
    assert NativeRun().native.hindsight == "off"
    assert RunConfig.from_mapping({"native": {"hindsight": False}}).native == NativeConfig()
    with pytest.raises(ConfigError, match=r"native\.hindsight='tricks'.*trainer='native'"):
        RunConfig.from_mapping({"trainer": "sb3", "native": {"hindsight": "tricks"}})


# -- bids from a distribution over tricks, against a loop over the rules' own scores ---------------


def some(rng, k):
    cards = rng.integers(1, 11, k)
    weights = rng.random((k, 11, 11)) * (np.arange(11) <= cards[:, None, None])
    with np.errstate(divide="ignore"):
        return np.log(weights / weights.sum(-1, keepdims=True)), cards


@walk("scoring", ["skull_king", "rascal"])
def test_the_best_bid_is_that_of_a_loop(scoring):
    log_probs, cards = some(np.random.default_rng(5), 300)
    points = expected_points(log_probs, cards, scoring)
    bids = points.argmax(-1)
    kind = Scoring[scoring.upper()]
    for i, n in enumerate(cards):
        worth = [
            sum(
                np.exp(log_probs[i, bid, won]) * score_round(bid, won, n, scoring=kind).points
                for won in range(n + 1)
            )
            for bid in range(n + 1)
        ]
        np.testing.assert_allclose(points[i, : n + 1], worth, rtol=1e-12, atol=1e-12)
        assert (points[i, n + 1 :] == -np.inf).all()
        assert bids[i] == np.argmax(worth)


def test_what_is_certain_is_bid():
    with np.errstate(divide="ignore"):
        log_probs = np.log(np.eye(11)[[[3] * 11, [0] * 11]])
    assert expected_points(log_probs, np.array([5, 8])).argmax(-1).tolist() == [3, 0]


def test_of_equal_bids_the_lowest_is_taken():
    log_probs = np.full((1, 11, 11), -np.inf)
    log_probs[0, :, 0] = 0.0  # never a trick: in Rascal scoring 0 is alone, 1 is half
    assert expected_points(log_probs, np.array([4]), "rascal").argmax(-1).tolist() == [0]
    log_probs[0, :, 0], log_probs[0, :, 1] = np.log(0.5), np.log(0.5)
    assert expected_points(log_probs, np.array([4]), "rascal")[0, :2].tolist() == [30.0, 30.0]
    assert expected_points(log_probs, np.array([4]), "rascal").argmax(-1).tolist() == [0]


def test_another_scoring_is_refused():
    with pytest.raises(ConfigError, match="scoring='rascal_cannon' is not possible"):
        expected_points(np.zeros((1, 11, 11)), np.array([4]), "rascal_cannon")


def test_a_network_bids_by_its_head():
    engine = make_engine("SkullKingManager-v0", 200)
    engine.reset_many(seeds=9)
    ppo, native = PPOConfig(net_arch=(8,), activation="tanh"), NativeConfig(hindsight="tricks")
    net = ActorCritic(obs_layout(engine), ppo, native, seed=1)
    with torch.no_grad():
        net.aux_head.weight.mul_(100.0)
        cards = torch.from_numpy(engine.info["cards"].astype(np.int64))
        log_probs = tricks_log_probs(net, torch.from_numpy(engine.obs), cards).numpy()
    bids = decoding(net)(engine.obs).argmax(1)
    assert (bids == expected_points(log_probs, cards.numpy()).argmax(-1)).all()
    assert len(set(bids.tolist())) > 3
    assert engine.mask[np.arange(200), bids].all()
