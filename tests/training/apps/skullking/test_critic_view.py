"""What the value network alone sees: what it shows, and that no policy depends on it."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError
from fastenv.skullking.tables import MAX_HAND, NUM_CARDS
from tests.needs import FASTEST
from tests.skullking.moments import TIERS, game_of, hand, moments, others
from tests.slow import every
from tests.training.ppo.conftest import make_on
from training.nets.actor_critic import ActorCritic
from training.nets.layout import find_critic_view, obs_layout
from training.nets.options import ActorCriticConfig, HiddenConfig
from training.ppo.options import NativeConfig, PPOConfig
from training.run.envs import make_engine

few = settings(max_examples=6)
seeds = st.integers(0, 2**32 - 1)


def view_of(engine):
    return find_critic_view(engine)


def shown(view, rows):
    out = np.full((len(rows), view.size), 7, np.uint8)
    view.write(rows, out)
    return out


def by_hand(row, rules):
    """The view of one row, seat after seat, from the text of its docstring."""
    actor, hands = int(row["actor"]), int(rules["num_hands"])
    numbers = []
    for seat in sorted(others(row, rules, actor), key=lambda seat: (seat - actor) % hands):
        held, bid = hand(row, seat), int(row["bid"][seat])
        numbers += [int(card in held) for card in range(NUM_CARDS)]
        numbers += [int(bid == b) for b in range(MAX_HAND)]
    return numbers


@pytest.mark.parametrize("tier", TIERS)
@few
@given(seed=seeds)
def test_the_view_shows_the_hands_and_bids_of_all_others(tier, seed):
    game = game_of(tier, seed)
    view, rules = view_of(BatchEngine(game, 1, FASTEST)), game.shared["rules"][0]
    bids = 0
    for rows in moments(game, seed):
        found = shown(view, rows)
        assert found.tolist() == [by_hand(row, rules) for row in rows]
        bids += int(found.reshape(len(rows), -1, NUM_CARDS + MAX_HAND)[..., NUM_CARDS:].sum())
    assert bids or tier == "manager"


@pytest.mark.parametrize("tier", every(4, TIERS))
@few
@given(seed=seeds)
def test_what_others_hold_reaches_the_values_and_never_the_policy(tier, seed):
    """In worlds that look the same to the player, policy and its gradients are the same bits."""
    game = game_of(tier, seed)
    engine = BatchEngine(game, 8, FASTEST)
    view, native = view_of(engine), ActorCriticConfig(critic_view=True)
    net = ActorCritic(obs_layout(engine), HiddenConfig(net_arch=(16,)), native, seed=1)
    differ = 0
    for rows in moments(game, seed, n=1):
        row = rows[:1]
        worlds = engine.resample(row, int(row["actor"][0]), seed, worlds=8).reshape(-1)
        engine.set_states(worlds)
        engine.refresh()
        obs, views = torch.from_numpy(engine.obs.copy()), torch.from_numpy(shown(view, worlds))
        assert (obs == obs[0]).all()
        logits, values = net(obs, views)
        assert torch.equal(logits, net(obs, torch.zeros_like(views))[0])
        assert torch.equal(logits, net.logits(obs))
        differ += len(values.unique()) > 1
        gradients = torch.autograd.grad(logits.square().sum(), net.value_tower.parameters(),
                                        allow_unused=True)  # fmt: skip
        assert all(gradient is None for gradient in gradients)
    assert differ


class Seen:
    """What the view showed of the states behind each step."""

    def __init__(self, engine):
        self.view, self.steps = view_of(engine), []

    def __call__(self, engine, actions, obs, mask):
        self.steps.append(shown(self.view, engine.get_states()))


def test_a_rollout_holds_the_view_of_every_decision():
    engine = make_engine("SkullKingFlat-v0", 8)
    seen = Seen(engine)
    ppo = PPOConfig(n_steps=16, batch_size=32, net_arch=(16,), precision="fp32")
    native = NativeConfig(critic_view=True)
    trainer = make_on(engine, ppo, native, total_steps=1000, on_step=seen)
    for iteration in range(2):
        trainer.iterate()
        held = trainer.rollout.view.numpy()
        for t in range(17):
            assert (held[t] == seen.steps[iteration * 16 + t]).all(), (iteration, t)
    first, *_ = trainer.minibatches.epoch()
    flat = trainer.rollout.obs[:-1].flatten(0, 1), trainer.rollout.view[:-1].flatten(0, 1)
    rows = {obs.numpy().tobytes(): view for obs, view in zip(*flat, strict=True)}
    for piece in map(trainer.rollout.gather, first):
        for obs, view in zip(piece.obs, piece.view, strict=True):
            assert torch.equal(rows[obs.numpy().tobytes()], view)
        with torch.no_grad():
            learnt, seen, blind = (
                trainer._evaluate(piece)[1],
                trainer.net(piece.obs, piece.view)[1],
                trainer.net(piece.obs, torch.zeros_like(piece.view))[1],
            )
        assert torch.equal(learnt, seen)
        assert not torch.equal(learnt, blind)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"trunk": "shared"}, "native.trunk='shared'"),
        ({"recurrent": "gru"}, "native.recurrent='gru'"),
        ({"hindsight": "values"}, "native.hindsight='values'"),
    ],
)
def test_what_does_not_go_with_it_is_refused(options, says):
    with pytest.raises(ConfigError, match=says):
        NativeConfig(critic_view=True, **options)


def test_a_game_that_hides_nothing_refuses_it():
    engine, native = make_engine("Prospector-v0", 1), NativeConfig(critic_view=True)
    with pytest.raises(ConfigError, match=r"native.critic_view=True .* hides nothing"):
        ActorCritic(obs_layout(engine), PPOConfig(), native)
