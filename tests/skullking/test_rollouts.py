"""Rollouts: all seats played by bots, in every backend and as by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastenv
from fastenv.engine import BatchEngine
from fastenv.skullking import tables as t
from fastenv.verify import available
from tests.by_hand import bits
from tests.needs import FASTEST, needs_core
from tests.skullking.moments import TIERS, game_of, moments
from tests.slow import every

few = settings(max_examples=8)
seeds = st.integers(0, 2**32 - 1)
NAMES = [*t.BOT_NAMES]


def asked(game, rows, rng):
    """Return arguments of rollouts, drawn."""
    engine = BatchEngine(game, 1, FASTEST)
    legal = fastenv.sample_legal(engine.action_masks_many(rows), rng)
    until = [None, "round", "tricks=1", "tricks=3", "tricks=999"][rng.integers(5)]
    limit = [None, 1, 3, 40][rng.integers(4)]
    return {
        "actions": np.where(rng.random(len(rows)) < 0.5, -1, legal),
        "players": [NAMES[k] for k in rng.integers(len(NAMES), size=game.num_seats)],
        "until": until,
        "limit": 50 if until is None and limit is None else limit,  # not to the end of a game
        "seeds": rng.integers(2**63, size=len(rows)),
    }


def found(rollouts):
    return rollouts.outcomes.tolist(), rollouts.decisions.tolist(), bits(rollouts.rows)


@pytest.mark.parametrize("tier", every(4, TIERS))
@few
@given(seed=seeds)
def test_backends_play_the_same_rollouts(tier, seed):
    game, rng = game_of(tier, seed), np.random.default_rng(seed)
    here = [name for name, why in available(game).items() if why is None]
    engines = [BatchEngine(game, 1, name) for name in here]
    for rows in moments(game, seed, every=20):
        how = asked(game, rows, rng)
        expected, *others = (found(engine.rollout(rows, **how)) for engine in engines)
        assert all(other == expected for other in others)


# -- what a rollout is -----------------------------------------------------------------------------


def table(options, n=24, steps=0):
    """Return an engine of a table of seats from outside, and rows after some steps."""
    options = options | {"opponents": "external", "invalid_action": "raise"}
    engine = fastenv.make_engine("SkullKingFlat-v0", n, backend=FASTEST, **options)
    engine.reset_many(seeds=3)
    rng = np.random.default_rng(steps)
    for _ in range(steps):
        engine.step_many(fastenv.sample_legal(engine.mask, rng))
    return engine, engine.get_states()


@needs_core
def test_a_round_is_over_when_it_is_scored():
    """The next one is not dealt, in a game of several rounds either."""
    engine, rows = table({"num_players": 4, "schedule": (4, 5, 6)}, steps=30)
    rollouts = engine.rollout(rows, players="rule_easy", until="round", seeds=1)
    ends = rollouts.rows
    assert (ends["done"] == 1).all()
    assert (ends["phase"] == t.Phase.END).all()
    assert (ends["rounds_done"] == rows["rounds_done"] + 1).all()
    assert (ends["round_idx"] == rows["round_idx"]).all()
    assert (rollouts.outcomes == ends["total"][:, :4]).all()
    assert (rollouts.outcomes != rows["total"][:, :4]).any(axis=1).all()


@needs_core
def test_some_more_tricks_or_the_rest_of_the_round():
    options = {"num_players": 4, "schedule": (4, 5, 6)}
    engine, late = table(options, steps=42)
    rows = np.concatenate([late, table(options, steps=30)[1]])
    for number in (1, 2, 9):
        ends = engine.rollout(rows, players="random", until=f"tricks={number}", seeds=1).rows
        over = rows["tricks"] + number >= rows["cards"]
        assert (ends["tricks"][~over] == rows["tricks"][~over] + number).all()
        assert (ends["rounds_done"][over] == rows["rounds_done"][over] + 1).all()
        assert over.any()
        assert over.all() == (number == 9)


@needs_core
@pytest.mark.parametrize("limit", [1, 5])
def test_a_limit_counts_decisions_of_all_seats(limit):
    engine, rows = table({"num_players": 4, "schedule": (8,)}, steps=10)
    rollouts = engine.rollout(rows, players="random", limit=limit, seeds=1)
    assert (rollouts.decisions == limit).all()
    laid = [int(row["tricks"]) * 4 + int(row["table_len"]) for row in (*rows, *rollouts.rows)]
    assert [a + limit for a in laid[: len(rows)]] == laid[len(rows) :]


# -- what a rollout does not read ------------------------------------------------------------------


@needs_core
@pytest.mark.parametrize("tier", every(4, TIERS))
@few
@given(seed=seeds)
def test_who_sat_there_changes_nothing(tier, seed):
    """Neither in seats of bots nor where a rule plays for the agent."""
    game, rng = game_of(tier, seed), np.random.default_rng(seed)
    engine = BatchEngine(game, 1, "fast")
    for rows in moments(game, seed, every=20):
        other, bots = rows.copy(), rows["bots"]
        seat = np.arange(t.MAX_PLAYERS) < game.num_seats
        changed = rng.integers(t.Bot.HEURISTIC + 1, size=bots.shape)
        other["bots"] = np.where(seat & (bots != t.Bot.EXTERNAL), changed, bots)
        how = asked(game, rows, rng)
        assert found(engine.rollout(other, **how)) == found(engine.rollout(rows, **how))


@needs_core
def test_secret_bids_of_others_are_made_anew():
    """By the players of the rollout: what stood in the row does not count, but for the actor's."""
    options = {"num_players": 4, "schedule": (6,), "scoring": "rascal_cannon"}
    for steps in range(8):  # bids of four seats, then their cannons
        engine, rows = table(options, steps=steps)
        other, actor = rows.copy(), int(rows["actor"][0])
        seats = np.arange(4)[np.arange(4) != actor]
        field = "bid" if steps < 4 else "cannon"
        values = rows[field][:, seats]
        other[field][:, seats] = np.where(values < 0, values, 6 - values if steps < 4 else 1)
        how = {"players": "random", "until": "round", "seeds": 5}
        assert found(engine.rollout(other, **how)) == found(engine.rollout(rows, **how))
    bids = engine.rollout(rows[:1], of=[0] * 64, players="random", limit=1, seeds=5).rows["bid"]
    assert len(np.unique(bids, axis=0)) == 1  # revealed: they stay


@needs_core
def test_a_goal_stays_what_it_is():
    """A Worker's bid is given, also where others are still to bid."""
    options = {"opponents": "external", "invalid_action": "raise", "goal_mode": "uniform"}
    engine = fastenv.make_engine("SkullKingWorker-v0", 32, backend=FASTEST, **options)
    engine.reset_many(seeds=2)
    rows = engine.get_states()
    assert (rows["phase"] == t.Phase.BID).all()
    ends = engine.rollout(rows, players="rule_hard", until="round", seeds=0).rows
    lanes = np.arange(len(rows))
    assert (ends["bid"][lanes, rows["agent"]] == rows["bid"][lanes, rows["agent"]]).all()
