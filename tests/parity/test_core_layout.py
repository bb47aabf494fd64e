"""The compiled core repeats records, enumerations and names by hand: here it is held to them."""

import ast
import inspect
from pathlib import Path

import numpy as np
import pytest

import fastenv
from fastenv.skullking import reference, state
from fastenv.skullking import tables as t
from tests.parity.pxd import Pxd, c_fields

core = pytest.importorskip("fastenv.skullking._core")
pytestmark = pytest.mark.parity

FOLDER = Path(fastenv.__file__).parent / "skullking"
RECORDS = {
    "State": state.STATE_DTYPE,
    "Rules": state.RULES_DTYPE,
    "Knobs": state.KNOBS_DTYPE,
    "Tables": state.TABLES_DTYPE,
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


def test_a_row_is_at_most_512_bytes():
    assert state.STATE_DTYPE.itemsize <= 512


def test_rows_are_a_whole_number_of_words():
    for dtype in RECORDS.values():
        assert dtype.isalignedstruct
        assert dtype.itemsize % 8 == 0


# The core's own names where a member would clash with that of another enumeration, or say little.
RENAMED = {
    "Phase": lambda name: {"TIGRESS": "TIGRESS_MODE"}.get(name, name),
    "Scoring": lambda name: {"RASCAL_CANNON": "SCORE_CANNON"}.get(name, f"SCORE_{name}"),
    "Abilities": lambda name: f"ABILITIES_{name}",
    "GoalMode": lambda name: f"GOAL_{name}",
}


@pytest.mark.parametrize(
    "kind", [t.CardClass, t.Phase, t.Tier, t.Bot, t.Scoring, t.Abilities, t.GoalMode]
)
def test_enumerations_are_those_of_the_tables(kind):
    rename = RENAMED.get(kind.__name__, str)
    assert PXD.enum(kind.__name__) == {rename(member.name): member for member in kind}


def test_tally_fields_are_those_of_the_tables():
    assert PXD.enum("Tally") == {f"{name.upper()}S": 4 * i for i, name in enumerate(state.TALLY)}


def test_constants_are_those_of_the_tables():
    special = {
        "NUM_FACES": t.NUM_CARDS + 2,
        "NUM_PLACES": t.NUM_CARDS + 1,
        "GRAYBEARD": reference.GRAYBEARD,
    }
    for name, value in PXD.constants().items():
        expected = special.get(name, getattr(t, name.removeprefix("CARD_"), None))
        if name.startswith("ORDER_"):
            expected = getattr(state, name)
        assert value == expected, name


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


@pytest.mark.parametrize("record", range(4))
def test_records_of_another_size_are_refused(record):
    arrays = [np.zeros((2, size), np.uint8) for size in core.record_sizes()]
    order = [arrays[0], arrays[2], arrays[1][0], arrays[3][0]]
    core.BatchCore(*order, 1)
    order[record] = order[record][..., :-8].copy()
    with pytest.raises(ValueError, match="record sizes"):
        core.BatchCore(*order, 1)
