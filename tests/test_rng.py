"""The engine generator against published vectors, and its compiled twin against it."""

import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastenv
from fastenv.engine import rng_streams
from fastenv.rng import GOLDEN_GAMMA, Rng, splitmix64
from tests.needs import needs_core
from tests.tables import walk

MASK64 = 2**64 - 1

# Rosetta Code, "Pseudo-random numbers/Splitmix64", from Vigna's splitmix64.c.
SPLITMIX_1234567 = [
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
]
# The test of rand_xoshiro (Rust), from Vigna's xoshiro256starstar.c with state 1, 2, 3, 4.
XOSHIRO_1234 = [
    11520,
    0,
    1509978240,
    1215971899390074240,
    1216172134540287360,
    607988272756665600,
    16172922978634559625,
    8476171486693032832,
    10595114339597558777,
    2904607092377533576,
]


def seeded(words):
    rng = Rng()
    rng.state = list(words)
    return rng


def test_splitmix64_gives_the_published_numbers():
    counters = [(1234567 + k * GOLDEN_GAMMA) & MASK64 for k in range(1, 6)]
    assert [splitmix64(x) for x in counters] == SPLITMIX_1234567


def test_a_seed_becomes_four_outputs_of_splitmix64():
    assert Rng(1234567).state == SPLITMIX_1234567[:4]
    assert Rng(1234567 - 2**64).state == Rng(1234567 + 2**64).state == SPLITMIX_1234567[:4]
    assert rng_streams(1234567, 2).tolist() == [SPLITMIX_1234567[:4], Rng(1234568).state]


def test_xoshiro256_gives_the_published_numbers():
    rng = seeded([1, 2, 3, 4])
    assert [rng.next() for _ in XOSHIRO_1234] == XOSHIRO_1234


def naive(rng, n):
    """Lemire's method as the paper has it, and how many numbers it rejected."""
    threshold, rejected = 2**32 % n, 0
    while True:
        product = (rng.next() >> 32) * n
        if product % 2**32 >= threshold:
            return product // 2**32, rejected
        rejected += 1


@given(st.integers(0, MASK64), st.integers(1, 2**32 - 1))
def test_bounded_is_lemires_method(seed, n):
    fast, slow = Rng(seed), Rng(seed)
    for _ in range(20):
        assert fast.bounded(n) == naive(slow, n)[0] < n
    assert fast.state == slow.state


@pytest.mark.parametrize("n", [2**32 - 1, 2**31 + 1, 3 * 2**30])
def test_bounded_rejects_what_would_be_too_much(n):
    rejections = Counter()
    for seed in range(300):
        fast, slow = Rng(seed), Rng(seed)
        value, rejected = naive(slow, n)
        assert fast.bounded(n) == value
        assert fast.state == slow.state, f"seed {seed}: another number of draws"
        rejections[rejected] += 1
    expected = 300 * (2**32 % n) / 2**32  # one in 2**32, a half, a quarter
    assert abs(300 - rejections[0] - expected) <= 50
    if expected > 50:
        assert max(rejections) > 1  # more than once in a row


@pytest.mark.parametrize("n", [2, 3, 7, 11, 74])
def test_bounded_is_uniform(n):
    rng, draws = Rng(n), 20_000
    counts = Counter(rng.bounded(n) for _ in range(draws))
    chi2 = sum((counts[k] - draws / n) ** 2 / (draws / n) for k in range(n))
    assert set(counts) == set(range(n))
    assert chi2 < (n - 1) + 5 * (2 * (n - 1)) ** 0.5


def test_uniform_has_53_bits_and_stays_below_one():
    rng, bits = Rng(5), Rng(5)
    values = [rng.uniform() for _ in range(2000)]
    assert values == [(bits.next() >> 11) / 2**53 for _ in values]
    assert 0 <= min(values) < max(values) < 1
    assert abs(np.mean(values) - 0.5) < 0.03
    # s[1] * 5 rotated by 7 and times 9 is the output: this word gives 2**64 - 1, the largest
    word = pow(5, -1, 2**64) * rotr7(MASK64 * pow(9, -1, 2**64) & MASK64) & MASK64
    assert seeded([1, word, 3, 4]).uniform() == 1 - 2.0**-53


def rotr7(x):
    return (x >> 7 | x << 57) & MASK64


# -- the compiled twin, through what the core draws ----------------------------------------------


@needs_core
def test_the_core_seeds_and_draws_a_round_as_this_generator():
    """A row after a reset: uniform, leader, shuffle, bids of RANDOM bots."""
    for players in (3, 8):
        engine = fastenv.make_engine(
            "SkullKingManager-v0", 40, backend="cython", num_players=players, opponents="random"
        )
        engine.reset_many(seeds=2**64 - 20)  # across the end of the range
        for lane, row in enumerate(engine.get_states()):
            rng = Rng(2**64 - 20 + lane)
            u = rng.uniform()
            cdf = engine._knobs["round_cdf"][lane]
            assert row["round_idx"] == next(r for r in range(10) if u < cdf[r])
            assert row["first_leader"] == rng.bounded(players)
            deck = list(range(74))
            for i in range(73, 0, -1):
                j = rng.bounded(i + 1)
                deck[i], deck[j] = deck[j], deck[i]
            assert row["stock"][: row["stock_len"]].tolist() == deck[players * row["cards"] :]
            bids = [rng.bounded(int(row["cards"]) + 1) for _ in range(players - 1)]
            assert row["bid"][1:players].tolist() == bids
            assert row["rng"].tolist() == rng.state


@needs_core
def test_the_core_draws_for_a_policy_as_this_generator():
    n = 12
    engine = fastenv.make_engine("SkullKingFlat-v0", n, backend="cython")
    engine.reset_many(seeds=3)
    streams = rng_streams(77, n)
    twins = [seeded(words) for words in streams.tolist()]
    for _ in range(60):
        legal = [np.flatnonzero(mask) for mask in engine.mask]
        actions = engine.bot_actions("random", streams)
        expected = [
            options[rng.bounded(len(options))] for options, rng in zip(legal, twins, strict=True)
        ]
        assert actions.tolist() == expected
        assert streams.tolist() == [rng.state for rng in twins]
        engine.step_many(actions)


@pytest.mark.parametrize("seed", [2**63, 2**64 - 1, 2**64 + 5, -1, 0])
def test_streams_take_any_whole_seed(seed):
    words = [Rng(seed).state, Rng(seed + 1).state]
    assert rng_streams(seed, 2).tolist() == words
    if -(2**63) <= seed < 2**64:
        number = np.uint64(seed) if seed >= 0 else np.int64(seed)
        assert rng_streams(number, 2).tolist() == words


@walk(
    ("seed", "n", "named"),
    [(1.5, 2, "seed=1.5"), (True, 2, "seed=True"), ("1", 2, "seed='1'"), (None, 2, "seed=None")]
    + [(0, n, f"n={n!r}") for n in (0, -1, 1.5, True, "2")],
)
def test_streams_of_what_is_no_number_are_refused(seed, n, named):
    with pytest.raises(fastenv.ConfigError, match=f"^{re.escape(named)}: must be an integer"):
        rng_streams(seed, n)


def test_streams_of_neighbouring_seeds_differ():
    for a, b in pairwise(rng_streams(0, 50).tolist()):
        assert not set(a) & set(b)
