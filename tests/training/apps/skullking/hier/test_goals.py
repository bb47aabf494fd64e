"""Whose goals the Worker's lanes play to."""

import numpy as np
import pytest

from fastenv.errors import ConfigError
from training.apps.skullking.hier.manager_env import GoalLanes
from training.apps.skullking.hier.options import GoalShares
from training.run.envs import make_engine

N, SEED = 40, 17
RULES = {"tigress": "agent"}  # else her mode would depend on the goal


def shares_of(manager, estimate, uniform):
    return GoalShares(manager=manager, estimate=estimate, uniform=uniform)


def lanes_of(rigid, shares=None, manager_bids=True):
    observer = make_engine("SkullKingManager-v0", 1, RULES)
    goals = GoalLanes(N, shares or GoalShares(), observer, rigid(171))
    engine = make_engine("SkullKingWorker-v0", N, RULES)
    goals.begin(engine, manager_bids)
    return goals, engine


@pytest.mark.parametrize(
    ("shares", "manager_bids", "sizes"),
    [
        ((0.5, 0.25, 0.25), True, (20, 10, 10)),
        ((0.5, 0.25, 0.25), False, (0, 20, 20)),
        ((0.2, 0.6, 0.2), True, (8, 24, 8)),
        ((0.2, 0.6, 0.2), False, (0, 30, 10)),
        ((0.0, 1.0, 0.0), True, (0, 40, 0)),
    ],
)
def test_lanes_are_divided_by_the_shares(rigid, shares, manager_bids, sizes):
    goals, engine = lanes_of(rigid, shares_of(*shares), manager_bids)
    assert tuple(map(len, goals.lanes.values())) == sizes
    np.testing.assert_array_equal(np.concatenate(list(goals.lanes.values())), np.arange(N))
    for source, lanes in goals.lanes.items():
        assert engine.get_knob("goal_mode", lanes) == [source] * len(lanes)


def test_manager_bids_in_its_lanes_and_changes_nothing_else(rigid):
    """Beside an engine without a Manager: same deals, other goals in its lanes, nothing else."""
    goals, ours = lanes_of(rigid)
    theirs = make_engine("SkullKingWorker-v0", N, RULES)
    for source, lanes in goals.lanes.items():
        theirs.configure("goal_mode", source, lanes)
    manager, observer = rigid(171), make_engine("SkullKingManager-v0", 1, RULES)
    bidding = np.isin(np.arange(N), goals.lanes["manager"])
    rng = np.random.default_rng(SEED)
    obs, mask = ours.obs.copy(), ours.mask.copy()
    for engine, out in ((ours, {"obs_out": obs, "mask_out": mask}), (theirs, {})):
        engine.reset_many(seeds=SEED, **out)
    goals.bid(ours, False, obs, mask)
    ended = 0
    for step in range(30):
        if step:
            # any legal card: hands, and so what is legal, do not depend on the goal
            actions = np.where(mask != 0, rng.random(mask.shape), -1).argmax(1)
            ours.step_many(actions, obs_out=obs, mask_out=mask)
            flags = [x.copy() for x in (ours.reward, ours.terminated, ours.truncated)]
            goals.bid(ours, True, obs, mask)
            np.testing.assert_array_equal(flags, [ours.reward, ours.terminated, ours.truncated])
            theirs.step_many(actions)
            ended += int(ours.terminated[bidding].sum())
        rows, plain = ours.get_states(), theirs.get_states()
        np.testing.assert_array_equal(rows[~bidding], plain[~bidding])
        for name in ("hand", "stock", "bots", "round_idx", "first_leader", "table_card", "rng"):
            np.testing.assert_array_equal(rows[name], plain[name], name)
        expected = ours.encode_obs_many(rows)
        np.testing.assert_array_equal(obs, expected)
        fresh = np.flatnonzero(bidding & (rows["tricks"] == 0))
        legal = (np.arange(11) <= rows["cards"][fresh, None]).astype(np.uint8)
        bids = manager.act(observer.encode_obs_many(rows[fresh], trusted=True), legal)
        np.testing.assert_array_equal(ours.info["bid"][fresh], bids)
    assert ended > 20  # rounds that the Manager has bid were played to their ends


def test_shares_that_cannot_be_are_refused():
    with pytest.raises(ConfigError, match=r"hier\.goals\.uniform=-0\.1"):
        shares_of(0.5, 0.6, -0.1)
    with pytest.raises(ConfigError, match="add up to 1"):
        shares_of(0.5, 0.5, 0.5)
    with pytest.raises(ConfigError, match="below 1"):
        shares_of(1.0, 0.0, 0.0)
