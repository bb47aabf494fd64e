"""The compiled core repeats records, enumerations and names by hand: here it is held to them."""

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import fastenv
from fastenv.prospector import state
from fastenv.prospector import tables as t
from tests.parity.pxd import Pxd, c_fields

core = pytest.importorskip("fastenv.prospector._core")
pytestmark = pytest.mark.parity

FOLDER = Path(fastenv.__file__).parent / "prospector"
RECORDS = {
    "State": state.STATE_DTYPE,
    "Rules": state.RULES_DTYPE,
    "Tables": t.TABLES_DTYPE,
}
PXD = Pxd(FOLDER / "_state.pxd")


def test_records_have_the_same_sizes():
    assert core.record_sizes() == tuple(dtype.itemsize for dtype in RECORDS.values())


def test_every_field_of_a_row_is_at_the_same_place():
    fields = state.STATE_DTYPE.fields
    assert core.record_offsets() == {name: field[1] for name, field in fields.items()}


@pytest.mark.parametrize("name", RECORDS)
def test_fields_have_the_same_order_types_and_shapes(name):
    assert PXD.fields(name) == c_fields(RECORDS[name])


def test_the_hot_part_of_a_row_is_small_and_rows_spread_over_the_cache():
    assert state.STATE_DTYPE.fields["neighbor"][1] <= 1024
    assert state.STATE_DTYPE.itemsize % 128 == 64


def test_rows_are_a_whole_number_of_words():
    for dtype in RECORDS.values():
        assert dtype.isalignedstruct
        assert dtype.itemsize % 8 == 0


@pytest.mark.parametrize("kind", [t.NodeType, t.Action])
def test_enumerations_are_those_of_the_tables(kind):
    assert PXD.enum(kind.__name__) == {member.name: member for member in kind}


def test_constants_are_those_of_the_tables():
    special = {
        "NUM_TICKS": t.TRAVEL_TIME_MAX + 1,
        "NUM_JUMPS": t.MAX_ASTEROIDS + 1,
        "NUM_PAD": state.STATE_DTYPE["unused"].shape[0],
    }
    for name, value in PXD.constants().items():
        assert value == special.get(name, getattr(t, name, None)), name


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


def test_the_stub_names_what_the_module_has():
    tree = ast.parse((FOLDER / "_core.pyi").read_text())
    (batch,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    methods = [node for node in batch.body if isinstance(node, ast.FunctionDef)]
    own = {
        name
        for name, value in vars(core).items()
        if getattr(value, "__module__", None) == core.__name__ or inspect.isbuiltin(value)
    }
    public = {name for name in own if not name.startswith("_")} - {batch.name}
    assert public == {name for name in functions if not name.startswith("_")}
    assert all(hasattr(core, name) for name in functions)
    real = {name for name in vars(core.BatchCore) if not name.startswith("_")}
    stated = {node.name for node in methods} - {"__init__"}
    fields = {node.target.id for node in batch.body if isinstance(node, ast.AnnAssign)}
    assert real == stated | fields


@pytest.mark.parametrize("record", [0, 2, 3])
def test_records_of_another_size_are_refused(record):
    rows, rules, tables = [np.zeros((2, size), np.uint8) for size in core.record_sizes()]
    order = [rows, np.zeros((2, 1), np.uint8), rules[0], tables[0]]
    core.BatchCore(*order, 1)
    order[record] = order[record][..., :-8].copy()
    with pytest.raises(ValueError, match="record sizes"):
        core.BatchCore(*order, 1)
