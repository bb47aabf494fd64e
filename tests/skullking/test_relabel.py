"""Hindsight in plain Python: invariants on real rounds, and the engine's own word for it (T25)."""

import numpy as np
import pytest

from fastenv.skullking.layout import layout
from fastenv.skullking.relabel import WorkerStep, relabel_bid, relabel_round
from fastenv.skullking.rewards import bid_reward
from fastenv.skullking.tables import Tier
from tests.skullking.rounds import TABLES, engine_of, finished_rounds, play
from tests.slow import every
from tests.tables import walk


def options_of(table):
    return {k: v for k, v in table.items() if k in ("num_players", "goal_bonus", "needed_after")}


def bits(steps):
    obs = np.stack([step.obs for step in steps])
    rest = [(s.reward, s.trick_won, s.allies_on_track, s.ended_bid) for s in steps]
    return obs.view(np.uint32).tolist(), rest


def won_of(steps):
    return sum(bool(step.trick_won) for step in steps)


def goal_decides_nothing(table):
    """Neither how the Tigress is played nor what a pirate's ability does."""
    return table.get("tigress") == "agent" and table.get("abilities") != "auto"


def goal_of(step, num_players=4, **_options):
    blocks = {block.name: block for block in layout(Tier.WORKER, num_players)}
    return round(10 * float(step.obs[blocks["status"].offset]))


@walk("table", every(2, TABLES), ids=str)
def test_its_own_goal_changes_nothing(table):
    rounds = finished_rounds(play(engine_of(64, table), 60, seed=3), **table)
    assert len(rounds) > 100
    assert any(step.allies_on_track for steps in rounds for step in steps)
    for steps in rounds:
        same = relabel_round(steps, goal_of(steps[0], **table), **options_of(table))
        assert bits(same) == bits(steps)


@walk("table", every(2, TABLES), ids=str)
def test_the_achieved_goal_is_paid_at_the_end_and_shown_from_the_start(table):
    bonus = table.get("goal_bonus", 5.0)
    rounds = finished_rounds(play(engine_of(64, table), 60, seed=4), **table)
    missed = 0
    for steps in rounds:
        won = won_of(steps)
        missed += won != goal_of(steps[0], **table)
        new = relabel_round(steps, won, **options_of(table))
        assert new[-1].ended_bid == won
        assert {goal_of(step, **table) for step in new} == {won}
        # After a trick that was not wanted nothing is lost any more; the rest is the bonus.
        unpaid = relabel_round(steps, won, **{**options_of(table), "goal_bonus": 0.0})
        assert new[-1].reward == pytest.approx(unpaid[-1].reward + bonus)
        assert [s.reward for s in new[:-1]] == [s.reward for s in unpaid[:-1]]
        assert [s.trick_won for s in new] == [s.trick_won for s in steps]
    assert missed > 50


@pytest.mark.parametrize("table", [t for t in TABLES if goal_decides_nothing(t)], ids=str)
def test_a_round_dealt_with_the_achieved_goal_is_the_relabelled_one(table):
    """Opponents do not see the goal: the same deal and the same cards give the same tricks."""
    engine = engine_of(48, table)
    for seed in (5, 6, 7, 8):
        engine.reset_many(seeds=seed)
        start = engine.get_states()
        first = finished_rounds(play(engine, 12, seed=seed, reset=False), first_only=True, **table)
        assert len(first) == engine.num_envs
        lanes = np.arange(engine.num_envs)
        start["bid"][lanes, start["agent"]] = [won_of(steps) for steps in first]
        engine.set_states(start)
        again = play(engine, 12, seed=seed, reset=False)
        second = finished_rounds(again, first_only=True, **table)
        for steps, expected in zip(first, second, strict=True):
            new = relabel_round(steps, won_of(steps), **options_of(table))
            assert bits(new) == bits(expected)


