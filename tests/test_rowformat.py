"""Rows as plain values: what NumPy says a record holds, `RowFormat` must say too."""

import doctest
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastenv import rowformat
from fastenv.rowformat import RowFormat
from tests.tables import walk

NUMBERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
INNER = np.dtype([("x", "i2"), ("y", "f4")], align=True)
DTYPES = {
    "padding between and behind": np.dtype(
        [("a", "i1"), ("b", "f8"), ("c", "u2"), ("d", "i4"), ("e", "i1")], align=True
    ),
    "not aligned": np.dtype([("a", "i1"), ("b", "f8"), ("c", "u2"), ("d", "i4")]),
    "every number": np.dtype([(f"{code}_{i}", code) for i, code in enumerate(NUMBERS * 2)]),
    "booleans": np.dtype([("one", "?"), ("some", "?", (3,)), ("n", "i8")], align=True),
    "arrays": np.dtype(
        [("a", "i1", (3,)), ("b", "i2", (2, 3)), ("c", "f8", (1,)), ("d", "u1", (2, 2, 2))],
        align=True,
    ),
    "arrays of arrays": np.dtype([("a", (np.dtype(("i2", (3,))), (2,))), ("b", "i8")], align=True),
    "offsets": np.dtype(
        {"names": ["a", "b"], "formats": ["i2", "f4"], "offsets": [3, 11], "itemsize": 40}
    ),
    "some fields of many": np.dtype([(name, "i4", (2,)) for name in "abcde"])[["b", "d"]],
    "empty array": np.dtype([("a", "i4", (0,)), ("b", "i4")]),
}
RAW = {
    "padding between and behind": ["b", "e"],
    "arrays": ["a", "b"],
    "booleans": ["some"],
    "some fields of many": ["d"],
}
CASES = [(name, ()) for name in DTYPES] + [*RAW.items()]


def random_record(dtype, seed):
    """Return an array of one record whose fields have all kinds of values, and no padding set."""
    rng, rows = np.random.default_rng(seed), np.zeros(1, dtype)
    for name in dtype.names:
        base, shape = rows[name].dtype, rows[name].shape
        if base.kind == "f":
            values = rng.normal(0, 100, shape).astype(base)
        elif base.kind == "b":
            values = rng.integers(0, 2, shape, np.uint8)
        else:
            limits = np.iinfo(base)
            values = rng.integers(limits.min, limits.max, shape, base, endpoint=True)
        rows[name] = values
    return rows


def flat_values(rows, raw):
    """Return the values of one record, written out: field by field through NumPy."""
    values = []
    for name in rows.dtype.names:
        if name in raw:
            values.append(rows[name].tobytes())
        else:
            values += rows[name].reshape(-1).tolist()
    return tuple(values)


@pytest.mark.parametrize(("name", "raw"), CASES)
@given(seed=st.integers(0, 2**32))
def test_values_are_those_of_numpy_and_come_back(name, raw, seed):
    rows, layout = random_record(DTYPES[name], seed), RowFormat(DTYPES[name], raw)
    values = layout.unpack(rows)
    assert values == flat_values(rows, raw)
    assert [type(v) for v in values] == [type(v) for v in flat_values(rows, raw)]
    assert layout.pack(*values) == rows.tobytes()


@walk(("name", "raw"), CASES)
def test_every_field_is_found_among_the_values(name, raw):
    rows, layout = random_record(DTYPES[name], 3), RowFormat(DTYPES[name], raw)
    values = layout.unpack(rows)
    assert [*layout.fields] == [*DTYPES[name].names]
    for field, where in layout.fields.items():
        if field in raw:
            assert values[where] == rows[field].tobytes()
        elif DTYPES[name][field].shape:
            assert values[where] == tuple(rows[field].reshape(-1).tolist())
        else:
            assert values[where] == rows[field].item()


def test_raw_fields_may_be_of_any_type():
    dtype = np.dtype([("pair", INNER), ("text", "S5"), ("pairs", INNER, (2,)), ("n", "i2")])
    rows = np.zeros(1, dtype)
    rows["pair"], rows["text"], rows["n"] = (3, 0.5), b"abc", -7
    layout = RowFormat(dtype, raw=("pair", "text", "pairs"))
    values = (rows["pair"].tobytes(), b"abc\0\0", bytes(16), -7)
    assert layout.unpack(rows) == values
    assert layout.pack(*values) == rows.tobytes()


