"""The generator (docs/prospector.md, 3): published vectors, and what its distributions draw."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastenv.prospector.pcg import Pcg
from fastenv.prospector.tables import TABLES, jump
from tests.prospector.games import draws_between

VECTORS = [
    (42, 0x185706B82C2E03F8, "a15c02b7 7b47f409 ba1d3330 83d2f293 bfa4784b cbed606e"),
    (0, 0x9AE4F7499BA72696, "47c28b93 b98f6a27 7d3dcb1e f0761116 9cc33f5b be0e744d"),
    (1, 0xF336EB76E83CA5C3, "9b6bdda9 0c31fc48 ce97f8ef 822c03d4 943e8cf2 1b75dde3"),
    (2**64 - 1, 0x4293031C4F11A769, "11526277 e6d82672 af1798ba d0751021 a734cdb8 ad4f9760"),
    (-1, 0x4293031C4F11A769, "11526277 e6d82672 af1798ba d0751021 a734cdb8 ad4f9760"),
]


@pytest.mark.parametrize(("seed", "state", "outputs"), VECTORS)
def test_published_vectors(seed, state, outputs):
    rng = Pcg(seed)
    assert rng.state == state
    assert " ".join(f"{rng.next_u32():08x}" for _ in range(6)) == outputs


DISTRIBUTIONS = {
    "uniform": (1, lambda rng: rng.uniform()),
    "uni": (1, lambda rng: rng.uni(0.05, 0.35)),
    "below": (1, lambda rng: rng.below(8, 33)),
    "exponential": (1, lambda rng: rng.exponential()),
    "normal": (2, lambda rng: rng.normal(-0.2, 0.65)),
    "normal without spread": (2, lambda rng: rng.normal(1.0, 0.0)),
    "beta32": (5, lambda rng: rng.beta32()),
    "dir6": (6, lambda rng: rng.dir6()),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@given(seed=st.integers(0, 2**64 - 1))
def test_draws_of_a_distribution(name, seed):
    draws, draw = DISTRIBUTIONS[name]
    rng = Pcg(seed)
    before = rng.state
    draw(rng)
    assert draws_between(before, rng.state) == draws


@given(seed=st.integers(0, 2**64 - 1))
def test_ranges_of_the_distributions(seed):
    rng = Pcg(seed)
    assert 0.0 <= rng.uniform() < 1.0
    assert 0.05 <= rng.uni(0.05, 0.35) < 0.35
    assert 8 <= rng.below(8, 33) < 33
    assert 0.0 < rng.exponential() <= -math.log(1e-8)
    assert abs(rng.normal(0.0, 1.0)) <= math.sqrt(-2.0 * math.log(1e-8))
    assert 0.0 < rng.beta32() < 1.0
    shares = rng.dir6()
    assert min(shares) > 0.0
    assert sum(shares) == pytest.approx(1.0, abs=1e-12)


class Fixed(Pcg):
    """A generator whose output is given."""

    __slots__ = ("outputs",)

    def next_u32(self):
        return self.outputs.pop(0)


def fixed(*outputs):
    rng = Fixed.__new__(Fixed)
    rng.outputs = list(outputs)
    return rng


def test_small_uniforms_are_cut_off_before_the_logarithm():
    assert fixed(0).exponential() == -math.log(1e-8)
    assert fixed(42).exponential() == -math.log(1e-8)  # 42 / 2**32 is 9.8e-9
    assert fixed(43).exponential() == -math.log(43 / 2**32)
    assert fixed(0, 0).normal(1.0, 2.0) == 1.0 + 2.0 * math.sqrt(-2.0 * math.log(1e-8))


def test_below_is_a_plain_remainder():
    assert [fixed(x).below(5, 17) for x in (0, 11, 12, 2**32 - 1)] == [5, 16, 5, 5 + 3]


def test_jumps_skip_whole_asteroids():
    rng = Pcg(7)
    mul, add = jump(20)
    skipped = (rng.state * mul + add) % 2**64
    for _ in range(20):
        rng.next_u32()
    assert rng.state == skipped
    assert (TABLES["jump_mul"][0, 1], TABLES["jump_add"][0, 1]) == (mul, add)