def test_a_bet_of_the_rule_is_paid_by_the_table_and_in_hindsight():
    """`abilities="auto"`: the last card pays 0.01 of Rascal's bet, with either goal."""
    table = {"abilities": "auto", "opponents": "random", "schedule": (10,)}
    table["round_weights"] = (1.0,)
    place = {block.name: block for block in layout(Tier.WORKER, 4)}["ability_state"].offset + 1
    bets = set()
    for steps in finished_rounds(play(engine_of(256, table), 40, seed=6), **table):
        last, won, goal = steps[-1], won_of(steps), goal_of(steps[0])
        bet = round(20 * float(last.obs[place]))
        if not bet:
            continue
        for achieved in (goal, won):
            paid = relabel_round(steps, achieved)[-1]
            exact = won == paid.ended_bid
            needed = achieved - (won - bool(last.trick_won))
            card = (
                (3.0 if needed > 0 else -1.5 if needed == 0 else -2.0)
                if last.trick_won
                else (0.5 if needed <= 0 else 0.0 if needed == 1 else -1.0)
            )
            expected = card + (5.0 if exact else 0.0) + 0.01 * (bet if exact else -bet)
            assert paid.reward == float(np.float32(expected))
            if achieved == goal:
                assert paid.reward == last.reward  # what the engine paid
            bets.add((bet, exact))
    assert {exact for _, exact in bets} == {False, True}
    assert {bet for bet, _ in bets} >= {10}


def test_what_is_no_finished_round_or_no_goal_of_it_is_refused():
    steps = finished_rounds(play(engine_of(8, {}), 20, seed=1))[0]
    with pytest.raises(ValueError, match="not finished"):
        relabel_round(steps[:-1], 0)
    with pytest.raises(ValueError, match="not finished"):
        relabel_round([], 0)
    with pytest.raises(ValueError, match="achieved=11"):
        relabel_round(steps, 11)


def test_a_round_by_hand():
    """Two cards, goal 0, Harry in hand; the first trick was won, an ally is on track."""
    seen = np.zeros((2, 203), np.float32)
    for k, left in enumerate((2, 1)):
        seen[k, 126:130] = 0, k / 10, -k / 10, left / 10
        seen[k, 134] = 1
    seen[0, 146] = 1
    steps = [
        WorkerStep(seen[0], -1.5, True),
        WorkerStep(seen[1], 0.5, False, allies_on_track=1, ended_bid=0),
    ]
    one, two = relabel_round(steps, 1)
    assert (one.reward, two.reward) == (3.0, 5.5)
    assert one.obs[126:134].tolist() == np.float32([0.1, 0, 0.1, 0.2, 1, 0, 0, 0.5]).tolist()
    assert two.obs[126:134].tolist() == np.float32([0.1, 0.1, 0, 0.1, 1, 1, 0, 0]).tolist()
    assert [step.obs[134:145].argmax() for step in (one, two)] == [1, 1]
    assert one.obs[159:162].tolist() == np.float32([0.8, 0.9, 0]).tolist()
    assert two.obs[201] == np.float32(0.2)
    after = relabel_round(steps, 1, needed_after=True, goal_bonus=0.0)
    assert [step.reward for step in after] == [-1.5, 0.5]


@walk(
    ("cards", "bid", "won", "others"),
    [
        (5, 2, 2, [1, 3]),
        (5, 2, 3, [3, 1]),
        (5, 0, 4, [4, 1]),
        (5, 5, 0, [0, 4]),
        (1, 0, 1, [1]),
        (1, 1, 1, [0]),
        (7, 3, 6, [6, 2, 4]),
    ],
)
def test_other_bids_of_a_round(cards, bid, won, others):
    obs = np.zeros(171, np.float32)
    obs[90] = cards / 10
    found = relabel_bid(obs, cards, bid, won)
    assert [other for other, _ in found] == others
    assert all(reward == bid_reward(other, won, cards) for other, reward in found)
    with pytest.raises(ValueError, match=f"cards={cards + 1}"):
        relabel_bid(obs, cards + 1, bid, won)


def test_rewards_of_other_bids_by_hand():
    obs = np.zeros(171, np.float32)
    obs[90] = 0.6
    assert relabel_bid(obs, 6, 1, 0) == [(0, 8.0), (2, -1.0)]
    assert relabel_bid(obs, 6, 2, 5) == [(5, 5.0), (1, -4.0), (3, -1.0)]
