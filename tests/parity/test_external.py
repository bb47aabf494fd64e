"""Seats played from outside: the game is the one that bots inside would have played."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastenv
from fastenv.engine import rng_streams
from fastenv.skullking import tables as t
from fastenv.skullking.layout import layout
from fastenv.skullking.tables import Bot, Phase
from fastenv.verify import Case, available
from tests.slow import diagonal, every
from tests.tables import walk

pytestmark = pytest.mark.parity

RUNNABLE = [n for n, why in available(fastenv.make_game("SkullKingFlat-v0")).items() if why is None]
PLAYERS = range(2, 7)
SWITCHES = {  # of the game of so many players
    2: {"two_player": "graybeard", "tigress": "agent"},
    3: {"scoring": "rascal_cannon", "obs_ext": "memory"},
    4: {"agent_seat": 2},
    5: {"tigress": "agent", "late_suit": True, "reward": "points_rank"},
    6: {"scoring": "rascal_cannon", "agent_seat": 5, "trump_any_time": True},
}
TIERS = {
    "flat": {"schedule": (1, 3, 5, 2)},
    "flat, abilities": {"schedule": (2, 6, 5), "abilities": "agent"},
    "manager": {"schedule": (1, 3, 5, 2), "mode": "game", "abilities": "auto"},
    "worker": {"goal_mode": "estimate", "abilities": "auto"},
    "ability": {},
}
ID = "SkullKing{}-v0"
LANES = 3


def engine_of(tier, players, opponents, backend=RUNNABLE[-1], lanes=LANES, **changes):
    options = {"num_players": players, "deals": "duplicate", "invalid_action": "raise"}
    options |= TIERS[tier] | SWITCHES[players] | changes
    name = ID.format(tier.split(",")[0].title())
    return fastenv.make_engine(name, lanes, backend=backend, opponents=opponents, **options)


def waiting_for_others(engine):
    rows = engine.get_states()
    return rows["actor"] != rows["agent"]


def numbers_of(terms):
    """Return a view of the terms with a column for each."""
    return terms.view(np.float32).reshape(len(terms), -1)


def answer(outside, bids, kind, streams):
    """Decide for the external seats as bots do, with these bids of all seats.

    Yield after every step, the agent's before this one included, what the step has paid.
    """
    terms = numbers_of(outside.terms)
    yield outside.reward.copy(), terms.copy()
    while (waiting := waiting_for_others(outside)).any():
        assert not outside.reward[waiting].any()
        assert not terms[waiting].any()
        rows = outside.get_states()
        bid = bids[np.arange(len(rows)), rows["actor"]]
        actions = np.where(rows["phase"] == Phase.BID, bid, outside.bot_actions(kind, streams))
        assert np.abs(outside.obs).max() <= 1
        outside.step_many(actions, select=waiting, autoreset=False)
        yield outside.reward.copy(), terms.copy()


def assert_same_position(outside, inside):
    here, there = outside.get_states(), inside.get_states()
    there["bid"][(there["phase"] == Phase.BID)[:, None] & (here["bid"] < 0)] = -1  # still to come
    for name in here.dtype.names:
        if name not in ("rng", "bots"):
            assert here[name].tobytes() == there[name].tobytes(), name
    running = ~inside.ended
    for name in ("obs", "mask", "ended"):
        assert getattr(outside, name).tobytes() == getattr(inside, name).tobytes(), name
    infos = [engine.info_records()[running] for engine in (outside, inside)]
    np.testing.assert_array_equal(*infos)


@walk(("tier", "players", "backend"), diagonal(TIERS, every(3, PLAYERS), RUNNABLE))
def test_bots_fed_from_outside_play_the_game_of_bots_inside(tier, players, backend):
    seed = 1000 * players + len(tier)
    kind = ("rule_hard", "heuristic")[players % 2 and tier != "manager"]
    inside = engine_of(tier, players, kind, backend)
    outside = engine_of(tier, players, "external", backend)
    rng, streams = np.random.default_rng(seed), rng_streams(seed, LANES)
    for engine in (inside, outside):
        engine.reset_many(seeds=seed)
    for reward, _ in answer(outside, inside.get_states()["bid"], kind, streams):
        assert not reward.any()  # nothing is paid before the agent's first decision
    assert_same_position(outside, inside)
    while not inside.ended.all():
        actions, running = fastenv.sample_legal(inside.mask, rng), ~inside.ended
        bids = inside.get_states()["bid"]  # bots bid when the cards are dealt
        for engine in (inside, outside):
            engine.step_many(actions, select=running, autoreset=False)
        reward, terms = inside.reward.copy(), numbers_of(inside.terms).copy()
        paid = zip(*answer(outside, bids, kind, streams), strict=True)
        rewards, sums = (np.sum(part, axis=0, dtype=np.float32) for part in paid)
        assert rewards.tobytes() == reward.tobytes(), f"seed {seed}"
        assert sums.tobytes() == terms.tobytes(), f"seed {seed}"
        assert_same_position(outside, inside)
    for name in ("final_obs", "ep_return", "ep_length"):
        assert getattr(outside, name).tobytes() == getattr(inside, name).tobytes(), name
    for name, column in inside.final_info.items():
        if name not in inside.term_columns:
            np.testing.assert_array_equal(outside.final_info[name], column, err_msg=name)


@pytest.mark.parametrize("tier", every(2, [tier for tier in TIERS if tier != "manager"]))
def test_external_seats_see_what_the_agent_would_see_in_their_place(tier):
    seed = 40
    engine = engine_of(tier, 4, "external", tigress="agent", obs_ext="memory")
    other = engine_of(tier, 4, "external", tigress="agent", obs_ext="memory")
    engine.reset_many(seeds=seed)
    rng, seen = np.random.default_rng(seed), 0
    lanes, phases = np.arange(LANES), set()
    for _ in range(800 if "abilit" in tier else 150):
        playing = ~np.isin(engine.info["decision_phase"], (Phase.BID, Phase.CANNON))
        chosen = np.flatnonzero(playing & waiting_for_others(engine))
        phases |= set(engine.info["decision_phase"][chosen].tolist())
        rows = engine.get_states()
        rows["bots"][lanes, rows["agent"]] = Bot.EXTERNAL
        rows["bots"][lanes, rows["actor"]] = Bot.RULE_HARD
        rows["agent"] = rows["actor"]
        if chosen.size:
            other.set_states(rows[chosen], chosen)
            assert other.obs[chosen].tobytes() == engine.obs[chosen].tobytes(), f"seed {seed}"
            assert other.mask[chosen].tobytes() == engine.mask[chosen].tobytes(), f"seed {seed}"
            seen += chosen.size
        engine.step_many(fastenv.sample_legal(engine.mask, rng))
    assert seen > 50
    decided = {*Phase} - {Phase.BID, Phase.CANNON, Phase.END}
    assert phases == (decided if "abilit" in tier else {Phase.PLAY, Phase.TIGRESS})


@pytest.mark.parametrize("tier", every(3, TIERS))
def test_nobody_sees_a_bid_before_all_have_bid(tier):
    engine = engine_of(tier, 5, "external", obs_ext="memory")
    engine.reset_many(seeds=3)
    rng, changed = np.random.default_rng(3), 0
    for _ in range(120):
        rows = engine.get_states()
        secret = np.flatnonzero(rows["phase"] == Phase.BID)
        altered = rows.copy()
        given = rows["bid"] > 0
        altered["bid"][given] -= 1
        changed += given[secret, :5].sum()
        seen = engine.encode_obs_many(altered)
        assert seen[secret].tobytes() == engine.obs[secret].tobytes()
        engine.step_many(fastenv.sample_legal(engine.mask, rng))
    assert changed > 20


def test_bids_are_asked_for_in_seat_order_from_the_agent_on():
    engine = engine_of("flat", 5, ["rule_hard", "external", "external", "external"], lanes=1,
                       agent_seat=3, scoring="rascal_cannon")  # fmt: skip
    engine.reset_many(seeds=1)
    asked = []
    for _ in range(8):
        row = engine.get_states()[0]
        asked.append((Phase(row["phase"]).name, int(row["actor"])))
        engine.step_many(np.ones(1, np.int32))
    seats = (3, 0, 1, 2)
    assert asked == [(phase, seat) for phase in ("BID", "CANNON") for seat in seats]


@st.composite
def options_of(draw, tier):
    players = draw(st.integers(2, t.MAX_PLAYERS))
    seats = st.sampled_from([*t.BOT_NAMES, *["external"] * len(t.BOT_NAMES)])
    given_ = {
        "opponents": draw(st.lists(seats, min_size=players - 1, max_size=players - 1)),
        "scoring": draw(st.sampled_from([s.name.lower() for s in t.Scoring])),
        "tigress": draw(st.sampled_from(["auto", "agent"])),
        "two_player": draw(st.sampled_from(["graybeard", "plain"])),
        "agent_seat": draw(st.sampled_from([0, 1, "rotate"])),
        "obs_ext": draw(st.sampled_from([None, "memory"])),
        "deals": draw(st.sampled_from(["stream", "duplicate"])),
        "schedule": draw(st.sampled_from(["classic", (1, 2), (3, 1)])),
    }
    abilities = ["off", "auto", *(["agent"] if tier in ("flat", "ability") else [])]
    given_ |= {"abilities": draw(st.sampled_from(abilities)), "reward": "points_rank"}
    given_ |= {"seats": draw(st.sampled_from(["agent", "all"])), "invalid_action": "raise"}
    return {"num_players": players} | given_


def agree(tier, data, seed):
    options = data.draw(options_of(tier))
    game = fastenv.make_game(ID.format(tier.title()), **options)
    case = Case(game, seed, 2, {name: (name, 1) for name in RUNNABLE}, options)
    difference = case.check()
    for _ in range(25):
        assert difference is None, f"\n{difference}"
        difference = case.advance()
    assert difference is None, f"\n{difference}"


@pytest.mark.parametrize("tier", every(4, ["flat", "manager", "worker", "ability"]))
@settings(max_examples=5)
@given(data=st.data(), seed=st.integers(0, 2**64 - 1))
def test_backends_agree_whoever_sits_outside(tier, data, seed):
    agree(tier, data, seed)


@pytest.mark.slow
@pytest.mark.parametrize("tier", ["flat", "manager", "worker", "ability"])
@given(data=st.data(), seed=st.integers(0, 2**64 - 1))
def test_backends_agree_on_many_tables(tier, data, seed):
    agree(tier, data, seed)


@pytest.mark.parametrize("backend", RUNNABLE)
def test_bids_of_a_workers_opponents_can_be_seen_as_in_the_flat_tier(backend):
    worker = engine_of("worker", 4, "external", backend, round_weights="uniform")
    flat = engine_of("flat", 4, "external", backend, schedule="classic", abilities="auto")
    worker.reset_many(seeds=6)
    rows = worker.get_states()
    assert (rows["phase"] == Phase.BID).all()
    assert not worker.obs.any()
    seen = flat.encode_obs_many(rows)
    rows["bid"][np.arange(LANES), rows["agent"]] = 0  # the Worker's goal is as secret as a bid
    assert flat.encode_obs_many(rows).tobytes() == seen.tobytes()
    bidding = next(b for b in layout(t.Tier.FLAT, 4, False) if b.name == "phase")
    assert seen[:, bidding.offset :][:, : bidding.length].argmax(axis=1).tolist() == [1] * LANES


# -- a table of seats from outside -----------------------------------------------------------------


def table_of(tier, lanes=LANES, **options):
    return fastenv.make_engine(ID.format(tier), lanes, seats="all", **options)


@pytest.mark.parametrize("tier", ["Flat", "Manager", "Worker", "Ability"])
def test_everybody_bids_at_a_table_and_sees_what_to_bid_on(tier):
    engine = table_of(tier, lanes=1, agent_seat=2, scoring="rascal_cannon")
    engine.reset_many(seeds=1)
    asked, hands = [], set()
    for _ in range(8):
        row = engine.get_states()[0]
        asked.append((Phase(row["phase"]).name, int(row["actor"])))
        assert engine.info["actor"][0] == row["actor"]
        hands.add(engine.obs.tobytes())
        engine.step_many(np.ones(1, np.int32))
    assert asked == [(phase, seat) for phase in ("BID", "CANNON") for seat in (2, 3, 0, 1)]
    assert len(hands) == 8


@walk("reward", ["points", "points_rank"])
@walk("tier", ["Flat", "Manager", "Worker", "Ability"])
def test_scores_of_the_agent_are_ten_times_what_it_is_paid(tier, reward):
    options = {"reward": reward, "agent_seat": 1, "round_weights": "uniform"}
    engine = table_of(tier, lanes=16, **options)
    engine.reset_many(seeds=3)
    rng, ended = np.random.default_rng(3), 0
    for _ in range(300):
        engine.step_many(fastenv.sample_legal(engine.mask, rng))
        done = engine.terminated != 0
        scores = engine.final_info["scores"][done]
        np.testing.assert_allclose(scores[:, 1], 10 * engine.ep_return[done], atol=1e-3)
        if reward == "points_rank" and tier == "Flat":
            ranks = (scores[:, None, :4] > scores[:, :4, None]).sum(2)
            best = engine.get_states()["total"][done]  # of the next game: nothing yet
            assert not best.any()
            assert (ranks.min(axis=1, initial=0) == 0).all()
        ended += done.sum()
    assert ended >= 16


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("tier", ["Flat", "Manager", "Worker", "Ability"])
def test_external_is_refused_where_it_cannot_be_played(tier):
    name = ID.format(tier)
    with pytest.raises(fastenv.ConfigError, match="opponents='external' is not possible"):
        fastenv.make_game(name, opponents="external")
    engine = fastenv.make_engine(name, 1)
    with pytest.raises(fastenv.ConfigError, match="'external' needs"):
        engine.configure("opponents", ["external", "rule_easy", "rule_easy"])
    engine.reset_many(seeds=1)
    row = engine.get_states()
    row["bots"][0, 1] = Bot.EXTERNAL
    with pytest.raises(fastenv.StateError, match="lane 0: bots="):
        engine.set_states(row)


@pytest.mark.parametrize(
    ("field", "value"), [("invalid_action", "penalty"), ("reward", "shaped"), ("seats", "none")]
)
def test_a_table_is_refused_where_it_cannot_be_played(field, value):
    with pytest.raises(fastenv.ConfigError, match=f"{field}='{value}' is not possible: {field}"):
        fastenv.make_game("SkullKingWorker-v0", **{"seats": "all", field: value})


def test_external_is_not_a_scripted_player():
    engine = engine_of("flat", 4, "external")
    engine.reset_many(seeds=1)
    with pytest.raises(fastenv.ConfigError, match="bot 'external': must be one of"):
        engine.bot_actions("external", rng_streams(1, LANES))


@pytest.mark.parametrize("backend", RUNNABLE)
def test_an_illegal_action_of_an_external_seat_changes_nothing(backend):
    engine = engine_of("flat", 4, "external", backend)
    engine.reset_many(seeds=1)
    engine.step_many(np.zeros(LANES, np.int32))
    assert waiting_for_others(engine).all()
    before = engine.get_states()
    with pytest.raises(fastenv.InvalidActionError, match=re.escape("legal are [0, 1]")):
        engine.step_many(np.array([0, 0, 2]))
    assert engine.get_states().tobytes() == before.tobytes()


@pytest.mark.parametrize(
    ("field", "value"), [("actor", 3), ("actor", 1), ("bid", -1), ("known", 0), ("played_last", 1)]
)
def test_rows_in_which_another_seat_cannot_act_are_refused(field, value):
    engine = engine_of("flat", 4, ["rule_hard", "external", "external"], lanes=1, agent_seat=0)
    engine.reset_many(seeds=1)
    engine.step_many(np.zeros(1, np.int32))
    row = engine.get_states()
    assert row["actor"][0] == 2
    engine.set_states(row)
    row[field][0] = value
    with pytest.raises(fastenv.StateError, match="lane 0: "):
        engine.set_states(row)


@pytest.mark.parametrize("tier", TIERS)
def test_an_engine_says_who_beside_the_agent_is_asked(tier):
    engine = engine_of(tier, 4, "external", agent_seat="rotate")
    assert (engine.seats is None) == ("flat" not in tier)
    if tier == "manager":
        assert engine.external_seats is None
        return
    assert engine.external_seats.count == 4
    bots = engine_of(tier, 4, "random")
    for each in (engine, bots):
        each.reset_many(seeds=3)
    rng, places = np.random.default_rng(3), set()
    for _ in range(30):
        rows = engine.get_states()
        np.testing.assert_array_equal(engine.get_actors(), rows["actor"])
        np.testing.assert_array_equal(engine.get_agents(), rows["agent"])
        np.testing.assert_array_equal(engine.get_places(), (rows["actor"] - rows["agent"]) % 4)
        places |= set(engine.get_places().tolist())
        engine.step_many(fastenv.sample_legal(engine.mask, rng))
    assert places == {0, 1, 2, 3}
    assert engine.has_outside().all()
    assert not bots.has_outside().any()
