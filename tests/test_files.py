"""Files of strangers and values in messages: bounded, one sentence, nothing but FileError."""

import gzip
import io
import json
import os
import socket
import tracemalloc
import zipfile

import numpy as np
import pytest

from fastenv import files
from fastenv.errors import MAX_SHOWN, FastEnvError, FileError, show
from tests.tables import walk

LIMIT = 100_000
READERS = (
    files.read_regular,
    files.read_gzip,
    files.read_json,
    files.read_npy,
    files.read_npz,
    files.check_zip,
)


def refusal(read, path, *args):
    """Return the sentence by which a file is refused, which names it."""
    with pytest.raises(FileError) as caught:
        read(path, *args or (LIMIT,))
    text = str(caught.value)
    assert str(path) in text
    assert "\n" not in text
    assert len(text) < 500
    assert text.endswith(".")
    return text


def test_class_of_the_error():
    assert issubclass(FileError, ValueError)
    assert issubclass(FileError, FastEnvError)


@pytest.mark.parametrize("read", READERS)
def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path, read, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "zero").symlink_to("/dev/zero")
    monkeypatch.chdir(tmp_path)  # paths of sockets are short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    assert "is a named pipe, must be a regular file" in refusal(read, tmp_path / "pipe")
    assert "is a folder, must be a regular file" in refusal(read, tmp_path / "folder")
    assert "is a device, must be a regular file" in refusal(read, tmp_path / "zero")
    assert "is a socket, must be a regular file" in refusal(read, tmp_path / "socket")
    assert "cannot be read: No such file" in refusal(read, tmp_path / "nothing")


@pytest.mark.parametrize("path", ["a\0b", "a\ud800b", 5, None])
def test_what_is_no_path(path):
    with pytest.raises(FileError, match="is no path of a file"):
        files.read_regular(path, LIMIT)


@pytest.mark.parametrize("read", READERS)
def test_nothing_larger_than_the_limit_is_read(tmp_path, read):
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2**40)
    text = refusal(read, tmp_path / "large")
    assert "has 1,099,511,627,776 bytes, at most 100,000 are allowed" in text


def test_content_is_returned(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert files.read_regular(tmp_path / "a", 3) == b"abc"
    assert files.read_regular(str(tmp_path / "a"), 3) == b"abc"
    (tmp_path / "b").write_bytes(gzip.compress(b"abc") + gzip.compress(b"de"))
    assert files.read_gzip(tmp_path / "b", 100) == b"abcde"


def test_gzip_that_expands_is_refused(tmp_path):
    (tmp_path / "bomb").write_bytes(gzip.compress(bytes(10**7)))
    tracemalloc.start()
    try:
        assert "expands to more than the 100,000" in refusal(files.read_gzip, tmp_path / "bomb")
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()
    (tmp_path / "cut").write_bytes(gzip.compress(b"abc")[:-5])
    refusal(files.read_gzip, tmp_path / "cut")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"[" * 50_000, "nested too deeply"),
        (b'{"a":' * 70 + b"1" + b"}" * 70, "nested too deeply"),
        (b"[" * 65 + b"1" + b"]" * 65, "nested too deeply"),
        (b"[" * 66 + b"]" * 66, "nested too deeply"),
        (b"9" * 5000, "no JSON"),
        (b"NaN", "no number of JSON"),
        (b"[-Infinity]", "no number of JSON"),
        (b"[1e999]", "beyond what a float can be"),
        (b"9" * 400, "beyond what a float can be"),
        (b"\xff", "no JSON"),
        (b"", "no JSON"),
        (b'[{"a": 1, "b": 2, "a": 1}]', "'a' is twice in an object, must be there once"),
    ],
)
def test_what_is_no_json(tmp_path, text, said):
    (tmp_path / "file.json").write_bytes(text)
    assert said in refusal(files.read_json, tmp_path / "file.json")


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 2.5, None, "ü"]},
        json.loads("[" * 64 + "]" * 64),
        json.loads("[" * 64 + "1" + "]" * 64),
        7,
        [],
    ],
)
def test_json_is_returned(tmp_path, value):
    (tmp_path / "file.json").write_text(json.dumps(value))
    assert files.read_json(tmp_path / "file.json", LIMIT) == value
    assert files.parse_json(json.dumps(value), "text") == value


ARRAYS = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "b": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "c": np.array(5, np.uint8),
    "d": np.zeros((0, 4), "U3"),
    "e": np.ones(2, [("x", np.int8), ("y", np.float64, (2,))]),
}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_are_returned(tmp_path, save):
    save(tmp_path / "all.npz", **ARRAYS)
    found = files.read_npz(tmp_path / "all.npz", LIMIT)
    assert [*found] == [*ARRAYS]
    for name, wanted in ARRAYS.items():
        np.save(tmp_path / "one.npy", wanted)
        for array in (found[name], files.read_npy(tmp_path / "one.npy", LIMIT)):
            assert array.dtype == wanted.dtype
            assert array.shape == wanted.shape
            assert array.tobytes() == wanted.tobytes()
            assert array.flags.writeable
    assert [*files.read_npz(tmp_path / "all.npz", LIMIT, ("c",))] == ["c"]
    text = refusal(files.read_npz, tmp_path / "all.npz", LIMIT, ("z",))
    assert "has no array 'z'" in text


