"""The Numba kernels write the bits that the plain Python encoding computes."""

import ctypes
import random
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastenv.skullking import encoding, kernels
from fastenv.skullking.config import SkullKingConfig
from fastenv.skullking.layout import INFO_COLUMNS, REWARD_COLUMNS, layout
from fastenv.skullking.reference import SkullKing, pack, unpack
from fastenv.skullking.state import STATE_DTYPE, TABLES
from fastenv.skullking.tables import NUM_ACTIONS, NUM_CARDS, SPECIALS, Phase, Tier

pytestmark = pytest.mark.parity

TIERS = [tier.name.lower() for tier in Tier]
# Between them: every table size, switch and bot that changes what an observation or reward shows.
VARIANTS = {
    "default": {},
    "graybeard": {"num_players": 2, "schedule": "broadside_barrage", "mode": "game"},
    "three": {"num_players": 3, "deck": "base70", "late_suit": True, "agent_seat": "rotate"},
    "five": {
        "num_players": 5,
        "scoring": "rascal_cannon",
        "tigress": "agent",
        "obs_ext": "memory",
        "reward": "points_rank",
        "mode": "game",
    },
    "eight": {
        "num_players": 8,
        "obs_ext": "memory",
        "trump_any_time": True,
        "needed_after": True,
        "rosie_shaping": True,
        "reward": "points",
        "goal_mode": "estimate",
        "opponents": "random",
    },
    "long": {"schedule": [10, 9] * 10, "tigress_bonus": False, "goal_bonus": 0.3, "mode": "game"},
}


@lru_cache
def config_of(tier, variant):
    options = dict(VARIANTS[variant])
    if tier in ("flat", "manager") and variant in ("three", "long"):
        options["abilities"] = "auto"
    return SkullKingConfig(tier=tier, **options)


class Columns:
    """Buffers for n rows, filled with values nothing writes."""

    def __init__(self, n, obs_dim):
        self.obs = np.full((n, obs_dim), 7, np.float32)
        self.mask = np.full((n, NUM_ACTIONS), 9, np.uint8)
        self.info = np.full((n, len(INFO_COLUMNS)), -7, np.int32)
        self.reward = np.full(n, 7, np.float32)
        self.columns = np.full((n, len(REWARD_COLUMNS)), 7, np.float32)


def by_python(rows, rules, knobs):
    """Encode and reward rows with the reference; return buffers and the rows afterwards."""
    out, after = Columns(len(rows), int(rules["obs_dim"][0])), rows.copy()
    for i, row in enumerate(rows):
        game = unpack(row, rules, knobs)
        encoding.encode_obs(game, out.obs[i])
        encoding.action_mask(game, out.mask[i])
        encoding.info(game, out.info[i])
        out.reward[i], out.columns[i] = encoding.apply_reward(game)
        after["ep_return"][i], after["ep_length"][i] = game.ep_return, game.ep_length
    return out, after


def by_numba(rows, rules):
    out, after = Columns(len(rows), int(rules["obs_dim"][0])), rows.copy()
    select = np.ones(len(rows), np.uint8)
    kernels.observe_many(after, rules, TABLES, select, out.obs, out.mask)
    kernels.info_many(after, rules, select, out.info)
    assert (after == rows).all()
    kernels.reward_many(after, rules, TABLES, select, out.reward, out.columns)
    return out, after


def by_address(rows, rules):
    """Call the C functions one row after the other, as the Cython core does."""
    out, after = Columns(len(rows), int(rules["obs_dim"][0])), rows.copy()
    observe, reward, info = kernels.addresses(int(rules["tier"][0]))
    tables = TABLES.copy()

    def call(address, *arrays):
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers))(address)(*pointers)

    for i in range(len(rows)):
        row = after[i : i + 1]
        call(observe, row, rules, tables, out.obs[i], out.mask[i])
        call(info, row, rules, out.info[i])
        call(reward, row, rules, tables, out.reward[i : i + 1], out.columns[i])
    return out, after


def assert_same(rows, rules, knobs):
    expected, expected_rows = by_python(rows, rules, knobs)
    assert np.abs(expected.obs).max() <= 1
    assert expected.mask.any(axis=1).all()
    for encode in (by_numba, by_address):
        got, got_rows = encode(rows, rules)
        different = np.argwhere(got.obs.view(np.uint32) != expected.obs.view(np.uint32))
        blocks = layout(*(int(rules[name][0]) for name in ("tier", "num_players", "memory")))
        names = sorted({b.name for _, k in different for b in blocks if b.offset <= k < b.stop})
        assert not names, f"{encode.__name__} differs in {names}"
        np.testing.assert_array_equal(got.mask, expected.mask)
        np.testing.assert_array_equal(got.info, expected.info)
        for name in ("reward", "columns"):
            a, b = (getattr(x, name).view(np.uint32) for x in (got, expected))
            np.testing.assert_array_equal(a, b, err_msg=name)
        assert (got_rows == expected_rows).all()


