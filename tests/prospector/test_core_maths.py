"""The vector maths of the core: its error bounds, and that its results are those of the library."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import fastenv
from fastenv.prospector import tables as t
from fastenv.prospector.state import STATE_DTYPE
from tests.slow import every
from tests.tables import walk

core = pytest.importorskip("fastenv.prospector._core")
pytestmark = pytest.mark.parity

HEADER = (Path(fastenv.__file__).parent / "prospector" / "_maths.h").read_text()
LIBRARY = 1e15  # a bound so wide that nothing is certain
# Draws about which logarithm, folding or clamping change their form, and their neighbours.
CORNERS = [0, 42, 43, 2**32 - 1] + [int(2**k * f) for k in range(4, 32) for f in (1, 2**0.5, 1.5)]
CORNERS = np.array([c + d for c in CORNERS for d in (-1, 0, 1)], np.int64) % 2**32


def draws(rng, *shape):
    """Return draws, one in ten of them a corner."""
    values = rng.integers(0, 2**32, shape)
    return np.where(rng.random(shape) < 0.1, rng.choice(CORNERS, shape), values).astype(np.uint32)


def approximate(name, x):
    out = np.empty(len(x))
    core._approximate(name, x, out)
    return out


def bound(name):
    """Return a bound that the header states."""
    return float(re.search(rf"^ +{name} +(\S+) (?:relative|absolute)", HEADER, re.MULTILINE)[1])


# NumPy's long double has 64 bits of mantissa here: enough to see the error of a double.
precise = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long double is a double")


@precise
def test_error_of_the_logarithm_is_within_its_bound():
    draw = draws(np.random.default_rng(0), 400_000).astype(np.float64)
    u = np.maximum(draw.astype(np.longdouble) / 2**32, np.longdouble(1e-8))
    exact = -np.log(u)
    error = np.abs(approximate("neglog", draw) / exact - 1)
    assert float(error.max()) < bound("neglog") / 2


@precise
def test_error_of_the_sine_is_within_its_bound():
    y = np.random.default_rng(1).uniform(-0.25, 0.25, 400_000)
    y[:5] = 0.0, 0.25, -0.25, 1e-12, -1e-300
    exact = np.sin(8 * np.arctan(np.longdouble(1)) * y)
    assert float(np.abs(approximate("sine", y) - exact).max()) < bound("sine") / 2


@precise
def test_error_of_the_exponential_is_within_its_bound():
    x = np.random.default_rng(2).uniform(-1.75, 1.75, 400_000)
    error = np.abs(approximate("expo", x) / np.exp(x.astype(np.longdouble)) - 1)
    assert float(error.max()) < bound("expo") / 2


def test_bound_of_normal_numbers_follows_from_the_others():
    largest = math.sqrt(-2 * math.log(1e-8))
    assert largest * (bound("sine") + bound("neglog") / 2 + 1e-15) < bound("normal")
    assert float(re.search(r"FASTENV_NORMAL_ERROR (\S+)", HEADER)[1]) == bound("normal")


def test_noise_of_edges_is_that_of_the_library():
    rng = np.random.default_rng(3)
    first, second = draws(rng, 2_000_000), draws(rng, 2_000_000)
    fast, exact = np.empty((2, len(first)), np.float32)
    assert core._noises(first, second, 1.0, fast) < 0.01 * len(first)
    assert core._noises(first, second, LIBRARY, exact) == len(first)
    assert fast.tobytes() == exact.tobytes()
    for i in range(2000):
        u1, u2 = max(first[i] / 2**32, 1e-8), second[i] / 2**32
        z = math.sqrt(-2.0 * math.log(u1)) * math.cos(t.TWO_PI * u2)
        assert exact[i] == np.float32(0.05 * z)


def test_asteroids_are_those_of_the_library():
    rng = np.random.default_rng(4)
    block = draws(rng, 40_000, 80)
    fast, exact = np.empty((2, len(block), 56), np.float32)
    assert core._asteroids(block, 1.0, fast) < 0.02 * len(block)
    assert core._asteroids(block, LIBRARY, exact) == len(block)
    assert fast.tobytes() == exact.tobytes()


def some_rows(rng, n):
    rows = np.zeros(n, STATE_DTYPE)
    rows["price_phase"] = rng.uniform(0, t.TWO_PI, (n, 6))
    rows["price_period"] = rng.uniform(180, 380, (n, 6))
    rows["price_amp"] = rng.uniform(0.0, 0.3, (n, 6)) * t.PRICE_BASE
    rows["station_inventory"] = rng.choice([0, 1e-3, 50, 1e3, 1e30], (n, 1)) * rng.random((n, 6))
    rows["recent_sales"] = rng.choice([0, 1e-3, 50, 1e3], (n, 1)) * rng.random((n, 6))
    most = rng.choice(
        [100, 20_000, 2**30], n, p=[0.50, 0.49, 0.01]
    )  # the last ones have wide bounds
    rows["ticks_elapsed"] = most * rng.random(n)
    return rows


@walk("dt", every(3, range(t.TRAVEL_TIME_MAX + 1)))
def test_prices_are_those_of_the_library(dt):
    rng = np.random.default_rng(dt)
    n = 4000
    fast, given = some_rows(rng, n), draws(rng, n, 12)
    exact = fast.copy()
    tables = t.TABLES.view(np.uint8)
    fast_bytes, exact_bytes = (rows.view(np.uint8).reshape(n, -1) for rows in (fast, exact))
    doubts = core._prices(fast_bytes, tables, given, dt, 1.0)
    assert doubts < 0.01 * n
    assert core._prices(exact_bytes, tables, given, dt, LIBRARY) > 0.5 * n
    assert fast["price"].tobytes() == exact["price"].tobytes()
