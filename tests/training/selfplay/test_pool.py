"""Snapshots: files, who can be drawn, and with which chance."""

import os

import numpy as np
import pytest
import torch

from training.nets.actor_critic import ActorCritic
from training.nets.layout import ObsLayout
from training.ppo.options import NativeConfig, PPOConfig
from training.run.checkpoint import CheckpointError
from training.selfplay.pool import Pool

SECTIONS = PPOConfig(net_arch=(8,)), NativeConfig()


def net_of(seed=0):
    return ActorCritic(ObsLayout(5, 3), *SECTIONS, seed)


def pool_of(folder, keep=3, snapshots=0):
    pool = Pool(folder / "pool", keep, net_of)
    for number in range(snapshots):
        pool.add(number, 100 * number, net_of(number).state_dict())
    return pool


def same(net, other):
    return all(torch.equal(a, b) for a, b in zip(net.parameters(), other.parameters(), strict=True))


def test_a_snapshot_is_in_its_file_and_does_not_move_with_the_learner(tmp_path):
    learner, pool = net_of(7), pool_of(tmp_path)
    member = pool.add(0, 500, learner.state_dict())
    stored = torch.load(tmp_path / "pool" / "000.pt", weights_only=True)
    assert (stored["id"], stored["steps"]) == (0, 500)
    with torch.no_grad():
        for parameter in learner.parameters():
            parameter.add_(1)
    assert same(member.net, net_of(7))
    assert not any(parameter.requires_grad for parameter in member.net.parameters())


def test_only_the_newest_are_drawn_and_the_others_stay_while_they_play(tmp_path):
    pool = pool_of(tmp_path, keep=2, snapshots=4)
    assert pool.active == (2, 3)
    pool.forget([-1, 0])
    assert sorted(pool.members) == [0, 2, 3]
    assert len(list(pool.folder.glob("*.pt"))) == 4


def test_weight_is_the_rank_by_age(tmp_path):
    pool = pool_of(tmp_path, keep=4, snapshots=6)
    np.testing.assert_allclose(pool.weights(), [0.1, 0.2, 0.3, 0.4])


def test_a_saved_pool_is_read_from_its_files(tmp_path):
    pool = pool_of(tmp_path, keep=2, snapshots=3)
    other = pool_of(tmp_path, keep=2)
    other.load_state_dict(pool.state_dict())
    assert other.active == pool.active
    for number, member in pool.members.items():
        assert other.members[number].steps == member.steps
        assert same(other.members[number].net, member.net)


def test_what_a_killed_process_left_behind_is_removed(tmp_path):
    pool = pool_of(tmp_path, snapshots=1)
    left = pool.folder / f".tmp-{2**22 + 1}-001.pt"  # no process has such a number
    left.write_bytes(b"half a snapshot")
    pool.add(1, 100, net_of().state_dict())
    assert sorted(path.name for path in pool.folder.iterdir()) == ["000.pt", "001.pt"]


def test_a_full_disk_is_told_in_one_sentence(tmp_path, monkeypatch):
    pool = pool_of(tmp_path, snapshots=1)
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(CheckpointError, match=r"001\.pt could not be written \(disk full\)"):
        pool.add(1, 100, net_of().state_dict())
    assert pool.active == (0,)


@pytest.mark.parametrize("damage", ["missing", "cut", "other"])
def test_a_snapshot_that_is_not_the_one_written_is_refused(tmp_path, damage):
    pool = pool_of(tmp_path, snapshots=2)
    file = tmp_path / "pool" / "001.pt"
    if damage == "missing":
        file.unlink()
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[:-10])
    else:
        file.write_bytes((tmp_path / "pool" / "000.pt").read_bytes())
    with pytest.raises(CheckpointError, match=r"001\.pt is missing or damaged"):
        pool_of(tmp_path).load_state_dict(pool.state_dict())
