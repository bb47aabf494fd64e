"""Reading thousands of damaged files: what is found is told, and none ends in a traceback."""

import hashlib
import json

import pytest

from tests.needs import needs_core
from tools.mutate_files import __main__ as command
from tools.mutate_files import mutations
from tools.mutate_files.kinds import KINDS
from tools.mutate_files.reading import Files

OF_GAMES = (
    "rom",
    "state",
    "bank",
    "battery",
    "pyboy",
    "sym",
    "map",
)  # the kinds of training: tests/training/test_strangers_files.py


@pytest.mark.parametrize(
    ("name", "found", "why"),
    [
        ("FINE", "accepted", ""),
        ("REFUSES", "refused", "no file"),
        ("FAILS", "crash", "KeyError"),
        ("TALKS", "crash", "a message of 601 characters"),
        ("TAKES", "crash", "more than 1,073,741,824 bytes"),
        ("DIES", "crash", "the process has ended with status 3"),
        ("WAITS", "crash", "more than 0.3 seconds"),
        ("EXITS", "crash", "SystemExit"),
    ],
)
def test_what_a_reader_does_is_told(tmp_path, monkeypatch, capsys, name, found, why):
    if name == "WAITS":
        monkeypatch.setattr(command, "SECONDS", 0.3)
    kind = f"tests.broken_readers:{name}"
    status = command.main([kind, "--count", "1", "--folder", str(tmp_path)])
    (path,) = tmp_path.rglob("*.jsonl")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [record["file"] for record in records] == [0]
    assert {record["found"] for record in records} == {found}
    assert all(why in record["why"] for record in records)
    assert status == (found == "crash")
    counts = [found == each for each in ("accepted", "refused", "crash")]
    assert capsys.readouterr().out.split()[-4:] == ["1", *(str(int(each)) for each in counts)]


def test_a_command_goes_on_where_it_was_stopped(tmp_path):
    arguments = ["tests.broken_readers:REFUSES", "--folder", str(tmp_path), "--count"]
    command.main([*arguments, "2"])
    (path,) = tmp_path.rglob("*.jsonl")
    path.write_text(path.read_text().replace("no file", "before") + '{"file": 2, "fou')
    command.main([*arguments, "4"])
    records = command.load_records(path)
    assert [record["why"] for record in records] == ["before"] * 2 + ["no file"] * 2
    assert [record["file"] for record in records] == [0, 1, 2, 3]


def test_a_file_can_be_read_again(tmp_path):
    """The same one, although no two originals of this kind are the same."""
    given = ["tests.broken_readers:QUOTES", "--folder", str(tmp_path / "all")]
    assert command.main([*given, "--count", "2"]) == 1
    (path,) = tmp_path.rglob("*.jsonl")
    for number, record in enumerate(command.load_records(path)):
        kept = tmp_path / str(number)
        with pytest.raises(KeyError) as found:
            command.main([*given, "--only", str(number), "--keep", str(kept)])
        assert str(found.value) in record["why"]
        assert hashlib.sha256((kept / "file").read_bytes()).hexdigest() in str(found.value)
    assert command.main([*given, "--count", "2", "--again"]) == 1
    assert str(found.value) not in path.read_text()


def test_unknown_kinds_are_named(capsys):
    with pytest.raises(SystemExit):
        command.main(["nothing"])
    assert "must be one of rom, " in capsys.readouterr().err


@pytest.mark.parametrize("name", [*OF_GAMES, "config"])
def test_changed_files_differ_from_the_original(tmp_path, name):
    files, different = Files(KINDS[name], 5, tmp_path / "original"), 0
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        files.write(folder, number)
        found = {path: (folder / path).read_bytes() for path in files.original}
        different += found != files.original
    assert different >= 18


def test_values_of_json_are_changed_in_all_texts():
    rng = mutations.random.Random(1)
    texts = (
        b'{"a": [1, {"b": "c"}]}',
        b'{"a": 1}\n\0\xff\n',
        b'{"a": 1}\n{"a": 2}',
        b"a: 1\nb: [x]",
    )
    for text in texts:
        found = {mutations.edit(text, rng) for _ in range(200)}
        assert len(found) > 20
        assert any(b"[[[[[[" in each for each in found)


# The others only when there is time: each compiles first.
QUICK = [pytest.param(name, 10) for name in ("state", "pyboy", "sym")]
MANY = [pytest.param(name, 40, marks=pytest.mark.slow) for name in KINDS]


@needs_core
@pytest.mark.parametrize(("name", "count"), [*QUICK, *MANY])
def test_no_damaged_file_ends_in_a_traceback(tmp_path, monkeypatch, capsys, name, count):
    monkeypatch.setattr(command, "SECONDS", 120.0)  # a hang, however busy the machine is
    given = [name, "--count", str(count), "--seed", "77", "--folder", str(tmp_path)]
    assert command.main(given) == 0, capsys.readouterr().out