@lru_cache
def played_rows(tier, variant, n=160):
    """Return rows of reference games under random play with some illegal actions."""
    config, rng = config_of(tier, variant), random.Random(f"{tier} {variant}")
    game = SkullKing(config.rules_record(), config.default_knobs(1), seed=rng.randrange(2**32))
    rows = np.zeros(n, STATE_DTYPE)
    for i in range(n):
        action = rng.randrange(NUM_ACTIONS) if rng.random() < 0.05 else None
        if game.done:
            game.reset()
        game.step(rng.choice(game.legal_actions()) if action is None else action)
        pack(game, rows[i])
    rows.flags.writeable = False
    return rows


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("tier", TIERS)
def test_played_games(tier, variant):
    config = config_of(tier, variant)
    assert_same(played_rows(tier, variant), config.rules_record(), config.default_knobs(1))


def test_played_games_reach_every_decision():
    seen = set()
    for tier in TIERS:
        for variant in VARIANTS:
            seen |= set(played_rows(tier, variant)["phase"].tolist())
    assert seen == set(Phase)


# -- positions that play seldom or never reaches ---------------------------------------------------


def _scores(row, rng, rules):
    row["total"][: rules.num_players] = rng.choices((-12000, -501, -499, 0, 250, 500, 12000), k=8)[
        : rules.num_players
    ]
    row["rounds_done"] = rounds = rng.randrange(rules.num_rounds + 1)
    for seat in range(rules.num_players):
        row["bid_sum"][seat] = rng.randint(0, 10 * rounds)
        row["abs_error"][seat] = worst = rng.randint(0, 10 * rounds)
        row["error"][seat] = rng.randint(-worst, worst)
        row["bid_share"][seat] = rng.randint(0, 2520 * rounds)
        row["last_bid"][seat] = rng.randint(0, 10) if rounds else 0
        row["hits"][seat], row["zero_bids"][seat] = (rng.randint(0, rounds) for _ in range(2))


def _tricks(row, rng, rules):
    """Bids and tricks of the players, allies and abilities; a completed round stays one."""
    cards, players = int(row["cards"]), rules.num_players
    row["bid"][:players] = [rng.randint(0, cards) for _ in range(players)]
    row["won"][:players] = [rng.randint(0, cards) for _ in range(players)]
    seats = [seat for seat in range(players) if row["hand_len"][seat]]
    row["actor"] = rng.choice([int(row["agent"]), *seats])
    if row["phase"] == Phase.BID:
        row["bid"][row["actor"]] = -1
    row["num_alliances"] = n = rng.randrange(3)
    row["alliances"] = -1
    for i in range(n):
        row["alliances"][i] = rng.sample(range(players), 2)
    row["played_last"][:players] = [rng.randint(0, int(row["tricks"])) for _ in range(players)]
    row["counts"] = [rng.randint(0, 10) for _ in range(5)]
    row["harry_seat"], row["rascal_seat"] = (rng.randrange(-1, players) for _ in range(2))
    row["rascal_bet"] = rng.choice((0, 10, 20))
    row["rosie_lead"], row["jade_seen"] = rng.randrange(2), rng.randrange(2)
    row["abilities_used"] = rng.randrange(6)
    row["first_leader"] = rng.randrange(players)


def _memory(row, rng, rules):
    """What the agent has seen: any cards of the deck."""
    for name in ("known", "out", "played"):
        cards = rng.sample(rules.deck, rng.randint(0, rules.deck_len))
        bits = sum(1 << card for card in cards)
        row[name] = np.array([bits & (2**64 - 1), bits >> 64], np.uint64)
        if name == "known":
            row["specials_known"] = len(set(cards) & set(SPECIALS))
    row["seen_strength"] = rng.uniform(0.05, 0.95) * (
        int(row["tricks"]) * rules.num_hands + int(row["table_len"])
    )


def _events(row, rng, rules):
    """Any event of the last step, also combinations no game produces."""
    phases = [*range(9)] if rules.tier == Tier.ABILITY else [0, 1, 2, 8]
    row["ev_phase"] = phase = rng.choice(phases)
    row["ev_action"] = rng.randrange(3 if phase in (Phase.RASCAL, Phase.HARRY) else NUM_ACTIONS)
    row["ev_invalid"] = rng.choice((0, 0, 0, 0, 1, 2))
    discards = phase in (Phase.BENDT_1, Phase.BENDT_2)
    row["ev_card"] = rng.randrange(0 if discards else -1, NUM_CARDS)
    row["ev_cards"] = cards = rng.randint(1, 10)
    row["ev_needed"], row["ev_left"] = rng.randint(-cards, cards), rng.randint(0, cards)
    row["ev_estimate"], row["ev_trick"] = rng.randint(0, cards), rng.randrange(3)
    row["ev_captures"] = [rng.randrange(4) for _ in range(5)]
    row["ev_round"] = rng.choice((0, rng.randint(1, rules.num_rounds)))
    row["ev_bid"], row["ev_won"] = rng.randint(0, cards), rng.randint(0, cards)
    row["ev_alliances"], row["ev_bet"] = rng.randrange(3), rng.choice((0, 10, 20))
    row["ev_points"], row["ev_bonus"] = rng.randint(-400, 400), rng.randint(0, 200)
    row["ev_rank"] = rng.randint(0, rules.num_players)
    row["ep_return"], row["ep_length"] = rng.uniform(-100, 100), rng.randint(0, 1000)


