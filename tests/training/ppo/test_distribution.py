"""The masked categorical against sb3-contrib, and its draws against their probabilities."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from sb3_contrib.common.maskable.distributions import MaskableCategorical

from tests.tables import walk
from training.nets.distribution import Sampler, entropy, log_prob, masked_log_probs, mode


def some(n, actions, seed, scale=3.0):
    rng = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(n, actions, generator=rng)
    mask = torch.rand(n, actions, generator=rng) < 0.4
    chosen = torch.randint(actions, (n,), generator=rng)
    mask[torch.arange(n), chosen] = True
    return logits, mask, chosen


@given(st.integers(1, 80), st.integers(0, 10_000), st.sampled_from([0.01, 1.0, 3.0]))
def test_equals_sb3_contrib(actions, seed, scale):
    logits, mask, chosen = some(16, actions, seed, scale)
    theirs = MaskableCategorical(logits=logits, masks=mask, validate_args=False)
    log_probs = masked_log_probs(logits, mask)
    close = {"rtol": 3e-7, "atol": 1e-6}  # large numbers: their last bits
    torch.testing.assert_close(log_prob(log_probs, chosen), theirs.log_prob(chosen), **close)
    torch.testing.assert_close(entropy(log_probs, mask), theirs.entropy(), **close)
    assert (mode(log_probs) == theirs.probs.argmax(-1)).all()


def test_gradient_of_the_entropy_stays_finite():
    logits, mask, _ = some(64, 20, 1, 50.0)
    logits.requires_grad_()
    entropy(masked_log_probs(logits, mask), mask).sum().backward()
    assert logits.grad.isfinite().all()
    assert (logits.grad[~mask] == 0).all()


def test_a_row_without_legal_actions_is_uniform_as_in_sb3_contrib():
    logits, mask = torch.randn(3, 5), torch.zeros(3, 5, dtype=torch.bool)
    expected = torch.full((3, 5), -np.log(5))
    torch.testing.assert_close(masked_log_probs(logits, mask), expected, rtol=0, atol=1e-6)


@given(st.integers(1, 80), st.integers(0, 10_000), st.sampled_from([0.01, 3.0, 50.0]))
def test_draws_from_bf16_are_those_of_the_definition(actions, seed, scale):
    """The same numbers, drawn from equal generators, lead to the same actions but for rounding."""
    logits, mask, _ = some(64, actions, seed, scale)
    logits = logits.bfloat16()
    drawn, logp = Sampler(seed, torch.device("cpu")).draw(logits, mask)
    log_probs = masked_log_probs(logits, mask)
    expected = Sampler(seed, torch.device("cpu"))(log_probs, mask)
    assert mask.gather(1, drawn.unsqueeze(1)).all()
    assert (drawn != expected).sum() <= 2
    torch.testing.assert_close(logp, log_prob(log_probs, drawn), rtol=3e-7, atol=2e-6)


def test_draws_from_bf16_at_the_ends(monkeypatch):
    logits, mask = torch.zeros(3, 6, dtype=torch.bfloat16), torch.ones(3, 6, dtype=torch.bool)
    mask[:, 0] = mask[:, 5] = False
    mask[2] = False  # no legal action
    for value, action in ((0.0, 1), (1.0, 4)):  # behind the last by rounding
        point = torch.full((3,), value)
        monkeypatch.setattr(torch, "rand", lambda *_shape, generator, point=point: point)
        drawn, logp = Sampler(1, torch.device("cpu")).draw(logits, mask)
        assert drawn.tolist() == [action, action, 0]
        torch.testing.assert_close(logp.exp(), torch.tensor([1 / 4, 1 / 4, 1 / 6]))


@walk("dtype", [torch.float32, torch.bfloat16])
def test_draws_follow_the_probabilities_and_the_mask(device, dtype):
    """A million draws: none illegal; chi-square of each row has p > 1e-4."""
    logits, mask, _ = some(8, 12, 3, 1.5)
    mask[0] = False
    mask[0, 11] = True  # one legal action, at the end
    logits = logits.to(dtype)
    log_probs = masked_log_probs(logits, mask)
    sampler = Sampler(5, torch.device(device))
    block, counts = 12_500, torch.zeros(8, 12)
    wide_logits = logits.repeat_interleave(block, 0).to(device)
    wide_mask = mask.repeat_interleave(block, 0).to(device)
    for _ in range(10):
        drawn = sampler.draw(wide_logits, wide_mask)[0].cpu().view(8, block)
        counts += torch.stack([torch.bincount(row, minlength=12) for row in drawn])
    assert counts.sum() == 1_000_000
    assert (counts[~mask] == 0).all()
    expected = log_probs.exp() * 10 * block
    for row in range(8):
        legal = mask[row]
        chi2 = float(((counts - expected)[row, legal] ** 2 / expected[row, legal]).sum())
        freedom = int(legal.sum()) - 1
        assert chi2 <= (0 if freedom == 0 else _chi2_limit(freedom)), row


def _chi2_limit(k):
    """The 1 - 1e-4 quantile by Wilson and Hilferty's cube, good to a percent."""
    return k * (1 - 2 / (9 * k) + 3.72 * np.sqrt(2 / (9 * k))) ** 3


def test_rounding_behind_the_last_legal_action_takes_the_mode(monkeypatch):
    logits, mask, _ = some(64, 6, 7)
    mask[:, 4:] = False
    mask[:, 0] = True
    log_probs = masked_log_probs(logits, mask)
    monkeypatch.setattr(torch, "rand", lambda *shape, generator: torch.ones(shape))
    drawn = Sampler(1, torch.device("cpu"))(log_probs, mask)
    assert mask.gather(1, drawn.unsqueeze(1)).all()


def test_draws_leave_the_global_generator_alone_and_can_be_resumed():
    logits, mask, _ = some(32, 6, 8)
    log_probs = masked_log_probs(logits, mask)
    before = torch.get_rng_state()
    sampler = Sampler(1, torch.device("cpu"))
    sampler(log_probs, mask)
    saved = sampler.state_dict()
    first = sampler(log_probs, mask)
    other = Sampler(2, torch.device("cpu"))
    other.load_state_dict(saved)
    assert (other(log_probs, mask) == first).all()
    assert (torch.get_rng_state() == before).all()


@walk("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_logits_are_masked_in_float32(dtype):
    logits, mask, _ = some(8, 5, 9)
    log_probs = masked_log_probs(logits.to(dtype), mask)
    assert log_probs.dtype == torch.float32
    assert entropy(log_probs, mask).isfinite().all()
