"""The search for differences: its cases, its record, and what it does when it finds one."""

import json

import pytest

from fastenv.gameboy.cartridge import RAM_SIZES, SUPPORTED
from tests.needs import needs_core
from tests.tables import walk
from tools.gameboy.difference_record import sources_sha256
from tools.gameboy.generators import banks
from training.run import machine

# How many cases of each kind are played every day.
DAILY = {
    "programs": 8,
    "bytes": 6,
    "loops": 3,
    "cartridges": 2,
    "states": 2,
    "link": 2,
    "sound": 6,
    "pixel": 2,
    "oam": 6,
}


@pytest.fixture
def tool(monkeypatch):
    """The command, with cases of a frame or two and a head that needs neither git nor torch."""
    from tools.gameboy import cases, differences

    monkeypatch.setattr(cases, "LENGTHS", (1, 2))
    monkeypatch.setattr(machine, "host", dict)
    monkeypatch.setattr(machine, "revision", lambda: {"git_rev": "abc", "dirty": False})
    return differences


@pytest.fixture
def run(tool, tmp_path):
    """Return the exit status of a search, and the record that it leaves."""

    def search(*words, name="record.json"):
        path = tmp_path / name
        status = tool.main(["--out", str(path), *map(str, words)])
        return status, json.loads(path.read_text())

    return search


def plant(monkeypatch, spoil):
    """Let every frame of the core end with a fault."""
    from fastenv.gameboy.console import Console

    run_frame = Console.run_frame

    def and_spoil(console, draw=True):
        run_frame(console, draw)
        spoil(console)

    monkeypatch.setattr(Console, "run_frame", and_spoil)


def flip_row(console):
    console.row["wram"][0, 5] ^= 1


def flip_picture(console):
    console.picture[1, 2] ^= 1


def flip_sample(console):
    if console.audio:
        console.samples[0, 3, 1] ^= 1


# -- cases -----------------------------------------------------------------------------------------


@needs_core
@pytest.mark.parity
@pytest.mark.parametrize("kind", DAILY)
def test_reference_and_core_agree_in_cases_of_every_kind(kind):
    from tools.gameboy import cases

    for number in range(DAILY[kind]):
        found = cases.play(kind, number, most=3)
        assert found == (3, None), f"python -m tools.gameboy.differences --case {kind}:{number}"
    assert cases.KINDS.keys() == DAILY.keys()


@needs_core
@pytest.mark.parity
@pytest.mark.slow
@walk("kind", DAILY)
@walk("begin", [0, 11])
def test_the_first_cases_of_the_search(kind, begin):
    """The record has many more; these show a fault of today."""
    from tools.gameboy import cases

    for number in range(begin, begin + 11):
        frames, found = cases.play(kind, number)
        assert found is None, f"python -m tools.gameboy.differences --case {kind}:{number}"
        assert frames in cases.LENGTHS


def test_numbers_go_through_all_cartridges():
    made = {(kind, ram) for kind, ram in banks.CARTRIDGES}
    assert {kind for kind, _ in made} == set(SUPPORTED)
    sizes = {size for _, size in made}
    assert sizes == {0, *RAM_SIZES}
    assert len(made) == len(banks.CARTRIDGES) < 100


# -- the record ------------------------------------------------------------------------------------


def counts(record):
    """Return the parts of a record without times."""
    for part in record["sources"]:
        for each in part["kinds"].values():
            del each["cpu_s"]
    return record["sources"]


WORDS = ("--kinds", "bytes", "oam")


@needs_core
def test_a_killed_search_goes_on_where_it_was(tool, run, monkeypatch):
    _, whole = run(*WORDS, "--frames", 6, name="whole.json")
    play, played = tool.cases.play, []

    def until_killed(kind, number):
        if len(played) == 2:
            raise KeyboardInterrupt
        played.append(f"{kind}:{number}")
        return play(kind, number)

    with monkeypatch.context() as patch:
        patch.setattr(tool.cases, "play", until_killed)
        with pytest.raises(KeyboardInterrupt):
            run(*WORDS, "--frames", 6)
    assert played == ["bytes:0", "oam:0"]
    status, record = run(*WORDS, "--frames", 6)
    assert status == 0
    assert record["frames"] >= 6
    assert record["differences"] == 0
    assert record["command"].startswith("python -m tools.gameboy.differences --out ")
    assert counts(record) == counts(whole)


@needs_core
def test_a_search_that_is_over_adds_nothing(run, tool, monkeypatch):
    _, first = run(*WORDS, "--frames", 1)
    monkeypatch.setattr(tool.cases, "play", None)
    assert run(*WORDS, "--frames", 1) == (0, first)


@needs_core
def test_a_record_of_other_sources_is_begun_anew(run, monkeypatch):
    from tools.gameboy import difference_record

    old = run(*WORDS, "--frames", 3)[1]
    with monkeypatch.context() as patch:
        patch.setattr(difference_record, "sources_sha256", lambda: "0" * 64)
        _, record = run(*WORDS, "--frames", 1)
    assert record["frames"] < old["frames"]
    assert [part["sha256"] for part in record["sources"]] == ["0" * 64]


