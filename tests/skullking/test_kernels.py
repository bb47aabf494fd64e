"""The Numba kernels write the bits that the plain Python encoding computes."""

import random
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fastenv.skullking import SkullKingGame, kernels
from fastenv.skullking.config import SkullKingConfig
from fastenv.skullking.layout import layout
from fastenv.skullking.reference import SkullKing
from fastenv.skullking.state import STATE_DTYPE
from fastenv.skullking.tables import NUM_ACTIONS, NUM_CARDS, SPECIALS, Phase, Tier
from tests.rowcalls import Encoded, assert_same_bits, by_kernels, by_reference
from tests.skullking.states import rows_of
from tests.slow import diagonal
from tests.tables import walk

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
def game_of(tier, variant):
    options = dict(VARIANTS[variant])
    if tier in ("flat", "manager") and variant in ("three", "long"):
        options["abilities"] = "auto"
    return SkullKingGame(SkullKingConfig(tier=tier, **options))


def assert_same(rows, game):
    expected, got = by_reference(game, rows), by_kernels(game, rows)
    assert np.abs(expected.obs).max() <= 1
    assert expected.mask.any(axis=1).all()
    different = np.argwhere(got.obs.view(np.uint32) != expected.obs.view(np.uint32))
    blocks = layout(*(int(game.rules[name][0]) for name in ("tier", "num_players", "memory")))
    names = sorted({b.name for _, k in different for b in blocks if b.offset <= k < b.stop})
    assert not names, f"kernels differ in {names}"
    assert_same_bits(got, expected)


@lru_cache
def played_rows(tier, variant, n=160):
    """Return rows of reference games under random play with some illegal actions."""
    rules, knobs = game_of(tier, variant).rules, game_of(tier, variant).default_knobs(1)
    rng = random.Random(f"{tier} {variant}")
    game = SkullKing(rules, knobs, seed=rng.randrange(2**32))
    rows = np.zeros(n, STATE_DTYPE)
    for i in range(n):
        action = rng.randrange(NUM_ACTIONS) if rng.random() < 0.05 else None
        if game.done:
            game.reset()
        game.step(rng.choice(game.legal_actions()) if action is None else action)
        rows[i] = rows_of(game)[0]
    rows.flags.writeable = False
    return rows


@walk(("tier", "variant"), diagonal(TIERS, VARIANTS))
def test_played_games(tier, variant):
    assert_same(played_rows(tier, variant), game_of(tier, variant))


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
    if row["phase"] not in (Phase.BENDT_1, Phase.BENDT_2):  # others have no cards too many
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
    row["rosie_lead"], row["jade_seat"] = rng.randrange(2), rng.randrange(-1, players)
    if row["phase"] not in (Phase.BENDT_1, Phase.BENDT_2):
        row["bendt_seat"] = rng.randrange(-1, players)
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
@example(seed=3219, variant="three")  # Bendt's second discard, with the others' hands at one card
def test_altered_positions(tier, seed, variant):
    game, rng = game_of(tier, variant), random.Random(seed)
    rows = played_rows(tier, variant)[rng.sample(range(160), 6)]
    for row in rows:
        plain = game.unpack(row).rules
        for alter in (_scores, _tricks, _memory, _events):
            if rng.random() < 0.8:
                alter(row, rng, plain)
    assert_same(rows, game)


# -- what a row's functions write ------------------------------------------------------------------


@walk("variant", ["default", "eight"])
@walk("tier", TIERS)
def test_functions_of_a_row_write_the_places_of_that_row_alone(tier, variant):
    game, rows = game_of(tier, variant), played_rows(tier, variant)
    every, lanes = by_kernels(game, rows), range(0, len(rows), 3)
    some, untouched = by_kernels(game, rows, lanes), Encoded(game.spec, len(rows))
    chosen = np.isin(np.arange(len(rows)), lanes)
    for (name, got), (_, all_), (_, rest) in zip(
        some.numbers(), every.numbers(), untouched.numbers(), strict=True
    ):
        assert got[chosen].tobytes() == all_[chosen].tobytes(), name
        assert got[~chosen].tobytes() == rest[~chosen].tobytes(), name


@pytest.mark.parametrize("tier", Tier)
def test_functions_of_a_tier_are_compiled_once(tier):
    assert kernels.functions(tier) == kernels.functions(int(tier))
    others = {kernels.functions(other).observe for other in Tier} - {
        kernels.functions(tier).observe
    }
    assert len(others) == len(Tier) - 1