def test_padding_is_written_as_zeros_and_never_read():
    dtype = DTYPES["padding between and behind"]
    layout = RowFormat(dtype)
    rows = np.frombuffer(bytes([255]) * dtype.itemsize, dtype)
    values = (1, 2.0, 3, 4, 5)
    clean = layout.pack(*values)
    used = np.zeros(dtype.itemsize, np.bool_)
    for field, offset in dtype.fields.values():
        used[offset : offset + field.itemsize] = True
    assert not np.frombuffer(clean, np.uint8)[~used].any()
    dirty = np.where(used, np.frombuffer(clean, np.uint8), 255).astype(np.uint8)
    assert layout.unpack(dirty) == values
    assert layout.unpack(rows)[0] == -1


def test_a_row_is_anything_that_shows_its_bytes():
    rows = np.repeat(random_record(DTYPES["arrays"], 1), 3)
    layout, row = RowFormat(DTYPES["arrays"]), rows[1].tobytes()
    raw = rows.view(np.uint8).reshape(3, -1)
    shapes = (row, bytearray(row), memoryview(row), rows[1], rows[1:2], rows[1].copy())
    for one in (*shapes, np.asarray(rows[1]), raw[1], memoryview(raw)[1:2]):
        assert layout.unpack(one) == layout.unpack(row), type(one)


@walk(("name", "raw"), CASES)
def test_rows_that_follow_one_another_are_read_at_once(name, raw):
    layout = RowFormat(DTYPES[name], raw)
    rows = [random_record(DTYPES[name], seed).tobytes() for seed in range(3)]
    assert [*layout.unpack_all(b"".join(rows))] == [*map(layout.unpack, rows)]
    with pytest.raises(struct.error, match="multiple"):
        layout.unpack_all(rows[0] + b"x")


@pytest.mark.parametrize("change", [lambda v: v[:-1], lambda v: (*v, 0), lambda v: ()])
def test_a_wrong_number_of_values_is_an_error(change):
    layout = RowFormat(DTYPES["arrays"])
    values = layout.unpack(random_record(DTYPES["arrays"], 1))
    with pytest.raises(struct.error, match="expected 18 items"):
        layout.pack(*change(values))


@pytest.mark.parametrize(
    ("code", "value"), [("i1", 128), ("u1", -1), ("u8", 2**64), ("i2", 1.0), ("f8", None)]
)
def test_a_value_that_does_not_fit_is_an_error(code, value):
    with pytest.raises(struct.error):
        RowFormat(np.dtype([("a", code)])).pack(value)


@pytest.mark.parametrize("value", [b"", b"12", b"1234"])
def test_raw_bytes_of_another_length_are_an_error(value):
    layout = RowFormat(np.dtype([("n", "i8"), ("cards", "i1", (3,))]), raw=["cards"])
    with pytest.raises(ValueError, match=rf"'cards' takes 3 bytes, not {len(value)}"):
        layout.pack(1, value)


@pytest.mark.parametrize("size", [0, 39, 41])
def test_a_row_of_another_size_is_an_error(size):
    with pytest.raises(struct.error, match="40 bytes"):
        RowFormat(DTYPES["offsets"]).unpack(bytes(size))


OVERLAP = {"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": [0, 2]}


@walk(
    ("dtype", "raw", "message"),
    [
        (np.dtype("i4"), (), "has no fields"),
        (np.dtype([("a", "i4")]), ("b",), "no field 'b'"),
        (np.dtype(OVERLAP), (), "'b' does not begin behind"),
        (np.dtype([("a", "S3")]), (), "'a' is of"),
        (np.dtype([("a", "O")]), (), "'a' is of"),
        (np.dtype([("a", "m8[s]")]), (), "'a' is of"),
        (np.dtype([("a", INNER)]), (), "'a' is of"),
        (np.dtype([("a", np.dtype("i4").newbyteorder("S"))]), (), "'a' is of"),
        (np.dtype([("a", np.dtype("f8").newbyteorder("S"), (2,))]), (), "'a' is of"),
    ],
)
def test_other_dtypes_are_refused(dtype, raw, message):
    with pytest.raises(ValueError, match=message):
        RowFormat(dtype, raw)


def test_the_example_is_right():
    assert doctest.testmod(rowformat).failed == 0
