"""Cells: stored states reproduce the rollout, states matter, and are forgotten at ends."""

import pytest
import torch

from tests.slow import diagonal, every
from tests.tables import walk
from tests.training.ppo.conftest import collect
from tests.training.ppo.engines import Counting, Recall
from tests.training.ppo.test_trainer import max_ratio_error
from training.nets.recurrent import CELLS, forget, unroll

KINDS = tuple(CELLS)
RECURRENT = {"recurrent_size": 8, "seq_len": 4, "batch_size": 48}


@walk(("trunk", "kind"), diagonal(["separate", "shared"], KINDS))
def test_unrolling_stored_states_reproduces_the_rollout(make_trainer, kind, trunk):
    """T12: episodes of five decisions in chunks of four, so ends lie at every place of a chunk."""
    trainer = make_trainer(Counting(6), recurrent=kind, trunk=trunk, **RECURRENT)
    for _ in range(2):
        collect(trainer)
        assert max_ratio_error(trainer) < 1e-6
        trainer.iterate()


@walk("kind", KINDS)
def test_output_depends_on_the_state_and_the_state_is_forgotten_at_ends(kind):
    torch.manual_seed(0)
    cell = CELLS[kind](3, 4)
    x, state = torch.randn(5, 2, 3), torch.randn(2, cell.state_size)
    done = torch.zeros(5, 2, dtype=torch.bool)
    y, _ = unroll(cell, x, state, done)
    other, _ = unroll(cell, x, torch.zeros_like(state), done)
    assert not torch.allclose(y[-1], other[-1])
    done[2] = True
    y, end = unroll(cell, x, state, done)
    other, other_end = unroll(cell, x, torch.zeros_like(state), done)
    assert not torch.allclose(y[2], other[2])
    assert torch.equal(y[3:], other[3:])
    assert torch.equal(end, other_end)
    assert (forget(end, torch.tensor([True, False]))[0] == 0).all()


@walk("kind", KINDS)
def test_states_of_the_rollout_are_zero_at_the_start_of_episodes(make_trainer, kind):
    trainer = make_trainer(Counting(6), recurrent=kind, **RECURRENT)
    trainer.iterate()
    fresh = torch.arange(0, 16, 4) % 5 == 0
    states = trainer.rollout.states
    assert (states[fresh] == 0).all()
    assert (states[~fresh] != 0).any(-1).all()


def test_cut_off_observations_are_valued_with_the_state_before_it_is_forgotten(make_trainer):
    trainer = make_trainer(Counting(4), recurrent="gru", **{**RECURRENT, "batch_size": 64})
    trainer.start()
    trainer.collect()
    trainer.bootstrap()
    state = trainer.net.initial_state(4)
    with torch.no_grad():
        for t in range(5):
            state = trainer.net.step(trainer.rollout.obs[t], state=state)[2]
        last = torch.tensor([[lane, 5.0] for lane in range(4)])
        expected = trainer.net.value(last, state=state)
    torch.testing.assert_close(trainer.rollout.bootstrap[4, 1::2], expected[1::2])


def test_states_outlive_a_forward_pass_that_overwrites_what_it_returned(make_trainer):
    """As captured CUDA graphs do."""
    plain, captured = (
        make_trainer(Counting(8), recurrent="gru", **(RECURRENT | {"batch_size": 64}))
        for _ in range(2)
    )
    step, static = captured._forward, []

    def replay(obs, *, state):
        found = step(obs, state=state)
        if not static:
            static.extend(x.clone() for x in found)
        for kept, new in zip(static, found, strict=True):
            kept.copy_(new)
        return tuple(static)

    captured._forward = replay
    for trainer in (plain, captured):
        trainer.start()
        trainer.collect()
    assert torch.equal(captured.rollout.states, plain.rollout.states)


@pytest.mark.parametrize("kind", every(2, KINDS))
@pytest.mark.slow
def test_what_was_seen_before_is_recalled(make_trainer, kind):
    trainer = make_trainer(
        Recall(64),
        recurrent=kind,
        recurrent_size=16,
        seq_len=4,
        batch_size=256,
        learning_rate=0.01,
        n_epochs=4,
    )
    for _ in range(40):
        trainer.iterate()
        if float(trainer.rollout.reward.mean()) * 4 > 0.9:  # a memoryless agent gets 0.5
            return
    raise AssertionError(float(trainer.rollout.reward.mean()) * 4)
