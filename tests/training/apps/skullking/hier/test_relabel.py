"""Rollouts in hindsight against the reference, round by round and bit for bit (T25)."""

import numpy as np

from fastenv.skullking.layout import layout
from fastenv.skullking.relabel import relabel_bid, relabel_round
from fastenv.skullking.tables import Tier
from tests.skullking.rounds import TABLES, engine_of, finished_rounds, play
from tests.slow import every
from tests.tables import walk
from training.apps.skullking.hindsight.relabel import Relabeller, relabel_bids

GAMMA = 0.97


def relabelled(rollout, table, gamma=GAMMA):
    columns = rollout.ended_cards, rollout.ended_won
    relabel = Relabeller(engine_of(1, table), gamma)
    return relabel(rollout.rows, rollout.reward, rollout.done, *columns)


def slowly(rollout, table):
    """The steps and returns of all finished rounds, by the reference."""
    steps, returns = [], []
    names = ("num_players", "goal_bonus", "needed_after")
    for played in finished_rounds(rollout, **table):
        won = sum(bool(step.trick_won) for step in played)
        new = relabel_round(played, won, **{k: v for k, v in table.items() if k in names})
        ret, back = 0.0, []
        for step in reversed(new):
            ret = step.reward + GAMMA * ret
            back.append(ret)
        steps += new
        returns += reversed(back)
    return steps, returns


def bits(values):
    return np.asarray(values, np.float32).view(np.uint32).tolist()


def check(rollout, table):
    found, (steps, returns) = relabelled(rollout, table), slowly(rollout, table)
    assert bits(found.obs) == bits([step.obs for step in steps])
    assert bits(found.reward) == bits([step.reward for step in steps])
    assert bits(found.ret) == bits(returns)
    return found


@walk("table", every(2, TABLES), ids=str)
def test_rounds_of_the_engine(table):
    engine = engine_of(48, table)
    found = check(play(engine, 70, seed=11), table)
    assert len(found.obs) > 2000
    # The next rollout begins in the middle of rounds.
    again = play(engine, 9, seed=12, reset=False)
    assert 0 < len(check(again, table).obs) < 9 * 48


def test_places_are_those_of_whole_rounds():
    rollout = play(engine_of(16, {}), 30, seed=14)
    found = relabelled(rollout, {})
    t, lane = np.divmod(found.place, 16)
    ended = np.flatnonzero(rollout.done.T)
    assert len(found.place) == sum(len(steps) for steps in finished_rounds(rollout))
    assert sorted(lane.tolist()) == lane.tolist()
    last = rollout.done[t, lane]
    assert last.sum() == len(ended)  # the lanes were fresh: no round was cut off at the start
    for i in range(16):
        mine = t[lane == i]
        assert mine.tolist() == list(range(len(mine)))


def test_a_rollout_without_a_finished_round_has_nothing():
    rollout = play(engine_of(4, {"round_weights": (0,) * 9 + (1,)}), 9, seed=15)
    found = relabelled(rollout, {})
    assert [len(part) for part in found] == [0, 0, 0, 0]


def test_an_episode_that_was_cut_off_is_no_round():
    rollout = play(engine_of(4, {}), 30, seed=16)
    whole = relabelled(rollout, {})
    first = int(np.flatnonzero(rollout.done[:, 0])[0])
    rollout.ended_cards[first, 0] = 0
    assert len(relabelled(rollout, {}).obs) == len(whole.obs) - first - 1


# Every number of cards, pirates and bets, allies, undecided tricks: whatever rounds have.
FULL = {"abilities": "auto", "tigress": "agent", "round_weights": "uniform"}


@walk("seed", every(2, range(5)))
@walk("more", [{}, {"num_players": 6, "needed_after": True, "goal_bonus": 1.7}])
def test_rounds_of_all_sizes_with_abilities(seed, more):
    table, rng = {**FULL, **more}, np.random.default_rng(seed)
    engine = engine_of(100, table)
    rollout = play(engine, 60, seed=100 + seed)
    # The rule seldom bets: each lane has a bet in all its rounds, its own or another's.
    rows = rollout.rows
    rows["rascal_seat"] = (rows["agent"] + (rng.random(100) < 0.2)) % 4
    rows["rascal_bet"] = 10 * rng.integers(0, 3, 100)
    shown = engine.encode_obs_many(rows.reshape(-1), trusted=True)
    rollout.obs[:-1] = shown.reshape(rollout.obs[:-1].shape)
    check(rollout, table)
    at = {block.name: block.offset for block in layout(Tier.WORKER, table.get("num_players", 4))}
    assert set(rollout.ended_cards[rollout.done].tolist()) == set(range(1, 11))
    bets = rollout.obs[:-1][rollout.done][:, at["ability_state"] + 1]
    assert set(bets.tolist()) >= {0.0, 0.5, 1.0}
    assert rollout.obs[:-1, :, at["pirates"] : at["pirates"] + 5].any((0, 1)).all()
    assert len(set(rollout.allies_on_track.ravel().tolist())) > 1


def test_other_bids_are_those_of_the_reference():
    cases = [(n, b, w) for n in range(1, 11) for b in range(n + 1) for w in range(n + 1)]
    bids, rewards, there = relabel_bids(*np.array(cases, np.int32).T)
    assert rewards.dtype == np.float32
    for (cards, bid, won), others, worth, valid in zip(cases, bids, rewards, there, strict=True):
        obs = np.zeros(171, np.float32)
        obs[90] = cards / 10
        expected = [(b, np.float32(r)) for b, r in relabel_bid(obs, cards, bid, won)]
        assert list(zip(others[valid].tolist(), worth[valid], strict=True)) == expected
        assert (others[~valid] == 0).all()
