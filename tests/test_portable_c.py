"""Headers in standard C give the bits that they give with what GCC and Clang have beyond it."""

import ctypes
import subprocess

import numpy as np
import pytest

import fastenv
from tests.drmario.boards import hand_made
from tests.needs import COMPILER, needs_compiler

pytestmark = [needs_compiler, pytest.mark.parity]
SOURCE = """
#include "drmario/_leaf.h"
#include "gameboy/_times.h"
#include "prospector/_actions.h"
#include "prospector/_maths.h"
#include "skullking/_lanes.h"

void bottle(const uint8_t *board, int32_t *out) {
    fastenv_planes planes = fastenv_planes_of(board), again;
    fastenv_counts counts = fastenv_count_bottle(&planes);
    int color, cell;
    memcpy(out, &counts, sizeof counts);
    memset(&again, 0, sizeof again);
    for (color = 0; color < 3; color++) {
        out[11 + color] = fastenv_matches(planes.color[color]);
        for (cell = 0; cell < 128; cell++)
            if (cells_row(planes.color[color], cell >> 3) >> (cell & 7) & 1)
                fastenv_set_cell(&again.color[color], cell);
    }
    memcpy(out + 14, &again, sizeof again);
    memcpy(out + 14 + sizeof again / 4, &planes, sizeof planes);
}

void hand(int8_t *cards, const int8_t *drawn, int card, int n, uint64_t low, int32_t *out) {
    fastenv_remove(cards, card);
    fastenv_sort_hand(cards + 32, drawn, n);
    out[0] = fastenv_popcount(low);
    out[1] = fastenv_lowest_bit(low);
    out[2] = fastenv_lowest(low & ~(uint64_t)0xffffffff, low);
}

int asteroids(const uint32_t *draws, float *out) { return fastenv_asteroids(draws, 1.0, out); }
"""
FORMS = {
    "gnu": [],
    "plain": ["-DFASTENV_PLAIN_C", "-std=c11", "-pedantic-errors", "-Werror=vla"],
}
SAME_BITS = ["-O2", "-ffp-contract=off", "-fwrapv"]


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    """The headers compiled in both forms, by name."""
    folder = tmp_path_factory.mktemp("forms")
    (folder / "forms.c").write_text(SOURCE)
    include = f"-I{fastenv.__path__[0]}"
    for name, flags in FORMS.items():
        command = [COMPILER, *SAME_BITS, "-shared", "-fPIC", *flags, include, folder / "forms.c"]
        done = subprocess.run(
            [*command, "-o", folder / f"{name}.so", "-lm"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    return {name: ctypes.CDLL(str(folder / f"{name}.so")) for name in FORMS}


def at(array):
    return array.ctypes.data_as(ctypes.c_void_p)


@pytest.mark.parametrize("seed", range(3))
def test_bottles_are_counted_alike(forms, seed):
    rng = np.random.default_rng(seed)
    boards = np.zeros((1000, 128), np.uint8)
    hand_made(rng, boards)
    boards[::2] = np.where(rng.random((500, 128)) < 0.3, boards[::2], 0xFF)
    found = {name: np.zeros((len(boards), 14 + 32), np.int32) for name in forms}
    for name, form in forms.items():
        for board, out in zip(boards, found[name], strict=True):
            form.bottle(at(board), at(out))
    np.testing.assert_array_equal(found["plain"], found["gnu"], err_msg=f"seed {seed}")
    assert len(np.unique(found["gnu"], axis=0)) > 100
    # cell by cell, a plane is what was read from the board
    np.testing.assert_array_equal(found["plain"][:, 14:26], found["plain"][:, 30:42])


@pytest.mark.parametrize("seed", range(3))
def test_hands_and_words_are_handled_alike(forms, seed):
    rng = np.random.default_rng(seed)
    for _ in range(1000):
        cards = np.zeros(64, np.int8)
        held = np.sort(rng.choice(np.arange(1, 75), 10, replace=False))
        cards[: len(held)] = held
        drawn = rng.permutation(np.arange(1, 75))[:16].astype(np.int8)
        card, n = int(rng.choice(held)), int(rng.integers(1, 12))
        word = int(rng.integers(1, 2**63)) << int(rng.integers(0, 2)) & (2**64 - 1)
        word &= ~0 << int(rng.integers(0, 60)) or 1
        seen = {}
        for name, form in forms.items():
            mine, out = cards.copy(), np.zeros(3, np.int32)
            args = (card, n, ctypes.c_uint64(word or 8), at(out))
            form.hand(at(mine), at(drawn), *args)
            seen[name] = [*mine.tolist(), *out.tolist()]
        assert seen["plain"] == seen["gnu"], f"seed {seed}"
        assert seen["gnu"][32 : 32 + n] == sorted(drawn[:n].tolist())


def test_asteroids_are_computed_alike(forms):
    rng = np.random.default_rng(0)
    draws = rng.integers(0, 2**32, (500, 80), dtype=np.uint32)
    found = {name: np.zeros((500, 56), np.float32) for name in forms}
    for name, form in forms.items():
        for k, row in enumerate(draws):
            form.asteroids(at(row), at(found[name][k]))
    np.testing.assert_array_equal(found["plain"].view(np.uint32), found["gnu"].view(np.uint32))
    assert len(np.unique(found["gnu"])) > 1000
