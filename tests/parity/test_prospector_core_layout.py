"""Where the fields of a row lie, and the numbers that _actions.h repeats."""

import re
from pathlib import Path

import pytest

import fastenv
from fastenv.prospector import state
from fastenv.prospector import tables as t

pytestmark = pytest.mark.parity

FOLDER = Path(fastenv.__file__).parent / "prospector"


def test_the_hot_part_of_a_row_is_small_and_rows_spread_over_the_cache():
    assert state.STATE_DTYPE.fields["neighbor"][1] <= 1024
    assert state.STATE_DTYPE.itemsize % 128 == 64


def numbers_of(name):
    """Return the rows of numbers that _actions.h gives to a name."""
    text = re.sub(r"/\*.*?\*/", "", (FOLDER / "_actions.h").read_text())
    define = re.search(rf"#define {name} (\S+)", text)
    if define:
        return float(define[1])
    body = re.search(rf"\b{name}\[3\] = {{(.*?)}};", text, re.DOTALL)[1]
    rows = re.findall(r"{(.*?)}", body) or [body]
    found = [[float(x) for x in row.split(",")] for row in rows]
    return found if len(found) > 1 else found[0]


def test_numbers_of_the_actions_are_those_of_the_tables():
    order = ("blend", "gain", "noise", "dt", "fuel", "alert")
    assert numbers_of("SCANS") == [[getattr(s, name) for name in order] for s in t.SCANS.values()]
    assert numbers_of("MINES") == [list(mine) for mine in t.MINES.values()]
    assert t.Mine._fields == ("factor", "heat", "wear", "alert", "sigma", "fracture_bias")
    assert numbers_of("SELL_SHARES") == list(t.SELL_SHARES)
    assert numbers_of("FUEL_PRICES") == [price for price, _ in t.FUEL_PACKS.values()]
    assert numbers_of("FUEL_AMOUNTS") == [amount for _, amount in t.FUEL_PACKS.values()]
    for name in ("PRICE_REPAIR_KIT", "PRICE_STABILIZER", "PRICE_DECOY", "PRICE_OVERHAUL"):
        assert numbers_of(name) == getattr(t, name)