@needs_core
def test_a_record_of_which_a_part_is_dirty_is_dirty(run, monkeypatch):
    monkeypatch.setattr(machine, "revision", lambda: {"git_rev": "abd", "dirty": True})
    run(*WORDS, "--frames", 1)
    monkeypatch.setattr(machine, "revision", lambda: {"git_rev": "abc", "dirty": False})
    _, record = run(*WORDS, "--frames", 3)
    assert record["dirty"] is True
    assert [each["git_rev"] for each in record["sources"][0]["revisions"]] == ["abd", "abc"]


def test_sources_are_their_names_and_contents(tmp_path):
    found = set()
    for name, text in (("a.py", "1"), ("a.py", "2"), ("b.pxd", "2"), ("c.gb", "3"), ("b.pxd", "")):
        (tmp_path / name).write_text(text)
        found.add(sources_sha256(tmp_path))
    assert len(found) == 4, "a ROM is no source"


# -- differences -----------------------------------------------------------------------------------


@needs_core
@pytest.mark.parametrize(
    ("spoil", "case", "field"),
    [
        (flip_row, "bytes:0", "wram"),
        (flip_row, "link:0", "2.wram"),
        (flip_picture, "bytes:2", "picture"),
        (flip_sample, "sound:0", "samples"),
    ],
)
def test_a_fault_is_found_and_its_case_repeats_it(spoil, case, field, tool, monkeypatch, capsys):
    assert tool.main(["--case", case]) == 0
    if "link" in case:
        link_fault(monkeypatch, spoil)
    else:
        plant(monkeypatch, spoil)
    assert tool.main(["--case", case]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"difference in {case}, frame ")
    assert f"{field} [" in said


def link_fault(monkeypatch, spoil):
    from fastenv.gameboy.console import LinkedConsoles

    run_frame = LinkedConsoles.run_frame

    def and_spoil(pair, draw=True):
        run_frame(pair, draw)
        spoil(pair.consoles[1])

    monkeypatch.setattr(LinkedConsoles, "run_frame", and_spoil)


@needs_core
def test_a_difference_is_recorded_and_named_again(run, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        plant(patch, flip_row)
        status, record = run("--kinds", "bytes", "--frames", 2)
    assert (status, record["differences"]) == (1, 2)
    (found, _) = record["sources"][0]["differences"]
    assert (found["kind"], found["number"], found["frame"]) == ("bytes", 0, 0)
    assert [values[0] for values in found["fields"]["wram"]] == [5]
    assert capsys.readouterr().err.count("difference in bytes:0, frame 0: wram [") == 1
    status, record = run("--kinds", "bytes", "--frames", 3)
    assert (status, record["differences"]) == (1, 2)
    assert capsys.readouterr().err.count("difference in bytes:0, frame 0: wram [") == 1


@needs_core
def test_an_implementation_that_fails_differs(tool, monkeypatch):
    plant(monkeypatch, lambda console: 1 // 0)
    frames, found = tool.cases.play("bytes", 0)
    assert frames == found.frame == 0
    assert found.fields["error"].startswith("ZeroDivisionError: ")


@needs_core
def test_a_fault_in_every_case_ends_the_search(run, monkeypatch, capsys):
    plant(monkeypatch, flip_row)
    status, record = run("--kinds", "bytes", "--frames", 100)
    assert (status, record["differences"]) == (1, 10)
    assert "10 differences are enough" in capsys.readouterr().err


# -- refusals --------------------------------------------------------------------------------------


@needs_core
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--out", "x", "--frames", "0"], "--frames 0: must be at least 1"),
        (["--out", "x", "--seconds", "nan"], "--seconds nan: must be above 0"),
        (["--out", "x", "--kinds", "songs"], "--kinds: invalid choice: 'songs'"),
        (["--case", "songs:1"], "'songs:1' is no KIND:NUMBER; kinds are programs, bytes"),
        (["--case", "bytes:-1"], "'bytes:-1' is no KIND:NUMBER"),
        ([], "one of the arguments --out --case is required"),
    ],
)
def test_arguments_that_are_refused(words, message, tool, capsys):
    with pytest.raises(SystemExit) as stopped:
        tool.main(words)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def with_cases(value):
    kinds = {"bytes": {"cases": value, "frames": 1, "cpu_s": 1.0}}
    return json.dumps(
        {"sources": [{"sha256": "0", "revisions": [], "kinds": kinds, "differences": []}]}
    )


@needs_core
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"sources": [', "damaged"),
        ("[]", "TypeError"),
        ('{"rows": []}', "KeyError: 'sources'"),
        ('{"sources": [{"kinds": {}}]}', "0.sha256: Field required"),
        ('{"sources": [{"sha256": "0", "revisions": ["a"]}]}', "0.revisions.0: Input should be"),
        (with_cases(-1), "0.kinds.bytes.cases: Input should be greater than or equal to 0"),
        (with_cases("1"), "0.kinds.bytes.cases: Input should be a valid integer"),
    ],
)
def test_a_damaged_record_is_refused_and_kept(text, message, tool, tmp_path, capsys):
    path = tmp_path / "record.json"
    path.write_text(text)
    assert tool.main(["--out", str(path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: --out {path}: is no record of this command, or damaged")
    assert message in said
    assert path.read_text() == text