def header(descr="'|u1'", shape="(4,)", more=""):
    """Return the beginning of a .npy file."""
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}{more}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    "start",
    [
        header(shape="(4000000000,)"),
        header(shape="(-4,)"),
        header(shape="(-2, -2)"),
        header(shape="(2, 2, 2)"),
        header(shape="4"),
        header(descr="'|O'"),
        header(descr="'|V0'"),
        header(descr="'|V4000000000'", shape="()"),
        header(descr="[('a', '|u1', (4000000000,))]", shape="()"),
        header(shape="(" * 400 + ")" * 400),
        header(more=", 'z': 1"),
        header(more=" " * 11_000),
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff",
        b"\x93NUMPY\x01\x00\xff\xff",
        b"",
    ],
)
@pytest.mark.parametrize("read", [files.read_npy, files.read_npz])
def test_what_is_no_array(tmp_path, read, start):
    content = start + b"1234"
    if read is files.read_npz:
        with zipfile.ZipFile(tmp_path / "file", "w") as archive:
            archive.writestr("a.npy", content)
    else:
        (tmp_path / "file").write_bytes(content)
    assert "or damaged (" in refusal(read, tmp_path / "file")


def test_pickles_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", a=np.array([None, 1]))
    assert "dtype" in refusal(files.read_npz, tmp_path / "a.npz")


@pytest.mark.parametrize("read", [files.read_npz, files.check_zip])
def test_archives_that_expand_are_refused_before_they_do(tmp_path, read):
    np.savez_compressed(tmp_path / "bomb.npz", a=np.zeros(10**7, np.uint8))
    tracemalloc.start()
    try:
        text = refusal(read, tmp_path / "bomb.npz")
        assert tracemalloc.get_traced_memory()[1] < 4 * 10**6
    finally:
        tracemalloc.stop()
    assert "expands to 10,000,128 bytes, at most 100,000 are allowed" in text


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_expand_without_bound_are_refused(tmp_path, method):
    with zipfile.ZipFile(tmp_path / "a", "w", method) as archive:
        archive.writestr("a.npy", header() + b"1234")
    assert "compression method" in refusal(files.read_npz, tmp_path / "a")
    assert "compression method" in refusal(files.check_zip, tmp_path / "a")


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("read", [files.read_npz, files.check_zip])
def test_two_members_of_one_name_are_refused(tmp_path, read):
    with zipfile.ZipFile(tmp_path / "a", "w") as archive:
        for content in (b"1234", b"5678"):
            archive.writestr("a.npy", header() + content)
    assert "the same name" in refusal(read, tmp_path / "a")


def test_archives_of_very_many_members_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a", "w") as archive:
        for number in range(10_001):
            archive.writestr(str(number), b"")
    assert "10,000 members" in refusal(files.check_zip, tmp_path / "a", 10**7)


def test_size_that_an_archive_declares_too_small(tmp_path):
    """A member is not read beyond what its archive says."""
    content = header() + b"1234"
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", content + bytes(10**6))
    text = stored.getvalue()
    larger = (len(content) + 10**6).to_bytes(4, "little")
    assert text.count(larger) == 2
    (tmp_path / "a").write_bytes(text.replace(larger, len(content).to_bytes(4, "little")))
    assert "damaged" in refusal(files.read_npz, tmp_path / "a")


class Broken:
    def __repr__(self):
        raise OSError("\ud800")


class Strange:
    def __repr__(self):
        return "a\n\ud800" * 1000


DEEP = []
for _ in range(100_000):
    DEEP = [DEEP]
HUGE = 10**5000
VALUES = [HUGE, -HUGE, DEEP, [[HUGE]], {"a": DEEP}, "\ud800", "a" * 10**6, bytes(10**6), Broken()]
VALUES += [Strange(), [Broken()] * 50, range(HUGE), np.zeros((500, 500)), {HUGE: HUGE}, [*VALUES]]


@walk("value", VALUES, ids=range(len(VALUES)))
def test_any_value_is_shown_in_one_short_line(value):
    text = show(value)
    text.encode()
    assert 3 <= len(text) <= MAX_SHOWN
    assert "\n" not in text


@walk(
    "value",
    [
        5,
        -1,
        True,
        None,
        2.5,
        "a b  c",
        "it's",
        b"a",
        [1, 2],
        (1,),
        {"a": 1, "b": (2,)},
        2**100,
        np.float32(2),
        range(3),
        ["late"] * 12,
        int,
    ],
)
def test_ordinary_values_are_shown_as_they_are(value):
    assert show(value) == repr(value)


def test_integers_that_cannot_be_printed():
    assert show(HUGE) == "<an integer of 16610 bits>"
    assert show([1, HUGE]) == "[1, <an integer of 16610 bits>]"


@pytest.mark.parametrize(("path", "shown"), [("", "''"), (" ", "' '"), ("a b", "a b")])
def test_a_path_of_nothing_is_seen(path, shown):
    assert files.show_path(path) == shown


@pytest.mark.parametrize("place", ["folder/file", "file"])
def test_a_file_is_replaced_whole_or_not_at_all(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    files.write_bytes(place, b"old")
    files.write_bytes(tmp_path / place, b"new and longer")
    assert (tmp_path / place).read_bytes() == b"new and longer"

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        files.write_bytes(place, b"half")
    assert (tmp_path / place).read_bytes() == b"new and longer"
    (left,) = (tmp_path / place).parent.glob(".tmp-*")
    assert left.name == f".tmp-{os.getpid()}-file"