@pytest.mark.parametrize("tier", TIERS)
@given(seed=st.integers(0, 2**32), variant=st.sampled_from(list(VARIANTS)))
def test_altered_positions(tier, seed, variant):
    config, rng = config_of(tier, variant), random.Random(seed)
    rules, knobs = config.rules_record(), config.default_knobs(1)
    rows = played_rows(tier, variant)[rng.sample(range(160), 6)]
    for row in rows:
        plain = unpack(row, rules, knobs).rules
        for alter in (_scores, _tricks, _memory, _events):
            if rng.random() < 0.8:
                alter(row, rng, plain)
    assert_same(rows, rules, knobs)


# -- hidden information (property 9 of section 18) -------------------------------------------------


@pytest.mark.parametrize("variant", ["default", "eight", "long"])
@pytest.mark.parametrize("tier", TIERS)
def test_unseen_cards_and_secret_bids_do_not_show(tier, variant):
    config, rng = config_of(tier, variant), random.Random(1)
    rules = config.rules_record()
    rows, (n, players) = played_rows(tier, variant).copy(), (160, int(rules["num_players"][0]))
    before = by_numba(rows, rules)[0]
    for row in rows:
        # the stock is known after Jade: then only the other hands are exchanged
        hidden = [("hand", s, k) for s in range(players) for k in range(row["hand_len"][s])]
        hidden = [place for place in hidden if place[1] != row["agent"]]
        if not row["jade_seen"]:
            hidden += [("stock", k) for k in range(row["stock_pos"], row["stock_len"])]
        cards = [row[name][tuple(index)] for name, *index in hidden]
        rng.shuffle(cards)
        for (name, *index), card in zip(hidden, cards, strict=True):
            row[name][tuple(index)] = card
        if row["phase"] in (Phase.BID, Phase.CANNON):
            for seat in set(range(players)) - {int(row["agent"])}:
                row["bid"][seat] = rng.randint(0, int(row["cards"]))
                row["cannon"][seat] = rng.randrange(2)
    after = by_numba(rows, rules)[0]
    assert after.obs.tobytes() == before.obs.tobytes()
    assert after.mask.tobytes() == before.mask.tobytes()
    assert n == len(rows)


# -- the boundary ----------------------------------------------------------------------------------


@pytest.mark.parametrize("tier", TIERS)
def test_rows_not_selected_are_not_touched(tier):
    config = config_of(tier, "default")
    rules, rows = config.rules_record(), played_rows(tier, "default").copy()
    every, _ = by_numba(rows, rules)
    select = (np.arange(len(rows)) % 3 == 0).astype(np.uint8)
    out, before = Columns(len(rows), int(rules["obs_dim"][0])), rows.copy()
    kernels.observe_many(rows, rules, TABLES, select, out.obs, out.mask)
    kernels.info_many(rows, rules, select, out.info)
    kernels.reward_many(rows, rules, TABLES, select, out.reward, out.columns)
    untouched = Columns(len(rows), int(rules["obs_dim"][0]))
    for name in ("obs", "mask", "info", "reward", "columns"):
        got, rest = getattr(out, name), getattr(untouched, name)
        np.testing.assert_array_equal(got[select == 1], getattr(every, name)[select == 1])
        np.testing.assert_array_equal(got[select == 0], rest[select == 0])
    assert (rows == before)[select == 0].all()


@pytest.mark.parametrize(
    ("obs", "mask"),
    [
        (np.zeros((2, 203)), np.zeros((2, 11), np.uint8)),
        (np.zeros((2, 202), np.float32), np.zeros((2, 11), np.uint8)),
        (np.zeros((1, 203), np.float32), np.zeros((2, 11), np.uint8)),
        (np.zeros((2, 203), np.float32), np.zeros((2, 10), np.uint8)),
        (np.zeros((2, 203), np.float32), np.zeros((2, 11), np.int8)),
        (np.zeros((2, 406), np.float32)[:, ::2], np.zeros((2, 11), np.uint8)),
    ],
)
def test_buffers_that_do_not_fit_are_refused(obs, mask):
    config = config_of("worker", "default")
    rows, select = np.zeros(2, STATE_DTYPE), np.ones(2, np.uint8)
    with pytest.raises(ValueError, match="C-contiguous"):
        kernels.observe_many(rows, config.rules_record(), TABLES, select, obs, mask)
    assert not obs.any()
