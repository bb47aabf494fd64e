"""What only a CUDA device can show of DQN (make gpu-check)."""

from functools import partial

import pytest
import torch

from tests.training.dqn import test_trainer
from tests.training.ppo.engines import Bandit, Corridor
from training.dqn.replay import RUNNING, TERMINATED, TRUNCATED, unpack, windows_of

pytestmark = pytest.mark.gpu
make = partial(test_trainer.make, device="cuda")
PLACES = pytest.mark.parametrize("where", ["auto", "cpu"])


def test_windows_and_masks_are_those_of_the_host():
    draw = torch.Generator().manual_seed(3)
    rows, lanes = 50, 4
    reward = torch.randn(rows, lanes, generator=draw)
    discount = torch.rand(rows, lanes, generator=draw)
    ends = torch.tensor([RUNNING, TERMINATED, TRUNCATED], dtype=torch.uint8)
    end = ends[torch.randint(3, (rows, lanes), generator=draw)]
    index = torch.randint(rows * lanes, (300,), generator=draw)
    here = windows_of(index, 3, reward, discount, end)
    there = windows_of(index.cuda(), 3, reward.cuda(), discount.cuda(), end.cuda())
    for name, tensor in vars(here).items():
        torch.testing.assert_close(tensor, vars(there)[name].cpu())
    packed = torch.randint(256, (rows * lanes, 2), generator=draw, dtype=torch.uint8)
    assert torch.equal(unpack(packed, index, 11), unpack(packed.cuda(), index.cuda(), 11).cpu())


@PLACES
def test_learns_the_bandit(where):
    trainer = make(Bandit(16), replay_device=where)
    assert trainer.replay.obs.device.type == ("cuda" if where == "auto" else "cpu")
    before = [each.clone() for each in trainer.net.parameters()]
    for _ in range(10):
        trainer.iterate()
    after = list(trainer.net.parameters())
    assert all(bool(torch.isfinite(each).all()) for each in after)
    assert any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))


@PLACES
@pytest.mark.parametrize("options", [{}, {"prioritized": True}, {"recurrent": "gru"}])
def test_goes_on_where_it_was(where, options):
    trainer, other = (make(Corridor(8), replay_device=where, **options) for _ in range(2))
    for _ in range(4):
        trainer.iterate()
    other.load_state(trainer.state())
    for each in (trainer, other):
        each.iterate()
    for one, same in zip(trainer.net.parameters(), other.net.parameters(), strict=True):
        torch.testing.assert_close(one, same, rtol=0, atol=1e-5)
