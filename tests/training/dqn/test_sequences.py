"""T12: sequences are what happened, stored states reproduce acting, and the state is used."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.bits import equal
from tests.slow import late
from tests.tables import walk
from tests.training.dqn.test_replay import Both, Wild
from tests.training.dqn.test_trainer import make
from tests.training.ppo.engines import Counting, Recall
from training.dqn import loss
from training.dqn.sequences import SequenceReplay
from training.nets.recurrent import CELLS

KINDS = tuple(CELLS)
SEQUENCES = {"seq_len": 5, "burn_in": 2}
RECURRENT = {"recurrent": "gru", "recurrent_size": 8, "batch_size": 12, **SEQUENCES}


class BothSequences(Both):
    """See :class:`Both`; the state of a lane before a decision is its number, and the time."""

    def __init__(self, engine, capacity, n_step, seq_len, burn_in, **options):
        super().__init__([engine], capacity, n_step)
        how = {"seq_len": seq_len, "burn_in": burn_in, "state_size": 2, "gamma": 0.9, **options}
        lanes = engine.num_envs
        self.replay = SequenceReplay(engine, lanes, capacity, n_step=n_step, **how)
        for part in self.parts:
            part._replay = self.replay
            engine.reset_many(5, 0, part.destination(behind=False), part.legal)
            part.store_observation(behind=False)

    def step(self, rng):
        time = torch.full((self.replay.lanes,), float(self.rows_written))
        self.replay.store_state(torch.stack((torch.arange(len(time)).float(), time), 1))
        super().step(rng)

    def check(self, count):
        """Compare every decision of some sequences with what the twin says of it."""
        replay = self.replay
        batch = replay.sample(count * replay.learnt)
        assert batch.obs.shape[:2] == (replay.seq_len + replay.n_step, count)
        flat = batch.obs.flatten(0, 1)
        last = dict(zip(batch.cut.tolist(), batch.final_obs, strict=True))
        for k in range(count * replay.learnt):
            t, s = replay.burn_in + k // count, k % count
            lane, first = (int(x) for x in batch.state[s])
            if batch.weight[k] == 0:  # its last observation has been overwritten
                continue
            here = self.twin.sample(lane, first + t)
            found = {
                "obs": batch.obs[t, s],
                "action": batch.action[k],
                "reward": batch.reward[k],
                "discount": batch.discount[k],
                "next_obs": last.get(k, flat[batch.following[k]]),
                "next_mask": batch.next_mask[k],
            }
            for name, value in found.items():
                np.testing.assert_allclose(value, here[name], 1e-6, 1e-6, err_msg=name)
        for t in range(replay.seq_len):
            for s in range(count):
                lane, first = (int(x) for x in batch.state[s])
                assert bool(batch.done[t, s]) == bool(self.twin.lanes[lane][first + t]["end"])
        return batch


@given(
    seed=st.integers(0, 2**32 - 1),
    n_step=st.integers(1, 4),
    seq_len=st.integers(1, 6),
    burn_in=st.integers(0, 5),
    steps=st.integers(24, 70),
    alpha=st.sampled_from([None, 0.6]),
)
def test_sequences_are_what_a_list_of_all_decisions_says(
    seed, n_step, seq_len, burn_in, steps, alpha
):
    burn_in = min(burn_in, seq_len - 1)
    engine = Wild(3)
    both = BothSequences(engine, 3 * 24, n_step, seq_len, burn_in, seed=seed, alpha=alpha)
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        both.step(rng)
        assert both.replay.available <= both.replay.size * 3
    both.check(7)


@walk("alpha", [None, 0.6])
def test_every_finished_sequence_is_drawn_and_nothing_else(alpha):
    both = BothSequences(Wild(2), 2 * 12, 1, 4, 1, alpha=alpha)
    rng = np.random.default_rng(2)
    for written in range(1, 40):
        both.step(rng)
        whole = [f for f in range(0, written, 3) if written - 11 <= f and f + 4 <= written]
        assert both.replay.available == len(whole) * 3 * 2
        if whole:
            batch = both.replay.sample(3 * 200)
            assert {int(time) for _, time in batch.state} == set(whole)


def test_priority_of_a_sequence_is_mostly_that_of_its_largest_error():
    both = BothSequences(Wild(2), 2 * 12, 1, 3, 1, alpha=1.0)
    for _ in range(8):
        both.step(np.random.default_rng(3))
    errors = torch.tensor([1.0, -3.0, 2.0, 0.5])  # of two sequences, in the order of time
    both.replay.update_priorities(torch.tensor([2, 3]), errors)
    found = both.replay.priorities.state_dict()["priorities"][[2, 3]]
    np.testing.assert_allclose(found, [0.9 * 2 + 0.1 * 1.5, 0.9 * 3 + 0.1 * 1.75], rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_unrolling_stored_states_reproduces_acting(kind, monkeypatch):
    """Episodes of five decisions in sequences that begin in every third row: ends lie anywhere."""
    trainer = make(Counting(6), **{**RECURRENT, "recurrent": kind, "learning_starts": 2000})
    seen, choose = [], trainer._explorer.choose

    def watch(values, mask, epsilon):
        seen.append(values.clone())
        return choose(values, mask, epsilon)

    monkeypatch.setattr(trainer._explorer, "choose", watch)
    trainer.iterate()
    batch = trainer.replay.sample(60)
    with torch.no_grad():
        latent, _ = trainer.net.unroll(batch.obs, state=batch.state, done=batch.done)
        values = trainer.net.head.means(latent.flatten(0, 1)).unflatten(0, batch.done.shape)
    for s, unit in enumerate(batch.index.tolist()):
        first, lane = unit // 6 * 3, unit % 6
        for t in range(5):
            torch.testing.assert_close(values[t, s], seen[first + t][lane], rtol=0, atol=1e-6)
    assert {bool(x) for x in batch.done.view(-1)} == {False, True}


@walk("kind", KINDS)
def test_values_depend_on_the_state_and_the_state_on_what_was_seen(kind):
    net = make(Counting(4), **{**RECURRENT, "recurrent": kind}).net
    obs, zero = torch.randn(4, 2), torch.zeros(4, net.state_size)
    values, _, behind = net.step(obs, state=zero)
    again, _, further = net.step(obs, state=behind)
    assert (behind != 0).any(1).all()
    assert not torch.allclose(values, again)
    assert not torch.allclose(behind, further)
    with pytest.raises(TypeError):
        net.step(obs, zero)  # a state is never taken for another argument


def test_what_a_clock_cut_off_is_valued_with_the_state_before_it_is_forgotten():
    trainer = make(Counting(4), **{**RECURRENT, "learning_starts": 2000, "n_step": 2})
    trainer.iterate()
    net, batch = trainer.net, trainer.replay.sample(60)
    assert len(batch.cut)
    with torch.no_grad():
        latent, states = net.unroll(batch.obs, state=batch.state, done=batch.done)
        found = loss._select_next_latents(net, batch, latent, states)
        for k, place in zip(batch.cut.tolist(), batch.last.tolist(), strict=True):
            t, s = divmod(place, batch.obs.shape[1])
            state = batch.state[s : s + 1]
            for time in range(t + 1):
                if time and batch.done[time - 1, s]:
                    state = torch.zeros_like(state)
                state = net.step(batch.obs[time, s : s + 1], state=state)[2]
            last = torch.tensor([[batch.obs[t, s, 0], 5.0]])
            expected, _ = net.latent(last, state=state)
            torch.testing.assert_close(found[k], expected[0], rtol=0, atol=1e-6)


def test_no_gradient_reaches_what_burn_in_brought_up_to_date():
    trainer = make(Counting(4), **{**RECURRENT, "learning_starts": 2000})
    trainer.iterate()
    batch = trainer.replay.sample(60)
    for burn_in in (0, 2):
        obs = batch.obs.clone().requires_grad_()
        how = {"state": batch.state, "done": torch.zeros_like(batch.done), "burn_in": burn_in}
        latent, _ = trainer.net.unroll(obs, **how)
        latent[2:].sum().backward()
        assert bool((obs.grad[:2] != 0).any()) == (burn_in == 0)


def test_lost_last_observations_are_not_learnt_from():
    engine = Wild(2)
    engine.ends = 1  # every episode is one decision, half of them cut off
    both = BothSequences(engine, 2 * 200, 1, 2, 0)
    for _ in range(350):
        both.step(np.random.default_rng(1))
    batch = both.replay.sample(400)
    kept = set(batch.cut.tolist())
    cut = batch.discount != 0
    lost = [k for k in range(400) if cut[k] and k not in kept]
    assert lost
    assert (batch.weight[lost] == 0).all()
    assert float(batch.weight.sum()) == 400 - len(lost)


ALONE = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("gru", "lstm", "ssm")]


@pytest.mark.parametrize("kind", [*ALONE, *late("ssm_gru_lstm")])
def test_what_was_seen_before_is_recalled(kind):
    """The answer is due three decisions behind the cue: a network without memory gets 0.5."""
    options = {"recurrent": kind, "recurrent_size": 16, "seq_len": 8, "burn_in": 4}
    options |= {"n_step": 3, "learning_rate": 5e-3, "batch_size": 64, "epsilon_end": 0.0}
    prioritized = kind in ("gru", "ssm_gru_lstm")
    trainer = make(Recall(32), total_steps=8_000, prioritized=prioritized, **options)
    for _ in range(14):
        trainer.iterate()
        stored = trainer.replay.reward[max(0, trainer.replay.head - 32) : trainer.replay.head]
        if float(stored.mean()) * 4 > 0.9:
            return
    raise AssertionError(float(stored.mean()) * 4)


def test_one_lane_at_a_time_is_the_same_as_all_of_one():
    """T27."""
    runs = []
    for engines in (Recall(1), [Recall(1)]):
        trainer = make(engines, **{**RECURRENT, "learning_starts": 32, "prioritized": True})
        for _ in range(4):
            trainer.iterate()
        runs.append((trainer.net.state_dict(), trainer.replay.state, trainer._state))
    assert equal(*runs)
